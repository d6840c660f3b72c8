//! JOIN with register Bloom filters: one 64-bit word for each key.
//!
//! One hash chooses the word, another a mask out of the C(64, H) with H bits set. The key is present if all bits of
//! its mask are set in its word. A stateful ALU of Tofino 1 cannot compare under a mask, and Tofino 2's only under a
//! constant one (see [`Target::tofino2`](crate::switch::Target::tofino2)). The ALU therefore outputs `word & mask`,
//! and the next stage compares. A word is two arrays of 32 bits, because an ALU outputs words of 32 bits.

use std::fmt;

use serde::Serialize;

use super::{Join, Kind, Passes, SIDES, Shape, check_filter, filter_table, finish, start};
use crate::algorithm::config::{in_range, index_bits};
use crate::algorithm::hashing::Hashing;
use crate::algorithm::row_hash::RowHash;
use crate::switch::{
    Action, AluOperand, Cell, ComparePredicate, Entry, Index, Key, Op, Operand, Operation,
    POLYNOMIALS, Pattern, Program, Source, Stateful, Table, Test, Update,
};
use crate::{ConfigError, Selection};

/// Parameters that a program can be built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Config {
    shape: Shape,
    words: u32,
    hashes: u32,
    mask_bits: u8,
    hashing: Hashing,
}

impl Config {
    /// Creates for each side a filter of `words` words of 64 bits (a power of two), with `hashes` (1 to 8) bits for
    /// each key. A hash of `mask_bits` (4 to 16) bits chooses the mask.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range.
    pub fn new(shape: Shape, words: u32, hashes: u32, mask_bits: u8) -> Result<Self, ConfigError> {
        check_filter(words, hashes, 8)?;
        in_range("mask bits", mask_bits.into(), 4, 16)?;
        Ok(Self { shape, words, hashes, mask_bits, hashing: Hashing::DEFAULT })
    }

    /// Returns the paper's default: 4 MB and masks of 3 bits, all C(64, 3) = 41,664 of them, for an inner join of
    /// narrow keys with the small side first.
    #[must_use]
    pub const fn paper() -> Self {
        Self {
            shape: Shape::new(Kind::Inner, Passes::SmallFirst, false),
            words: 1 << 19,
            hashes: 3,
            mask_bits: 16,
            hashing: Hashing::DEFAULT,
        }
    }

    /// Replaces the hash functions.
    #[must_use]
    pub const fn with_hashing(self, hashing: Hashing) -> Self {
        Self { hashing, ..self }
    }

    /// Returns the number of 64-bit words in a filter.
    #[must_use]
    pub const fn words(&self) -> u32 {
        self.words
    }

    /// Returns the number of bits set for each key.
    #[must_use]
    pub const fn hashes(&self) -> u32 {
        self.hashes
    }

    /// Returns the mask for each value of the mask hash. The number of hash values is a power of two and C(64, H) is
    /// not, so masks are not equally likely, but every bit is in equally many of them. The low bits of a number
    /// rotate a pattern that its high bits choose. The patterns come in an order that spreads the chosen ones evenly
    /// over all of them.
    fn masks(&self) -> Vec<u64> {
        let others = self.hashes - 1;
        let (patterns, combinations) = (binomial(63, others.into()), Combinations::new(others));
        let stride = spreading(patterns);
        let rotations = 1_u64 << self.mask_bits.min(6);
        (0..1_u64 << self.mask_bits)
            .map(|number| {
                let pattern = number / rotations * stride % patterns;
                let mask = 1 | combinations.mask(pattern) << 1;
                mask.rotate_left((number % rotations * (64 / rotations)) as u32)
            })
            .collect()
    }

