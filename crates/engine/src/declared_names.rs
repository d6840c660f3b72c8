//! Declared columns by the names that files have: with the same capitals, or with others if only one is meant.
//!
//! SQL writes a name without quotes in lower case, and so `CREATE EXTERNAL TABLE t (Id INT)` declares `id`, which no
//! file with `Id` would have. Columns of CSV are found by their places.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::listing::ListingTable;
use object_store::{ObjectMeta, ObjectStore};

use crate::catalog::S3Format;
use crate::column_names::is_same;
use crate::{ErrorKind, UserError};

/// How many objects are looked into where the first does not have all declared columns.
const MOST: usize = 8;

/// What declared columns are called in the files of a table that has them by name, where that is something else: the
/// names of the files, each with the declared one.
///
/// # Errors
///
/// If several columns may be meant.
pub(crate) async fn in_files(
    state: &dyn Session,
    table: &ListingTable,
    objects: &[ObjectMeta],
    declared: &[String],
) -> Result<HashMap<String, String>> {
    let Some(location) = table.table_paths().first() else { return Ok(HashMap::new()) };
    let store = state.runtime_env().object_store(location)?;
    let format = table.options().format.downcast_ref::<S3Format>();
    let Some(format) = format else { return Ok(HashMap::new()) };
    let mut there = BTreeSet::new();
    let with_data = objects.iter().filter(|object| object.size > 0);
    for object in with_data.take(MOST) {
        let Some(looking) = format.looking_at(object) else { continue };
        there.extend(names(state, &looking, &store, object).await);
        if declared.iter().all(|name| there.contains(name)) {
            return Ok(HashMap::new());
        }
    }
    let mut called = HashMap::new();
    for name in declared.iter().filter(|name| !there.contains(*name)) {
        let meant: Vec<&String> =
            there.iter().filter(|it| is_same(it, name) && !declared.contains(it)).collect();
        match meant.as_slice() {
            [] => {}
            [one] => drop(called.insert((*one).clone(), name.clone())),
            [one, other, ..] => return Err(ambiguous(name, one, other)),
        }
    }
    Ok(called)
}

/// The columns of an object; none if it cannot be read, which a query says.
async fn names(
    state: &dyn Session,
    format: &S3Format,
    store: &Arc<dyn ObjectStore>,
    object: &ObjectMeta,
) -> Vec<String> {
    let read = format.infer_schema(state, store, std::slice::from_ref(object)).await;
    let schema = read.ok();
    let fields = schema.iter().flat_map(|schema| schema.fields().iter());
    fields.map(|field| field.name().clone()).collect()
}

/// An error about a name that may mean two columns.
pub(crate) fn ambiguous(name: &str, one: &str, other: &str) -> DataFusionError {
    UserError {
        kind: ErrorKind::Plan,
        message: format!("`{name}` may be the column \"{one}\" or \"{other}\""),
        hint: Some(format!("Write the one that is meant in quotes: \"{one}\".")),
    }
    .into()
}
