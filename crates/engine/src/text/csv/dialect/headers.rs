//! The headers of the CSV files of one table. Columns are read by their position. Therefore a header in another order
//! than that of another file, or than the declared columns, would be read wrong.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use csv_core::{ReadRecordResult, ReaderBuilder, Terminator};
use datafusion::catalog::Session;
use datafusion::common::config::CsvOptions;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use futures::future::try_join_all;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use super::column_names::called;
use super::detection::{Dialect, has_values};
use super::text_of;
use crate::context::notes::Notes;
use crate::text::json::bom::MARK;
use crate::text::magic_bytes;
use crate::text::sniff_cache::{SNIFF_BYTES, SniffCache};
use crate::{ErrorKind, UserError};

/// The maximum number of objects whose headers are compared when a table is created. Others are compared when a query
/// opens them ([`ExpectedHeader`](super::expected_header::ExpectedHeader)).
pub(crate) const MOST: usize = 1024;
/// The number of headers that are fetched concurrently.
const AT_ONCE: usize = 32;

/// The names of columns, as a file has them.
pub(crate) type Header = Arc<[String]>;

/// Returns the names of columns by a header, each different.
pub(crate) fn named(header: &[String]) -> Header {
    called(header).into()
}

/// The objects whose header a session has already compared, with the header that they match.
pub(crate) type KnownHeaders = SniffCache<Header>;

/// Checks that the objects of a table have the same header. `beginning` is the beginning of the first object; its
/// flag is true if that is the whole object.
///
/// # Errors
///
/// If the headers differ, or an object cannot be read.
pub(crate) async fn check(
    state: &dyn Session,
    format: &CsvFormat,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    beginning: &(Bytes, bool),
) -> Result<()> {
    let options = format.options();
    let has_header = has_header(state, options);
    let Some((first, others)) = objects.split_first().filter(|_| has_header) else { return Ok(()) };
    let Some(header) = header(&beginning.0, beginning.1, options) else { return Ok(()) };
    note_if_all(state, first, others, beginning, options);
    let header: Header = called(&header).into();
    state.config().get_extension::<KnownHeaders>().unwrap_or_default().learn(first, header.clone());
    let others = &others[..others.len().min(MOST)];
    each(state, options, store, others, &header, |object, other| {
        compare((&format!("`{}`", first.location), &header), (object, &called(other)), options)
    })
    .await
}

/// Adds a note if the only object consists of a header only.
fn note_if_all(
    state: &dyn Session,
    object: &ObjectMeta,
    others: &[ObjectMeta],
    (beginning, is_whole): &(Bytes, bool),
    options: &CsvOptions,
) {
    let Some((header, rest)) = first_record(beginning, *is_whole, options) else { return };
    if *is_whole && others.is_empty() && rest.trim_ascii().is_empty() {
        let notes = state.config().get_extension::<Notes>().unwrap_or_default();
        notes.add(format!(
            "`{}` has no rows: its only line is taken for its header ({}); read_csv('…', header => false), or \
             OPTIONS ('format.has_header' 'false'), takes it for a row",
            object.location,
            Names(&header)
        ));
    }
}

/// Checks that no header has a declared column in another position.
///
/// # Errors
///
/// If one has, or an object cannot be read.
pub(crate) async fn check_declared(
    state: &dyn Session,
    format: &CsvFormat,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    declared: &[String],
) -> Result<()> {
    let options = format.options();
    if !has_header(state, options) {
        return Ok(());
    }
    each(state, options, store, objects, &declared.into(), |object, header| {
        check_names(declared, object, header, options)?;
        compare_declared(declared, object, header)
    })
    .await
}

/// Checks that the expected header is not a row, unless an option declares a header.
pub(super) fn check_names(
    declared: &[String],
    object: &ObjectMeta,
    header: &[String],
    options: &CsvOptions,
) -> Result<()> {
    if options.has_header.is_some() || !is_row(header, declared) {
        return Ok(());
    }
    let message = format!(
        "`{}` begins with a row ({}), and not with names as other objects of its table",
        object.location,
        Names(header)
    );
    Err(refused(
        message,
        "OPTIONS ('format.has_header' 'false') reads all first lines as rows, and 'true' takes them for names.",
    ))
}

/// Returns true if the expected header contains values, and none of the declared names.
fn is_row(header: &[String], declared: &[String]) -> bool {
    let is_declared = |name: &String| declared.iter().any(|it| it.eq_ignore_ascii_case(name));
    !header.iter().any(is_declared) && has_values(header)
}

/// Returns the first record of the first object of a table that declares its columns, if it is a row but the format
/// and the session treat it as a header. `text` is the beginning of the object, and `is_whole` is true if that is the
/// whole object.
pub(super) fn row_first(
    state: &dyn Session,
    options: &CsvOptions,
    (text, is_whole): &(Bytes, bool),
    declared: &[String],
) -> Option<String> {
    if !has_header(state, options) {
        return None;
    }
    let first = header(text, *is_whole, options).filter(|first| is_row(first, declared))?;
    let written =
        Dialect { delimiter: options.delimiter, quote: options.quote, ..Dialect::default() };
    let has_header = Dialect::detect(text, *is_whole, &written.detected_options()).has_header;
    (!has_header).then(|| Names(&first).to_string())
}

