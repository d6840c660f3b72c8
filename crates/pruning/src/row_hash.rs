//! The fast paths' form of the switch's hash units: whole words, and many rows at once.

use std::ops::BitXor;

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

/// The first lanes of [`POLYNOMIALS`], `LANE` bits each, over the same words.
#[derive(Debug, Clone)]
pub(crate) struct Lanes<const LANE: usize> {
    hash: RowHash<u128>,
}

impl<const LANE: usize> Lanes<LANE> {
    /// How many lanes there are.
    pub(crate) const COUNT: usize = 128 / LANE;

    /// The CRCs with the polynomials from number `first` over `words` words.
    pub(crate) fn new(first: usize, words: usize, bits: u8) -> Self {
        let tables: Vec<HashTable> = POLYNOMIALS
            .iter()
            .skip(first)
            .take(Self::COUNT)
            .map(|&polynomial| HashTable::new(polynomial, 4 * words, bits))
            .collect();
        let join = |value: &dyn Fn(&HashTable) -> u32| {
            tables
                .iter()
                .enumerate()
                .fold(0, |all, (lane, t)| all | u128::from(value(t)) << (LANE * lane))
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

    #[inline]
    pub(crate) fn one(&self, word: u32) -> u128 {
        self.hash.one(word)
    }

    #[inline]
    pub(crate) fn words<const N: usize>(&self, words: [u32; N]) -> u128 {
        self.hash.many(words)
    }
}

impl Lanes<16> {
    /// The lanes of a result.
    #[inline]
    pub(crate) fn unpack(all: u128) -> [usize; 8] {
        std::array::from_fn(|lane| usize::from((all >> (16 * lane)) as u16))
    }
}

impl Lanes<32> {
    /// The lanes of a result.
    #[inline]
    pub(crate) fn unpack(all: u128) -> [usize; 4] {
        std::array::from_fn(|lane| (all >> (32 * lane)) as u32 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::crc32;

    #[test]
    fn lanes_are_the_polynomials() {
        let (narrow, wide) = (Lanes::<16>::new(0, 1, 12), Lanes::<32>::new(2, 2, 23));
        for key in [0_u32, 1, 0xFFFF_FFFF, 0x1234_5678] {
            for (lane, &polynomial) in POLYNOMIALS[..8].iter().enumerate() {
                let crc = crc32(polynomial, &key.to_be_bytes()) & 0xFFF;
                assert_eq!(Lanes::<16>::unpack(narrow.one(key))[lane], crc as usize);
            }
            for lane in 0..4 {
                let mut bytes = 7_u32.to_be_bytes().to_vec();
                bytes.extend(key.to_be_bytes());
                let crc = crc32(POLYNOMIALS[2 + lane], &bytes) & 0x7F_FFFF;
                assert_eq!(Lanes::<32>::unpack(wide.words([7, key]))[lane], crc as usize);
            }
        }
    }

    #[test]
    fn a_prefix_of_zeros_counts() {
        let hash = RowHash::single(POLYNOMIALS[0], 2, 1, 32);
        assert_eq!(hash.one(0xABCD), crc32(POLYNOMIALS[0], &[0, 0, 0, 0, 0xAB, 0xCD]));
    }
}
