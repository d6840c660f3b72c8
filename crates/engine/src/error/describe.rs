//! Describes an error to a user by its root cause.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::io;

use arrow::error::ArrowError;
use datafusion::common::{DataFusionError, SchemaError};
use datafusion::sql::sqlparser::parser::ParserError;
use sluicegate_client::Error as StoreError;
use sluicegate_client::text_times::TIME_OF_DAY;

use super::ErrorKind;
use super::columns::{each_once, unlike_column};
use super::of_store::{MISSING_KEY, of_client, of_object_store};
use super::reword::{cast, of_value, reword, with_point};
use super::told::Told;
use crate::checked::Damaged;
use crate::csv_options::BadEncoding;
use crate::datasource::named::{BadRecord, PART};
use crate::datasource::record_limit::LongRecord;
use crate::datasource::whole_numbers::UnexpectedFraction;
use crate::datasource::whole_records::CutInValue;
use crate::decompressed::NotCompressed;
use crate::json_columns::APART;
use crate::merged_columns::LEAVE_OUT;
use crate::misanswer::Misanswer;
use crate::silence::Silence;
use crate::staging::only_new::Appeared;
use crate::staging::outcome::UnknownOutcome;

/// The kind, the message and the hint of an error.
pub(super) struct Description {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
    pub(super) hint: Option<Cow<'static, str>>,
}

impl From<Told> for Description {
    fn from(Told { kind, message, hint }: Told) -> Self {
        Self { kind, message, hint: hint.map(Cow::Owned) }
    }
}

/// Returns whether bytes did not match the checksum that the store sent.
pub(crate) fn is_damage(error: &DataFusionError) -> bool {
    find::<Damaged>(error).is_some()
}

/// Returns whether the error came from a store.
pub(crate) fn is_of_store(error: &DataFusionError) -> bool {
    find::<object_store::Error>(error).is_some() || find::<StoreError>(error).is_some()
}

/// Describes an error of type `E` in the data, which has only one remedy.
fn data<E: StdError + 'static>(error: &DataFusionError, hint: &'static str) -> Option<Description> {
    let message = find::<E>(error)?.to_string();
    Some(Description { kind: ErrorKind::Data, message, hint: Some(hint.into()) })
}

