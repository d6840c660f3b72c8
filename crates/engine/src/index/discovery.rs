//! Finds the indexes of a table, with one listing when a query over it is planned. The listing runs at the same time
//! as that of the files if it paid off before.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::physical_plan::ExecutionPlan;
use futures::future::join;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use sluicegate_costmodel::{Bytes, Objective, Phase, Requests, Steps, predict};
use sluicegate_index::layout::TopMessage;
use sluicegate_index::name::{Kind, Name, Tag};

use super::key;
use super::location;
use super::location::IndexRoot;
use super::lookup::{IndexObject, OpenIndex};
use crate::context::config::{Scan, SluiceOptions};
use crate::store::endpoint::Endpoint;
use crate::store::endpoints::Endpoints;
use crate::text::format::Format;

/// Under `auto`, indexes are listed if reading the table is predicted to take this many times as long as listing.
const WORTH: f64 = 100.0;
/// The number of columns whose index is opened to sample the distribution of values.
const SAMPLED_COLUMNS: usize = 8;

/// The indexes of a file by a listing. It is an extension of the file in the plan.
#[derive(Debug, Clone, Default)]
pub struct FileIndexes {
    /// The indexes that are fresh by their name.
    fresh: Vec<FileIndex>,
    /// Columns that have an index of another version of the file, or of another format.
    stale: Vec<usize>,
    /// The index tables that are fresh by their name.
    tables: Vec<FileIndex>,
    /// Columns that have an index table of another version of the file, or of another format.
    stale_tables: Vec<usize>,
    /// Columns that have an index of a former version of this program.
    former: Vec<usize>,
    /// The reason if the indexes could not be listed.
    unlisted: Option<Arc<str>>,
}

/// An index of a file.
#[derive(Debug, Clone)]
pub struct FileIndex {
    /// The column's position in the table.
    pub column: usize,
    /// The index object to open.
    pub object: IndexObject,
    /// The top of an index of the same column, of this file or another of the table.
    pub sample: Option<Arc<TopMessage>>,
}

impl FileIndexes {
    /// Creates a list of fresh indexes only.
    #[must_use]
    pub fn only(indexes: Vec<FileIndex>) -> Self {
        Self { fresh: indexes, ..Self::default() }
    }

    /// Creates a list of fresh index tables only.
    #[must_use]
    pub fn only_tables(tables: Vec<FileIndex>) -> Self {
        Self { tables, ..Self::default() }
    }

    /// Returns the fresh indexes of the file.
    #[must_use]
    pub fn fresh(&self) -> &[FileIndex] {
        &self.fresh
    }

    /// Returns the fresh index of a column.
    #[must_use]
    pub fn for_column(&self, column: usize) -> Option<&FileIndex> {
        self.fresh.iter().find(|index| index.column == column)
    }

    /// Returns the fresh index tables of the file.
    #[must_use]
    pub fn tables(&self) -> &[FileIndex] {
        &self.tables
    }

    /// Returns the fresh index table of a column.
    #[must_use]
    pub fn table_for(&self, column: usize) -> Option<&FileIndex> {
        self.tables.iter().find(|index| index.column == column)
    }

    /// Returns true if a column has only an index table that is not fresh.
    #[must_use]
    pub fn is_table_stale(&self, column: usize) -> bool {
        self.table_for(column).is_none() && self.stale_tables.contains(&column)
    }

    /// Returns the reason if the indexes could not be listed.
    #[must_use]
    pub fn unlisted(&self) -> Option<&str> {
        self.unlisted.as_deref()
    }

    /// Returns true if a column has only an index that is not fresh.
    #[must_use]
    pub fn is_stale(&self, column: usize) -> bool {
        self.for_column(column).is_none() && self.stale.contains(&column)
    }

    /// Returns true if a column has only an index that a former version of this program made.
    #[must_use]
    pub fn is_former(&self, column: usize) -> bool {
        self.for_column(column).is_none() && self.former.contains(&column)
    }
}

