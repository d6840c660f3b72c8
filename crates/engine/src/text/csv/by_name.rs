//! `union_by_name`: reads CSV files whose headers differ as one table.
//!
//! The reader finds columns by position. A file with another header than the table is therefore rewritten while it is
//! read: its fields are put in the order of the table's columns, and columns that it lacks are empty, which is NULL.
//! Fields that the table does not have are left out.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use csv_core::{ReadFieldResult, Reader, ReaderBuilder, Terminator};
use datafusion::common::config::CsvOptions as TheirOptions;
use datafusion::datasource::physical_plan::{CsvSource, FileSource};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetResult, GetResultPayload, ObjectStore, Result};

use crate::context::error::{ErrorKind, UserError};
use crate::context::read_layer::{Layered, ReadLayer};
use crate::text::csv::dialect::headers::{header, named};
use crate::text::csv::values::options_of;
use crate::text::record_limit::{MOST_BYTES, too_long};

/// The end of the name that a column of the files has in scans if folders name a column of that name, too.
pub(crate) const HIDDEN: &str = " (of the files)";

/// Wraps a store so that its files have the columns of the source in their order.
pub(crate) fn reordered(store: Arc<dyn ObjectStore>, source: &CsvSource) -> Arc<dyn ObjectStore> {
    let table = source.table_schema();
    let folders = table.table_partition_cols();
    let columns = table.file_schema().fields().iter().map(|field| {
        let name = field.name().strip_suffix(HIDDEN);
        let name = name.filter(|name| folders.iter().any(|folder| folder.name() == name));
        name.unwrap_or(field.name()).to_owned()
    });
    let layer = ByName { columns: columns.collect(), options: options_of(source) };
    Arc::new(Layered::new(store, layer))
}

struct ByName {
    /// The columns of the table.
    columns: Arc<[String]>,
    options: TheirOptions,
}

impl fmt::Debug for ByName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByName").field("columns", &self.columns).finish_non_exhaustive()
    }
}

#[async_trait]
impl ReadLayer for ByName {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        options: GetOptions,
    ) -> Result<GetResult> {
        if options.head {
            return inner.get_opts(location, options).await;
        }
        if options.range.is_some() {
            let source = "a part of a file that is rewritten is not read by itself".into();
            return Err(Error::Generic { store: "csv", source });
        }
        let answer = inner.get_opts(location, options).await?;
        let (meta, range) = (answer.meta.clone(), answer.range.clone());
        let attributes = answer.attributes.clone();
        let text = Text {
            columns: Arc::clone(&self.columns),
            options: self.options.clone(),
            place: location.to_string(),
            beginning: Vec::new(),
            state: State::Header,
        };
        let payload = GetResultPayload::Stream(text.rewritten(answer.into_stream()));
        Ok(GetResult { payload, meta, range, attributes })
    }
}

/// A file that is read.
struct Text {
    columns: Arc<[String]>,
    options: TheirOptions,
    place: String,
    /// The bytes up to the end of the header.
    beginning: Vec<u8>,
    state: State,
}

enum State {
    /// The header is not complete.
    Header,
    /// The file has the columns of the table in their order.
    Same,
    Other(Box<Records>),
}

impl Text {
    fn rewritten(
        self,
        bytes: BoxStream<'static, Result<Bytes>>,
    ) -> BoxStream<'static, Result<Bytes>> {
        stream::try_unfold(Some((self, bytes)), |reading| async move {
            let Some((mut text, mut bytes)) = reading else { return Ok(None) };
            let part = bytes.try_next().await?;
            let is_whole = part.is_none();
            let rewritten = text
                .pass(part)
                .map_err(|error| Error::Generic { store: "csv", source: Box::new(error) })?;
            Ok(Some((rewritten, (!is_whole).then_some((text, bytes)))))
        })
        .boxed()
    }

    /// Rewrites the next part of the file, or ends it.
    fn pass(&mut self, part: Option<Bytes>) -> std::result::Result<Bytes, UserError> {
        let is_whole = part.is_none();
        let part = part.unwrap_or_default();
        if let State::Header = self.state {
            self.beginning.extend_from_slice(&part);
            let Some(header) = header(&self.beginning, is_whole, &self.options) else {
                return match self.beginning.len() > MOST_BYTES {
                    true => Err(too_long(&self.place)),
                    // A file without a record has no rows.
                    false => Ok(Bytes::new()),
                };
            };
            let beginning = std::mem::take(&mut self.beginning);
            let header = named(&header);
            if *header == *self.columns {
                self.state = State::Same;
                return Ok(beginning.into());
            }
            let mut records = Records::new(self, &header)?;
            let mut text = Vec::new();
            records.pass(&beginning, &mut text)?;
            if is_whole {
                records.end(&mut text)?;
            }
            self.state = State::Other(Box::new(records));
            return Ok(text.into());
        }
        let State::Other(records) = &mut self.state else { return Ok(part) };
        let mut text = Vec::new();
        match is_whole {
            true => records.end(&mut text)?,
            false => records.pass(&part, &mut text)?,
        }
        Ok(text.into())
    }
}

