//! Reads files in folders `name=value/` and files in other folders as one table, with `union_by_name`.
//!
//! DataFusion reads only files in folders of all partition columns. The files with the same folders are therefore a
//! table of their own, and the whole table is the union of these. A column of folders is NULL where files are not in
//! such a folder.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{Column, Result};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::catalog::file_variants::FileVariant;
use crate::catalog::partitions::inferred;
use crate::catalog::table_functions::Read;
use crate::catalog::url_tables::UrlTables;

/// The name of a part in plans.
const FOLDERS: &str = "folders";

/// Returns the names of the columns that the folders of an object name.
pub(crate) fn names(location: &ListingTableUrl, path: &Path) -> Vec<String> {
    inferred::folders(location, path).into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// Returns the different lists of columns that the folders of objects name, in the order of the objects.
pub(crate) fn detect(location: &ListingTableUrl, objects: &[ObjectMeta]) -> Vec<Vec<String>> {
    let mut lists: Vec<Vec<String>> = Vec::new();
    for object in objects {
        let names = names(location, &object.location);
        if !lists.contains(&names) {
            lists.push(names);
        }
    }
    lists
}

/// Returns the union of the files of a part of a URL, of which those with each of `lists` are one table.
///
/// # Errors
///
/// If a table cannot be read, or a column has types that do not fit together.
pub(crate) async fn table(
    tables: &UrlTables,
    url: &str,
    read: Option<&Read>,
    part: &FileVariant,
    lists: Vec<Vec<String>>,
) -> Result<Arc<dyn TableProvider>> {
    let mut union: Option<LogicalPlanBuilder> = None;
    for names in lists {
        let part = FileVariant { folders: Some(names), ..part.clone() };
        let table = Box::pin(tables.table_of(url, read, &part)).await?;
        let plan = LogicalPlanBuilder::scan(FOLDERS, provider_as_source(table), None)?;
        union = Some(match union {
            Some(before) => before.union_by_name(plan.build()?)?,
            None => plan,
        });
    }
    let mut union = union.unwrap_or_else(|| LogicalPlanBuilder::empty(false));
    if let Some(columns) = &part.columns {
        let columns = columns.fields().iter().map(|field| Column::from_name(field.name()));
        union = union.project(columns.map(Expr::Column))?;
    }
    Ok(Arc::new(ViewTable::new(union.build()?, None)))
}
