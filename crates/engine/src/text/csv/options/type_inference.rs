//! Rewrites sampled records so that Arrow's inference recognizes values that are written in the formats of the
//! options.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{NaiveDate, NaiveDateTime};
use csv_core::{ReadFieldResult, Reader, ReaderBuilder, Terminator};
use datafusion::common::config::CsvOptions as TheirOptions;
use datafusion::datasource::file_format::csv::CsvFormat;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{GetOptions, GetResult, GetResultPayload, ObjectStore, Result};

use super::values::Values;
use crate::context::read_layer::{Layered, ReadLayer};

/// A text that cannot be a value of another type.
const TEXT: &str = "x";

impl Values {
    /// Returns a format and a store for Arrow's inference, which then finds the types that the values have with these
    /// options.
    pub(crate) fn sampled(
        &self,
        csv: &CsvFormat,
        has_header: bool,
        store: &Arc<dyn ObjectStore>,
    ) -> (CsvFormat, Arc<dyn ObjectStore>) {
        let layer = Sampled { values: self.clone(), options: csv.options().clone(), has_header };
        let usual = TheirOptions::default();
        let options = TheirOptions {
            delimiter: usual.delimiter,
            quote: usual.quote,
            escape: usual.escape,
            comment: usual.comment,
            terminator: usual.terminator,
            ..csv.options().clone()
        };
        let format = CsvFormat::default().with_options(options);
        (format, Arc::new(Layered::new(Arc::clone(store), layer)))
    }

    /// Rewrites a value to the notation that Arrow's inference recognizes.
    fn as_usual(&self, value: &str) -> String {
        if self.nulls.iter().any(|null| null == value) {
            return String::new();
        }
        let ungrouped = self.ungrouped(value);
        let value = ungrouped.as_deref().unwrap_or(value);
        let is_number = value.parse::<f64>().is_ok() && value.bytes().any(|b| b.is_ascii_digit());
        let is_whole = value.parse::<i64>().is_ok();
        if let Some(separator) = self.decimal_separator {
            if is_number && !is_whole && value.contains('.') {
                return TEXT.to_owned();
            }
            let with_point = value.replacen(separator, ".", 1);
            let is_decimal = !value.contains('.')
                && with_point.len() == value.len()
                && with_point.bytes().any(|b| b.is_ascii_digit());
            if is_decimal && value.contains(separator) && with_point.parse::<f64>().is_ok() {
                return with_point;
            }
        }
        if is_number {
            return value.to_owned();
        }
        if let Some(format) = &self.timestamp_format
            && let Ok(time) = NaiveDateTime::parse_from_str(value, format)
        {
            return time.format("%Y-%m-%dT%H:%M:%S%.f").to_string();
        }
        if let Some(format) = &self.date_format
            && let Ok(date) = NaiveDate::parse_from_str(value, format)
        {
            return date.format("%Y-%m-%d").to_string();
        }
        // With these options, a value in the usual notation of dates is not a date.
        let is_other_date = self.date_format.is_some() && is_date(value);
        let is_other_time = self.timestamp_format.is_some() && value.get(..10).is_some_and(is_date);
        match is_other_date || (is_other_time && value.len() > 10) {
            true => TEXT.to_owned(),
            false => value.to_owned(),
        }
    }
}

impl Values {
    /// Returns a number without the characters between its groups of digits, or `None` if it has no such groups.
    fn ungrouped(&self, value: &str) -> Option<String> {
        let thousands = self.thousands?;
        let digits = value.strip_prefix(['+', '-']).unwrap_or(value);
        let point = self.decimal_separator.unwrap_or('.');
        let (whole, fraction) = digits.split_once(point).unwrap_or((digits, ""));
        let mut groups = whole.split(thousands);
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let first = groups.next()?;
        let rest: Vec<&str> = groups.collect();
        let is_grouped = (1..=3).contains(&first.len())
            && are_digits(first)
            && are_digits(fraction)
            && !rest.is_empty()
            && rest.iter().all(|group| group.len() == 3 && are_digits(group));
        is_grouped.then(|| value.replace(thousands, ""))
    }
}

fn is_date(value: &str) -> bool {
    NaiveDate::parse_from_str(value, "%Y-%m-%d").is_ok()
}

#[derive(Debug)]
struct Sampled {
    values: Values,
    options: TheirOptions,
    has_header: bool,
}

#[async_trait]
impl ReadLayer for Sampled {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        options: GetOptions,
    ) -> Result<GetResult> {
        let is_whole = options.range.is_none() && !options.head;
        let answer = inner.get_opts(location, options).await?;
        if !is_whole {
            return Ok(answer);
        }
        let (meta, range) = (answer.meta.clone(), answer.range.clone());
        let attributes = answer.attributes.clone();
        let records = Records::new(self);
        let payload = GetResultPayload::Stream(records.rewritten(answer.into_stream()));
        Ok(GetResult { payload, meta, range, attributes })
    }
}

/// Rewrites records as they arrive.
struct Records {
    values: Values,
    reader: Reader,
    /// True if the record is the header, which is not changed.
    is_header: bool,
    /// True if no field of the record was written yet.
    begins: bool,
    field: Vec<u8>,
}

