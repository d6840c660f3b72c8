//! The real algorithms in the protocol: adapters from entries to the packets of a program.

use std::hash::{Hash, Hasher};

use super::packet::{Entry, Name};
use super::prune::Pruner;
use super::query::Query;
use crate::algorithm::catalog::PacketContents;
use crate::algorithm::join;
use crate::rng::mix64;
use crate::switch::{Interpreter, Program, ProgramError};
use crate::{Entries, Selection, Verdict};

/// Returns the flow and the values of an entry's packet, for a program of `values` values, or none if the entry has
/// no packet. The packet carries what the query's packets carry; a key has one word or two.
///
/// Entries with numbers that are too wide are forwarded unprocessed where that is sound. Wide keys of JOIN and
/// HAVING, which are compared with other keys, are replaced by fingerprints, which can only prune less.
pub(super) fn packet(
    query: Query,
    name: &Name,
    entry: &Entry,
    values: usize,
) -> Option<(u16, [u32; 3])> {
    let narrow = |value: u64| u32::try_from(value).ok();
    let halves = |key: u64| [(key >> 32) as u32, key as u32];
    // The key takes as many words as there are before `rest` others.
    let with_key = |rest: usize, value: u32, hashed: bool| {
        let [high, low] = halves(entry.key);
        match (values.saturating_sub(rest), narrow(entry.key)) {
            (2, _) => Some([high, low, value]),
            (_, Some(key)) => Some([key, value, 0]),
            (_, None) => hashed.then(|| [mix64(entry.key) as u32, value, 0]),
        }
    };
    match query.packet_contents() {
        PacketContents::Comparands | PacketContents::Value => {
            Some((name.fid, [narrow(entry.value)?, 0, 0]))
        }
        PacketContents::Key => Some((0, with_key(0, 0, false)?)),
        PacketContents::Coordinates => Some((0, [narrow(entry.key)?, narrow(entry.value)?, 0])),
        PacketContents::KeyAndValue => Some((0, with_key(1, narrow(entry.value)?, false)?)),
        PacketContents::KeyOfEither => {
            let flow = match (entry.pass, entry.table & 1) {
                (0, 0) => join::BUILD_A,
                (0, _) => join::BUILD_B,
                (_, 0) => join::PROBE_A,
                (_, _) => join::PROBE_B,
            };
            Some((flow, with_key(0, 0, true)?))
        }
        // Values are summed in the first pass only.
        PacketContents::KeyAndAmount if entry.pass > 0 => None,
        // Sums that the switch keeps are exact, so wide keys and values have no packet.
        PacketContents::KeyAndAmount if query.holds() => {
            Some((0, with_key(1, narrow(entry.value)?, false)?))
        }
        PacketContents::KeyAndAmount => {
            let value = narrow(entry.value).unwrap_or(u32::MAX);
            Some((0, with_key(1, value, true)?))
        }
    }
}

/// Returns true if a switch that holds these groups added an entry that it processed: it has the entry's group, and
/// the entry has a packet.
fn is_aggregated(query: Query, entry: &Entry, mut held: impl Iterator<Item = u64>) -> bool {
    let name = Name { query: 0, fid: 0, pass: entry.pass, id: 0, epoch: 0 };
    packet(query, &name, entry, 2).is_some() && held.any(|key| key == entry.key)
}

/// A fast path of this crate as the simulation's pruner. Its algorithm and values must be those of the query.
#[derive(Debug)]
pub struct FastPath<P> {
    query: Query,
    pruner: P,
    selection: Selection,
}

impl<P: crate::Pruner> FastPath<P> {
    /// Creates the simulation's pruner from `pruner`, for `query`.
    pub fn new(query: Query, pruner: P) -> Self {
        Self { query, pruner, selection: Selection::new() }
    }
}

