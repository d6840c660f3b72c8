//! The fast paths' version of the switch's hash units: whole words, and many rows at once.

#[cfg(target_arch = "x86_64")]
mod simd;

use std::ops::{BitOr, BitOrAssign, BitXor, Range, Shl};

use crate::Selection;
use crate::algorithm::hashing::Hashing;
use crate::switch::{HashTable, POLYNOMIALS};

/// A word that holds one CRC, or as many as fit side by side.
pub(crate) trait Lanes:
    Copy
    + Default
    + From<u32>
    + BitXor<Output = Self>
    + BitOr<Output = Self>
    + Shl<usize, Output = Self>
{
}

impl Lanes for u32 {}
impl Lanes for u64 {}
impl Lanes for u128 {}

/// CRCs of the same input: some bytes in front that seldom change, then words.
#[derive(Debug, Clone)]
struct Crcs<T> {
    /// The CRCs of zeros; the CRCs of zeros after the bytes in front are `base`.
    zeros: T,
    base: T,
    front: Vec<[T; 256]>,
    words: Vec<[[T; 256]; 4]>,
}

impl<T: Lanes> Crcs<T> {
    /// Prepares the CRCs by polynomial and initial value, `lane` bits apart, over `front` bytes and `words` words.
    /// Their low `bits` bits are kept.
    fn new(units: &[(u32, u32)], lane: usize, front: usize, words: usize, bits: u8) -> Self {
        let length = front + 4 * words;
        let tables: Vec<HashTable> = units
            .iter()
            .map(|&(polynomial, initial)| HashTable::new(polynomial, initial, length, bits))
            .collect();
        let join = |value: &dyn Fn(&HashTable) -> u32| {
            let lanes = tables.iter().enumerate();
            lanes.fold(T::default(), |all, (n, table)| all | T::from(value(table)) << (lane * n))
        };
        let byte = |at: usize| std::array::from_fn(|value| join(&|t| t.byte(at)[value]));
        let zeros = join(&HashTable::base);
        Self {
            zeros,
            base: zeros,
            front: (0..front).map(byte).collect(),
            words: (0..words)
                .map(|word| std::array::from_fn(|at| byte(front + 4 * word + at)))
                .collect(),
        }
    }

    /// Returns the bits that a word flips.
    #[inline]
    fn flips(tables: &[[T; 256]; 4], word: u32) -> T {
        let [a, b, c, d] = word.to_be_bytes().map(usize::from);
        tables[0][a] ^ tables[1][b] ^ tables[2][c] ^ tables[3][d]
    }

    #[inline]
    fn checksum<const N: usize>(&self, words: [u32; N]) -> T {
        let words = words.iter().zip(&self.words);
        words.fold(self.base, |hash, (word, tables)| hash ^ Self::flips(tables, *word))
    }
}

/// Hashes of one or more 32-bit words. `T` is `u32` for one hash, or a wider word for as many lanes
/// as fit, each with another polynomial of [`POLYNOMIALS`] in the last round.
#[derive(Debug, Clone)]
pub(crate) struct RowHash<T> {
    first: Option<Crcs<u64>>,
    last: Crcs<T>,
}

impl<T: Lanes> RowHash<T> {
    /// Prepares the hashes of the given arrays, `lane` bits apart, over `front` bytes, which are zero at first, and
    /// `words` words.
    pub(crate) fn new(
        hashing: Hashing,
        arrays: Range<usize>,
        lane: usize,
        front: usize,
        words: usize,
        bits: u8,
    ) -> Self {
        let polynomials = POLYNOMIALS.iter().skip(arrays.start).take(arrays.len());
        let units: Vec<(u32, u32)> = polynomials.map(|&p| (p, u32::MAX)).collect();
        let first = hashing.first_round().map(|units| Crcs::new(&units, 32, front, words, 32));
        let last = match first {
            Some(_) => Crcs::new(&units, lane, 0, 2 * words, bits),
            None => Crcs::new(&units, lane, front, words, bits),
        };
        Self { first, last }
    }

