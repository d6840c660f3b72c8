//! Selects the objects of a folder that belong to a table. Auxiliary objects such as `_SUCCESS`, `.part.crc` and
//! `_committed_1` do not. With a pattern such as `*/*.csv`, only matching objects do.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::{Result, plan_datafusion_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::execution::cache::cache_manager::{CacheManager, CacheManagerConfig};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, SessionStateBuilder};
use glob::{MatchOptions, Pattern};
use object_store::path::Path;
use url::Url;

use crate::context::listing::{implies_format, is_hidden};
use crate::context::read_layer::{LayeredStores, ReadLayer};

/// Patterns match as in a shell: only `**` spans several folders.
const AS_IN_A_SHELL: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// The objects below a location that belong to a table.
#[derive(Debug, Clone)]
pub(crate) enum ListingFilter {
    /// All objects, except hidden ones whose extension is not that of this kind of table.
    OfKind(Arc<str>),
    /// The objects that a pattern matches.
    Matching(Arc<GlobPatterns>),
    /// The objects of another selection whose folders name certain columns.
    InFolders(Arc<FolderFilter>),
}

/// Folders that name the same columns.
#[derive(Debug)]
pub(crate) struct FolderFilter {
    /// The folder that contains the folders.
    folder: Path,
    /// The names of the columns, in the order of the folders.
    names: Vec<String>,
    /// The selection of objects, or `None` for all.
    others: Option<ListingFilter>,
}

impl FolderFilter {
    fn has(&self, path: &Path) -> bool {
        let mut parts = path.prefix_match(&self.folder).into_iter().flatten().peekable();
        let mut names = self.names.iter();
        while let Some(part) = parts.next() {
            // The last part is the name of the object.
            let name = part.as_ref().split_once('=').map(|(name, _)| name);
            let name = name.filter(|_| parts.peek().is_some());
            if name != names.next().map(String::as_str) {
                return false;
            }
            if name.is_none() {
                break;
            }
        }
        self.others.as_ref().is_none_or(|others| others.has(path))
    }
}

/// Patterns of names below a folder; an object matches if one of them does.
#[derive(Debug)]
pub(crate) struct GlobPatterns {
    /// The folder's URL.
    url: String,
    folder: Path,
    patterns: Vec<Pattern>,
    /// True if the patterns decide about subfolders; false if the session's setting does.
    says_folders: bool,
    /// The subfolder that contains all matching objects, if there is one.
    within: Option<Path>,
}

/// The caches of a query, one per pattern, each with its own listings. DataFusion's cache stores listings by folder,
/// but different patterns list different objects of the same folder.
#[derive(Default)]
pub(crate) struct PatternCaches(Mutex<HashMap<Patterns, Arc<CacheManager>>>);

/// A store's URL and the patterns of names in it.
type Patterns = (String, Vec<Pattern>);

/// Returns the caches with a new, empty cache for listings.
pub(crate) fn with_own_listings(caches: &CacheManager) -> Result<Arc<CacheManager>> {
    CacheManager::try_new(&CacheManagerConfig {
        file_statistics_cache: caches.get_file_statistic_cache(),
        file_statistics_cache_limit: caches.get_file_statistic_cache_limit(),
        list_files_cache: None,
        list_files_cache_limit: caches.get_list_files_cache_limit(),
        list_files_cache_ttl: None,
        file_metadata_cache: Some(caches.get_file_metadata_cache()),
        metadata_cache_limit: caches.get_metadata_cache_limit(),
    })
}

impl fmt::Debug for PatternCaches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PatternCaches").finish_non_exhaustive()
    }
}

impl PatternCaches {
    fn get_or_create(
        &self,
        matching: &GlobPatterns,
        others: &CacheManager,
    ) -> Result<Arc<CacheManager>> {
        let key = (matching.url.clone(), matching.patterns.clone());
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key) {
            Entry::Occupied(known) => Ok(Arc::clone(known.get())),
            Entry::Vacant(new) => Ok(Arc::clone(new.insert(with_own_listings(others)?))),
        }
    }
}