pub(super) fn has_header(state: &dyn Session, options: &CsvOptions) -> bool {
    options.has_header.unwrap_or_else(|| state.config_options().catalog.has_header)
}

/// Compares the headers of objects, except those known to match `like`.
async fn each(
    state: &dyn Session,
    options: &CsvOptions,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    like: &Header,
    compare: impl Fn(&ObjectMeta, &[String]) -> Result<()> + Sync,
) -> Result<()> {
    let known = state.config().get_extension::<KnownHeaders>().unwrap_or_default();
    let (known, compare) = (known.as_ref(), &compare);
    for some in objects.chunks(AT_ONCE) {
        let mut looks = Vec::with_capacity(some.len());
        for object in some {
            looks.push(async move {
                if known.get(object).as_ref() != Some(like)
                    && let Some(header) = check_headers(store, object, options).await?
                {
                    compare(object, &header)?;
                    known.learn(object, Arc::clone(like));
                }
                Ok::<_, DataFusionError>(())
            });
        }
        try_join_all(looks).await?;
    }
    Ok(())
}

/// Checks that no column, found by its name in the header, has another position than declared.
pub(super) fn compare_declared(
    declared: &[String],
    object: &ObjectMeta,
    header: &[String],
) -> Result<()> {
    let is_called = |place: usize, name: &str| {
        header.get(place).is_some_and(|other| other.eq_ignore_ascii_case(name))
    };
    let elsewhere = declared.iter().enumerate().find_map(|(place, name)| {
        let found = (0..header.len()).find(|other| is_called(*other, name))?;
        (!is_called(place, name)).then_some((name, place, found))
    });
    let Some((name, place, found)) = elsewhere else { return Ok(()) };
    let message = format!(
        "`{}` has the column `{name}` in place {} ({}), and the table declares it in place {}",
        object.location,
        found + 1,
        Names(header),
        place + 1
    );
    Err(refused(
        message,
        "Columns of CSV are read by their places: declare all of them in the order of the file.",
    ))
}

fn refused(message: String, hint: &str) -> DataFusionError {
    UserError { kind: ErrorKind::Data, message, hint: Some(hint.to_owned()) }.into()
}

/// Compares the header of an object with that of another one or of its table.
pub(super) fn compare(
    (first, header): (&str, &[String]),
    (object, other): (&ObjectMeta, &[String]),
    options: &CsvOptions,
) -> Result<()> {
    let begins_alike = header.iter().zip(other).all(|(one, other)| one == other);
    // Columns may be missing at the end.
    let may_be_short = options.truncated_rows.unwrap_or(false);
    if begins_alike && (header.len() == other.len() || may_be_short) {
        return Ok(());
    }
    let what = match header.len() == other.len() && other.iter().all(|name| header.contains(name)) {
        true => "its columns in another order",
        false => "other columns",
    };
    let message = format!(
        "`{}` has {what} ({}) than {first} ({})",
        object.location,
        Names(other),
        Names(header)
    );
    Err(refused(
        message,
        "read_csv('…', union_by_name => true) finds the columns of each file by its own header, and so does OPTIONS \
         (union_by_name true).",
    ))
}

/// Compares the columns of two objects of one table.
///
/// # Errors
///
/// If the columns or their order differ.
pub(crate) fn compare_columns(
    (first, columns): (&ObjectMeta, &[String]),
    (object, others): (&ObjectMeta, &[String]),
) -> Result<()> {
    let first = format!("`{}`", first.location);
    compare((&first, columns), (object, others), &CsvOptions::default())
}

/// Shows the first names of a header.
struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 12;
        // Blanks around a name are a part of it.
        let shown = self.0.iter().take(SHOWN).map(|name| match name.trim() == name {
            true => name.clone(),
            false => format!("\"{name}\""),
        });
        let shown: Vec<String> = shown.collect();
        f.write_str(&shown.join(", "))?;
        if self.0.len() > SHOWN { f.write_str(", …") } else { Ok(()) }
    }
}