/// The folder of a table's objects, if a listing of their indexes pays for the given scan setting. With it, the
/// indexes can be listed before the listing of the objects has ended.
#[derive(Debug, Default)]
pub struct ExpectedListing(Mutex<Option<(Scan, Path)>>);

impl ExpectedListing {
    /// Updates the folder from the objects of a table.
    pub fn learn(&self, state: &dyn Session, store: &ObjectStoreUrl, objects: &[ObjectMeta]) {
        let objects: Vec<&ObjectMeta> = objects.iter().collect();
        self.keep(state, expects_indexes(state, store, &objects));
    }

    fn keep(&self, state: &dyn Session, folder: Option<Path>) {
        // A session that does not use indexes changes nothing.
        if matches!(start_listing(state), Scan::Index | Scan::IndexTable | Scan::Auto) {
            *self.known() = folder.map(|folder| (start_listing(state), folder));
        }
    }

    fn folder(&self, state: &dyn Session) -> Option<Path> {
        let known = self.known();
        known
            .as_ref()
            .filter(|(scan, _)| *scan == start_listing(state))
            .map(|(_, folder)| folder.clone())
    }

    fn known(&self) -> MutexGuard<'_, Option<(Scan, Path)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attaches indexes to the files of the scan that a table plans, if a listing pays. If the listing fails, the
    /// scan stays as it is, and its files carry the reason.
    ///
    /// # Errors
    ///
    /// If the scan cannot be planned.
    pub async fn attach(
        &self,
        state: &dyn Session,
        store: &ObjectStoreUrl,
        scan: impl Future<Output = Result<Arc<dyn ExecutionPlan>>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let folder = self.folder(state);
        let ahead = async {
            let folder = folder?;
            let listing = Listing::list(state, store, &folder).await;
            Some((folder, listing))
        };
        let (plan, ahead) = join(scan, ahead).await;
        let plan = plan?;
        let config = plan
            .downcast_ref::<DataSourceExec>()
            .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
        let Some(config) = config else { return Ok(plan) };
        Ok(match self.attached(state, config, ahead).await {
            Ok(Some(config)) => DataSourceExec::from_data_source(config),
            Ok(None) => plan,
            Err(error) => {
                let unlisted = Some(crate::Error::from(error).to_string().into());
                let unknown = FileIndexes { unlisted, ..FileIndexes::default() };
                DataSourceExec::from_data_source(with_indexes(config, std::iter::repeat(unknown)))
            }
        })
    }

    async fn attached(
        &self,
        state: &dyn Session,
        config: &FileScanConfig,
        ahead: Option<(Path, Result<Listing>)>,
    ) -> Result<Option<FileScanConfig>> {
        let Ok(format) = Format::from_scan(config) else { return Ok(None) };
        let files: Vec<&ObjectMeta> = files(config).map(|file| &file.object_meta).collect();
        let folder = expects_indexes(state, &config.object_store_url, &files);
        self.keep(state, folder.clone());
        let Some(folder) = folder else { return Ok(None) };
        let listing = match ahead {
            Some((listed, listing)) if folder.prefix_matches(&listed) => listing?,
            _ => Listing::list(state, &config.object_store_url, &folder).await?,
        };
        if listing.objects.is_empty() {
            return Ok(None);
        }
        let mut found = FreshIndexes::new(config, &format, &listing.place, listing.objects);
        found.sample(&listing.store).await;
        Ok(Some(with_indexes(config, found.files.into_iter())))
    }
}

/// The index objects below a folder.
struct Listing {
    place: IndexRoot,
    store: Arc<dyn ObjectStore>,
    objects: Vec<ObjectMeta>,
}

impl Listing {
    async fn list(state: &dyn Session, data: &ObjectStoreUrl, folder: &Path) -> Result<Self> {
        let ours = SluiceOptions::from_options(state.config_options());
        let place = IndexRoot::for_bucket(data, &ours.index_location)?;
        let store = state.runtime_env().object_store(&place.store)?;
        let objects = store.list(Some(&place.folder(folder))).try_collect().await?;
        Ok(Self { place, store, objects })
    }
}

