//! A check that a store answers and accepts the credentials.

use std::time::Duration;

use sluicegate_client::{Client, Error};

use super::calibrated_hardware::place;

/// Timeout of the check.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Lists the store's buckets. Returns their number, or `None` if the store refuses to list them.
///
/// # Errors
///
/// The problem and a hint.
pub(crate) async fn check_reachable(
    client: &Client,
) -> Result<Option<usize>, (String, &'static str)> {
    let place = place(client);
    match tokio::time::timeout(TIMEOUT, client.buckets()).await {
        Ok(Ok(buckets)) => Ok(Some(buckets.len())),
        // The store answered, and may allow other requests.
        Ok(Err(Error::AccessDenied { code, .. })) if code == "AccessDenied" => Ok(None),
        Ok(Err(error)) => Err((named(&place, &error), error.hint())),
        Err(_) => Err((
            format!("{place} has not answered for {} s", TIMEOUT.as_secs()),
            "Check the endpoint and the network.",
        )),
    }
}

fn is_of_no_store(error: &Error) -> bool {
    matches!(
        error,
        Error::NoCredentials
            | Error::HalfKeyPair { .. }
            | Error::NoProfile { .. }
            | Error::InvalidEndpoint
            | Error::NoScheme { .. }
            | Error::NoHost { .. }
    )
}

/// Describes the error of a request, and names the store.
pub(crate) fn named(place: &str, error: &Error) -> String {
    let text = error.to_string();
    // Some errors are not about a store; others name it themselves.
    match text.contains(place) || is_of_no_store(error) {
        true => text,
        false => format!("{place}: {text}"),
    }
}

/// Formats the number of buckets: `, 2 buckets`, or nothing if it is unknown.
pub(crate) fn buckets_words(buckets: Option<usize>) -> String {
    match buckets {
        Some(1) => ", 1 bucket".to_owned(),
        Some(several) => format!(", {several} buckets"),
        None => String::new(),
    }
}
