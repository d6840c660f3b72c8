//! SKYLINE OF in SQL: `SELECT * FROM hotels QUALIFY skyline(rating, -price) OVER ()`.
//!
//! `skyline(x, y, …)` is a window function. It is TRUE for the rows of its window that no other row dominates: none
//! is at least as great in every argument and greater in one. Negate an argument that should be small. Equal rows do
//! not dominate each other; a row with a NULL is neither dominated nor dominates. `PARTITION BY` returns a skyline
//! for each group; an order or a frame has no effect.
//!
//! A window function defines exactly which rows compete (those that pass WHERE), needs no new syntax, and works the
//! same with a switch and without. Recognising the `NOT EXISTS` form of dominance would serve fewer queries.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::row::{RowConverter, SortField};
use datafusion::common::Result;
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{
    LimitEffect, PartitionEvaluator, Signature, Volatility, WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;

/// The name of the function.
pub(crate) const NAME: &str = "skyline";

/// Returns the window function, to be registered with a session.
#[must_use]
pub fn skyline() -> Arc<WindowUDF> {
    let signature = Signature::variadic_any(Volatility::Immutable);
    Arc::new(WindowUDF::new_from_impl(Skyline { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Skyline {
    signature: Signature,
}

impl WindowUDFImpl for Skyline {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(
        &self,
        _args: PartitionEvaluatorArgs,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(Evaluator))
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(args.name(), DataType::Boolean, false)))
    }

    fn limit_effect(&self, _args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        LimitEffect::Unknown
    }
}

#[derive(Debug)]
struct Evaluator;

impl PartitionEvaluator for Evaluator {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let complete = |row: &usize| values.iter().all(|column| !column.is_null(*row));
        let mut order: Vec<usize> = (0..rows).filter(complete).collect();
        let ranks = values.iter().map(ranks).collect::<Result<Vec<_>>>()?;
        // A row that dominates another has a greater sum of ranks.
        let sum = |row: usize| ranks.iter().map(|rank| u64::from(rank[row])).sum::<u64>();
        order.sort_by_cached_key(|row| std::cmp::Reverse(sum(*row)));
        let mut kept = vec![true; rows];
        let mut skyline: Vec<usize> = Vec::new();
        for row in order {
            let dominates = |other: &usize| {
                ranks.iter().all(|rank| rank[*other] >= rank[row])
                    && ranks.iter().any(|rank| rank[*other] > rank[row])
            };
            if skyline.iter().any(dominates) {
                kept[row] = false;
            } else {
                skyline.push(row);
            }
        }
        Ok(Arc::new(BooleanArray::from(kept)))
    }
}

/// Returns the rank of each row: the number of different smaller values in the column, in the order of SQL.
fn ranks(column: &ArrayRef) -> Result<Vec<u32>> {
    let converter = RowConverter::new(vec![SortField::new(column.data_type().clone())])?;
    let rows = converter.convert_columns(&[Arc::clone(column)])?;
    let mut order: Vec<usize> = (0..column.len()).collect();
    order.sort_unstable_by(|a, b| rows.row(*a).cmp(&rows.row(*b)));
    let mut ranks = vec![0; column.len()];
    let mut rank = 0;
    for pair in order.windows(2) {
        rank += u32::from(rows.row(pair[0]) != rows.row(pair[1]));
        ranks[pair[1]] = rank;
    }
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int32Array, StringArray};

    use super::*;

    fn kept(values: &[ArrayRef]) -> Vec<bool> {
        let kept = Evaluator.evaluate_all(values, values[0].len()).unwrap();
        kept.as_boolean().iter().map(|kept| kept.unwrap()).collect()
    }

    #[test]
    fn undominated_rows_stay() {
        let x: ArrayRef = Arc::new(Int32Array::from(vec![5, 5, 4, 4, 6, 3]));
        let y: ArrayRef = Arc::new(Int32Array::from(vec![5, 5, 6, 5, 4, 3]));
        let expected = [true, true, true, false, true, false];
        assert_eq!(kept(&[Arc::clone(&x), y]), expected);
        assert_eq!(kept(&[x]), [false, false, false, false, true, false]);
    }

    #[test]
    fn rows_with_a_null_take_no_part() {
        let x: ArrayRef = Arc::new(Int32Array::from(vec![Some(9), Some(1), Some(2), None]));
        let y: ArrayRef = Arc::new(StringArray::from(vec![None, Some("a"), Some("b"), Some("z")]));
        assert_eq!(kept(&[x, y]), [true, false, true, true]);
    }
}
