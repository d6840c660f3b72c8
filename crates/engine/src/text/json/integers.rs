//! Detects fractions in JSON columns that a sample inferred as whole numbers.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::datasource::physical_plan::FileSource;
use datafusion::physical_expr::utils::collect_columns;
use memchr::memchr;
use object_store::ObjectStore;
use sluicegate_client::fractions::{Fraction, Fractions};

use crate::context::error::{ErrorKind, UserError};
use crate::text::byte_observer::{ByteObserver, watched};

/// The hint for a fraction in a column of whole numbers.
const FRACTION: &str = "Declare the columns: CREATE EXTERNAL TABLE t (a DOUBLE, …) STORED AS JSON LOCATION '…'; \
     or have their types told by more records: read_json('…', sample_size => 1000000).";

/// Wraps the store of one JSON file, or a part of it. Reading fails at a fraction in a column of whole numbers that
/// the source reads. `place` names the file or the part.
pub(crate) fn checked(
    store: Arc<dyn ObjectStore>,
    source: &dyn FileSource,
    place: &str,
) -> Arc<dyn ObjectStore> {
    match Fractions::for_schema(&columns_read(source)) {
        None => store,
        Some(fractions) => {
            watched(store, WholeNumbers { fractions, begun: false, place: place.to_owned() })
        }
    }
}

/// Returns the columns of the files that a source reads.
pub(crate) fn columns_read(source: &dyn FileSource) -> SchemaRef {
    let schema = source.table_schema().file_schema();
    match source.projection() {
        None => Arc::clone(schema),
        Some(projection) => {
            let columns = projection.iter().flat_map(|item| collect_columns(&item.expr));
            let fields = columns.filter_map(|column| schema.fields().get(column.index()).cloned());
            Arc::new(Schema::new(fields.collect::<Vec<_>>()))
        }
    }
}

#[derive(Debug)]
struct WholeNumbers {
    fractions: Fractions,
    /// True once the first line has begun: a part of a file begins with the end of a line of the part before.
    begun: bool,
    place: String,
}

impl WholeNumbers {
    fn fraction_at(&self, found: Fraction) -> UserError {
        UserError {
            kind: ErrorKind::Data,
            message: format!("{found}, in {}", self.place),
            hint: Some(FRACTION.to_owned()),
        }
    }
}

impl ByteObserver for WholeNumbers {
    type Error = UserError;

    fn pass(&mut self, at: u64, bytes: &[u8]) -> Result<(), UserError> {
        let mut bytes = bytes;
        if !self.begun && at > 0 {
            let Some(end) = memchr(b'\n', bytes) else { return Ok(()) };
            bytes = &bytes[end + 1..];
        }
        self.begun = true;
        self.fractions.pass(bytes).map_err(|found| self.fraction_at(found))
    }

    fn end(&mut self) -> Result<(), UserError> {
        self.fractions.finish().map_err(|found| self.fraction_at(found))
    }
}
