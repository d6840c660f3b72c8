//! Errors as a user reads them: one sentence, a hint and an exit code.

use std::error::Error;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::error::ArrowError;
use datafusion::common::DataFusionError;
use parquet::errors::ParquetError;

use crate::output::escape::visible;

/// True if failures are reported with their origins.
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Makes all later reports include the origin of a failure.
pub(crate) fn report_origins() {
    VERBOSE.store(true, Ordering::Relaxed);
}

/// The result of this crate's functions.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// The reason why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command failed. Exit code 1.
    Failed {
        /// One sentence that describes the failure.
        message: String,
        /// Advice to the user, if there is any.
        hint: Option<String>,
        /// The message of the library that failed, for `--verbose`; `None` if the failure is this crate's own.
        origin: Option<String>,
    },
    /// The arguments do not go together. Exit code 2, like arguments that clap refuses.
    Usage(String),
    /// The process got a signal to stop, and ends with this exit code.
    Stopped(u8),
    /// The reader of the output closed it, which is not an error.
    NobodyReads,
}

impl Failure {
    /// Creates a failure without a hint.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), hint: None, origin: None }
    }

    /// Replaces the hint of the failure.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        match self {
            Self::Failed { message, origin, .. } => {
                Self::Failed { message, hint: Some(hint.into()), origin }
            }
            other => other,
        }
    }

    /// Puts the place where the failure happened before its message.
    pub(crate) fn at(self, place: &str) -> Self {
        match self {
            Self::Failed { message, hint, origin } => {
                Self::Failed { message: format!("{place}: {message}"), hint, origin }
            }
            other => other,
        }
    }

    /// Adds `lines` to the line number of a syntax error, for a statement that begins so many lines further down in
    /// its text.
    pub(crate) fn lower(self, lines: usize) -> Self {
        const SYNTAX_ERROR_PREFIX: &str = "syntax error at line ";
        match self {
            Self::Failed { message, hint, origin } => {
                let moved = message.strip_prefix(SYNTAX_ERROR_PREFIX).and_then(|rest| {
                    let (line, rest) = rest.split_once(',')?;
                    Some(format!(
                        "{SYNTAX_ERROR_PREFIX}{},{rest}",
                        line.parse::<usize>().ok()? + lines
                    ))
                });
                Self::Failed { message: moved.unwrap_or(message), hint, origin }
            }
            other => other,
        }
    }

    /// Describes an I/O error of the file at `path`.
    pub(crate) fn file(path: &std::path::Path, error: io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => Some("Check the path."),
            io::ErrorKind::PermissionDenied => Some("Check its permissions."),
            _ => None,
        };
        let failure = Self::from(error).at(&format!("`{}`", path.display()));
        match hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }

    /// Returns the message and the hint, for an HTML page.
    pub(crate) fn words(&self) -> (String, Option<String>) {
        match self {
            Self::Failed { message, hint, .. } => (message.clone(), hint.clone()),
            Self::Usage(message) => (message.clone(), None),
            Self::Stopped(_) => ("it was stopped".to_owned(), None),
            Self::NobodyReads => ("nobody read the answer".to_owned(), None),
        }
    }

    /// Writes the failure to stderr and returns its exit code.
    pub(crate) fn report(&self) -> u8 {
        let (text, code) = match self {
            Self::Failed { message, hint, origin } => {
                let hint = hint.as_ref().map_or(String::new(), |hint| format!("hint: {hint}\n"));
                let origin = origin.as_ref().filter(|_| VERBOSE.load(Ordering::Relaxed));
                let origin = origin.map_or(String::new(), |text| format!("origin: {text}\n"));
                (format!("error: {message}\n{hint}{origin}"), 1)
            }
            Self::Usage(message) => (format!("error: {message}\nhint: See --help.\n"), 2),
            Self::Stopped(code) => (String::new(), *code),
            Self::NobodyReads => (String::new(), 0),
        };
        // If stderr is closed, only the exit code reports the failure.
        drop(io::stderr().write_all(visible(&text).as_bytes()));
        code
    }
}

/// Joins an error and its causes into one sentence; repeated text is left out.
fn sentence(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    without_codes(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Removes the numbers of system errors, ` (os error 2)`, from a message: the words before them suffice.
pub(crate) fn without_codes(text: &str) -> String {
    const CODE: &str = " (os error ";
    let mut parts = text.split(CODE);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((code, rest)) if code.parse::<i32>().is_ok() => kept += rest,
            _ => {
                kept += CODE;
                kept += part;
            }
        }
    }
    kept
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            io::ErrorKind::StorageFull => {
                Self::new("the disk is full").with_hint("Free some space, or write elsewhere.")
            }
            io::ErrorKind::FileTooLarge => DataFusionError::IoError(error).into(),
            _ => Self::new(sentence(&error)),
        }
    }
}

