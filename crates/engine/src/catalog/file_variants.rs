//! Reads files of one format with different compressions as one table: `.csv` beside `.csv.gz`.
//!
//! DataFusion reads one compression per scan, so each has its own scan, and the table is their union. The columns are
//! merged like those of files with the same compression.

use std::sync::Arc;

use arrow::datatypes::{Fields, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlanBuilder;
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::catalog::partitions::Partitions;
use crate::catalog::table_functions::Read;
use crate::catalog::url_tables::{Kinds, UrlTables};
use crate::context::notes::some_of;
use crate::text::csv::dialect::headers;
use crate::text::merged_columns::MergedColumns;

/// The name of a part in plans.
const FILES_EXTENSION: &str = "files";

/// The objects at a URL that belong to a part of a table.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileVariant {
    /// The end of their names, or `None` if all objects belong to it.
    pub(crate) end: Option<String>,
    /// The columns that their folders name, or `None` if objects in any folders belong to it.
    pub(crate) folders: Option<Vec<String>>,
    /// The columns with merged types, or `None` if the part's own types are used.
    pub(crate) columns: Option<SchemaRef>,
}

impl FileVariant {
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.end.as_ref().is_none_or(|end| path.as_ref().ends_with(end.as_str()))
    }

    /// Returns the columns of the part's files.
    pub(crate) fn typed(&self, files: &SchemaRef, partitions: &Partitions) -> SchemaRef {
        let Some(columns) = &self.columns else { return Arc::clone(files) };
        let fields = columns.fields().iter().filter(|field| !partitions.has(field.name()));
        Arc::new(Schema::new_with_metadata(
            fields.cloned().collect::<Fields>(),
            files.metadata().clone(),
        ))
    }
}

/// The objects of a URL that have one format, but different compressions: `.csv` and `.csv.gz`.
pub(crate) struct FileVariants<'a> {
    /// The ends of their names, each with its first object.
    pub(crate) parts: Vec<(String, ObjectMeta)>,
    /// The objects whose names imply no format.
    unknown: Vec<&'a Path>,
}

impl<'a> FileVariants<'a> {
    /// Divides objects into parts. Returns none if they are read as one table, or have several formats.
    pub(crate) fn detect(
        state: &SessionState,
        objects: &'a [ObjectMeta],
        read: Option<&Read>,
    ) -> Option<Self> {
        let (kinds, unknown) =
            Kinds::detect(state, objects, |kind| read.is_none_or(|read| kind.is_of(read.format)));
        let format =
            ["csv", "json"].into_iter().find(|it| kinds.0.iter().all(|(kind, _)| kind.is_of(it)));
        let several = kinds.0.len() > 1 && format.is_some();
        // Objects of one kind whose names end differently are read through a pattern instead.
        let ends = kinds.0.iter().map(|(_, ends)| ends.first().filter(|_| ends.len() == 1));
        let ends = ends.collect::<Option<Vec<_>>>().filter(|_| several)?;
        let first = |end: &str| {
            let has_data = |it: &&ObjectMeta| it.size > 0 && it.location.as_ref().ends_with(end);
            objects.iter().find(has_data).cloned()
        };
        let parts = ends.into_iter().filter_map(|end| Some(((*end).to_owned(), first(end)?)));
        let parts: Vec<_> = parts.collect();
        (!parts.is_empty()).then_some(Self { parts, unknown })
    }

    /// Returns a note on the objects that are not read, out of `all`.
    pub(crate) fn unknown(&self, url: &str, all: usize) -> Option<String> {
        let ends: Vec<&str> = self.parts.iter().map(|(end, _)| end.as_str()).collect();
        (!self.unknown.is_empty()).then(|| {
            format!(
                "{} of {all} objects at {url} are not read, because their names do not end in {}: {}",
                self.unknown.len(),
                ends.join(" or "),
                some_of(&self.unknown)
            )
        })
    }
}

/// Returns the table of all `parts` of a URL, given by the ends of their names, each with its first object.
///
/// # Errors
///
/// If a part cannot be read, or the parts have different columns.
pub(crate) async fn table(
    tables: &UrlTables,
    url: &str,
    read: Option<&Read>,
    parts: &[(String, ObjectMeta)],
) -> Result<Arc<dyn TableProvider>> {
    let of_part = async |end: &String, columns: Option<SchemaRef>| {
        let part = FileVariant { end: Some(end.clone()), folders: None, columns };
        Box::pin(tables.table_of(url, read, &part)).await
    };
    let mut all: Vec<Arc<dyn TableProvider>> = Vec::with_capacity(parts.len());
    for (end, _) in parts {
        all.push(of_part(end, None).await?);
    }
    let is_csv = parts.iter().all(|(end, _)| !end.to_ascii_lowercase().contains("json"));
    let by_name = read.is_some_and(Read::reads_by_name);
    let columns = Arc::new(merged(&all, parts, is_csv, by_name)?);
    let mut union: Option<LogicalPlanBuilder> = None;
    for (mut part, (end, _)) in all.into_iter().zip(parts) {
        if part.schema().fields() != columns.fields() {
            part = of_part(end, Some(Arc::clone(&columns))).await?;
        }
        let plan = LogicalPlanBuilder::scan(FILES_EXTENSION, provider_as_source(part), None)?;
        union = Some(match union {
            Some(before) => before.union(plan.build()?)?,
            None => plan,
        });
    }
    let plan = union.map_or_else(|| LogicalPlanBuilder::empty(false).build(), |it| it.build())?;
    Ok(Arc::new(ViewTable::new(plan, None)))
}

/// Merges the columns of all parts.
fn merged(
    tables: &[Arc<dyn TableProvider>],
    parts: &[(String, ObjectMeta)],
    is_csv: bool,
    by_name: bool,
) -> Result<Schema> {
    let mut columns = match (is_csv, by_name) {
        (true, true) => MergedColumns::of_csv_by_name(),
        (true, false) => MergedColumns::of_csv(),
        (false, _) => MergedColumns::of_json(),
    };
    let mut first: Option<(Vec<String>, &ObjectMeta)> = None;
    for (table, (_, object)) in tables.iter().zip(parts) {
        let schema = table.schema();
        let names = schema.fields().iter().map(|field| field.name().clone());
        let names: Vec<String> = names.collect();
        match &first {
            Some((known, of)) if is_csv && !by_name => {
                headers::compare_columns((of, known), (object, &names))?
            }
            Some(_) => {}
            None => first = Some((names, object)),
        }
        columns.add(object, &schema)?;
    }
    Ok(columns.into_schema())
}
