//! The route of a stream to the master: packets of one entry or several, and a DISTINCT behind HAVING.

use thiserror::Error;

use super::check::Mismatch;
use super::trial::{Run, TrialError, through_fast_path};
use crate::algorithm::catalog::{Algorithm, CatalogError, Configured, Parameters};
use crate::algorithm::group_sum::GroupSums;
use crate::deployment::multi_entry::{LaneBy, lane_polynomial, multi_entry};
use crate::deployment::topology::TreeError;
use crate::switch::{HashTable, Interpreter, Packet, Program, chain};
use crate::{ConfigError, Entries, Pruner, Selection, Verdict, first_id};

/// The route of a stream to the master. The default has one entry in a packet, and nothing behind the algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The number of entries in a packet: 1, 2, 4 or 8. A matrix is divided among the entries of a packet, so that it
    /// takes as much memory as one for single entries.
    pub per_packet: u8,
    /// The choice of the part of the matrix for each entry of a packet.
    pub lanes: Lanes,
    /// True if a DISTINCT of 4096 × 2 keys follows HAVING, which lets each key through once.
    pub then_distinct: bool,
}

/// The choice of a lane for each entry of a packet: see [`multi_entry`](mod@crate::deployment::multi_entry).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    /// By the entry's position in the packet.
    Position,
    /// By a hash of the key; of the entry's identifier, if there is no key.
    Hash,
}

impl Default for Route {
    fn default() -> Self {
        Self { per_packet: 1, lanes: Lanes::Position, then_distinct: false }
    }
}

/// The reason why an algorithm cannot take a route.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RouteError {
    /// The algorithm does not take these parameters.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The stream does not fit the algorithm.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// The stream cannot go through a tree of switches.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// JOIN, HAVING and sums must process every entry in one place.
    #[error("{0} must process every entry in one place, so its packets carry one entry each")]
    NeedsEveryEntry(Algorithm),
    /// Only HAVING forwards entries of one key until the end.
    #[error("a DISTINCT follows `having`, not {0}")]
    NotHaving(Algorithm),
}

impl From<ConfigError> for RouteError {
    fn from(error: ConfigError) -> Self {
        CatalogError::from(error).into()
    }
}

/// The verdicts on a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// For each run and entry, true if it was forwarded.
    pub keep: Vec<Vec<bool>>,
    /// The groups and sums that the switch returned at the end.
    pub held: Vec<GroupSums>,
    /// The number of packets that were sent.
    pub packets: usize,
    /// The number of packets that were forwarded, with at least one entry.
    pub forwarded_packets: usize,
}

impl Route {
    /// Returns the algorithm of one lane, if it can take the route.
    fn configure(
        &self,
        algorithm: Algorithm,
        given: &Parameters,
    ) -> Result<Configured, RouteError> {
        let whole = algorithm.configure(given)?;
        if self.then_distinct && algorithm != Algorithm::Having {
            return Err(RouteError::NotHaving(algorithm));
        }
        if self.per_packet == 1 {
            return Ok(whole);
        }
        if whole.pruner().needs_every_entry() {
            return Err(RouteError::NeedsEveryEntry(algorithm));
        }
        Ok(algorithm.configure(&self.lane(algorithm, given))?)
    }

    /// Returns the parameters of one lane: a matrix has its part of the rows.
    fn lane(&self, algorithm: Algorithm, given: &Parameters) -> Parameters {
        let rows = || algorithm.takes("rows").ok()?.default.parse().ok();
        let rows = given.rows.or_else(rows);
        rows.map_or(*given, |rows: u32| Parameters {
            rows: Some(rows / u32::from(self.per_packet)),
            ..*given
        })
    }

    fn lane_by(&self, algorithm: Algorithm, values: usize) -> LaneBy {
        match (self.lanes, algorithm.entry().carries.key_words(values)) {
            (Lanes::Position, _) => LaneBy::Position,
            (Lanes::Hash, 0) => LaneBy::Id,
            (Lanes::Hash, words) => LaneBy::Values(words as u8),
        }
    }

