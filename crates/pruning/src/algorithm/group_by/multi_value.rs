//! GROUP BY with several values in each entry, each with its own extreme.

use serde::{Deserialize, Serialize};

use super::{Config, Extreme};
use crate::ConfigError;
use crate::algorithm::config::in_range;
use crate::switch::graft::Graft;
use crate::switch::{Action, Builder, FieldId, Op, Operand, Program, Table, Test};

/// The extremes of an entry's further values, as bits: 1 for [`Extreme::Min`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtraExtremes {
    count: u8,
    least: u8,
}

impl ExtraExtremes {
    /// No further values: entries have one value.
    pub(super) const NONE: Self = Self { count: 0, least: 0 };

    pub(super) const fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Returns the extremes if [`Config::with_others`] can produce them, else an error.
    pub(super) fn check(self) -> Result<Self, ConfigError> {
        in_range("values of an entry beside the first", self.count.into(), 0, MOST)?;
        in_range("least values of an entry", self.least.into(), 0, (1 << self.count) - 1)?;
        Ok(self)
    }

    fn extremes(self) -> impl Iterator<Item = Extreme> {
        let of = move |n| if self.least >> n & 1 == 1 { Extreme::Min } else { Extreme::Max };
        (0..self.count).map(of)
    }
}

/// The greatest number of values beside the first; the last gateway tests all of them.
const MOST: u32 = 7;

impl Config {
    /// Adds further values to each entry, each with its own extreme. An entry is dropped if every value is beaten.
    ///
    /// # Errors
    ///
    /// If there are more than 7.
    pub fn with_others(self, extremes: &[Extreme]) -> Result<Self, ConfigError> {
        let count = u32::try_from(extremes.len()).unwrap_or(u32::MAX);
        let count = in_range("values of an entry beside the first", count, 0, MOST)? as u8;
        let bit = |(n, extreme): (usize, &Extreme)| u8::from(*extreme == Extreme::Min) << n;
        let least = extremes.iter().enumerate().map(bit).sum();
        Ok(Self { others: ExtraExtremes { count, least }, ..self })
    }

    /// Iterates over the extremes of all values of an entry.
    pub fn extremes(&self) -> impl Iterator<Item = Extreme> {
        std::iter::once(self.extreme).chain(self.others.extremes())
    }

    /// Iterates over configurations for each value alone.
    pub(super) fn singles(&self) -> impl Iterator<Item = Self> {
        let config = *self;
        self.extremes().map(move |extreme| Self { extreme, others: ExtraExtremes::NONE, ..config })
    }

    pub(super) fn program_of_several(&self) -> Program {
        let keys = self.key_values();
        let mut b = Builder::new("group_by", keys + 1 + self.others.count);
        let prune = b.verdict("prune");
        let mut program = b.finish();
        let mut all_beaten = Table::always(
            "drop_beaten",
            Action::compute("drop", [Op::set(prune, Operand::Const(1))]),
        );
        for (number, single) in (0..).zip(self.singles()) {
            let part = single.program();
            let values: Vec<u8> = (0..keys).chain([keys + number]).collect();
            let graft = Graft::onto(&mut program, &part, &format!("of{number}_"), &values, None);
            graft.stages(&mut program, &part, 0, &|_| None);
            let beaten: FieldId = graft.field(part.verdicts[0]);
            all_beaten = all_beaten.when([Test::is(beaten, 1)]);
        }
        program.stages.push(crate::switch::Stage { tables: vec![all_beaten] });
        program
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::Ties;
    use crate::experiment::check::check;
    use crate::experiment::conformance::{assert_touches_what_fits, forwarded, stream};
    use crate::switch::{Packet, Target, fit};

    fn config(ties: Ties, wide: bool, others: &[Extreme]) -> Config {
        Config::new(4, 2, Extreme::Max, ties, wide).unwrap().with_others(others).unwrap()
    }

    #[test]
    fn values_share_the_stages() {
        let one = Config::new(4096, 8, Extreme::Max, Ties::Keep, false).unwrap();
        let stages = |config: Config| {
            let placed = fit(&config.program(), &Target::tofino1()).unwrap();
            (placed.stages.len(), placed.stateful_alus())
        };
        assert_eq!(stages(one), (10, 8));
        assert_eq!(stages(one.with_others(&[Extreme::Min, Extreme::Max]).unwrap()), (11, 24));
        assert!(one.with_others(&[Extreme::Min; 8]).is_err());
        assert_eq!(
            one.with_others(&[Extreme::Min]).unwrap().to_string(),
            "group_by_max_min(cells=4096, tables=8)"
        );
    }

    /// Returns the best of each value in each group.
    fn best(
        extremes: &[Extreme],
        packets: &[&Packet],
        keys: usize,
    ) -> BTreeMap<Vec<u32>, Vec<u32>> {
        let mut best: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
        for packet in packets {
            let (key, values) = packet.values.split_at(keys);
            let of = best.entry(key.to_vec()).or_insert_with(|| values.to_vec());
            for ((of, value), extreme) in of.iter_mut().zip(values).zip(extremes) {
                *of = match extreme {
                    Extreme::Max => (*of).max(*value),
                    Extreme::Min => (*of).min(*value),
                };
            }
        }
        best
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn every_extreme_of_every_group_is_kept(
            packets in stream(4, 200), prune_ties: bool, wide: bool, min: bool, three: bool,
        ) {
            let ties = if prune_ties { Ties::Prune } else { Ties::Keep };
            let second = if min { Extreme::Min } else { Extreme::Max };
            let others = if three && !wide { vec![second, Extreme::Min] } else { vec![second] };
            let config = config(ties, wide, &others);
            let values = config.program().values;
            let packets: Vec<Packet> = packets.into_iter().map(|mut packet| {
                packet.values.truncate(values.into());
                packet
            }).collect();
            prop_assert_eq!(check(&config.program(), &mut config.pruner(), &packets), Ok(()));
            assert_touches_what_fits(&config.program(), &packets);
            let keep = forwarded(&config.program(), &packets);
            let kept: Vec<&Packet> = packets.iter().zip(keep).filter(|(_, keep)| *keep).map(|(p, _)| p).collect();
            let extremes: Vec<Extreme> = config.extremes().collect();
            let all: Vec<&Packet> = packets.iter().collect();
            let keys = config.key_values().into();
            prop_assert_eq!(best(&extremes, &kept, keys), best(&extremes, &all, keys));
        }
    }
}
