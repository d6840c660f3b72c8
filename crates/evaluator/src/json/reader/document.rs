//! Reads values that may span lines, in memory as a whole or, if they are long, row by row.

use super::super::descent::{Descent, Event};
use super::super::objects::ObjectScan;
use super::super::parser::{ParseFailure, Parser};
use super::{BLOCK_BYTES, JsonReader, Step};
use crate::vector::Span;
use sluicegate_s3select::dialect::ast::PathStep;
use sluicegate_s3select::error::SelectError;

impl JsonReader {
    /// Reads on, at most to the next value or to the next row of a long value.
    pub(super) fn step_document(&mut self) -> Result<Step, SelectError> {
        if let Some(descent) = self.descent.take() {
            return self.step_descent(descent);
        }
        let mut parser = Parser::new(&self.block[self.next..], self.complete);
        parser.skip_space();
        self.next += parser.position();
        let rest = &self.block[self.next..];
        if rest.is_empty() {
            if self.complete {
                self.wanted_to = self.offset();
                return Ok(Step::End);
            }
            return Ok(Step::NeedsBytes);
        }
        self.index();
        if self.from.is_empty() {
            match self.find(self.next, self.block.len()) {
                ObjectScan::Object(end)
                    if end - self.next <= self.max_document_bytes && self.may_be_fields() =>
                {
                    self.begin(self.next);
                    self.next = end;
                    self.place.end = self.offset();
                    return Ok(Step::Fields);
                }
                ObjectScan::Incomplete if !self.complete && self.is_in_memory() => {
                    return Ok(Step::NeedsBytes);
                }
                _ => {}
            }
        } else {
            match self.leads_down() {
                ObjectScan::Object(_) => return self.descend(),
                ObjectScan::Incomplete if !self.complete && self.is_in_memory() => {
                    return Ok(Step::NeedsBytes);
                }
                _ => {}
            }
        }
        let rest = &self.block[self.next..];
        let mut parser = Parser::new(rest, self.complete).with_room(self.room());
        match parser.value(self.filter()) {
            Err(problem @ ParseFailure::TooLarge(_)) if self.from.is_empty() => {
                if self.may_have_room(&problem) {
                    return Ok(Step::NeedsRoom);
                }
                self.begin(self.next);
                Err(self.explain(problem))
            }
            // The rows of the value may be smaller.
            Err(ParseFailure::TooLarge(_)) => self.descend(),
            Ok(_) if parser.position() > self.max_document_bytes => self.descend(),
            Ok(value) => {
                let (length, taken) = (parser.position(), parser.taken());
                self.begin(self.next);
                self.next += length;
                self.place.end = self.offset();
                Ok(Step::Value(value, taken))
            }
            Err(ParseFailure::Incomplete) if !self.complete => {
                if rest.len() > self.max_document_bytes {
                    return self.descend();
                }
                Ok(Step::NeedsBytes)
            }
            Err(problem) => {
                self.begin(self.next);
                Err(self.explain(problem))
            }
        }
    }

    fn is_in_memory(&self) -> bool {
        self.block.len() - self.next <= self.max_document_bytes
    }

    /// Returns whether a short value can be read row by row like a long one, because no name in the path of FROM is
    /// repeated in it. The object is found if so.
    fn leads_down(&mut self) -> ObjectScan {
        let by_name = |step: &&PathStep| matches!(step, PathStep::Field(_));
        let names = self.from.iter().take_while(by_name).count();
        if !self.is_indexed || self.from[names..].iter().any(|step| by_name(&step)) {
            return ObjectScan::Unusual;
        }
        let (mut start, mut limit) = (self.next, self.block.len().min(self.structure.doubtful()));
        if start > limit {
            return ObjectScan::Unusual;
        }
        for names in &mut self.names[..names] {
            let mut field = [Vec::new()];
            match names.find(&self.block, &self.structure, start, limit, &mut field) {
                ObjectScan::Object(_) if field[0] != [Span::MISSING] => {
                    let span = field[0][0];
                    (start, limit) = (span.start(), span.start() + span.len());
                }
                found => return found,
            }
        }
        ObjectScan::Object(limit)
    }

    /// Begins to read a value row by row.
    fn descend(&mut self) -> Result<Step, SelectError> {
        self.begin(self.next);
        if self.from.is_empty() {
            return Err(self.too_long());
        }
        self.descent = Some(Descent::new());
        Ok(Step::Skipped)
    }

    fn step_descent(&mut self, mut descent: Descent) -> Result<Step, SelectError> {
        self.index();
        let most = self.max_document_bytes.max(BLOCK_BYTES);
        if descent.is_at_row(&self.from) {
            match self.find(self.next, self.block.len()) {
                ObjectScan::Object(end) if end - self.next <= most && self.may_be_fields() => {
                    self.next = end;
                    self.place.end = self.offset();
                    descent.pass_row();
                    self.descent = Some(descent);
                    return Ok(Step::Fields);
                }
                // Parsing the part read so far would not show whether the row is an object.
                ObjectScan::Incomplete
                    if !self.complete && self.block.len() - self.next <= most =>
                {
                    self.descent = Some(descent);
                    return Ok(Step::NeedsBytes);
                }
                _ => {}
            }
        }
        let rest = &self.block[self.next..];
        let mut parser = Parser::new(rest, self.complete).with_room(self.room());
        match descent.step(&mut parser, &self.from, self.filter()) {
            Ok(Event::Row(_)) if parser.position() > self.max_document_bytes.max(BLOCK_BYTES) => {
                Err(self.too_long())
            }
            Ok(event) => {
                let taken = parser.taken();
                self.next += parser.position();
                self.place.end = self.offset();
                if !matches!(event, Event::End) {
                    self.descent = Some(descent);
                }
                Ok(match event {
                    Event::Row(row) => Step::Row(row, taken),
                    Event::Passed | Event::End => Step::Skipped,
                })
            }
            Err(ParseFailure::Incomplete) if !self.complete => {
                if rest.len() > self.max_document_bytes.max(BLOCK_BYTES) {
                    return Err(self.too_long());
                }
                self.descent = Some(descent);
                Ok(Step::NeedsBytes)
            }
            Err(problem) if self.may_have_room(&problem) => {
                self.descent = Some(descent);
                Ok(Step::NeedsRoom)
            }
            Err(problem) => Err(self.explain(problem)),
        }
    }
}
