//! Translates a filter on a column to ranges of keys.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal,
};

use sluicegate_index::key::NULL;
use sluicegate_index::span::{Span, Spans, after};

use super::key::{self, Constant};

/// Returns the keys that a column has in rows that pass a filter, or `None` if the filter does not restrict the
/// column. It supports comparisons with constants, IN, IS NULL, IS NOT NULL, AND and OR.
#[must_use]
pub fn spans_of(
    filter: &Arc<dyn PhysicalExpr>,
    column: usize,
    of_type: &DataType,
) -> Option<Spans> {
    if let Some(binary) = filter.downcast_ref::<BinaryExpr>() {
        let both = || (binary.left(), binary.right());
        return match binary.op() {
            Operator::And => {
                let (left, right) = both();
                match (spans_of(left, column, of_type), spans_of(right, column, of_type)) {
                    (Some(left), Some(right)) => Some(left.intersect(&right)),
                    (left, right) => left.or(right),
                }
            }
            Operator::Or => {
                let (left, right) = both();
                let left = spans_of(left, column, of_type)?;
                Some(left.union(spans_of(right, column, of_type)?))
            }
            op => {
                let (left, right) = both();
                if let (true, Some(constant)) = (is(left, column), literal(right)) {
                    compared(*op, key::of_scalar(constant, of_type)?)
                } else if let (Some(constant), true) = (literal(left), is(right, column)) {
                    compared(op.swap()?, key::of_scalar(constant, of_type)?)
                } else {
                    None
                }
            }
        };
    }
    if let Some(null) = filter.downcast_ref::<IsNullExpr>() {
        return is(null.arg(), column).then(|| Span::point(NULL.to_vec()).into());
    }
    if let Some(value) = filter.downcast_ref::<IsNotNullExpr>() {
        return is(value.arg(), column).then(|| Span::values().into());
    }
    let list = filter.downcast_ref::<InListExpr>()?;
    if list.negated() || !is(list.expr(), column) {
        return None;
    }
    let mut points = Vec::new();
    for item in list.list() {
        let equal = compared(Operator::Eq, key::of_scalar(literal(item)?, of_type)?)?;
        points.extend_from_slice(equal.spans());
    }
    Some(Spans::sorted(points))
}

/// Returns true if a filter compares a column with constants anywhere, even in one branch of an OR, where it does not
/// restrict the column's keys.
#[must_use]
pub fn compares(filter: &Arc<dyn PhysicalExpr>, column: usize, of_type: &DataType) -> bool {
    spans_of(filter, column, of_type).is_some()
        || filter.downcast_ref::<BinaryExpr>().is_some_and(|binary| {
            matches!(binary.op(), Operator::And | Operator::Or)
                && [binary.left(), binary.right()]
                    .into_iter()
                    .any(|side| compares(side, column, of_type))
        })
}

/// Returns the keys of values for which a comparison with a constant may be true. It is never true for NULL.
fn compared(op: Operator, constant: Constant) -> Option<Spans> {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq};
    let span = match (op, constant) {
        (Eq | Lt | LtEq | Gt | GtEq, Constant::Null) => return Some(Spans::default()),
        (Eq, Constant::Key(key)) => Span::point(key),
        (Eq, Constant::Between(first, last)) => Span { low: first, high: Some(after(&last)) },
        (Lt, Constant::Key(key)) => Span::below(key),
        (LtEq, Constant::Key(key)) | (Lt | LtEq, Constant::Between(_, key)) => Span::up_to(&key),
        (Gt, Constant::Key(key)) => Span::above(&key),
        (GtEq, Constant::Key(key)) | (Gt | GtEq, Constant::Between(key, _)) => Span::at_least(key),
        _ => return None,
    };
    Some(span.into())
}

fn is(expr: &Arc<dyn PhysicalExpr>, column: usize) -> bool {
    expr.downcast_ref::<Column>().is_some_and(|it| it.index() == column)
}

