//! JOIN with Bloom filters: one array of bits for each hash.

use std::fmt;

use serde::Serialize;

use super::{Join, Kind, Passes, SIDES, Shape, check_filter, filter_table, finish, start};
use crate::algorithm::config::index_bits;
use crate::algorithm::hashing::Hashing;
use crate::algorithm::row_hash::{Hashes, Kept};
use crate::switch::{
    Action, AluOperand, Cell, Index, POLYNOMIALS, Program, Source, Stateful, Update, When,
};
use crate::{ConfigError, Selection};

/// Parameters that a program can be built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Config {
    shape: Shape,
    cells: u32,
    hashes: u32,
    hashing: Hashing,
}

impl Config {
    /// A filter for each side of `hashes` (1 to 16) arrays of `cells` bits (a power of two).
    ///
    /// # Errors
    ///
    /// If a parameter is out of range.
    pub fn new(shape: Shape, cells: u32, hashes: u32) -> Result<Self, ConfigError> {
        check_filter(cells, hashes, POLYNOMIALS.len() as u32)?;
        Ok(Self { shape, cells, hashes, hashing: Hashing::DEFAULT })
    }

    /// The paper's default of 4 MB and 3 hashes, as far as powers of two reach: 3 arrays of 1 MiB,
    /// an inner join of narrow keys with the small side first.
    #[must_use]
    pub const fn paper() -> Self {
        Self {
            shape: Shape::new(Kind::Inner, Passes::SmallFirst, false),
            cells: 1 << 23,
            hashes: 3,
            hashing: Hashing::DEFAULT,
        }
    }

    /// The same with other hashes.
    #[must_use]
    pub const fn with_hashing(self, hashing: Hashing) -> Self {
        Self { hashing, ..self }
    }

    /// Bits in an array.
    #[must_use]
    pub const fn cells(&self) -> u32 {
        self.cells
    }

    /// Hashes, each with an array of its own.
    #[must_use]
    pub const fn hashes(&self) -> u32 {
        self.hashes
    }

    /// The program: its packets carry the key.
    #[must_use]
    pub fn program(&self) -> Program {
        let (mut b, prune) = start(self.shape);
        let keys = self.shape.keys();
        let hashed = self.hashing.mix(&mut b, &keys, &keys);
        let hashes: Vec<Index> = (0..self.hashes)
            .map(|n| {
                let polynomial = POLYNOMIALS[n as usize];
                Index::Hash(b.hash(
                    format!("bit{n}"),
                    polynomial,
                    hashed.clone(),
                    index_bits(self.cells),
                ))
            })
            .collect();
        let mut present = [Vec::new(), Vec::new()];
        b.stage();
        for side in [0, 1].into_iter().filter(|&side| self.shape.filters()[side]) {
            for (n, &index) in hashes.iter().enumerate() {
                let name = format!("{}{n}", SIDES[side]);
                let register = b.register(format!("filter_{name}"), Cell::Bit1, self.cells);
                let found = b.field(format!("in_{name}"), 1);
                let access = Stateful::on(register, index);
                let set = access.clone().set_lo(Update::set(When::ALWAYS, AluOperand::Const(1)));
                let test = access.output(found, Source::MemLo, When::ALWAYS);
                let (set, test) = (Action::access("insert", set), Action::access("test", test));
                b.table(filter_table(self.shape, side, format!("bloom_{name}"), set, test));
                present[side].push(found);
            }
        }
        finish(self.shape, b, prune, &present)
    }

    /// The fast path.
    #[must_use]
    pub fn pruner(&self) -> Join<Filter> {
        let size = (self.cells as usize).next_multiple_of(64);
        let (count, words) = (self.hashes as usize, self.shape.values().into());
        let hashes = Hashes::new(self.hashing, count, words, index_bits(self.cells));
        let bits = vec![0; size / 64 * self.hashes as usize];
        Join::new(self.shape, &Filter { cells: self.cells as usize, size, hashes, bits })
    }
}

checked_when_read!(Config { shape: Shape, cells: u32, hashes: u32, hashing: Hashing } => Self::new(shape, cells, hashes).map(|config| config.with_hashing(hashing)));

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "join_bloom(arrays={}, bits={}{})", self.hashes, self.cells, self.hashing)
    }
}

/// The arrays of one side's Bloom filter.
#[derive(Debug, Clone)]
pub struct Filter {
    cells: usize,
    /// Bits from the start of an array to that of the next.
    size: usize,
    hashes: Hashes,
    bits: Vec<u64>,
}

impl super::Filter for Filter {
    #[inline]
    fn enter<const N: usize>(&mut self, len: usize, key: impl Fn(usize) -> [u32; N]) {
        let (bits, size) = (&mut self.bits, self.size);
        self.hashes.blocks(len, key, |_, len, arrays| {
            // Array by array, so that fewer pages are in use at a time.
            for (array, places) in bits.chunks_exact_mut(size / 64).zip(arrays) {
                places[..len].iter().for_each(|at| array[*at as usize / 64] |= 1 << (at % 64));
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
        let (bits, size) = (&self.bits, self.size);
        selection.clear();
        self.hashes.blocks(len, key, |_, len, arrays| {
            let mut kept = Kept::all(len);
            // Array by array, so that fewer pages are in use at a time.
            for (array, places) in bits.chunks_exact(size / 64).zip(arrays) {
                kept.retain(|at| array[places[at] as usize / 64] >> (places[at] % 64) & 1 == 1);
            }
            selection.extend_words(len, |start, _| kept.word(start));
        });
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        let bit = |array: &[u64], bit: usize| [(array[bit / 64] >> (bit % 64) & 1) as u32, 0];
        let cells = |array| (0..self.cells).map(move |at| bit(array, at)).collect();
        self.bits.chunks(self.size / 64).map(cells).collect()
    }

    fn reset(&mut self) {
        self.bits.fill(0);
    }
}
