//! Functions of arrays, over columns and constants.

use arrow::array::ArrayRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;

/// Applies a function of arrays to a value. A constant remains a constant.
pub(crate) fn mapped(
    value: &ColumnarValue,
    function: impl FnOnce(&ArrayRef) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    Ok(match value {
        ColumnarValue::Array(array) => ColumnarValue::Array(function(array)?),
        ColumnarValue::Scalar(value) => {
            let one = function(&value.to_array()?)?;
            ColumnarValue::Scalar(ScalarValue::try_from_array(&one, 0)?)
        }
    })
}
