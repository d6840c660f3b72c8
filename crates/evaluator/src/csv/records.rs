//! Separates the records of a block.

use super::quoting::{self, RecordEnd};
use super::structure::Structure;
use super::syntax::Syntax;
use crate::vector::Span;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// The longest record, in bytes, without its delimiter.
pub(super) const MAX_RECORD_BYTES: usize = 1 << 20;

/// The records of one batch, as offsets into its block.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) starts: Vec<u32>,
    /// The ends of the records, without their delimiters.
    pub(super) ends: Vec<u32>,
    /// The records whose quotes had to be removed one by one.
    pub(super) quoted: Vec<Quoted>,
    /// The fields of the records in `quoted`, concatenated.
    pub(super) quoted_fields: Vec<Span>,
    /// The ends of records in the block; reused memory.
    marks: Vec<u32>,
    /// A bad record after those of the batch, which the next call reports.
    pending: Option<BadRecord>,
}

/// A record that the state machine split: its row, and the range of its fields in `quoted_fields`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quoted {
    pub(super) row: u32,
    first: u32,
    count: u32,
}

/// The reason that a batch ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The block has more rows than a batch takes.
    Full,
    /// The next record is not complete in the block.
    NeedsBytes,
    /// The next record starts outside of the range.
    OutOfRange,
    /// The object has no further record.
    End,
}

/// The limits of one call of [`Records::collect`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) max_rows: usize,
    /// The offset in the block from which on no record is read.
    pub(super) range_end: usize,
    /// True if the object ends with the block.
    pub(super) complete: bool,
}

/// A record that cannot be read, and its start in the block.
#[derive(Debug)]
pub(super) struct BadRecord {
    pub(super) start: usize,
    pub(super) error: SelectError,
}

impl Records {
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    fn clear(&mut self) {
        self.starts.clear();
        self.ends.clear();
        self.quoted.clear();
        self.quoted_fields.clear();
    }

    /// Returns the fields of a record that was split.
    pub(super) fn fields_of(&self, quoted: Quoted) -> &[Span] {
        &self.quoted_fields[quoted.first as usize..(quoted.first + quoted.count) as usize]
    }

