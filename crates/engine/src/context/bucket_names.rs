//! Names of buckets in locations.

use datafusion::common::Result;

use crate::context::error::{ErrorKind, UserError};

/// Refuses a name of a bucket that has more in it, such as a password, which is not repeated.
///
/// # Errors
///
/// If it has an `@` or a `:`.
pub(crate) fn check_bucket(name: &str) -> Result<()> {
    if !name.contains(['@', ':']) {
        return Ok(());
    }
    let bucket = name.rsplit_once('@').map_or("", |(_, bucket)| bucket);
    let shown = if bucket.contains(':') || bucket.is_empty() { "bucket" } else { bucket };
    Err(UserError {
        kind: ErrorKind::Plan,
        message: format!("a location has no user name, no password and no port: s3://{shown}/"),
        hint: Some(
            "Write it without, and give keys by AWS_ACCESS_KEY_ID or a profile, and the store by --endpoint."
                .to_owned(),
        ),
    }
    .into())
}
