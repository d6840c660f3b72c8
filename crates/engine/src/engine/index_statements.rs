//! Creates, lists, verifies and drops the indexes of a table.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, exec_err, plan_err};
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder, FileSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::object_store::{ObjectStoreRegistry, ObjectStoreUrl};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use sluicegate_index::layout::LEAST_BYTES;
pub use sluicegate_index::name::Kind;
use sluicegate_index::name::{Name, Tag};

use crate::Engine;
use crate::context::config::SluiceOptions;
use crate::context::panics;
use crate::index::create::{Column, CreateOutcome, collect_text, upload};
use crate::index::discovery::common_folder;
use crate::index::key;
use crate::index::location;
use crate::index::location::IndexRoot;
use crate::index::lookup::{IndexIdentity, OpenIndex};
use crate::index::rows::collect_rows;
use crate::index::sort::RUN_BYTES;
use crate::index::table;
use crate::index::table::upload_table;
use crate::scan::s3_scan::{as_adaptive_scan, as_index_scan, as_select_scan};
use crate::store::ranges::REQUESTS;
use crate::store::staging::StagingStores;
use crate::text::bad_records::with_location;
use crate::text::format::Format;

/// A table whose objects can have indexes, with its present objects.
#[derive(Debug, Clone)]
pub struct Indexes {
    engine: Engine,
    scan: FileScanConfig,
    format: Format,
    place: IndexRoot,
    /// The data objects by path.
    objects: BTreeMap<Path, ObjectMeta>,
}

/// An index object of a table.
#[derive(Debug, Clone)]
pub struct Index {
    /// The path of the data object.
    pub data: Path,
    /// The listing of the index object.
    pub object: ObjectMeta,
    /// The parsed name of the index object.
    pub name: Name,
    /// Shows whether the index can be used.
    pub state: State,
}

impl Index {
    /// Returns true for an index table in CSV.
    #[must_use]
    pub fn is_table(&self) -> bool {
        self.name.kind() == Kind::Table
    }
}

/// The state of an index, by its name and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It matches the present version of the object.
    Fresh,
    /// The object has been replaced since.
    Stale,
    /// The table has no such column, or reads its objects with other options.
    OtherFormat,
    /// A former version of this program made it.
    FormerVersion,
    /// It is too short to be an index.
    Damaged,
    /// The data object no longer exists.
    Orphan,
}

impl State {
    /// Returns the state in a word or two.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Stale => "stale",
            Self::OtherFormat => "other format",
            Self::FormerVersion => "former version",
            Self::Damaged => "damaged",
            Self::Orphan => "orphan",
        }
    }
}

/// The amount of an index that is checked if it is fresh by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreshnessCheck {
    /// The end of the index, in one request or two. It contains the properties of the index, the places of its blocks
    /// and its length.
    Top,
    /// The whole index, from its first byte to its last.
    Whole,
}

impl FreshnessCheck {
    /// Returns the number of indexes that are read concurrently.
    fn at_once(self) -> usize {
        match self {
            Self::Top => REQUESTS,
            Self::Whole => 4,
        }
    }
}

/// The objects without a good index of a column.
#[derive(Debug, Clone, Default)]
pub struct UnindexedObjects {
    /// The objects to index.
    pub objects: Vec<ObjectMeta>,
    /// The number of these objects that have a damaged index.
    pub damaged: usize,
}

/// A callback with the number of bytes of data objects that were read.
pub type ProgressFn = Arc<dyn Fn(u64) + Send + Sync>;

impl Indexes {
    /// Returns the indexes of a table, which is given by its name or by its URL, or `None` if all its objects are
    /// empty.
    ///
    /// # Errors
    ///
    /// If there is no such table, or its objects cannot be indexed.
    pub async fn open(engine: &Engine, table: &str) -> crate::Result<Option<Self>> {
        let from = match table.contains("://") {
            true => format!("'{}'", table.replace('\'', "''")),
            false => table.to_owned(),
        };
        let plan = engine.query(&format!("SELECT * FROM {from}")).await?;
        Ok(Self::of_plan(engine, table, &plan.create_physical_plan().await?)?)
    }

