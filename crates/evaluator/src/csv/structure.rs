//! The bitmaps of the delimiters and quotes of a block.

use super::simd::{self, Level, WORD_BYTES};
use super::syntax::Syntax;

/// The bytes to search for: the last byte of each delimiter, and the first of the quote.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    pub(super) field: u8,
    pub(super) record: u8,
    pub(super) quote: Option<u8>,
}

/// The bitmaps of a block: bit `i` of word `n` describes byte `i` of the `n`-th stretch of 64 bytes. At least
/// [`BEHIND`] zero words follow, and enough to make whole [`LANES`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Words {
    pub(super) field: Vec<u64>,
    pub(super) record: Vec<u64>,
    /// The quotes. After their interpretation, only those whose records need the state machine.
    pub(super) quote: Vec<u64>,
}

/// The number of words that are interpreted at once.
pub(super) const LANES: usize = 8;

/// The number of words after the block that may be read.
pub(super) const BEHIND: usize = 4;

impl Words {
    /// Makes room for `stretches` stretches, whose words are arbitrary.
    pub(super) fn fit(&mut self, stretches: usize) {
        let words = (stretches + BEHIND).next_multiple_of(LANES);
        for map in [&mut self.field, &mut self.record, &mut self.quote] {
            map.resize(words, 0);
            map[stretches..].fill(0);
        }
    }

    /// Returns the words of `n` stretches from index `at` on.
    pub(super) fn stretch(&mut self, at: usize, n: usize) -> [&mut [u64]; 3] {
        [&mut self.field, &mut self.record, &mut self.quote].map(|map| &mut map[at..at + n])
    }
}

/// The kinds of bytes that a block contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct BlockContents {
    pub(super) quote: bool,
    pub(super) carriage_return: bool,
    pub(super) non_ascii: bool,
}

/// The bitmaps of a block, after quotes were interpreted: delimiters in quoted fields are not marked.
///
/// Quotes are only marked in three cases: if the quote is longer than a byte, if another character escapes it, or if
/// the block may contain comments, whose quotes could be mistaken for those of fields. Every record that contains a
/// quote is then left to the state machine.
#[derive(Debug)]
pub(super) struct Structure {
    pub(super) level: Level,
    pub(super) words: Words,
    pub(super) seen: BlockContents,
    /// True if the quotes were interpreted.
    pub(super) interpreted: bool,
    /// Records that end before this byte need no state machine. A block mostly ends within a record, and often within
    /// its quotes.
    usual_to: usize,
    marks: Marks,
}

impl Structure {
    pub(super) fn new(syntax: &Syntax) -> Self {
        let last = |delimiter: &str| delimiter.as_bytes().last().copied().unwrap_or_default();
        Self {
            level: Level::detect(),
            words: Words::default(),
            seen: BlockContents::default(),
            interpreted: true,
            usual_to: usize::MAX,
            marks: Marks {
                field: last(&syntax.field_delimiter),
                record: last(&syntax.record_delimiter),
                quote: syntax.first_quote_byte(),
            },
        }
    }

    /// Describes `block` instead of any previous one. Its first record starts at `start`, within the first word.
    pub(super) fn index(&mut self, block: &[u8], start: usize, syntax: &Syntax) {
        self.mark(block, syntax);
        self.interpreted = !self.seen.quote
            || (syntax.has_plain_quotes()
                && !(syntax.quoted_record_delimiters && self.has_comment(block, start, syntax)));
        self.usual_to = if !self.interpreted {
            0
        } else if self.seen.quote
            && simd::interpret_quotes(self.level, &mut self.words, block, start, syntax)
        {
            next(&self.words.quote, 0).unwrap_or(usize::MAX)
        } else {
            usize::MAX
        };
    }

