//! The fast paths' form of the switch's hash units: whole words, and many rows at once.

use std::ops::BitXor;

use crate::Selection;
use crate::switch::{HashTable, POLYNOMIALS};

/// CRCs over one or more 32-bit words. `T` is `u32` for one hash, or `u128` for as many lanes as
/// fit, each the CRC with another polynomial of [`POLYNOMIALS`].
#[derive(Debug, Clone)]
pub(crate) struct RowHash<T> {
    base: T,
    words: Vec<[[T; 256]; 4]>,
}

impl<T: Copy + Default + BitXor<Output = T>> RowHash<T> {
    #[inline]
    fn flips(tables: &[[T; 256]; 4], word: u32) -> T {
        let [a, b, c, d] = word.to_be_bytes().map(usize::from);
        tables[0][a] ^ tables[1][b] ^ tables[2][c] ^ tables[3][d]
    }

    /// The hash of one word.
    #[inline]
    pub(crate) fn one(&self, word: u32) -> T {
        match self.words.first() {
            Some(tables) => self.base ^ Self::flips(tables, word),
            None => self.base,
        }
    }

    /// The hash of several words.
    #[inline]
    pub(crate) fn many<const N: usize>(&self, words: [u32; N]) -> T {
        words
            .iter()
            .zip(&self.words)
            .fold(self.base, |hash, (word, tables)| hash ^ Self::flips(tables, *word))
    }
}

impl RowHash<u32> {
    /// The CRC with one polynomial over `words` words, after `prefix` bytes of zeros.
    pub(crate) fn single(polynomial: u32, prefix: usize, words: usize, bits: u8) -> Self {
        let table = HashTable::new(polynomial, prefix + 4 * words, bits);
        let words = (0..words)
            .map(|w| std::array::from_fn(|byte| *table.byte(prefix + 4 * w + byte)))
            .collect();
        Self { base: table.base(), words }
    }
}

/// The hashes with `COUNT` of [`POLYNOMIALS`] of the same words, 128 bits together.
#[derive(Debug, Clone)]
struct Lanes<const COUNT: usize> {
    hash: RowHash<u128>,
}

impl<const COUNT: usize> Lanes<COUNT> {
    /// Bits of a hash.
    const BITS: usize = 128 / COUNT;

    /// The CRCs with the polynomials from number `first` over `words` words.
    fn new(first: usize, words: usize, bits: u8) -> Self {
        let tables: Vec<HashTable> = POLYNOMIALS
            .iter()
            .skip(first)
            .take(COUNT)
            .map(|&polynomial| HashTable::new(polynomial, 4 * words, bits))
            .collect();
        let join = |value: &dyn Fn(&HashTable) -> u32| {
            tables
                .iter()
                .enumerate()
                .fold(0, |all, (lane, t)| all | u128::from(value(t)) << (Self::BITS * lane))
        };
        let words = (0..words)
            .map(|w| {
                std::array::from_fn(|byte| {
                    std::array::from_fn(|value| join(&|t: &HashTable| t.byte(4 * w + byte)[value]))
                })
            })
            .collect();
        Self { hash: RowHash { base: join(&HashTable::base), words } }
    }

    /// Writes the hashes of every key, those with one polynomial side by side.
    #[inline]
    fn write<const N: usize>(
        &self,
        keys: impl Iterator<Item = [u32; N]>,
        places: &mut [Places; COUNT],
    ) {
        for (at, key) in keys.enumerate().take(BLOCK) {
            let all = self.hash.many(key);
            for (lane, places) in places.iter_mut().enumerate() {
                places[at] = (all >> (Self::BITS * lane)) as u32 & (u32::MAX >> (32 - Self::BITS));
            }
        }
    }
}

/// Entries that are hashed together before they are looked up: the waits for memory overlap.
const BLOCK: usize = 1024;
/// Places in a line of the cache.
const LINE: usize = 16;

/// The cell of every key of a block in one array. It is longer than a power of two, or the places of
/// one entry in all arrays would compete for the same lines of the cache.
pub(crate) type Places = [u32; BLOCK + LINE];

/// As many hashes of the same key, each with another polynomial of [`POLYNOMIALS`], of which each
/// chooses a cell in an array of its own.
#[derive(Debug, Clone)]
pub(crate) struct Hashes {
    lanes: Banks,
    count: usize,
    places: Vec<Places>,
}

#[derive(Debug, Clone)]
enum Banks {
    Narrow(Vec<Lanes<8>>),
    Wide(Vec<Lanes<4>>),
}