    fn of_plan(
        engine: &Engine,
        table: &str,
        plan: &Arc<dyn ExecutionPlan>,
    ) -> Result<Option<Self>> {
        let (mut scans, mut leaves, mut empty) = (Vec::new(), 0, false);
        plan.apply(|node| {
            leaves += usize::from(node.children().is_empty());
            empty |= node.is::<EmptyExec>();
            scans.extend(scan(node));
            Ok(TreeNodeRecursion::Continue)
        })?;
        if empty && leaves == 1 {
            return Ok(None);
        }
        let (Some(scan), true, 1) = (scans.pop(), scans.is_empty(), leaves) else {
            return plan_err!("{table} is not a table of objects in a bucket");
        };
        let format = match Format::from_scan(&scan) {
            Ok(format) => format,
            Err(why) => return plan_err!("{table} cannot be indexed: {why}"),
        };
        let location =
            SluiceOptions::from_options(engine.context.state().config_options()).index_location;
        let place = IndexRoot::for_bucket(&scan.object_store_url, &location)?;
        let files = scan.file_groups.iter().flat_map(|group| group.iter());
        let objects = files
            .filter(|file| file.object_meta.size > 0)
            .map(|file| (file.object_meta.location.clone(), file.object_meta.clone()));
        let objects = objects.collect();
        Ok(Some(Self { engine: engine.clone(), place, format, objects, scan }))
    }

    /// Returns the column with a name, for indexing.
    ///
    /// # Errors
    ///
    /// If the table has no such column, or the column's type cannot be indexed.
    pub fn column(&self, name: &str) -> crate::Result<Column> {
        let schema = Arc::clone(self.scan.file_source().table_schema().file_schema());
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let exact = names.iter().position(|known| *known == name);
        let Some(position) = exact.or_else(|| ignoring_case(&names, name)) else {
            let none: Result<Column> =
                plan_err!("the objects have no column {name}; they have {}", names.join(", "));
            return Ok(none?);
        };
        let field = schema.field(position);
        let (name, data_type) = (field.name(), field.data_type());
        let Some(type_name) = key::type_name(data_type) else {
            let none: Result<Column> = plan_err!(
                "column {name} is of type {data_type}; an index can be about whole, decimal and \
                 floating-point numbers, dates, timestamps and text"
            );
            return Ok(none?);
        };
        Ok(Column { schema, position, type_name, format: self.format.clone() })
    }

    fn store(&self, url: &ObjectStoreUrl) -> Result<Arc<dyn ObjectStore>> {
        self.engine.runtime_env().object_store(url)
    }

    /// Returns the index objects of the table's objects, including those of objects that no longer exist.
    ///
    /// # Errors
    ///
    /// If the store cannot list them.
    pub async fn list(&self) -> crate::Result<Vec<Index>> {
        Ok(self.listed().await?)
    }

    async fn listed(&self) -> Result<Vec<Index>> {
        let Some(folder) = common_folder(&self.objects.values().collect::<Vec<_>>()) else {
            return Ok(Vec::new());
        };
        let store = self.store(&self.place.store)?;
        let there = store.list(Some(&self.place.folder(&folder))).try_collect::<Vec<_>>().await?;
        let mut found = Vec::new();
        for object in there {
            let path = &object.location;
            let (Some(data), Some(name)) = (self.place.data(path), location::parse(path)) else {
                continue;
            };
            let state = match self.objects.get(&data).map(|data| self.state(&name, data)) {
                Some(State::Fresh) if name.kind() == Kind::Blocks && object.size < LEAST_BYTES => {
                    State::Damaged
                }
                Some(state) => state,
                None => State::Orphan,
            };
            found.push(Index { data, name, state, object });
        }
        if found.iter().any(|index| index.state == State::Orphan) {
            // Objects of other tables may be in the same folder.
            let data = self.store(&self.scan.object_store_url)?;
            let there: BTreeSet<Path> =
                data.list(Some(&folder)).map_ok(|object| object.location).try_collect().await?;
            let is_gone = |index: &Index| !there.contains(&index.data);
            found.retain(|index| index.state != State::Orphan || is_gone(index));
        }
        found.sort_by_cached_key(|index| (index.data.clone(), location::column_of(&index.name)));
        Ok(found)
    }

    fn state(&self, name: &Name, data: &ObjectMeta) -> State {
        if !location::version_of(data).is_some_and(|version| name.is_of_version(version)) {
            return State::Stale;
        }
        match self.column_of(name) {
            Some(column) if name.is_of_format(self.tag(&column)) => State::Fresh,
            Some(column) if self.format.is_former(column.position, &column.type_name, name) => {
                State::FormerVersion
            }
            _ => State::OtherFormat,
        }
    }

    fn tag(&self, column: &Column) -> Tag {
        self.format.tag(column.position, &column.type_name)
    }