pub(super) fn describe(error: &DataFusionError) -> Description {
    if let Some(told) = find::<Told>(error) {
        return told.clone().into();
    }
    let of_data = data::<Damaged>(error, DAMAGED)
        .or_else(|| data::<CutInValue>(error, LINE_ENDS))
        .or_else(|| data::<UnexpectedFraction>(error, FRACTION))
        .or_else(|| data::<LongRecord>(error, LongRecord::HINT))
        .or_else(|| data::<NotCompressed>(error, NOT_COMPRESSED))
        .or_else(|| data::<BadEncoding>(error, OTHER_ENCODING));
    if let Some(of_data) = of_data {
        return of_data;
    }
    if let Some(appeared) = find::<Appeared>(error) {
        let (kind, message) = (ErrorKind::Plan, appeared.to_string());
        return Description { kind, message, hint: Some(REPLACES.into()) };
    }
    if find::<io::Error>(error).is_some_and(|io| io.kind() == io::ErrorKind::FileTooLarge) {
        let message = "the file would be larger than this process may write".to_owned();
        return Description { kind: ErrorKind::Resources, message, hint: Some(FILE_SIZE.into()) };
    }
    if let Some(unknown) = find::<UnknownOutcome>(error) {
        let reason = of_object_store(&unknown.error).message;
        let message = format!("{unknown}: {reason}");
        return Description { kind: ErrorKind::Unavailable, message, hint: Some(OUTCOME.into()) };
    }
    if let Some(silence) = find::<Silence>(error) {
        let (kind, message) = (ErrorKind::Unavailable, silence.to_string());
        return Description { kind, message, hint: Some(SILENT.into()) };
    }
    if let Some(misanswer) = find::<Misanswer>(error) {
        let message = misanswer.to_string();
        return Description { kind: ErrorKind::Unavailable, message, hint: Some(NO_STORE.into()) };
    }
    if let Some(store) = find::<StoreError>(error) {
        return of_client(store);
    }
    if let Some(store) = find::<object_store::Error>(error) {
        if let Some(io) = find::<io::Error>(store)
            && io.kind() == io::ErrorKind::StorageFull
        {
            let message = "the disk is full".to_owned();
            return Description { kind: ErrorKind::Resources, message, hint: Some(ROOM.into()) };
        }
        return of_object_store(store);
    }
    if let Some(bad) = find::<BadRecord>(error) {
        let message = one_line(&bad.to_string());
        if let Some(described) = with_point(&message).or_else(|| of_value(&message)) {
            return described;
        }
        if message.starts_with("Divide by zero") {
            // The error is in an expression over the record rather than in reading it.
            return Description { kind: ErrorKind::Data, message, hint: Some(ZERO.into()) };
        }
        let fields = ["incorrect number of fields", "record "];
        let about_fields = fields.iter().any(|start| message.starts_with(start));
        let hint = match about_fields {
            false if bad.is_json() && message.contains("expected string got ") => TEXT,
            false if bad.is_json() && message.contains("expected { got [") => ARRAY,
            false if message.contains("unexpected leading content before '['") => APART,
            false if bad.is_json() && is_nested(&message) => LEAVE_OUT,
            // Records that span lines are cut where a part of a file ends. In a complete record, the value is wrong.
            false if bad.is_json() && message.contains(PART) && !message.contains(DECODED) => LINES,
            false if message.contains(TIME_OF_DAY) => TIME,
            // A part of a file may begin within a value; its records then have any number of fields.
            true if message.contains(PART) => LINE_ENDS_OR_FIELDS,
            true => BAD_FIELDS,
            false if !bad.is_json() && message.contains("Error while parsing value") => {
                UNLIKE_SAMPLE
            }
            false => BAD_VALUE,
        };
        return Description { kind: ErrorKind::Data, message, hint: Some(hint.into()) };
    }
    let root = error.find_root();
    if let DataFusionError::Internal(text) = root
        && let Some(store) = without_store(text)
    {
        return Description {
            kind: ErrorKind::Setting,
            message: format!("no object store is known for `{store}`"),
            hint: Some(instead_of(store).into()),
        };
    }
    let message = message(error);
    if message.contains("Error encountered while finalizing writes") {
        return Description {
            kind: ErrorKind::Resources,
            message: "what was written could not be completed".to_owned(),
            hint: Some("Check the room that is left where it is written, and run it again.".into()),
        };
    }
    // The Parquet reader keeps only the text of its cause.
    if let Some((_, rest)) = message.split_once("Request precondition failure for path ") {
        let object = rest.split_once(": ").map_or(rest, |(object, _)| object);
        let message = format!("`{object}` changed while it was being read");
        let hint = Some("Run the query again.".into());
        return Description { kind: ErrorKind::Changed, message, hint };
    }
    if let DataFusionError::ArrowError(arrow, _) = root
        && matches!(arrow.as_ref(), ArrowError::CastError(_))
        && let Some(described) = cast(&message)
    {
        return described;
    }
    if let Some(described) = reword(message.strip_prefix("syntax error: ").unwrap_or(&message)) {
        return described;
    }
    if message.contains("the store says nothing about") {
        return Description { kind: ErrorKind::Unavailable, message, hint: Some(SILENT.into()) };
    }
    if message.contains("found Array") || message.contains("expected { got [") {
        let hint = Some(ARRAY.into());
        return Description { kind: ErrorKind::Data, message, hint };
    }
    let (kind, hint) = of_datafusion(root);
    Description { kind, message, hint: hint.map(Cow::Borrowed) }
}

/// Returns whether a JSON value is an array or an object where the column has none, or the other way round.
fn is_nested(message: &str) -> bool {
    let is_expected = message.contains("expected [ got ") || message.contains("expected { got ");
    is_expected && message.contains("whilst decoding field")
}

