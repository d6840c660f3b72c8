//! Columns that are read as text and parsed afterwards.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::functions::expr_fn::{concat, regexp_like, replace, strpos, to_date, to_timestamp};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, cast, lit, when};

use super::values::Values;
use crate::context::error::WITH_POINT;

/// The name in plans for the table of text columns.
const TEXT: &str = "text";

/// Returns the schema to read files with, where columns to be parsed are text, or `None` if that is not necessary.
pub(crate) fn reads_text(values: &Values, columns: &Schema) -> Option<SchemaRef> {
    let is_computed = |field: &Field| values.are_of(field.data_type());
    if !columns.fields().iter().any(|field| is_computed(field)) {
        return None;
    }
    let fields = columns.fields().iter().map(|field| match is_computed(field) {
        true => Arc::new(Field::new(field.name(), DataType::Utf8, true)),
        false => Arc::clone(field),
    });
    Some(Arc::new(Schema::new_with_metadata(
        fields.collect::<Fields>(),
        columns.metadata().clone(),
    )))
}

/// Returns a table with the columns of `columns`, parsed from those that `files` reads as text.
///
/// # Errors
///
/// If the tables do not fit each other.
pub(crate) fn table(
    files: Arc<dyn TableProvider>,
    values: &Values,
    columns: &Schema,
) -> Result<Arc<dyn TableProvider>> {
    let read = LogicalPlanBuilder::scan(TEXT, provider_as_source(files), None)?;
    let exprs = read.schema().iter().map(|(table, field)| {
        let column = Expr::Column(Column::new(table.cloned(), field.name()));
        match columns.field_with_name(field.name()) {
            Ok(wanted) if values.are_of(wanted.data_type()) => {
                Ok(values.computed(column, wanted.data_type())?.alias(field.name()))
            }
            _ => Ok(column),
        }
    });
    let exprs = exprs.collect::<Result<Vec<Expr>>>()?;
    let plan = read.project(exprs)?.build()?;
    Ok(Arc::new(ViewTable::new(plan, None)))
}

impl Values {
    /// Returns true if values of a type are parsed from text with the options.
    fn are_of(&self, data_type: &DataType) -> bool {
        let is_number = data_type.is_floating() || data_type.is_decimal();
        let is_time = matches!(data_type, DataType::Timestamp(_, _));
        let is_date = matches!(data_type, DataType::Date32 | DataType::Date64);
        !self.nulls.is_empty()
            || (self.thousands.is_some() && (is_number || data_type.is_integer()))
            || (self.decimal_separator.is_some() && is_number)
            || (self.date_format.is_some() && is_date)
            || (self.timestamp_format.is_some() && is_time)
    }

    /// Returns an expression that parses a text.
    fn computed(&self, text: Expr, data_type: &DataType) -> Result<Expr> {
        let text = match self.nulls.is_empty() {
            true => text,
            false => {
                let nulls = self.nulls.iter().map(|null| lit(null.as_str())).collect();
                let is_null = text.clone().in_list(nulls, false);
                when(is_null, lit(ScalarValue::Utf8(None))).otherwise(text)?
            }
        };
        let is_number = data_type.is_floating() || data_type.is_decimal();
        let is_time = matches!(data_type, DataType::Timestamp(_, _));
        let is_date = matches!(data_type, DataType::Date32 | DataType::Date64);
        let text = match (self.thousands, self.grouped()) {
            (Some(thousands), Some(pattern)) if is_number || data_type.is_integer() => {
                let is_grouped = regexp_like(text.clone(), lit(pattern), None);
                let plain = replace(text.clone(), lit(thousands.to_string()), lit(""));
                when(is_grouped, plain).otherwise(text)?
            }
            _ => text,
        };
        let value = match (self.decimal_separator, &self.date_format, &self.timestamp_format) {
            // A value with a point becomes a text that is not a number, so that it is an error.
            (Some(separator), ..) if is_number => {
                let has_point = strpos(text.clone(), lit(".")).gt(lit(0));
                let wrong = concat(vec![text.clone(), lit(WITH_POINT)]);
                let with_point = replace(text, lit(separator.to_string()), lit("."));
                when(has_point, wrong).otherwise(with_point)?
            }
            (_, Some(format), _) if is_date => to_date(vec![text, lit(format.as_str())]),
            (_, _, Some(format)) if is_time => to_timestamp(vec![text, lit(format.as_str())]),
            _ => text,
        };
        Ok(match data_type {
            DataType::Utf8 => value,
            other => cast(value, other.clone()),
        })
    }
}
