//! Detects the dialect of a CSV file from its first records: the delimiter, the quote, and whether there is a header.

use std::collections::BTreeMap;
use std::fmt;

use csv_core::{ReadRecordResult, ReaderBuilder};

use crate::text::json::bom::MARK;

/// The maximum number of bytes of the sample.
pub(crate) const SAMPLE: usize = 64 << 10;
/// The maximum number of records of the sample.
const RECORDS: usize = 200;
/// The possible delimiters, the most usual first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

pub(super) const DELIMITER: &str = "format.delimiter";
const QUOTE: &str = "format.quote";
const ESCAPE: &str = "format.escape";
const HEADER: &str = "format.has_header";
const LINE_ENDS: &str = "format.newlines_in_values";
const DECIMALS: &str = "format.decimal_separator";

/// The dialect of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    pub(crate) quote: u8,
    /// The byte that escapes a quote within quotes, besides another quote.
    pub(crate) escape: Option<u8>,
    pub(crate) has_header: bool,
    /// True if values contain line ends, so that the file cannot be split at any line end.
    pub(crate) has_line_ends: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { delimiter: b',', quote: b'"', escape: None, has_header: true, has_line_ends: false }
    }
}

impl Dialect {
    /// Detects the dialect from the beginning of a file, or all of it, except properties that the options `given`
    /// set. The result differs from the usual dialect only if the file requires it. In particular, commas that split
    /// all records into the same number of fields are always accepted.
    pub(crate) fn detect(sample: &[u8], is_whole: bool, given: &BTreeMap<String, String>) -> Self {
        let usual = Self::default();
        let byte = |name: &str| given.get(name).and_then(|text| text.bytes().next());
        let (delimiter, quote) = (byte(DELIMITER), byte(QUOTE));
        let split = |delimiter, quote| {
            let escape = byte(ESCAPE).or_else(|| backslash(sample, delimiter, quote));
            Records::read(sample, is_whole, (delimiter, quote, escape))
        };
        // The decimal separator is not a delimiter.
        let commas = given.get(DECIMALS).is_some_and(|separator| separator == ",");
        let first = delimiter.unwrap_or(if commas { b';' } else { usual.delimiter });
        let mut best = (first, split(first, quote.unwrap_or(usual.quote)));
        if delimiter.is_none() && !best.1.is_table() {
            let others = DELIMITERS[1..].iter().chain(&DELIMITERS[..1]);
            for other in others.filter(|other| **other != first) {
                let records = split(*other, quote.unwrap_or(usual.quote));
                let is_table = records.is_table() && records.rows.len() > 1;
                // Otherwise each record could be a number with a decimal comma.
                let is_table = is_table && (*other != b',' || records.have_header());
                if is_table && records.width() > best.1.width_of_table() {
                    best = (*other, records);
                }
            }
        }
        let may_be_apostrophes =
            quote.is_none() && !sample.contains(&usual.quote) && sample.contains(&b'\'');
        let mut quoted_by = quote.unwrap_or(usual.quote);
        if delimiter.is_none() && may_be_apostrophes && !best.1.is_table() {
            // Delimiters within apostrophes otherwise give the records different lengths.
            for other in &DELIMITERS[1..] {
                let records = split(*other, b'\'');
                if records.is_table()
                    && records.rows.len() > 1
                    && records.width() > best.1.width_of_table()
                {
                    (quoted_by, best) = (b'\'', (*other, records));
                }
            }
        }
        let (delimiter, mut records) = best;
        if may_be_apostrophes {
            let apostrophes = split(delimiter, b'\'');
            // If apostrophes quote delimiters, records split without them have different lengths. If they do not,
            // they may be a part of the values: COPY writes such values.
            if apostrophes.is_table() && apostrophes.rows.len() > 1 && !records.is_table() {
                (quoted_by, records) = (b'\'', apostrophes);
            }
        }
        let has_header = given.contains_key(HEADER) || records.have_header();
        let has_line_ends = records.have_line_ends();
        Self { delimiter, quote: quoted_by, escape: records.escape, has_header, has_line_ends }
    }

