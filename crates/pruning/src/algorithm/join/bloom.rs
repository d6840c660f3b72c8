//! JOIN with Bloom filters, which have one array of bits for each hash.
//!
//! Hash bits index an array, so its size is a power of two, but the arrays need not have the same size. The paper's 4
//! MB for 3 hashes are arrays of 2, 1 and 1 MiB. The false-positive rate is the product of the arrays' fill ratios,
//! which for these is at most 32/27 of that of three equal thirds.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

use super::{Join, Kind, Passes, SIDES, Shape, check_filter, filter_table, finish, start};
use crate::algorithm::config::{MAX_ROWS, in_range, index_bits};
use crate::algorithm::hashing::Hashing;
use crate::algorithm::row_hash::{Hashes, SurvivingEntries};
use crate::switch::{
    Action, AluOperand, Cell, ComparePredicate, Index, POLYNOMIALS, Program, Source, Stateful,
    Update,
};
use crate::{ConfigError, Selection};

/// The greatest number of hashes: there are no more polynomials.
const MOST_HASHES: u32 = POLYNOMIALS.len() as u32;

/// Parameters that a program can be built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Config {
    shape: Shape,
    /// The bits of all arrays together.
    bits: u32,
    hashes: u32,
    hashing: Hashing,
}

impl Config {
    /// Creates for each side a filter of `hashes` (1 to 16) arrays of `cells` bits (a power of two).
    ///
    /// # Errors
    ///
    /// If a parameter is out of range.
    pub fn new(shape: Shape, cells: u32, hashes: u32) -> Result<Self, ConfigError> {
        check_filter(cells, hashes, MOST_HASHES)?;
        Ok(Self { shape, bits: cells * hashes, hashes, hashing: Hashing::DEFAULT })
    }

    /// Creates for each side a filter of `bits` bits in all, for `hashes` (1 to 16) hashes. The array sizes are
    /// powers of two that add up to `bits` and are as even as possible.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range, or `bits` is not the sum of as many powers of two.
    pub fn of_bits(shape: Shape, bits: u32, hashes: u32) -> Result<Self, ConfigError> {
        in_range("hashes", hashes, 1, MOST_HASHES)?;
        let config = Self { shape, bits, hashes, hashing: Hashing::DEFAULT };
        if bits.count_ones() > hashes || bits < 2 * hashes {
            return Err(ConfigError::Conflict(
                "the bits of a Bloom filter must be the sum of as many powers of two, of at least 2, as there are hashes",
            ));
        }
        for size in config.arrays() {
            in_range("bits of an array of a Bloom filter", size, 2, MAX_ROWS)?;
        }
        Ok(config)
    }

    /// Returns the paper's default of 4 MB and 3 hashes, as far as equal arrays reach: 3 arrays of 1 MiB, for an
    /// inner join of narrow keys with the small side first. [`Config::of_bits`] can use all 4 MB.
    #[must_use]
    pub const fn paper() -> Self {
        Self {
            shape: Shape::new(Kind::Inner, Passes::SmallFirst, false),
            bits: 3 << 23,
            hashes: 3,
            hashing: Hashing::DEFAULT,
        }
    }

    /// Replaces the hash functions.
    #[must_use]
    pub const fn with_hashing(self, hashing: Hashing) -> Self {
        Self { hashing, ..self }
    }

    /// Returns the number of bits of each array, the largest first.
    #[must_use]
    pub fn arrays(&self) -> Vec<u32> {
        let mut arrays: Vec<u32> =
            (0..u32::BITS).rev().map(|bit| 1 << bit).filter(|size| self.bits & size != 0).collect();
        while arrays.len() < self.hashes as usize {
            let half = arrays[0] / 2;
            arrays[0] = half;
            arrays.push(half);
            arrays.sort_unstable_by_key(|&size| std::cmp::Reverse(size));
        }
        arrays
    }

    /// Returns the number of hashes, each with an array of its own.
    #[must_use]
    pub const fn hashes(&self) -> u32 {
        self.hashes
    }