/// Rewrites records.
struct Records {
    reader: Reader,
    options: TheirOptions,
    place: String,
    /// The position in the file of each column of the table.
    places: Vec<Option<usize>>,
    columns: Arc<[String]>,
    /// The number of fields in the header.
    width: usize,
    is_header: bool,
    /// The fields of the record so far, one after the other, and their ends.
    fields: Vec<u8>,
    ends: Vec<usize>,
}

impl Records {
    fn new(text: &Text, header: &[String]) -> std::result::Result<Self, UserError> {
        let place_of = |name: &String| {
            let alike = |other: &String| other.eq_ignore_ascii_case(name);
            let found = header.iter().position(|other| other == name);
            found.or_else(|| header.iter().position(alike))
        };
        let places: Vec<Option<usize>> = text.columns.iter().map(place_of).collect();
        if places.iter().all(Option::is_none) {
            return Err(UserError {
                kind: ErrorKind::Data,
                message: format!(
                    "`{}` has none of the columns of its table: it begins with {}",
                    text.place,
                    header.join(", ")
                ),
                hint: Some(
                    "With union_by_name, the first line of each file names its columns.".to_owned(),
                ),
            });
        }
        let options = text.options.clone();
        let mut builder = ReaderBuilder::new();
        builder.delimiter(options.delimiter).quote(options.quote);
        builder.comment(options.comment).escape(options.escape);
        if let Some(terminator) = options.terminator {
            builder.terminator(Terminator::Any(terminator));
        }
        Ok(Self {
            reader: builder.build(),
            options,
            place: text.place.clone(),
            places,
            columns: Arc::clone(&text.columns),
            width: header.len(),
            is_header: true,
            fields: Vec::new(),
            ends: Vec::new(),
        })
    }

    fn pass(&mut self, mut bytes: &[u8], text: &mut Vec<u8>) -> std::result::Result<(), UserError> {
        while !bytes.is_empty() {
            let (read, is_over) = self.step(bytes, text)?;
            bytes = &bytes[read..];
            if is_over {
                return Ok(());
            }
        }
        Ok(())
    }

    fn end(&mut self, text: &mut Vec<u8>) -> std::result::Result<(), UserError> {
        while !self.step(&[], text)?.1 {}
        Ok(())
    }

    /// Reads up to the end of a field. Returns the number of bytes read, and true if nothing more can be read.
    fn step(
        &mut self,
        bytes: &[u8],
        text: &mut Vec<u8>,
    ) -> std::result::Result<(usize, bool), UserError> {
        let mut part = [0; 1024];
        let (result, read, written) = self.reader.read_field(bytes, &mut part);
        self.fields.extend_from_slice(&part[..written]);
        if self.fields.len() > MOST_BYTES {
            return Err(too_long(&self.place));
        }
        match result {
            ReadFieldResult::InputEmpty | ReadFieldResult::End => Ok((read, true)),
            ReadFieldResult::OutputFull => Ok((read, false)),
            ReadFieldResult::Field { record_end } => {
                self.ends.push(self.fields.len());
                if record_end {
                    self.write(text)?;
                    self.fields.clear();
                    self.ends.clear();
                }
                Ok((read, false))
            }
        }
    }

