//! Tables that are named by their URL: `FROM 's3://bucket/prefix/*.csv'`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{
    CatalogProviderList, DynamicFileCatalog, TableProvider, UrlTableFactory,
};
use datafusion::common::{
    DataFusionError, Result, internal_datafusion_err, plan_datafusion_err, plan_err,
};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionContext;
use datafusion_session::SessionStore;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt};
use url::Url;

use crate::catalog::delta;
use crate::catalog::external_tables::{
    SUBFOLDERS, TextColumnsTable, as_text, in_subfolders, without_bytes,
};
use crate::catalog::file_variants;
use crate::catalog::file_variants::{FileVariant, FileVariants};
use crate::catalog::files_table::FilesTable;
use crate::catalog::folder_variants;
use crate::catalog::formats::S3Format;
use crate::catalog::listing_filter::ListingFilter;
use crate::catalog::locations::{as_url, at_home, check_readable};
use crate::catalog::partitions::inferred;
use crate::catalog::table_columns::TableColumns;
use crate::catalog::table_functions::{Call, GlobTable, Read};
use crate::context::error::{ErrorKind, UserError};
use crate::context::file_names::{ARROW, COMPRESSIONS, TABS};
use crate::context::listing::{is_hidden, with_subfolders};
use crate::context::not_found::{broken_link, nothing_at, unknown_format};
use crate::context::notes::{Notes, some_of};
use crate::index::discovery::ExpectedListing;
use crate::text::csv::dialect;
use crate::text::csv::options;
use crate::text::json::columns;

/// Makes a table of the objects that a URL names: one object, a prefix that ends in `/`, or a glob. The format and
/// the compression follow from the objects' names; the schema is inferred.
#[derive(Debug)]
pub(crate) struct UrlTables {
    session: SessionStore,
}

impl UrlTables {
    /// Builds a session with the tables of `catalogs` in which URLs also name tables.
    #[must_use]
    pub(crate) fn enable(
        builder: SessionStateBuilder,
        catalogs: &Arc<dyn CatalogProviderList>,
    ) -> SessionContext {
        let tables = Arc::new(Self { session: SessionStore::new() });
        let catalogs = DynamicFileCatalog::new(Arc::clone(catalogs), Arc::clone(&tables) as _);
        let context = SessionContext::from(builder.with_catalog_list(Arc::new(catalogs)).build());
        tables.session.with_state(context.state_weak_ref());
        context
    }

    fn state(&self) -> Result<SessionState> {
        let session = self.session.get_session().upgrade();
        session
            .and_then(|session| session.read().as_any().downcast_ref::<SessionState>().cloned())
            .ok_or_else(|| internal_datafusion_err!("the session is gone"))
    }
}

#[async_trait]
impl UrlTableFactory for UrlTables {
    async fn try_new(&self, url: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        match Call::parse(url)? {
            Some(Call::Glob(url)) => {
                let location = existing_location(&self.state()?, &at_home(&url)?).await?;
                return Ok(Some(Arc::new(GlobTable::new(location))));
            }
            Some(Call::Read(read)) if read.format == "delta" => {
                let version = read.options.get(delta::VERSION).map(String::as_str);
                return Ok(Some(delta::table(&self.state()?, &read.url, version).await?));
            }
            Some(Call::Read(read)) => {
                return Ok(Some(self.table(&at_home(&read.url)?, Some(&read)).await?));
            }
            None => {}
        }
        let url = &*at_home(url)?;
        // Anything else is an ordinary table name, which may not exist. The name of a folder needs a slash, so that a
        // folder does not hide the table of the same name.
        if !url.contains("://") {
            if url.contains(['/', '\\', '.']) {
                may_read_files(&self.state()?)?;
            }
            if !is_path(url) {
                return Ok(None);
            }
        }
        Ok(Some(self.table(url, None).await?))
    }
}

impl UrlTables {
    /// Returns the table of the objects at a URL. The format comes from their names, or from a call such as
    /// `read_csv`.
    async fn table(&self, url: &str, read: Option<&Read>) -> Result<Arc<dyn TableProvider>> {
        self.table_of(url, read, &FileVariant::default()).await
    }