/// Fetches the header of an object. Returns `None` if it has none of reasonable length.
pub(super) async fn check_headers(
    store: &Arc<dyn ObjectStore>,
    object: &ObjectMeta,
    options: &CsvOptions,
) -> Result<Option<Vec<String>>> {
    for most in SNIFF_BYTES {
        let end = object.size.min(most);
        let bytes = store.get_range(&object.location, 0..end).await?;
        let is_whole = end == object.size;
        let compression = FileCompressionType::from(options.compression);
        let (text, is_whole) = match compression.is_compressed() {
            false => (bytes, is_whole),
            true => {
                let (text, is_all) = text_of(compression, bytes).await;
                (text, is_whole && is_all)
            }
        };
        magic_bytes::check_text(object, &text)?;
        let found = header(&text, is_whole, options);
        if found.is_some() || is_whole {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Returns the first record of a text, if it is complete.
pub(crate) fn header(text: &[u8], is_whole: bool, options: &CsvOptions) -> Option<Vec<String>> {
    first_record(text, is_whole, options).map(|(names, _)| names)
}

/// Returns the first record of a text, if it is complete, and the text behind it.
fn first_record<'a>(
    text: &'a [u8],
    is_whole: bool,
    options: &CsvOptions,
) -> Option<(Vec<String>, &'a [u8])> {
    let text = text.strip_prefix(&MARK).unwrap_or(text);
    let mut builder = ReaderBuilder::new();
    builder.delimiter(options.delimiter).quote(options.quote).comment(options.comment);
    builder.escape(options.escape);
    if let Some(terminator) = options.terminator {
        builder.terminator(Terminator::Any(terminator));
    }
    let mut reader = builder.build();
    let (mut record, mut ends) = (vec![0; text.len() + 1], vec![0; text.len() + 2]);
    let (mut result, read, mut length, mut fields) =
        reader.read_record(text, &mut record, &mut ends);
    if result == ReadRecordResult::InputEmpty && is_whole {
        let (last, _, more, rest) =
            reader.read_record(&[], &mut record[length..], &mut ends[fields..]);
        (result, length, fields) = (last, length + more, fields + rest);
    }
    if result != ReadRecordResult::Record {
        return None;
    }
    let mut start = 0;
    let name = |end: &usize| {
        let name = String::from_utf8_lossy(&record[start..*end]).into_owned();
        start = *end;
        name
    };
    let names: Vec<String> = ends[..fields].iter().map(name).collect();
    (length > 0).then_some((names, &text[read..]))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use object_store::path::Path;

    use super::*;

    #[track_caller]
    fn check_header(text: &str, is_whole: bool, expected: Option<&[&str]>) {
        let found = header(text.as_bytes(), is_whole, &CsvOptions::default());
        let expected = expected.map(|names| names.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn a_header_is_the_first_record() {
        check_header("a,b\n1,2\n", false, Some(&["a", "b"]));
        check_header("\u{feff}\"a\nx\",b\r\n", false, Some(&["a\nx", "b"]));
        check_header("\n\na\n", false, Some(&["a"]));
        check_header("a,b", true, Some(&["a", "b"]));
        check_header("a,b", false, None);
        check_header("", true, None);
        check_header(",a,", true, Some(&["", "a", ""]));
        let rest =
            |text: &'static [u8]| first_record(text, true, &CsvOptions::default()).unwrap().1;
        assert_eq!(rest(b"a,b\n1,2\n"), b"1,2\n");
        assert_eq!((rest(b"a,b").len(), rest(b"a,b\n\n").trim_ascii().len()), (0, 0));
    }

    fn meta(name: &str) -> ObjectMeta {
        ObjectMeta {
            location: Path::from(name),
            last_modified: DateTime::UNIX_EPOCH,
            size: 1,
            e_tag: None,
            version: None,
        }
    }

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn a_declared_column_is_in_its_place() {
        let said = |declared: &[&str], header: &[&str]| {
            let compared = compare_declared(&owned(declared), &meta("a.csv"), &owned(header));
            compared.map_err(|error| error.to_string()).err().unwrap_or_default()
        };
        let alike: [(&[&str], &[&str]); 7] = [
            (&["a", "b"], &["a", "b"]),
            (&["a", "b"], &["A", "B"]),
            // Columns may be declared to give them other names.
            (&["x", "y"], &["a", "b"]),
            (&["a", "y"], &["a", "b"]),
            (&["a", "c"], &["a", "a"]),
            (&["a", "b"], &["a"]),
            (&["a", "b"], &["1", "2"]),
        ];
        for (declared, header) in alike {
            assert_eq!(said(declared, header), "", "{declared:?}, {header:?}");
        }
        let swapped = said(&["a", "b"], &["b", "a"]);
        assert!(swapped.contains("`a.csv` has the column `a` in place 2 (b, a)"), "{swapped}");
        assert!(swapped.contains("declares it in place 1"), "{swapped}");
        assert!(said(&["a", "c"], &["a", "b", "C"]).contains("`c` in place 3 (a, b, C)"));
    }

    #[test]
    fn headers_are_compared_by_position() {
        let other = meta("b.csv");
        let said = |one: &[&str], two: &[&str], truncated_rows| {
            let options = CsvOptions { truncated_rows, ..CsvOptions::default() };
            let (one, two) = (owned(one), owned(two));
            let compared = compare(("`a.csv`", &one), (&other, &two), &options);
            compared.map_err(|error| error.to_string()).err().unwrap_or_default()
        };
        assert_eq!(said(&["a", "b"], &["a", "b"], None), "");
        assert!(
            said(&["a", "b"], &["b", "a"], None).contains("in another order (b, a) than `a.csv`")
        );
        assert!(said(&["a", "b"], &["a", "c"], None).contains("`b.csv` has other columns (a, c)"));
        assert!(said(&["a", "b"], &["a"], None).contains("other columns"));
        assert_eq!(said(&["a", "b"], &["a"], Some(true)), "");
    }
}