    /// Collects the records from `next` on and moves `next` past them. A bad record is reported in a batch of its
    /// own.
    pub(super) fn collect(
        &mut self,
        block: &mut [u8],
        next: &mut usize,
        limits: Limits,
        syntax: &Syntax,
        structure: &Structure,
    ) -> Result<Stop, BadRecord> {
        let Limits { max_rows, range_end, complete } = limits;
        self.clear();
        if let Some(bad) = self.pending.take() {
            return Err(bad);
        }
        let tolerate_cr = syntax.tolerates_cr();
        let delimiter = syntax.record_delimiter.len();
        if delimiter == 1 && *next < structure.usual_to() {
            self.collect_usual(block, next, limits, syntax, structure);
        }
        while self.len() < max_rows {
            let start = *next;
            if start >= range_end {
                return Ok(Stop::OutOfRange);
            }
            if start >= block.len() {
                return Ok(if complete { Stop::End } else { Stop::NeedsBytes });
            }
            let bad = |this: &mut Self, code, message: &'static str| {
                let bad = BadRecord { start, error: SelectError::new(code, message) };
                if this.len() == 0 {
                    return Err(bad);
                }
                this.pending = Some(bad);
                Ok(Stop::Full)
            };
            let too_long = "A record is longer than 1 MiB.";
            let mark = structure.next_record_mark(start + delimiter - 1);
            let mut record = mark.map(|mark| (mark + 1 - delimiter, mark + 1));
            if syntax.quoted_record_delimiters
                && !structure.interpreted
                && structure.is_unusual(start, record.map_or(block.len(), |(end, _)| end))
                && !syntax.is_comment(&block[start..])
            {
                record = match quoting::record_end(block, start, syntax, structure) {
                    RecordEnd::Mark(mark) => Some((mark + 1 - delimiter, mark + 1)),
                    RecordEnd::OpenQuote if complete => {
                        return bad(
                            self,
                            SelectErrorCode::CSVUnescapedQuote,
                            "A quote is not closed before the object ends.",
                        );
                    }
                    RecordEnd::Open | RecordEnd::OpenQuote => None,
                };
            }
            let (mut end, behind) = match record {
                Some(record) => record,
                None if block.len() - start > MAX_RECORD_BYTES + delimiter => {
                    return bad(self, SelectErrorCode::OverMaxRecordSize, too_long);
                }
                None if complete => (block.len(), block.len()),
                None => return Ok(Stop::NeedsBytes),
            };
            if tolerate_cr && end > start && block[end - 1] == b'\r' {
                end -= 1;
            }
            if end - start > MAX_RECORD_BYTES {
                return bad(self, SelectErrorCode::OverMaxRecordSize, too_long);
            }
            if end == start || syntax.is_comment(&block[start..end]) {
                *next = behind;
                continue;
            }
            if structure.is_unusual(start, behind) {
                let first = self.quoted_fields.len();
                if quoting::split(block, start, end, syntax, &mut self.quoted_fields).is_err() {
                    self.quoted_fields.truncate(first);
                    return if record.is_none() {
                        bad(
                            self,
                            SelectErrorCode::CSVUnescapedQuote,
                            "A quote is not closed before the object ends.",
                        )
                    } else {
                        bad(
                            self,
                            SelectErrorCode::CSVEscapingRecordDelimiter,
                            "A quoted field holds a record delimiter; set \
                             AllowQuotedRecordDelimiter to read it.",
                        )
                    };
                }
                self.quoted.push(Quoted {
                    row: self.len() as u32,
                    first: first as u32,
                    count: (self.quoted_fields.len() - first) as u32,
                });
            }
            self.starts.push(start as u32);
            self.ends.push(end as u32);
            *next = behind;
        }
        Ok(Stop::Full)
    }

    /// Collects complete records that need no state machine, or none if one of them is too long.
    fn collect_usual(
        &mut self,
        block: &[u8],
        next: &mut usize,
        limits: Limits,
        syntax: &Syntax,
        structure: &Structure,
    ) {
        let Limits { max_rows, range_end, .. } = limits;
        if *next >= range_end {
            return;
        }
        let found = structure.record_marks(*next, max_rows, &mut self.marks).min(max_rows);
        let marks = &self.marks[..found];
        // A mark's next record starts in the range if the byte after the mark is in the range.
        let in_range = 1 + marks.partition_point(|mark| (*mark as usize) + 1 < range_end);
        let marks = &marks[..found.min(in_range)];
        let usual = marks.partition_point(|mark| (*mark as usize) < structure.usual_to());
        let marks = &marks[..usual];
        let Some(last) = marks.last() else { return };
        let tolerate_cr = syntax.tolerates_cr();
        // The usual records end right before their marks and begin right after the previous mark.
        let (starts, ends) = (&mut self.starts, &mut self.ends);
        let (shortest, longest) = structure.spans(*next as u32, marks, starts, ends);
        let mut rows = marks.len();
        let comment = syntax.first_comment_byte();
        let may_be_comment =
            |start: &u32| comment.is_some() && block.get(*start as usize).copied() == comment;
        if shortest == 0
            || (tolerate_cr && structure.seen.carriage_return)
            || starts.iter().any(may_be_comment)
        {
            rows = 0;
            for row in 0..starts.len() {
                let (start, mut end) = (starts[row], ends[row]);
                if tolerate_cr && end > start && block[end as usize - 1] == b'\r' {
                    end -= 1;
                }
                // The next row overwrites blank lines and comments.
                (starts[rows], ends[rows]) = (start, end);
                let record = &block[start as usize..end as usize];
                rows += usize::from(end > start && !syntax.is_comment(record));
            }
        }
        if longest as usize > MAX_RECORD_BYTES {
            return self.clear();
        }
        self.starts.truncate(rows);
        self.ends.truncate(rows);
        *next = *last as usize + 1;
    }
}