    /// Returns the program; its packets carry the key.
    #[must_use]
    pub fn program(&self) -> Program {
        let (mut b, prune) = start(self.shape);
        let keys = self.shape.keys();
        let hashed = self.hashing.mix(&mut b, &keys, &keys);
        let word = b.hash("word", POLYNOMIALS[0], hashed.clone(), index_bits(self.words));
        let choice = b.hash("choice", POLYNOMIALS[1], hashed, self.mask_bits);
        let number = b.field("mask_number", self.mask_bits);
        let halves = ["low", "high"];
        let mask = halves.map(|half| b.field(format!("mask_{half}"), 32));

        b.stage();
        let choose = Action::compute("choose", [Op::set(number, Operand::Hash(choice))]);
        b.table(Table::always("choose_mask", choose));
        b.stage();
        let set = [0, 1].map(|half| Op::set(mask[half], Operand::Arg(half as u8)));
        let entries = self.masks().into_iter().enumerate().map(|(n, mask)| {
            Entry::new([Pattern::exactly(n as u32)], 0).with([mask as u32, (mask >> 32) as u32])
        });
        let actions = vec![Action::compute("set", set)];
        b.table(Table::matching("masks", vec![Key::exact(number)], actions, entries.collect()));

        let mut compares = Vec::new();
        let mut present = [Vec::new(), Vec::new()];
        b.stage();
        for side in [0, 1].into_iter().filter(|&side| self.shape.filters()[side]) {
            for half in 0..2 {
                let name = format!("{}_{}", SIDES[side], halves[half]);
                let register = b.register(format!("filter_{name}"), Cell::Bit32, self.words);
                let found = b.field(format!("found_{name}"), 32);
                let flag = b.field(format!("in_{name}"), 1);
                let access = Stateful::on(register, Index::Hash(word));
                let with_mask = |operation| {
                    Update::new(
                        ComparePredicate::ALWAYS,
                        operation,
                        AluOperand::MemLo,
                        AluOperand::Field(mask[half]),
                    )
                };
                let insert =
                    Action::access("insert", access.clone().set_lo(with_mask(Operation::Or)));
                let test = access.set_hi(with_mask(Operation::And)).output(
                    found,
                    Source::AluHi,
                    ComparePredicate::ALWAYS,
                );
                let test = Action::access("test", test);
                b.table(filter_table(self.shape, side, format!("bloom_{name}"), insert, test));
                let set = Action::compute("set", [Op::set(flag, Operand::Const(1))]);
                compares.push(
                    Table::always(format!("compare_{name}"), set)
                        .when([Test::same(found, mask[half])]),
                );
                present[side].push(flag);
            }
        }
        b.stage();
        compares.into_iter().for_each(|table| b.table(table));
        finish(self.shape, b, prune, &present)
    }

    /// Returns the fast path, with empty filters.
    #[must_use]
    pub fn pruner(&self) -> Join<Filter> {
        let inputs = self.shape.values().into();
        let low = |bits: u8| u32::MAX >> (32 - bits);
        let filter = Filter {
            hash: RowHash::new(self.hashing, 0..2, 32, 0, inputs, 32),
            low_bits: [low(index_bits(self.words)), low(self.mask_bits)],
            masks: self.masks(),
            words: vec![0; self.words as usize],
        };
        Join::new(self.shape, &filter)
    }
}

checked_when_read!(Config { shape: Shape, words: u32, hashes: u32, mask_bits: u8, hashing: Hashing } => Self::new(shape, words, hashes, mask_bits).map(|config| config.with_hashing(hashing)));

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { words, hashes, hashing, .. } = self;
        write!(f, "join_register_bloom(words={words}, hashes={hashes}{hashing})")
    }
}

/// Returns the binomial coefficient C(n, k).
fn binomial(n: u64, k: u64) -> u64 {
    (0..k).fold(1, |product, i| product * (n - i) / (i + 1))
}

