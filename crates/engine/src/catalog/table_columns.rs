//! The columns of a table of files: their names in the table and in the files, and those that folders name.
//!
//! Declared columns match columns of files that differ in letter case, like in Spark and DuckDB. A column that is
//! both in the files and in the names of their folders has the value of the folder, also like there.

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

use crate::catalog::formats::S3Format;
use crate::catalog::partitions::Partitions;
use crate::text::csv::by_name::HIDDEN;

/// The columns of a table of files.
#[derive(Debug, Clone)]
pub(crate) struct TableColumns {
    /// The columns of the files, by their names in the files.
    files: SchemaRef,
    partitions: Partitions,
    /// The columns of the table.
    schema: SchemaRef,
    /// The index of each column of the table in the listing.
    places: Vec<usize>,
    /// A regular expression for CSV values that are NULL. DataFusion's reader does not support one, so it reads text.
    nulls: Option<String>,
    /// True if the listing has the same columns by the same names, in the same places.
    is_plain: bool,
}

impl TableColumns {
    /// Combines the columns of files and of folders. `called` maps names in files to names in the table, if they
    /// differ.
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

    /// Makes values NULL that match a regular expression.
    pub(crate) fn with_nulls(self, nulls: Option<String>) -> Self {
        let is_plain = self.is_plain && nulls.is_none();
        Self { nulls, is_plain, ..self }
    }

    /// Returns the columns of the table.
    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Returns the names of the columns in the files.
    pub(crate) fn in_files(&self) -> Vec<String> {
        self.files.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Returns the table for listings, in which partition columns are text.
    ///
    /// # Errors
    ///
    /// If no such table can be made.
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

    /// Returns the columns of the files for the listing. Those that are also partition columns are renamed, so that
    /// the others keep their places. With a regular expression for NULL, all are text.
    fn in_listing(&self) -> SchemaRef {
        let fields: Fields = self
            .files
            .fields()
            .iter()
            .map(|field| match self.partitions.has(field.name()) {
                true => {
                    let hidden = format!("{}{HIDDEN}", field.name());
                    // Files that are read by name have no column of this name.
                    Arc::new(field.as_ref().clone().with_name(hidden).with_nullable(true))
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

    /// Converts filters over the table into filters over the listing.
    ///
    /// # Errors
    ///
    /// If an expression cannot be made.
    pub(crate) fn filters_of_listing(&self, filters: &[Expr]) -> Result<Vec<Expr>> {
        self.partitions.over_text(filters)
    }

    /// Converts a projection of the table into one of the listing. Returns `None` if both have the same columns.
    pub(crate) fn projection_of_listing(&self, projection: Option<&[usize]>) -> Option<Vec<usize>> {
        if self.is_plain {
            return None;
        }
        Some(match projection {
            Some(projection) => projection.iter().map(|place| self.places[*place]).collect(),
            None => self.places.clone(),
        })
    }

    /// Gives the columns of a listing's scan their names and types in the table.
    ///
    /// # Errors
    ///
    /// If the projection cannot be made.
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

    /// Returns the expression for the value of a text, which is NULL if the text stands for it.
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

    /// Maps the names of columns in the files to their names in the table, if they differ.
    fn names(&self) -> HashMap<String, String> {
        let files = self.files.fields();
        let pairs = self.places.iter().zip(self.schema.fields());
        let pairs = pairs.filter_map(|(place, shown)| Some((files.get(*place)?, shown)));
        pairs
            .filter(|(file, shown)| file.name() != shown.name())
            .map(|(file, shown)| (file.name().clone(), shown.name().clone()))
            .collect()
    }

    /// Returns the table that INSERT writes to, and its rows with the names of the files.
    ///
    /// # Errors
    ///
    /// If no such table can be made.
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

/// Renames some columns of the rows.
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