/// Returns a hint for a URL that has no store.
fn instead_of(url: &str) -> &'static str {
    match url.split_once("://") {
        Some(("s3", _)) => "Name an object as s3://bucket/key.",
        Some(("s3a" | "s3n", _)) => "Write s3:// instead: s3://bucket/key.",
        Some(("gs" | "gcs", _)) => {
            "Google Cloud Storage speaks S3: --endpoint https://storage.googleapis.com, with HMAC keys, and \
             s3://bucket/key."
        }
        Some(("http" | "https", _)) => {
            "Name the store with --endpoint and the object as s3://bucket/key, or download it and name the \
             file by its path."
        }
        _ => "Name an object as s3://bucket/key, or a file by its path.",
    }
}

/// Returns the message without the classes that DataFusion puts first (`Error during planning: `), because
/// [`ErrorKind`] has that information.
fn message(error: &DataFusionError) -> String {
    match error.find_root() {
        DataFusionError::Plan(text)
        | DataFusionError::Configuration(text)
        | DataFusionError::Execution(text) => one_line(text),
        DataFusionError::SchemaError(error, _) => one_line(&each_once(error)),
        DataFusionError::SQL(error, _) => match error.as_ref() {
            ParserError::ParserError(text) | ParserError::TokenizerError(text) => {
                format!("syntax error: {}", one_line(text))
            }
            ParserError::RecursionLimitExceeded => "the statement nests too deeply".to_owned(),
        },
        DataFusionError::ArrowError(error, _) => one_line(&error.to_string()),
        DataFusionError::ParquetError(error) => {
            let text = error.to_string();
            one_line(text.strip_prefix("Parquet error: ").unwrap_or(&text))
        }
        _ => {
            // The backtrace of DataFusion is no part of the reason.
            let text = error.find_root().strip_backtrace();
            // Users should not report other errors as bugs of DataFusion.
            let (text, _) = text.split_once(INVITATION).unwrap_or((&text, ""));
            one_line(text).trim_end_matches('.').to_owned()
        }
    }
}

/// The end of errors that DataFusion takes for its own bugs.
const INVITATION: &str = "This issue was likely caused by a bug in DataFusion's code";

/// Returns the URL without an object store, which DataFusion reports as its own bug.
fn without_store(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("No suitable object store found for ")?;
    rest.split(". See ").next()
}

/// The classes that DataFusion and Arrow put before an error's message.
const CLASSES: [&str; 8] = [
    "Cast error",
    "Execution error",
    "Error during planning",
    "External error",
    "Object Store error",
    "Arrow error",
    "DataFusion error",
    "Invalid or Unsupported Configuration",
];

const DAMAGED: &str = "Run the query again: what was damaged on the way is not damaged every time. If it \
     is, the store has the object damaged.";

const NO_STORE: &str = "Check the endpoint, and what is between it and this machine.";
/// The hint if it is unknown whether an object was written.
const OUTCOME: &str = "Look whether the object is there before it is written again.";
/// The hint if an object appeared that COPY may not replace.
const REPLACES: &str = "OPTIONS (overwrite true) replaces it.";
const SILENT: &str =
    "Check that the store is up, or wait longer: SET sluice.idle_timeout = '2min'.";

const TIME: &str = "Read the column as TIMESTAMP: read_csv('…', types => {'column': 'TIMESTAMP'}), or CREATE EXTERNAL TABLE \
     t (column TIMESTAMP, …); CAST(column AS DATE) then leaves the time of day out.";

const UNLIKE_SAMPLE: &str = "Correct the value; or have more records tell the types, read_csv('…', sample_size => 1000000), or say one: \
     types => {'column': 'VARCHAR'}, and TRY_CAST gives NULL for what is no number. Where the columns are declared, declare it \
     as VARCHAR.";

const BAD_VALUE: &str = "Correct the value, or convert it with TRY_CAST, which gives NULL; a column of a file is declared as VARCHAR for that.";

