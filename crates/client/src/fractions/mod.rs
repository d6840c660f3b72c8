//! Detection of fractions in JSON columns of whole numbers. Arrow silently reads 2.5 as 2 there; this module reports
//! an error.

mod walk;

use std::fmt;

use arrow::datatypes::{DataType, SchemaRef};
use memchr::{memchr, memchr_iter, memmem, memrchr};

use self::walk::{FractionMatch, Tree, Walk, has_fraction, is_of_number};

/// A value with a fraction in a column of whole numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fraction {
    /// The value, as written.
    pub value: String,
    /// The path of the column, with the names of nested fields.
    pub column: String,
    /// The line of the text, counted from 1.
    pub line: u64,
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, column, line } = self;
        write!(f, "column `{column}` has whole numbers, and {value} in line {line}")
    }
}

impl std::error::Error for Fraction {}

/// The longest line that is kept until its end arrives, in bytes. A longer one is followed as it comes.
const LONGEST: usize = 1 << 20;

/// Looks for fractions in a JSON text that is passed in pieces.
///
/// If a line holds one whole value, it is parsed only if a number with a point or a negative exponent follows the
/// name of a column of whole numbers. Most texts therefore cost little. Values of several lines, and long ones, are
/// followed byte by byte.
#[derive(Debug)]
pub struct Fractions {
    tree: Tree,
    /// The names of columns and fields of whole numbers, with their opening quotes.
    names: Vec<Vec<u8>>,
    /// The last bytes of those names, a quick check that excludes most other names.
    ends: Box<[bool; 256]>,
    /// True if whole numbers may be items of lists.
    in_lists: bool,
    /// The beginning of a line whose end has not been received.
    begun: Vec<u8>,
    /// The walk through a value that did not end with its line, or is long.
    walk: Option<Walk>,
    /// The number of line ends before that.
    lines: u64,
}

impl Fractions {
    /// Creates a detector; `None` if the schema has no whole numbers.
    #[must_use]
    pub fn for_schema(schema: &SchemaRef) -> Option<Self> {
        let (mut names, mut in_lists) = (Vec::new(), false);
        schema.fields().iter().for_each(|field| {
            collect(field.name(), field.data_type(), &mut names, &mut in_lists);
        });
        let has_any = in_lists || !names.is_empty();
        let mut ends = Box::new([false; 256]);
        names.iter().filter_map(|name| name.last()).for_each(|end| ends[usize::from(*end)] = true);
        has_any.then(|| Self {
            tree: Tree::from_fields(schema.fields()),
            names,
            ends,
            in_lists,
            begun: Vec::new(),
            walk: None,
            lines: 0,
        })
    }

