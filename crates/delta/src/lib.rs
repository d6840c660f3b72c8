//! Reads the log of Delta tables: which files a version consists of, which of their rows are deleted, and what their
//! columns are called.
//!
//! The protocol is read by Delta's own kernel ([`delta_kernel`]), with its features for readers: checkpoints,
//! deletion vectors, column mapping, type widening, time travel by version. This crate reads no data files: a query
//! engine scans them with whatever it has for Parquet.
//!
//! Source: the Delta transaction log protocol.

mod columns;
mod error;
mod files;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use delta_kernel::Snapshot;
use delta_kernel_default_engine::DefaultEngineBuilder;
use delta_kernel_default_engine::executor::TaskExecutor;
use delta_kernel_default_engine::executor::tokio::{
    TokioBackgroundExecutor, TokioMultiThreadExecutor,
};
use futures::TryStreamExt;
use object_store::ObjectStore;
use object_store::path::Path;
use tokio::runtime::{Handle, RuntimeFlavor};
use url::Url;

pub use self::columns::Column;
pub use self::error::{Error, Result};
pub use self::files::DataFile;

/// The name of the folder that holds a table's log.
pub const LOG_FOLDER: &str = "_delta_log";

/// One version of a Delta table.
#[derive(Debug, Clone)]
pub struct Version {
    /// The number of the version, from 0.
    pub number: u64,
    /// The columns of the table, in order.
    pub columns: Vec<Column>,
    /// Its data files.
    pub files: Vec<DataFile>,
    /// Notes on what cannot be read of the table, one a sentence without a full stop.
    pub notes: Vec<String>,
}

impl Version {
    /// Reads the log of the table at `root`, the URL of its folder with `/` at the end, from `store`, the store that
    /// serves the URL's host. Without a version, it is the latest one.
    ///
    /// # Errors
    ///
    /// If there is no table, or not this version of it, if the log is damaged or cannot be read, or if the table needs
    /// a feature that the kernel lacks.
    pub async fn read(
        store: Arc<dyn ObjectStore>,
        root: Url,
        version: Option<u64>,
    ) -> Result<Self> {
        if let Some(version) = version {
            // The kernel would count up to it.
            check_is_there(&store, &root, version).await?;
        }
        let runtime = Handle::current();
        // The kernel blocks its thread while it waits for the store. Requests run on the runtime of the caller, whose
        // connections outlive this call.
        let read = match runtime.runtime_flavor() {
            RuntimeFlavor::MultiThread => {
                let executor = Arc::new(TokioMultiThreadExecutor::new(runtime));
                tokio::task::spawn_blocking(move || Self::replay(store, executor, &root, version))
            }
            _ => tokio::task::spawn_blocking(move || {
                Self::replay(store, Arc::new(TokioBackgroundExecutor::new()), &root, version)
            }),
        };
        read.await.map_err(|error| Error::Damaged(error.to_string()))?
    }

    fn replay<E: TaskExecutor>(
        store: Arc<dyn ObjectStore>,
        executor: Arc<E>,
        root: &Url,
        version: Option<u64>,
    ) -> Result<Self> {
        let engine = DefaultEngineBuilder::new(store).with_task_executor(executor).build();
        let builder = Snapshot::builder_for(root);
        let builder = match version {
            Some(version) => builder.at_version(version),
            None => builder,
        };
        let failed = |error| Error::of_kernel(error, root, version);
        let snapshot = builder.build(&engine).map_err(failed)?;
        let scan = Arc::clone(&snapshot).scan_builder().without_row_transforms();
        let scan = scan.build().map_err(failed)?;
        let (columns, notes) = columns::of(&snapshot, scan.physical_schema())?;
        let files = files::of(&scan, &engine, &columns).map_err(failed)?;
        Ok(Self { number: snapshot.version(), columns, files, notes })
    }

    /// Returns the columns of the table by the names that users see.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        columns::schema(self.columns.iter().map(|column| &column.field))
    }
}

/// Checks that the log has reached a version.
///
/// # Errors
///
/// If it has not, or its folder cannot be listed.
async fn check_is_there(store: &Arc<dyn ObjectStore>, root: &Url, version: u64) -> Result<()> {
    let log = Path::from_url_path(root.path())
        .map_err(|error| Error::Damaged(error.to_string()))?
        .join(LOG_FOLDER);
    let files = store.list(Some(&log)).map_ok(|file| {
        let digits = file.location.filename().and_then(|name| name.get(..20));
        digits.and_then(|digits| digits.parse().ok())
    });
    let versions: Vec<Option<u64>> = files.try_collect().await.map_err(Error::Store)?;
    match versions.into_iter().flatten().max() {
        None => Err(Error::NoTable { root: root.to_string() }),
        Some(last) if version > last => Err(Error::NoVersion {
            root: root.to_string(),
            version,
            why: format!("the latest is {last}"),
        }),
        Some(_) => Ok(()),
    }
}