    /// Sets the bytes in front.
    pub(crate) fn start(&mut self, front: &[u8]) {
        fn start<T: Lanes>(crcs: &mut Crcs<T>, front: &[u8]) {
            let flips = crcs.front.iter().zip(front).map(|(flips, byte)| flips[usize::from(*byte)]);
            crcs.base = flips.fold(crcs.zeros, |base, flip| base ^ flip);
        }
        match &mut self.first {
            Some(first) => start(first, front),
            None => start(&mut self.last, front),
        }
    }

    /// Returns the hash of one word.
    #[inline]
    pub(crate) fn one(&self, word: u32) -> T {
        self.many([word])
    }

    /// Returns the hash of several words.
    #[inline]
    pub(crate) fn many<const N: usize>(&self, words: [u32; N]) -> T {
        let Some(first) = &self.first else { return self.last.checksum(words) };
        let sums = first.checksum(words);
        let (a, b) = (sums as u32, (sums >> 32) as u32);
        let tables = self.last.words.as_chunks::<2>().0;
        words.iter().zip(tables).fold(self.last.base, |hash, (word, [of_a, of_b])| {
            let flips = Crcs::flips(of_a, word.wrapping_add(a));
            hash ^ flips ^ Crcs::flips(of_b, word.wrapping_add(b))
        })
    }
}

impl RowHash<u32> {
    /// Prepares the hash of the first array.
    pub(crate) fn single(hashing: Hashing, front: usize, words: usize, bits: u8) -> Self {
        Self::new(hashing, 0..1, 32, front, words, bits)
    }
}

/// Hashes of the same words with `COUNT` of [`POLYNOMIALS`], 128 bits together.
#[derive(Debug, Clone)]
struct Bank<const COUNT: usize> {
    hash: RowHash<u128>,
}

impl<const COUNT: usize> Bank<COUNT> {
    /// The number of bits of a hash.
    const BITS: usize = 128 / COUNT;

    /// Prepares the hashes of the arrays from number `first` on, over `words` words.
    fn new(hashing: Hashing, first: usize, words: usize, bits: u8) -> Self {
        let arrays = first..first + COUNT;
        Self { hash: RowHash::new(hashing, arrays, Self::BITS, 0, words, bits) }
    }

    /// Writes the hashes of every key, those with one polynomial side by side.
    #[inline]
    fn write<const N: usize>(
        &self,
        keys: impl Iterator<Item = [u32; N]>,
        places: &mut [CellIndexes; COUNT],
    ) {
        for (at, key) in keys.enumerate().take(BLOCK) {
            let all = self.hash.many(key);
            for (lane, places) in places.iter_mut().enumerate() {
                places[at] = (all >> (Self::BITS * lane)) as u32 & (u32::MAX >> (32 - Self::BITS));
            }
        }
    }
}

/// Computes both rounds by the processor's bit matrices.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone)]
struct Vectors {
    first: Option<simd::Matrices>,
    last: simd::Matrices,
}

#[cfg(target_arch = "x86_64")]
impl Vectors {
    fn new(hashing: Hashing, count: usize, words: usize, bits: u8) -> Option<Self> {
        let units: Vec<(u32, u32)> =
            POLYNOMIALS.iter().take(count).map(|&polynomial| (polynomial, u32::MAX)).collect();
        let Some(first) = hashing.first_round() else {
            return Some(Self { first: None, last: simd::Matrices::new(&units, words, bits)? });
        };
        let first = Some(simd::Matrices::new(&first, words, 32)?);
        Some(Self { first, last: simd::Matrices::new(&units, 2 * words, bits)? })
    }

