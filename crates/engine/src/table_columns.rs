//! What the columns of a table of files are called, in the table and in its files, and those that are in the names of
//! folders.
//!
//! Declared columns are found in files that write them with other capitals, as Spark and DuckDB find them. A column
//! that is both in the files and in the names of their folders has the value of the folder, as of these.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::listing::{ListingTable, ListingTableConfig};
use datafusion::logical_expr::{Expr, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::expressions::{BinaryExpr, CaseExpr, CastExpr, Column, lit};
use datafusion::physical_plan::projection::ProjectionExec;

use crate::catalog::S3Format;
use crate::partitions::Partitions;

/// The columns of a table of files.
#[derive(Debug, Clone)]
pub(crate) struct TableColumns {
    /// Those of the files, by the names that the files have.
    files: SchemaRef,
    partitions: Partitions,
    /// Those of the table.
    schema: SchemaRef,
    /// Which columns of the listing these are.
    places: Vec<usize>,
    /// What values of CSV are NULL, as a regular expression. DataFusion's reader has none, so it reads text.
    nulls: Option<String>,
    /// Whether the listing has the same columns by the same names, in the same places.
    is_plain: bool,
}

impl TableColumns {
    /// Those of files, some of which the table calls otherwise, and of folders.
    pub(crate) fn new(
        files: SchemaRef,
        partitions: Partitions,
        called: &HashMap<String, String>,
    ) -> Self {
        let is_hidden = |field: &FieldRef| partitions.has(field.name());
        let as_called = |field: &FieldRef| match called.get(field.name()) {
            Some(name) => Arc::new(field.as_ref().clone().with_name(name)),
            None => Arc::clone(field),
        };
        let shown: Vec<(usize, FieldRef)> = files
            .fields()
            .iter()
            .enumerate()
            .filter(|(_, field)| !is_hidden(field))
            .map(|(place, field)| (place, as_called(field)))
            .chain((files.fields().len()..).zip(partitions.fields().iter().map(Arc::clone)))
            .collect();
        let places: Vec<usize> = shown.iter().map(|(place, _)| *place).collect();
        let fields: Fields = shown.into_iter().map(|(_, field)| field).collect();
        let is_plain = called.is_empty() && places.iter().copied().eq(0..places.len());
        let schema = Arc::new(Schema::new_with_metadata(fields, files.metadata().clone()));
        Self { files, partitions, schema, places, nulls: None, is_plain }
    }

    /// The same, in which values that match a regular expression are NULL.
    pub(crate) fn with_nulls(self, nulls: Option<String>) -> Self {
        let is_plain = self.is_plain && nulls.is_none();
        Self { nulls, is_plain, ..self }
    }

    /// Those of the table.
    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The names that the files have.
    pub(crate) fn in_files(&self) -> Vec<String> {
        self.files.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The listing of the files of a table, in which the columns of folders are text.
    ///
    /// # Errors
    ///
    /// If there can be none.
    pub(crate) fn listing(
        &self,
        state: &dyn Session,
        table: &ListingTable,
    ) -> Result<ListingTable> {
        let mut options = table.options().clone();
        if self.partitions.is_empty() && self.nulls.is_none() {
            return Ok(table.clone());
        }
        if let Some(format) = options.format.downcast_ref::<S3Format>() {
            options.format = Arc::new(format.over_listing(self.partitions.clone()));
        }
        let options = options.with_table_partition_cols(self.partitions.as_text());
        let config = ListingTableConfig::new_with_multi_paths(table.table_paths().clone())
            .with_listing_options(options)
            .with_schema(self.in_listing());
        let cache = state.runtime_env().cache_manager.get_file_statistic_cache();
        let constraints = table.constraints().cloned().unwrap_or_default();
        Ok(ListingTable::try_new(config)?.with_cache(cache).with_constraints(constraints))
    }

    /// The columns of the files as the listing has them: those that the folders have, too, by names that no query
    /// has, so that the others keep their places; and text where values are compared with what is NULL.
    fn in_listing(&self) -> SchemaRef {
        let fields: Fields = self
            .files
            .fields()
            .iter()
            .map(|field| match self.partitions.has(field.name()) {
                true => {
                    let hidden = format!("{} (of the files)", field.name());
                    Arc::new(field.as_ref().clone().with_name(hidden))
                }
                false => Arc::clone(field),
            })
            .map(|field| match self.nulls {
                Some(_) => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8)),
                None => field,
            })
            .collect();
        Arc::new(Schema::new_with_metadata(fields, self.files.metadata().clone()))
    }

    /// Filters over the table as those over the listing.
    ///
    /// # Errors
    ///
    /// If an expression cannot be made.
    pub(crate) fn filters_of_listing(&self, filters: &[Expr]) -> Result<Vec<Expr>> {
        self.partitions.over_text(filters)
    }

    /// The columns of the listing that columns of the table are; nothing if they are the same.
    pub(crate) fn projection_of_listing(&self, projection: Option<&[usize]>) -> Option<Vec<usize>> {
        if self.is_plain {
            return None;
        }
        Some(match projection {
            Some(projection) => projection.iter().map(|place| self.places[*place]).collect(),
            None => self.places.clone(),
        })
    }

    /// What the listing reads, with the names that the table has.
    ///
    /// # Errors
    ///
    /// If there is no such projection.
    pub(crate) fn called_as_declared(
        &self,
        scan: Arc<dyn ExecutionPlan>,
        projection: Option<&[usize]>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if scan.is::<EmptyExec>() {
            let schema = match projection {
                Some(projection) => Arc::new(self.schema.project(projection)?),
                None => self.schema(),
            };
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        if self.is_plain {
            return Ok(scan);
        }
        let names = self.names();
        if self.nulls.is_none() {
            let is_other = |field: &FieldRef| names.contains_key(field.name());
            return match scan.schema().fields().iter().any(is_other) {
                true => renamed(scan, |field| names.get(field.name()).cloned()),
                false => Ok(scan),
            };
        }
        let schema = scan.schema();
        let columns = schema.fields().iter().enumerate().map(|(place, field)| {
            let name = names.get(field.name()).unwrap_or(field.name());
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), place));
            let value = match self.schema.column_with_name(name) {
                Some((_, shown)) if !self.partitions.has(name) => {
                    self.value(column, shown.data_type())?
                }
                _ => column,
            };
            Ok((value, name.clone()))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(ProjectionExec::try_new(columns, scan)?))
    }

    /// The value of a text, unless it stands for NULL.
    fn value(
        &self,
        text: Arc<dyn PhysicalExpr>,
        data_type: &DataType,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let value: Arc<dyn PhysicalExpr> = match data_type {
            DataType::Utf8 => Arc::clone(&text),
            other => Arc::new(CastExpr::new(Arc::clone(&text), other.clone(), None)),
        };
        let Some(nulls) = &self.nulls else { return Ok(value) };
        let is_null = BinaryExpr::new(text, Operator::RegexMatch, lit(nulls.as_str()));
        let null = lit(ScalarValue::try_from(data_type)?);
        let case = CaseExpr::try_new(None, vec![(Arc::new(is_null), null)], Some(value))?;
        Ok(Arc::new(case))
    }

    /// What the table calls the columns that files call otherwise.
    fn names(&self) -> HashMap<String, String> {
        let files = self.files.fields();
        let pairs = self.places.iter().zip(self.schema.fields());
        let pairs = pairs.filter_map(|(place, shown)| Some((files.get(*place)?, shown)));
        pairs
            .filter(|(file, shown)| file.name() != shown.name())
            .map(|(file, shown)| (file.name().clone(), shown.name().clone()))
            .collect()
    }

    /// The files that INSERT writes, and its rows with the names that the files have.
    ///
    /// # Errors
    ///
    /// If there are no such files.
    pub(crate) fn written(
        &self,
        table: &ListingTable,
        rows: Arc<dyn ExecutionPlan>,
    ) -> Result<(ListingTable, Arc<dyn ExecutionPlan>)> {
        let names: HashMap<String, String> =
            self.names().into_iter().map(|(file, shown)| (shown, file)).collect();
        let rows = match names.is_empty() {
            true => rows,
            false => renamed(rows, |field| names.get(field.name()).cloned())?,
        };
        if self.partitions.is_empty() {
            return Ok((table.clone(), rows));
        }
        let without: Vec<FieldRef> = self.files.fields().iter().map(Arc::clone).collect();
        let without = without.into_iter().filter(|field| !self.partitions.has(field.name()));
        let files =
            Schema::new_with_metadata(without.collect::<Fields>(), self.files.metadata().clone());
        let mut options = table.options().clone();
        if let Some(format) = options.format.downcast_ref::<S3Format>() {
            options.format = Arc::new(format.over_listing(self.partitions.clone()));
        }
        let options = options.with_table_partition_cols(self.partitions.as_typed());
        let config = ListingTableConfig::new_with_multi_paths(table.table_paths().clone())
            .with_listing_options(options)
            .with_schema(Arc::new(files));
        Ok((ListingTable::try_new(config)?, rows))
    }
}

/// The same rows with other names of some columns.
fn renamed(
    rows: Arc<dyn ExecutionPlan>,
    name: impl Fn(&Field) -> Option<String>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = rows.schema();
    let columns: Vec<(Arc<dyn PhysicalExpr>, String)> = schema
        .fields()
        .iter()
        .enumerate()
        .map(|(place, field)| {
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), place));
            (column, name(field).unwrap_or_else(|| field.name().clone()))
        })
        .collect();
    Ok(Arc::new(ProjectionExec::try_new(columns, rows)?))
}