    /// Drops the detection of headers, so that the session's default, no header, applies.
    pub(crate) fn without_header(self) -> Self {
        Self { has_header: true, ..self }
    }

    /// Options of the format with the delimiter and the quote.
    pub(super) fn detected_options(self) -> BTreeMap<String, String> {
        let text = |byte| char::from(byte).to_string();
        [(DELIMITER, self.delimiter), (QUOTE, self.quote)]
            .map(|(name, byte)| (name.to_owned(), text(byte)))
            .into()
    }

    /// Adds the properties that differ from the usual dialect to options of the format.
    pub(crate) fn options(self, given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let usual = Self::default();
        let mut options = given.clone();
        let mut add = |name: &str, value: String| {
            options.entry(name.to_owned()).or_insert(value);
        };
        if self.delimiter != usual.delimiter {
            add(DELIMITER, char::from(self.delimiter).to_string());
        }
        if self.quote != usual.quote {
            add(QUOTE, char::from(self.quote).to_string());
        }
        if let Some(escape) = self.escape {
            add(ESCAPE, char::from(escape).to_string());
        }
        if !self.has_header {
            add(HEADER, "false".to_owned());
        }
        if self.has_line_ends {
            add(LINE_ENDS, "true".to_owned());
        }
        options
    }

    /// Describes the properties that differ from the usual dialect and are not in the options. Returns `None` if
    /// there are none.
    pub(crate) fn unusual(self, given: &BTreeMap<String, String>) -> Option<String> {
        let usual = Self::default();
        let mut said = Vec::new();
        if self.delimiter != usual.delimiter && !given.contains_key(DELIMITER) {
            said.push(format!("its fields are separated by {}", DelimiterName(self.delimiter)));
        }
        if self.quote != usual.quote && !given.contains_key(QUOTE) {
            said.push(format!("quoted by {}", DelimiterName(self.quote)));
        }
        if let Some(escape) = self.escape.filter(|_| !given.contains_key(ESCAPE)) {
            said.push(format!("quotes within quotes are written behind {}", DelimiterName(escape)));
        }
        if !self.has_header {
            said.push("it has no header".to_owned());
        }
        if self.has_line_ends && !given.contains_key(LINE_ENDS) {
            said.push("its values have line ends".to_owned());
        }
        (!said.is_empty()).then(|| said.join(", "))
    }
}

/// Returns the delimiter in a first line such as `sep=;`, which Excel writes and reads, or `None` if the first line
/// is a record.
pub(super) fn separator_line(sample: &[u8]) -> Option<u8> {
    let line = sample.strip_prefix(&MARK).unwrap_or(sample);
    match line {
        [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', delimiter, b'\r' | b'\n', ..] => {
            Some(*delimiter).filter(u8::is_ascii)
        }
        _ => None,
    }
}

/// Shows a character in a readable form.
pub(super) struct DelimiterName(pub(super) u8);

impl fmt::Display for DelimiterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b'\t' => f.write_str("tabs"),
            other => write!(f, "`{}`", char::from(other)),
        }
    }
}

/// The first records of a file.
struct Records {
    rows: Vec<Vec<String>>,
    /// The escape character that they were read with.
    escape: Option<u8>,
}

impl Records {
    fn read(
        mut sample: &[u8],
        is_whole: bool,
        (delimiter, quote, escape): (u8, u8, Option<u8>),
    ) -> Self {
        let mut reader =
            ReaderBuilder::new().delimiter(delimiter).quote(quote).escape(escape).build();
        let mut rows = Vec::new();
        // A record is at most as long as the text that it is read from.
        let mut text = vec![0; sample.len() + 1];
        let mut ends = vec![0; sample.len() + 2];
        while rows.len() < RECORDS {
            let (result, read, written, fields) = reader.read_record(sample, &mut text, &mut ends);
            sample = &sample[read..];
            let is_record = match result {
                ReadRecordResult::Record => true,
                // The last record of a file may have no line end; the last one of a sample may be incomplete.
                ReadRecordResult::InputEmpty if is_whole => {
                    let (end, _, rest, more) =
                        reader.read_record(&[], &mut text[written..], &mut ends[fields..]);
                    if end == ReadRecordResult::Record {
                        rows.push(row(&text[..written + rest], &ends[..fields + more]));
                    }
                    false
                }
                _ => false,
            };
            if !is_record {
                break;
            }
            rows.push(row(&text[..written], &ends[..fields]));
        }
        Self { rows, escape }
    }

