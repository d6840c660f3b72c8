//! Limits the texts that REPEAT, LPAD and RPAD make. Their length is an argument, and the result of a batch is
//! allocated at once; a failed allocation would end the process.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::compute::cast;
use arrow::compute::kernels::length::length;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use crate::{ErrorKind, UserError};
use sluicegate_guards::wrapped_functions::{Change, changed};

/// The maximum number of bytes that a function returns for a batch.
const MOST: i128 = 512 << 20;

/// Returns limited versions of the functions of a session that need a limit.
pub(crate) fn bounded(functions: &[Arc<ScalarUDF>]) -> Vec<Arc<ScalarUDF>> {
    let bounded = functions.iter().filter_map(|function| {
        let bound = match function.name() {
            "repeat" => Bound::Repeated,
            "lpad" | "rpad" => Bound::Padded,
            _ => return None,
        };
        Some(changed(function, bound))
    });
    bounded.collect()
}

/// The meaning of the second argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Bound {
    /// The number of repetitions of the text.
    Repeated,
    /// The number of characters after padding.
    Padded,
}

impl Change for Bound {
    fn invoke(self, inner: &ScalarUDF, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        // The function itself refuses other arguments.
        let bytes = self.bytes(&args).unwrap_or(0);
        if bytes > MOST {
            let message = format!(
                "{} would make texts of {} MiB, and of a batch of rows it makes at most {} MiB",
                inner.name(),
                bytes >> 20,
                MOST >> 20
            );
            let hint = "Make shorter texts, or batches of fewer rows: SET datafusion.execution.batch_size = 64.";
            let (kind, hint) = (ErrorKind::Resources, Some(hint.to_owned()));
            return Err(UserError { kind, message, hint }.into());
        }
        inner.invoke_with_args(args)
    }
}

impl Bound {
    fn bytes(self, args: &ScalarFunctionArgs) -> Option<i128> {
        let [text, count, others @ ..] = args.args.as_slice() else { return None };
        let count = numbers(count, |array| Some(Arc::clone(array)))?;
        let of_each = match self {
            Self::Repeated => lengths(text)?,
            // A character has at most four bytes, and at most as many as the padding text.
            Self::Padded => match others {
                [] => Int64Array::from(vec![1]),
                [fill, ..] => lengths(fill)?,
            },
        };
        let rows = match &args.args[..] {
            all if all.iter().all(|it| matches!(it, ColumnarValue::Scalar(_))) => 1,
            _ => args.number_rows,
        };
        let most = |each: i64| if self == Self::Padded { each.min(4) } else { each };
        let at = |numbers: &Int64Array, row: usize| {
            let row = if numbers.len() == 1 { 0 } else { row };
            if numbers.is_null(row) { 0 } else { numbers.value(row).max(0) }
        };
        let bytes =
            (0..rows).map(|row| i128::from(most(at(&of_each, row))) * i128::from(at(&count, row)));
        Some(bytes.sum())
    }
}

fn lengths(text: &ColumnarValue) -> Option<Int64Array> {
    numbers(text, |array| length(array).ok())
}

/// Returns a number for each row, or one for all rows.
fn numbers(
    value: &ColumnarValue,
    of: impl FnOnce(&ArrayRef) -> Option<ArrayRef>,
) -> Option<Int64Array> {
    let array = match value {
        ColumnarValue::Array(array) => Arc::clone(array),
        ColumnarValue::Scalar(value) => value.to_array().ok()?,
    };
    let numbers = cast(&of(&array)?, &DataType::Int64).ok()?;
    Some(numbers.as_primitive::<Int64Type>().clone())
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use crate::store::endpoints::Endpoints;
    use crate::{Error, ErrorKind};

    #[tokio::test]
    async fn texts_that_memory_has_no_room_for_are_refused() {
        let builder = datafusion::execution::SessionStateBuilder::new().with_default_features();
        let state =
            crate::engine::session::with_pushdown(builder, &Endpoints::default()).unwrap().build();
        let context = SessionContext::new_with_state(state);
        let run = async |sql: &str| context.sql(sql).await?.collect().await;
        for sql in [
            "SELECT repeat('ab', 400000000)",
            "SELECT lpad('a', 900000000, 'xy')",
            "SELECT rpad('a', 900000000)",
            "SELECT repeat('x', n * 100000) FROM (SELECT value AS n FROM generate_series(1, 8000)) t",
        ] {
            let error = Error::from(run(sql).await.unwrap_err());
            assert_eq!(error.kind(), ErrorKind::Resources, "{sql}: {error}");
            assert!(error.to_string().contains("would make texts of"), "{sql}: {error}");
        }
        for sql in [
            "SELECT repeat('x', n) FROM (SELECT value AS n FROM generate_series(-9, 2000)) t",
            "SELECT repeat(NULL, 9000000000), repeat('x', -9), lpad('ab', 7, 'xyz'), rpad('', 3)",
            "SELECT repeat('', 9000000)",
        ] {
            run(sql).await.unwrap();
        }
    }
}
