//! Hashing of keys to cells, by a hash that a pipeline can compute and that no arrangement of keys defeats.
//!
//! A CRC is linear: over dense, strided or shifted keys it is a permutation, or collides far more often than chance,
//! whatever its polynomial and seed. The theorems assume random functions and do not hold for the keys of real
//! tables. [`Hashing::Mixed`] therefore hashes twice. One stage adds to each word of the key each of two CRCs of the
//! whole key,
//!
//! > aᵢ = kᵢ + crc_A(k), bᵢ = kᵢ + crc_B(k),
//!
//! and the cell is a CRC of (a₁, b₁, a₂, b₂, …). The carries break the linearity. With only one such sum the loads of
//! a table still deviate (by 4 % of a false-positive rate over dense keys); with two, no deviation was found.
//!
//! The seed chooses the polynomials A and B and the initial values. An initial value alone is not enough. It flips
//! the same bits of all keys' CRCs, so the difference of two CRCs is the same for every seed, and keys that differ in
//! few bits carry into few others. TOP N then failed for 2.1 % of all seeds over dense keys where its bound is 1.7 %,
//! and for 1.1 % over others (N = 20, d = 16, w = 5). Another polynomial changes that difference, as in Krawczyk's
//! hash (CRYPTO '94): a given difference of two CRCs makes the polynomial a divisor of a given one, and few
//! polynomials are.
//!
//! The cost is one stage, two hash units and two 32-bit fields for each word. An action adds a hash unit's output to
//! a field, as address hashing does.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::rng::mix64;
use crate::switch::{Action, Builder, FieldId, MIXING_POLYNOMIALS, Op, Operand, Operation, Table};

/// The hash function that an algorithm applies to its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Hashing {
    /// Hashes in two rounds, like a random function that the seed chooses.
    Mixed {
        /// The number that selects the function.
        seed: u64,
    },
    /// Hashes by one CRC, which saves a stage. Use it only for keys that are hashes themselves.
    Linear,
}

/// Writes the end of a parameter list, as EXPLAIN shows it: nothing for the default.
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
    /// The default hash: mixed, with seed 0.
    pub(crate) const DEFAULT: Self = Self::Mixed { seed: 0 };

    /// Returns the first round's hash units by polynomial and initial value, or none if there is no first round.
    pub(crate) const fn first_round(self) -> Option<[(u32, u32); 2]> {
        let Self::Mixed { seed } = self else { return None };
        let [a, b] = MIXING_POLYNOMIALS;
        // The constant terms stay: without them a CRC loses the last bit of a key. Seed 0 changes nothing.
        let flips = mix64(seed);
        let (of_a, of_b) = (flips as u32 & !1, (flips >> 32) as u32 & !1);
        Some([(a ^ of_a, !(seed as u32)), (b ^ of_b, !((seed >> 32) as u32))])
    }

    /// Adds the first round of a hash over the fields `read` as a stage of its own, in which `words` are mixed.
    /// Returns the fields that the second round hashes.
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
