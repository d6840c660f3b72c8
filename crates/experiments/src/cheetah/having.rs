//! HAVING SUM(adRevenue) over the languages of the visits, with a DISTINCT behind it: Figures 10f and 11f.
//!
//! A sketch only grows. At the end of a prefix, a key has been forwarded if all of its counters are above the
//! threshold, up to keys that had no entry after that. So the sums of the languages over parts of the table decide
//! which keys a sketch forwards; the DISTINCT behind it forwards each of them once. The program's own fast path is
//! fed with these sums, in cents.

use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
use sluicegate_pruning::encoding::{fingerprint, nonzero_bits};
use sluicegate_pruning::experiment::sweep::hash_seed;
use sluicegate_pruning::theory::confidence::student_t;
use sluicegate_pruning::{Entries, Selection};
use sluicegate_workloads::bigdata::Table;

use super::bigdata::{bigdata, rows, scale};
use crate::{Results, ResultsError, Run, Setting};

const RUN: &str = "sums of the languages";
/// The parts of the table.
pub(super) const PARTS: usize = 20;
/// The number of seeds.
const SEEDS: u64 = 5;
/// The rows of the sketch.
const DEPTH: u32 = 3;
/// The threshold of query 7 for the paper's sample, in cents.
const THRESHOLD: f64 = 1e8;

/// The sums of the languages in each part of the table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sums {
    keys: Vec<u32>,
    /// A sum in cents for each part and each key.
    parts: Vec<Vec<u32>>,
    threshold: u32,
}

/// The keys that are forwarded of a prefix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Forwarded {
    /// The mean over the seeds.
    pub(super) mean: f64,
    /// Half the width of the interval of the mean.
    pub(super) error: f64,
    /// The number of keys in the answer.
    pub(super) needed: usize,
    /// True if every seed forwarded the keys of the answer and no other.
    pub(super) is_exact: bool,
}

/// Returns the query that sums revenues in the order of the file.
pub(super) fn runs(setting: &Setting) -> Vec<Run> {
    let count = rows(Table::Uservisits, setting);
    let query = format!(
        "SELECT part, languagecode, SUM(cents) AS cents FROM (\
         SELECT languagecode, cents, (row_number() OVER () - 1) * {PARTS} / {count} AS part \
         FROM 's3://bigdata/visits.parquet') GROUP BY part, languagecode ORDER BY part, languagecode"
    );
    let mut run =
        Run::sql(RUN, &bigdata(setting), crate::UNLIMITED, &[("scan", "get")], &[query], 1);
    run.arguments.extend(["--threads".to_owned(), "1".to_owned()]);
    vec![run]
}

impl Sums {
    /// Reads the answer of the query.
    pub(super) fn read(setting: &Setting, results: &Results) -> Result<Self, ResultsError> {
        let threshold = (THRESHOLD * scale(setting)).round();
        Ok(Self::parse(&results.record(RUN)?.answers, threshold as u32))
    }

    fn parse(answers: &str, threshold: u32) -> Self {
        let mut sums = Self { keys: Vec::new(), parts: vec![Vec::new(); PARTS], threshold };
        for line in answers.lines().skip(1) {
            let mut fields = line.split(',');
            let part = fields.next().and_then(|it| it.parse::<usize>().ok());
            let key = fields.next().map(|it| nonzero_bits(fingerprint(it.as_bytes(), 0), 32));
            let cents = fields.next().and_then(|it| it.parse::<u32>().ok());
            let (Some(part), Some(key), Some(cents)) = (part, key, cents) else { continue };
            let Ok(key) = u32::try_from(key) else { continue };
            let at = sums.keys.iter().position(|it| *it == key).unwrap_or(sums.keys.len());
            if at == sums.keys.len() {
                sums.keys.push(key);
            }
            if let Some(there) = sums.parts.get_mut(part) {
                there.resize(there.len().max(at + 1), 0);
                there[at] = cents;
            }
        }
        sums.parts.iter_mut().for_each(|part| part.resize(sums.keys.len(), 0));
        sums
    }

    /// Returns the number of keys.
    pub(super) fn keys(&self) -> usize {
        self.keys.len()
    }

    /// Returns which keys are above the threshold in the first parts.
    fn answer(&self, parts: usize) -> Vec<bool> {
        let sum = |key: usize| self.parts[..parts].iter().map(|it| u64::from(it[key])).sum::<u64>();
        (0..self.keys.len()).map(|key| sum(key) > u64::from(self.threshold)).collect()
    }

    /// Returns the keys that a sketch with this many counters in a row forwards of the first parts.
    pub(super) fn forwarded(&self, counters: u32, parts: usize) -> Forwarded {
        let answer = self.answer(parts);
        let runs: Vec<Vec<bool>> =
            (0..SEEDS).map(|seed| self.through(counters, parts, hash_seed(seed))).collect();
        let counts: Vec<f64> =
            runs.iter().map(|keys| keys.iter().filter(|it| **it).count() as f64).collect();
        let count = counts.len() as f64;
        let mean = counts.iter().sum::<f64>() / count;
        let squares: f64 = counts.iter().map(|it| (it - mean).powi(2)).sum();
        Forwarded {
            mean,
            error: (squares / (count - 1.0) / count).sqrt() * student_t(0.95, SEEDS - 1),
            needed: answer.iter().filter(|it| **it).count(),
            is_exact: runs.iter().all(|keys| *keys == answer),
        }
    }

    /// Sends the sums through a sketch, then an entry of 0 for each key, which is forwarded if the key was.
    fn through(&self, counters: u32, parts: usize, seed: u64) -> Vec<bool> {
        let given = Parameters {
            columns: Some(counters),
            rows: Some(DEPTH),
            threshold: Some(self.threshold),
            hash_seed: Some(seed),
            ..Parameters::default()
        };
        let Ok(configured) = Algorithm::Having.configure(&given) else { return Vec::new() };
        let (mut pruner, mut selection) = (configured.pruner(), Selection::new());
        let nothing = vec![0; self.keys.len()];
        for sums in self.parts[..parts].iter().chain([&nothing]) {
            let columns = [self.keys.as_slice(), sums.as_slice()];
            let Ok(entries) = Entries::new(0, 0, &columns) else { return Vec::new() };
            if pruner.prune(&entries, &mut selection).is_err() {
                return Vec::new();
            }
        }
        (0..self.keys.len()).map(|at| selection.get(at)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums() -> Sums {
        Sums::parse(
            "part,languagecode,cents\n0,en,600\n0,de,100\n1,en,600\n1,fr,50\n19,de,150\n",
            1000,
        )
    }

    #[test]
    fn a_large_sketch_forwards_the_answer() {
        let sums = sums();
        assert_eq!((sums.keys(), sums.parts[1].as_slice()), (3, &[600, 0, 50][..]));
        let at = |counters, parts| sums.forwarded(counters, parts);
        assert_eq!((at(1024, 1).mean, at(1024, 1).needed), (0.0, 0));
        let all = at(1024, PARTS);
        assert_eq!((all.mean, all.error, all.needed, all.is_exact), (1.0, 0.0, 1, true));
        // With two counters in a row, keys share all of their counters for some seeds.
        assert!(at(2, PARTS).mean > 1.0 && !at(2, PARTS).is_exact);
    }
}
