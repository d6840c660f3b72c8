//! Follows the path of FROM through a value that is too long to be kept in memory as a whole.
//!
//! The path leads to rows, which are read one at a time. Everything else is skipped, but checked as strictly as if it
//! were parsed.

use super::parser::{MAX_DEPTH, ParseFailure, Parsed, Parser};
use super::path::Filter;
use sluicegate_s3select::dialect::ast::PathStep;
use sluicegate_s3select::value::Value;

/// The current position in the value.
#[derive(Debug)]
pub(super) struct Descent {
    /// The arrays and objects around the position, the outermost first.
    levels: Vec<Level>,
    next: Next,
}

#[derive(Debug)]
struct Level {
    is_object: bool,
    /// The number of steps of FROM that lead here; `None` if it is skipped.
    steps: Option<usize>,
    /// The number of members so far, including the current one.
    members: usize,
    /// The name of the member that a step by name matched.
    found: Option<String>,
    /// True if the path continued in some member.
    leads_on: bool,
}

/// The item to read next.
#[derive(Debug, Clone, Copy)]
enum Next {
    /// A value, with the number of steps of FROM that lead to it; `None` if it is skipped.
    Value(Option<usize>),
    /// A member or the end, after an opening bracket.
    First,
    /// A member, with its name if it is in an object.
    Member,
    /// A comma or the end, after a member.
    Separator,
}

/// The result of one step through the value.
#[derive(Debug)]
pub(super) enum Event {
    Row(Value),
    /// Something that is not a row was read.
    Passed,
    /// The value ended.
    End,
}

impl Descent {
    pub(super) fn new() -> Self {
        Self { levels: Vec::new(), next: Next::Value(Some(0)) }
    }

    /// Returns whether a row is read next.
    pub(super) fn is_at_row(&self, from: &[PathStep]) -> bool {
        matches!(self.next, Next::Value(Some(steps)) if steps == from.len())
    }

    /// Moves past a row that the caller has read.
    pub(super) fn pass_row(&mut self) {
        self.next = Next::Separator;
    }

    /// Takes one step. If the bytes do not suffice, nothing has changed, and the step can be repeated with more
    /// bytes.
    pub(super) fn step(
        &mut self,
        parser: &mut Parser<'_>,
        from: &[PathStep],
        filter: Filter<'_>,
    ) -> Parsed<Event> {
        parser.skip_space();
        match self.next {
            Next::Value(steps) => self.value(steps, parser, from, filter),
            Next::First => {
                if is_closing(parser.peek()?) {
                    return self.close(parser);
                }
                self.next = Next::Member;
                Ok(Event::Passed)
            }
            Next::Member => self.member(parser, from),
            Next::Separator if self.levels.is_empty() => Ok(Event::End),
            Next::Separator => match parser.peek()? {
                b',' => {
                    parser.bump();
                    self.next = Next::Member;
                    Ok(Event::Passed)
                }
                byte if is_closing(byte) => self.close(parser),
                _ => Err(parser.invalid("a comma or a closing bracket was expected")),
            },
        }
    }

    fn value(
        &mut self,
        steps: Option<usize>,
        parser: &mut Parser<'_>,
        from: &[PathStep],
        filter: Filter<'_>,
    ) -> Parsed<Event> {
        let depth = MAX_DEPTH - self.levels.len();
        let first = parser.peek()?;
        let is_container = matches!(first, b'{' | b'[');
        match steps.map(|steps| from.get(steps)) {
            Some(None) => {
                let row = parser.nested(filter.row(), depth)?;
                self.next = Next::Separator;
                Ok(Event::Row(row))
            }
            Some(Some(step)) if first == opening(step) => self.open(steps, first, parser),
            // The path does not continue here.
            Some(Some(_)) => {
                self.next = Next::Value(None);
                Ok(Event::Row(Value::Missing))
            }
            None => {
                let start = parser.position();
                match parser.skip(depth) {
                    Err(ParseFailure::Incomplete) if is_container => {
                        parser.rewind(start);
                        self.open(None, first, parser)
                    }
                    skipped => {
                        skipped?;
                        self.next = Next::Separator;
                        Ok(Event::Passed)
                    }
                }
            }
        }
    }

    fn open(&mut self, steps: Option<usize>, first: u8, parser: &mut Parser<'_>) -> Parsed<Event> {
        parser.deeper(MAX_DEPTH - self.levels.len())?;
        parser.bump();
        let is_object = first == b'{';
        let level = Level { is_object, steps, members: 0, found: None, leads_on: false };
        self.levels.push(level);
        self.next = Next::First;
        Ok(Event::Passed)
    }

    fn member(&mut self, parser: &mut Parser<'_>, from: &[PathStep]) -> Parsed<Event> {
        let Some(level) = self.levels.last_mut() else { return Ok(Event::End) };
        let key = if level.is_object { Some(parser.key()?) } else { None };
        let step = level.steps.and_then(|steps| from.get(steps));
        let leads_on = match (step, key) {
            (Some(PathStep::Field(wanted)), Some(key)) => match parser.unescape(key) {
                Err(ParseFailure::Surrogate(_)) => false,
                name => {
                    let name = name?;
                    let leads_on = wanted.matches(&name);
                    if leads_on && level.found.replace(name.clone()).is_some_and(|n| n != name) {
                        return Err(ParseFailure::Ambiguous(parser.position()));
                    }
                    if leads_on && level.leads_on {
                        return Err(parser.invalid("a name that FROM goes through is repeated"));
                    }
                    leads_on
                }
            },
            (Some(PathStep::Index(index)), None) => *index == level.members as u64,
            (Some(PathStep::AnyField), Some(_)) | (Some(PathStep::AnyIndex), None) => true,
            _ => false,
        };
        level.members += 1;
        level.leads_on |= leads_on;
        self.next = Next::Value(level.steps.filter(|_| leads_on).map(|steps| steps + 1));
        Ok(Event::Passed)
    }

    fn close(&mut self, parser: &mut Parser<'_>) -> Parsed<Event> {
        let Some(level) = self.levels.last() else { return Ok(Event::End) };
        if (parser.peek()? == b'}') != level.is_object {
            return Err(parser.invalid("a comma or a closing bracket was expected"));
        }
        parser.bump();
        let missing = level.steps.is_some() && !level.leads_on;
        self.levels.pop();
        self.next = Next::Separator;
        Ok(if missing { Event::Row(Value::Missing) } else { Event::Passed })
    }
}

fn is_closing(byte: u8) -> bool {
    matches!(byte, b'}' | b']')
}

/// Returns the first byte of the kind of value that a step can enter.
fn opening(step: &PathStep) -> u8 {
    match step {
        PathStep::Field(_) | PathStep::AnyField => b'{',
        PathStep::Index(_) | PathStep::AnyIndex => b'[',
    }
}
