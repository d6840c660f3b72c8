//! OPT beside a program: counts the same packets that a switch without limits would forward.

use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::algorithm::join::{BUILD_A, PROBE_B};
use sluicegate_pruning::experiment::trial::{Rows, Run};

/// The packets of one execution.
#[derive(Debug)]
pub(crate) struct Recording {
    /// Keys of a join's build side.
    built: Run,
    sent: Run,
    /// Number of rows that bypass every program.
    unseen: usize,
}

impl Recording {
    pub(crate) fn new() -> Self {
        let run = |flow| Run { flow, columns: Vec::new() };
        Self { built: run(BUILD_A), sent: run(PROBE_B), unseen: 0 }
    }

    /// Records packets, except those of rows that bypass the program.
    pub(crate) fn add(&mut self, words: &[Vec<u32>], unseen: &[u64]) {
        extend(&mut self.sent, words, unseen);
        self.unseen += unseen.iter().map(|bits| bits.count_ones() as usize).sum::<usize>();
    }

    /// Records keys of the build side.
    pub(crate) fn build(&mut self, words: &[Vec<u32>]) {
        extend(&mut self.built, words, &[]);
    }

    /// Returns the number of packets that would be forwarded, without those of the build side.
    pub(crate) fn forwarded(self, algorithm: &Configured, key_words: usize) -> usize {
        if self.sent.is_empty() {
            return self.unseen;
        }
        let built = self.built.len();
        let stream = [self.built, self.sent];
        let all = algorithm.question().optimum(&Rows::from_stream(&stream, key_words.min(2)));
        all.saturating_sub(built) + self.unseen
    }
}

fn extend(run: &mut Run, words: &[Vec<u32>], unseen: &[u64]) {
    run.columns.resize_with(words.len(), Vec::new);
    let seen = |row: usize| unseen.get(row / 64).is_none_or(|bits| bits >> (row % 64) & 1 == 0);
    for (column, words) in run.columns.iter_mut().zip(words) {
        let kept = words.iter().enumerate().filter(|(row, _)| seen(*row));
        column.extend(kept.map(|(_, word)| *word));
    }
}
