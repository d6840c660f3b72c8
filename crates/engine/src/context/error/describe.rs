//! Describes an error to a user by its root cause.

use std::borrow::Cow;
use std::io;

use arrow::error::ArrowError;
use datafusion::common::{DataFusionError, SchemaError};
use datafusion::sql::sqlparser::parser::ParserError;
use sluicegate_client::Error as StoreError;

use super::ErrorKind;
use super::caused::Caused;
use super::columns::{each_once, other_case, unlike_column};
use super::description::{Description, ROOM, find, one_line};
use super::hints::{ARRAY, BAD_VALUE, STALL_HINT, ZERO};
use super::reword::{cast, reword};
use super::store_errors::{MISSING_KEY, of_client, of_object_store};
use super::user_error::UserError;

/// Returns whether the error came from a store.
pub(crate) fn is_of_store(error: &DataFusionError) -> bool {
    find::<object_store::Error>(error).is_some() || find::<StoreError>(error).is_some()
}

pub(super) fn describe(error: &DataFusionError) -> Description {
    // The outer error counts, also if its cause is for users.
    if let Some(caused) = find::<Caused>(error) {
        return caused.error.clone().into();
    }
    if let Some(told) = find::<UserError>(error) {
        return told.clone().into();
    }
    if find::<io::Error>(error).is_some_and(|io| io.kind() == io::ErrorKind::FileTooLarge) {
        let message = "the file would be larger than this process may write".to_owned();
        return Description { kind: ErrorKind::Resources, message, hint: Some(FILE_SIZE.into()) };
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
        return Description {
            kind: ErrorKind::Unavailable,
            message,
            hint: Some(STALL_HINT.into()),
        };
    }
    if message.contains("found Array") || message.contains("expected { got [") {
        let hint = Some(ARRAY.into());
        return Description { kind: ErrorKind::Data, message, hint };
    }
    let (kind, hint) = of_datafusion(root);
    let named = match root {
        DataFusionError::SchemaError(error, _) => other_case(error),
        _ => None,
    };
    Description { kind, message, hint: named.map(Cow::Owned).or(hint.map(Cow::Borrowed)) }
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

const SAME_NAME: &str = "Give one of the columns another name: count(*) AS n.";

const SAME_TABLE: &str = "Give the tables names of their own: FROM t AS a JOIN t AS b.";

const WHOSE: &str = "Say of which table it is: a.id.";

const COLUMNS: &str = "Check the columns' names; quote a name that has capitals: \"Name\"; a text is between single \
     quotes: 'text'.";

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
