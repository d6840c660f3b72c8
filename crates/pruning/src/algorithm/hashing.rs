//! From a key to its place: a hash that a pipeline can compute and that no arrangement of keys
//! foresees.
//!
//! A CRC is linear: over dense, strided or shifted keys it is a permutation, or collides far more
//! often than chance, whatever its polynomial and seed. So the theorems, which assume random
//! functions, do not hold for the keys that tables really have. [`Hashing::Mixed`] hashes twice. One
//! stage adds to each word of the key each of two CRCs of the whole key,
//!
//! > aᵢ = kᵢ + crc_A(k), bᵢ = kᵢ + crc_B(k),
//!
//! and the place is a CRC of (a₁, b₁, a₂, b₂, …). The carries break the linearity. One such sum
//! still shows in the loads of a table (by 4 % of a false positive rate over dense keys); of two no
//! trace was found. The seed is the CRCs' initial value: it enters before the carries, so that another
//! seed is another function, not the same one with its places renamed.
//!
//! It costs one stage, two hash units and two 32-bit fields for each word; an action adds a hash
//! unit's output to a field, as address hashing does.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::switch::{Action, Builder, FieldId, MIXING_POLYNOMIALS, Op, Operand, Operation, Table};

/// How an algorithm hashes its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Hashing {
    /// In two rounds: as a random function, chosen by the seed.
    Mixed {
        /// Which function.
        seed: u64,
    },
    /// By one CRC: a stage less. Only for keys that are hashes themselves.
    Linear,
}

/// The end of a list of parameters, as EXPLAIN shows it: what differs from the default.
impl fmt::Display for Hashing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mixed { seed: 0 } => Ok(()),
            Self::Mixed { seed } => write!(f, ", seed={seed}"),
            Self::Linear => f.write_str(", linear hash"),
        }
    }
}

impl Default for Hashing {
    fn default() -> Self {
        Self::Mixed { seed: 0 }
    }
}

impl Hashing {
    /// The default: mixed, with seed 0.
    pub(crate) const DEFAULT: Self = Self::Mixed { seed: 0 };

    /// The first round's hash units, by polynomial and initial value; none if there is no such round.
    pub(crate) const fn first_round(self) -> Option<[(u32, u32); 2]> {
        let Self::Mixed { seed } = self else { return None };
        let [a, b] = MIXING_POLYNOMIALS;
        Some([(a, !(seed as u32)), (b, !((seed >> 32) as u32))])
    }

    /// Writes the first round of a hash over the fields `read`, of which `words` are mixed, as a
    /// stage of its own, and returns what the second round hashes.
    pub(crate) fn mix(self, b: &mut Builder, read: &[FieldId], words: &[FieldId]) -> Vec<FieldId> {
        let Some(units) = self.first_round() else { return read.to_vec() };
        let units: Vec<(&str, u16)> = ["a", "b"]
            .into_iter()
            .zip(units)
            .map(|(name, (polynomial, initial))| {
                (name, b.hash_from(format!("mix_{name}"), polynomial, initial, read, 32))
            })
            .collect();
        let (mut sums, mut mixed) = (Vec::new(), Vec::new());
        for (number, &word) in words.iter().enumerate() {
            for &(name, unit) in &units {
                let sum = b.field(format!("mixed_{name}{number}"), 32);
                let operands = [Operand::Field(word), Operand::Hash(unit)];
                sums.push(Op::new(sum, Operation::Add, operands[0], operands[1]));
                mixed.push(sum);
            }
        }
        b.stage();
        b.table(Table::always("mix", Action::compute("mix", sums)));
        mixed
    }
}