impl<P: crate::Pruner> Pruner for FastPath<P> {
    fn prune(&mut self, name: &Name, entry: &Entry) -> bool {
        let values = self.pruner.values();
        let Some((flow, words)) = packet(self.query, name, entry, values) else { return false };
        let columns: [&[u32]; 3] = [&words[..1], &words[1..2], &words[2..]];
        let columns = columns.get(..values).unwrap_or_default();
        let Ok(batch) = Entries::new(flow, name.id, columns) else { return false };
        // A pruner with another number of values than the query prunes nothing.
        self.pruner.prune(&batch, &mut self.selection).is_ok()
            && self.selection.len() == 1
            && !self.selection.get(0)
    }

    fn holds(&self, entry: &Entry) -> bool {
        is_aggregated(self.query, entry, self.pruner.group_sums().iter().map(|held| held.key))
    }

    fn read(&self, cell: u64) -> Option<(u64, u64)> {
        let held = self.pruner.group_sums();
        let of_cell = held.get(cell as usize)?;
        Some((of_cell.key, *of_cell.sums.first()?))
    }

    fn reset(&mut self) {
        self.pruner.reset();
    }
}

/// A program of this crate as the explorer's pruner. Two are equal if their registers are.
#[derive(Debug, Clone)]
pub struct Programmed {
    query: Query,
    interpreter: Interpreter,
}

impl Programmed {
    /// Creates the explorer's pruner from `program`, which must parse the values of `query`.
    ///
    /// # Errors
    ///
    /// If the program breaks a rule of the switch.
    pub fn new(query: Query, program: Program) -> Result<Self, ProgramError> {
        Ok(Self { query, interpreter: Interpreter::new(program)? })
    }
}

#[cfg(test)]
impl Programmed {
    /// Returns the words of the entry's packet, or as many zeros if it has none.
    pub(super) fn values(query: Query, name: &Name, entry: &Entry, values: usize) -> Vec<u32> {
        let words = packet(query, name, entry, values).map_or([0; 3], |(_, words)| words);
        words.get(..values).unwrap_or_default().to_vec()
    }
}

impl PartialEq for Programmed {
    fn eq(&self, other: &Self) -> bool {
        self.query == other.query && self.interpreter.registers() == other.interpreter.registers()
    }
}

impl Eq for Programmed {}

impl Hash for Programmed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.interpreter.registers().hash(state);
    }
}

impl Pruner for Programmed {
    fn prune(&mut self, name: &Name, entry: &Entry) -> bool {
        let values = usize::from(self.interpreter.program().values);
        let Some((flow, words)) = packet(self.query, name, entry, values) else { return false };
        let words = words.get(..values).unwrap_or_default();
        self.interpreter.process(flow, name.id, words) == Ok(Verdict::Prune)
    }

    fn holds(&self, entry: &Entry) -> bool {
        let cells = self.query.reads(1).into_iter().flatten();
        let held = cells.filter_map(|cell| self.read(cell.key));
        is_aggregated(self.query, entry, held.map(|(key, _)| key))
    }

    fn read(&self, cell: u64) -> Option<(u64, u64)> {
        self.query.group_sums_in(self.interpreter.registers(), cell)
    }

