//! A bucket or a folder as an argument.

use std::path::PathBuf;
use std::str::FromStr;

use object_store::path::Path;

/// The destination of generated objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    /// A folder of a bucket: `s3://bucket/prefix`.
    Bucket {
        /// The name of the bucket.
        bucket: String,
        /// The folder in the bucket; may be empty.
        prefix: Path,
    },
    /// A folder on this machine.
    Folder(PathBuf),
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || format!("`{text}` is not s3://bucket/prefix or a folder");
        let Some(rest) = text.strip_prefix("s3://") else {
            if text.is_empty() || text.contains("://") {
                return Err(error());
            }
            return Ok(Self::Folder(PathBuf::from(text)));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(error());
        }
        let prefix = Path::parse(prefix.trim_end_matches('/')).map_err(|_| error())?;
        Ok(Self::Bucket { bucket: bucket.to_owned(), prefix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_read_from_text() {
        let bucket = |bucket: &str, prefix: &str| {
            Some(Destination::Bucket { bucket: bucket.to_owned(), prefix: Path::from(prefix) })
        };
        for (text, expected) in [
            ("s3://b", bucket("b", "")),
            ("s3://b/", bucket("b", "")),
            ("s3://b/x/y/", bucket("b", "x/y")),
            ("./data", Some(Destination::Folder("./data".into()))),
            ("s3://", None),
            ("s3:///x", None),
            ("gs://b", None),
            ("", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }
}
