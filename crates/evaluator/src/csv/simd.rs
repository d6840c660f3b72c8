//! Finds delimiters, 64 bytes at a time, and fields among them.
//!
//! This module and its counterpart for JSON are the only ones in the crate with `unsafe`: the vector instructions of
//! the machine are only detected at run time, and calling code that was compiled for them is unsafe. Every function
//! has a scalar twin that must agree with it (property-tested below) and that other machines run. Miri checks the
//! tests below on x86-64; CONTRIBUTING describes how.
#![expect(unsafe_code, reason = "calls code compiled for instructions detected at run time")]

use super::fields::{self, FieldSpan, Fields};
use super::quotes;
use super::structure::{self, BlockContents, Marks, Words};
use super::syntax::Syntax;
use crate::selection::Rows;

/// The number of bytes that one word of a bitmap describes.
pub(crate) const WORD_BYTES: usize = 64;

/// The instruction sets that this machine offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Level {
    /// Returns the best level that this machine supports.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let bits = is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt");
            if bits && is_x86_feature_detected!("avx2") {
                let wide =
                    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
                return if wide { Self::Avx512 } else { Self::Avx2 };
            }
        }
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        if std::arch::is_aarch64_feature_detected!("neon") {
            return Self::Neon;
        }
        Self::Scalar
    }
}

/// Marks the delimiters of whole 64-byte blocks in the words from index `at` on.
pub(super) fn index_blocks(
    level: Level,
    blocks: &[[u8; WORD_BYTES]],
    marks: Marks,
    words: &mut Words,
    at: usize,
) -> BlockContents {
    let words = words.stretch(at, blocks.len());
    match level {
        Level::Scalar => index_scalar(blocks, marks, words),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detect` found the features that the function was compiled for.
        Level::Avx2 => unsafe { x86::index_avx2(blocks, marks, words) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detect` found the features that the function was compiled for.
        Level::Avx512 => unsafe { x86::index_avx512(blocks, marks, words) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: `detect` found the features that the function was compiled for.
        Level::Neon => unsafe { arm::index_neon(blocks, marks, words) },
    }
}

/// Finds one field of every row in `rows`; see [`fields::find_column`].
pub(super) fn find_column(
    level: Level,
    fields: &Fields<'_>,
    column: usize,
    rows: Rows<'_>,
    out: &mut [FieldSpan],
) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: both levels are only detected together with the features named there.
        Level::Avx2 | Level::Avx512 => unsafe { x86::find_column(fields, column, rows, out) },
        _ => fields::find_column(fields, column, rows, out, fields::select_scalar),
    }
}

/// Collects the ends of records; see [`structure::record_marks`].
pub(super) fn record_marks(
    level: Level,
    map: &[u64],
    from: usize,
    most: usize,
    marks: &mut Vec<u32>,
) -> usize {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: both levels are only detected together with the features named there.
        Level::Avx2 | Level::Avx512 => unsafe { x86::record_marks(map, from, most, marks) },
        _ => structure::record_marks(map, from, most, marks),
    }
}

/// Adds the starts and ends of records between marks; see [`structure::spans`].
pub(super) fn spans(
    level: Level,
    from: u32,
    marks: &[u32],
    starts: &mut Vec<u32>,
    ends: &mut Vec<u32>,
) -> (u32, u32) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: both levels are only detected together with AVX2.
        Level::Avx2 | Level::Avx512 => unsafe { x86::spans(from, marks, starts, ends) },
        _ => structure::spans(from, marks, starts, ends),
    }
}

/// Finds a record with another number of fields; see [`structure::uneven`].
pub(super) fn uneven(
    level: Level,
    map: &[u64],
    starts: &[u32],
    ends: &[u32],
    fields: usize,
) -> Option<usize> {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: both levels are only detected together with the features named there.
        Level::Avx2 | Level::Avx512 => unsafe { x86::uneven(map, starts, ends, fields) },
        _ => structure::uneven(map, starts, ends, fields),
    }
}

