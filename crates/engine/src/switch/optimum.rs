//! OPT beside a program: how many of the same packets a switch without limits would forward.

use std::collections::HashSet;

use sluicegate_pruning::algorithm::group_by::Extreme;
use sluicegate_pruning::experiment::opt;
use sluicegate_pruning::switch::Relation;

/// What a switch without limits would compute. It judges the same words that the switch sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Optimum {
    /// The first entry of each key of so many words.
    Distinct {
        /// Words of a key.
        key: usize,
    },
    /// Entries among the greatest so far.
    TopN {
        /// Rows wanted.
        n: usize,
    },
    /// Entries better than all before them in their group.
    GroupBy {
        /// Words of a key.
        key: usize,
        /// Which is better.
        extreme: Extreme,
    },
    /// Probing entries whose key the build side has.
    Join,
    /// The entry that lifts its group above the threshold.
    HavingSum {
        /// Words of a key.
        key: usize,
        /// What a group must exceed.
        threshold: u32,
    },
    /// The first entry of each group that qualifies.
    HavingExtreme {
        /// Words of a key.
        key: usize,
        /// How a value that qualifies relates to the threshold.
        relation: Relation,
        /// The threshold.
        threshold: u32,
    },
    /// Points that no earlier point dominates.
    Skyline,
}

/// The packets of one execution.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    columns: Vec<Vec<u32>>,
    build: HashSet<Vec<u32>>,
    /// Rows that pass unseen.
    unseen: usize,
}

impl Recording {
    /// Keeps packets, but not those of rows that pass unseen.
    pub(crate) fn add(&mut self, words: &[Vec<u32>], unseen: &[u64]) {
        self.columns.resize_with(words.len(), Vec::new);
        let seen = |row: usize| unseen.get(row / 64).is_none_or(|bits| bits >> (row % 64) & 1 == 0);
        for (column, words) in self.columns.iter_mut().zip(words) {
            let kept = words.iter().enumerate().filter(|(row, _)| seen(*row));
            column.extend(kept.map(|(_, word)| *word));
        }
        self.unseen += unseen.iter().map(|bits| bits.count_ones() as usize).sum::<usize>();
    }

    /// Keeps keys of the build side.
    pub(crate) fn build(&mut self, words: &[Vec<u32>]) {
        let rows = words.first().map_or(0, Vec::len);
        self.build.extend((0..rows).map(|row| words.iter().map(|word| word[row]).collect()));
    }

    /// How many packets would be forwarded; `None` where nobody has computed it: skylines of other
    /// than two dimensions.
    pub(crate) fn forwarded(&self, optimum: Optimum) -> Option<usize> {
        let rows = self.columns.first().map_or(0, Vec::len);
        let key = |words: usize| {
            (0..rows).map(move |row| {
                let word = |code: u64, column: &Vec<u32>| code << 32 | u64::from(column[row]);
                self.columns[..words.min(2)].iter().fold(0, word)
            })
        };
        let value = |at: usize| (0..rows).map(move |row| self.columns[at][row]);
        if rows == 0 {
            return Some(self.unseen);
        }
        let forwarded = match optimum {
            Optimum::Distinct { key: words } => opt::distinct(key(words)),
            Optimum::TopN { n } => opt::top_n(value(0), n),
            Optimum::GroupBy { key: words, extreme: Extreme::Max } => {
                opt::group_by_max(key(words).zip(value(words)))
            }
            Optimum::GroupBy { key: words, extreme: Extreme::Min } => {
                opt::group_by_max(key(words).zip(value(words).map(|value| !value)))
            }
            Optimum::Join => {
                let keys = (0..rows).map(|row| self.columns.iter().map(|c| c[row]).collect());
                opt::join::<Vec<u32>>(keys, &self.build)
            }
            Optimum::HavingSum { key: words, threshold } => {
                let entries = key(words).zip(value(words).map(u64::from));
                opt::having_sum(entries, threshold.into())
            }
            Optimum::HavingExtreme { key: words, relation, threshold } => {
                let qualifies = |value: u32| match relation {
                    Relation::Gt => value > threshold,
                    Relation::Ge => value >= threshold,
                    Relation::Lt => value < threshold,
                    _ => value <= threshold,
                };
                let entries = key(words).zip(value(words));
                opt::distinct(entries.filter(|(_, value)| qualifies(*value)).map(|(key, _)| key))
            }
            Optimum::Skyline if self.columns.len() == 2 => opt::skyline(value(0).zip(value(1))),
            Optimum::Skyline => return None,
        };
        Some(forwarded + self.unseen)
    }
}