fn start_listing(state: &dyn Session) -> Scan {
    SluiceOptions::from_options(state.config_options()).scan
}

/// Returns the innermost folder of these objects, if a listing of their indexes pays.
fn expects_indexes(
    state: &dyn Session,
    store: &ObjectStoreUrl,
    objects: &[&ObjectMeta],
) -> Option<Path> {
    let options = state.config_options();
    let ours = SluiceOptions::from_options(options);
    let endpoint = Endpoints::from_options(options).and_then(|all| all.serving(store))?;
    let wanted = match ours.scan {
        Scan::Index | Scan::IndexTable => true,
        Scan::Auto => may_have_indexes(objects, &endpoint, ours.objective.into()),
        Scan::Get | Scan::Select => false,
    };
    if wanted { common_folder(objects) } else { None }
}

fn files(config: &FileScanConfig) -> impl Iterator<Item = &PartitionedFile> {
    config.file_groups.iter().flat_map(FileGroup::iter)
}

/// Returns the innermost folder that contains all objects; the object itself if there is only one.
pub(crate) fn common_folder(files: &[&ObjectMeta]) -> Option<Path> {
    let (first, others) = files.split_first()?;
    if others.iter().all(|other| other.location == first.location) {
        return Some(first.location.clone());
    }
    let mut common: Vec<_> = first.location.parts().collect();
    common.pop();
    for other in others {
        let same = common.iter().zip(other.location.parts()).take_while(|(a, b)| **a == *b);
        let same = same.count();
        common.truncate(same);
    }
    Some(common.into_iter().collect())
}

/// Returns true if reading the table is predicted to cost so much that a listing is negligible.
fn may_have_indexes(objects: &[&ObjectMeta], endpoint: &Endpoint, objective: Objective) -> bool {
    let bytes = objects.iter().map(|object| object.size).sum();
    let gets = Requests(objects.len() as u64);
    let get = Phase { gets, got: Bytes(bytes), ..Phase::default() };
    let list = Phase { lists: Requests(1), ..Phase::default() };
    let cost = |phase: Phase| {
        let steps = Steps::from(phase);
        // The startup of a query is the same with and without a listing.
        let predicted = predict(&steps, &endpoint.hardware);
        let time = predicted.total().saturating_sub(predicted.startup);
        let mut work = steps.work();
        work.wall = time;
        (time.as_secs_f64(), endpoint.prices.cost(&work).total().0)
    };
    let (seconds, dollars) = cost(get);
    let looking = endpoint.hardware.link.latency.as_secs_f64();
    let (_, list_dollars) = cost(list);
    match objective {
        Objective::Time => seconds >= WORTH * looking,
        Objective::Dollars | Objective::Weighted { .. } => {
            seconds >= WORTH * looking && dollars >= WORTH * list_dollars
        }
    }
}

/// The indexes of the files of a scan, in the order of the files.
struct FreshIndexes {
    files: Vec<FileIndexes>,
}