impl Records {
    fn new(layer: &Sampled) -> Self {
        let options = &layer.options;
        let mut builder = ReaderBuilder::new();
        builder.delimiter(options.delimiter).quote(options.quote);
        builder.comment(options.comment).escape(options.escape);
        if let Some(terminator) = options.terminator {
            builder.terminator(Terminator::Any(terminator));
        }
        Self {
            values: layer.values.clone(),
            reader: builder.build(),
            is_header: layer.has_header,
            begins: true,
            field: Vec::new(),
        }
    }

    fn rewritten(
        self,
        bytes: BoxStream<'static, Result<Bytes>>,
    ) -> BoxStream<'static, Result<Bytes>> {
        stream::try_unfold(Some((self, bytes)), |reading| async move {
            let Some((mut records, mut bytes)) = reading else { return Ok(None) };
            let mut text = Vec::new();
            match bytes.try_next().await? {
                Some(piece) => {
                    records.pass(&piece, &mut text);
                    Ok(Some((text.into(), Some((records, bytes)))))
                }
                None => {
                    // The last record need not have a line end.
                    records.end(&mut text);
                    Ok(Some((text.into(), None)))
                }
            }
        })
        .boxed()
    }

    fn pass(&mut self, mut bytes: &[u8], text: &mut Vec<u8>) {
        while !bytes.is_empty() {
            let read = self.step(bytes, text);
            bytes = &bytes[read.0..];
            if read.1 {
                return;
            }
        }
    }

    fn end(&mut self, text: &mut Vec<u8>) {
        while !self.step(&[], text).1 {}
    }

    /// Reads up to the end of a field. Returns the number of bytes read, and true if nothing more can be read.
    fn step(&mut self, bytes: &[u8], text: &mut Vec<u8>) -> (usize, bool) {
        let mut part = [0; 1024];
        let (result, read, written) = self.reader.read_field(bytes, &mut part);
        self.field.extend_from_slice(&part[..written]);
        match result {
            ReadFieldResult::InputEmpty => (read, true),
            ReadFieldResult::OutputFull => (read, false),
            ReadFieldResult::Field { record_end } => {
                self.write(record_end, text);
                (read, false)
            }
            ReadFieldResult::End => (read, true),
        }
    }

    fn write(&mut self, ends: bool, text: &mut Vec<u8>) {
        let field = String::from_utf8_lossy(&self.field);
        let value = match self.is_header {
            true => field.into_owned(),
            false => self.values.as_usual(&field),
        };
        self.field.clear();
        if !self.begins {
            text.push(b',');
        }
        text.push(b'"');
        text.extend_from_slice(value.replace('"', "\"\"").as_bytes());
        text.push(b'"');
        self.begins = ends;
        if ends {
            self.is_header = false;
            text.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn german() -> Values {
        Values {
            decimal_separator: Some(','),
            date_format: Some("%d.%m.%Y".to_owned()),
            timestamp_format: Some("%d.%m.%Y %H:%M".to_owned()),
            nulls: vec!["NA".to_owned()],
            ..Values::default()
        }
    }

    #[test]
    fn values_are_written_as_they_are_known() {
        for (value, expected) in [
            ("1,5", "1.5"),
            ("-1,5e3", "-1.5e3"),
            ("15", "15"),
            ("1.5", TEXT),
            ("1.234,5", "1.234,5"),
            ("1,5,6", "1,5,6"),
            (",", ","),
            ("a,b", "a,b"),
            ("NA", ""),
            ("31.12.2026", "2026-12-31"),
            ("31.12.2026 10:05", "2026-12-31T10:05:00"),
            ("2026-12-31", TEXT),
            ("2026-12-31T10:00:00", TEXT),
            ("true", "true"),
            ("inf", "inf"),
        ] {
            assert_eq!(german().as_usual(value), expected, "{value}");
        }
        let grouped = Values { thousands: Some('.'), ..german() };
        for (value, expected) in [
            ("1.234,5", "1234.5"),
            ("-12.345.678", "-12345678"),
            ("1.234", "1234"),
            ("1.5", TEXT),
            ("1.23.456", "1.23.456"),
            ("1234.567,8", "1234.567,8"),
            (".234", TEXT),
        ] {
            assert_eq!(grouped.as_usual(value), expected, "{value}");
        }
        let english = Values { thousands: Some(','), ..Values::default() };
        assert_eq!(english.as_usual("1,234,567.25"), "1234567.25");
        assert_eq!(english.as_usual("1,5"), "1,5");
        // Digits stay numbers even if they match a format of dates.
        let compact = Values { date_format: Some("%Y%m%d".to_owned()), ..Values::default() };
        assert_eq!(compact.as_usual("20261231"), "20261231");
    }

    #[test]
    fn records_may_be_cut_anywhere() {
        let options = TheirOptions { delimiter: b';', ..TheirOptions::default() };
        let layer = Sampled { values: german(), options, has_header: true };
        let given = "1,5;\"a \"\"b\"\";\nc\"\r\n2,5;NA\n\n\"x;\";y";
        let expected = "\"1,5\",\"a \"\"b\"\";\nc\"\n\"2.5\",\"\"\n\"x;\",\"y\"\n";
        for cut in 0..=given.len() {
            let mut records = Records::new(&layer);
            let mut text = Vec::new();
            records.pass(&given.as_bytes()[..cut], &mut text);
            records.pass(&given.as_bytes()[cut..], &mut text);
            records.end(&mut text);
            assert_eq!(String::from_utf8(text).unwrap(), expected, "cut at {cut}");
        }
    }
}