    /// Writes the hashes of every key of a block.
    #[inline]
    fn write<const N: usize>(
        &self,
        len: usize,
        key: impl Fn(usize) -> [u32; N],
        places: &mut [CellIndexes],
    ) {
        let mut words = [[0; simd::KEYS]; N];
        let mut mixed = [[[0; simd::KEYS]; 2]; N];
        for start in (0..len).step_by(simd::KEYS) {
            for at in 0..simd::KEYS.min(len - start) {
                for (word, part) in words.iter_mut().zip(key(start + at)) {
                    word[at] = part;
                }
            }
            let hashes = places.iter_mut().filter_map(|places| places[start..].first_chunk_mut());
            let Some(first) = &self.first else {
                self.last.hash(&words, hashes);
                continue;
            };
            let mut sums = [[0; simd::KEYS]; 2];
            first.hash(&words, sums.iter_mut());
            for (mixed, word) in mixed.iter_mut().zip(&words) {
                for (mixed, sum) in mixed.iter_mut().zip(&sums) {
                    let parts = word.iter().zip(sum);
                    mixed.iter_mut().zip(parts).for_each(|(to, (a, b))| *to = a.wrapping_add(*b));
                }
            }
            self.last.hash(mixed.as_flattened(), hashes);
        }
    }
}

/// The number of entries that are hashed together before lookups, so that memory accesses overlap.
const BLOCK: usize = 1024;
/// The number of places in a cache line.
const LINE: usize = 16;

/// The cell of every key of a block in one array. The length is not a power of two, because the places of one entry
/// in all arrays would otherwise compete for the same cache lines.
pub(crate) type CellIndexes = [u32; BLOCK + LINE];

/// The number of blocks that pass the same array one after the other.
pub(crate) const ROUND: usize = 8;

/// The places of the keys of up to [`ROUND`] blocks.
#[derive(Clone, Copy)]
pub(crate) struct Round<'a> {
    places: &'a [CellIndexes],
    stride: usize,
    len: usize,
}

impl<'a> Round<'a> {
    /// Iterates over the places in one array, block by block, with the number of keys in the block.
    #[inline]
    pub(crate) fn array(self, array: usize) -> impl Iterator<Item = (&'a CellIndexes, usize)> {
        let blocks = self.places.chunks_exact(self.stride).zip((0..self.len).step_by(BLOCK));
        blocks.map(move |(places, start)| (&places[array], BLOCK.min(self.len - start)))
    }
}

/// A bit for each entry of a block that is left while the block passes one array after the other.
pub(crate) struct SurvivingEntries([u64; BLOCK / 64]);

impl SurvivingEntries {
    /// Keeps the first `len` entries.
    #[inline]
    pub(crate) fn all(len: usize) -> Self {
        let left = |word| len.saturating_sub(64 * word).min(64) as u32;
        let ones = |left| u64::MAX.checked_shr(64 - left).unwrap_or(0);
        Self(std::array::from_fn(|word| ones(left(word))))
    }

    /// Keeps the first `len` entries of a round, block by block.
    #[inline]
    pub(crate) fn of_round(len: usize) -> [Self; ROUND] {
        std::array::from_fn(|block| Self::all(len.saturating_sub(block * BLOCK).min(BLOCK)))
    }

    /// Returns the bits of the 64 entries from position `start` of a round on, a multiple of 64.
    #[inline]
    pub(crate) fn word_of_round(round: &[Self; ROUND], start: usize) -> u64 {
        round[start / BLOCK].word(start % BLOCK)
    }

    /// Keeps no entry.
    #[inline]
    pub(crate) const fn none() -> Self {
        Self([0; BLOCK / 64])
    }

    /// Adds those of the first `len` entries for which `keep` returns true.
    #[inline]
    pub(crate) fn add(&mut self, len: usize, keep: impl Fn(usize) -> bool) {
        for at in 0..len.min(BLOCK) {
            self.0[at / 64] |= u64::from(keep(at)) << (at % 64);
        }
    }

    /// Returns the bits of the 64 entries from position `start` on, a multiple of 64.
    #[inline]
    pub(crate) fn word(&self, start: usize) -> u64 {
        self.0[start / 64]
    }

