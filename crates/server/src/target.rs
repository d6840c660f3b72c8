//! The target of a request: the bucket or object, and the parameters.

use std::borrow::Cow;

use http::Uri;
use percent_encoding::percent_decode_str;
use s3s::path::{S3Path, parse_path_style};

/// Returns the bucket or object; `None` if the path is not valid.
pub(crate) fn path(uri: &Uri) -> Option<S3Path> {
    parse_path_style(&percent_decode_str(uri.path()).decode_utf8_lossy()).ok()
}

/// Returns the names and values in the query.
pub(crate) fn parameters(uri: &Uri) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let decoded = |text| percent_decode_str(text).decode_utf8_lossy();
    let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    pairs.map(move |pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), decoded(value))
    })
}

/// Returns true if the query has one of these names.
pub(crate) fn has_parameter(uri: &Uri, names: &[&str]) -> bool {
    parameters(uri).any(|(name, _)| names.contains(&&*name))
}