impl ListingFilter {
    /// Selects the objects of a folder, named by its URL, for a kind of table.
    pub(crate) fn of_kind(kind: &str) -> Self {
        Self::OfKind(kind.into())
    }

    /// Selects the objects that match a location's glob, and returns the folder in which the glob begins, or `None`
    /// without a glob. DataFusion itself lets `*` span folders, or takes the first folder for a file.
    ///
    /// # Errors
    ///
    /// If the folder is no valid location.
    pub(crate) fn matching(location: &ListingTableUrl) -> Result<Option<(Self, ListingTableUrl)>> {
        let Some(pattern) = location.get_glob().clone() else { return Ok(None) };
        let folder = ListingTableUrl::parse(location.as_str())?;
        let url = location.as_str().to_owned();
        let patterns = vec![pattern];
        let folder_path = location.prefix().clone();
        let matching =
            GlobPatterns { url, folder: folder_path, patterns, says_folders: true, within: None };
        Ok(Some((Self::Matching(Arc::new(matching)), folder)))
    }

    /// Selects the objects of a folder whose names have one of these ends.
    ///
    /// # Errors
    ///
    /// If an end cannot be made a pattern.
    pub(crate) fn ending(location: &ListingTableUrl, ends: &[String]) -> Result<Self> {
        let pattern = |end: &String| Pattern::new(&format!("**/*{}", Pattern::escape(end)));
        let patterns: std::result::Result<_, _> = ends.iter().map(pattern).collect();
        let patterns = patterns.map_err(|error| plan_datafusion_err!("{error}"))?;
        let (url, folder) = (location.as_str().to_owned(), location.prefix().clone());
        Ok(Self::Matching(Arc::new(GlobPatterns {
            url,
            folder,
            patterns,
            says_folders: false,
            within: None,
        })))
    }

    /// Selects those of the `others` whose folders below a location name these columns, and no more.
    pub(crate) fn in_folders(
        location: &ListingTableUrl,
        names: &[String],
        others: Option<Self>,
    ) -> Self {
        let folder = location.prefix().clone();
        Self::InFolders(Arc::new(FolderFilter { folder, names: names.to_vec(), others }))
    }

    /// Returns the patterns of the selection, if it has some.
    fn patterns(&self) -> Option<&GlobPatterns> {
        match self {
            Self::OfKind(_) => None,
            Self::Matching(matching) => Some(matching),
            Self::InFolders(folders) => folders.others.as_ref()?.patterns(),
        }
    }

    /// Moves the selection from a folder such as `year=2023/month=1/` to the folder above its partition folders, so
    /// that the columns are found. The selected objects are the same. Returns none for any other location.
    ///
    /// # Errors
    ///
    /// If the location or a pattern is invalid.
    pub(crate) fn above_columns(
        location: &ListingTableUrl,
        listed: Option<&Self>,
    ) -> Result<Option<(Self, ListingTableUrl)>> {
        let within = location.prefix().clone();
        let parts: Vec<_> = within.parts().collect();
        let columns = parts.iter().rev().take_while(|part| part.as_ref().contains('=')).count();
        let above = (0..columns).try_fold(location.as_str().strip_suffix('/'), |url, _| {
            Some(url?.rsplit_once('/').map(|(above, _)| above))
        });
        let (Some(Some(above)), true) = (above, columns > 0 && location.is_collection()) else {
            return Ok(None);
        };
        let folder = ListingTableUrl::parse(format!("{above}/"))?;
        let names: Vec<&str> =
            parts[parts.len() - columns..].iter().map(|part| part.as_ref()).collect();
        let names = Pattern::escape(&names.join("/"));
        let (patterns, says_folders): (Vec<String>, bool) = match listed {
            Some(Self::Matching(matching)) => {
                let below = |pattern: &Pattern| format!("{names}/{pattern}");
                (matching.patterns.iter().map(below).collect(), matching.says_folders)
            }
            Some(Self::OfKind(_) | Self::InFolders(_)) | None => {
                (vec![format!("{names}/**")], false)
            }
        };
        let patterns: std::result::Result<Vec<_>, _> =
            patterns.iter().map(|pattern| Pattern::new(pattern)).collect();
        let matching = GlobPatterns {
            url: folder.as_str().to_owned(),
            folder: folder.prefix().clone(),
            patterns: patterns.map_err(|error| plan_datafusion_err!("{error}"))?,
            says_folders,
            within: Some(location.prefix().clone()),
        };
        Ok(Some((Self::Matching(Arc::new(matching)), folder)))
    }

