//! Whether a store answers, and accepts the credentials.

use std::time::Duration;

use sluicegate_client::{Client, Error};

use super::calibrated::place;

/// How long the store may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks the store for its buckets. Returns their number, unless it keeps that to itself; or else what is
/// wrong, and what to do about it.
pub(crate) async fn ask(client: &Client) -> Result<Option<usize>, (String, &'static str)> {
    let place = place(client);
    match tokio::time::timeout(PATIENCE, client.buckets()).await {
        Ok(Ok(buckets)) => Ok(Some(buckets.len())),
        // It answers, and other requests may be allowed.
        Ok(Err(Error::AccessDenied { code, .. })) if code == "AccessDenied" => Ok(None),
        Ok(Err(error)) => Err((named(&place, &error), error.hint())),
        Err(_) => Err((
            format!("{place} has not answered for {} s", PATIENCE.as_secs()),
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

/// The error of a request to a store, which it names.
pub(crate) fn named(place: &str, error: &Error) -> String {
    let text = error.to_string();
    // Some errors are of no store, others name it themselves.
    match text.contains(place) || is_of_no_store(error) {
        true => text,
        false => format!("{place}: {text}"),
    }
}

/// `, 2 buckets`, or nothing if their number is not known.
pub(crate) fn buckets_words(buckets: Option<usize>) -> String {
    match buckets {
        Some(1) => ", 1 bucket".to_owned(),
        Some(several) => format!(", {several} buckets"),
        None => String::new(),
    }
}