    /// Returns the table of a part of the objects at a URL.
    pub(crate) async fn table_of(
        &self,
        url: &str,
        read: Option<&Read>,
        part: &FileVariant,
    ) -> Result<Arc<dyn TableProvider>> {
        let state = self.state()?;
        if !url.contains("://") {
            may_read_files(&state)?;
        }
        if let Some(told) = broken_link(url) {
            return Err(told.into());
        }
        let location = existing_location(&state, url).await?;
        let is_glob = location.get_glob().is_some();
        let (listed, location) = match ListingFilter::matching(&location)? {
            Some((listed, folder)) => (Some(listed), folder),
            None => (None, location),
        };
        let state = match &listed {
            Some(listed) => listed.session(&state)?,
            None => state,
        };
        let store = state.runtime_env().object_store(&location)?;
        let mut there: Vec<ObjectMeta> = location
            .list_all_files(&with_subfolders(&state), store.as_ref(), "")
            .await?
            .try_collect()
            .await?;
        // Local folders are listed in no particular order.
        there.sort_by(|one, other| one.location.cmp(&other.location));
        if !is_glob && delta::is_table(&location, &there) {
            let Some(read) = read else { return delta::table(&state, url, None).await };
            let notes = state.config().get_extension::<Notes>().unwrap_or_default();
            notes.add(format!(
                "{url} is a Delta table: delta_scan('{url}') reads its current version, and read_{} any files in its \
                 folder, also deleted ones",
                read.format
            ));
        }
        let is_folder = |object: &ObjectMeta| object.location != *location.prefix();
        if !location.is_collection() && !there.is_empty() && there.iter().all(is_folder) {
            return Box::pin(self.table_of(&format!("{url}/"), read, part)).await;
        }
        let in_folder = !state.config_options().execution.listing_table_ignore_subdirectory;
        let (objects, deeper): (Vec<_>, Vec<_>) = there
            .into_iter()
            .partition(|object| in_folder || location.contains(&object.location, true));
        if part.end.is_none()
            && let Some(parts) = FileVariants::detect(&state, &objects, read)
        {
            let notes = state.config().get_extension::<Notes>().unwrap_or_default();
            parts.unknown(url, objects.len()).into_iter().for_each(|note| notes.add(note));
            return file_variants::table(self, url, read, &parts.parts).await;
        }
        let mut objects = objects;
        objects.retain(|object| part.has(&object.location));
        let foreseen = ExpectedListing::default();
        foreseen.learn(&state, &location.object_store(), &objects);
        let found = DetectedFormat::new(&state, (url, is_glob), &objects, &deeper, read)?;
        let mut kind = found.kind;
        let (state, listed, objects) = match found.ends {
            Some(ends) => {
                let listed = ListingFilter::ending(&location, &ends)?;
                let objects: Vec<_> =
                    objects.into_iter().filter(|it| listed.has(&it.location)).collect();
                (listed.session(&state)?, Some(listed), objects)
            }
            None => (state, listed, objects),
        };
        let given = location.clone();
        let (state, listed, location) =
            match ListingFilter::above_columns(&location, listed.as_ref())? {
                Some((above, folder)) => (above.session(&self.state()?)?, Some(above), folder),
                None => (state, listed, location),
            };
        let notes = state.config().get_extension::<Notes>().unwrap_or_default();
        found.notes.into_iter().for_each(|note| notes.add(note));
        kind.options.extend(read.into_iter().flat_map(|read| read.options.clone()));
        let sampled: Vec<ObjectMeta> = objects
            .iter()
            .filter(|object| object.size > 0 && is_read(&object.location, &found.extension))
            .filter(|object| given.contains(&object.location, !in_folder))
            .filter(|object| {
                let names = || folder_variants::names(&location, &object.location);
                part.folders.as_ref().is_none_or(|folders| *folders == names())
            })
            .cloned()
            .collect();
        let (state, listed) = match &part.folders {
            Some(folders) => {
                let listed = ListingFilter::in_folders(&location, folders, listed);
                (listed.session(&self.state()?)?, Some(listed))
            }
            None => (state, listed),
        };
        if part.folders.is_none() && read.is_some_and(Read::reads_by_name) {
            let lists = folder_variants::detect(&location, &sampled);
            if lists.len() > 1 {
                return folder_variants::table(self, url, read, part, lists).await;
            }
        }
        if sampled.is_empty() && kind.format != "parquet" {
            notes.add(without_bytes(url));
        }
        let mut schema = None;
        if kind.format == "csv" && !sampled.is_empty() {
            let told = dialect::infer(&state, &store, &sampled, &kind.options).await?;
            if let Some(said) = told.unusual {
                notes.add(format!("{url} is read as its first records suggest: {said}"));
            }
            kind.options = told.options;
            schema = Some(told.schema);
        }
        let format = kind.create(&state)?;
        if let Some(format) = format.downcast_ref::<S3Format>() {
            let named = objects.iter().filter(|object| is_read(&object.location, &found.extension));
            format.check_sizes(&location, named)?.into_iter().for_each(|note| notes.add(note));
        }
        let mut options = ListingOptions::new(format).with_file_extension(found.extension);
        let (partitions, note) = inferred::columns(&location, &sampled);
        note.into_iter().for_each(|note| notes.add(note));
        if let Some(twice) = partitions.twice() {
            return plan_err!(
                "the folders at {url} name the column `{twice}` twice, one within the other; name those of one, as in \
                 '{}{twice}=…/'",
                location.as_str()
            );
        }
        let schema = match schema {
            Some(schema) => schema,
            None => match options.infer_schema(&state, &location).await {
                Err(error) if columns::is_array(&error) && !kind.options.contains_key(LINES) => {
                    kind.options.insert(LINES.to_owned(), "false".to_owned());
                    options.format = kind.create(&state)?;
                    options.infer_schema(&state, &location).await?
                }
                inferred => inferred?,
            },
        };
        if let (Some(skip), true) = (kind.options.get(SKIP), schema.fields().is_empty())
            && !sampled.is_empty()
        {
            notes.add(skips_all(url, skip));
        }
        let schema = part.typed(&schema, &partitions);
        let config =
            ListingTableConfig::new(location).with_listing_options(options).with_schema(schema);
        let cache = state.runtime_env().cache_manager.get_file_statistic_cache();
        let table = ListingTable::try_new(config)?.with_cache(cache);
        let text = as_text(&state, &table, &partitions)?;
        let files = text.as_ref().map_or(table, |text| text.files.clone());
        let columns = TableColumns::new(files.schema(), partitions, &HashMap::new());
        let files = Arc::new(FilesTable::new(&state, files, columns, foreseen)?.listed(listed));
        match text {
            Some(TextColumnsTable { values, columns, .. }) => {
                options::table(files, &values, &columns)
            }
            None => Ok(files),
        }
    }
}