    /// Returns the program; its packets carry the key.
    #[must_use]
    pub fn program(&self) -> Program {
        let (mut b, prune) = start(self.shape);
        let keys = self.shape.keys();
        let hashed = self.hashing.mix(&mut b, &keys, &keys);
        let arrays = self.arrays();
        let numbered = arrays.iter().zip(POLYNOMIALS).enumerate();
        let hashes: Vec<Index> = numbered
            .map(|(n, (&size, polynomial))| {
                let bits = index_bits(size);
                Index::Hash(b.hash(format!("bit{n}"), polynomial, hashed.clone(), bits))
            })
            .collect();
        let mut present = [Vec::new(), Vec::new()];
        b.stage();
        for side in [0, 1].into_iter().filter(|&side| self.shape.filters()[side]) {
            for (n, (&index, &size)) in hashes.iter().zip(&arrays).enumerate() {
                let name = format!("{}{n}", SIDES[side]);
                let register = b.register(format!("filter_{name}"), Cell::Bit1, size);
                let found = b.field(format!("in_{name}"), 1);
                let access = Stateful::on(register, index);
                let set = access
                    .clone()
                    .set_lo(Update::set(ComparePredicate::ALWAYS, AluOperand::Const(1)));
                let test = access.output(found, Source::MemLo, ComparePredicate::ALWAYS);
                let (set, test) = (Action::access("insert", set), Action::access("test", test));
                b.table(filter_table(self.shape, side, format!("bloom_{name}"), set, test));
                present[side].push(found);
            }
        }
        finish(self.shape, b, prune, &present)
    }

    /// Returns the fast path, with empty filters.
    #[must_use]
    pub fn pruner(&self) -> Join<Filter> {
        let mut words = 0;
        let arrays: Vec<Array> = self
            .arrays()
            .into_iter()
            .map(|size| {
                let first = words;
                words += (size as usize).div_ceil(64);
                Array { words: first..words, size }
            })
            .collect();
        // The hash of a smaller array is the low bits of a hash for the largest one.
        let most = arrays.iter().map(|array| index_bits(array.size)).max().unwrap_or(0);
        let (count, inputs) = (self.hashes as usize, self.shape.values().into());
        let hashes = Hashes::new(self.hashing, count, inputs, most);
        Join::new(self.shape, &Filter { arrays, hashes, bits: vec![0; words] })
    }
}

checked_when_read!(Config { shape: Shape, bits: u32, hashes: u32, hashing: Hashing } => Self::of_bits(shape, bits, hashes).map(|config| config.with_hashing(hashing)));

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bits, hashes, hashing, .. } = self;
        match bits.is_multiple_of(*hashes) {
            true => write!(f, "join_bloom(arrays={hashes}, bits={}{hashing})", bits / hashes),
            false => write!(f, "join_bloom(arrays={hashes}, bits in all={bits}{hashing})"),
        }
    }
}

/// One bit array of a filter.
#[derive(Debug, Clone)]
struct Array {
    words: Range<usize>,
    /// The number of bits in the array.
    size: u32,
}

/// The arrays of one side's Bloom filter.
#[derive(Debug, Clone)]
pub struct Filter {
    arrays: Vec<Array>,
    hashes: Hashes,
    bits: Vec<u64>,
}

impl super::Filter for Filter {
    #[inline]
    fn enter<const N: usize>(&mut self, len: usize, key: impl Fn(usize) -> [u32; N]) {
        let (bits, arrays) = (&mut self.bits, &self.arrays);
        self.hashes.rounds(len, key, |_, round| {
            // The arrays are filled one by one, so that fewer pages are in use at a time.
            for (number, Array { words, size }) in arrays.iter().enumerate() {
                let (array, mask) = (&mut bits[words.clone()], size - 1);
                for (places, len) in round.array(number) {
                    for place in &places[..len] {
                        let at = place & mask;
                        array[at as usize / 64] |= 1 << (at % 64);
                    }
                }
            }
        });
    }

    #[inline]
    fn look_up<const N: usize>(
        &mut self,
        len: usize,
        key: impl Fn(usize) -> [u32; N],
        selection: &mut Selection,
    ) {
        let (bits, arrays) = (&self.bits, &self.arrays);
        selection.clear();
        self.hashes.rounds(len, key, |len, round| {
            let mut kept = SurvivingEntries::of_round(len);
            // The arrays are read one by one, so that fewer pages are in use at a time.
            for (number, Array { words, size }) in arrays.iter().enumerate() {
                let (array, mask) = (&bits[words.clone()], size - 1);
                for (kept, (places, _)) in kept.iter_mut().zip(round.array(number)) {
                    kept.retain(|at| {
                        let at = places[at] & mask;
                        array[at as usize / 64] >> (at % 64) & 1 == 1
                    });
                }
            }
            selection.extend_words(len, |start, _| SurvivingEntries::word_of_round(&kept, start));
        });
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        let bit = |array: &[u64], bit: usize| [(array[bit / 64] >> (bit % 64) & 1) as u32, 0];
        let cells = |Array { words, size }: &Array| {
            let array = &self.bits[words.clone()];
            (0..*size as usize).map(|at| bit(array, at)).collect()
        };
        self.arrays.iter().map(cells).collect()
    }

    fn reset(&mut self) {
        self.bits.fill(0);
    }
}
