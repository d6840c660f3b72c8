//! Rows of the program's own commands, as a table, CSV or JSON.

use std::io::{self, Write};

use clap::ValueEnum;
use serde_json::Value;

use crate::failure::Result;
use crate::output::Format;
use crate::output::escape::in_cell;
use crate::output::grid::align;

/// The formats of listings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Aligned columns, for reading
    #[default]
    Table,
    /// Comma-separated with a header line
    Csv,
    /// One array of objects
    Json,
}

impl From<ListFormat> for Format {
    fn from(format: ListFormat) -> Self {
        match format {
            ListFormat::Table => Self::Table,
            ListFormat::Csv => Self::Csv,
            ListFormat::Json => Self::Json,
        }
    }
}

/// Rows below a header.
#[derive(Debug)]
pub(crate) struct Listing {
    header: Vec<&'static str>,
    rows: Vec<Vec<Value>>,
}

impl Listing {
    /// Creates a listing without rows.
    pub(crate) fn new(header: &[&'static str]) -> Self {
        Self { header: header.to_vec(), rows: Vec::new() }
    }

    /// Adds a row with one value for each name of the header; `null` is an empty cell.
    pub(crate) fn push(&mut self, row: Vec<Value>) {
        self.rows.push(row);
    }

    /// Prints the listing. Only a table is followed by the notes.
    pub(crate) fn print(&self, format: ListFormat, notes: &str) -> Result<()> {
        let mut out = io::stdout();
        out.write_all(self.text(format).as_bytes())?;
        if format == ListFormat::Table && !notes.is_empty() {
            write!(out, "\n{notes}")?;
        }
        Ok(out.flush()?)
    }

    /// Formats the listing without notes.
    pub(crate) fn text(&self, format: ListFormat) -> String {
        match format {
            ListFormat::Table => {
                let is_number = |column: usize| {
                    let mut cells = self.rows.iter().filter_map(|row| row.get(column));
                    cells.all(|cell| cell.is_number() || cell.is_null())
                };
                let right: Vec<usize> = (0..self.header.len()).filter(|c| is_number(*c)).collect();
                let rows: Vec<Vec<String>> =
                    self.rows.iter().map(|row| row.iter().map(shown).collect()).collect();
                align(&self.header, &right, &rows)
            }
            ListFormat::Csv => {
                let line = |cells: &mut dyn Iterator<Item = String>| {
                    let cells: Vec<String> = cells.map(quoted).collect();
                    format!("{}\n", cells.join(","))
                };
                let mut text = line(&mut self.header.iter().map(|name| (*name).to_owned()));
                for row in &self.rows {
                    text += &line(&mut row.iter().map(cell));
                }
                text
            }
            ListFormat::Json => {
                let object = |row: &Vec<Value>| {
                    let pairs = self.header.iter().zip(row);
                    let pairs =
                        pairs.map(|(name, value)| format!("{}:{value}", Value::from(*name)));
                    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
                };
                let rows: Vec<String> = self.rows.iter().map(object).collect();
                match rows.as_slice() {
                    [] => "[]\n".to_owned(),
                    rows => format!("[\n{}\n]\n", rows.join(",\n")),
                }
            }
        }
    }
}

fn shown(value: &Value) -> String {
    in_cell(&cell(value)).into_owned()
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Quotes a text if CSV requires it.
fn quoted(text: String) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// Rounds a fraction to four significant digits, so that columns can be read.
pub(crate) fn fraction(value: f64) -> Value {
    let digits = if value == 0.0 { 0.0 } else { 3.0 - value.abs().log10().floor() };
    let scale = 10_f64.powf(digits.clamp(0.0, 300.0));
    Value::from((value * scale).round() / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Listing {
        let mut listing = Listing::new(&["name", "n"]);
        listing.push(vec!["a, b".into(), 10.into()]);
        listing.push(vec!["c".into(), Value::Null]);
        listing
    }

    #[test]
    fn every_format_has_the_rows() {
        assert_eq!(listing().text(ListFormat::Table), "name   n\n────  ──\na, b  10\nc\n");
        assert_eq!(listing().text(ListFormat::Csv), "name,n\n\"a, b\",10\nc,\n");
        let json = listing().text(ListFormat::Json);
        assert_eq!(json, "[\n{\"name\":\"a, b\",\"n\":10},\n{\"name\":\"c\",\"n\":null}\n]\n");
        assert_eq!(Listing::new(&["n"]).text(ListFormat::Json), "[]\n");
    }

    #[test]
    fn a_table_commands_no_terminal() {
        let mut listing = Listing::new(&["object"]);
        listing.push(vec!["a\u{1b}[2J".into()]);
        assert!(listing.text(ListFormat::Table).ends_with("\na\\u{1b}[2J\n"));
        assert!(listing.text(ListFormat::Csv).ends_with("\na\u{1b}[2J\n"));
    }

    #[test]
    fn fractions_keep_four_digits() {
        for (value, expected) in
            [(0.0, 0.0), (0.123_456, 0.1235), (0.000_123_456, 0.000_123_5), (1.0, 1.0)]
        {
            assert_eq!(fraction(value), Value::from(expected));
        }
    }
}
