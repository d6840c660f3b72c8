//! Hints and refusals that several sites share.

use super::{ErrorKind, UserError};

/// The hint for a store that does not answer.
pub(crate) const STALL_HINT: &str =
    "Check that the store is up, or wait longer: SET sluice.idle_timeout = '2min'.";

/// The hint for JSON that is one array of all rows.
pub(crate) const ARRAY: &str = "One array of all rows is read by read_json('…', newline_delimited => false), or with OPTIONS \
     ('format.newline_delimited' 'false').";

/// The hint for a value that does not parse.
pub(crate) const BAD_VALUE: &str = "Correct the value, or convert it with TRY_CAST, which gives NULL; a column of a file is declared as VARCHAR for that.";

/// The hint for a division by zero.
pub(crate) const ZERO: &str = "Make the divisor NULL where it is zero: NULLIF(x, 0).";

/// The message for a COPY that leaves no column to be written.
pub(crate) const NONE_LEFT: &str =
    "all columns are those that partition the objects, and none is left to be written in them";

/// The hint for [`NONE_LEFT`].
pub(crate) const LEAVE_ONE: &str = "Leave one out of PARTITIONED BY (…).";

/// Returns the error of an INSERT into a file, whose name may be empty if it is unknown.
pub(crate) fn insert_into_file(file: &str) -> UserError {
    let place = if file.is_empty() { "s3://bucket/key" } else { file };
    let what = if file.is_empty() { String::new() } else { format!(" '{file}'") };
    UserError {
        kind: ErrorKind::Unsupported,
        message: format!("INSERT INTO adds no rows to a file{what}: files are written as a whole"),
        hint: Some(format!(
            "COPY (SELECT …) TO '{place}' writes a file, with OPTIONS (overwrite true) in place of the one that is \
             there; INSERT INTO adds a file to a table of CREATE EXTERNAL TABLE whose LOCATION ends in /."
        )),
    }
}
