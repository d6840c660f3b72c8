//! Partition columns: columns that folders `name=value/` name, as in Hive, Spark and DuckDB.
//!
//! `inferred` finds them in the folders of a location, and `types` infers their types.
//!
//! DataFusion does not support NULL among their values. Its listing therefore reads them as text
//! ([`Partitions::as_text`]), and the scan converts them ([`Partitions::typed`]) and replaces the folder name for
//! NULL by NULL. Filters on them are evaluated over the text in the same way ([`Partitions::over_text`]).

pub(crate) mod inferred;
mod types;

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, SchemaRef};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, ColumnStatistics, Result, ScalarValue, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::listing::helpers::expr_applicable_for_cols;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::logical_expr::{Expr, lit, try_cast, when};

use crate::context::partition_value::NULL;
use crate::{ErrorKind, UserError};

/// The partition columns of a table, in the order of the folders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Partitions(Vec<FieldRef>);

impl Partitions {
    /// Makes partition columns of names and types.
    pub(crate) fn new(columns: impl IntoIterator<Item = (String, DataType)>) -> Self {
        // A folder may stand for NULL.
        let field = |(name, data_type)| Arc::new(Field::new(name, data_type, true));
        Self(columns.into_iter().map(field).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the columns, all of which are nullable.
    pub(crate) fn fields(&self) -> &[FieldRef] {
        &self.0
    }

    /// Returns whether there is a column of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|field| field.name() == name)
    }

    /// Returns the first name that two columns have, if there is one.
    pub(crate) fn twice(&self) -> Option<&str> {
        let mut names = HashSet::new();
        self.0.iter().map(|field| field.name().as_str()).find(|name| !names.insert(*name))
    }

    /// Returns the columns as text, for DataFusion's listing.
    pub(crate) fn as_text(&self) -> Vec<(String, DataType)> {
        self.0.iter().map(|field| (field.name().clone(), DataType::Utf8)).collect()
    }

    /// Returns the columns with their types.
    pub(crate) fn as_typed(&self) -> Vec<(String, DataType)> {
        self.0.iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
    }

    /// Converts filters on these columns into filters over the listing, in which the columns are text. Other filters
    /// are unchanged.
    ///
    /// # Errors
    ///
    /// If an expression cannot be made.
    pub(crate) fn over_text(&self, filters: &[Expr]) -> Result<Vec<Expr>> {
        let names: Vec<&str> = self.0.iter().map(|field| field.name().as_str()).collect();
        filters
            .iter()
            .map(|filter| match expr_applicable_for_cols(&names, filter) {
                true => self.filter_over_text(filter),
                false => Ok(filter.clone()),
            })
            .collect()
    }

    fn filter_over_text(&self, filter: &Expr) -> Result<Expr> {
        let typed = filter.clone().transform(|part| {
            let field = match &part {
                Expr::Column(column) => self.0.iter().find(|field| *field.name() == column.name),
                _ => None,
            };
            let Some(field) = field else { return Ok(Transformed::no(part)) };
            let text = Expr::Column(Column::from_name(field.name()));
            let null = lit(ScalarValue::try_from(field.data_type())?);
            let value = try_cast(text.clone(), field.data_type().clone());
            Ok(Transformed::yes(when(text.eq(lit(NULL)), null).otherwise(value)?))
        });
        // A condition that is NULL does not match.
        Ok(typed.data()?.is_true())
    }

    /// Converts the partition values of a listing's scan to the types of the columns.
    ///
    /// # Errors
    ///
    /// If the name of a folder is not a value of its column.
    pub(crate) fn typed(&self, config: FileScanConfig, collected: bool) -> Result<FileScanConfig> {
        let is_inexact = matches!(config.statistics().num_rows, Precision::Inexact(_));
        let schema = Arc::clone(config.file_source().table_schema().table_schema());
        let groups = config.file_groups.iter().map(|group| {
            let files = group.iter().map(|file| self.typed_file(file));
            Ok(FileGroup::new(files.collect::<Result<Vec<_>>>()?))
        });
        let groups = groups.collect::<Result<Vec<_>>>()?;
        let (groups, all) = with_merged_statistics(groups, &schema, collected)?;
        let all = if is_inexact { all.to_inexact() } else { all };
        let config = FileScanConfigBuilder::from(config).with_file_groups(groups);
        Ok(config.with_statistics(all).build())
    }

    fn typed_file(&self, file: &PartitionedFile) -> Result<PartitionedFile> {
        let mut file = file.clone();
        let values = file.partition_values.iter().zip(&self.0).map(|(text, field)| {
            let text = match text {
                ScalarValue::Utf8(Some(text)) if text != NULL => text.clone(),
                _ => return ScalarValue::try_from(field.data_type()),
            };
            ScalarValue::try_from_string(text.clone(), field.data_type()).map_err(|_| {
                UserError {
                    kind: ErrorKind::Data,
                    message: format!(
                        "`{}` is in a folder of {} = '{text}', which is no {}",
                        file.object_meta.location,
                        field.name(),
                        field.data_type()
                    ),
                    hint: Some(format!(
                        "Declare the column with a type that has this value: PARTITIONED BY ({} VARCHAR).",
                        field.name()
                    )),
                }
                .into()
            })
        });
        file.partition_values = values.collect::<Result<_>>()?;
        Ok(with_value_statistics(file))
    }
}

/// Replaces the statistics of a file's partition columns, if it has any, by those of its partition values. DataFusion's
/// are wrong for NULL and for floating-point numbers.
pub(crate) fn with_value_statistics(mut file: PartitionedFile) -> PartitionedFile {
    let Some(known) = &file.statistics else { return file };
    let mut known = Statistics::clone(known);
    let columns = known.column_statistics.len().saturating_sub(file.partition_values.len());
    known.column_statistics.truncate(columns);
    let of_value = |value| column_statistics(value, known.num_rows);
    let of_values: Vec<_> = file.partition_values.iter().map(of_value).collect();
    known.column_statistics.extend(of_values);
    file.statistics = Some(Arc::new(known));
    file
}

/// Returns the groups with the statistics of their files, unless none are `collected`, and those of all groups.
///
/// # Errors
///
/// If the statistics of two files have different columns.
pub(crate) fn with_merged_statistics(
    groups: Vec<FileGroup>,
    schema: &SchemaRef,
    collected: bool,
) -> Result<(Vec<FileGroup>, Statistics)> {
    let merged = groups.into_iter().map(|group| {
        if !collected {
            return Ok(group);
        }
        let known = group.iter().filter_map(|file| file.statistics.as_deref());
        let known = Statistics::try_merge_iter(known, schema)?;
        Ok(group.with_statistics(Arc::new(known)))
    });
    let groups = merged.collect::<Result<Vec<_>>>()?;
    let all = groups.iter().filter_map(|group| group.file_statistics(None));
    let all = Statistics::try_merge_iter(all, schema)?;
    Ok((groups, all))
}

/// Returns the statistics of a column that has the same value in this many rows.
fn column_statistics(value: &ScalarValue, rows: Precision<usize>) -> ColumnStatistics {
    // Without rows, there is no value.
    if value.is_null() || rows == Precision::Exact(0) {
        return ColumnStatistics { null_count: rows, ..ColumnStatistics::new_unknown() };
    }
    let width = value.data_type().primitive_width();
    // Bounds of floating-point numbers are not reliable for NaN and zeros.
    if value.data_type().is_floating() {
        return ColumnStatistics {
            null_count: Precision::Exact(0),
            ..ColumnStatistics::new_unknown()
        };
    }
    ColumnStatistics {
        null_count: Precision::Exact(0),
        max_value: Precision::Exact(value.clone()),
        min_value: Precision::Exact(value.clone()),
        distinct_count: Precision::Exact(1),
        sum_value: Precision::Absent,
        byte_size: width.map_or(Precision::Absent, |it| rows.multiply(&Precision::Exact(it))),
    }
}