    /// Returns the program for this route.
    ///
    /// # Errors
    ///
    /// If the algorithm does not take the parameters or cannot take the route.
    pub fn program(&self, algorithm: Algorithm, given: &Parameters) -> Result<Program, RouteError> {
        let configured = self.configure(algorithm, given)?;
        let program = configured.program();
        if self.then_distinct {
            let (distinct, words) = self.distinct(algorithm, &configured, given)?;
            let all: Vec<u8> = (0..program.values).collect();
            let (first, second) = ((&program, &all[..]), (&distinct.program(), &all[..words]));
            return Ok(chain("having_distinct", program.values, first, second));
        }
        if self.per_packet == 1 {
            return Ok(program);
        }
        let lane_by = self.lane_by(algorithm, program.values.into());
        Ok(multi_entry(&program, self.per_packet, lane_by)?)
    }

    /// Returns the DISTINCT behind HAVING, and the number of words of its keys.
    fn distinct(
        &self,
        algorithm: Algorithm,
        having: &Configured,
        given: &Parameters,
    ) -> Result<(Configured, usize), RouteError> {
        let words = algorithm.entry().carries.key_words(having.pruner().values());
        let key_bits = Some(32 * words as u32);
        let (hash_seed, linear_hash) = (given.hash_seed, given.linear_hash);
        let keys = Parameters { key_bits, hash_seed, linear_hash, ..Parameters::default() };
        Ok((Algorithm::Distinct.configure(&keys)?, words))
    }

    /// Sends a stream through the algorithm's fast path, which decides exactly as [`Route::program`] does.
    ///
    /// # Errors
    ///
    /// If the algorithm does not take the parameters or the stream, or cannot take the route.
    pub fn send(
        &self,
        algorithm: Algorithm,
        given: &Parameters,
        stream: &[Run],
    ) -> Result<Sent, RouteError> {
        let configured = self.configure(algorithm, given)?;
        let mut pruner = configured.pruner();
        if self.per_packet > 1 {
            let lane_by = self.lane_by(algorithm, pruner.values());
            return Ok(Packets::new(self.per_packet, lane_by, &configured).send(stream)?);
        }
        let mut keep = through_fast_path(pruner.as_mut(), stream)?;
        if self.then_distinct {
            let (distinct, words) = self.distinct(algorithm, &configured, given)?;
            let survivors: Vec<Run> =
                stream.iter().zip(&keep).map(|(run, keep)| survivors(run, keep, words)).collect();
            let again = through_fast_path(distinct.pruner().as_mut(), &survivors)?;
            for (keep, again) in keep.iter_mut().zip(again) {
                let mut again = again.into_iter();
                keep.iter_mut().filter(|keep| **keep).for_each(|keep| {
                    *keep = again.next().unwrap_or(true);
                });
            }
        }
        let packets = stream.iter().map(Run::len).sum();
        let forwarded_packets = keep.iter().flatten().filter(|keep| **keep).count();
        Ok(Sent { keep, held: pruner.group_sums(), packets, forwarded_packets })
    }

    /// Checks on about the first `entries` entries that fast path and program agree, and returns their number.
    ///
    /// # Errors
    ///
    /// Returns the first difference, or the errors of [`Route::send`].
    pub fn check_first(
        &self,
        algorithm: Algorithm,
        given: &Parameters,
        stream: &[Run],
        entries: usize,
    ) -> Result<usize, RouteError> {
        let program = self.program(algorithm, given)?;
        let sent = self.send(algorithm, given, stream)?;
        let failed = |error| RouteError::from(TrialError::Mismatch(error));
        let mut interpreter = Interpreter::new(program).map_err(|error| failed(error.into()))?;
        let (mut id, mut checked, k) = (0_u32, 0, usize::from(self.per_packet));
        for (run, keep) in stream.iter().zip(&sent.keep) {
            // The last packet may be shorter than the program parses.
            for (packet, fast) in keep.chunks_exact(k).enumerate() {
                if checked >= entries {
                    return Ok(checked);
                }
                let first = packet * k;
                let values: Vec<u32> = (first..first + k).flat_map(|at| run.row(at)).collect();
                let named = first_id(run.flow).wrapping_add(id).wrapping_add(first as u32);
                let verdicts = interpreter.run_entries(&Packet::new(run.flow, named, values));
                let verdicts = verdicts.map_err(|error| failed(error.into()))?;
                for (offset, (&program, &kept)) in verdicts.iter().zip(fast).enumerate() {
                    let fast_path = if kept { Verdict::Forward } else { Verdict::Prune };
                    if program != fast_path {
                        let position = checked + offset;
                        return Err(failed(Mismatch::Verdict { position, program, fast_path }));
                    }
                }
                checked += k;
            }
            id = id.wrapping_add(run.len() as u32);
        }
        Ok(checked)
    }
}