/// Returns a stride near the golden section, whose multiples visit all patterns and are far apart in turn.
fn spreading(patterns: u64) -> u64 {
    let gcd = |a: u64, b: u64| {
        let (mut a, mut b) = (a, b);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let mut stride = ((patterns as f64 * 0.618_034) as u64).max(1);
    while gcd(stride, patterns) != 1 {
        stride += 1;
    }
    stride
}

/// The sets of a fixed number of bits out of 63, in the order of the combinatorial number system.
struct Combinations {
    /// For each number k of bits, the greatest first: C(bit, k) for every bit from k - 1 on.
    binomials: Vec<Vec<u64>>,
}

impl Combinations {
    fn new(bits: u32) -> Self {
        let column = |k: u64| (k - 1..63).map(|bit| binomial(bit, k)).collect();
        Self { binomials: (1..=u64::from(bits)).rev().map(column).collect() }
    }

    /// Returns the set with this number.
    fn mask(&self, number: u64) -> u64 {
        let (mut rest, mut mask) = (number, 0);
        for binomials in &self.binomials {
            // C(k - 1, k) is 0: there is always a bit.
            let at = binomials.partition_point(|count| *count <= rest) - 1;
            rest -= binomials[at];
            mask |= 1 << (63 - binomials.len() + at);
        }
        mask
    }
}

/// The words of one side's register Bloom filter.
#[derive(Debug, Clone)]
pub struct Filter {
    /// The hash, with the word's part below the mask's; `low_bits` masks both parts.
    hash: RowHash<u64>,
    low_bits: [u32; 2],
    masks: Vec<u64>,
    words: Vec<u64>,
}

impl Filter {
    /// Returns the word of a key, and the key's bits in it.
    #[inline]
    fn place<const N: usize>(&self, key: [u32; N]) -> (usize, u64) {
        let hash = self.hash.many(key);
        let [word, choice] = self.low_bits;
        ((hash as u32 & word) as usize, self.masks[((hash >> 32) as u32 & choice) as usize])
    }
}

impl super::Filter for Filter {
    #[inline]
    fn enter<const N: usize>(&mut self, len: usize, key: impl Fn(usize) -> [u32; N]) {
        for entry in 0..len {
            let (word, mask) = self.place(key(entry));
            self.words[word] |= mask;
        }
    }

    #[inline]
    fn look_up<const N: usize>(
        &mut self,
        len: usize,
        key: impl Fn(usize) -> [u32; N],
        selection: &mut Selection,
    ) {
        selection.fill(len, |entry| {
            let (word, mask) = self.place(key(entry));
            self.words[word] & mask == mask
        });
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        let half = |half: u32| self.words.iter().map(|word| [(word >> half) as u32, 0]).collect();
        vec![half(0), half(32)]
    }

    fn reset(&mut self) {
        self.words.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_once() {
        let mut masks: Vec<u64> = (0..39_711).map(|n| Combinations::new(3).mask(n)).collect();
        assert!(masks.iter().all(|mask| mask.count_ones() == 3 && mask >> 63 == 0));
        masks.sort_unstable();
        masks.dedup();
        assert_eq!(masks.len(), 39_711);
        assert_eq!(binomial(63, 3), 39_711);
    }

    #[test]
    fn every_bit_is_in_equally_many_masks() {
        let shape = Shape::new(Kind::Inner, Passes::SmallFirst, false);
        for (hashes, mask_bits) in [(1, 6), (2, 11), (3, 16), (3, 15), (3, 6), (5, 16), (8, 16)] {
            let masks = Config::new(shape, 64, hashes, mask_bits).unwrap().masks();
            assert!(masks.iter().all(|mask| mask.count_ones() == hashes));
            let times = |bit: u32| masks.iter().filter(|mask| *mask >> bit & 1 == 1).count();
            let each = masks.len() * hashes as usize / 64;
            assert!((0..64).all(|bit| times(bit) == each), "{hashes} of {mask_bits} bits");
            // All masks differ, except for the few patterns that a rotation repeats.
            let most = binomial(64, hashes.into()).min(masks.len() as u64) as usize;
            let mut distinct = masks.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert!(distinct.len() * 3 > most * 2, "{} of {most}", distinct.len());
        }
    }
}