    fn width(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// Returns true if all records have the same number of fields, and more than one.
    fn is_table(&self) -> bool {
        self.width() > 1 && self.rows.iter().all(|row| row.len() == self.width())
    }

    /// Returns the number of fields if the records form a table, else 1.
    fn width_of_table(&self) -> usize {
        if self.is_table() { self.width() } else { 1 }
    }

    fn column(&self, column: usize) -> impl Iterator<Item = &String> {
        self.rows.iter().filter_map(move |row| row.get(column))
    }

    /// Returns true if a value contains a line end.
    fn have_line_ends(&self) -> bool {
        self.rows.iter().flatten().any(|value| value.contains(['\n', '\r']))
    }

    /// Returns true if the first record is a header. It is one, unless it has typed values (numbers, dates, booleans)
    /// or empty fields in all columns in which all other records have typed values, and there are such columns. A
    /// file with a single record has no header if all its values are typed. Different years count as names, unless only
    /// years are below them.
    fn have_header(&self) -> bool {
        if let [only] = self.rows.as_slice() {
            let values: Vec<&String> = only.iter().filter(|value| !value.is_empty()).collect();
            let is_data = !values.is_empty() && values.iter().all(|value| is_typed(value));
            return !is_data || are_years(&values);
        }
        if self.rows.is_empty() {
            return true;
        }
        let mut firsts = Vec::new();
        let mut only_years = true;
        for column in 0..self.width() {
            let mut values = self.column(column);
            let Some(first) = values.next() else { return true };
            let mut others = values.filter(|value| !value.is_empty()).peekable();
            if others.peek().is_none() || !others.all(|value| is_typed(value)) {
                continue;
            }
            if first.is_empty() {
                continue;
            }
            if !is_typed(first) {
                return true;
            }
            firsts.push(first);
            let others = self.column(column).skip(1).filter(|value| !value.is_empty());
            only_years &= others.into_iter().all(|value| year(value).is_some());
        }
        firsts.is_empty() || are_years(&firsts) && !only_years
    }
}

/// Returns a backslash, if the text escapes quotes with it and would otherwise be split wrongly.
fn backslash(sample: &[u8], delimiter: u8, quote: u8) -> Option<u8> {
    const BACKSLASH: u8 = b'\\';
    let is_there = sample.windows(2).any(|pair| pair == [BACKSLASH, quote]);
    let escapes = is_there
        && !closes_at_ends(sample, delimiter, quote, None)
        && closes_at_ends(sample, delimiter, quote, Some(BACKSLASH));
    escapes.then_some(BACKSLASH)
}

/// Returns true if each quoted value ends where its quotes close, and no other value ends with a quote.
fn closes_at_ends(sample: &[u8], delimiter: u8, quote: u8, escape: Option<u8>) -> bool {
    let ends = |byte: u8| byte == delimiter || byte == b'\n' || byte == b'\r';
    let (mut begins, mut is_open) = (true, false);
    let mut bytes = sample.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if !is_open {
            // The quote before was wrongly taken for a closing one.
            if byte == quote && !begins && bytes.peek().is_none_or(|next| ends(*next)) {
                return false;
            }
            is_open = begins && byte == quote;
            begins = ends(byte);
        } else if Some(byte) == escape {
            bytes.next();
        } else if byte == quote {
            match bytes.peek() {
                Some(next) if *next == quote => drop(bytes.next()),
                Some(next) if !ends(*next) => return false,
                _ => is_open = false,
            }
        }
    }
    true
}

/// Returns true if a record has typed values, so that it is not a header: numbers, dates or booleans, but not only
/// years.
pub(super) fn has_values(record: &[String]) -> bool {
    let typed: Vec<&String> = record.iter().filter(|value| is_typed(value)).collect();
    !typed.is_empty() && !are_years(&typed)
}

