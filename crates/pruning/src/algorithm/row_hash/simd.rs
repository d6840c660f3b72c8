//! Hashes of 64 keys at once, by the processor's bit matrices.
//!
//! A CRC is linear: each byte of it is a sum, in GF(2), of 8×8 bit matrices times the bytes of the key.
//! `vgf2p8affineqb` multiplies 64 bytes by such a matrix, so a hash of 16 bytes into 2 takes half an instruction for
//! each key, where tables take 16 loads. It works on the keys' bytes in planes: the first byte of each key, the
//! second of each, and so on.
//!
//! # Why `unsafe`
//!
//! The instructions need a processor with GFNI and AVX-512. This is checked once, in the constructor of [`Matrices`]:
//! without the instructions there is no value of that type, and only its methods use them. Besides, vectors are
//! loaded from and stored to arrays of exactly their size.

#![expect(unsafe_code, reason = "vector instructions; see the module's documentation")]

use std::arch::x86_64::{
    __m512i, _mm_set_epi8, _mm512_broadcast_i32x4, _mm512_gf2p8affine_epi64_epi8,
    _mm512_loadu_si512, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_shuffle_epi8, _mm512_storeu_si512, _mm512_unpackhi_epi8, _mm512_unpackhi_epi16,
    _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi8, _mm512_unpacklo_epi16,
    _mm512_unpacklo_epi32, _mm512_unpacklo_epi64, _mm512_xor_si512,
};

use crate::switch::HashTable;

/// The number of keys that are hashed together.
pub(super) const KEYS: usize = 64;

/// The number of words in a vector.
const LANES: usize = 16;

/// A word of each key.
pub(super) type Word = [u32; KEYS];

/// A byte of each key, in the order of [`planes`].
type Plane = __m512i;

/// CRCs of the same words.
#[derive(Debug, Clone)]
pub(super) struct Matrices {
    /// For each byte of a result, lowest first and CRC by CRC: its value for zeros, and the matrix of
    /// each byte of the words.
    bytes: Vec<(u8, Vec<u64>)>,
    /// The number of bytes of a CRC.
    width: usize,
}

impl Matrices {
    /// Prepares the low `bits` bits of the CRCs by polynomial and initial value over `words` words, or returns none
    /// if the processor lacks the instructions.
    pub(super) fn new(units: &[(u32, u32)], words: usize, bits: u8) -> Option<Self> {
        let able = is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl");
        if !able {
            return None;
        }
        let width = usize::from(bits.div_ceil(8));
        let bytes = units.iter().flat_map(|&(polynomial, initial)| {
            let table = HashTable::new(polynomial, initial, 4 * words, bits);
            (0..width).map(move |byte| {
                let matrix = |at| matrix(&table, at, byte);
                ((table.base() >> (8 * byte)) as u8, (0..4 * words).map(matrix).collect())
            })
        });
        Some(Self { bytes: bytes.collect(), width })
    }

    /// Computes the CRCs of one, two or four words of each key, CRC by CRC.
    #[inline]
    pub(super) fn hash<'a>(&self, words: &[Word], hashes: impl Iterator<Item = &'a mut Word>) {
        // SAFETY: the processor has the instructions, since `new` returns no `Self` without them.
        unsafe {
            match words {
                [a] => self.multiply([a], hashes),
                [a, b] => self.multiply([a, b], hashes),
                [a, b, c, d] => self.multiply([a, b, c, d], hashes),
                _ => {}
            }
        }
    }

    #[target_feature(enable = "gfni,avx512f,avx512bw,avx512vl")]
    fn multiply<'a, const N: usize>(
        &self,
        words: [&Word; N],
        hashes: impl Iterator<Item = &'a mut Word>,
    ) {
        let mut planes_of = [[_mm512_setzero_si512(); 4]; N];
        for (planes_of, word) in planes_of.iter_mut().zip(words) {
            *planes_of = planes(word);
        }
        let of_hash = self.bytes.chunks_exact(self.width);
        for (hash, bytes) in hashes.zip(of_hash) {
            let mut product = [_mm512_setzero_si512(); 4];
            for (plane, (base, matrices)) in product.iter_mut().zip(bytes) {
                let mut sum = _mm512_set1_epi8(*base as i8);
                for (of_word, matrices) in planes_of.iter().zip(matrices.as_chunks::<4>().0) {
                    for (bytes, matrix) in of_word.iter().zip(matrices) {
                        let matrix = _mm512_set1_epi64(*matrix as i64);
                        let part = _mm512_gf2p8affine_epi64_epi8::<0>(*bytes, matrix);
                        sum = _mm512_xor_si512(sum, part);
                    }
                }
                *plane = sum;
            }
            assemble(product, hash);
        }
    }
}

/// Splits words into planes of their bytes, the most significant first. A vector has 16 of the 64 words, and each of
/// its quarters 4; a quarter of a plane has the words that are in the same quarter of any vector.
#[target_feature(enable = "gfni,avx512f,avx512bw,avx512vl")]
fn planes(words: &Word) -> [Plane; 4] {
    // This order takes the four words of a quarter byte by byte, the most significant first.
    let order = _mm_set_epi8(12, 8, 4, 0, 13, 9, 5, 1, 14, 10, 6, 2, 15, 11, 7, 3);
    let order = _mm512_broadcast_i32x4(order);
    let mut parts = [_mm512_setzero_si512(); 4];
    for (part, words) in parts.iter_mut().zip(words.as_chunks::<LANES>().0) {
        // SAFETY: the array has the 64 bytes of a vector; no alignment is required.
        let words = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
        *part = _mm512_shuffle_epi8(words, order);
    }
    let [a, b, c, d] = parts;
    let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
    let (ab_low, cd_low) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab, cd),
        _mm512_unpackhi_epi64(ab, cd),
        _mm512_unpacklo_epi64(ab_low, cd_low),
        _mm512_unpackhi_epi64(ab_low, cd_low),
    ]
}

/// Joins planes of bytes, the least significant first, to words.
#[target_feature(enable = "gfni,avx512f,avx512bw,avx512vl")]
fn assemble([a, b, c, d]: [Plane; 4], words: &mut Word) {
    let (low, high) = (_mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d));
    let (low_after, high_after) = (_mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d));
    let parts = [
        _mm512_unpacklo_epi16(low, high),
        _mm512_unpackhi_epi16(low, high),
        _mm512_unpacklo_epi16(low_after, high_after),
        _mm512_unpackhi_epi16(low_after, high_after),
    ];
    for (part, words) in parts.into_iter().zip(words.as_chunks_mut::<LANES>().0) {
        // SAFETY: the array has the 64 bytes of a vector; no alignment is required.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), part) };
    }
}

/// Returns the matrix of the bits of CRC byte `byte` that the input byte at `at` flips. As the instruction requires,
/// the row of the lowest bit is in the highest byte.
fn matrix(table: &HashTable, at: usize, byte: usize) -> u64 {
    let flips = table.byte(at);
    let row = |bit: usize| {
        (0..8)
            .fold(0, |row, from| row | u64::from(flips[1 << from] >> (8 * byte + bit) & 1) << from)
    };
    (0..8).fold(0, |matrix, bit| matrix | row(bit) << (8 * (7 - bit)))
}
