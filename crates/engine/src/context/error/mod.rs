//! Errors for users: a kind, one sentence, and a hint.
//!
//! Reading order:
//!
//! 1. `user_error`: errors that our own code raises. `kind`: the kinds.
//! 2. `describe`: turns the root cause of any error into a sentence (`description`). `store_errors` handles errors of
//!    stores, and `reword` handles messages of DataFusion and its parser.
//! 3. `hints` has the hints that several files use, `columns` has those for unknown columns, and `similarity`
//!    compares names for typing errors.
//! 4. `caused` and `damaged`: errors that keep their cause. `local_paths` restores the leading slash of local paths.

mod caused;
mod columns;
mod damaged;
mod describe;
mod description;
pub(crate) mod hints;
mod kind;
mod local_paths;
mod reword;
mod similarity;
mod store_errors;
mod user_error;

use std::error::Error as StdError;
use std::fmt;

use datafusion::common::DataFusionError;
use sluicegate_client::Error as StoreError;

pub(crate) use self::caused::Caused;
pub(crate) use self::damaged::{Damaged, is_damage};
pub(crate) use self::describe::is_of_store;
use self::description::Description;
pub(crate) use self::description::{WITH_POINT, one_line};
pub use self::kind::ErrorKind;
pub(crate) use self::local_paths::rooted;
pub(crate) use self::reword::with_suggestion;
pub use self::similarity::are_similar;
pub use self::user_error::UserError;
use crate::context::panics;
use sluicegate_guards::sql_types::readable;

/// Returns the error of a number whose point is no decimal separator, or `None` if the message is not about one.
pub(crate) fn with_point(message: &str) -> Option<UserError> {
    Some(reword::with_point(message)?.into())
}

/// Returns the error of a value that is none of its type, or of too many digits, or `None` if the message is not
/// about one.
pub(crate) fn of_value(message: &str) -> Option<UserError> {
    Some(reword::of_value(message)?.into())
}

/// Returns the error of a condition of a type that is not boolean.
pub(crate) fn not_a_condition(kind: &str) -> UserError {
    reword::not_a_condition(kind).into()
}

/// Returns the message of an error of a store, for use in the message of another error.
pub(crate) fn reason(error: &object_store::Error) -> String {
    store_errors::of_object_store(error).message
}

/// The error of a query, from its planning or its run.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    source: DataFusionError,
}

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl UserError {
    /// Describes an error to a user.
    #[must_use]
    pub fn from_error(error: DataFusionError) -> Self {
        let Error { kind, message, hint, .. } = error.into();
        Self { kind, message, hint }
    }
}

impl Error {
    /// Returns the error for a panic in `what`, such as `the query`.
    #[must_use]
    pub fn panicked(what: &str, panic: &(dyn std::any::Any + Send)) -> Self {
        panics::error(what, panic).into()
    }

    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns a hint on what to do, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Appends a sentence to the hint.
    pub(crate) fn and_hint(mut self, more: &str) -> Self {
        self.hint = Some(match self.hint {
            Some(hint) => format!("{hint} {more}"),
            None => more.to_owned(),
        });
        self
    }

    /// Returns the error as DataFusion reports it.
    #[must_use]
    pub fn datafusion(&self) -> &DataFusionError {
        &self.source
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.source)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        DataFusionError::External(Box::new(error)).into()
    }
}