/// The JSON option that is true for one object per line, and false for an array of objects.
const LINES: &str = "format.newline_delimited";

/// The CSV option for the number of lines to skip at the start.
const SKIP: &str = "format.skip";

/// Returns a note on a table whose lines are all skipped.
fn skips_all(url: &str, lines: &str) -> String {
    format!(
        "what is at {url} has no more than the {lines} lines that skip passes by: as a table, it has neither columns nor rows"
    )
}

/// Checks that the session may read local files. Errors about paths reveal what is there, so this comes before them.
///
/// # Errors
///
/// If it may not.
pub(crate) fn may_read_files(state: &SessionState) -> Result<()> {
    state.runtime_env().object_store(ObjectStoreUrl::local_filesystem()).map(|_| ())
}

/// Returns whether a name is the path of an existing local file or folder, or a pattern in an existing folder.
fn is_path(name: &str) -> bool {
    if !name.contains(['/', '\\', '.']) {
        return false;
    }
    let is_there = std::path::Path::new(name).exists();
    is_there
        || name.find(['*', '?', '[']).is_some_and(|glob| {
            let folder = name[..glob].rfind('/').map_or(".", |slash| &name[..=slash]);
            std::path::Path::new(folder).is_dir()
        })
}

/// Returns whether an object is read, by the end of its name.
fn is_read(path: &Path, extension: &str) -> bool {
    path.as_ref().ends_with(extension)
}

