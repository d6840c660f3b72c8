//! The versions of Delta tables that a query reads.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::listing::ListingTableUrl;
use sluicegate_delta::{Error, Version};
use tokio::sync::Mutex;

use crate::{ErrorKind, UserError};

/// The versions of Delta tables that a query reads: one for each table, however often the query names it.
#[derive(Debug, Default)]
pub(crate) struct DeltaVersions(Mutex<HashMap<Wanted, Arc<Version>>>);

/// The location of a table, and the number of a version, or `None` for the latest one.
type Wanted = (String, Option<u64>);

impl DeltaVersions {
    /// Returns a version of a table, or the latest one: that which the query read first.
    ///
    /// # Errors
    ///
    /// If there is no such table or version, or its log cannot be read.
    pub(crate) async fn read(
        state: &dyn Session,
        location: &ListingTableUrl,
        version: Option<u64>,
    ) -> Result<Arc<Version>> {
        let read = state.config().get_extension::<Self>().unwrap_or_default();
        let key = (location.as_str().to_owned(), version);
        let mut read = read.0.lock().await;
        if let Some(version) = read.get(&key) {
            return Ok(Arc::clone(version));
        }
        let store = state.runtime_env().object_store(location)?;
        let root = location.get_url().clone();
        let found = Version::read(store, root, version).await.map_err(told)?;
        let found = Arc::new(found);
        read.insert(key, Arc::clone(&found));
        Ok(found)
    }
}

/// Converts an error of the log.
fn told(error: Error) -> DataFusionError {
    let (kind, hint) = match error {
        Error::Store(error) => return DataFusionError::ObjectStore(Box::new(error)),
        Error::NoTable { .. } => (
            ErrorKind::NotFound,
            "Name the folder in which _delta_log is. Plain Parquet files are STORED AS PARQUET.",
        ),
        Error::NoVersion { .. } => {
            (ErrorKind::NotFound, "Without a version, the latest one is read.")
        }
        Error::Unsupported { .. } => {
            (ErrorKind::Unsupported, "Read it with the program that wrote it.")
        }
        _ => (ErrorKind::Data, "Check the files in _delta_log, or read an earlier version."),
    };
    let message = error.to_string();
    UserError { kind, message, hint: Some(hint.to_owned()) }.into()
}