/// Returns the keys of the entries that are kept.
fn survivors(run: &Run, keep: &[bool], words: usize) -> Run {
    let kept = |column: &Vec<u32>| {
        column.iter().zip(keep).filter(|(_, keep)| **keep).map(|(value, _)| *value).collect()
    };
    Run { flow: run.flow, columns: run.columns.iter().take(words).map(kept).collect() }
}

/// The lanes of packets with several entries, each a switch of its own.
struct Packets {
    lanes: Vec<Box<dyn Pruner>>,
    lane_by: LaneBy,
    hash: HashTable,
    selection: Selection,
}

impl Packets {
    fn new(per_packet: u8, lane_by: LaneBy, configured: &Configured) -> Self {
        let words = if let LaneBy::Values(words) = lane_by { words.into() } else { 1 };
        let bits = per_packet.trailing_zeros() as u8;
        Self {
            lanes: (0..per_packet).map(|_| configured.pruner()).collect(),
            lane_by,
            hash: HashTable::new(lane_polynomial(), u32::MAX, 4 * words, bits),
            selection: Selection::new(),
        }
    }

    /// Returns the lane of the entry at `position` of a packet with identifier `id`.
    fn lane(&self, run: &Run, at: usize, position: usize, id: u32) -> usize {
        match self.lane_by {
            LaneBy::Position => position,
            LaneBy::Values(words) => {
                let words = run.columns.iter().take(words.into()).map(|column| (column[at], 4));
                self.hash.hash(words) as usize
            }
            LaneBy::Id => self.hash.hash(std::iter::once((id, 4))) as usize ^ position,
        }
    }

    fn send(&mut self, stream: &[Run]) -> Result<Sent, TrialError> {
        let k = self.lanes.len();
        let (mut id, mut all) = (0_u32, Vec::new());
        let (mut packets, mut forwarded_packets) = (0, 0);
        for run in stream {
            let mut keep = vec![true; run.len()];
            for first in (0..run.len()).step_by(k) {
                let named = first_id(run.flow).wrapping_add(id).wrapping_add(first as u32);
                let entries = first..run.len().min(first + k);
                let mut taken = [false; 8];
                for at in entries.clone() {
                    let position = at - first;
                    let lane = self.lane(run, at, position, named);
                    // The first entry with a lane takes it; further ones are forwarded unprocessed.
                    if !std::mem::replace(&mut taken[lane], true) {
                        let id = named.wrapping_add(position as u32);
                        keep[at] = self.process(lane, run, at, id)?;
                    }
                }
                packets += 1;
                forwarded_packets += usize::from(keep[entries].contains(&true));
            }
            id = id.wrapping_add(run.len() as u32);
            all.push(keep);
        }
        Ok(Sent { keep: all, held: Vec::new(), packets, forwarded_packets })
    }