/// Returns the location of a URL. If its brackets are part of an existing object's key, the location is that object
/// rather than a glob.
async fn existing_location(state: &SessionState, url: &str) -> Result<ListingTableUrl> {
    check_readable(url)?;
    let has_brackets = url.starts_with("s3://") && url.contains('[') && !url.contains(['*', '?']);
    if has_brackets {
        let object = ListingTableUrl::parse(as_url(url)?)?;
        let store = state.runtime_env().object_store(&object)?;
        if store.head(object.prefix()).await.is_ok() {
            return Ok(object);
        }
    }
    let has_brackets = !url.contains("://") && url.contains('[');
    if has_brackets
        && let Ok(path) = std::path::absolute(url)
        && path.is_file()
        && let Ok(file) = Url::from_file_path(path)
    {
        return ListingTableUrl::parse(file);
    }
    location(url)
}

/// Parses a URL with or without a glob in its path. `s3://bucket` becomes `s3://bucket/`.
fn location(url: &str) -> Result<ListingTableUrl> {
    if let Some(url) = of_bucket(url) {
        return ListingTableUrl::parse(as_url(&url)?);
    }
    let is_glob = |segment: &str| segment.contains(['*', '?', '[']);
    if url.strip_prefix("s3://").and_then(|rest| rest.split('/').next()).is_some_and(is_glob) {
        let told = UserError {
            kind: ErrorKind::Plan,
            message: format!("`{url}` has a pattern in place of a bucket"),
            hint: Some(
                "Name the bucket: 's3://bucket/*.csv'; several are put together by UNION ALL."
                    .to_owned(),
            ),
        };
        return Err(told.into());
    }
    let Some((scheme, path)) = url.split_once("://").filter(|(_, path)| is_glob(path)) else {
        return ListingTableUrl::parse(as_url(url)?);
    };
    let segments: Vec<&str> = path.split('/').collect();
    let plain = segments.iter().take_while(|segment| !is_glob(segment)).count();
    let (prefix, glob) = segments.split_at(plain);
    let prefix = format!("{scheme}://{}/", prefix.join("/"));
    // The glob crate negates with `!`; shells also accept `^`.
    let glob = glob.join("/").replace("[^", "[!");
    ListingTableUrl::parse(as_url(&prefix)?)?.with_glob(&glob).map_err(|error| {
        let message = format!("`{glob}` is no pattern: {}", error.strip_backtrace());
        let hint = "`*` and `?` are what is between two slashes, `**` is any folders, `[ab]`, `[a-z]` and `[!a]` are \
                    a character, and `[[]` is a bracket.";
        UserError { kind: ErrorKind::Plan, message, hint: Some(hint.to_owned()) }.into()
    })
}

/// Returns `s3://bucket/` for `s3://bucket`, which names no object, or `None` for any other URL.
pub(crate) fn of_bucket(url: &str) -> Option<String> {
    let bucket = url.strip_prefix("s3://")?;
    (!bucket.is_empty() && !bucket.contains(['/', '*', '?', '['])).then(|| format!("{url}/"))
}

/// The format of an object and its options, as its name implies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kind {
    format: String,
    options: BTreeMap<String, String>,
}

impl Kind {
    fn create(&self, state: &SessionState) -> Result<Arc<dyn FileFormat>> {
        state
            .get_file_format_factory(&self.format)
            .ok_or_else(|| internal_datafusion_err!("no format {}", self.format))?
            .create(state, &self.options.clone().into_iter().collect())
    }