/// Returns true if a text is a number, a date, a time or a boolean.
fn is_typed(text: &str) -> bool {
    let text = text.trim();
    let is_date = || {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let parts = text.bytes().all(|b| b.is_ascii_digit() || b"-/.: TZ+".contains(&b));
        digits >= 6 && parts && text.contains(['-', '/', ':', '.'])
    };
    let is_number = || {
        // Rust also parses `inf` and `nan`, which may be names.
        text.bytes().any(|b| b.is_ascii_digit()) && text.parse::<f64>().is_ok()
    };
    is_number() || matches!(text, "true" | "false") || is_date()
}

/// Returns true if the texts are different years, which are column names in many tables.
fn are_years(texts: &[&String]) -> bool {
    let mut distinct: Vec<u32> = texts.iter().filter_map(|text| year(text)).collect();
    distinct.sort_unstable();
    distinct.dedup();
    texts.len() > 1 && distinct.len() == texts.len()
}

fn year(text: &str) -> Option<u32> {
    text.parse().ok().filter(|year| (1900..=2100).contains(year))
}

fn row(text: &[u8], ends: &[usize]) -> Vec<String> {
    let mut start = 0;
    ends.iter()
        .map(|end| {
            let field = text.get(start..*end).unwrap_or_default();
            start = *end;
            String::from_utf8_lossy(field).into_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, delimiter: char, quote: char, has_header: bool) {
        let dialect = Dialect::detect(text.as_bytes(), true, &BTreeMap::new());
        let found = (char::from(dialect.delimiter), char::from(dialect.quote), dialect.has_header);
        assert_eq!(found, (delimiter, quote, has_header), "{text}");
    }

    #[test]
    fn the_usual_is_not_doubted() {
        for text in [
            "",
            "a",
            "a,b",
            "a,b\n1,2\n",
            "a,b\nx;y,z;w\n",
            "a\n1\n2\n",
            "a,b\nx,y\nz,w\n",
            "\"a,b\",c\n\"1;2\",3\n",
            "a,b\n\"x\ny\",z\n",
            "country,2019,2020\nde,1.5,2\nfr,3,4\n",
            "t\nHello; world\nno\n",
            "a,b\nit's,that's\n",
            "a,b\n1,'q'\n2,'r'\n",
            "a;b\n",
            ",a,b\n0,1,2\n",
            ",name\n0,x\n",
            "country,2019\n",
            "2019,2020\n",
        ] {
            check(text, ',', '"', true);
        }
    }

    #[test]
    fn other_dialects_are_found() {
        check("a;b\n1,5;2,5\n", ';', '"', true);
        check("a\tb\tc\n1\t\t3\n", '\t', '"', true);
        check("a|b\r\n1|2\r\n", '|', '"', true);
        check("a;b\n\"x;\n;y\";2\n", ';', '"', true);
        check("a,b\n'x, y','z'\n'u','v'", ',', '\'', true);
        check("name;note\n'M';'a;b'\n'X';'y'\n", ';', '\'', true);
        check("1,apple,1.5\n2,pear,\n", ',', '"', false);
        check("1,,foo\n2,5,bar\n3,6,baz\n", ',', '"', false);
        check(",2,3\n4,5,6\n7,8,9\n", ',', '"', false);
        check("1,2,3\n", ',', '"', false);
        check("2024-01-01;1\n2024-01-02;2\n", ';', '"', false);
        check("2019,7\n2020,8\n", ',', '"', false);
        check("2020,2021\n2022,2023\n2024,2025\n", ',', '"', false);
        check("2020,2021\n2022,2023\n1,2\n", ',', '"', true);
        check("1\n2\n", ',', '"', false);
    }

    #[test]
    fn backslashes_before_quotes_are_found() {
        let none = BTreeMap::new();
        for (text, delimiter, escapes) in [
            ("id,name\n1,\"x\\\"y\"\n2,\"a, b\"\n", b',', true),
            ("id;name\n1;\"x\\\"; y\"\n2;\"a; b\"\n", b';', true),
            ("id,name\n1,\"C:\\dir\\\"\n2,a\n", b',', false),
            ("id,name\n1,\"x\"\"y\\\"\n", b',', false),
            ("id,name\n1,x\\\"y\n", b',', false),
            ("id,name\n1,\"x\"y\"\n2,\"x\\\"y\"\n", b',', false),
        ] {
            let dialect = Dialect::detect(text.as_bytes(), true, &none);
            let found = (dialect.delimiter, dialect.escape);
            assert_eq!(found, (delimiter, escapes.then_some(b'\\')), "{text}");
            let options = dialect.options(&none);
            assert_eq!(options.get(ESCAPE).map(String::as_str), escapes.then_some("\\"));
        }
    }

    /// The incomplete record at the end is ignored.
    #[test]
    fn a_sample_may_end_anywhere() {
        let text = "id;name;price\n1;\"pear; green\";1,5\n2;plum;0,25\n3;\"a\nb\";7\n";
        let none = BTreeMap::new();
        let whole = Dialect::detect(text.as_bytes(), true, &none);
        for end in text.find("2;").unwrap()..text.len() {
            let seen = Dialect::detect(&text.as_bytes()[..end], false, &none);
            assert!(!seen.has_line_ends, "{end}");
            assert_eq!(Dialect { has_line_ends: true, ..seen }, whole, "{end}");
        }
    }

    #[test]
    fn a_first_line_may_say_what_separates_fields() {
        for (text, expected) in [
            ("sep=;\na;b\n", Some(b';')),
            ("\u{feff}SEP=\t\r\na\tb\n", Some(b'\t')),
            ("sep=\n", None),
            ("sep=;,x\n", None),
            ("sep=;", None),
            ("a;b\nsep=;\n", None),
        ] {
            assert_eq!(separator_line(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn decimals_may_have_commas() {
        let given = BTreeMap::from([(DECIMALS.to_owned(), ",".to_owned())]);
        for (text, delimiter) in [
            ("1,5;2,5\n3,5;4,5\n", b';'),
            ("a\tb\n1,5\t2\n", b'\t'),
            ("a,b\n\"1,5\",2\n", b','),
            ("1,5\n2,5\n", b';'),
        ] {
            assert_eq!(
                Dialect::detect(text.as_bytes(), true, &given).delimiter,
                delimiter,
                "{text}"
            );
        }
    }

    #[test]
    fn line_ends_in_values_are_found() {
        let none = BTreeMap::new();
        for (text, found) in [
            ("a,b\n\"x\ny\",1\n", true),
            ("a\n\"x\r\ny\"\n", true),
            ("a,b\n\"x y\",1\r\nz,2\r\n", false),
        ] {
            let dialect = Dialect::detect(text.as_bytes(), true, &none);
            assert_eq!(dialect.has_line_ends, found, "{text}");
            assert_eq!(dialect.options(&none).contains_key(LINE_ENDS), found, "{text}");
        }
    }

    #[test]
    fn options_are_not_doubted() {
        let option =
            |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let text = b"a#b;c\n1#2;3\n";
        let given = option(DELIMITER, "#");
        let dialect = Dialect::detect(text, true, &given);
        assert_eq!((dialect.delimiter, dialect.has_header), (b'#', true));
        assert_eq!((dialect.unusual(&given), dialect.options(&given)), (None, given));
        let given = option(HEADER, "true");
        assert!(Dialect::detect(b"1,2\n3,4\n", true, &given).has_header);
    }

    #[test]
    fn only_what_is_unusual_is_said_and_set() {
        let none = BTreeMap::new();
        assert_eq!(Dialect::default().unusual(&none), None);
        assert_eq!(Dialect::default().options(&none), none);
        let dialect = Dialect { delimiter: b'\t', has_header: false, ..Dialect::default() };
        let said = dialect.unusual(&none);
        assert_eq!(said.as_deref(), Some("its fields are separated by tabs, it has no header"));
        assert_eq!(dialect.options(&none).len(), 2);
    }
}
