//! The parts of an error that a user reads, and the chain of its causes.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::io;

use datafusion::common::DataFusionError;

use super::{ErrorKind, UserError};

/// The mark that makes the text of a number invalid if it has a point that is not the decimal separator.
pub(crate) const WITH_POINT: &str = " (with a point)";

/// The hint for a full disk or store where answers are written.
pub(super) const ROOM: &str = "Free some space, or write elsewhere.";

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

/// The kind, the message and the hint of an error.
pub(super) struct Description {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
    pub(super) hint: Option<Cow<'static, str>>,
}

impl From<UserError> for Description {
    fn from(UserError { kind, message, hint }: UserError) -> Self {
        Self { kind, message, hint: hint.map(Cow::Owned) }
    }
}

impl From<Description> for UserError {
    fn from(Description { kind, message, hint }: Description) -> Self {
        Self { kind, message, hint: hint.map(Cow::into_owned) }
    }
}

/// Returns a description with a hint.
pub(super) fn description(
    kind: ErrorKind,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> Description {
    let message = message.into();
    Description { kind, message, hint: Some(hint.into().into()) }
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
pub(crate) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.rsplit_once(": ") {
        Some((before, last)) => {
            let said = before.split(": ").filter(|part| !CLASSES.contains(part));
            said.chain([last]).collect::<Vec<_>>().join(": ")
        }
        None => line,
    }
}
