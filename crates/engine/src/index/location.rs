//! The names and locations of index objects.
//!
//! The index of the column `price` of `s3://bucket/t/a.csv` is
//! `s3://bucket/.sluice-index/t/a.csv/_price.0123456789abcdef.fedcba9876543210.idx`. It is below a folder that
//! mirrors the bucket. Its name consists of the column, a tag for the version of the data object (its entity tag and
//! size), and a tag for the format (the options of the table, the type of the column, the version of the layout). The
//! underscore hides the name from readers of folders, ours and others.
//!
//! With a location of its own, `s3://indexes/here/`, it is `s3://indexes/here/bucket/t/a.csv/_price.….idx`.

use datafusion::common::{Result, config_err};
use datafusion::execution::object_store::ObjectStoreUrl;
use object_store::ObjectMeta;
use object_store::path::{Path, PathPart};
use percent_encoding::percent_decode_str;
use sluicegate_index::name::{FOLDER, Name, Tag};
use url::Url;

use crate::context::index_location::IndexLocation;
use crate::store::endpoints::bucket_of;

/// Returns the tag in names for a version of a data object, or `None` if its store has no entity tags.
#[must_use]
pub fn version_of(object: &ObjectMeta) -> Option<Tag> {
    Some(Tag::of_version(e_tag(object)?, object.size))
}

/// Returns the entity tag of an object without quotes. Some stores quote it in headers but not in listings.
#[must_use]
pub fn e_tag(object: &ObjectMeta) -> Option<&str> {
    object.e_tag.as_deref().map(|tag| tag.trim_matches('"'))
}

/// The location of the indexes of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexRoot {
    /// The bucket that contains the indexes.
    pub store: ObjectStoreUrl,
    root: Path,
}

impl IndexRoot {
    /// Returns the location of the indexes of `data`, a bucket, where `location` is the session's
    /// `sluice.index_location`: empty, or a URL.
    ///
    /// # Errors
    ///
    /// If the location is not a URL of a bucket or of a folder in one.
    pub fn for_bucket(data: &ObjectStoreUrl, location: &str) -> Result<Self> {
        if location.is_empty() {
            return Ok(Self { store: data.clone(), root: Path::from(FOLDER) });
        }
        location.parse::<IndexLocation>()?;
        let url = Url::parse(location).ok().filter(|url| url.scheme() == "s3");
        let bucket = url.as_ref().and_then(Url::host_str);
        let (Some(url), Some(bucket)) = (&url, bucket) else {
            return config_err!(
                "sluice.index_location is '{location}', but must be empty or like s3://bucket/folder/"
            );
        };
        let mut root = Path::from_url_path(url.path())
            .map_err(|error| datafusion::common::config_datafusion_err!("{error}"))?;
        if let Some(bucket) = bucket_of(data) {
            root = root.join(bucket);
        }
        Ok(Self { store: ObjectStoreUrl::parse(format!("s3://{bucket}"))?, root })
    }

    /// Returns the folder of the indexes of a data object, or of those of the objects in a folder.
    #[must_use]
    pub fn folder(&self, data: &Path) -> Path {
        self.root.parts().chain(data.parts()).collect()
    }

    /// Returns the data object of an index object, if its name is one of ours.
    #[must_use]
    pub fn data(&self, index: &Path) -> Option<Path> {
        let mut parts: Vec<PathPart<'_>> = index.prefix_match(&self.root)?.collect();
        parts.pop()?;
        Some(parts.into_iter().collect())
    }

    /// Returns the URL of a path, for users.
    #[must_use]
    pub fn url(&self, path: &Path) -> String {
        format!("{}/{path}", self.store.as_str().trim_end_matches('/'))
    }
}

/// Returns the name of the index of a column of some version of an object.
#[must_use]
pub fn name_of(column: &str, version: Tag, format: Tag) -> Name {
    Name::new(PathPart::from(column).as_ref().to_owned(), version, format)
}

/// Parses the name of an index object. Returns `None` for other objects.
#[must_use]
pub fn parse(path: &Path) -> Option<Name> {
    Name::parse(path.filename()?)
}

/// Returns the path of a name in the folder of a data object.
#[must_use]
pub fn path_in(folder: &Path, name: &Name) -> Path {
    // The column is already encoded.
    let whole =
        if folder.as_ref().is_empty() { name.to_string() } else { format!("{folder}/{name}") };
    Path::parse(&whole).unwrap_or_else(|_| Path::from(whole))
}

/// Returns the column of a name.
#[must_use]
pub fn column_of(name: &Name) -> String {
    percent_decode_str(name.column()).decode_utf8_lossy().into_owned()
}

/// Returns true if a name belongs to an index of this column.
#[must_use]
pub fn is_about(name: &Name, column: &str) -> bool {
    name.column() == PathPart::from(column).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(location: &str) -> Result<IndexRoot> {
        IndexRoot::for_bucket(&ObjectStoreUrl::parse("s3://bucket").unwrap(), location)
    }

    #[test]
    fn a_name_says_column_version_and_format() {
        let (version, format) = (Tag::hash(b"v"), Tag::hash(b"f"));
        for column in ["price", "a.b", "a/b c", "%", "é", "x/../y", "a%20b"] {
            let place = place("").unwrap();
            let data = Path::from("t/a.csv");
            let path = path_in(&place.folder(&data), &name_of(column, version, format));
            assert!(path.as_ref().starts_with(".sluice-index/t/a.csv/_"), "{path}");
            let name = parse(&path).unwrap();
            assert!(is_about(&name, column) && !is_about(&name, "x"), "{path}");
            assert_eq!(column_of(&name), column);
            assert!(name.is_of_version(version) && name.is_of_format(format));
            assert_eq!(place.data(&path), Some(data));
        }
        assert_eq!(parse(&Path::from("a/b.idx")), None);
    }

    #[test]
    fn indexes_may_be_elsewhere() {
        let elsewhere = place("s3://other/some/folder/").unwrap();
        assert_eq!(elsewhere.store.as_str(), "s3://other/");
        let folder = elsewhere.folder(&Path::from("t/a.csv"));
        assert_eq!(folder.as_ref(), "some/folder/bucket/t/a.csv");
        assert_eq!(place("s3://other").unwrap().folder(&Path::from("a")).as_ref(), "bucket/a");
        let error = place("folder").unwrap_err().to_string();
        assert!(error.contains("s3://bucket/folder/"), "{error}");
    }
}
