//! Files of one format that are written in different ways, as one table: `.csv` beside `.csv.gz`.
//!
//! DataFusion reads one compression in a scan, so each way has a scan of its own, and the rows of all are put together.
//! Their columns are told as those of files that are written alike.

use std::sync::Arc;

use arrow::datatypes::{Fields, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlanBuilder;
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::csv_dialect::headers;
use crate::merged_columns::MergedColumns;
use crate::notes::some_of;
use crate::partitions::Partitions;
use crate::table_functions::Read;
use crate::url_tables::{Kinds, UrlTables};

/// What a part is called in plans.
const PART: &str = "files";

/// Which of the objects at a URL a table has.
#[derive(Debug, Default)]
pub(crate) struct Part {
    /// How their names end; nothing if it has all.
    pub(crate) end: Option<String>,
    /// Its columns, if other objects beside these tell their types, too.
    pub(crate) columns: Option<SchemaRef>,
}

impl Part {
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.end.as_ref().is_none_or(|end| path.as_ref().ends_with(end.as_str()))
    }

    /// The columns of its files.
    pub(crate) fn typed(&self, files: &SchemaRef, partitions: &Partitions) -> SchemaRef {
        let Some(columns) = &self.columns else { return Arc::clone(files) };
        let fields = columns.fields().iter().filter(|field| !partitions.has(field.name()));
        Arc::new(Schema::new_with_metadata(
            fields.cloned().collect::<Fields>(),
            files.metadata().clone(),
        ))
    }
}

/// The objects of a URL that are of one format, and written in different ways: `.csv` and `.csv.gz`.
pub(crate) struct Parts<'a> {
    /// How their names end, with the first object that ends so.
    pub(crate) parts: Vec<(String, ObjectMeta)>,
    /// Those whose names say no format.
    unknown: Vec<&'a Path>,
}

impl<'a> Parts<'a> {
    /// Nothing if the objects are read as one table, or are of several formats.
    pub(crate) fn of(
        state: &SessionState,
        objects: &'a [ObjectMeta],
        read: Option<&Read>,
    ) -> Option<Self> {
        let (kinds, unknown) =
            Kinds::of(state, objects, |kind| read.is_none_or(|read| kind.is_of(read.format)));
        let format =
            ["csv", "json"].into_iter().find(|it| kinds.0.iter().all(|(kind, _)| kind.is_of(it)));
        let several = kinds.0.len() > 1 && format.is_some();
        // A table of one kind whose names end differently has a pattern of its own.
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

    /// A note on objects that are not read, of so many.
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

/// The table of all `parts` of a URL, by the ends of their names, each with its first object.
///
/// # Errors
///
/// If a part cannot be read, or they have different columns.
pub(crate) async fn table(
    tables: &UrlTables,
    url: &str,
    read: Option<&Read>,
    parts: &[(String, ObjectMeta)],
) -> Result<Arc<dyn TableProvider>> {
    let of_part = async |end: &String, columns: Option<SchemaRef>| {
        let part = Part { end: Some(end.clone()), columns };
        Box::pin(tables.table_of(url, read, &part)).await
    };
    let mut all: Vec<Arc<dyn TableProvider>> = Vec::with_capacity(parts.len());
    for (end, _) in parts {
        all.push(of_part(end, None).await?);
    }
    let is_csv = parts.iter().all(|(end, _)| !end.to_ascii_lowercase().contains("json"));
    let columns = Arc::new(merged(&all, parts, is_csv)?);
    let mut union: Option<LogicalPlanBuilder> = None;
    for (mut part, (end, _)) in all.into_iter().zip(parts) {
        if part.schema().fields() != columns.fields() {
            part = of_part(end, Some(Arc::clone(&columns))).await?;
        }
        let plan = LogicalPlanBuilder::scan(PART, provider_as_source(part), None)?;
        union = Some(match union {
            Some(before) => before.union(plan.build()?)?,
            None => plan,
        });
    }
    let plan = union.map_or_else(|| LogicalPlanBuilder::empty(false).build(), |it| it.build())?;
    Ok(Arc::new(ViewTable::new(plan, None)))
}

/// The columns of all parts.
fn merged(
    tables: &[Arc<dyn TableProvider>],
    parts: &[(String, ObjectMeta)],
    is_csv: bool,
) -> Result<Schema> {
    let mut columns = if is_csv { MergedColumns::of_csv() } else { MergedColumns::of_json() };
    let mut first: Option<(Vec<String>, &ObjectMeta)> = None;
    for (table, (_, object)) in tables.iter().zip(parts) {
        let schema = table.schema();
        let names = schema.fields().iter().map(|field| field.name().clone());
        let names: Vec<String> = names.collect();
        match &first {
            Some((known, of)) if is_csv => headers::compare_columns((of, known), (object, &names))?,
            Some(_) => {}
            None => first = Some((names, object)),
        }
        columns.add(object, &schema)?;
    }
    Ok(columns.into_schema())
}
