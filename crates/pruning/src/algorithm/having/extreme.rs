//! `HAVING MAX(value) > c` and `HAVING MIN(value) < c`.
//!
//! A group qualifies iff one of its entries does. The switch therefore drops entries that do not qualify, and of the
//! others all but the first few of each key, like DISTINCT. The algorithm is deterministic. The other directions
//! (`MAX(value) < c`) need every entry of a group, so nothing can be pruned.

use std::fmt;

use serde::Serialize;

use crate::algorithm::distinct::{self, Policy, Width};
use crate::algorithm::filter::{self, Formula};
use crate::algorithm::hashing::Hashing;
use crate::algorithm::pruner::columns;
use crate::switch::{Program, RejectedPacket, Relation, chain};
use crate::{ConfigError, Entries, Pruner, Selection};

/// Parameters that a program can be built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Config {
    relation: Relation,
    threshold: u32,
    /// The filter that follows from the relation and the threshold.
    #[serde(skip)]
    filter: filter::Config,
    distinct: distinct::Config,
}

impl Config {
    /// Selects groups with an entry whose value has `relation` to `threshold`: greater for MAX, less for MIN, or
    /// either with equality. The keys' matrix is `rows` (a power of two) by `columns`.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range, or the relation is = or ≠.
    pub fn new(
        relation: Relation,
        threshold: u32,
        rows: u32,
        columns: u32,
    ) -> Result<Self, ConfigError> {
        if matches!(relation, Relation::Eq | Relation::Ne) {
            return Err(ConfigError::Conflict("HAVING MAX or MIN compares by <, ≤, > or ≥"));
        }
        let filter = filter::Config::new(&Formula::compare(1, relation, threshold), 2, None)?;
        let distinct = distinct::Config::new(rows, columns, Width::Bits32, Policy::Lru)?;
        Ok(Self { relation, threshold, filter, distinct })
    }

    /// Replaces the hash functions.
    #[must_use]
    pub fn with_hashing(self, hashing: Hashing) -> Self {
        Self { distinct: self.distinct.with_hashing(hashing), ..self }
    }

    /// Returns the relation to the threshold that a group's value must have.
    #[must_use]
    pub const fn relation(&self) -> Relation {
        self.relation
    }

    /// Returns the constant that values are compared with.
    #[must_use]
    pub const fn threshold(&self) -> u32 {
        self.threshold
    }

    /// Returns the program; its packets carry the key and the value.
    #[must_use]
    pub fn program(&self) -> Program {
        chain(
            "having_extreme",
            2,
            (&self.filter.program(), &[0, 1]),
            (&self.distinct.program(), &[0]),
        )
    }

    /// Returns the fast path, with empty state.
    #[must_use]
    pub fn pruner(&self) -> Having {
        Having {
            relation: self.relation,
            threshold: self.threshold,
            filter: self.filter.pruner(),
            distinct: self.distinct.pruner(),
        }
    }
}

checked_when_read!(Config { relation: Relation, threshold: u32, distinct: distinct::Config } => Self::new(relation, threshold, distinct.rows(), distinct.columns()).map(|config| config.with_hashing(distinct.hashing())));

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("having_extreme")
    }
}

/// The fast path of HAVING MAX and MIN.
#[derive(Debug, Clone)]
pub struct Having {
    relation: Relation,
    threshold: u32,
    filter: filter::Filter,
    distinct: distinct::Distinct,
}

impl Pruner for Having {
    fn values(&self) -> usize {
        2
    }

    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), RejectedPacket> {
        let [keys, values] = columns(entries)?;
        let c = self.threshold;
        let distinct = &mut self.distinct;
        match self.relation {
            Relation::Gt => {
                selection.fill(keys.len(), |i| values[i] > c && distinct.enter(keys[i]))
            }
            Relation::Ge => {
                selection.fill(keys.len(), |i| values[i] >= c && distinct.enter(keys[i]))
            }
            Relation::Lt => {
                selection.fill(keys.len(), |i| values[i] < c && distinct.enter(keys[i]))
            }
            _ => selection.fill(keys.len(), |i| values[i] <= c && distinct.enter(keys[i])),
        }
        Ok(())
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        let mut registers = self.filter.registers();
        registers.extend(self.distinct.registers());
        registers
    }

    fn reset(&mut self) {
        self.distinct.reset();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::experiment::conformance::{
        assert_mutants_are_caught, assert_sound, random_stream, stream,
    };
    use crate::switch::{Target, fit};

    #[test]
    fn stages() {
        let program = Config::new(Relation::Gt, 5, 4096, 2).unwrap().program();
        let placement = fit(&program, &Target::tofino1()).unwrap();
        assert_eq!((placement.stages.len(), placement.stateful_alus()), (5, 3));
        assert!(Config::new(Relation::Eq, 5, 4096, 2).is_err());
    }

    #[test]
    fn mutants_are_caught() {
        for relation in [Relation::Gt, Relation::Le] {
            let config = Config::new(relation, 6, 4, 2).unwrap();
            let streams = [random_stream(4, 2, 400, 13)];
            let equivalent = [
                (
                    "s1_zero_key: gateway clause 1 dropped",
                    "nobody asks for the flag of a dropped entry",
                ),
                ("s1_drop_duplicate: gateway clause 2 dropped", "dropping twice is dropping"),
            ];
            assert_mutants_are_caught(
                &config.program(),
                &mut config.pruner(),
                &streams,
                &equivalent,
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn answer_is_unchanged(
            packets in stream(2, 200), rows in 1..4_u32, columns in 1..4_u32, c in prop_oneof![0..300_u32, any::<u32>()],
            which in 0..4_usize,
        ) {
            let relation = [Relation::Gt, Relation::Ge, Relation::Lt, Relation::Le][which];
            let config = Config::new(relation, c, 1 << rows, columns).unwrap();
            assert_sound(&config.program(), &mut config.pruner(), &packets, |packets| {
                let qualifies = |v: u32| [v > c, v >= c, v < c, v <= c][which];
                packets.iter().filter(|p| qualifies(p.values[1])).map(|p| p.values[0]).collect::<BTreeSet<_>>()
            });
        }
    }
}