    /// Writes a record.
    fn write(&mut self, text: &mut Vec<u8>) -> std::result::Result<(), UserError> {
        let count = self.ends.len();
        let may_be_short = self.options.truncated_rows.unwrap_or(false);
        if count != self.width && !(may_be_short && count < self.width) {
            return Err(UserError {
                kind: ErrorKind::Data,
                message: format!(
                    "the record that ends before line {} of `{}` has {count} fields, and its header has {}",
                    self.reader.line(),
                    self.place,
                    self.width
                ),
                hint: Some(
                    "truncated_rows => true takes records with fewer fields. Delimiters within values need quotes."
                        .to_owned(),
                ),
            });
        }
        let is_header = std::mem::replace(&mut self.is_header, false);
        for (column, place) in self.places.iter().enumerate() {
            if column > 0 {
                text.push(self.options.delimiter);
            }
            let field =
                match (is_header, place.and_then(|place| Some((place, self.ends.get(place)?)))) {
                    (true, _) => self.columns[column].as_bytes(),
                    (false, Some((place, end))) => {
                        let start = if place == 0 { 0 } else { self.ends[place - 1] };
                        &self.fields[start..*end]
                    }
                    (false, None) => &[],
                };
            // Quotes, so that a record of one empty field is no empty line.
            text.push(self.options.quote);
            for byte in field {
                if *byte == self.options.quote {
                    text.push(self.options.quote);
                } else if Some(*byte) == self.options.escape {
                    text.push(*byte);
                }
                text.push(*byte);
            }
            text.push(self.options.quote);
        }
        text.push(self.options.terminator.unwrap_or(b'\n'));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(columns: &[&str], options: &TheirOptions, given: &str) -> Result<String, String> {
        let mut answers = Vec::new();
        for length in 1..=given.len() {
            let mut text = Text {
                columns: columns.iter().map(|name| (*name).to_owned()).collect(),
                options: options.clone(),
                place: "a.csv".to_owned(),
                beginning: Vec::new(),
                state: State::Header,
            };
            let mut read = Vec::new();
            let mut pass = |part: Option<Bytes>| {
                text.pass(part).map(|text| read.extend(text)).map_err(|error| error.to_string())
            };
            let parts = given.as_bytes().chunks(length).map(Bytes::copy_from_slice);
            let passed = parts.map(Some).chain([None]).try_for_each(&mut pass);
            answers.push(passed.map(|()| String::from_utf8(read).unwrap()));
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers.remove(0)
    }

    #[test]
    fn fields_are_where_the_table_has_them() {
        let usual = TheirOptions::default();
        for (given, expected) in [
            ("a,b\n1,2\n", "a,b\n1,2\n"),
            ("b,a\n1,\"x\ny\"\"\"\n\n3,\n", "\"a\",\"b\"\n\"x\ny\"\"\",\"1\"\n\"\",\"3\"\n"),
            ("b\r\n1\r\n\"\"\r\n", "\"a\",\"b\"\n\"\",\"1\"\n\"\",\"\"\n"),
            ("B,c,A\n1,2,3", "\"a\",\"b\"\n\"3\",\"1\"\n"),
            ("\u{feff}b,a\n1,2\n", "\"a\",\"b\"\n\"2\",\"1\"\n"),
        ] {
            assert_eq!(read(&["a", "b"], &usual, given).as_deref(), Ok(expected), "{given:?}");
        }
        let escaped = TheirOptions {
            delimiter: b';',
            escape: Some(b'\\'),
            truncated_rows: Some(true),
            ..TheirOptions::default()
        };
        let given = "b;a;c\n1;\"x\\\"y\\\\\"\n2\n";
        let expected = "\"a\";\"b\"\n\"x\"\"y\\\\\";\"1\"\n\"\";\"2\"\n";
        assert_eq!(read(&["a", "b"], &escaped, given).as_deref(), Ok(expected));
    }

    #[test]
    fn files_of_another_kind_are_refused() {
        let usual = TheirOptions::default();
        let none = read(&["a", "b"], &usual, "1,2\n3,4\n").unwrap_err();
        assert!(none.contains("none of the columns of its table: it begins with 1, 2"), "{none}");
        let ragged = read(&["a"], &usual, "b,a\n1,2\n3\n").unwrap_err();
        assert!(ragged.contains("has 1 fields, and its header has 2"), "{ragged}");
    }
}