    /// Keeps the entries for which `keep` returns true, called in order. The result only sets a bit, so that memory
    /// accesses overlap.
    #[inline]
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        for (number, word) in self.0.iter_mut().enumerate() {
            let mut bit = |position| u64::from(keep(64 * number + position)) << position;
            let mut kept = 0;
            if *word == u64::MAX {
                (0..64).for_each(|position| kept |= bit(position));
            } else {
                let mut rest = *word;
                while rest != 0 {
                    kept |= bit(rest.trailing_zeros() as usize);
                    rest &= rest - 1;
                }
            }
            *word = kept;
        }
    }
}

impl BitOrAssign for SurvivingEntries {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(all, word)| *all |= word);
    }
}

/// Several hashes of the same key, each with another polynomial of [`POLYNOMIALS`] and a cell in an array of its own.
#[derive(Debug, Clone)]
pub(crate) struct Hashes {
    banks: Banks,
    count: usize,
    /// The places of a block lie `stride` after those of the block before.
    places: Vec<CellIndexes>,
    stride: usize,
}

#[derive(Debug, Clone)]
enum Banks {
    Narrow(Vec<Bank<8>>),
    Wide(Vec<Bank<4>>),
    #[cfg(target_arch = "x86_64")]
    Vectors(Vectors),
}

impl Hashes {
    /// Prepares `count` hashes of `bits` bits over `words` words, of which there are one or two.
    pub(crate) fn new(hashing: Hashing, count: usize, words: usize, bits: u8) -> Self {
        #[cfg(target_arch = "x86_64")]
        if words <= 2
            && let Some(vectors) = Vectors::new(hashing, count, words, bits)
        {
            return Self::with_count(Banks::Vectors(vectors), count);
        }
        Self::by_tables(hashing, count, words, bits)
    }

    /// Like [`Hashes::new`], but for processors without bit matrices.
    fn by_tables(hashing: Hashing, count: usize, words: usize, bits: u8) -> Self {
        fn banks<const COUNT: usize>(
            hashing: Hashing,
            count: usize,
            words: usize,
            bits: u8,
        ) -> Vec<Bank<COUNT>> {
            let firsts = (0..count).step_by(COUNT);
            firsts.map(|first| Bank::new(hashing, first, words, bits)).collect()
        }
        let banks = if bits <= 16 {
            Banks::Narrow(banks(hashing, count, words, bits))
        } else {
            Banks::Wide(banks(hashing, count, words, bits))
        };
        Self::with_count(banks, count)
    }

    fn with_count(banks: Banks, count: usize) -> Self {
        let stride = count.next_multiple_of(8);
        Self { banks, places: vec![[0; BLOCK + LINE]; stride], count, stride }
    }

    /// Hashes the keys of a block into the places with this number.
    #[inline]
    fn hash<const N: usize>(
        &mut self,
        block: Range<usize>,
        number: usize,
        key: &impl Fn(usize) -> [u32; N],
    ) {
        let places = &mut self.places[number * self.stride..][..self.stride];
        let keys = block.clone().map(key);
        match &mut self.banks {
            Banks::Narrow(banks) => {
                let all = banks.iter().zip(places.as_chunks_mut().0);
                all.for_each(|(bank, places)| bank.write(keys.clone(), places));
            }
            Banks::Wide(banks) => {
                let all = banks.iter().zip(places.as_chunks_mut().0);
                all.for_each(|(bank, places)| bank.write(keys.clone(), places));
            }
            #[cfg(target_arch = "x86_64")]
            Banks::Vectors(vectors) => {
                vectors.write(block.len(), |at| key(block.start + at), places);
            }
        }
    }

