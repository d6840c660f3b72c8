//! The header that a CSV file of a table must have, checked when a query opens the file.
//!
//! A check at planning time would take one more request for each file. A GET from the beginning of a file includes
//! the header. A statement of S3 Select does not return the header, so a small GET at the same time fetches it.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::CsvOptions;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{CsvSource, FileScanConfig, FileScanConfigBuilder};
use object_store::{ObjectMeta, ObjectStore};

use super::column_names::called;
use super::headers::{self, Header, KnownHeaders};
use crate::text::byte_observer::{ByteObserver, watched};
use crate::text::csv::values::options_of;
use crate::text::located_errors::LocatedSource;
use crate::text::magic_bytes;
use crate::text::sniff_cache::SNIFF_BYTES;

/// The expected header of a file, as an extension of the file in a scan. Files whose header is known to match have
/// none.
#[derive(Debug, Clone)]
pub(crate) struct ExpectedHeader {
    /// The names of the table's columns, as files have them.
    columns: Header,
    /// True if the columns were declared, so that files may use other names.
    is_declared: bool,
    /// The options to read the file with.
    options: CsvOptions,
    known: Arc<KnownHeaders>,
}

impl ExpectedHeader {
    /// Returns the expected header for the files of a scan, or `None` if the scan is not CSV with headers.
    pub(crate) fn for_scan(
        config: &FileScanConfig,
        columns: &[String],
        is_declared: bool,
        known: Arc<KnownHeaders>,
    ) -> Option<Self> {
        let source = config.file_source();
        let source = source.downcast_ref::<LocatedSource>().map_or(source, LocatedSource::inner);
        let csv = source.downcast_ref::<CsvSource>().filter(|csv| csv.has_header())?;
        let options = CsvOptions {
            compression: *config.file_compression_type.get_variant(),
            ..options_of(csv)
        };
        Some(Self { columns: columns.into(), is_declared, options, known })
    }

    /// Records that only a default, not an option of the table, gives files a header.
    pub(crate) fn by_default(mut self) -> Self {
        self.options.has_header = None;
        self
    }

    /// Attaches the header to those files of a scan for which `is_wanted` returns true and that are not known to
    /// match. Returns `None` if there are no such files.
    pub(crate) fn attach(
        &self,
        config: &FileScanConfig,
        mut is_wanted: impl FnMut(&PartitionedFile) -> bool,
    ) -> Option<FileScanConfig> {
        let mut any = false;
        let mut groups = config.file_groups.clone();
        for group in &mut groups {
            for number in 0..group.len() {
                let file = &mut group[number];
                let object = &file.object_meta;
                if is_wanted(file) && object.size > 0 && !self.is_known(object) {
                    file.extensions.insert(self.clone());
                    any = true;
                }
            }
        }
        any.then(|| FileScanConfigBuilder::from(config.clone()).with_file_groups(groups).build())
    }

    /// Returns the names of the columns; true if they were declared.
    pub(crate) fn columns(&self) -> (&[String], bool) {
        (&self.columns, self.is_declared)
    }

    /// Returns true if only a default gives files a header.
    pub(crate) fn is_by_default(&self) -> bool {
        self.options.has_header.is_none()
    }

    fn is_known(&self, object: &ObjectMeta) -> bool {
        self.known.get(object).as_ref() == Some(&self.columns)
    }

    /// Checks the header of an object. It is fetched unless it is known to match.
    ///
    /// # Errors
    ///
    /// If its columns have other positions, or it cannot be read.
    pub(crate) async fn check(
        &self,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
    ) -> Result<()> {
        if self.is_known(object) {
            return Ok(());
        }
        match headers::check_headers(store, object, &self.options).await? {
            Some(header) => self.compare(object, &header),
            None => Ok(()),
        }
    }

    fn compare(&self, object: &ObjectMeta, header: &[String]) -> Result<()> {
        if self.is_declared {
            headers::check_names(&self.columns, object, header, &self.options)?;
            headers::compare_declared(&self.columns, object, header)?;
        } else {
            let header = called(header);
            headers::compare(("its table", &self.columns), (object, &header), &self.options)?;
        }
        self.known.learn(object, Arc::clone(&self.columns));
        Ok(())
    }

