//! Reading ranges of objects.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore};

/// The most bytes of an index or of a data object that one request asks for.
pub const PIECE_BYTES: u64 = 4 * 1024 * 1024;
/// Requests about an object that are under way at once: the paper's.
pub const REQUESTS: usize = 16;

/// A range of an object in one version.
///
/// # Errors
///
/// If it cannot be read, or is shorter.
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
