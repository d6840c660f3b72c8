//! What a filter says about a column, as ranges of keys.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::expressions::{BinaryExpr, Column, InListExpr, Literal};

use super::key;

/// Keys from `low` on and below `high`; without `high`, all from `low` on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The least key.
    pub low: Vec<u8>,
    /// The first key beyond.
    pub high: Option<Vec<u8>>,
}

impl Span {
    fn all() -> Self {
        Self { low: Vec::new(), high: None }
    }

    fn point(key: Vec<u8>) -> Self {
        Self { high: Some(after(&key)), low: key }
    }

    /// Whether it holds at most one key.
    #[must_use]
    pub fn is_point(&self) -> bool {
        self.high.as_ref().is_some_and(|high| *high == after(&self.low))
    }

    /// Whether a key is in it.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.low.as_slice() <= key && self.high.as_deref().is_none_or(|high| key < high)
    }

    fn is_empty(&self) -> bool {
        self.high.as_ref().is_some_and(|high| *high <= self.low)
    }
}

/// The least key that is greater.
fn after(key: &[u8]) -> Vec<u8> {
    let mut after = key.to_vec();
    after.push(0);
    after
}

/// Ranges of keys in their order, none of which touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spans(Vec<Span>);

impl Spans {
    /// The ranges.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.0
    }

    /// Whether a key is in one of them.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        let after = self.0.partition_point(|span| span.low.as_slice() <= key);
        after > 0 && self.0[after - 1].contains(key)
    }

    /// The keys of which rows that pass a filter have one in a column, if the filter says
    /// anything about it: by comparisons with constants, IN, AND and OR.
    #[must_use]
    pub fn of(filter: &Arc<dyn PhysicalExpr>, column: usize, of_type: &DataType) -> Option<Self> {
        if let Some(binary) = filter.downcast_ref::<BinaryExpr>() {
            let both = || (binary.left(), binary.right());
            return match binary.op() {
                Operator::And => {
                    let (left, right) = both();
                    match (Self::of(left, column, of_type), Self::of(right, column, of_type)) {
                        (Some(left), Some(right)) => Some(left.intersect(&right)),
                        (left, right) => left.or(right),
                    }
                }
                Operator::Or => {
                    let (left, right) = both();
                    let left = Self::of(left, column, of_type)?;
                    Some(left.union(Self::of(right, column, of_type)?))
                }
                op => {
                    let (left, right) = both();
                    if let (true, Some(constant)) = (is(left, column), literal(right)) {
                        Self::compared(*op, key::of_scalar(constant, of_type)?)
                    } else if let (Some(constant), true) = (literal(left), is(right, column)) {
                        Self::compared(op.swap()?, key::of_scalar(constant, of_type)?)
                    } else {
                        None
                    }
                }
            };
        }
        let list = filter.downcast_ref::<InListExpr>()?;
        if list.negated() || !is(list.expr(), column) {
            return None;
        }
        let mut points = Vec::new();
        for item in list.list() {
            if let Some(key) = key::of_scalar(literal(item)?, of_type)? {
                points.push(Span::point(key));
            }
        }
        Some(Self::sorted(points))
    }

    /// The keys that compare so with a constant. None does with NULL.
    fn compared(op: Operator, constant: Option<Vec<u8>>) -> Option<Self> {
        let Some(key) = constant else {
            let any = matches!(
                op,
                Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
            );
            return any.then(Self::default);
        };
        let span = match op {
            Operator::Eq => Span::point(key),
            Operator::Lt => Span { high: Some(key), ..Span::all() },
            Operator::LtEq => Span { high: Some(after(&key)), ..Span::all() },
            Operator::Gt => Span { low: after(&key), ..Span::all() },
            Operator::GtEq => Span { low: key, ..Span::all() },
            _ => return None,
        };
        Some(Self::sorted(vec![span]))
    }

    fn sorted(mut spans: Vec<Span>) -> Self {
        spans.retain(|span| !span.is_empty());
        spans.sort();
        let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
        for span in spans {
            match merged.last_mut() {
                Some(last) if last.high.as_ref().is_none_or(|high| *high >= span.low) => {
                    last.high = match (last.high.take(), span.high) {
                        (Some(a), Some(b)) => Some(a.max(b)),
                        _ => None,
                    };
                }
                _ => merged.push(span),
            }
        }
        Self(merged)
    }

    fn union(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        Self::sorted(self.0)
    }

    fn intersect(&self, other: &Self) -> Self {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = Vec::new();
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            let high = match (&x.high, &y.high) {
                (Some(x), Some(y)) => Some(x.min(y).clone()),
                (x, y) => x.as_ref().or(y.as_ref()).cloned(),
            };
            let ends_first = match (&x.high, &y.high) {
                (Some(x), Some(y)) => x <= y,
                (x, _) => x.is_some(),
            };
            both.push(Span { low: (&x.low).max(&y.low).clone(), high });
            if ends_first {
                a.next()
            } else {
                b.next()
            };
        }
        Self::sorted(both)
    }
}

impl From<Span> for Spans {
    fn from(span: Span) -> Self {
        Self::sorted(vec![span])
    }
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
    use datafusion::physical_plan::expressions::{binary, col, in_list, lit};

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

    /// Which of the numbers from -3 to 9 are in the spans of a filter.
    fn found(filter: &Arc<dyn PhysicalExpr>) -> Option<Vec<i64>> {
        let spans = Spans::of(filter, 0, &DataType::Int64)?;
        let key = |number: &i64| key::of_scalar(&(*number).into(), &DataType::Int64);
        Some((-3..=9).filter(|number| spans.contains(&key(number).unwrap().unwrap())).collect())
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
        let spans = Spans::of(&listed, 0, &DataType::Int64).unwrap();
        assert!(spans.spans().iter().all(Span::is_point));
        let not = in_list(column("k"), items, &true, &schema()).unwrap();
        assert_eq!(found(&not), None);
    }
}