const TEXT: &str = "Text is in quotes in JSON: write the value so; or declare the other columns, CREATE EXTERNAL TABLE t (…). Numbers \
     are text in a column whose first records have both: read_json('…', sample_size => 100000) looks at more.";

const ZERO: &str = "Make the divisor NULL where it is zero: NULLIF(x, 0).";

/// The text before an error in a JSON value.
const DECODED: &str = "whilst decoding field";

const LINES: &str = "Correct the value; or, if records are on several lines, have objects read as a whole: SET \
     sluice.scan = 'get'; SET datafusion.optimizer.repartition_file_scans = false.";

const BAD_FIELDS: &str = "Give every record as many fields as the table has columns. If some have \
     more, declare as many columns as the longest has: CREATE EXTERNAL TABLE t (…); the option \
     'format.truncated_rows' takes records with fewer.";

const LINE_ENDS: &str = "Say that values have line ends, so that files are not read in parts: read_csv('…', \
     newlines_in_values => true), or OPTIONS ('format.newlines_in_values' 'true').";

const LINE_ENDS_OR_FIELDS: &str = "If values have line ends, say so: read_csv('…', newlines_in_values => \
     true), or OPTIONS ('format.newlines_in_values' 'true'). Otherwise give every record as many fields as \
     the table has columns; the option 'format.truncated_rows' takes records with fewer.";

const ARRAY: &str = "One array of all rows is read by read_json('…', newline_delimited => false), or with OPTIONS \
     ('format.newline_delimited' 'false').";

const FRACTION: &str = "Declare the columns: CREATE EXTERNAL TABLE t (a DOUBLE, …) STORED AS JSON LOCATION '…'; \
     or have their types told by more records: read_json('…', sample_size => 1000000).";

const NOT_COMPRESSED: &str = "Check how it was compressed: its name, or the option 'format.compression', says \
     what it is read as.";

const OTHER_ENCODING: &str = "Name the encoding that it has: read_csv('…', encoding => 'latin-1'), 'windows-1252', 'utf-16' or 'utf-8'.";

const SAME_NAME: &str = "Give one of the columns another name: count(*) AS n.";

const LIKE_TEXT: &str = "LIKE compares texts: CAST(d AS VARCHAR) LIKE '2024%'.";

/// The text of a timestamp has a T between date and time of day.
const LIKE_INSTANT: &str = "LIKE compares texts: CAST(t AS VARCHAR) LIKE '2024-01-31T10%'.";

const SAME_TABLE: &str = "Give the tables names of their own: FROM t AS a JOIN t AS b.";

const WHOSE: &str = "Say of which table it is: a.id.";

const COLUMNS: &str = "Check the columns' names; quote a name that has capitals: \"Name\"; a text is between single \
     quotes: 'text'.";

/// The hint for a full disk or store where answers are written.
pub(super) const ROOM: &str = "Free some space, or write elsewhere.";

/// The hint for a limit on file sizes.
const FILE_SIZE: &str = "Raise the limit on the size of files (ulimit -f), or write to another file system: some have a \
     limit of their own.";

/// The hint for a full disk with the spill files of joins, sorts and aggregates.
const DISK: &str =
    "Free some space in the folder for temporary files, or name another one by TMPDIR.";

