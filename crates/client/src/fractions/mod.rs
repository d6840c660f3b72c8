//! Fractions in JSON where whole numbers are declared. Arrow reads 2.5 as 2 there, without a word; here it is an
//! error.

use std::fmt;

use arrow::datatypes::{DataType, Fields, SchemaRef};
use memchr::{memchr, memchr_iter, memrchr};
use serde_json::Value;

/// A value with a fraction in a column of whole numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fraction {
    /// The value.
    pub value: String,
    /// The column, and the fields in it.
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

/// The longest line that is kept until its end arrives.
const LONGEST: usize = 16 << 20;

/// Looks for fractions in a JSON text that is handed over piece by piece, one value in each line.
///
/// A line is parsed only if a number with a point stands behind the name of a column of whole numbers, so that it
/// costs little where there are none. A value that spans several lines is not looked at.
#[derive(Debug)]
pub struct Fractions {
    schema: SchemaRef,
    /// The names of columns and fields of whole numbers.
    names: Vec<Vec<u8>>,
    /// Whether whole numbers may be items of lists.
    in_lists: bool,
    /// The beginning of a line that goes on.
    begun: Vec<u8>,
    /// The line ends before that.
    lines: u64,
}

impl Fractions {
    /// Nothing if a schema has no whole numbers.
    #[must_use]
    pub fn of(schema: &SchemaRef) -> Option<Self> {
        let (mut names, mut in_lists) = (Vec::new(), false);
        schema.fields().iter().for_each(|field| {
            collect(field.name(), field.data_type(), &mut names, &mut in_lists);
        });
        let has_any = in_lists || !names.is_empty();
        let schema = schema.clone();
        has_any.then_some(Self { schema, names, in_lists, begun: Vec::new(), lines: 0 })
    }

    /// Goes on with the next bytes of the text.
    ///
    /// # Errors
    ///
    /// If there is a fraction in a line that ends there.
    pub fn pass(&mut self, bytes: &[u8]) -> Result<(), Fraction> {
        let Some(first) = memchr(b'\n', bytes) else {
            self.keep(bytes);
            return Ok(());
        };
        let (end, rest) = bytes.split_at(first + 1);
        if self.begun.is_empty() {
            self.lines(end)?;
        } else {
            self.keep(end);
            let line = std::mem::take(&mut self.begun);
            self.lines(&line)?;
            self.begun = line;
            self.begun.clear();
        }
        let (whole, begun) = rest.split_at(memrchr(b'\n', rest).map_or(0, |last| last + 1));
        self.lines(whole)?;
        self.keep(begun);
        Ok(())
    }

    /// Looks at the last line, which nothing ends.
    ///
    /// # Errors
    ///
    /// If there is a fraction in it.
    pub fn finish(&mut self) -> Result<(), Fraction> {
        let line = std::mem::take(&mut self.begun);
        self.lines(&line)
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LONGEST.saturating_sub(self.begun.len());
        self.begun.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Looks at whole lines.
    fn lines(&mut self, text: &[u8]) -> Result<(), Fraction> {
        let mut looked_to = 0;
        let has_escapes = memchr(b'\\', text).is_some();
        for point in memchr_iter(b'.', text) {
            if point < looked_to || !self.may_be_whole(text, point, has_escapes) {
                continue;
            }
            let start = memrchr(b'\n', &text[..point]).map_or(0, |end| end + 1);
            looked_to = memchr(b'\n', &text[point..]).map_or(text.len(), |end| point + end);
            if let Some((column, value)) = self.fraction_in(&text[start..looked_to]) {
                let line = self.lines + memchr_iter(b'\n', &text[..start]).count() as u64 + 1;
                return Err(Fraction { value, column, line });
            }
        }
        self.lines += memchr_iter(b'\n', text).count() as u64;
        Ok(())
    }

    /// Whether a point may be one of a value of a column of whole numbers. Of most points the two bytes beside
    /// them say that they are not.
    #[inline]
    fn may_be_whole(&self, text: &[u8], point: usize, has_escapes: bool) -> bool {
        let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
        if point == 0 || !is_digit(point - 1) || !is_digit(point + 1) {
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
        let ends_with = |name: &Vec<u8>| {
            key.strip_suffix(name.as_slice()).is_some_and(|before| before.ends_with(b"\""))
        };
        // What is escaped is not compared as it stands.
        let is_escaped = || key[memrchr(b'"', key).map_or(0, |quote| quote + 1)..].contains(&b'\\');
        self.names.iter().any(ends_with) || (has_escapes && is_escaped())
    }

    /// The first fraction in a line: its column, and the value.
    fn fraction_in(&self, line: &[u8]) -> Option<(String, String)> {
        // Items of an array may have lines of their own.
        let line = line.trim_ascii();
        let line = line.strip_suffix(b",").unwrap_or(line);
        let value: Value = serde_json::from_slice(line).ok()?;
        match &value {
            Value::Array(items) => {
                items.iter().find_map(|item| of_fields(self.schema.fields(), item))
            }
            value => of_fields(self.schema.fields(), value),
        }
    }
}

fn collect(name: &str, data_type: &DataType, names: &mut Vec<Vec<u8>>, in_lists: &mut bool) {
    match data_type {
        whole if whole.is_integer() => names.push(name.as_bytes().to_vec()),
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

fn of_fields(fields: &Fields, value: &Value) -> Option<(String, String)> {
    fields.iter().find_map(|field| {
        let (within, found) = of_type(field.data_type(), value.get(field.name())?)?;
        Some((format!("{}{within}", field.name()), found))
    })
}

/// The field within a value of a type that has a fraction, with a point before it, and the fraction.
fn of_type(data_type: &DataType, value: &Value) -> Option<(String, String)> {
    match (data_type, value) {
        (whole, Value::Number(number)) if whole.is_integer() => {
            let has_fraction = number.is_f64() && number.as_f64()?.fract() != 0.0;
            has_fraction.then(|| (String::new(), number.to_string()))
        }
        (DataType::Struct(fields), value) => {
            of_fields(fields, value).map(|(within, found)| (format!(".{within}"), found))
        }
        (
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _),
            Value::Array(items),
        ) => items.iter().find_map(|value| of_type(item.data_type(), value)),
        _ => None,
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

    /// What is found in a text, however it is cut.
    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &str, u64)>) {
        for cut in 0..=text.len() {
            let mut fractions = Fractions::of(&schema()).unwrap();
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
        check("{\"\\u0061\":2.5}\n", Some(("a", "2.5", 1)));
        check("{\"x\":2.5,\"a\":1}\n{\"f\":2.5,\"a\":2.0}\n", None);
        check("{\"a\":1,\"x\":{\"a\":2.5}}\n", None);
        check("{\"x\":\"\\\"a\\\":2.5\",\"a\":3}\n", None);
        check("{\"a\":\"2.5\"}\n", None);
        check("[{\"a\":1},{\"a\":2.5}]", Some(("a", "2.5", 1)));
    }

    #[test]
    fn without_whole_numbers_nothing_is_looked_at() {
        let schema = Arc::new(Schema::new(vec![Field::new("f", DataType::Float64, true)]));
        assert!(Fractions::of(&schema).is_none());
    }
}