/// Interprets the quotes of a block; see [`quotes::interpret`].
pub(super) fn interpret_quotes(
    level: Level,
    words: &mut Words,
    block: &[u8],
    start: usize,
    syntax: &Syntax,
) -> bool {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detect` found the features that the function was compiled for.
        Level::Avx512 => unsafe { x86::interpret_avx512(words, block, start, syntax) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detect` found the features that the function was compiled for.
        Level::Avx2 => unsafe { x86::interpret_avx2(words, block, start, syntax) },
        _ => quotes::interpret(words, block, start, syntax, quotes::usual),
    }
}

fn index_scalar(
    blocks: &[[u8; WORD_BYTES]],
    marks: Marks,
    words: [&mut [u64]; 3],
) -> BlockContents {
    let [fields, records, quotes] = words;
    let mut seen = BlockContents::default();
    for (i, block) in blocks.iter().enumerate() {
        let map = |mark: Option<u8>| {
            let bits = block.iter().enumerate();
            bits.fold(0, |word, (i, &byte)| word | u64::from(Some(byte) == mark) << i)
        };
        (fields[i], records[i]) = (map(Some(marks.field)), map(Some(marks.record)));
        quotes[i] = map(marks.quote);
        seen.quote |= quotes[i] != 0;
        seen.carriage_return |= block.contains(&b'\r');
        seen.non_ascii |= !block.is_ascii();
    }
    seen
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::quotes::{self, Outcome, PrecedingState};
    use super::structure::LANES;
    use super::{
        BlockContents, FieldSpan, Fields, Marks, Rows, Syntax, WORD_BYTES, Words, fields, structure,
    };

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn index_avx512(
        blocks: &[[u8; WORD_BYTES]],
        marks: Marks,
        words: [&mut [u64]; 3],
    ) -> BlockContents {
        let field = _mm512_set1_epi8(marks.field.cast_signed());
        let record = _mm512_set1_epi8(marks.record.cast_signed());
        let quote = _mm512_set1_epi8(marks.quote.unwrap_or_default().cast_signed());
        let quoting = if marks.quote.is_some() { u64::MAX } else { 0 };
        let carriage_return = _mm512_set1_epi8(b'\r'.cast_signed());
        let (mut quotes, mut carriage_returns) = (0, 0);
        let mut seen = _mm512_setzero_si512();
        let [fields, records, quote_words] = words;
        let words = fields.iter_mut().zip(records).zip(quote_words);
        for (block, ((field_word, record_word), quote_word)) in blocks.iter().zip(words) {
            // SAFETY: the load is unaligned and reads the 64 bytes that `block` has.
            let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            seen = _mm512_or_si512(seen, bytes);
            *field_word = _mm512_cmpeq_epi8_mask(bytes, field);
            *record_word = _mm512_cmpeq_epi8_mask(bytes, record);
            *quote_word = _mm512_cmpeq_epi8_mask(bytes, quote) & quoting;
            quotes |= *quote_word;
            carriage_returns |= _mm512_cmpeq_epi8_mask(bytes, carriage_return);
        }
        BlockContents {
            quote: quotes != 0,
            carriage_return: carriage_returns != 0,
            non_ascii: _mm512_movepi8_mask(seen) != 0,
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn index_avx2(
        blocks: &[[u8; WORD_BYTES]],
        marks: Marks,
        words: [&mut [u64]; 3],
    ) -> BlockContents {
        let field = _mm256_set1_epi8(marks.field.cast_signed());
        let record = _mm256_set1_epi8(marks.record.cast_signed());
        let quote = _mm256_set1_epi8(marks.quote.unwrap_or_default().cast_signed());
        let quoting = if marks.quote.is_some() { u64::MAX } else { 0 };
        let carriage_return = _mm256_set1_epi8(b'\r'.cast_signed());
        let (mut quotes, mut carriage_returns) = (0, 0);
        let mut seen = _mm256_setzero_si256();
        let [fields, records, quote_words] = words;
        let words = fields.iter_mut().zip(records).zip(quote_words);
        for (block, ((field_word, record_word), quote_word)) in blocks.iter().zip(words) {
            // SAFETY: the loads are unaligned and read the two halves of the 64 bytes of `block`.
            let (low, high) = unsafe {
                let at: *const __m256i = block.as_ptr().cast();
                (_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1)))
            };
            seen = _mm256_or_si256(seen, _mm256_or_si256(low, high));
            let equal = |mark| {
                let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(low, mark)).cast_unsigned();
                let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(high, mark)).cast_unsigned();
                u64::from(low) | u64::from(high) << 32
            };
            (*field_word, *record_word) = (equal(field), equal(record));
            *quote_word = equal(quote) & quoting;
            quotes |= *quote_word;
            carriage_returns |= equal(carriage_return);
        }
        BlockContents {
            quote: quotes != 0,
            carriage_return: carriage_returns != 0,
            non_ascii: _mm256_movemask_epi8(seen) != 0,
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn interpret_avx2(
        words: &mut Words,
        block: &[u8],
        start: usize,
        syntax: &Syntax,
    ) -> bool {
        quotes::interpret(words, block, start, syntax, |words, before, cuts| {
            usual_avx2(words, before, cuts)
        })
    }

    /// Like [`quotes::usual`], with four words in a vector.
    #[target_feature(enable = "avx2")]
    fn usual_avx2(
        [fields, records, quotes]: [&mut [u64; LANES]; 3],
        before: &mut PrecedingState,
        cuts: u64,
    ) -> Outcome {
        let load = |words: &[u64; LANES]| {
            // SAFETY: the loads are unaligned and read the two halves of the eight words.
            unsafe {
                let at: *const __m256i = words.as_ptr().cast();
                [_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1))]
            }
        };
        let store = |words: &mut [u64; LANES], [low, high]: [__m256i; 2]| {
            // SAFETY: the stores are unaligned and write the two halves of the eight words.
            unsafe {
                let at: *mut __m256i = words.as_mut_ptr().cast();
                _mm256_storeu_si256(at, low);
                _mm256_storeu_si256(at.add(1), high);
            }
        };
        let (field, record, quote) = (load(fields), load(records), load(quotes));
        let low = four([field[0], record[0], quote[0]], *before, cuts);
        let high = four([field[1], record[1], quote[1]], low.before, cuts);
        let disturbing = _mm256_or_si256(low.disturbing, high.disturbing);
        if _mm256_testz_si256(disturbing, disturbing) == 0 {
            return Outcome::Disturbed;
        }
        *before = high.before;
        store(fields, [low.field, high.field]);
        store(records, [low.record, high.record]);
        store(quotes, [low.left, high.left]);
        let left = _mm256_or_si256(low.left, high.left);
        match _mm256_testz_si256(left, left) {
            0 => Outcome::Closing,
            _ => Outcome::Clear,
        }
    }

    /// The result of interpreting four words.
    struct Four {
        field: __m256i,
        record: __m256i,
        /// The closing quotes that no delimiter directly follows.
        left: __m256i,
        disturbing: __m256i,
        /// The state before the words that follow.
        before: PrecedingState,
    }

    #[target_feature(enable = "avx2")]
    fn four([field, record, quote]: [__m256i; 3], before: PrecedingState, cuts: u64) -> Four {
        // Expands each of four bits to all bits of its word.
        let words = |bits: i32| {
            let each = _mm256_setr_epi64x(1, 2, 4, 8);
            _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(bits.into()), each), each)
        };
        let tops = |words: __m256i| _mm256_movemask_pd(_mm256_castsi256_pd(words));
        let mut inside = quote;
        inside = _mm256_xor_si256(inside, _mm256_slli_epi64::<1>(inside));
        inside = _mm256_xor_si256(inside, _mm256_slli_epi64::<2>(inside));
        inside = _mm256_xor_si256(inside, _mm256_slli_epi64::<4>(inside));
        inside = _mm256_xor_si256(inside, _mm256_slli_epi64::<8>(inside));
        inside = _mm256_xor_si256(inside, _mm256_slli_epi64::<16>(inside));
        inside = _mm256_xor_si256(inside, _mm256_slli_epi64::<32>(inside));
        // Repeat the prefix sum for the parities of whole words, with one bit for each.
        let begun = (before.inside & 1) as i32;
        let mut ends = tops(inside);
        ends ^= ends << 1;
        ends ^= ends << 2;
        ends ^= -begun;
        inside = _mm256_xor_si256(inside, words(ends << 1 | begun));
        let marks = _mm256_or_si256(_mm256_or_si256(field, record), quote);
        let boundary = _mm256_andnot_si256(inside, marks);
        let last = tops(boundary);
        // After a byte order mark, the first field does not begin at the first bit.
        let first = _mm256_setr_epi64x(before.boundary.cast_signed(), 0, 0, 0);
        let behind = _mm256_or_si256(_mm256_srli_epi64::<63>(words(last << 1)), first);
        let behind = _mm256_or_si256(_mm256_slli_epi64::<1>(boundary), behind);
        let literal = _mm256_andnot_si256(behind, _mm256_and_si256(quote, inside));
        let cut = _mm256_and_si256(record, inside);
        let cut = _mm256_and_si256(cut, _mm256_set1_epi64x(cuts.cast_signed()));
        let field = _mm256_andnot_si256(inside, field);
        let record = _mm256_andnot_si256(inside, record);
        let ended = _mm256_srli_epi64::<1>(_mm256_or_si256(field, record));
        Four {
            field,
            record,
            left: _mm256_andnot_si256(_mm256_or_si256(inside, ended), quote),
            disturbing: _mm256_or_si256(literal, cut),
            before: PrecedingState {
                inside: if ends & 8 == 0 { 0 } else { u64::MAX },
                boundary: u64::from(last & 8 != 0),
            },
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn interpret_avx512(
        words: &mut Words,
        block: &[u8],
        start: usize,
        syntax: &Syntax,
    ) -> bool {
        quotes::interpret(words, block, start, syntax, |words, before, cuts| {
            usual_avx512(words, before, cuts)
        })
    }

    /// Like [`quotes::usual`], with one word in each lane.
    #[target_feature(enable = "avx512f,avx512bw")]
    fn usual_avx512(
        [fields, records, quotes]: [&mut [u64; LANES]; 3],
        before: &mut PrecedingState,
        cuts: u64,
    ) -> Outcome {
        let load = |words: &[u64; LANES]| {
            // SAFETY: the load is unaligned and reads the eight words.
            unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
        };
        let store = |words: &mut [u64; LANES], lanes| {
            // SAFETY: the store is unaligned and writes the eight words.
            unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), lanes) }
        };
        let (field, record, quote) = (load(fields), load(records), load(quotes));
        let top = _mm512_set1_epi64(i64::MIN);
        let mut inside = quote;
        inside = _mm512_xor_si512(inside, _mm512_slli_epi64::<1>(inside));
        inside = _mm512_xor_si512(inside, _mm512_slli_epi64::<2>(inside));
        inside = _mm512_xor_si512(inside, _mm512_slli_epi64::<4>(inside));
        inside = _mm512_xor_si512(inside, _mm512_slli_epi64::<8>(inside));
        inside = _mm512_xor_si512(inside, _mm512_slli_epi64::<16>(inside));
        inside = _mm512_xor_si512(inside, _mm512_slli_epi64::<32>(inside));
        // Repeat the prefix sum for the parities of whole words, with one bit for each.
        let mut ends = _mm512_test_epi64_mask(inside, top);
        ends ^= ends << 1;
        ends ^= ends << 2;
        ends ^= ends << 4;
        ends ^= before.inside as u8;
        let begins = (ends << 1) | (before.inside & 1) as u8;
        inside = _mm512_mask_xor_epi64(inside, begins, inside, _mm512_set1_epi64(-1));
        let marks = _mm512_or_si512(_mm512_or_si512(field, record), quote);
        let boundary = _mm512_andnot_si512(inside, marks);
        let last = _mm512_test_epi64_mask(boundary, top);
        // After a byte order mark, the first field does not begin at the first bit.
        let first = _mm512_maskz_set1_epi64(1, before.boundary.cast_signed());
        let behind = _mm512_or_si512(_mm512_maskz_set1_epi64(last << 1, 1), first);
        let behind = _mm512_or_si512(_mm512_slli_epi64::<1>(boundary), behind);
        let literal = _mm512_andnot_si512(behind, _mm512_and_si512(quote, inside));
        let cut = _mm512_and_si512(record, inside);
        let cut = _mm512_and_si512(cut, _mm512_set1_epi64(cuts.cast_signed()));
        let disturbing = _mm512_or_si512(literal, cut);
        if _mm512_test_epi64_mask(disturbing, disturbing) != 0 {
            return Outcome::Disturbed;
        }
        before.inside = if ends >> 7 == 1 { u64::MAX } else { 0 };
        before.boundary = u64::from(last >> 7);
        let field = _mm512_andnot_si512(inside, field);
        let record = _mm512_andnot_si512(inside, record);
        let ended = _mm512_srli_epi64::<1>(_mm512_or_si512(field, record));
        let left = _mm512_andnot_si512(_mm512_or_si512(inside, ended), quote);
        store(fields, field);
        store(records, record);
        store(quotes, left);
        match _mm512_test_epi64_mask(left, left) {
            0 => Outcome::Clear,
            _ => Outcome::Closing,
        }
    }

    #[target_feature(enable = "bmi1,bmi2,popcnt")]
    pub(super) fn record_marks(
        map: &[u64],
        from: usize,
        most: usize,
        marks: &mut Vec<u32>,
    ) -> usize {
        structure::record_marks(map, from, most, marks)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn spans(
        from: u32,
        marks: &[u32],
        starts: &mut Vec<u32>,
        ends: &mut Vec<u32>,
    ) -> (u32, u32) {
        structure::spans(from, marks, starts, ends)
    }

    #[target_feature(enable = "bmi1,bmi2,popcnt")]
    pub(super) fn uneven(
        map: &[u64],
        starts: &[u32],
        ends: &[u32],
        fields: usize,
    ) -> Option<usize> {
        structure::uneven(map, starts, ends, fields)
    }

    #[target_feature(enable = "bmi1,bmi2,popcnt")]
    pub(super) fn find_column(
        fields: &Fields<'_>,
        column: usize,
        rows: Rows<'_>,
        out: &mut [FieldSpan],
    ) {
        fields::find_column(fields, column, rows, out, |bits, n| {
            _pdep_u64(1 << n, bits).trailing_zeros()
        })
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::*;

    use super::{Marks, Seen, WORD_BYTES};

    #[target_feature(enable = "neon")]
    pub(super) fn index_neon(
        blocks: &[[u8; WORD_BYTES]],
        marks: Marks,
        words: [&mut [u64]; 3],
    ) -> BlockContents {
        const WEIGHTS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: reads the 16 bytes that the constant has.
        let weights = unsafe { vld1q_u8(WEIGHTS.as_ptr()) };
        let quoting = if marks.quote.is_some() { u64::MAX } else { 0 };
        let (mut quotes, mut carriage_returns) = (0, 0);
        let mut seen = vdupq_n_u8(0);
        let [fields, records, quote_words] = words;
        let words = fields.iter_mut().zip(records).zip(quote_words);
        for (block, ((field_word, record_word), quote_word)) in blocks.iter().zip(words) {
            // SAFETY: reads the four quarters of the 64 bytes of `block`.
            let parts = unsafe {
                let at = block.as_ptr();
                [vld1q_u8(at), vld1q_u8(at.add(16)), vld1q_u8(at.add(32)), vld1q_u8(at.add(48))]
            };
            for part in parts {
                seen = vorrq_u8(seen, part);
            }
            // Each lane keeps the bit of its place; three pairwise sums gather eight lanes into a byte.
            let equal = |mark: u8| {
                let mark = vdupq_n_u8(mark);
                let bit = |part| vandq_u8(vceqq_u8(part, mark), weights);
                let low = vpaddq_u8(bit(parts[0]), bit(parts[1]));
                let high = vpaddq_u8(bit(parts[2]), bit(parts[3]));
                let sum = vpaddq_u8(low, high);
                vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sum, sum)))
            };
            (*field_word, *record_word) = (equal(marks.field), equal(marks.record));
            *quote_word = equal(marks.quote.unwrap_or_default()) & quoting;
            quotes |= *quote_word;
            carriage_returns |= equal(b'\r');
        }
        BlockContents {
            quote: quotes != 0,
            carriage_return: carriage_returns != 0,
            non_ascii: vmaxvq_u8(seen) >= 0x80,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::super::structure::Structure;
    use super::*;
    use sluicegate_s3select::request::CsvInput;

    /// Returns every level that this machine supports.
    pub(crate) fn levels() -> Vec<Level> {
        let mut levels = vec![Level::Scalar, Level::detect()];
        #[cfg(target_arch = "x86_64")]
        if Level::detect() == Level::Avx512 {
            levels.push(Level::Avx2);
        }
        levels
    }

    proptest! {
        #[test]
        fn fields_agree(
            fields in prop::collection::vec(prop_oneof![Just(""), Just("a"), Just("0123456789")], 1..90),
            start in 0usize..70,
            column in 0usize..95,
        ) {
            let mut block = vec![b','; start];
            block.extend_from_slice(fields.join(",").as_bytes());
            let end = block.len();
            block.extend_from_slice(b"\n,,,\n");
            let syntax = Syntax::new(&CsvInput { quote: None, ..CsvInput::default() }).unwrap();
            let mut structure = Structure::new(&syntax);
            structure.index(&block, 0, &syntax);
            let fields_of = Fields {
                marks: &structure.words.field,
                starts: &[start as u32],
                ends: &[end as u32],
                delimiter_bytes: 1,
                block: &block,
                quote: None,
            };
            for level in levels() {
                let mut found = [FieldSpan::NULL];
                find_column(level, &fields_of, column, Rows::All(1), &mut found);
                match fields.get(column) {
                    Some(field) => prop_assert_eq!(found[0].slice(&block), field.as_bytes()),
                    None => prop_assert_eq!(found[0], FieldSpan::MISSING),
                }
            }
        }

        #[test]
        fn levels_agree(
            bytes in prop::collection::vec(
                prop_oneof![
                    400 => Just(b','), 200 => Just(b'\n'), 200 => Just(b'"'), 1 => Just(b'\r'),
                    400 => any::<u8>(),
                ],
                64 * 5,
            ),
            quoting: bool,
        ) {
            let marks = Marks { field: b',', record: b'\n', quote: quoting.then_some(b'"') };
            let (blocks, _) = bytes.as_chunks();
            let mut expected = Words::default();
            expected.fit(blocks.len());
            let seen = index_blocks(Level::Scalar, blocks, marks, &mut expected, 0);
            for level in levels() {
                let mut words = Words::default();
                words.fit(blocks.len());
                prop_assert_eq!(index_blocks(level, blocks, marks, &mut words, 0), seen);
                prop_assert_eq!(&words, &expected);
            }
        }

        #[test]
        fn levels_interpret_quotes_alike(
            bytes in prop::collection::vec(
                prop_oneof![2 => Just(b','), 1 => Just(b'\n'), 3 => Just(b'"'), 4 => Just(b'a')],
                64 * 9..64 * 18,
            ),
            start in 0usize..64,
            quoted_delimiters: bool,
        ) {
            let options = CsvInput {
                allow_quoted_record_delimiter: quoted_delimiters,
                ..CsvInput::default()
            };
            let syntax = Syntax::new(&options).unwrap();
            let marks = Marks { field: b',', record: b'\n', quote: Some(b'"') };
            let (blocks, _) = bytes.as_chunks();
            let bytes = blocks.as_flattened();
            let mut marked = Words::default();
            marked.fit(blocks.len());
            index_blocks(Level::Scalar, blocks, marks, &mut marked, 0);
            let mut expected = marked.clone();
            let unusual = interpret_quotes(Level::Scalar, &mut expected, bytes, start, &syntax);
            for level in levels() {
                let mut words = marked.clone();
                let found = interpret_quotes(level, &mut words, bytes, start, &syntax);
                prop_assert_eq!((&words, found), (&expected, unusual));
            }
        }
    }
}