fn literal(expr: &Arc<dyn PhysicalExpr>) -> Option<&datafusion::common::ScalarValue> {
    expr.downcast_ref::<Literal>().map(Literal::value)
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{Field, Schema};
    use datafusion::physical_plan::expressions::{binary, col, in_list, is_not_null, is_null, lit};

    use super::*;

    fn schema() -> Schema {
        Schema::new(vec![
            Field::new("k", DataType::Int64, true),
            Field::new("v", DataType::Int64, true),
        ])
    }

    fn column(name: &str) -> Arc<dyn PhysicalExpr> {
        col(name, &schema()).unwrap()
    }

    fn compare(
        left: Arc<dyn PhysicalExpr>,
        op: Operator,
        right: Arc<dyn PhysicalExpr>,
    ) -> Arc<dyn PhysicalExpr> {
        binary(left, op, right, &schema()).unwrap()
    }

    fn k(op: Operator, value: i64) -> Arc<dyn PhysicalExpr> {
        compare(column("k"), op, lit(value))
    }

    /// Returns the numbers from -3 to 9 that are in the spans of a filter.
    fn found(filter: &Arc<dyn PhysicalExpr>) -> Option<Vec<i64>> {
        let spans = spans_of(filter, 0, &DataType::Int64)?;
        let within = |number: &i64| match key::of_scalar(&(*number).into(), &DataType::Int64) {
            Some(Constant::Key(key)) => spans.contains(&key),
            other => panic!("{other:?}"),
        };
        Some((-3..=9).filter(within).collect())
    }

    fn finds_null(filter: &Arc<dyn PhysicalExpr>) -> Option<bool> {
        Some(spans_of(filter, 0, &DataType::Int64)?.contains(&NULL))
    }

    #[test]
    fn null_is_found_only_if_it_is_asked_for() {
        let (null, value) = (is_null(column("k")).unwrap(), is_not_null(column("k")).unwrap());
        assert_eq!(found(&null), Some(vec![]));
        assert_eq!(finds_null(&null), Some(true));
        assert_eq!(found(&value).map(|found| found.len()), Some(13));
        assert_eq!(finds_null(&value), Some(false));
        for op in [Operator::Eq, Operator::Lt, Operator::LtEq, Operator::Gt, Operator::GtEq] {
            assert_eq!(finds_null(&k(op, 4)), Some(false), "{op}");
        }
        let either = compare(Arc::clone(&null), Operator::Or, k(Operator::Eq, 4));
        assert_eq!((found(&either), finds_null(&either)), (Some(vec![4]), Some(true)));
        let both = compare(null, Operator::And, k(Operator::Gt, 4));
        assert_eq!((found(&both), finds_null(&both)), (Some(vec![]), Some(false)));
        assert_eq!(finds_null(&is_null(column("v")).unwrap()), None);
    }

    /// A value that a comparison finds by IEEE 754 or by its total order is in the spans.
    #[test]
    fn floats_are_found_however_they_are_compared() {
        let schema = Schema::new(vec![Field::new("x", DataType::Float64, true)]);
        let some = [
            -f64::NAN,
            f64::NEG_INFINITY,
            -1.5,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            f64::MIN_POSITIVE,
            2.0,
            f64::INFINITY,
            f64::NAN,
        ];
        let key = |value: f64| {
            let array: arrow::array::ArrayRef =
                Arc::new(arrow::array::Float64Array::from(vec![value]));
            let mut key = Vec::new();
            assert!(key::Keys::from_array(&array).unwrap().write(0, &mut key));
            key
        };
        for constant in some {
            for op in [Operator::Eq, Operator::Lt, Operator::LtEq, Operator::Gt, Operator::GtEq] {
                let x = col("x", &schema).unwrap();
                let filter = binary(x, op, lit(constant), &schema).unwrap();
                let spans = spans_of(&filter, 0, &DataType::Float64).unwrap();
                for value in some {
                    let (total, ieee) = (value.total_cmp(&constant), value.partial_cmp(&constant));
                    let holds = |order: std::cmp::Ordering| match op {
                        Operator::Eq => order.is_eq(),
                        Operator::Lt => order.is_lt(),
                        Operator::LtEq => order.is_le(),
                        Operator::Gt => order.is_gt(),
                        _ => order.is_ge(),
                    };
                    let found = spans.contains(&key(value));
                    if holds(total) || ieee.is_some_and(holds) {
                        assert!(found, "{value} {op} {constant}");
                    } else if constant != 0.0 && !constant.is_nan() {
                        assert!(!found, "{value} {op} {constant}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_compared_beside_something_else_is_known() {
        let either = compare(k(Operator::Eq, 4), Operator::Or, is_null(column("v")).unwrap());
        let both = compare(either, Operator::And, lit(true));
        assert_eq!(found(&both), None);
        assert!(compares(&both, 0, &DataType::Int64));
        assert!(!compares(&k(Operator::NotEq, 4), 0, &DataType::Int64));
    }

    #[test]
    fn comparisons_become_spans() {
        use Operator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
        assert_eq!(found(&k(Eq, 4)), Some(vec![4]));
        assert_eq!(found(&k(Lt, -1)), Some(vec![-3, -2]));
        assert_eq!(found(&k(LtEq, -1)), Some(vec![-3, -2, -1]));
        assert_eq!(found(&k(Gt, 7)), Some(vec![8, 9]));
        assert_eq!(found(&compare(lit(7_i64), LtEq, column("k"))), Some(vec![7, 8, 9]));
        assert_eq!(found(&k(NotEq, 4)), None);
        assert_eq!(found(&compare(column("v"), Eq, lit(4_i64))), None);
        let between = compare(k(GtEq, 2), And, k(Lt, 5));
        assert_eq!(found(&between), Some(vec![2, 3, 4]));
        let other = compare(column("v"), Eq, lit(1_i64));
        assert_eq!(found(&compare(Arc::clone(&between), And, other.clone())), Some(vec![2, 3, 4]));
        assert_eq!(found(&compare(between.clone(), Or, other)), None);
        let either = compare(between, Or, compare(k(Eq, 4), Or, k(Gt, 8)));
        assert_eq!(found(&either), Some(vec![2, 3, 4, 9]));
        assert_eq!(found(&compare(either, And, k(LtEq, 2))), Some(vec![2]));
        assert_eq!(found(&compare(k(Lt, 2), And, k(Gt, 3))), Some(vec![]));
        let null = lit(datafusion::common::ScalarValue::Int64(None));
        assert_eq!(found(&compare(column("k"), Eq, null)), Some(vec![]));
    }

    #[test]
    fn a_list_is_points() {
        let items = vec![lit(5_i64), lit(-2_i64), lit(5_i64)];
        let listed = in_list(column("k"), items.clone(), &false, &schema()).unwrap();
        assert_eq!(found(&listed), Some(vec![-2, 5]));
        let spans = spans_of(&listed, 0, &DataType::Int64).unwrap();
        assert!(spans.spans().iter().all(Span::is_point));
        let not = in_list(column("k"), items, &true, &schema()).unwrap();
        assert_eq!(found(&not), None);
    }
}
