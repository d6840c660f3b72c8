//! Compares types that DataFusion refuses to compare: UUIDs with text, and times of day of different units.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, binary_expr, cast, lit};

/// Bytes of a UUID.
const UUID: i32 = 16;

/// Returns the comparison with both sides of one type, or `None` for other types.
pub(super) fn compared(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (one, other) = (left.get_type(schema).ok()?, right.get_type(schema).ok()?);
    let (left, right) = match (&one, &other) {
        (DataType::FixedSizeBinary(UUID), _) => (left.clone(), uuid(right)?),
        (_, DataType::FixedSizeBinary(UUID)) => (uuid(left)?, right.clone()),
        _ if is_time(&one) && is_time(&other) && one != other => {
            let finest = DataType::Time64(TimeUnit::Nanosecond);
            (cast(left.clone(), finest.clone()), cast(right.clone(), finest))
        }
        _ => return None,
    };
    Some(binary_expr(left, op, right))
}

fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Time32(_) | DataType::Time64(_))
}

/// Returns a text literal as a UUID.
fn uuid(expr: &Expr) -> Option<Expr> {
    let Expr::Literal(
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)),
        _,
    ) = expr
    else {
        return None;
    };
    // The text has the form `00000000-0000-0000-0000-000000000005`.
    let digits = match text.len() {
        36 if [8, 13, 18, 23].iter().all(|at| text.as_bytes()[*at] == b'-') => {
            text.replace('-', "")
        }
        32 => text.clone(),
        _ => return None,
    };
    let is_hex = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = is_hex.then(|| u128::from_str_radix(&digits, 16).ok()).flatten()?;
    Some(lit(ScalarValue::FixedSizeBinary(UUID, Some(value.to_be_bytes().to_vec()))))
}