impl From<DataFusionError> for Error {
    fn from(source: DataFusionError) -> Self {
        let Description { kind, message, hint } = describe::describe(&source);
        let message = rooted(&readable(&message)).into_owned();
        let hint = hint.map(|hint| readable(&hint).into_owned());
        Self { kind, message, hint, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::error::ArrowError;
    use datafusion::common::exec_datafusion_err;
    use datafusion::sql::sqlparser::parser::ParserError;
    use std::sync::Arc;

    #[track_caller]
    fn check(error: impl Into<DataFusionError>, kind: ErrorKind, hint: Option<&str>) {
        let error = error.into();
        // Operators and partitions wrap errors; a cause that is only text cannot be classified.
        let shared = DataFusionError::Shared(Arc::new(DataFusionError::Context(
            "while aggregating".to_owned(),
            Box::new(DataFusionError::External(error.to_string().into())),
        )));
        assert_eq!(Error::from(shared).kind(), ErrorKind::Other);
        let wrapped = DataFusionError::Shared(Arc::new(DataFusionError::Context(
            "while aggregating".to_owned(),
            Box::new(error),
        )));
        let error = Error::from(wrapped);
        assert_eq!(error.kind(), kind, "{error}");
        match hint {
            Some(part) => assert!(error.hint().unwrap().contains(part), "{:?}", error.hint()),
            None => assert_eq!(error.hint(), None, "{error}"),
        }
        assert!(!error.to_string().contains('\n'), "{error}");
    }

    fn arrow(error: ArrowError) -> DataFusionError {
        DataFusionError::ArrowError(Box::new(error), None)
    }

    #[test]
    fn errors_of_running_queries_have_kinds_and_hints() {
        check(arrow(ArrowError::DivideByZero), ErrorKind::Data, Some("NULLIF"));
        let overflow = ArrowError::ArithmeticOverflow("9 + 9".to_owned());
        check(arrow(overflow), ErrorKind::Data, Some("wider type"));
        let cast = ArrowError::CastError("Cannot cast string 'x' to value of Int64".to_owned());
        check(arrow(cast), ErrorKind::Data, Some("TRY_CAST"));
        let memory = DataFusionError::ResourcesExhausted("no room".to_owned());
        check(memory, ErrorKind::Resources, Some("--memory-limit"));
        let internal = DataFusionError::Internal("oh".to_owned());
        let said = Error::from(DataFusionError::Internal("oh".to_owned())).to_string();
        assert!(said.ends_with("oh"), "{said}");
        check(internal, ErrorKind::Internal, Some("a bug"));
        check(exec_datafusion_err!("it\ndid not work"), ErrorKind::Other, None);
        let disk = std::io::Error::from(std::io::ErrorKind::StorageFull);
        check(DataFusionError::IoError(disk), ErrorKind::Resources, Some("space"));
        let large = std::io::Error::from(std::io::ErrorKind::FileTooLarge);
        check(arrow(ArrowError::from(large)), ErrorKind::Resources, Some("ulimit -f"));
        let spilled = ArrowError::from(std::io::Error::from(std::io::ErrorKind::StorageFull));
        check(arrow(spilled), ErrorKind::Resources, Some("TMPDIR"));
    }

    #[test]
    fn errors_of_planning_have_kinds_and_hints() {
        let missing = Error::from(DataFusionError::NotImplemented("that".to_owned()));
        assert_eq!((missing.kind(), missing.hint()), (ErrorKind::Unsupported, None));
        assert_eq!(missing.to_string(), "that");
        check(DataFusionError::Configuration("no".to_owned()), ErrorKind::Setting, None);
        let table = DataFusionError::Plan("table 'x' not found".to_owned());
        check(table, ErrorKind::Plan, Some("CREATE EXTERNAL TABLE"));
    }

    #[test]
    fn messages_do_not_begin_with_the_class_of_the_error() {
        let said = |error: DataFusionError| Error::from(error).to_string();
        assert_eq!(said(DataFusionError::Plan("no such thing".to_owned())), "no such thing");
        let setting = DataFusionError::Configuration("sluice.scan is 'x'".to_owned());
        assert_eq!(said(setting), "sluice.scan is 'x'");
        assert_eq!(said(arrow(ArrowError::DivideByZero)), "Divide by zero error");
        let error = ParserError::ParserError("Expected: a statement".to_owned());
        let syntax = DataFusionError::SQL(Box::new(error), None);
        assert_eq!(said(syntax), "syntax error: Expected: a statement");
        // Classes of nested errors are removed, too.
        let inner = exec_datafusion_err!("1 bytes came instead of 2");
        let outer = arrow(ArrowError::ExternalError(Box::new(inner)));
        assert_eq!(said(outer), "1 bytes came instead of 2");
        let told = exec_datafusion_err!("of t: External error: Execution error: it is gone");
        assert_eq!(said(told), "of t: it is gone");
    }

    #[test]
    fn a_url_without_a_store_is_no_bug() {
        let text = "No suitable object store found for https://a.b/. See `RuntimeEnv`";
        let error = Error::from(DataFusionError::Internal(text.to_owned()));
        assert_eq!(error.kind(), ErrorKind::Setting);
        assert_eq!(error.to_string(), "no object store is known for `https://a.b/`");
    }

    #[test]
    fn the_name_of_a_bucket_is_found_at_fault() {
        let failed = |body: &str| {
            let text = format!(
                "Error performing GET http://host/b/x.csv in 1ms - 400 Bad Request: {body}"
            );
            let error = object_store::Error::Generic { store: "S3", source: text.into() };
            Error::from(DataFusionError::ObjectStore(Box::new(error)))
        };
        // The answer to a HEAD has no body with the code.
        for body in ["<Error><Code>InvalidBucketName</Code></Error>", ""] {
            let error = failed(body);
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
            assert_eq!(error.to_string(), "`b` cannot be the name of a bucket");
        }
    }

    #[test]
    fn a_request_that_failed_is_told_without_the_patience_of_a_library() {
        let said = |text: &str| {
            let error = object_store::Error::Generic { store: "S3", source: text.into() };
            Error::from(DataFusionError::ObjectStore(Box::new(error))).to_string()
        };
        let tried = "Error performing GET http://h:1/b/k in 5ms, after 4 retries, max_retries: 4, \
                     retry_timeout: 86400s  - ";
        let status = "Server returned non-2xx status code: 503 Service Unavailable: ";
        let expected =
            "the store at http://h:1 answered 503 Service Unavailable, also after 4 retries";
        assert_eq!(said(&format!("{tried}{status}")), expected);
        let expected = "GET http://h:1/b/k failed: it is odd";
        assert_eq!(
            said("Error performing GET http://h:1/b/k in 5ms - HTTP error: it is odd"),
            expected
        );
        assert_eq!(said("it is odd"), "Generic S3 error: it is odd");
    }

    #[test]
    fn errors_of_the_store_keep_their_hints() {
        let (bucket, key) = ("b".to_owned(), "k".to_owned());
        let store = |error: StoreError| DataFusionError::External(Box::new(error));
        let missing = StoreError::NotFound { bucket: bucket.clone(), key: key.clone() };
        check(store(missing), ErrorKind::NotFound, Some("case-sensitive"));
        let changed = StoreError::ObjectChanged { bucket, key };
        check(store(changed), ErrorKind::Changed, Some("again"));
        check(store(StoreError::NoCredentials), ErrorKind::Access, Some("AWS_ACCESS_KEY_ID"));
        let missing = object_store::Error::NotFound { path: "k".to_owned(), source: "gone".into() };
        check(DataFusionError::ObjectStore(Box::new(missing)), ErrorKind::NotFound, Some("key"));
    }
}