    /// Returns the kind that a name implies, and the end of the name that implies it, such as `.csv.gz`.
    fn from_path<'a>(state: &SessionState, path: &'a Path) -> Option<(Self, &'a str)> {
        let name = path.filename()?;
        // ASCII letters keep their length in lower case.
        let lower = name.to_ascii_lowercase();
        // A space at the end is ignored.
        let lower = lower.trim_end();
        let compression = COMPRESSIONS.iter().find(|(suffix, _)| lower.ends_with(suffix));
        let suffix = compression.map_or("", |(suffix, _)| suffix);
        let (stem, end) = lower.strip_suffix(suffix)?.rsplit_once('.')?;
        let format = match end {
            TABS => "csv",
            arrow if ARROW.contains(&arrow) => ARROW[0],
            other => other,
        };
        state.get_file_format_factory(format)?;
        let compression = compression.map(|(_, name)| ("format.compression", *name));
        let delimiter = (end == TABS).then_some(("format.delimiter", "\t"));
        let options = compression.into_iter().chain(delimiter);
        let options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let kind = Self { format: format.to_owned(), options };
        Some((kind, &name[stem.len()..]))
    }

    /// Returns whether objects of this kind are read as a format: `csv`, `json`, `parquet`, `arrow` or `avro`.
    pub(crate) fn is_of(&self, format: &str) -> bool {
        match self.format.as_str() {
            "ndjson" | "jsonl" => format == "json",
            other => format == other,
        }
    }
}

/// The kinds of a set of objects, each with the ends of the names that imply it.
pub(crate) struct Kinds<'a>(pub(crate) Vec<(Kind, BTreeSet<&'a str>)>);

impl<'a> Kinds<'a> {
    /// Returns the kinds that pass `is_wanted`, and the objects whose names imply none of these.
    pub(crate) fn detect(
        state: &SessionState,
        objects: &'a [ObjectMeta],
        is_wanted: impl Fn(&Kind) -> bool,
    ) -> (Self, Vec<&'a Path>) {
        let mut kinds: Vec<(Kind, BTreeSet<&str>)> = Vec::new();
        let mut unknown = Vec::new();
        for object in objects {
            let path = &object.location;
            match Kind::from_path(state, path).filter(|(kind, _)| is_wanted(kind)) {
                Some((kind, end)) => match kinds.iter_mut().find(|(known, _)| *known == kind) {
                    Some((_, ends)) => drop(ends.insert(end)),
                    None => kinds.push((kind, BTreeSet::from([end]))),
                },
                // Folder markers are empty objects, too.
                None if is_hidden(path) || object.size == 0 => {}
                None => unknown.push(path),
            }
        }
        (Self(kinds), unknown)
    }

    /// Returns the error for a table of more than one kind of objects.
    fn several(&self, url: &str) -> DataFusionError {
        let ends: Vec<&str> = self.0.iter().flat_map(|(_, ends)| ends).copied().collect();
        let is_folder = !url.contains(['*', '?', '[']) && !url.ends_with('/');
        let folder = match is_folder {
            true => format!("{url}/"),
            false => url.trim_end_matches(|c| c != '/').to_owned(),
        };
        let is_of = |format: &&str| self.0.iter().all(|(kind, _)| kind.is_of(format));
        let is_one = self.0.iter().all(|(_, ends)| ends.len() == 1);
        let together = match is_one && ["csv", "json"].iter().any(is_of) {
            true => format!(", or CREATE VIEW t AS FROM '{folder}', which reads all of them"),
            false => String::new(),
        };
        plan_datafusion_err!(
            "the objects at {url} are of several formats ({}); name those of one, as in '{folder}*{}'{together}",
            ends.join(", "),
            ends[0]
        )
    }
}

/// Checks that a table of one format would not read objects of another format, judged by their names.
///
/// # Errors
///
/// If there are objects of both.
pub(crate) fn check_kinds(
    state: &SessionState,
    url: &str,
    objects: &[ObjectMeta],
    format: &str,
) -> Result<()> {
    let (kinds, _) = Kinds::detect(state, objects, |_| true);
    let is_read = |(kind, _): &&(Kind, BTreeSet<&str>)| kind.is_of(format);
    let mut read = kinds.0.iter().filter(is_read);
    let Some((first, _)) = read.next() else { return Ok(()) };
    let are_alike = read.all(|(kind, _)| kind.options == first.options);
    match are_alike && kinds.0.iter().all(|kind| is_read(&kind)) {
        true => Ok(()),
        false => Err(kinds.several(url)),
    }
}

