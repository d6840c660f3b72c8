//! Reading ranges of objects.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore};

/// The maximum number of bytes of an index or of a data object that one request fetches.
pub const PIECE_BYTES: u64 = 4 * 1024 * 1024;
/// The number of concurrent requests for an object, as in the paper.
pub const REQUESTS: usize = 16;

/// Fetches a range of one version of an object.
///
/// # Errors
///
/// If the range cannot be read, or the answer is shorter.
pub async fn get(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    e_tag: Option<&String>,
    range: Range<u64>,
) -> object_store::Result<Bytes> {
    let length = range.end - range.start;
    let options = GetOptions {
        range: Some(GetRange::Bounded(range)),
        if_match: e_tag.cloned(),
        ..GetOptions::default()
    };
    let bytes = store.get_opts(path, options).await?.bytes().await?;
    if bytes.len() as u64 != length {
        let source = format!("{path}: {} bytes came instead of {length}", bytes.len()).into();
        return Err(object_store::Error::Generic { store: "S3", source });
    }
    Ok(bytes)
}