impl Hashes {
    /// `count` hashes of `bits` bits over `words` words.
    pub(crate) fn new(count: usize, words: usize, bits: u8) -> Self {
        fn banks<const COUNT: usize>(count: usize, words: usize, bits: u8) -> Vec<Lanes<COUNT>> {
            (0..count).step_by(COUNT).map(|first| Lanes::new(first, words, bits)).collect()
        }
        let lanes = if bits <= 16 {
            Banks::Narrow(banks(count, words, bits))
        } else {
            Banks::Wide(banks(count, words, bits))
        };
        Self { lanes, places: vec![[0; BLOCK + LINE]; count.next_multiple_of(8)], count }
    }

    /// Hashes `len` keys and passes on block after block: where it starts, how many entries it has,
    /// and the places of its keys in each array.
    #[inline]
    pub(crate) fn blocks<const N: usize>(
        &mut self,
        len: usize,
        key: impl Fn(usize) -> [u32; N],
        mut take: impl FnMut(usize, usize, &[Places]),
    ) {
        for start in (0..len).step_by(BLOCK) {
            let block = start..len.min(start + BLOCK);
            let keys = block.clone().map(&key);
            match &self.lanes {
                Banks::Narrow(banks) => {
                    let all = banks.iter().zip(self.places.as_chunks_mut().0);
                    all.for_each(|(bank, places)| bank.write(keys.clone(), places));
                }
                Banks::Wide(banks) => {
                    let all = banks.iter().zip(self.places.as_chunks_mut().0);
                    all.for_each(|(bank, places)| bank.write(keys.clone(), places));
                }
            }
            take(start, block.len(), &self.places[..self.count]);
        }
    }

    /// Hashes `len` keys and asks of each entry in order whether it is forwarded.
    #[inline]
    pub(crate) fn sweep<const N: usize>(
        &mut self,
        len: usize,
        key: impl Fn(usize) -> [u32; N],
        selection: &mut Selection,
        mut forward: impl FnMut(usize, Placed<'_>) -> bool,
    ) {
        selection.clear();
        self.blocks(len, key, |start, len, arrays| {
            selection.extend(len, |at| forward(start + at, Placed { arrays, at }));
        });
    }
}

/// The place of an entry in each array.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed<'a> {
    arrays: &'a [Places],
    at: usize,
}

impl<'a> Placed<'a> {
    /// Its cell in each array, of arrays that lie one after the other at a distance of `size`.
    #[inline]
    pub(crate) fn cells(self, size: usize) -> impl Iterator<Item = usize> + 'a {
        let of = move |(array, places): (usize, &Places)| {
            array * size + places[self.at % BLOCK] as usize
        };
        self.arrays.iter().enumerate().map(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::crc32;

    #[test]
    fn each_array_has_its_polynomial() {
        // More than a block, and the last block is not full.
        let keys: Vec<u32> = (0..BLOCK as u32 + 100).map(|n| n.wrapping_mul(0x9E37_79B9)).collect();
        for bits in [12, 16, 17, 23, 32_u8] {
            let crc = |array: usize, bytes: &[u8]| {
                (crc32(POLYNOMIALS[array], bytes) & (u32::MAX >> (32 - bits))) as usize
            };
            let mut selection = Selection::new();
            let (mut one, mut two) = (Hashes::new(11, 1, bits), Hashes::new(11, 2, bits));
            one.sweep(
                keys.len(),
                |i| [keys[i]],
                &mut selection,
                |i, placed| {
                    let expected = (0..11).map(|array| crc(array, &keys[i].to_be_bytes()));
                    assert!(placed.cells(0).eq(expected));
                    i % 3 == 0
                },
            );
            assert!(selection.iter().eq((0..keys.len()).step_by(3)));
            two.sweep(
                keys.len(),
                |i| [7, keys[i]],
                &mut selection,
                |i, placed| {
                    let bytes = [7_u32.to_be_bytes(), keys[i].to_be_bytes()].concat();
                    let expected = (0..11).map(|array| 1000 * array + crc(array, &bytes));
                    assert!(placed.cells(1000).eq(expected));
                    false
                },
            );
            assert_eq!((selection.len(), selection.forwarded()), (keys.len(), 0));
        }
    }

    #[test]
    fn a_prefix_of_zeros_counts() {
        let hash = RowHash::single(POLYNOMIALS[0], 2, 1, 32);
        assert_eq!(hash.one(0xABCD), crc32(POLYNOMIALS[0], &[0, 0, 0, 0, 0xAB, 0xCD]));
    }
}