    /// Hashes `len` keys and calls `take` block after block, with the block's start, its number of entries, and the
    /// places of its keys in each array.
    #[inline]
    pub(crate) fn blocks<const N: usize>(
        &mut self,
        len: usize,
        key: impl Fn(usize) -> [u32; N],
        mut take: impl FnMut(usize, usize, &[CellIndexes]),
    ) {
        for start in (0..len).step_by(BLOCK) {
            let block = start..len.min(start + BLOCK);
            self.hash(block.clone(), 0, &key);
            take(start, block.len(), &self.places[..self.count]);
        }
    }

    /// Like [`Hashes::blocks`], but for up to [`ROUND`] blocks at a time, for arrays that together exceed the cache.
    /// Each array is passed once for all blocks, so that its cache lines are reused. `take` is called with the number
    /// of keys and their places, by array and block.
    #[inline]
    pub(crate) fn rounds<const N: usize>(
        &mut self,
        len: usize,
        key: impl Fn(usize) -> [u32; N],
        mut take: impl FnMut(usize, Round<'_>),
    ) {
        let blocks = len.div_ceil(BLOCK).min(ROUND);
        let most = self.places.len().max(blocks * self.stride);
        self.places.resize(most, [0; BLOCK + LINE]);
        for start in (0..len).step_by(BLOCK * ROUND) {
            let end = len.min(start + BLOCK * ROUND);
            for (number, start) in (start..end).step_by(BLOCK).enumerate() {
                self.hash(start..end.min(start + BLOCK), number, &key);
            }
            let round = Round { places: &self.places, stride: self.stride, len: end - start };
            take(end - start, round);
        }
    }

    /// Hashes `len` keys and calls `forward` for each entry in order; true forwards the entry.
    #[inline]
    pub(crate) fn sweep<const N: usize>(
        &mut self,
        len: usize,
        key: impl Fn(usize) -> [u32; N],
        selection: &mut Selection,
        mut forward: impl FnMut(usize, EntryCells<'_>) -> bool,
    ) {
        selection.clear();
        self.blocks(len, key, |start, len, arrays| {
            selection.extend(len, |at| forward(start + at, EntryCells { arrays, at }));
        });
    }
}

/// The place of an entry in each array.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryCells<'a> {
    arrays: &'a [CellIndexes],
    at: usize,
}

impl<'a> EntryCells<'a> {
    /// Returns its cell in each array, of arrays that lie one after the other at a distance of `size`.
    #[inline]
    pub(crate) fn cells(self, size: usize) -> impl Iterator<Item = usize> + 'a {
        let of = move |(array, places): (usize, &CellIndexes)| {
            array * size + places[self.at % BLOCK] as usize
        };
        self.arrays.iter().enumerate().map(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::mix64;
    use crate::switch::{MIXING_POLYNOMIALS, crc32, crc32_from};

    /// Computes the hash word by word, from the definition in the documentation of [`Hashing`].
    fn by_definition(hashing: Hashing, array: usize, front: &[u8], words: &[u32]) -> u32 {
        let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_be_bytes()).collect::<Vec<u8>>();
        let read = [front, &bytes(words)].concat();
        let Hashing::Mixed { seed } = hashing else { return crc32(POLYNOMIALS[array], &read) };
        let initial = [!(seed as u32), !((seed >> 32) as u32)];
        let flips = [mix64(seed) as u32, (mix64(seed) >> 32) as u32];
        let sums: [u32; 2] = std::array::from_fn(|n| {
            let polynomial = (MIXING_POLYNOMIALS[n] ^ flips[n]) | 1;
            crc32_from(initial[n], polynomial, &read)
        });
        let mixed: Vec<u32> =
            words.iter().flat_map(|w| sums.map(|sum| w.wrapping_add(sum))).collect();
        crc32(POLYNOMIALS[array], &bytes(&mixed))
    }

