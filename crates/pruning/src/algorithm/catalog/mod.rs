//! The algorithms by name, for choosing one at run time.
//!
//! The registry at the top of this module has one line for each algorithm. Its description is the [`Entry`] in its
//! folder; its behaviour with given parameters is its [`Pruning`].
//!
//! ```
//! use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
//!
//! let distinct: Algorithm = "distinct".parse()?;
//! let configured = distinct.configure(&Parameters { columns: Some(4), ..Parameters::default() })?;
//! assert_eq!(configured.program().name, "distinct");
//! // A parameter that the algorithm does not have is refused; the error lists those it has.
//! let odd = distinct.configure(&Parameters { hashes: Some(3), ..Parameters::default() });
//! assert!(odd.is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[macro_use]
mod registry;
mod entry;
mod parameter_spec;
mod parameters;

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use entry::{Entry, Guarantee, PacketContents, Paper, QuerySize, Released, Sizes, Table2};
pub use parameter_spec::{ParameterSpec, Range};
pub use parameters::{PARAMETERS, Parameter, Parameters, Value, Values};

use super::{Pruning, distinct, filter, group_by, group_sum, having, join, skyline, top_n};
use crate::ConfigError;
use crate::switch::Program;

registry! {
    Filter(filter::Config) { Filter = filter::FILTER, "WHERE: a comparison."; }
    Distinct(distinct::Config) {
        Distinct = distinct::LRU, "DISTINCT; the least recently seen key is evicted.";
        DistinctFifo = distinct::FIFO, "DISTINCT; the oldest key is evicted.";
    }
    Skyline(skyline::Config) {
        SkylineSum = skyline::SUM, "SKYLINE, points ordered by their sum.";
        SkylineProduct = skyline::PRODUCT, "SKYLINE, points ordered by their approximate product.";
        SkylineBaseline = skyline::BASELINE, "SKYLINE, the first points stay.";
    }
    TopNDeterministic(top_n::deterministic::Config) {
        TopNDeterministic = top_n::DETERMINISTIC, "TOP N by cutoffs that double: never wrong.";
    }
    TopNRandomized(top_n::randomized::Config) {
        TopNRandomized = top_n::RANDOMIZED, "TOP N by the greatest values of random rows.";
    }
    GroupBy(group_by::Config) { GroupBy = group_by::GROUP_BY, "GROUP BY with MAX or MIN."; }
    GroupSum(group_sum::Config) { GroupSum = group_sum::GROUP_SUM, "GROUP BY with SUM or COUNT."; }
    JoinBloom(join::bloom::Config) { JoinBloom = join::BLOOM, "JOIN with a Bloom filter."; }
    JoinRegisterBloom(join::register_bloom::Config) {
        JoinRegisterBloom = join::REGISTER_BLOOM, "JOIN with a register Bloom filter.";
    }
    Having(having::sum::Config) { Having = having::SUM, "HAVING SUM or COUNT, by Count-Min."; }
    HavingBelow(having::below::Config) {
        HavingBelow = having::BELOW, "HAVING SUM below a threshold, by cells of groups.";
    }
    HavingExtreme(having::extreme::Config) {
        HavingExtreme = having::EXTREME, "HAVING MAX or MIN.";
    }
}

/// Writes the form that EXPLAIN shows: `name(parameter=value, …)`.
impl fmt::Display for Configured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

/// The reason why an algorithm cannot be configured.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// No algorithm has this name.
    #[error("`{0}` is not an algorithm; choose one of {names}", names = names(Algorithm::ALL.iter()))]
    Unknown(String),
    /// The algorithm has no such parameter.
    #[error("{algorithm} has no parameter {parameter}: it has {known}")]
    Unused {
        /// The algorithm that was chosen.
        algorithm: Algorithm,
        /// The parameter that was given.
        parameter: &'static str,
        /// The parameters that the algorithm has.
        known: String,
    },
    /// The authors released no program for this algorithm.
    #[error(
        "the authors released no program for {0}: they did for {names}",
        names = names(Algorithm::ALL.iter().filter(|a| a.entry().released.is_some()))
    )]
    NotReleased(Algorithm),
    /// A parameter is out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Joins names as a sentence lists them.
fn names<'a>(algorithms: impl Iterator<Item = &'a Algorithm>) -> String {
    let names: Vec<&str> = algorithms.map(|algorithm| algorithm.name()).collect();
    match names.split_last() {
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => "none".to_owned(),
    }
}

impl Algorithm {
    /// Returns the name by which the algorithm is chosen.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns the algorithm with these parameters.
    ///
    /// # Errors
    ///
    /// If the algorithm has no such parameter, or one is out of range.
    pub fn configure(self, given: &Parameters) -> Result<Configured, CatalogError> {
        for parameter in given.named() {
            self.takes(parameter)?;
        }
        Ok((self.entry().configure)(given)?)
    }