/// Returns the failure of a writer whose disk is full or whose file exceeds the size limit of the process; `None` for
/// any other error.
fn full_disk(error: &(dyn Error + 'static)) -> Option<Failure> {
    let mut next = Some(error);
    while let Some(error) = next {
        let io = error.downcast_ref::<io::Error>();
        let kind = io.map(io::Error::kind);
        if let Some(kind @ (io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge)) = kind {
            return Some(io::Error::from(kind).into());
        }
        // An I/O error that wraps another error returns that error's source as its own, so the wrapped one is visited
        // here.
        next = match io.and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

impl From<sluicegate_engine::Error> for Failure {
    fn from(error: sluicegate_engine::Error) -> Self {
        Self::Failed {
            message: without_codes(&error.to_string()),
            hint: error.hint().map(str::to_owned),
            origin: Some(sentence(error.datafusion())),
        }
    }
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Self {
        sluicegate_engine::Error::from(error).into()
    }
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        full_disk(&error).unwrap_or_else(|| Self::new(sentence(&error)))
    }
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Self {
        full_disk(&error).unwrap_or_else(|| Self::new(sentence(&error)))
    }
}

impl From<sluicegate_server::Error> for Failure {
    fn from(error: sluicegate_server::Error) -> Self {
        use sluicegate_server::Error as E;
        match &error {
            E::AddressInUse { address } => {
                Self::new(format!("{address} is in use by another program"))
                    .with_hint("Listen elsewhere: --listen 127.0.0.1:0 takes any free port.")
            }
            E::FolderMissing { path } => {
                Self::new(format!("the folder {} does not exist", path.display()))
                    .with_hint("Check the path, or make it with --create.")
            }
            E::FolderInUse { .. } => Self::new(sentence(&error))
                .with_hint("Use that server, or stop it: two would not see each other's locks."),
            _ => Self::new(sentence(&error)),
        }
    }
}

impl From<sluicegate_workloads::Error> for Failure {
    fn from(error: sluicegate_workloads::Error) -> Self {
        use sluicegate_workloads::Error as E;
        let hint = match &error {
            E::Occupied { .. } => "Delete what is there, or generate elsewhere.",
            // The scale is an argument, whichever data set it does not fit.
            E::Scale { .. } => {
                let published = "1 is the published size, some GB of CSV";
                return Self::Usage(format!("{}; {published}", sentence(&error)));
            }
            // The engine translates errors of the store.
            E::Store { path, source: _ } => {
                let place = format!("cannot write `{path}`");
                let E::Store { source, .. } = error else { return Self::new(place) };
                return Self::from(DataFusionError::ObjectStore(Box::new(source))).at(&place);
            }
            _ => return Self::new(sentence(&error)),
        };
        Self::new(sentence(&error)).with_hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_error() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(matches!(failure, Failure::NobodyReads));
    }

    #[test]
    fn a_full_disk_is_told_in_the_same_words_however_it_is_wrapped() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let parquet = ParquetError::External(Box::new(full()));
        for failure in [
            Failure::from(full()),
            Failure::from(parquet),
            Failure::from(ArrowError::from(full())),
            Failure::from(ParquetError::External(Box::new(io::Error::other(full())))),
        ] {
            let (message, hint) = failure.words();
            assert_eq!(message, "the disk is full");
            assert_eq!(hint.as_deref(), Some("Free some space, or write elsewhere."));
        }
    }

    #[test]
    fn a_file_that_is_too_large_names_the_limit() {
        let large = || io::Error::from(io::ErrorKind::FileTooLarge);
        for failure in [Failure::from(large()), Failure::from(ArrowError::from(large()))] {
            let (message, hint) = failure.words();
            assert_eq!(message, "the file would be larger than this process may write");
            assert!(hint.is_some_and(|hint| hint.contains("ulimit -f")));
        }
    }

    #[test]
    fn numbers_of_system_errors_are_left_out() {
        for (text, expected) in [
            ("`a`: No such file (os error 2); see (b)", "`a`: No such file; see (b)"),
            ("a (os error 2): b (os error -3)", "a: b"),
            ("a (os error x), (os error 2", "a (os error x), (os error 2"),
        ] {
            assert_eq!(without_codes(text), expected);
        }
        let failure = Failure::file(std::path::Path::new("x"), io::Error::from_raw_os_error(2));
        let (message, hint) = failure.words();
        assert_eq!(message, "`x`: No such file or directory");
        assert_eq!(hint.as_deref(), Some("Check the path."));
    }

    #[test]
    fn a_message_is_one_line_and_keeps_its_hint() {
        let failure = Failure::from(io::Error::other("two\n  lines"));
        let Failure::Failed { message, hint, .. } = failure.with_hint("Wait.").at("here") else {
            panic!("not a failure");
        };
        assert_eq!(message, "here: two lines");
        assert_eq!(hint.as_deref(), Some("Wait."));
    }
}
