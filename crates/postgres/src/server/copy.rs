//! `COPY … TO STDOUT`: rows as text, CSV or in binary form.

use bytes::{BufMut, BytesMut};

use crate::error::{SqlError, state};
use crate::lex::{Token, TokenKind};
use crate::server::backend::{Batch, Column};
use crate::types::{Format, encode};
use crate::wire::backend::message;

/// The form of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Csv,
    Binary,
}

/// The options of a COPY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopyOptions {
    kind: Kind,
    header: bool,
    delimiter: Option<char>,
    null: Option<String>,
    quote: char,
    escape: Option<char>,
}

impl Default for CopyOptions {
    fn default() -> Self {
        Self {
            kind: Kind::Text,
            header: false,
            delimiter: None,
            null: None,
            quote: '"',
            escape: None,
        }
    }
}

const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

impl CopyOptions {
    /// Reads the options after `STDOUT`, in parentheses or in the older form without them.
    pub(crate) fn parse(tokens: &[Token<'_>]) -> Result<Self, SqlError> {
        let mut options = Self::default();
        let mut tokens = tokens.iter().filter(|token| {
            !matches!(token.text, "(" | ")" | ",") && !token.is("WITH") && !token.is("AS")
        });
        let mut next = tokens.next();
        while let Some(token) = next {
            next = tokens.next();
            let mut value = |what: &str| -> Result<String, SqlError> {
                let value = next.ok_or_else(|| wrong(&format!("{what} of COPY lacks a value")))?;
                next = tokens.next();
                Ok(value.unquoted())
            };
            match token.text.to_ascii_uppercase().as_str() {
                "FORMAT" => options.kind = Self::kind(&value("FORMAT")?)?,
                "CSV" => options.kind = Kind::Csv,
                "TEXT" => options.kind = Kind::Text,
                "BINARY" => options.kind = Kind::Binary,
                "HEADER" => {
                    // A value is optional.
                    let given = next.filter(|it| {
                        ["true", "on", "1", "false", "off", "0"].contains(&it.unquoted().as_str())
                    });
                    options.header = !given
                        .is_some_and(|it| ["false", "off", "0"].contains(&it.unquoted().as_str()));
                    if given.is_some() {
                        next = tokens.next();
                    }
                }
                "DELIMITER" | "DELIMITERS" => options.delimiter = Some(one(&value("DELIMITER")?)?),
                "NULL" => options.null = Some(value("NULL")?),
                "QUOTE" => options.quote = one(&value("QUOTE")?)?,
                "ESCAPE" => options.escape = Some(one(&value("ESCAPE")?)?),
                "ENCODING" => {
                    let encoding = value("ENCODING")?;
                    if !["utf8", "utf-8"].contains(&encoding.to_lowercase().as_str()) {
                        return Err(wrong("COPY has only the encoding UTF8"));
                    }
                }
                other => return Err(wrong(&format!("COPY TO STDOUT has no option {other}"))),
            }
            if matches!(token.kind, TokenKind::Text | TokenKind::Number) {
                return Err(wrong(&format!("COPY TO STDOUT does not expect {}", token.text)));
            }
        }
        Ok(options)
    }

    fn kind(name: &str) -> Result<Kind, SqlError> {
        match name.to_lowercase().as_str() {
            "text" => Ok(Kind::Text),
            "csv" => Ok(Kind::Csv),
            "binary" => Ok(Kind::Binary),
            _ => Err(wrong(&format!("COPY has the formats text, csv and binary, not `{name}`"))),
        }
    }

    /// Returns the format that is announced.
    pub(crate) const fn format(&self) -> Format {
        match self.kind {
            Kind::Binary => Format::Binary,
            Kind::Text | Kind::Csv => Format::Text,
        }
    }

    /// Appends the header of text and CSV.
    pub(crate) fn begin(&self, out: &mut BytesMut, columns: &[Column]) {
        if self.header && self.kind != Kind::Binary {
            let names = columns.iter().map(|column| Some(column.name.as_str()));
            message(out, b'd', |out| self.line(out, names));
        }
    }

    /// Appends what is before the first row, in its message: clients expect it there.
    fn signature(&self, out: &mut BytesMut, is_first: bool) {
        if is_first && self.kind == Kind::Binary {
            out.put_slice(SIGNATURE);
            out.put_i64(0);
        }
    }

    /// Appends a row.
    pub(crate) fn row(
        &self,
        out: &mut BytesMut,
        batch: &impl Batch,
        row: usize,
        columns: &[Column],
        is_first: bool,
    ) -> Result<(), SqlError> {
        let start = out.len();
        let mut outcome = Ok(());
        message(out, b'd', |out| {
            self.signature(out, is_first);
            outcome = self.fields(out, batch, row, columns);
        });
        if outcome.is_err() {
            out.truncate(start);
        }
        outcome
    }

    fn fields(
        &self,
        out: &mut BytesMut,
        batch: &impl Batch,
        row: usize,
        columns: &[Column],
    ) -> Result<(), SqlError> {
        if self.kind == Kind::Binary {
            out.put_u16(u16::try_from(columns.len()).unwrap_or(u16::MAX));
            return columns.iter().enumerate().try_for_each(|(index, column)| {
                encode::field(out, &batch.value(row, index)?, column.kind, Format::Binary)
            });
        }
        let values = (0..columns.len()).map(|index| batch.value(row, index));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let texts: Vec<_> = values.iter().map(encode::text).collect();
        self.line(out, texts.iter().map(Option::as_deref));
        Ok(())
    }

    /// Appends what is after the rows.
    pub(crate) fn end(&self, out: &mut BytesMut, is_first: bool) {
        if self.kind == Kind::Binary {
            message(out, b'd', |out| {
                self.signature(out, is_first);
                out.put_i16(-1);
            });
        }
    }

    fn line<'a>(&self, out: &mut BytesMut, fields: impl Iterator<Item = Option<&'a str>>) {
        let is_csv = self.kind == Kind::Csv;
        let delimiter = self.delimiter.unwrap_or(if is_csv { ',' } else { '\t' });
        let null = self.null.as_deref().unwrap_or(if is_csv { "" } else { "\\N" });
        let mut text = String::new();
        for (index, field) in fields.enumerate() {
            if index > 0 {
                text.push(delimiter);
            }
            match field {
                None => text.push_str(null),
                Some(field) if is_csv => self.csv(&mut text, field, delimiter, null, index),
                Some(field) => escaped(&mut text, field, delimiter),
            }
        }
        text.push('\n');
        out.put_slice(text.as_bytes());
    }

