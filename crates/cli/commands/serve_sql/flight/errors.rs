//! Errors as clients of Flight receive them.

use arrow::error::ArrowError;
use arrow_flight::error::FlightError;
use datafusion::error::DataFusionError;
use sluicegate_postgres::{SqlError, state};
use tonic::{Code, Status};

use crate::commands::serve_sql::errors;

/// The most bytes of a message. It is sent in a header, whose size clients limit.
const MESSAGE_BYTES: usize = 3000;

/// Translates an error that all protocols share. The hint is on a line of its own.
pub(super) fn status(error: &SqlError) -> Status {
    let mut message = shortened(&error.message).to_owned();
    if let Some(hint) = &error.hint {
        message += "\nHint: ";
        message += shortened(hint);
    }
    Status::new(code(error.code), message)
}

/// Translates an error of a running statement.
pub(super) fn of_datafusion(error: DataFusionError) -> Status {
    status(&errors::of_engine(&error.into(), ""))
}

/// Translates an error of Arrow, which means that an answer could not be built.
pub(super) fn of_arrow(error: &ArrowError) -> Status {
    Status::internal(shortened(&error.to_string()).to_owned())
}

/// Translates an error of data that a client sent.
pub(super) fn of_received(error: FlightError) -> Status {
    match error {
        FlightError::Tonic(status) => *status,
        other => {
            let message = format!("the parameters cannot be read: {other}");
            Status::invalid_argument(shortened(&message).to_owned())
        }
    }
}

/// Refuses what the server does not offer.
pub(super) fn unsupported(what: &str, hint: &str) -> Status {
    let error = SqlError::new(state::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"));
    status(&error.with_hint(hint))
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(MESSAGE_BYTES)]
}

/// Returns gRPC's code of an SQLSTATE.
fn code(sqlstate: &str) -> Code {
    match sqlstate {
        state::UNDEFINED_TABLE | state::UNDEFINED_FILE | state::UNDEFINED_STATEMENT => {
            Code::NotFound
        }
        state::INSUFFICIENT_PRIVILEGE | state::READ_ONLY => Code::PermissionDenied,
        state::FEATURE_NOT_SUPPORTED => Code::Unimplemented,
        state::IO_ERROR => Code::Unavailable,
        state::SERIALIZATION_FAILURE => Code::Aborted,
        state::QUERY_CANCELED => Code::DeadlineExceeded,
        state::INVALID_PASSWORD => Code::Unauthenticated,
        other => match &other[..2] {
            "42" | "22" | "26" => Code::InvalidArgument,
            "53" | "54" => Code::ResourceExhausted,
            "XX" => Code::Internal,
            _ => Code::Unknown,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_keep_their_hint_and_fit_into_a_header() {
        let error = SqlError::new(state::READ_ONLY, "é".repeat(5000)).with_hint("Do it.");
        let status = status(&error);
        assert_eq!(status.code(), Code::PermissionDenied);
        assert!(status.message().ends_with("é\nHint: Do it."), "{}", status.message());
        assert!(status.message().len() < MESSAGE_BYTES + 20);
    }

    #[test]
    fn kinds_of_errors_have_codes() {
        for (sqlstate, expected) in [
            (state::SYNTAX_ERROR, Code::InvalidArgument),
            (state::UNDEFINED_COLUMN, Code::InvalidArgument),
            (state::UNDEFINED_TABLE, Code::NotFound),
            (state::LIMIT_EXCEEDED, Code::ResourceExhausted),
            (state::TOO_MANY_CONNECTIONS, Code::ResourceExhausted),
            (state::QUERY_CANCELED, Code::DeadlineExceeded),
            (state::DATA_EXCEPTION, Code::InvalidArgument),
            (state::SYSTEM_ERROR, Code::Unknown),
        ] {
            assert_eq!(code(sqlstate), expected, "{sqlstate}");
        }
    }
}
