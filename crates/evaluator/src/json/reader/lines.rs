//! Reads one value a line.

use super::super::objects::ObjectScan;
use super::super::parser::{ParseFailure, Parser, first_byte};
use super::{JsonReader, MAX_LINE_BYTES, Step};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};

impl JsonReader {
    /// Reads on, at most to the end of the next line.
    pub(super) fn step_line(&mut self) -> Result<Step, SelectError> {
        if !self.seeking {
            self.index();
        }
        let rest = &self.block[self.next..];
        let newline = if self.is_indexed {
            self.structure.next_newline(self.next).map(|newline| newline - self.next)
        } else {
            memchr::memchr(b'\n', rest)
        };
        let length = match newline {
            Some(mark) => mark,
            None if self.complete => rest.len(),
            // A skipped line may be of any length.
            None if self.seeking => {
                self.next = self.block.len();
                return Ok(Step::NeedsBytes);
            }
            None if rest.len() > MAX_LINE_BYTES => MAX_LINE_BYTES + 1,
            None => return Ok(Step::NeedsBytes),
        };
        let start = self.next;
        let behind = (start + length + 1).min(self.block.len());
        if self.seeking {
            self.seeking = false;
            self.next = behind;
            self.wanted_to = self.offset();
            return Ok(Step::Skipped);
        }
        if self.offset() >= self.range.end || start == self.block.len() {
            self.wanted_to = self.wanted_to.max(self.offset());
            return Ok(Step::End);
        }
        if length > MAX_LINE_BYTES {
            return Err(self.error(
                0,
                SelectErrorCode::OverMaxRecordSize,
                "it is longer than 1 MiB",
            ));
        }
        if self.block[start..start + length].trim_ascii().is_empty() {
            self.next = behind;
            return Ok(Step::Skipped);
        }
        let end = start + length;
        if let ObjectScan::Object(last) = self.find(start, end)
            && self.may_be_fields()
            && first_byte(&self.block[last..end]).is_none()
        {
            self.begin(start);
            self.next = behind;
            self.place.end = self.offset();
            return Ok(Step::Fields);
        }
        let line = &self.block[start..start + length];
        let mut parser = Parser::new(line, true).with_room(self.room());
        let parsed = parser.value(self.filter()).and_then(|value| {
            parser.skip_space();
            if parser.position() < line.len() {
                let what = "something follows the value in its line";
                return Err(ParseFailure::Invalid(parser.position(), what));
            }
            Ok(value)
        });
        let taken = parser.taken();
        if let Err(problem) = &parsed
            && self.may_have_room(problem)
        {
            return Ok(Step::NeedsRoom);
        }
        self.begin(start);
        let value = parsed.map_err(|problem| self.explain(problem))?;
        self.next = behind;
        self.place.end = self.offset();
        Ok(Step::Value(value, taken))
    }
}