    fn reset(&mut self) {
        self.interpreter.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ties;
    use crate::algorithm::join::{Kind, Passes, Shape};
    use crate::algorithm::{distinct, filter, group_by, group_sum, having, skyline, top_n};
    use crate::protocol::{Config, OnReboot, Outcome, Reboots, Rules, simulate_with};
    use crate::rng::Rng;
    use crate::switch::Relation;

    /// Runs `query` through the repaired protocol with faults; returns how many entries were pruned.
    fn check<P: crate::Pruner>(query: Query, pruner: impl Fn() -> P) {
        let mut pruned = 0;
        for seed in 0..120 {
            let mut rng = Rng::new(seed);
            let mut config = Config::new(query, Rules::repaired());
            config.reboots = Reboots::Random { count: (seed % 3) as u32, until: 600 };
            let rows = (0..3).map(|_| query.rows(30, &mut rng)).collect();
            let fast_path = FastPath::new(query, pruner());
            let report = simulate_with(&config, rows, fast_path, seed).unwrap();
            assert_eq!(report.outcome, Outcome::Correct, "{query:?}, seed {seed}:\n{report}");
            pruned += report.pruned;
        }
        assert!(pruned > 120, "{query:?} prunes {pruned}");
    }

    #[test]
    fn every_algorithm_survives_the_protocol() {
        let formula = filter::Formula::compare(0, Relation::Ge, 60);
        let config = filter::Config::new(&formula, 1, None).unwrap();
        check(Query::Filter { at_least: 60 }, || config.pruner());

        let (width, policy) = (distinct::Width::Bits32, distinct::Policy::Lru);
        let config = distinct::Config::new(2, 2, width, policy).unwrap();
        check(Query::Distinct, || config.pruner());

        let config = top_n::deterministic::Config::new(5, 4).unwrap();
        check(Query::TopN { n: 5 }, || config.pruner());

        let extreme = group_by::Extreme::Max;
        let config = group_by::Config::new(4, 2, extreme, Ties::Keep, false).unwrap();
        check(Query::GroupByMax, || config.pruner());

        let config = group_sum::Config::new(4, 2).unwrap();
        check(Query::GroupSum { cells: 8 }, || config.pruner());

        let config = skyline::Config::new(2, 3, skyline::Score::Sum, Ties::Keep).unwrap();
        check(Query::Skyline, || config.pruner());

        let shape = Shape::new(Kind::Inner, Passes::Two, false);
        let config = join::bloom::Config::new(shape, 64, 2).unwrap();
        check(Query::Join, || config.pruner());

        let sum = having::sum::Aggregate::Sum;
        let config = having::sum::Config::new(2, 8, 500, sum, false).unwrap();
        check(Query::HavingSum { above: 500 }, || config.pruner());
    }

    /// The programs themselves, on links with losses, bursts and a full queue, through reboots. The variable
    /// `SLUICEGATE_PROTOCOL_RUNS` sets the number of runs.
    #[test]
    fn every_program_survives_the_protocol() {
        let programs = crate::protocol::explore_programs();
        let runs =
            std::env::var("SLUICEGATE_PROTOCOL_RUNS").ok().and_then(|runs| runs.parse().ok());
        let each = runs.map_or(25, |runs: u64| runs.div_ceil(programs.len() as u64));
        for (name, query, program) in programs {
            let empty = Programmed::new(query, program).unwrap();
            let mut pruned = 0;
            for seed in 0..each {
                let mut rng = Rng::new(seed);
                let mut config = Config::new(query, Rules::repaired());
                config.reboots = Reboots::Random { count: (seed % 4) as u32, until: 600 };
                config.link.burst = if seed % 5 == 0 { 5 } else { 0 };
                config.queue = (seed % 3 == 0).then_some(6);
                config.first_id = if seed % 2 == 0 { 0 } else { u32::MAX - 10 };
                let rows = (0..3).map(|_| query.rows(20, &mut rng)).collect();
                let report = simulate_with(&config, rows, empty.clone(), seed).unwrap();
                assert_eq!(report.outcome, Outcome::Correct, "{name}, seed {seed}:\n{report}");
                pruned += report.pruned;
            }
            println!("{name:<22} {each} runs, {pruned} entries pruned");
            assert!(pruned > 0, "{name} prunes nothing");
        }
    }

    #[test]
    fn an_empty_bloom_filter_prunes_matches_after_a_reboot() {
        let shape = Shape::new(Kind::Inner, Passes::Two, false);
        let config = join::bloom::Config::new(shape, 64, 2).unwrap();
        let mut wrong = 0;
        for seed in 0..100 {
            let mut protocol = Config::new(Query::Join, Rules::repaired());
            protocol.rules.on_reboot = Some(OnReboot::Continue);
            let mut rng = Rng::new(seed);
            let rows = (0..3).map(|_| Query::Join.rows(30, &mut rng)).collect();
            let fast_path = FastPath::new(Query::Join, config.pruner());
            let report = simulate_with(&protocol, rows, fast_path, seed).unwrap();
            wrong += u32::from(report.outcome == Outcome::Wrong);
        }
        assert!(wrong > 0);
    }
}
