//! Matches declared columns to names in files: exactly, or ignoring case if that is unique.
//!
//! SQL converts a name without quotes to lower case, so `CREATE EXTERNAL TABLE t (Id INT)` declares `id`, and a file
//! with `Id` would not have that column. CSV columns are found by position instead.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::listing::ListingTable;
use object_store::{ObjectMeta, ObjectStore};

use crate::catalog::formats::S3Format;
use crate::context::notes::{Notes, some_of};
use crate::{ErrorKind, UserError};
use sluicegate_guards::column_names::is_same;

/// The maximum number of objects that are inspected if the first lacks a declared column.
const MOST: usize = 8;

/// Maps column names in the files to declared names, where they differ. Columns that no file has are NULL, which a note
/// states. The table must be one that finds columns by name.
///
/// # Errors
///
/// If several columns match a declared name.
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
    let with_data: Vec<&ObjectMeta> = objects.iter().filter(|object| object.size > 0).collect();
    for object in with_data.iter().take(MOST) {
        let Some(looking) = format.looking_at(object) else { continue };
        there.extend(names(state, &looking, &store, object).await);
        if declared.iter().all(|name| there.contains(name)) {
            return Ok(HashMap::new());
        }
    }
    let mut called = HashMap::new();
    let mut missing = Vec::new();
    for name in declared.iter().filter(|name| !there.contains(*name)) {
        let meant: Vec<&String> =
            there.iter().filter(|it| is_same(it, name) && !declared.contains(it)).collect();
        match meant.as_slice() {
            [] => missing.push(name),
            [one] => drop(called.insert((*one).clone(), name.clone())),
            [one, other, ..] => return Err(ambiguous(name, one, other)),
        }
    }
    // Nothing is known of objects that cannot be read.
    if !missing.is_empty() && !there.is_empty() {
        let what = match with_data.len() {
            1 => "the object has no column".to_owned(),
            all @ ..=MOST => format!("none of the {all} objects has a column"),
            _ => format!("none of the first {MOST} objects has a column"),
        };
        let there: Vec<&String> = there.iter().collect();
        let note =
            format!("{what} {}, so it is NULL; there are {}", some_of(&missing), some_of(&there));
        state.config().get_extension::<Notes>().unwrap_or_default().add(note);
    }
    Ok(called)
}

/// Returns the columns of an object; none if it cannot be read, which a later query reports.
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

/// Returns the error for a name that matches two columns.
pub(crate) fn ambiguous(name: &str, one: &str, other: &str) -> DataFusionError {
    UserError {
        kind: ErrorKind::Plan,
        message: format!("`{name}` may be the column \"{one}\" or \"{other}\""),
        hint: Some(format!("Write the one that is meant in quotes: \"{one}\".")),
    }
    .into()
}