    /// Wraps a store from which the text of an object is read from its beginning. Reading fails before the first row
    /// if the header does not match.
    pub(crate) fn watched(
        &self,
        store: Arc<dyn ObjectStore>,
        object: &ObjectMeta,
    ) -> Arc<dyn ObjectStore> {
        if self.is_known(object) {
            return store;
        }
        let (expected, object) = (self.clone(), object.clone());
        watched(store, HeaderReader { expected, object, text: Vec::new(), is_done: false })
    }
}

/// The beginning of a file, until its header is complete.
#[derive(Debug)]
struct HeaderReader {
    expected: ExpectedHeader,
    object: ObjectMeta,
    text: Vec<u8>,
    is_done: bool,
}

impl HeaderReader {
    fn check_header(&mut self, is_whole: bool) -> Result<(), HeaderMismatch> {
        let [.., most] = SNIFF_BYTES;
        magic_bytes::check_text(&self.object, &self.text).map_err(HeaderMismatch)?;
        let header = headers::header(&self.text, is_whole, &self.expected.options);
        if header.is_some() || is_whole || self.text.len() as u64 >= most {
            self.is_done = true;
            self.text = Vec::new();
        }
        match header {
            Some(header) => self.expected.compare(&self.object, &header).map_err(HeaderMismatch),
            None => Ok(()),
        }
    }
}

impl ByteObserver for HeaderReader {
    type Error = HeaderMismatch;

    fn pass(&mut self, at: u64, bytes: &[u8]) -> Result<(), HeaderMismatch> {
        // DataFusion also reads the end of a part, to find the line end.
        if self.is_done || at != self.text.len() as u64 {
            return Ok(());
        }
        self.text.extend_from_slice(bytes);
        self.check_header(false)
    }

    fn end(&mut self) -> Result<(), HeaderMismatch> {
        match self.is_done || self.text.is_empty() {
            true => Ok(()),
            false => self.check_header(true),
        }
    }
}

/// A header that does not match its table, with the error to report.
#[derive(Debug)]
pub(crate) struct HeaderMismatch(DataFusionError);

impl fmt::Display for HeaderMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for HeaderMismatch {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::datasource::object_store::ObjectStoreUrl;

    use super::*;

    fn expected(columns: [&str; 2]) -> ExpectedHeader {
        let fields = columns.map(|name| Field::new(name, DataType::Int64, true));
        let source = CsvSource::new(Arc::new(Schema::new(fields.to_vec())));
        let source =
            source.with_csv_options(CsvOptions { has_header: Some(true), ..CsvOptions::default() });
        let url = ObjectStoreUrl::parse("s3://bucket").unwrap();
        let config = FileScanConfigBuilder::new(url, Arc::new(source)).build();
        let columns = columns.map(str::to_owned);
        ExpectedHeader::for_scan(&config, &columns, false, Arc::default()).unwrap()
    }

    /// However the bytes arrive, those of the first row do not pass.
    #[test]
    fn a_wrong_header_fails_before_its_rows() {
        let object = PartitionedFile::new("a.csv", 12).object_meta;
        for (text, is_right) in [("a,b\n1,2\n3,4\n", true), ("b,a\n1,2\n3,4\n", false)] {
            for first in 1..text.len() {
                let expected = expected(["a", "b"]);
                let mut watch = HeaderReader {
                    expected,
                    object: object.clone(),
                    text: Vec::new(),
                    is_done: false,
                };
                let (one, other) = text.as_bytes().split_at(first);
                let one = watch.pass(0, one);
                assert_eq!(one.is_ok(), is_right || first < 4, "{text:?}, {first}");
                let other = watch.pass(first as u64, other);
                assert_eq!(one.is_ok() && other.is_ok(), is_right, "{text:?}, {first}");
                assert!(watch.end().is_ok());
            }
        }
    }
}