    /// Returns the column of an index object's name.
    fn column_of(&self, name: &Name) -> Option<Column> {
        let schema = self.scan.file_source().table_schema().file_schema();
        let column = schema.fields().iter().find(|field| location::is_about(name, field.name()))?;
        self.column(column.name()).ok()
    }

    /// Returns the objects without an index of a column that is fresh and passes the check.
    ///
    /// # Errors
    ///
    /// If the store cannot list or read them.
    pub async fn missing(
        &self,
        column: &Column,
        kind: Kind,
        look: FreshnessCheck,
    ) -> crate::Result<UnindexedObjects> {
        let about = |index: &Index| {
            index.name.kind() == kind && location::is_about(&index.name, column.name())
        };
        let (mut fresh, mut damaged) = (Vec::new(), 0);
        for index in self.listed().await?.into_iter().filter(about) {
            match index.state {
                State::Fresh => fresh.push(index),
                State::Damaged => damaged += 1,
                State::Stale | State::OtherFormat | State::FormerVersion | State::Orphan => {}
            }
        }
        let looked = futures::stream::iter(fresh).map(|index| async move {
            let wrong = self.wrong(&index, look).await?;
            Ok::<_, DataFusionError>((index.data, wrong))
        });
        let mut looked = looked.buffer_unordered(look.at_once());
        let mut sound = BTreeSet::new();
        while let Some((data, wrong)) = looked.try_next().await? {
            match wrong {
                None => drop(sound.insert(data)),
                Some(why) => {
                    damaged += 1;
                    tracing::info!(%data, column = column.name(), %why, "a damaged index");
                }
            }
        }
        let objects = self.objects.values().filter(|object| !sound.contains(&object.location));
        Ok(UnindexedObjects { objects: objects.cloned().collect(), damaged })
    }

    /// Indexes some objects, several at once, each in one pass over it and with at most some 100 MB of memory. Each
    /// index appears when it is complete; then the indexes of a former version of its object, or of this program, are
    /// removed.
    ///
    /// # Errors
    ///
    /// If an object does not fit the table, or a store fails. Indexes that are complete stay.
    pub async fn create(
        &self,
        column: &Column,
        kind: Kind,
        objects: Vec<ObjectMeta>,
        advance: &ProgressFn,
    ) -> crate::Result<Vec<(Path, CreateOutcome)>> {
        let at_once = self.engine.context.copied_config().target_partitions().max(1);
        let former = self.listed().await?;
        let work = futures::stream::iter(objects).map(|object| {
            let former: Vec<Path> = former
                .iter()
                .filter(|index| {
                    let same = index.data == object.location
                        && index.name.kind() == kind
                        && location::is_about(&index.name, column.name());
                    same && matches!(index.state, State::Stale | State::FormerVersion)
                })
                .map(|index| index.object.location.clone())
                .collect();
            let (this, column, advance) = (self.clone(), column.clone(), Arc::clone(advance));
            let created = SpawnedTask::spawn(async move {
                let created = this.create_one(&column, kind, &object, &advance).await;
                let place = || format!("{}, which is not indexed", this.url(&object.location));
                let created =
                    created.map_err(|error| with_location(error, &place(), &column.schema))?;
                let store = this.store(&this.place.store)?;
                for path in former {
                    store.delete(&path).await?;
                }
                Ok::<_, DataFusionError>((object.location, created))
            });
            async { created.join_unwind().await.map_err(|_| stopped()).and_then(|done| done) }
        });
        // A task starts when it is created.
        Ok(work.buffer_unordered(at_once).try_collect().await?)
    }

    async fn create_one(
        &self,
        column: &Column,
        kind: Kind,
        object: &ObjectMeta,
        advance: &ProgressFn,
    ) -> Result<CreateOutcome> {
        let Some(version) = location::version_of(object) else {
            return exec_err!(
                "the store gives it no entity tag, so that nobody could tell if it changes"
            );
        };
        let from = self.store(&self.scan.object_store_url)?;
        let open = self.engine.uploads.open();
        let registry = Arc::clone(&self.engine.runtime_env().object_store_registry);
        let stores = StagingStores::new(registry, Arc::clone(open.staging()));
        let to = stores.get_store(self.place.store.as_ref())?;
        let name = location::name_of(column.name(), version, self.tag(column)).with_kind(kind);
        let path = location::path_in(&self.place.folder(&object.location), &name);
        let created = async {
            let advance = advance.as_ref();
            if kind == Kind::Table {
                return upload_table(column, object, (&from, &to), &path, advance).await;
            }
            let collected = match self.format {
                Format::Csv(_) | Format::JsonLines => {
                    collect_text(column, object, &from, RUN_BYTES, advance).await?
                }
                Format::Parquet => {
                    let task = self.engine.context.task_ctx();
                    let from = (&from, &task);
                    let rows = collect_rows(column, &self.scan, object, from, RUN_BYTES, advance);
                    panics::object(object, rows).await?
                }
            };
            upload(collected, object, &to, &path).await
        };
        match created.await {
            Ok(created) => {
                open.commit().await?;
                Ok(created)
            }
            Err(error) => {
                open.abort().await;
                Err(error)
            }
        }
    }