/// Checks that a table would not leave out objects of its format with other options, such as compressed objects
/// beside plain ones.
///
/// # Errors
///
/// If there are such objects.
pub(crate) fn check_options(
    state: &SessionState,
    url: &str,
    objects: &[ObjectMeta],
    format: &str,
) -> Result<()> {
    let (kinds, _) = Kinds::detect(state, objects, |kind| kind.is_of(format));
    match kinds.0.split_first() {
        Some((first, others)) if others.iter().any(|(kind, _)| kind.options != first.0.options) => {
            Err(kinds.several(url))
        }
        _ => Ok(()),
    }
}

/// The combined result of the names of the objects at a URL.
struct DetectedFormat {
    kind: Kind,
    /// The end of the names of the objects that are read.
    extension: String,
    /// The ends of these names if they differ, in letter case or by a trailing space.
    ends: Option<Vec<String>>,
    /// Notes about objects that are not read.
    notes: Vec<String>,
}

impl DetectedFormat {
    /// Combines the names of `objects`. `deeper` are objects in subfolders, which are not read.
    fn new(
        state: &SessionState,
        (url, is_glob): (&str, bool),
        objects: &[ObjectMeta],
        deeper: &[ObjectMeta],
        read: Option<&Read>,
    ) -> Result<Self> {
        let (mut kinds, unknown) =
            Kinds::detect(state, objects, |kind| read.is_none_or(|read| kind.is_of(read.format)));
        if let (true, Some(read), false) = (kinds.0.is_empty(), read, unknown.is_empty()) {
            return Self::all(url, read, &unknown);
        }
        if kinds.0.len() > 1 {
            return Err(kinds.several(url));
        }
        let Some((kind, ends)) = kinds.0.pop() else {
            return match (unknown.first(), objects.is_empty()) {
                (Some(path), _) => {
                    let is_one = !is_glob && !url.ends_with('/');
                    Err(unknown_format(if is_one { url } else { path.as_ref() }).into())
                }
                (None, true) if deeper.is_empty() => Err(nothing_at(url)),
                (None, true) => plan_err!(
                    "the objects at {url} are in subfolders; name one of them, or SET {SUBFOLDERS}"
                ),
                (None, false) => plan_err!("there is no object with data at {url}"),
            };
        };
        let end = ends.first().copied().unwrap_or_default();
        let mut notes = Vec::new();
        if !unknown.is_empty() {
            notes.push(format!(
                "{} of {} objects at {url} are not read, because their names do not end in {end}: {}",
                unknown.len(),
                objects.len(),
                some_of(&unknown)
            ));
        }
        let deeper: Vec<&Path> = deeper
            .iter()
            .filter(|object| object.size > 0 && !is_hidden(&object.location))
            .map(|object| &object.location)
            .collect();
        // A glob already defines its subfolders.
        if !deeper.is_empty() && !is_glob {
            notes.push(in_subfolders(url, &deeper));
        }
        if ends.len() == 1 {
            return Ok(Self { kind, extension: end.to_owned(), ends: None, notes });
        }
        if !unknown.is_empty() && is_glob {
            return plan_err!(
                "{url} matches objects of no known format, such as {}; name those with data only",
                some_of(&unknown)
            );
        }
        let ends = (!is_glob).then(|| ends.into_iter().map(ToOwned::to_owned).collect());
        Ok(Self { kind, extension: String::new(), ends, notes })
    }

    /// Reads all objects in the format of a call, although none of their names implies it.
    fn all(url: &str, read: &Read, objects: &[&Path]) -> Result<Self> {
        let compression = |path: &Path| {
            let name = path.as_ref().to_ascii_lowercase();
            COMPRESSIONS.iter().find(|(suffix, _)| name.ends_with(suffix)).map(|(_, name)| *name)
        };
        let mut all: Vec<_> = objects.iter().map(|path| compression(path)).collect();
        all.dedup();
        let [compression] = all.as_slice() else {
            return plan_err!(
                "the objects at {url} are compressed in several ways; name those of one"
            );
        };
        let options = compression.map(|name| ("format.compression".to_owned(), name.to_owned()));
        let kind = Kind { format: read.format.to_owned(), options: options.into_iter().collect() };
        Ok(Self { kind, extension: String::new(), ends: None, notes: Vec::new() })
    }
}