    /// Marks all delimiters and quotes, without interpreting quotes.
    fn mark(&mut self, block: &[u8], syntax: &Syntax) {
        let (blocks, rest) = block.as_chunks::<WORD_BYTES>();
        self.words.fit(block.len().div_ceil(WORD_BYTES));
        self.seen = simd::index_blocks(self.level, blocks, self.marks, &mut self.words, 0);
        if !rest.is_empty() {
            let mut last = [0; WORD_BYTES];
            last[..rest.len()].copy_from_slice(rest);
            let (at, words) = (blocks.len(), &mut self.words);
            let seen = simd::index_blocks(self.level, &[last], self.marks, words, at);
            self.seen.quote |= seen.quote;
            self.seen.carriage_return |= seen.carriage_return;
            self.seen.non_ascii |= seen.non_ascii;
            let inside = (1 << rest.len()) - 1;
            for [word] in
                words.stretch(at, 1).map(|map| map.first_chunk_mut()).into_iter().flatten()
            {
                *word &= inside;
            }
        }
        let (field, record) =
            (syntax.field_delimiter.as_bytes(), syntax.record_delimiter.as_bytes());
        if field.len() > 1 {
            verify(&mut self.words.field, block, field);
        }
        if record.len() > 1 {
            verify(&mut self.words.record, block, record);
        }
    }

    /// Returns whether a line may be a comment, without regard to quotes.
    fn has_comment(&self, block: &[u8], start: usize, syntax: &Syntax) -> bool {
        let mut at = start;
        loop {
            if syntax.is_comment(&block[at..]) {
                return true;
            }
            let Some(mark) = self.next_record_mark(at) else { return false };
            at = mark + 1;
        }
    }

    /// Returns the last byte of the first record delimiter at or after `from`.
    #[inline]
    pub(super) fn next_record_mark(&self, from: usize) -> Option<usize> {
        next(&self.words.record, from)
    }

    /// Collects the record delimiters of the block; see [`record_marks`].
    pub(super) fn record_marks(&self, from: usize, most: usize, marks: &mut Vec<u32>) -> usize {
        simd::record_marks(self.level, &self.words.record, from, most, marks)
    }

    /// Adds the records between marks; see [`spans`].
    pub(super) fn spans(
        &self,
        from: u32,
        marks: &[u32],
        starts: &mut Vec<u32>,
        ends: &mut Vec<u32>,
    ) -> (u32, u32) {
        simd::spans(self.level, from, marks, starts, ends)
    }

    /// Returns the last byte of the first field delimiter at or after `from`.
    pub(super) fn next_field_mark(&self, from: usize) -> Option<usize> {
        next(&self.words.field, from)
    }

    /// Finds a record of this block with another number of fields; see [`uneven`].
    pub(super) fn uneven(&self, starts: &[u32], ends: &[u32], fields: usize) -> Option<usize> {
        simd::uneven(self.level, &self.words.field, starts, ends, fields)
    }

    /// Returns the byte before which no record that ends there needs the state machine.
    pub(super) fn usual_to(&self) -> usize {
        self.usual_to
    }

    /// Returns whether the record at `start..end` needs the state machine.
    #[inline]
    pub(super) fn is_unusual(&self, start: usize, end: usize) -> bool {
        end > start.max(self.usual_to) && {
            let (first, last) = (start / WORD_BYTES, (end - 1) / WORD_BYTES);
            let words = self.words.quote.get(first..=last).unwrap_or_default();
            let outside_before = !(u64::MAX << (start % WORD_BYTES));
            let outside_behind = (u64::MAX << ((end - 1) % WORD_BYTES)) << 1;
            words.iter().enumerate().any(|(i, word)| {
                let before = if i == 0 { outside_before } else { 0 };
                let behind = if i == last - first { outside_behind } else { 0 };
                word & !before & !behind != 0
            })
        }
    }
}

/// Clears marks that are not preceded by the rest of a longer delimiter.
fn verify(map: &mut [u64], block: &[u8], delimiter: &[u8]) {
    for (i, word) in map.iter_mut().enumerate() {
        let mut left = *word;
        while left != 0 {
            let at = i * WORD_BYTES + left.trailing_zeros() as usize;
            if !block[..=at].ends_with(delimiter) {
                *word &= !(left & left.wrapping_neg());
            }
            left &= left - 1;
        }
    }
}

