//! Tables of other packages.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use datafusion::common::DataFusionError;
use datafusion::datasource::MemTable;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use sluicegate_engine::Engine;

use crate::error::{of_arrow, of_engine};
use crate::interpreter::take_stream;

/// Reads all rows of an object with `__arrow_c_stream__`, without copying them, and makes them a table. A table of this
/// name is replaced.
///
/// # Errors
///
/// If the object cannot be read.
pub(crate) fn register(
    py: Python<'_>,
    engine: &Engine,
    name: &str,
    data: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let capsule = data.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let reader = take_stream(&capsule)?;
    // Metadata is for the package that wrote it.
    let schema = Arc::new(Schema::new(reader.schema().fields().clone()));
    let of_table = Arc::clone(&schema);
    // The package may run Python code while it is read.
    let batches = py.detach(move || {
        let plain = |batch: RecordBatch| {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            RecordBatch::try_new_with_options(
                Arc::clone(&of_table),
                batch.columns().to_vec(),
                &options,
            )
        };
        reader.map(|batch| batch.and_then(plain)).collect::<Result<Vec<_>, ArrowError>>()
    });
    let batches = batches.map_err(|error| of_arrow(&error))?;
    let engine_error = |error: DataFusionError| of_engine(&error.into());
    let table = MemTable::try_new(schema, vec![batches]).map_err(engine_error)?;
    let context = engine.context();
    context.deregister_table(name).map_err(engine_error)?;
    context.register_table(name, Arc::new(table)).map_err(engine_error)?;
    Ok(())
}