impl FreshIndexes {
    fn new(
        config: &FileScanConfig,
        format: &Format,
        place: &IndexRoot,
        listed: Vec<ObjectMeta>,
    ) -> Self {
        let mut of_data = std::collections::HashMap::<Path, Vec<(Name, ObjectMeta)>>::new();
        for object in listed {
            if let (Some(data), Some(name)) =
                (place.data(&object.location), location::parse(&object.location))
            {
                of_data.entry(data).or_default().push((name, object));
            }
        }
        let schema = config.file_source().table_schema().file_schema();
        let columns: Vec<(usize, &str, String, Tag)> = schema
            .fields()
            .iter()
            .enumerate()
            .filter_map(|(column, field)| {
                let type_name = key::type_name(field.data_type())?;
                let tag = format.tag(column, &type_name);
                Some((column, field.name().as_str(), type_name, tag))
            })
            .collect();
        let of_file = |file: &PartitionedFile| {
            let mut indexes = FileIndexes::default();
            let version = location::version_of(&file.object_meta);
            for (name, object) in of_data.get(&file.object_meta.location).into_iter().flatten() {
                for (column, _, type_name, tag) in
                    columns.iter().filter(|(_, column, ..)| location::is_about(name, column))
                {
                    let of_file = version.is_some_and(|version| name.is_of_version(version));
                    let is_fresh = of_file && name.is_of_format(*tag);
                    if name.kind() == Kind::Table {
                        let (column, object) = (*column, object.into());
                        match is_fresh {
                            true => {
                                indexes.tables.push(FileIndex { column, object, sample: None });
                            }
                            false => indexes.stale_tables.push(column),
                        }
                    } else if is_fresh {
                        let (column, object) = (*column, object.into());
                        indexes.fresh.push(FileIndex { column, object, sample: None });
                    } else if of_file && format.is_former(*column, type_name, name) {
                        indexes.former.push(*column);
                    } else {
                        indexes.stale.push(*column);
                    }
                }
            }
            indexes
        };
        Self { files: files(config).map(of_file).collect() }
    }

    /// Opens the largest index of each column.
    async fn sample(&mut self, store: &Arc<dyn ObjectStore>) {
        let mut largest: Vec<FileIndex> = Vec::new();
        for index in self.files.iter().flat_map(|file| &file.fresh) {
            match largest.iter_mut().find(|known| known.column == index.column) {
                Some(known) if known.object.size < index.object.size => *known = index.clone(),
                Some(_) => {}
                None => largest.push(index.clone()),
            }
        }
        largest.truncate(SAMPLED_COLUMNS);
        let opened = futures::stream::iter(largest).map(|index| async move {
            let open = OpenIndex::open(Arc::clone(store), index.object).await;
            // An error is reported when the index is used.
            Some((index.column, Arc::new(open.ok()?.top)))
        });
        let opened: Vec<_> = opened.buffered(SAMPLED_COLUMNS).collect().await;
        for index in self.files.iter_mut().flat_map(|file| &mut file.fresh) {
            let of_column = opened.iter().flatten().find(|(column, _)| *column == index.column);
            index.sample = of_column.map(|(_, top)| Arc::clone(top));
        }
    }
}

/// Attaches indexes to the files of a scan, in the order of the files.
fn with_indexes(
    config: &FileScanConfig,
    mut indexes: impl Iterator<Item = FileIndexes>,
) -> FileScanConfig {
    let groups = config.file_groups.iter().map(|group| {
        let mut files = group.clone();
        for number in 0..files.len() {
            files[number].extensions.insert(indexes.next().unwrap_or_default());
        }
        files
    });
    let groups = groups.collect();
    FileScanConfigBuilder::from(config.clone()).with_file_groups(groups).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_listing_covers_all_objects_of_a_table() {
        let object = |path: &str| ObjectMeta {
            location: path.into(),
            last_modified: chrono::DateTime::UNIX_EPOCH,
            size: 1,
            e_tag: None,
            version: None,
        };
        let check = |paths: &[&str], expected: Option<&str>| {
            let objects: Vec<_> = paths.iter().map(|path| object(path)).collect();
            let folder = common_folder(&objects.iter().collect::<Vec<_>>());
            assert_eq!(folder, expected.map(Path::from));
        };
        check(&[], None);
        check(&["t/a.csv"], Some("t/a.csv"));
        check(&["t/a.csv", "t/a.csv"], Some("t/a.csv"));
        check(&["t/a.csv", "t/b.csv"], Some("t"));
        check(&["t/p=1/a.csv", "t/p=2/a.csv"], Some("t"));
        check(&["t/x/a.csv", "u/x/a.csv"], Some(""));
    }
}