/// Writes the positions of the last bytes of the record delimiters at or after `from` to `marks`, which only ever
/// grows. Returns their number, which is at least `most` if the block has so many.
#[inline(always)]
pub(super) fn record_marks(map: &[u64], from: usize, most: usize, marks: &mut Vec<u32>) -> usize {
    let first = from / WORD_BYTES;
    let mut inside = u64::MAX << (from % WORD_BYTES);
    let mut found = 0;
    for (at, word) in map.iter().enumerate().skip(first) {
        let mut bits = word & inside;
        inside = u64::MAX;
        let count = bits.count_ones() as usize;
        if marks.len() < found + WORD_BYTES {
            marks.resize(2 * found + WORD_BYTES, 0);
        }
        let base = (at * WORD_BYTES) as u32;
        // Two marks are always written, whether they exist or not: their number is hard to predict, but most words
        // have no more.
        let Some(space) = marks[found..].first_chunk_mut::<WORD_BYTES>() else { break };
        space[0] = base + bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        space[1] = base + bits.trailing_zeros();
        for mark in &mut space[2..count.max(2)] {
            bits &= bits.wrapping_sub(1);
            *mark = base + bits.trailing_zeros();
        }
        found += count;
        if found >= most {
            break;
        }
    }
    found
}

/// Adds the starts and ends of the records between marks, the first of which begins at `from`. Returns the shortest
/// and the longest length.
#[inline(always)]
pub(super) fn spans(
    from: u32,
    marks: &[u32],
    starts: &mut Vec<u32>,
    ends: &mut Vec<u32>,
) -> (u32, u32) {
    let Some((first, behind)) = marks.split_first() else { return (u32::MAX, 0) };
    starts.push(from);
    starts.extend(marks[..behind.len()].iter().map(|mark| mark + 1));
    ends.extend_from_slice(marks);
    let (mut shortest, mut longest) = (first - from, first - from);
    for (before, mark) in marks.iter().zip(behind) {
        let length = mark - before - 1;
        shortest = shortest.min(length);
        longest = longest.max(length);
    }
    (shortest, longest)
}

/// Returns the position of the first record that does not have `fields` fields, counted by the field delimiters that
/// end in it.
#[inline(always)]
pub(super) fn uneven(map: &[u64], starts: &[u32], ends: &[u32], fields: usize) -> Option<usize> {
    let has_others = |(start, end): (&u32, &u32)| {
        let (start, end) = (*start as usize, *end as usize);
        let (first, last) = (start / WORD_BYTES, end / WORD_BYTES);
        // Zero words follow those of the block.
        let Some(words) = map.get(first..=last) else { return true };
        let (before, behind) = (start % WORD_BYTES, end % WORD_BYTES);
        let mut marks: usize = words.iter().map(|word| word.count_ones() as usize).sum();
        marks -= (words[0] & !(u64::MAX << before)).count_ones() as usize;
        marks -= (words[last - first] & (u64::MAX << behind)).count_ones() as usize;
        marks + 1 != fields
    };
    starts.iter().zip(ends).position(has_others)
}