    /// Returns whether an object below the location is selected.
    pub(crate) fn has(&self, path: &Path) -> bool {
        match self {
            Self::OfKind(kind) => !is_sidecar(path, kind),
            Self::InFolders(folders) => folders.has(path),
            Self::Matching(matching) => {
                let below = path.as_ref().strip_prefix(matching.folder.as_ref());
                let below = match matching.folder.as_ref() {
                    "" => below,
                    _ => below.and_then(|rest| rest.strip_prefix('/')),
                };
                below.is_some_and(|rest| {
                    matching.patterns.iter().any(|it| it.matches_with(rest, AS_IN_A_SHELL))
                })
            }
        }
    }

    /// Returns a session whose listings contain only the selected objects.
    ///
    /// # Errors
    ///
    /// If no cache for listings can be made.
    pub(crate) fn session(&self, state: &SessionState) -> Result<SessionState> {
        let runtime = state.runtime_env();
        let listed = self.clone();
        let stores = LayeredStores::new(&runtime.object_store_registry, move |_: &Url| {
            Lists(listed.clone())
        });
        let mut runtime =
            RuntimeEnv { object_store_registry: Arc::new(stores), ..RuntimeEnv::clone(runtime) };
        match self {
            Self::OfKind(_) => {}
            Self::Matching(matching) => {
                let caches = state.config().get_extension::<PatternCaches>().unwrap_or_default();
                runtime.cache_manager = caches.get_or_create(matching, &runtime.cache_manager)?;
            }
            Self::InFolders(_) => {
                runtime.cache_manager = with_own_listings(&runtime.cache_manager)?;
            }
        }
        let mut seen = SessionStateBuilder::new_from_existing(state.clone())
            .with_runtime_env(Arc::new(runtime))
            .build();
        if self.patterns().is_some_and(|matching| matching.says_folders) {
            let options = seen.config_mut().options_mut();
            options.execution.listing_table_ignore_subdirectory = false;
        }
        Ok(seen)
    }
}

/// Returns whether an object is auxiliary: its name is hidden and does not have the extension of this kind.
fn is_sidecar(path: &Path, kind: &str) -> bool {
    is_hidden(path) && !implies_format(path, kind)
}

/// Limits listings to the selected objects.
#[derive(Debug)]
struct Lists(ListingFilter);

impl ReadLayer for Lists {
    fn reads_as_below(&self) -> bool {
        true
    }

    fn lists(&self) -> Arc<dyn Fn(&Path) -> bool + Send + Sync> {
        let listed = self.0.clone();
        Arc::new(move |path| listed.has(path))
    }

