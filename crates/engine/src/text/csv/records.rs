//! Finds where the records of a CSV object begin and end, with the state machine that DataFusion's reader is built on
//! and the same options.

use std::ops::Range;

use arrow::error::ArrowError;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};
use datafusion::common::Result;

use super::text::CsvText;

/// The byte order mark, which the reader skips at the start of an object.
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Finds records in an object that arrives in pieces.
///
/// Together with the header, the records cover the object: blank lines and comments, and the line feed after a
/// carriage return, belong to the record that follows them. Thus any run of records can be read by itself.
#[derive(Debug)]
pub struct Records {
    reader: Reader,
    format: CsvText,
    header: bool,
    begun: bool,
    /// The number of bytes read.
    read: u64,
    /// The first byte of the record that is being read.
    start: u64,
    /// The number of fields of that record so far.
    fields: usize,
    records: u64,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Records {
    /// Creates a finder for objects of a table with these options.
    #[must_use]
    pub fn new(format: &CsvText) -> Self {
        let mut builder = ReaderBuilder::new();
        builder
            .delimiter(format.delimiter)
            .quote(format.quote)
            .escape(format.escape)
            .comment(format.comment);
        if let Some(terminator) = format.terminator {
            builder.terminator(Terminator::Any(terminator));
        }
        Self {
            reader: builder.build(),
            format: format.clone(),
            header: format.header,
            begun: false,
            read: 0,
            start: 0,
            fields: 0,
            records: 0,
            text: vec![0; 16 * 1024],
            ends: vec![0; format.columns.clamp(16, 1024)],
        }
    }

    /// Reads the next bytes; `found` is called with the range of each record that ends, except the header.
    ///
    /// # Errors
    ///
    /// If a record has another number of fields than the table has columns.
    pub fn feed(&mut self, mut input: &[u8], mut found: impl FnMut(Range<u64>)) -> Result<()> {
        if !self.begun && !input.is_empty() {
            self.begun = true;
            if input.starts_with(&BOM) {
                self.start = BOM.len() as u64;
            }
        }
        // The reader treats empty input as the end of the object.
        while !input.is_empty() {
            let read = self.step(input, &mut found)?;
            input = &input[read..];
        }
        Ok(())
    }

    /// Ends the object.
    ///
    /// # Errors
    ///
    /// Those of [`Self::feed`].
    pub fn finish(&mut self, mut found: impl FnMut(Range<u64>)) -> Result<()> {
        loop {
            let (result, _, _, fields) =
                self.reader.read_record(&[], &mut self.text, &mut self.ends);
            self.fields += fields;
            match result {
                ReadRecordResult::Record => return self.end(&mut found),
                ReadRecordResult::End | ReadRecordResult::InputEmpty => return Ok(()),
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {}
            }
        }
    }

    fn step(&mut self, input: &[u8], found: &mut impl FnMut(Range<u64>)) -> Result<usize> {
        // Only the fields are counted; their text is overwritten by that of the next.
        let (result, read, _, fields) =
            self.reader.read_record(input, &mut self.text, &mut self.ends);
        self.read += read as u64;
        self.fields += fields;
        if result == ReadRecordResult::Record {
            self.end(found)?;
        }
        Ok(read)
    }

    fn end(&mut self, found: &mut impl FnMut(Range<u64>)) -> Result<()> {
        self.records += 1;
        let (fields, columns) = (std::mem::take(&mut self.fields), self.format.columns);
        if fields > columns || (fields < columns && !self.format.truncated_rows) {
            return Err(ArrowError::CsvError(format!(
                "record {} has {fields} fields, and the table {columns} columns",
                self.records
            ))
            .into());
        }
        let record = self.start..self.read;
        self.start = self.read;
        if !std::mem::take(&mut self.header) {
            found(record);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format() -> CsvText {
        CsvText {
            columns: 2,
            header: false,
            delimiter: b',',
            quote: b'"',
            escape: None,
            comment: None,
            terminator: None,
            truncated_rows: false,
        }
    }

    /// Checks the records of a text, which must not depend on how the text is cut.
    #[track_caller]
    fn check(format: &CsvText, text: &str, expected: &[&str]) {
        for piece in [1, 2, 3, 7, 1000] {
            let mut records = Records::new(format);
            let mut found = Vec::new();
            // The reader does not detect a byte order mark that is cut.
            let first = if text.starts_with('\u{feff}') { 3.min(text.len()) } else { 0 };
            records.feed(&text.as_bytes()[..first], |record| found.push(record)).unwrap();
            for piece in text.as_bytes()[first..].chunks(piece) {
                records.feed(piece, |record| found.push(record)).unwrap();
            }
            records.finish(|record| found.push(record)).unwrap();
            let found: Vec<_> = found
                .into_iter()
                .map(|record| &text[record.start as usize..record.end as usize])
                .collect();
            assert_eq!(found, expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn records_follow_the_options_of_the_table() {
        check(&format(), "a,b\nc,d\n", &["a,b\n", "c,d\n"]);
        check(&format(), "a,b\nc,d", &["a,b\n", "c,d"]);
        check(&format(), "a,\"b\nc\"\nd,é\n", &["a,\"b\nc\"\n", "d,é\n"]);
        check(&format(), "a,b\r\nc,d\r\n", &["a,b\r", "\nc,d\r"]);
        check(&format(), "\n\na,b\n\n\nc,d\n\n", &["\n\na,b\n", "\n\nc,d\n"]);
        check(&format(), "\u{feff}a,b\nc,d\n", &["a,b\n", "c,d\n"]);
        check(&format(), "", &[]);
        let header = CsvText { header: true, ..format() };
        check(&header, "k,v\na,b\n", &["a,b\n"]);
        check(&header, "k,v\n", &[]);
        let comments = CsvText { comment: Some(b'#'), ..format() };
        check(&comments, "#x\na,b\n#y\nc,d\n", &["#x\na,b\n", "#y\nc,d\n"]);
        let own = CsvText { terminator: Some(b';'), ..format() };
        check(&own, "a,b;c\n,d;", &["a,b;", "c\n,d;"]);
    }

    #[test]
    fn ragged_records_are_refused_unless_the_table_takes_them() {
        let read = |format: &CsvText, text: &str| {
            let mut records = Records::new(format);
            records.feed(text.as_bytes(), |_| ())?;
            records.finish(|_| ())
        };
        let error = read(&format(), "a,b\nc\n").unwrap_err().to_string();
        assert!(error.contains("record 2 has 1 fields, and the table 2 columns"), "{error}");
        assert!(read(&format(), "a,b,c").is_err());
        let ragged = CsvText { truncated_rows: true, ..format() };
        assert!(read(&ragged, "a,b\nc\n").is_ok());
        assert!(read(&ragged, "a,b,c\n").is_err());
    }
}
