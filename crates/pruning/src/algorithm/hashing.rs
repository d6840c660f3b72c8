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
//! trace was found.
//!
//! The seed chooses the polynomials A and B and the initial values. An initial value alone is not
//! enough: it flips the same bits of all keys' CRCs, so that how two CRCs differ is the same for every
//! seed, and keys that differ in few bits carry into few others. TOP N then failed for 2.1 % of all
//! seeds over dense keys where its bound is 1.7 %, and for 1.1 % over others (N = 20, d = 16, w = 5).
//! With another polynomial that difference is another one, as in Krawczyk's hash (CRYPTO '94): a given
//! difference of two CRCs makes the polynomial a divisor of a given one, of which few are.
//!
//! It costs one stage, two hash units and two 32-bit fields for each word; an action adds a hash
//! unit's output to a field, as address hashing does.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::rng::mix64;
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
        // The constant terms stay: without, a CRC forgets the last bit of a key. Seed 0 changes none.
        let flips = mix64(seed);
        let (of_a, of_b) = (flips as u32 & !1, (flips >> 32) as u32 & !1);
        Some([(a ^ of_a, !(seed as u32)), (b ^ of_b, !((seed >> 32) as u32))])
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