    /// Reads an index object from its first byte to its last and checks that it is correct and matches its name.
    /// Returns the fault, if there is one.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn verify(&self, index: &Index) -> crate::Result<Option<String>> {
        Ok(self.wrong(index, FreshnessCheck::Whole).await?)
    }

    async fn wrong(&self, index: &Index, look: FreshnessCheck) -> Result<Option<String>> {
        match self.check_freshness(index, look).await {
            Ok(()) => Ok(None),
            Err(error) => match error.find_root() {
                DataFusionError::Execution(why) => Ok(Some(why.clone())),
                _ => Err(error),
            },
        }
    }

    async fn check_freshness(&self, index: &Index, look: FreshnessCheck) -> Result<()> {
        if index.name.kind() == Kind::Table {
            // A table has no checksums, so it is compared with its object.
            if look == FreshnessCheck::Whole
                && let Some(data) = self.objects.get(&index.data)
                && let Some(column) = self.column_of(&index.name)
            {
                let from = self.store(&self.scan.object_store_url)?;
                let tables = self.store(&self.place.store)?;
                table::verify(&column, data, (&from, &tables), &index.object).await?;
            }
            return Ok(());
        }
        let store = self.store(&self.place.store)?;
        let mut open = OpenIndex::open(store, (&index.object).into()).await?;
        if look == FreshnessCheck::Whole {
            open.verify().await?;
        }
        if let (Some(column), Some(data)) =
            (self.column_of(&index.name), self.objects.get(&index.data))
        {
            open.check(IndexIdentity {
                data,
                column: column.name(),
                position: self.format.position(column.position),
                type_name: &column.type_name,
                format: &self.format.message(),
            })?;
        }
        Ok(())
    }

    /// Removes index objects.
    ///
    /// # Errors
    ///
    /// If the store cannot remove one.
    pub async fn drop(&self, indexes: &[Index]) -> crate::Result<()> {
        let store = self.store(&self.place.store).map_err(crate::Error::from)?;
        for index in indexes {
            let deleted = store.delete(&index.object.location).await;
            deleted.map_err(DataFusionError::from)?;
        }
        Ok(())
    }

    /// Returns the URL of a data object, for users.
    #[must_use]
    pub fn url(&self, data: &Path) -> String {
        format!("{}/{data}", self.scan.object_store_url.as_str().trim_end_matches('/'))
    }

    /// Returns the URL of an index object, for users.
    #[must_use]
    pub fn index_url(&self, index: &Path) -> String {
        self.place.url(index)
    }
}

fn stopped() -> DataFusionError {
    exec_datafusion_err!("indexing was stopped")
}

/// Returns the scan of a leaf with DataFusion's source, if the leaf scans files.
fn scan(node: &Arc<dyn ExecutionPlan>) -> Option<FileScanConfig> {
    let with = |config: &FileScanConfig, source: &Arc<dyn FileSource>| {
        FileScanConfigBuilder::from(config.clone()).with_source(Arc::clone(source)).build()
    };
    if let Some((config, source)) = as_select_scan(node.as_ref()) {
        return Some(with(config, source.get().source()));
    }
    if let Some((config, source)) = as_index_scan(node.as_ref()) {
        return Some(with(config, source.inner()));
    }
    if let Some((config, source)) = as_adaptive_scan(node.as_ref()) {
        return Some(with(config, source.get()));
    }
    let data_source = node.downcast_ref::<DataSourceExec>()?.data_source();
    data_source.downcast_ref::<FileScanConfig>().cloned()
}

/// Returns the position of the only name that differs from `name` at most in capitals.
fn ignoring_case(names: &[&str], name: &str) -> Option<usize> {
    let mut same = (0..names.len()).filter(|at| names[*at].eq_ignore_ascii_case(name));
    same.next().filter(|_| same.next().is_none())
}