    fn process(&mut self, lane: usize, run: &Run, at: usize, id: u32) -> Result<bool, TrialError> {
        let values: Vec<&[u32]> = run.columns.iter().map(|column| &column[at..=at]).collect();
        // Columns of one value have the same length.
        if let Ok(entries) = Entries::new(run.flow, id, &values) {
            self.lanes[lane].prune(&entries, &mut self.selection)?;
        }
        Ok(self.selection.get(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::join;
    use crate::experiment::trial::{Effect, judge};
    use crate::rng::Rng;

    fn random(values: usize, len: usize, keys: u64) -> Vec<Run> {
        let mut rng = Rng::new(11);
        let columns =
            (0..values).map(|_| (0..len).map(|_| 1 + rng.below(keys) as u32).collect()).collect();
        vec![Run { flow: 0, columns }]
    }

    fn small(algorithm: Algorithm) -> Parameters {
        Parameters {
            threshold: algorithm.entry().takes("threshold").then_some(200),
            n: algorithm.entry().takes("n").then_some(3),
            ..algorithm.entry().with_cells(64)
        }
    }

    /// Packets of several entries: the fast path decides as the program does, and the answer is unchanged.
    #[test]
    fn lanes_are_those_of_the_program() {
        for &algorithm in Algorithm::ALL {
            let given = small(algorithm);
            let configured = algorithm.configure(&given).unwrap();
            let values = configured.pruner().values();
            let stream = random(values, 2_003, 300);
            for (per_packet, lanes) in
                [(2, Lanes::Position), (4, Lanes::Position), (4, Lanes::Hash), (8, Lanes::Hash)]
            {
                let route = Route { per_packet, lanes, ..Route::default() };
                let sent = route.send(algorithm, &given, &stream);
                if configured.pruner().needs_every_entry() {
                    assert_eq!(sent, Err(RouteError::NeedsEveryEntry(algorithm)));
                    continue;
                }
                let sent = sent.unwrap();
                let checked = route.check_first(algorithm, &given, &stream, 1_500);
                assert!(checked.is_ok_and(|n| n >= 1_500), "{algorithm}: {route:?}");
                let keys = algorithm.entry().carries.key_words(values);
                let trial = judge(configured.question().as_ref(), &stream, &sent.keep, keys);
                assert_eq!(trial.effect, Effect::Unchanged, "{algorithm}: {route:?}");
                assert_eq!(sent.packets, 2_003_usize.div_ceil(per_packet.into()));
                assert!(sent.forwarded_packets <= sent.packets.min(trial.forwarded));
            }
        }
    }

    #[test]
    fn a_distinct_behind_having_lets_each_key_through_once() {
        let stream = random(2, 5_000, 20);
        let given = Parameters { threshold: Some(500), ..Parameters::default() };
        let behind = Route { then_distinct: true, ..Route::default() };
        let question = Algorithm::Having.configure(&given).unwrap().question();
        let [alone, distinct] = [Route::default(), behind].map(|route| {
            let sent = route.send(Algorithm::Having, &given, &stream).unwrap();
            assert_eq!(route.check_first(Algorithm::Having, &given, &stream, 9_999), Ok(5_000));
            judge(question.as_ref(), &stream, &sent.keep, 1)
        });
        assert_eq!((alone.effect, distinct.effect), (Effect::Unchanged, Effect::Unchanged));
        assert!(alone.forwarded > 1_000 && distinct.forwarded == 20, "{alone:?} {distinct:?}");
        assert_eq!(distinct.optimum, 20);
        let wide = Parameters { key_bits: Some(64), ..given };
        let three_values = random(3, 800, 20);
        assert_eq!(behind.check_first(Algorithm::Having, &wide, &three_values, 800), Ok(800));
        let other = behind.send(Algorithm::GroupBy, &Parameters::default(), &stream);
        assert_eq!(other, Err(RouteError::NotHaving(Algorithm::GroupBy)));
    }

    /// The default route is the fast path itself, with both sides of a join and with sums that the switch holds.
    #[test]
    fn single_entries_are_as_ever() {
        let run = |flow, keys| Run { flow, ..random(1, 700, keys).remove(0) };
        let sides = [run(join::BUILD_A, 50), run(join::PROBE_B, 300)];
        let given = Algorithm::JoinBloom.entry().with_cells(1 << 12);
        let sent = Route::default().send(Algorithm::JoinBloom, &given, &sides).unwrap();
        let mut pruner = Algorithm::JoinBloom.configure(&given).unwrap().pruner();
        assert_eq!(sent.keep, through_fast_path(pruner.as_mut(), &sides).unwrap());
        assert_eq!(
            Route::default().check_first(Algorithm::JoinBloom, &given, &sides, 9_999),
            Ok(1_400)
        );
        let default = Parameters::default();
        let sums = Route::default().send(Algorithm::GroupSum, &default, &random(2, 500, 40));
        assert_eq!(sums.unwrap().held.len(), 40);
    }
}
