//! Finds the structure of JSON text, 64 bytes at a time.
//!
//! This module contains `unsafe` for the same reason as its counterpart in [`crate::csv`]: the vector instructions of
//! the machine are only detected at run time. Only the comparisons of bytes are compiled for them; everything else is
//! plain code ([`super::structure`]). Miri checks the tests below on x86-64; CONTRIBUTING describes how.
#![expect(unsafe_code, reason = "calls code compiled for instructions detected at run time")]

use super::structure::{Word, WordCarry};
use crate::csv::{Level, WORD_BYTES};

/// The positions of certain bytes among 64, inside and outside of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bytes {
    pub(super) quote: u64,
    pub(super) backslash: u64,
    pub(super) comma: u64,
    /// The bytes `{`, `[`, `}` and `]`.
    pub(super) bracket: u64,
    pub(super) newline: u64,
    pub(super) non_ascii: u64,
}

/// Describes whole 64-byte blocks.
pub(super) fn index_blocks(
    level: Level,
    blocks: &[[u8; WORD_BYTES]],
    carry: &mut WordCarry,
    words: &mut Vec<Word>,
) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detect` found the features that the function was compiled for.
        Level::Avx2 => unsafe { x86::index_avx2(blocks, carry, words) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detect` found the features that the function was compiled for.
        Level::Avx512 => unsafe { x86::index_avx512(blocks, carry, words) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: `detect` found the features that the function was compiled for.
        Level::Neon => unsafe { arm::index_neon(blocks, carry, words) },
        Level::Scalar => index_scalar(blocks, carry, words),
    }
}

fn index_scalar(blocks: &[[u8; WORD_BYTES]], carry: &mut WordCarry, words: &mut Vec<Word>) {
    for block in blocks {
        let mut bytes = Bytes::default();
        for (i, &byte) in block.iter().enumerate() {
            let map = match byte {
                b'"' => &mut bytes.quote,
                b'\\' => &mut bytes.backslash,
                b',' => &mut bytes.comma,
                b'{' | b'[' | b'}' | b']' => &mut bytes.bracket,
                b'\n' => &mut bytes.newline,
                0x80.. => &mut bytes.non_ascii,
                _ => continue,
            };
            *map |= 1 << i;
        }
        words.push(carry.word(bytes));
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Bytes, WORD_BYTES, Word, WordCarry};

    /// The only bit in which `{` differs from `[`, and `}` from `]`.
    const KIND: i8 = 0x20;

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn index_avx512(
        blocks: &[[u8; WORD_BYTES]],
        carry: &mut WordCarry,
        words: &mut Vec<Word>,
    ) {
        let mark = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
        let (quote, backslash, comma) = (mark(b'"'), mark(b'\\'), mark(b','));
        let (open, close, newline) = (mark(b'{'), mark(b'}'), mark(b'\n'));
        let kind = _mm512_set1_epi8(KIND);
        words.extend(blocks.iter().map(|block| {
            // SAFETY: the load is unaligned and reads the 64 bytes that `block` has.
            let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            let braces = _mm512_or_si512(bytes, kind);
            carry.word(Bytes {
                quote: _mm512_cmpeq_epi8_mask(bytes, quote),
                backslash: _mm512_cmpeq_epi8_mask(bytes, backslash),
                comma: _mm512_cmpeq_epi8_mask(bytes, comma),
                bracket: _mm512_cmpeq_epi8_mask(braces, open)
                    | _mm512_cmpeq_epi8_mask(braces, close),
                newline: _mm512_cmpeq_epi8_mask(bytes, newline),
                non_ascii: _mm512_movepi8_mask(bytes),
            })
        }));
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn index_avx2(
        blocks: &[[u8; WORD_BYTES]],
        carry: &mut WordCarry,
        words: &mut Vec<Word>,
    ) {
        let mark = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
        let kind = _mm256_set1_epi8(KIND);
        words.extend(blocks.iter().map(|block| {
            // SAFETY: the loads are unaligned and read the two halves of the 64 bytes of `block`.
            let (low, high) = unsafe {
                let at: *const __m256i = block.as_ptr().cast();
                (_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1)))
            };
            let mask = |low, high| {
                let low = _mm256_movemask_epi8(low).cast_unsigned();
                let high = _mm256_movemask_epi8(high).cast_unsigned();
                u64::from(low) | u64::from(high) << 32
            };
            let equal = |low, high, byte: u8| {
                mask(_mm256_cmpeq_epi8(low, mark(byte)), _mm256_cmpeq_epi8(high, mark(byte)))
            };
            let braces = (_mm256_or_si256(low, kind), _mm256_or_si256(high, kind));
            carry.word(Bytes {
                quote: equal(low, high, b'"'),
                backslash: equal(low, high, b'\\'),
                comma: equal(low, high, b','),
                bracket: equal(braces.0, braces.1, b'{') | equal(braces.0, braces.1, b'}'),
                newline: equal(low, high, b'\n'),
                non_ascii: mask(low, high),
            })
        }));
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::*;

    use super::{Bytes, Carry, WORD_BYTES, Word};

    #[target_feature(enable = "neon")]
    pub(super) fn index_neon(
        blocks: &[[u8; WORD_BYTES]],
        carry: &mut WordCarry,
        words: &mut Vec<Word>,
    ) {
        const WEIGHTS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: reads the 16 bytes that the constant has.
        let weights = unsafe { vld1q_u8(WEIGHTS.as_ptr()) };
        words.extend(blocks.iter().map(|block| {
            // SAFETY: reads the four quarters of the 64 bytes of `block`.
            let parts = unsafe {
                let at = block.as_ptr();
                [vld1q_u8(at), vld1q_u8(at.add(16)), vld1q_u8(at.add(32)), vld1q_u8(at.add(48))]
            };
            // Each lane keeps the bit of its place; three pairwise sums gather eight lanes into a byte.
            let gather = |parts: [uint8x16_t; 4]| {
                let [a, b, c, d] = parts.map(|part| vandq_u8(part, weights));
                let sum = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
                vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sum, sum)))
            };
            let equal = |parts: [uint8x16_t; 4], byte: u8| {
                gather(parts.map(|part| vceqq_u8(part, vdupq_n_u8(byte))))
            };
            let braces = parts.map(|part| vorrq_u8(part, vdupq_n_u8(0x20)));
            carry.word(Bytes {
                quote: equal(parts, b'"'),
                backslash: equal(parts, b'\\'),
                comma: equal(parts, b','),
                bracket: equal(braces, b'{') | equal(braces, b'}'),
                newline: equal(parts, b'\n'),
                non_ascii: gather(parts.map(|part| vcgeq_u8(part, vdupq_n_u8(0x80)))),
            })
        }));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::csv::levels;

    proptest! {
        #[test]
        fn levels_agree(
            bytes in prop::collection::vec(
                prop_oneof![8 => prop::sample::select(b"{}[],:\"\\\n".to_vec()), 2 => any::<u8>()],
                64 * 5,
            ),
        ) {
            let (blocks, _) = bytes.as_chunks();
            let describe = |level| {
                let (mut carry, mut words) = (WordCarry::default(), Vec::new());
                index_blocks(level, blocks, &mut carry, &mut words);
                (carry, words)
            };
            let expected = describe(Level::Scalar);
            for level in levels() {
                prop_assert_eq!(&describe(level), &expected);
            }
        }
    }
}