    #[test]
    fn each_array_has_its_polynomial() {
        // There is more than one block, and the last block is not full.
        let keys: Vec<u32> = (0..BLOCK as u32 + 100).map(|n| n.wrapping_mul(0x9E37_79B9)).collect();
        for (hashing, bits) in [
            (Hashing::Linear, 12),
            (Hashing::Mixed { seed: 0 }, 16),
            (Hashing::Mixed { seed: 0x0123_4567_89AB_CDEF }, 17),
            (Hashing::Mixed { seed: 1 << 32 }, 23),
            (Hashing::Linear, 32_u8),
        ] {
            let hash = |array: usize, words: &[u32]| {
                (by_definition(hashing, array, &[], words) & (u32::MAX >> (32 - bits))) as usize
            };
            let mut selection = Selection::new();
            for make in [Hashes::new, Hashes::by_tables] {
                let mut one = make(hashing, 11, 1, bits);
                one.sweep(
                    keys.len(),
                    |i| [keys[i]],
                    &mut selection,
                    |i, placed| {
                        assert!(placed.cells(0).eq((0..11).map(|array| hash(array, &keys[i..=i]))));
                        i % 3 == 0
                    },
                );
                assert!(selection.iter().eq((0..keys.len()).step_by(3)));
                let mut two = make(hashing, 11, 2, bits);
                two.sweep(
                    keys.len(),
                    |i| [7, keys[i]],
                    &mut selection,
                    |i, placed| {
                        let expected =
                            (0..11).map(|array| 1000 * array + hash(array, &[7, keys[i]]));
                        assert!(placed.cells(1000).eq(expected));
                        false
                    },
                );
                assert_eq!((selection.len(), selection.forwarded()), (keys.len(), 0));
            }
        }
    }

    #[test]
    fn rounds_are_blocks() {
        for len in [0, 70, BLOCK, BLOCK * ROUND + BLOCK + 100, 30] {
            let key = |at: usize| [mix64(at as u64) as u32];
            let mut hashes = Hashes::new(Hashing::Mixed { seed: 3 }, 3, 1, 20);
            let mut blocks: [Vec<u32>; 3] = Default::default();
            hashes.blocks(len, key, |start, len, arrays| {
                assert_eq!(start, blocks[0].len());
                let all = blocks.iter_mut().zip(arrays);
                all.for_each(|(all, places)| all.extend(&places[..len]));
            });
            let mut rounds: [Vec<u32>; 3] = Default::default();
            hashes.rounds(len, key, |len, round| {
                for (array, all) in rounds.iter_mut().enumerate() {
                    let before = all.len();
                    round.array(array).for_each(|(places, len)| all.extend(&places[..len]));
                    assert_eq!(all.len() - before, len);
                }
            });
            assert_eq!(blocks[0].len(), len);
            assert_eq!(blocks, rounds);
        }
    }

    #[test]
    fn bytes_in_front_count() {
        for hashing in [Hashing::Linear, Hashing::Mixed { seed: 5 }] {
            let mut hash = RowHash::single(hashing, 2, 1, 32);
            assert_eq!(hash.one(0xABCD), by_definition(hashing, 0, &[0, 0], &[0xABCD]));
            for flow in [0x1234_u16, 0, 7] {
                hash.start(&flow.to_be_bytes());
                let expected = by_definition(hashing, 0, &flow.to_be_bytes(), &[0xABCD]);
                assert_eq!(hash.one(0xABCD), expected);
            }
        }
    }

    /// The values were computed with Python's zlib for the last round and a bitwise CRC for the first.
    #[test]
    fn golden_hashes() {
        let of = |seed, words: &[u32]| by_definition(Hashing::Mixed { seed }, 0, &[], words);
        assert_eq!(GOLDEN.map(|(seed, key, _)| of(seed, &[key])), GOLDEN.map(|(_, _, hash)| hash));
    }

    const GOLDEN: [(u64, u32, u32); 4] = [
        (0, 0, 0xDA49_3CFE),
        (0, 0xDEAD_BEEF, 0x1E09_16C0),
        (0x0123_4567_89AB_CDEF, 0x0000_002A, 0x1601_5E82),
        (0x0000_0001_0000_0000, 0xFFFF_FFFF, 0xB630_8C6D),
    ];
}