#[inline]
fn next(map: &[u64], from: usize) -> Option<usize> {
    let first = from / WORD_BYTES;
    let mut bits = map.get(first)? & (u64::MAX << (from % WORD_BYTES));
    let mut at = first;
    while bits == 0 {
        at += 1;
        bits = *map.get(at)?;
    }
    Some(at * WORD_BYTES + bits.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fields::{FieldSpan, Fields};
    use super::super::records::{Limits, Records, Stop};
    use super::*;
    use crate::selection::Rows;
    use sluicegate_s3select::error::SelectErrorCode;
    use sluicegate_s3select::request::CsvInput;

    /// Reads the fields of all records before the first bad one, and the error of that one. Every record with a quote
    /// is left to the state machine, unless quotes are interpreted.
    fn read(
        object: &str,
        options: &CsvInput,
        interpret: bool,
    ) -> (Vec<Vec<String>>, Option<SelectErrorCode>) {
        let syntax = Syntax::new(options).unwrap();
        let mut block = object.as_bytes().to_vec();
        let mut structure = Structure::new(&syntax);
        if interpret {
            structure.index(&block, 0, &syntax);
        } else {
            structure.mark(&block, &syntax);
            structure.interpreted = !structure.seen.quote;
            structure.usual_to = if structure.seen.quote { 0 } else { usize::MAX };
        }
        let trims = structure.interpreted && structure.seen.quote;
        let mut all = Vec::new();
        let (mut records, mut next) = (Records::default(), 0);
        loop {
            let limits = Limits { max_rows: 2, range_end: usize::MAX, complete: true };
            let stop = match records.collect(&mut block, &mut next, limits, &syntax, &structure) {
                Ok(stop) => stop,
                Err(bad) => return (all, Some(bad.error.code)),
            };
            let first = all.len();
            for row in 0..records.len() {
                let fields = Fields {
                    marks: &structure.words.field,
                    starts: &records.starts,
                    ends: &records.ends,
                    delimiter_bytes: syntax.field_delimiter.len() as u32,
                    block: &block,
                    quote: structure.marks.quote.filter(|_| trims),
                };
                let mut found = vec![FieldSpan::NULL; records.len()];
                all.push(Vec::new());
                for column in 0.. {
                    simd::find_column(
                        structure.level,
                        &fields,
                        column,
                        Rows::All(row + 1),
                        &mut found,
                    );
                    if found[row] == FieldSpan::MISSING {
                        break;
                    }
                    all[first + row].push(text(found[row], &block));
                }
            }
            for quoted in &records.quoted {
                let fields = records.fields_of(*quoted).iter().map(|field| text(*field, &block));
                all[first + quoted.row as usize] = fields.collect();
            }
            if stop == Stop::End {
                return (all, None);
            }
        }
    }

    fn text(span: FieldSpan, block: &[u8]) -> String {
        // The fields found in a record that was split are overwritten, and need not be valid text.
        String::from_utf8_lossy(span.slice(block)).into_owned()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn interpreted_quotes_are_those_of_the_state_machine(
            parts in prop::collection::vec(
                prop_oneof![
                    6 => Just("a"), 2 => Just("é"), 6 => Just("DELIMITER"), 4 => Just("RECORD"),
                    6 => Just("\""), 1 => Just("\"\""), 1 => Just("DELIMITER\""),
                    1 => Just("\"DELIMITER"), 1 => Just("\"RECORD"), 1 => Just("RECORD#"),
                    1 => Just("\r"), 1 => Just("\n"), 1 => Just("|"),
                    1 => Just("012345678901234567890123456789012345678901234567890123456789"),
                ],
                0..60,
            ),
            field in prop_oneof![4 => Just(","), 1 => Just("|"), 1 => Just("·")],
            record in prop_oneof![
                4 => Just("\n"), 1 => Just("\r\n"), 1 => Just("|\n"), 1 => Just("··"), 1 => Just("ab")
            ],
            quote in prop_oneof![4 => Just('"'), 1 => Just('«')],
            escape in prop_oneof![4 => Just(None), 1 => Just(Some('a'))],
            comments in prop::option::of(prop_oneof![Just('#'), Just('"')]),
            quoted_delimiters: bool,
        ) {
            let object = parts.concat().replace("DELIMITER", field).replace("RECORD", record);
            let options = CsvInput {
                field_delimiter: field.to_owned(),
                record_delimiter: record.to_owned(),
                quote: Some(quote),
                quote_escape: escape,
                comments,
                allow_quoted_record_delimiter: quoted_delimiters,
                ..CsvInput::default()
            };
            prop_assert_eq!(read(&object, &options, true), read(&object, &options, false));
        }
    }
}
