//! Hashes of 64 keys at once, by the processor's bit matrices.
//!
//! A CRC is linear: each byte of it is a sum, in GF(2), of 8×8 bit matrices times the bytes of the
//! key. `vgf2p8affineqb` multiplies 64 bytes by such a matrix, so a hash of 16 bytes into 2 takes half
//! an instruction for each key, where tables take 16 loads. It works on the keys' bytes in planes: the
//! first byte of each key, the second of each, and so on.
//!
//! # Why `unsafe`
//!
//! The instructions are those of a processor with GFNI and AVX-512, which is asked for once, when a
//! [`Matrices`] is made: there is none without, and only through it they are reached. Besides, vectors
//! are loaded from and stored to arrays of exactly their size.

#![expect(unsafe_code, reason = "vector instructions; see the module's documentation")]

use std::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm_loadu_si128, _mm512_cvtepu8_epi32,
    _mm512_gf2p8affine_epi64_epi8, _mm512_loadu_si512, _mm512_or_si512, _mm512_set1_epi8,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_sll_epi32, _mm512_storeu_si512,
    _mm512_xor_si512,
};

use crate::switch::HashTable;

/// Keys that are hashed together.
pub(super) const KEYS: usize = 64;

/// Words in a vector.
const LANES: usize = 16;

/// A word of each key.
pub(super) type Word = [u32; KEYS];

/// A byte of each key.
type Plane = [u8; KEYS];

/// CRCs of the same words.
#[derive(Debug, Clone)]
pub(super) struct Matrices {
    /// For each byte of a result, lowest first and CRC by CRC: its value for zeros, and the matrix of
    /// each byte of the words.
    bytes: Vec<(u8, Vec<u64>)>,
    /// Bytes of a CRC.
    width: usize,
}

impl Matrices {
    /// The low `bits` bits of the CRCs by polynomial and initial value over `words` words, if the
    /// processor has the instructions.
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

    /// The CRCs of `N` words of each key, CRC by CRC.
    #[inline]
    pub(super) fn hash<const N: usize>(&self, words: &[Word; N], hashes: &mut [Word]) {
        // SAFETY: the processor has the instructions, or `new` had made no `self`.
        unsafe { self.multiply(words, hashes) }
    }

    #[target_feature(enable = "gfni,avx512f,avx512bw,avx512vl")]
    fn multiply<const N: usize>(&self, words: &[Word; N], hashes: &mut [Word]) {
        let planes = planes(words);
        let mut bytes = self.bytes.iter();
        for hash in hashes {
            let mut product = [[0; KEYS]; 4];
            for (plane, (base, matrices)) in product.iter_mut().zip(bytes.by_ref().take(self.width))
            {
                let mut sum = _mm512_set1_epi8(*base as i8);
                for (of_word, matrices) in planes.iter().zip(matrices.as_chunks::<4>().0) {
                    for (bytes, matrix) in of_word.iter().zip(matrices) {
                        let matrix = _mm512_set1_epi64(*matrix as i64);
                        let part = _mm512_gf2p8affine_epi64_epi8::<0>(*bytes, matrix);
                        sum = _mm512_xor_si512(sum, part);
                    }
                }
                // SAFETY: the array has the 64 bytes of a vector; no alignment is asked for.
                unsafe { _mm512_storeu_si512(plane.as_mut_ptr().cast(), sum) };
            }
            assemble(&product[..self.width.min(4)], hash);
        }
    }
}

/// Words of planes of their bytes, the lowest first.
#[target_feature(enable = "gfni,avx512f,avx512bw,avx512vl")]
fn assemble(planes: &[Plane], words: &mut Word) {
    for (part, words) in words.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let mut all = _mm512_setzero_si512();
        for (byte, plane) in planes.iter().enumerate() {
            let bytes = &plane.as_chunks::<LANES>().0[part];
            // SAFETY: the array has the 16 bytes of a vector; no alignment is asked for.
            let bytes = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
            let shift = _mm_cvtsi32_si128(8 * byte as i32);
            all = _mm512_or_si512(all, _mm512_sll_epi32(_mm512_cvtepu8_epi32(bytes), shift));
        }
        // SAFETY: the array has the 64 bytes of a vector; no alignment is asked for.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), all) };
    }
}

/// The bytes of each word, the most significant first, in planes.
#[target_feature(enable = "gfni,avx512f,avx512bw,avx512vl")]
fn planes<const N: usize>(words: &[Word; N]) -> [[__m512i; 4]; N] {
    let mut planes = [[_mm512_setzero_si512(); 4]; N];
    for (planes, word) in planes.iter_mut().zip(words) {
        for (plane, shift) in planes.iter_mut().zip([24, 16, 8, 0]) {
            let mut bytes: Plane = [0; KEYS];
            for (byte, word) in bytes.iter_mut().zip(word) {
                *byte = (word >> shift) as u8;
            }
            // SAFETY: the array has the 64 bytes of a vector; no alignment is asked for.
            *plane = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        }
    }
    planes
}

/// What the input byte at `at` flips of byte `byte` of the CRC, as the instruction wants it: the row of
/// the lowest bit in the highest byte.
fn matrix(table: &HashTable, at: usize, byte: usize) -> u64 {
    let flips = table.byte(at);
    let row = |bit: usize| {
        (0..8)
            .fold(0, |row, from| row | u64::from(flips[1 << from] >> (8 * byte + bit) & 1) << from)
    };
    (0..8).fold(0, |matrix, bit| matrix | row(bit) << (8 * (7 - bit)))
}