    fn lists_within(&self, prefix: Option<&Path>) -> Option<Path> {
        let matching = self.0.patterns()?;
        matching.within.clone().filter(|within| prefix.is_none_or(|it| within.prefix_matches(it)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_that_say_no_kind_are_beside() {
        for (name, kind, expected) in [
            ("a/_SUCCESS", "CSV", true),
            ("a/.part.csv.crc", "CSV", true),
            ("_committed_1", "CSV", true),
            ("a/_metadata", "parquet", true),
            ("a/_x.json", "CSV", true),
            ("a/_x.csv", "CSV", false),
            ("a/.x.TSV.gz", "CSV", false),
            ("a/_x.jsonl", "JSON", false),
            ("_a/part-0", "CSV", false),
        ] {
            assert_eq!(is_sidecar(&Path::from(name), kind), expected, "{name}");
        }
    }

    #[test]
    fn folders_name_the_same_columns() {
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let location = ListingTableUrl::parse("s3://b/t/").unwrap();
        let paths = [
            "t/a.csv",
            "t/2024/a.csv",
            "t/x=1/a.csv",
            "t/x=1/y=2/a.csv",
            "t/x=1/z/a=b.csv",
            "t/a=b",
        ];
        for (columns, expected) in [
            (&[][..], &["t/a.csv", "t/2024/a.csv", "t/a=b"][..]),
            (&["x"], &["t/x=1/a.csv", "t/x=1/z/a=b.csv"]),
            (&["x", "y"], &["t/x=1/y=2/a.csv"]),
            (&["y"], &[]),
        ] {
            let listed = ListingFilter::in_folders(&location, &names(columns), None);
            let found: Vec<&str> =
                paths.into_iter().filter(|path| listed.has(&Path::from(*path))).collect();
            assert_eq!(found, expected, "{columns:?}");
        }
    }

    #[test]
    fn only_two_stars_match_several_folders() {
        let check = |url: &str, expected: &[&str]| {
            let (folder, glob) = url.split_once('|').unwrap();
            let location = ListingTableUrl::parse(folder).unwrap().with_glob(glob).unwrap();
            let (listed, folder) = ListingFilter::matching(&location).unwrap().unwrap();
            assert_eq!(folder.get_glob(), &None);
            let names = [
                "t/a.csv",
                "t/d1/a.csv",
                "t/d1/b.csv",
                "t/d1/x/a.csv",
                "t/d2/a.csv",
                "t2/d1/a.csv",
                "u/a.csv",
            ];
            let found: Vec<&str> =
                names.into_iter().filter(|name| listed.has(&Path::from(*name))).collect();
            assert_eq!(found, expected, "{url}");
        };
        check("s3://b/t/|*/*.csv", &["t/d1/a.csv", "t/d1/b.csv", "t/d2/a.csv"]);
        check("s3://b/t/|**/a.csv", &["t/a.csv", "t/d1/a.csv", "t/d1/x/a.csv", "t/d2/a.csv"]);
        check("s3://b/t/d1/|**", &["t/d1/a.csv", "t/d1/b.csv", "t/d1/x/a.csv"]);
        check("s3://b/|*/a.csv", &["t/a.csv", "u/a.csv"]);
        check("s3://b/t/|*", &["t/a.csv"]);
        check("s3://b/t/|*.csv", &["t/a.csv"]);
        // Partition folders are selected from the folder above them.
        let wide = |url: &str| {
            let (folder, glob) = url.split_once('|').unwrap();
            let location = ListingTableUrl::parse(folder).unwrap();
            let listed = (!glob.is_empty()).then(|| {
                ListingFilter::matching(&location.clone().with_glob(glob).unwrap())
                    .unwrap()
                    .unwrap()
                    .0
            });
            ListingFilter::above_columns(&location, listed.as_ref()).unwrap()
        };
        let names = ["t/x=1/y=2/a.csv", "t/x=1/y=2/z/a.csv", "t/x=1/y=3/a.csv", "t/x=1/a.csv"];
        for (url, above, expected) in [
            ("s3://b/t/x=1/y=2/|", "s3://b/t/", &names[..2]),
            ("s3://b/t/x=1/|*/*.csv", "s3://b/t/", &["t/x=1/y=2/a.csv", "t/x=1/y=3/a.csv"]),
        ] {
            let (listed, folder) = wide(url).unwrap();
            assert_eq!(folder.as_str(), above);
            let found: Vec<&str> =
                names.into_iter().filter(|name| listed.has(&Path::from(*name))).collect();
            assert_eq!(found, expected, "{url}");
        }
        assert!(wide("s3://b/t/x=1/z/|").is_none());
        let plain = ListingTableUrl::parse("s3://b/t/").unwrap();
        assert!(ListingFilter::matching(&plain).unwrap().is_none());
    }
}
