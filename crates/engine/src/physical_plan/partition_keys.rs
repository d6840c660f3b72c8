//! Rows that are written into folders by the values of columns have such values.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::config::ConfigOptions;
use datafusion::datasource::file_format::csv::CsvSink;
use datafusion::datasource::file_format::json::JsonSink;
use datafusion::datasource::file_format::parquet::ParquetSink;
use datafusion::datasource::physical_plan::FileSink;
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::logical_expr::{ColumnarValue, Volatility, create_udf};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::expressions::Column;
use datafusion::physical_plan::filter::FilterExec;

use crate::{ErrorKind, Told};

/// The columns by whose values a sink makes folders.
fn partition_columns(sink: &dyn DataSink) -> Vec<String> {
    let csv = sink.downcast_ref::<CsvSink>().map(FileSink::config);
    let json = || sink.downcast_ref::<JsonSink>().map(FileSink::config);
    let parquet = || sink.downcast_ref::<ParquetSink>().map(FileSink::config);
    let config = csv.or_else(json).or_else(parquet);
    let columns = config.map(|config| config.table_partition_cols.as_slice()).unwrap_or_default();
    columns.iter().map(|(name, _)| name.clone()).collect()
}

/// A sink that fails where a row has no value by which a folder is named: DataFusion would write it into the
/// folder of another value, which is how it would be read.
///
/// # Errors
///
/// If the input has no such column.
pub(super) fn with_partition_keys(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(writes) = plan.downcast_ref::<DataSinkExec>() else { return Ok(plan) };
    let columns = partition_columns(writes.sink());
    let mut input = Arc::clone(writes.input());
    for name in &columns {
        let schema = input.schema();
        let (index, field) = match schema.column_with_name(name) {
            Some(found) => found,
            None => return exec_err!("there is no column {name} to name folders by"),
        };
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(name, index));
        let predicate = has_values(name, column, field.data_type());
        input = Arc::new(FilterExec::try_new(predicate, input)?);
    }
    if columns.is_empty() {
        Ok(plan)
    } else {
        plan.replace_children(
            vec![input],
            ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
        )
    }
}

/// True of all rows, or an error.
fn has_values(
    name: &str,
    column: Arc<dyn PhysicalExpr>,
    data_type: &DataType,
) -> Arc<dyn PhysicalExpr> {
    let of = name.to_owned();
    let check = move |arguments: &[ColumnarValue]| {
        let nulls = arguments.iter().any(|argument| match argument {
            ColumnarValue::Array(values) => values.logical_null_count() > 0,
            ColumnarValue::Scalar(value) => value.is_null(),
        });
        if nulls {
            let told = Told {
                kind: ErrorKind::Data,
                message: format!(
                    "a row has no value (NULL) of {of}, by which folders are named: none stands for it"
                ),
                hint: Some(format!(
                    "Give it one, coalesce({of}, 'none') AS {of}, or leave such rows out: WHERE {of} IS NOT NULL."
                )),
            };
            return Err(told.into());
        }
        Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))))
    };
    let function = create_udf(
        "has_partition_value",
        vec![data_type.clone()],
        DataType::Boolean,
        Volatility::Volatile,
        Arc::new(check),
    );
    let returns = Arc::new(Field::new("has_value", DataType::Boolean, true));
    let options = Arc::new(ConfigOptions::default());
    Arc::new(ScalarFunctionExpr::new(
        "has_partition_value",
        Arc::new(function),
        vec![column],
        returns,
        options,
    ))
}