fn of_datafusion(root: &DataFusionError) -> (ErrorKind, Option<&'static str>) {
    match root {
        DataFusionError::SQL(..) => (ErrorKind::Syntax, None),
        DataFusionError::SchemaError(error, _) => (
            ErrorKind::Plan,
            Some(match error.as_ref() {
                SchemaError::DuplicateQualifiedField { .. } => SAME_TABLE,
                SchemaError::DuplicateUnqualifiedField { .. } => SAME_NAME,
                // A qualified field is one that the query computes twice; an unqualified one is a name in the query.
                SchemaError::AmbiguousReference { field } if field.relation.is_some() => SAME_NAME,
                SchemaError::AmbiguousReference { .. } => WHOSE,
                SchemaError::FieldNotFound { field, .. } => unlike_column(field).unwrap_or(COLUMNS),
            }),
        ),
        DataFusionError::Plan(text) if text.contains("in LIKE expression") => {
            let is_instant = text.contains("Timestamp");
            (ErrorKind::Plan, Some(if is_instant { LIKE_INSTANT } else { LIKE_TEXT }))
        }
        DataFusionError::Plan(text) if text.contains("not found") && text.contains("table") => (
            ErrorKind::Plan,
            Some(
                "CREATE EXTERNAL TABLE it, or name the object itself: FROM 's3://bucket/file.csv'.",
            ),
        ),
        // This error is about a table that is named by its URL.
        DataFusionError::Plan(text) if text.starts_with("there is no object") => {
            (ErrorKind::NotFound, Some(MISSING_KEY))
        }
        DataFusionError::Plan(_) => (ErrorKind::Plan, None),
        DataFusionError::Configuration(_) => (ErrorKind::Setting, None),
        DataFusionError::NotImplemented(_) => (ErrorKind::Unsupported, None),
        DataFusionError::ResourcesExhausted(_) => {
            (ErrorKind::Resources, Some("Give the query more memory: --memory-limit."))
        }
        DataFusionError::IoError(error) if error.kind() == io::ErrorKind::StorageFull => {
            (ErrorKind::Resources, Some(DISK))
        }
        DataFusionError::ParquetError(_) => (
            ErrorKind::Data,
            Some("The object is not a valid Parquet file; check how it was written."),
        ),
        DataFusionError::ArrowError(error, _) => of_arrow(error),
        DataFusionError::Internal(_) | DataFusionError::ExecutionJoin(_) => {
            (ErrorKind::Internal, Some("This is a bug: please report it with the query."))
        }
        _ => (ErrorKind::Other, None),
    }
}

fn of_arrow(error: &ArrowError) -> (ErrorKind, Option<&'static str>) {
    match error {
        ArrowError::IoError(_, error) if error.kind() == io::ErrorKind::StorageFull => {
            (ErrorKind::Resources, Some(DISK))
        }
        ArrowError::DivideByZero => (ErrorKind::Data, Some(ZERO)),
        ArrowError::ArithmeticOverflow(_) => {
            (ErrorKind::Data, Some("CAST to a wider type, such as DECIMAL(38, 2) or DOUBLE."))
        }
        ArrowError::CastError(_)
        | ArrowError::ParseError(_)
        | ArrowError::CsvError(_)
        | ArrowError::JsonError(_) => (ErrorKind::Data, Some(BAD_VALUE)),
        ArrowError::ParquetError(_) | ArrowError::ComputeError(_) => (ErrorKind::Data, None),
        ArrowError::NotYetImplemented(_) => (ErrorKind::Unsupported, None),
        ArrowError::MemoryError(_) => {
            (ErrorKind::Resources, Some("Give the query more memory: --memory-limit."))
        }
        _ => (ErrorKind::Other, None),
    }
}

/// Returns the first error of a type in a chain of causes.
pub(super) fn find<'a, T: StdError + 'static>(
    error: &'a (dyn StdError + 'static),
) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        // DataFusion shares errors among partitions; a shared error hides its chain.
        if let Some(DataFusionError::Shared(shared)) = error.downcast_ref::<DataFusionError>() {
            next = Some(shared.as_ref());
            continue;
        }
        // `source` of an `io::Error` skips the error that it wraps.
        if let Some(inner) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            next = Some(inner);
            continue;
        }
        next = error.source();
    }
    None
}

pub(super) fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    one_line(&error.to_string())
}

/// Joins a text into one line and removes the classes of nested errors.
pub(super) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.rsplit_once(": ") {
        Some((before, last)) => {
            let said = before.split(": ").filter(|part| !CLASSES.contains(part));
            said.chain([last]).collect::<Vec<_>>().join(": ")
        }
        None => line,
    }
}