    /// Returns the algorithm's description of the parameter with this name.
    ///
    /// # Errors
    ///
    /// If the algorithm has no such parameter.
    pub fn takes(self, parameter: &'static str) -> Result<&'static ParameterSpec, CatalogError> {
        let entry = self.entry();
        entry.parameters.iter().find(|it| it.name == parameter).ok_or_else(|| {
            CatalogError::Unused { algorithm: self, parameter, known: entry.listed() }
        })
    }

    /// Returns the authors' program with its quirks, at their own sizes: see
    /// [`published`](crate::algorithm::published).
    ///
    /// # Errors
    ///
    /// If the authors released none, or if it does not have the given parameters: the filter has `threshold`, TOP N
    /// has `n`, and the others have `rows`, a power of two.
    pub fn released(self, given: &Parameters) -> Result<Program, CatalogError> {
        let Some(released) = &self.entry().released else {
            return Err(CatalogError::NotReleased(self));
        };
        if given.named().any(|name| !released.parameters.contains(&name)) {
            return Err(ConfigError::Conflict(
                "the released programs have fixed sizes: only the filter's threshold, the n of TOP N and the rows of distinct, group-by and join-bloom can be set",
            )
            .into());
        }
        Ok((released.program)(given)?)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = CatalogError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|a| a.name().eq_ignore_ascii_case(name));
        found.copied().ok_or_else(|| CatalogError::Unknown(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    use super::*;
    use crate::algorithm::group_by::Extreme;
    use crate::rng::mix64;
    use crate::switch::{Interpreter, Relation};
    use crate::{Entries, Selection, Ties, Verdict};

    #[test]
    fn every_algorithm_has_a_name_and_the_papers_defaults() {
        for &algorithm in Algorithm::ALL {
            assert_eq!(algorithm.name().parse(), Ok(algorithm));
            let configured = algorithm.configure(&Parameters::default()).unwrap();
            let program = configured.program();
            assert_eq!(program.validate(), Ok(()));
            assert_eq!(configured.pruner().values(), usize::from(program.values), "{algorithm}");
        }
        let unknown = "distinkt".parse::<Algorithm>().unwrap_err().to_string();
        assert!(unknown.contains("distinct-fifo") && unknown.contains(" and "), "{unknown}");
    }

    /// A batch may run past the greatest identifier. The next one is 0, in the fast path and in the program.
    #[test]
    fn identifiers_wrap() {
        const ROWS: u32 = 400;
        let first = u32::MAX - 20;
        for &algorithm in Algorithm::ALL {
            let given = algorithm.entry().with_cells(64);
            let configured = algorithm.configure(&given).unwrap();
            let mut interpreter = Interpreter::new(configured.program()).unwrap();
            let mut pruner = configured.pruner();
            let value = |column: u64, row: u32| mix64(u64::from(row) << 8 | column) as u32 % 90;
            let columns: Vec<Vec<u32>> = (0..pruner.values() as u64)
                .map(|column| (0..ROWS).map(|row| value(column, row)).collect())
                .collect();
            let columns: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
            let mut selection = Selection::new();
            let entries = Entries::new(0, first, &columns).unwrap();
            pruner.prune(&entries, &mut selection).unwrap();
            for row in 0..ROWS {
                let values: Vec<u32> = columns.iter().map(|column| column[row as usize]).collect();
                let verdict = interpreter.process(0, first.wrapping_add(row), &values).unwrap();
                let kept = selection.get(row as usize);
                assert_eq!(kept, verdict == Verdict::Forward, "{algorithm}, row {row}");
            }
        }
    }

    #[test]
    fn parameters_are_taken_or_refused() {
        for &algorithm in Algorithm::ALL {
            for (name, given) in [
                ("columns", Parameters { columns: Some(2), ..Parameters::default() }),
                ("rows", Parameters { rows: Some(16), ..Parameters::default() }),
                ("hashes", Parameters { hashes: Some(2), ..Parameters::default() }),
                ("n", Parameters { n: Some(9), ..Parameters::default() }),
                ("key_bits", Parameters { key_bits: Some(32), ..Parameters::default() }),
                ("dimensions", Parameters { dimensions: Some(3), ..Parameters::default() }),
                ("threshold", Parameters { threshold: Some(5), ..Parameters::default() }),
                ("relation", Parameters { relation: Some(Relation::Ge), ..Parameters::default() }),
                ("extreme", Parameters { extreme: Some(Extreme::Min), ..Parameters::default() }),
                ("ties", Parameters { ties: Some(Ties::Prune), ..Parameters::default() }),
                ("row_value", Parameters { row_value: Some(true), ..Parameters::default() }),
                ("hash_seed", Parameters { hash_seed: Some(u64::MAX), ..Parameters::default() }),
                ("linear_hash", Parameters { linear_hash: Some(true), ..Parameters::default() }),
            ] {
                let configured = algorithm.configure(&given);
                if algorithm.entry().takes(name) {
                    assert!(configured.is_ok(), "{algorithm}, {name}: {configured:?}");
                } else {
                    let refused = configured.unwrap_err();
                    assert!(matches!(refused, CatalogError::Unused { .. }), "{refused}");
                }
            }
        }
    }

    /// Every parameter keeps to its description: its default, its bounds, and refusal beyond them.
    #[test]
    fn parameters_are_as_they_are_described() {
        for &algorithm in Algorithm::ALL {
            let default = algorithm.configure(&Parameters::default()).unwrap();
            for takes in algorithm.entry().parameters {
                let set = |text: &str| {
                    let mut given = Parameters::default();
                    given
                        .set(takes.name, text)
                        .map(|()| algorithm.configure(&given).ok())
                        .ok()
                        .flatten()
                };
                if takes.range != Range::Flag && takes.default != ParameterSpec::NOT_SET {
                    assert_eq!(set(takes.default), Some(default.clone()), "{algorithm}: {takes:?}");
                }
                let (taken, refused) = match takes.range {
                    Range::Flag => (vec![1], vec![]),
                    Range::OneOf(words) => {
                        words.iter().for_each(|word| assert!(set(word).is_some(), "{takes:?}"));
                        assert_eq!(set("33"), None, "{algorithm}: {takes:?}");
                        continue;
                    }
                    Range::Numbers(least, greatest) => {
                        let below = least.checked_sub(1);
                        let above = greatest.checked_add(1);
                        (vec![least, greatest], below.into_iter().chain(above).collect())
                    }
                    Range::Rows(least, most, greatest) => (
                        vec![least, least + 1, most, 2 * most],
                        vec![least - 1, most + 1, 2 * greatest],
                    ),
                    Range::PowersOfTwo(least, greatest) => {
                        // With the defaults of the other parameters, the greatest number has too many cells.
                        let _ = greatest;
                        (vec![least, 4 * least], vec![least / 2, 3 * least, 2 * greatest])
                    }
                };
                for value in taken {
                    let text =
                        if takes.range == Range::Flag { String::new() } else { value.to_string() };
                    assert!(set(&text).is_some(), "{algorithm}: {takes:?}: {value}");
                }
                for value in refused {
                    assert!(set(&value.to_string()).is_none(), "{algorithm}: {takes:?}: {value}");
                }
            }
        }
    }

    #[test]
    fn only_what_is_first_in_first_out_is_called_so() {
        let four = Parameters { columns: Some(4), ..Parameters::default() };
        let refused = Algorithm::DistinctFifo.configure(&four).unwrap_err().to_string();
        assert!(refused.contains("take `distinct` for more"), "{refused}");
        assert!(Algorithm::Distinct.configure(&four).is_ok());
    }

    #[test]
    fn the_seed_is_shown_and_kept() {
        let given = Parameters { hash_seed: Some(7), ..Parameters::default() };
        let linear = Parameters { linear_hash: Some(true), ..Parameters::default() };
        for &algorithm in Algorithm::ALL {
            if !algorithm.entry().takes("hash_seed") {
                continue;
            }
            let seeded = algorithm.configure(&given).unwrap();
            let json = serde_json::to_string(&seeded).unwrap();
            assert_eq!(serde_json::from_str::<Configured>(&json).unwrap(), seeded);
            assert_ne!(
                seeded.program(),
                algorithm.configure(&Parameters::default()).unwrap().program()
            );
            if algorithm != Algorithm::HavingExtreme {
                assert!(seeded.to_string().ends_with(", seed=7)"), "{seeded}");
                let linear = algorithm.configure(&linear).unwrap().to_string();
                assert!(linear.ends_with(", linear hash)"), "{linear}");
            }
        }
        let both = Parameters { linear_hash: Some(true), ..given };
        assert!(Algorithm::Distinct.configure(&both).is_err());
    }

    #[test]
    fn what_was_released_can_be_had() {
        let default = Parameters::default();
        let released = Algorithm::ALL.iter().filter(|a| a.released(&default).is_ok()).count();
        assert_eq!(released, 6);
        let sized = Parameters { rows: Some(256), ..default };
        let program = Algorithm::Distinct.released(&sized).unwrap();
        assert!(program.registers.iter().all(|register| register.size == 256));
        assert!(Algorithm::Distinct.released(&Parameters { columns: Some(2), ..default }).is_err());
        assert!(matches!(
            Algorithm::Having.released(&default),
            Err(CatalogError::NotReleased(Algorithm::Having))
        ));
    }

    fn written(algorithm: Algorithm) -> String {
        let configured = algorithm.configure(&Parameters::default()).unwrap();
        serde_json::to_string(&configured).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        for &algorithm in Algorithm::ALL {
            let configured = algorithm.configure(&Parameters::default()).unwrap();
            let read: Configured = serde_json::from_str(&written(algorithm)).unwrap();
            assert_eq!(read, configured, "{algorithm}");
        }
        let row_value = Configured::Distinct(distinct::Config::paper().with_row_value());
        let json = serde_json::to_string(&row_value).unwrap();
        assert_eq!(serde_json::from_str::<Configured>(&json).unwrap(), row_value);
    }

    #[test]
    fn what_cannot_be_made_is_not_read() {
        for (algorithm, valid, damaged) in [
            (Algorithm::Filter, "\"values\":1", "\"values\":0"),
            (Algorithm::Filter, "\"flags\":null", "\"flags\":0"),
            (Algorithm::Filter, "[[0,", "[[1,"),
            (Algorithm::Filter, "\"flag_bits\":[]", "\"flag_bits\":[3]"),
            (Algorithm::Filter, "\"keep\":[", "\"keep\":[true,"),
            (Algorithm::Distinct, "\"rows\":4096", "\"rows\":4095"),
            (Algorithm::Distinct, "\"columns\":2", "\"columns\":65"),
            (Algorithm::DistinctFifo, "\"columns\":2", "\"columns\":1"),
            (Algorithm::DistinctFifo, "Bits32", "Bits64"),
            (Algorithm::SkylineSum, "\"dimensions\":2", "\"dimensions\":5"),
            (Algorithm::SkylineProduct, "\"points\":10", "\"points\":0"),
            (Algorithm::TopNDeterministic, "\"n\":250", "\"n\":4294967295"),
            (Algorithm::TopNDeterministic, "\"cutoffs\":4", "\"cutoffs\":32"),
            (Algorithm::TopNRandomized, "\"rows\":4096", "\"rows\":0"),
            (Algorithm::TopNRandomized, "\"seed\":0", "\"seed\":-1"),
            (Algorithm::GroupBy, "\"cells\":4096", "\"cells\":134217728"),
            (Algorithm::GroupBy, "\"tables\":8", "\"tables\":17"),
            (Algorithm::JoinBloom, "\"hashes\":3", "\"hashes\":17"),
            (Algorithm::JoinRegisterBloom, "\"hashes\":3", "\"hashes\":9"),
            (Algorithm::JoinRegisterBloom, "\"mask_bits\":16", "\"mask_bits\":3"),
            (Algorithm::Having, "\"rows\":3", "\"rows\":0"),
            (Algorithm::Having, "\"threshold\":1000000", "\"threshold\":4294967295"),
            (Algorithm::HavingBelow, "\"cells\":4096", "\"cells\":4095"),
            (Algorithm::HavingBelow, "\"threshold\":1000000", "\"threshold\":0"),
            (Algorithm::HavingExtreme, "\"relation\":\"Gt\"", "\"relation\":\"Ne\""),
            (Algorithm::HavingExtreme, "\"rows\":4096", "\"rows\":1"),
        ] {
            let json = written(algorithm);
            assert!(json.contains(valid), "{valid} in {json}");
            let read = serde_json::from_str::<Configured>(&json.replacen(valid, damaged, 1));
            assert!(read.is_err(), "{algorithm} with {damaged}: {read:?}");
        }
        let twice = r#"{"Filter":{"values":1,"flags":null,"comparisons":[[0,"Lt",5],[0,"Lt",5]],
            "flag_bits":[],"keep":[true,true,false,false]}}"#;
        let error = serde_json::from_str::<Configured>(twice).unwrap_err();
        assert!(error.to_string().contains("distinct"), "{error}");
    }

    proptest! {
        #[test]
        fn what_is_read_is_a_program(
            algorithm in select(Algorithm::ALL),
            at: Index,
            byte in select(b"0123456789-,[]{}\"truen".as_slice()),
            insert: bool,
        ) {
            let mut json = written(algorithm).into_bytes();
            let at = at.index(json.len());
            if insert { json.insert(at, byte) } else { json[at] = byte }
            if let Ok(configured) = serde_json::from_slice::<Configured>(&json) {
                prop_assert_eq!(configured.program().validate(), Ok(()));
                let again = serde_json::to_vec(&configured).unwrap();
                prop_assert_eq!(serde_json::from_slice::<Configured>(&again).unwrap(), configured);
            }
        }
    }
}