    /// Checks the next bytes of the text.
    ///
    /// # Errors
    ///
    /// If there is a fraction in a line that ends there, or in a value that goes on.
    pub fn pass(&mut self, bytes: &[u8]) -> Result<(), Fraction> {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = if self.walk.is_some() { self.go_on(rest)? } else { self.line_by_line(rest)? };
        }
        Ok(())
    }

    /// Checks the last line, which has no line end.
    ///
    /// # Errors
    ///
    /// If there is a fraction in it.
    pub fn finish(&mut self) -> Result<(), Fraction> {
        let line = std::mem::take(&mut self.begun);
        let looked_to = self.lines(&line)?;
        self.walk(&line[looked_to..])
    }

    /// Continues the walk through the open value, and returns the bytes after it.
    fn go_on<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Fraction> {
        let Some(mut walk) = self.walk.take() else { return Ok(bytes) };
        let passed =
            walk.pass(&self.tree, bytes).map_err(|FractionMatch { at, column, value }| {
                let line = self.lines + line_ends(&bytes[..at]) + 1;
                Fraction { value, column, line }
            })?;
        self.lines += line_ends(&bytes[..passed]);
        self.walk = (!walk.is_between_values()).then_some(walk);
        Ok(&bytes[passed..])
    }

    /// Walks through values to the end of a text.
    fn walk(&mut self, text: &[u8]) -> Result<(), Fraction> {
        let mut rest = text;
        while !rest.is_empty() {
            self.walk.get_or_insert_default();
            rest = self.go_on(rest)?;
        }
        Ok(())
    }

    /// Checks the complete lines of a text and keeps the incomplete rest. If a line does not end its value, returns
    /// the text from there on.
    fn line_by_line<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Fraction> {
        if !self.begun.is_empty() {
            let end = memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1);
            let (end, rest) = bytes.split_at(end);
            self.begun.extend_from_slice(end);
            if end.ends_with(b"\n") {
                let line = std::mem::take(&mut self.begun);
                let looked_to = self.lines(&line)?;
                self.walk(&line[looked_to..])?;
                self.begun = line;
                self.begun.clear();
            } else if self.begun.len() > LONGEST {
                let line = std::mem::take(&mut self.begun);
                self.walk(&line)?;
            }
            return Ok(rest);
        }
        let whole = memrchr(b'\n', bytes).map_or(0, |last| last + 1);
        let looked_to = self.lines(&bytes[..whole])?;
        if looked_to < whole {
            self.walk = Some(Walk::default());
            return Ok(&bytes[looked_to..]);
        }
        self.begun.extend_from_slice(&bytes[whole..]);
        Ok(&[])
    }

    /// Checks lines, up to the first one in which a value begins and does not end. Returns its offset.
    fn lines(&mut self, text: &[u8]) -> Result<usize, Fraction> {
        let mut start = 0;
        let mut lines = 0;
        let ends = memchr_iter(b'\n', text).map(|end| end + 1);
        let last = (!text.ends_with(b"\n") && !text.is_empty()).then_some(text.len());
        for end in ends.chain(last) {
            if goes_on(&text[start..end]) {
                break;
            }
            start = end;
            lines += 1;
        }
        self.fractions(&text[..start])?;
        self.lines += lines;
        Ok(start)
    }

    /// Checks the points, as in 2.5, and negative exponents, as in 25e-1, in lines that end the values in them.
    fn fractions(&self, text: &[u8]) -> Result<(), Fraction> {
        self.points(text, memchr_iter(b'.', text))?;
        self.points(text, memmem::find_iter(text, b"e-"))?;
        self.points(text, memmem::find_iter(text, b"E-"))
    }

    fn points(&self, text: &[u8], points: impl Iterator<Item = usize>) -> Result<(), Fraction> {
        let mut looked_to = 0;
        let has_escapes = memchr(b'\\', text).is_some();
        for point in points {
            if point < looked_to || !self.may_be_whole(text, point, has_escapes) {
                continue;
            }
            let start = memrchr(b'\n', &text[..point]).map_or(0, |end| end + 1);
            let end = memchr(b'\n', &text[point..]).map_or(text.len(), |end| point + end);
            let line = &text[start..end];
            let found = match self.fraction_in(line) {
                Some(found) => {
                    looked_to = end;
                    found
                }
                // The line holds parts of values, so the number itself decides.
                None => guess_fraction(line, point - start),
            };
            if let Some((column, value)) = found {
                let line = self.lines + line_ends(&text[..start]) + 1;
                return Err(Fraction { value, column, line });
            }
        }
        Ok(())
    }

    /// Returns true if a point or an exponent may be in a value of a column of whole numbers. For most points, the
    /// two bytes beside them exclude it.
    #[inline]
    fn may_be_whole(&self, text: &[u8], point: usize, has_escapes: bool) -> bool {
        let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
        let is_within = is_digit(point + 1) || text.get(point + 1) == Some(&b'-');
        if point == 0 || !is_digit(point - 1) || !is_within {
            return false;
        }
        let mut at = point - 1;
        while at > 0 && (text[at - 1].is_ascii_digit() || text[at - 1] == b'-') {
            at -= 1;
        }
        let blanks_before = |mut at: usize| {
            while at > 0 && text[at - 1].is_ascii_whitespace() {
                at -= 1;
            }
            at
        };
        at = blanks_before(at);
        match at.checked_sub(1).map(|before| text[before]) {
            Some(b':') => {}
            Some(b',' | b'[') => return self.in_lists,
            _ => return false,
        }
        let Some(key) = text[..blanks_before(at - 1)].strip_suffix(b"\"") else { return false };
        let may_be_one = key.last().is_some_and(|end| self.ends[usize::from(*end)]);
        // An escaped name cannot be compared as it is written.
        let is_escaped = || key[memrchr(b'"', key).map_or(0, |quote| quote + 1)..].contains(&b'\\');
        (may_be_one && self.names.iter().any(|name| key.ends_with(name)))
            || (has_escapes && is_escaped())
    }

    /// Returns the column and the value of the first fraction in a line, or `Some(None)` if there is none. `None` if
    /// the line holds parts of values.
    fn fraction_in(&self, line: &[u8]) -> Option<Option<(String, String)>> {
        let (mut walk, mut rest) = (Walk::default(), line);
        while !rest.is_empty() {
            match walk.pass(&self.tree, rest) {
                Ok(passed) => rest = &rest[passed..],
                Err(FractionMatch { column, value, .. }) => return Some(Some((column, value))),
            }
        }
        walk.is_between_values().then_some(None)
    }
}