    fn csv(&self, text: &mut String, field: &str, delimiter: char, null: &str, index: usize) {
        let special = |c: char| c == delimiter || c == self.quote || matches!(c, '\n' | '\r');
        // `\.` alone on a line would end the data for some readers.
        if field != null && !field.contains(special) && !(index == 0 && field == "\\.") {
            text.push_str(field);
            return;
        }
        let escape = self.escape.unwrap_or(self.quote);
        text.push(self.quote);
        for c in field.chars() {
            if c == self.quote || c == escape {
                text.push(escape);
            }
            text.push(c);
        }
        text.push(self.quote);
    }
}

fn escaped(text: &mut String, field: &str, delimiter: char) {
    for c in field.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{b}' => text.push_str("\\v"),
            '\u{c}' => text.push_str("\\f"),
            c if c == delimiter => text.extend(['\\', c]),
            c => text.push(c),
        }
    }
}

fn wrong(message: &str) -> SqlError {
    SqlError::new(state::SYNTAX_ERROR, message)
}

fn one(text: &str) -> Result<char, SqlError> {
    // E'\t' is the usual way to write a tab.
    let text = if text == "\\t" { "\t" } else { text };
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) if c.is_ascii() && !matches!(c, '\n' | '\r') => Ok(c),
        _ => Err(wrong("an option of COPY expects one character of ASCII")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lex::words;

    fn options(text: &str) -> Result<CopyOptions, SqlError> {
        CopyOptions::parse(&words(text).collect::<Vec<_>>())
    }

    #[track_caller]
    fn check(text: &str, fields: &[Option<&str>], expected: &str) {
        let mut out = BytesMut::new();
        options(text).unwrap().line(&mut out, fields.iter().copied());
        assert_eq!(std::str::from_utf8(&out).unwrap(), expected);
    }

    #[test]
    fn rows_are_lines_of_text_or_csv() {
        let fields = [Some("a\tb"), None, Some(""), Some("q\"\\\n,")];
        check("", &fields, "a\\tb\t\\N\t\tq\"\\\\\\n,\n");
        check("WITH (FORMAT csv)", &fields, "a\tb,,\"\",\"q\"\"\\\n,\"\n");
        check("CSV HEADER", &[Some("x")], "x\n");
        check(
            "(FORMAT csv, DELIMITER ';', NULL 'NA', QUOTE '''')",
            &[Some("a;b"), None, Some("NA"), Some("it's")],
            "'a;b';NA;'NA';'it''s'\n",
        );
        check("(FORMAT text, DELIMITER E'\\t')", &[Some("a"), Some("b")], "a\tb\n");
        check("DELIMITER '|' NULL ''", &[Some("a|b"), None], "a\\|b|\n");
    }

    #[test]
    fn options_are_checked() {
        assert!(options("(HEADER, FORMAT csv)").unwrap().header);
        assert!(!options("(HEADER false)").unwrap().header);
        assert_eq!(options("(FORMAT binary)").unwrap().format(), Format::Binary);
        for wrong in [
            "(FORMAT xml)",
            "(DELIMITER 'ab')",
            "(FORMAT)",
            "(FREEZE)",
            "(ENCODING 'latin1')",
            "'x'",
        ] {
            options(wrong).unwrap_err();
        }
    }
}
