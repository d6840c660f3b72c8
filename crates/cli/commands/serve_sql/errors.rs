//! Errors as clients receive them.

use sluicegate_engine::{Error, ErrorKind};
use sluicegate_postgres::{SqlError, state};

use crate::failure::{Failure, without_codes};

/// Translates an error of the engine. A place in the statement becomes a position in `sql`.
pub(super) fn of_engine(error: &Error, sql: &str) -> SqlError {
    let message = without_codes(&error.to_string());
    let position = position(&message, sql);
    let translated = SqlError::new(code(error.kind(), &message), message);
    let translated = match error.hint() {
        Some(hint) => translated.with_hint(hint),
        None => translated,
    };
    SqlError { position, ..translated }
}

/// Translates a failure of this crate.
pub(super) fn of_failure(failure: &Failure) -> SqlError {
    let (message, hint) = failure.words();
    let error = SqlError::new(state::SYSTEM_ERROR, message);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Returns the SQLSTATE of an error.
fn code(kind: ErrorKind, message: &str) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    match kind {
        ErrorKind::Syntax => state::SYNTAX_ERROR,
        ErrorKind::Plan if has(&["GROUP BY"]) => state::GROUPING_ERROR,
        ErrorKind::Plan if has(&["table"]) && has(&["not found", "there is no", "no table"]) => {
            state::UNDEFINED_TABLE
        }
        ErrorKind::Plan if has(&["No field named", "no column", "column '", "column `"]) => {
            state::UNDEFINED_COLUMN
        }
        // Operators count as functions.
        ErrorKind::Plan if has(&["there is no "]) => state::UNDEFINED_FUNCTION,
        ErrorKind::Plan => state::SYNTAX_OR_ACCESS,
        ErrorKind::Setting => state::INVALID_PARAMETER,
        ErrorKind::Unsupported => state::FEATURE_NOT_SUPPORTED,
        ErrorKind::NotFound => state::UNDEFINED_FILE,
        ErrorKind::Access => state::INSUFFICIENT_PRIVILEGE,
        // Codes of class 08 are about the client's own connection.
        ErrorKind::Unavailable => state::IO_ERROR,
        ErrorKind::Changed => state::SERIALIZATION_FAILURE,
        ErrorKind::Data => state::DATA_EXCEPTION,
        ErrorKind::Resources => state::INSUFFICIENT_RESOURCES,
        ErrorKind::Internal => state::INTERNAL_ERROR,
        _ => state::SYSTEM_ERROR,
    }
}

/// Returns the position of an error `… at line 2, column 5: …`, in characters from 1.
fn position(message: &str, sql: &str) -> Option<usize> {
    let (_, rest) = message.split_once("at line ")?;
    let (line, rest) = rest.split_once(", column ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (line, column): (usize, usize) = (line.parse().ok()?, rest[..digits].parse().ok()?);
    let before = sql.split_inclusive('\n').take(line.checked_sub(1)?);
    let before: usize = before.map(|line| line.chars().count()).sum();
    let position = before + column;
    (column > 0 && position <= sql.chars().count() + 1).then_some(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_become_positions() {
        let message = "syntax error at line 2, column 3: Expected: an expression";
        assert_eq!(position(message, "SELÉCT\nab c"), Some(10));
        assert_eq!(position("at line 9, column 9", "SELECT"), None);
        assert_eq!(position("no place", "SELECT"), None);
    }

    #[test]
    fn kinds_have_codes_of_their_own() {
        assert_eq!(code(ErrorKind::Plan, "table 'x' not found"), "42P01");
        assert_eq!(code(ErrorKind::Plan, "there is no column `x`"), "42703");
        assert_eq!(code(ErrorKind::Plan, "No field named x. Valid fields are a."), "42703");
        assert_eq!(code(ErrorKind::Plan, "there is no VARCHAR + BIGINT"), "42883");
        assert_eq!(code(ErrorKind::Plan, "a is neither in GROUP BY nor in an aggregate"), "42803");
        assert_eq!(code(ErrorKind::Syntax, ""), "42601");
        assert_eq!(code(ErrorKind::Access, ""), "42501");
    }
}