/// Returns the key before a point and the number around it, if that has a fraction.
fn guess_fraction(line: &[u8], point: usize) -> Option<(String, String)> {
    let start = line[..point].iter().rposition(|byte| !is_of_number(*byte)).map_or(0, |at| at + 1);
    let behind = line[point..].iter().position(|byte| !is_of_number(*byte));
    let number = &line[start..behind.map_or(line.len(), |at| point + at)];
    let before = line[..start].trim_ascii_end();
    let key = before.strip_suffix(b":").unwrap_or(before).trim_ascii_end();
    let key = key.strip_suffix(b"\"").unwrap_or(key);
    let key = &key[memrchr(b'"', key).map_or(0, |quote| quote + 1)..];
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    has_fraction(number).then(|| (text(key), text(number)))
}

fn line_ends(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

/// Returns true if an object or an array begins in a line and does not end with it, judging by its first and last
/// bytes.
fn goes_on(line: &[u8]) -> bool {
    let closes = |open: u8| if open == b'{' { b'}' } else { b']' };
    if let [b'{', .., b'}', b'\n'] = line {
        return false;
    }
    let line = line.trim_ascii();
    let line = line.strip_suffix(b",").unwrap_or(line);
    match (line.first(), line.last()) {
        (Some(open @ (b'{' | b'[')), Some(last)) => *last != closes(*open),
        _ => false,
    }
}

fn collect(name: &str, data_type: &DataType, names: &mut Vec<Vec<u8>>, in_lists: &mut bool) {
    match data_type {
        whole if whole.is_integer() => names.push(format!("\"{name}").into_bytes()),
        DataType::Struct(fields) => {
            for field in fields {
                collect(field.name(), field.data_type(), names, in_lists);
            }
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            *in_lists |= item.data_type().is_integer();
            match item.data_type() {
                whole if whole.is_integer() => {}
                other => collect(name, other, names, in_lists),
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{Field, Schema};

    use super::*;

    fn schema() -> SchemaRef {
        let inner = vec![Field::new("n", DataType::Int32, true)];
        Arc::new(Schema::new(vec![
            Field::new("a", DataType::Int64, true),
            Field::new("f", DataType::Float64, true),
            Field::new("s", DataType::Struct(inner.into()), true),
            Field::new("l", DataType::new_list(DataType::Int64, true), true),
        ]))
    }

    /// Checks what is found in a text, for every place to cut it.
    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &str, u64)>) {
        for cut in 0..=text.len() {
            let mut fractions = Fractions::for_schema(&schema()).unwrap();
            let (first, rest) = text.as_bytes().split_at(cut);
            let found = fractions
                .pass(first)
                .and_then(|()| fractions.pass(rest))
                .and_then(|()| fractions.finish());
            let found = found.err().map(|it| (it.column, it.value, it.line));
            let expected =
                expected.map(|(column, value, line)| (column.into(), value.into(), line));
            assert_eq!(found, expected, "{text}, cut at {cut}");
        }
    }

    #[test]
    fn fractions_are_found_in_columns_of_whole_numbers_only() {
        check("{\"a\":1}\n{\"a\":2.5}\n", Some(("a", "2.5", 2)));
        check("{\"a\":1}\n\n{ \"a\" : -0.25 }", Some(("a", "-0.25", 3)));
        check("{\"s\":{\"n\":1.5},\"a\":1}", Some(("s.n", "1.5", 1)));
        check("{\"l\":[1, 2.5]}\n", Some(("l", "2.5", 1)));
        check("{\"a\":10}\n{\"a\":25e-1}\n", Some(("a", "25e-1", 2)));
        check("{\"l\":[1,-5E-01]}\n", Some(("l", "-5E-01", 1)));
        check("{\"a\":250e-1,\"f\":25e-1,\"x\":\"1e-1\"}\n", None);
        check("{\"\\u0061\":2.5}\n", Some(("a", "2.5", 1)));
        check("{\"x\":2.5,\"a\":1}\n{\"f\":2.5,\"a\":2.0}\n", None);
        check("{\"a\":1,\"x\":{\"a\":2.5}}\n", None);
        check("{\"x\":\"\\\"a\\\":2.5\",\"a\":3}\n", None);
        check("{\"a\":\"2.5\"}\n", None);
        check("[{\"a\":1},{\"a\":2.5}]", Some(("a", "2.5", 1)));
    }

    #[test]
    fn fractions_are_found_however_values_are_laid_out() {
        check("{\n  \"a\": 1\n}\n{\n  \"f\": 2.5,\n  \"a\": 2.5\n}\n", Some(("a", "2.5", 6)));
        check("{\"a\":1}\n{\n\"s\": {\n\"n\": -0.5\n}\n}", Some(("s.n", "-0.5", 4)));
        check("[\n {\"a\": 1},\n {\"a\": 1, \"l\": [\n1,\n2.5]}\n]\n", Some(("l", "2.5", 5)));
        check("[{\"a\":1},\n{\"a\":2.5}]", Some(("a", "2.5", 2)));
        check("{\n\"\\u0061\": 25e-1\n}", Some(("a", "25e-1", 2)));
        check("{\"a\":1} {\"a\":2.5}\n", Some(("a", "2.5", 1)));
        check("{\n\"a\":1}\n{\"a\":1}\n{\"a\":3.5}\n", Some(("a", "3.5", 4)));
        // Fields of other objects, and texts that only look like fractions.
        check("{\n\"x\": {\n\"a\": 2.5\n},\n\"f\": 2.5,\n\"a\": 2.0\n}\n", None);
        check("{\n\"t\": \"\\\"a\\\": 2.5, \\\\\",\n\"a\": 3\n}\n", None);
        check("{\n\"s\": {\"a\": 1.5},\n\"l\": [[1.5]],\n\"a\": [1.5]\n}\n", None);
        // The closing brace hides that the value goes on.
        check("{\"x\": {\"a\": 1}\n, \"a\": 2.5}\n", Some(("a", "2.5", 2)));
        check("5\n\"a\"\nnull\n{\"a\":1}\n", None);
    }

    #[test]
    fn long_lines_are_looked_at_to_their_end() {
        let text = "x".repeat(3 * LONGEST);
        for (value, expected) in [("2.5", Some(("a", "2.5", 2))), ("2.0", None)] {
            let line = format!("{{\"a\":1}}\n{{\"t\":\"{text}\",\"a\":{value}}}\n{{\"a\":1}}\n");
            let mut fractions = Fractions::for_schema(&schema()).unwrap();
            let mut pieces = line.as_bytes().chunks(100_000);
            let found = pieces.try_for_each(|piece| fractions.pass(piece));
            let found = found.and_then(|()| fractions.finish()).err();
            let found = found.map(|it| (it.column, it.value, it.line));
            let expected =
                expected.map(|(column, value, line)| (column.into(), value.into(), line));
            assert_eq!(found, expected);
            assert!(fractions.begun.capacity() < 2 * LONGEST + 200_000);
        }
    }

    #[test]
    fn any_depth_is_followed_in_bounded_memory() {
        let deep = format!("{{\"x\":\n{}0{}", "[".repeat(100_000), "]".repeat(100_000));
        let mut fractions = Fractions::for_schema(&schema()).unwrap();
        assert_eq!(fractions.pass(deep.as_bytes()), Ok(()));
        let found = fractions.pass(b",\"a\":2.5}\n").unwrap_err();
        assert_eq!((found.column.as_str(), found.line), ("a", 2));
    }

    #[test]
    fn without_whole_numbers_nothing_is_looked_at() {
        let schema = Arc::new(Schema::new(vec![Field::new("f", DataType::Float64, true)]));
        assert!(Fractions::for_schema(&schema).is_none());
    }
}
