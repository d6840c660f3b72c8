//! The keys of a column in order, and their division by a span.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;

use super::extract::ColumnKeys;

/// The distinct keys of a column, in order.
#[derive(Debug, Clone, Default)]
pub struct OrderedKeys {
    /// True if NULL is a key.
    pub null: bool,
    /// A lower bound of the other keys.
    pub low: Option<ScalarValue>,
    /// An upper bound of the other keys.
    pub high: Option<ScalarValue>,
    /// All keys without NULL, if they are known.
    pub values: Option<Vec<ScalarValue>>,
    /// A filter over the table's columns that only keys pass, if there is one.
    pub filter: Option<Arc<dyn PhysicalExpr>>,
}

impl From<ColumnKeys> for OrderedKeys {
    fn from(keys: ColumnKeys) -> Self {
        let values = keys.values.map(|values| {
            let mut values: Vec<_> = values.into_iter().collect();
            values.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
            values
        });
        Self { null: keys.null, low: keys.low, high: keys.high, values, filter: None }
    }
}

/// Two values between which the keys of some rows are assumed to be. Results must not depend on the assumption.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The least value of the span.
    pub low: ScalarValue,
    /// The greatest value of the span.
    pub high: ScalarValue,
}

impl Span {
    /// Returns the span from the least to the greatest of some values, or `None` if all are NULL.
    ///
    /// # Errors
    ///
    /// If the values are of a type that has no scalars.
    pub fn from_values(values: &ArrayRef) -> Result<Option<Self>> {
        let mut span: Option<Self> = None;
        for row in (0..values.len()).filter(|row| values.is_valid(*row)) {
            let value = ScalarValue::try_from_array(values, row)?;
            let alone = Self { low: value.clone(), high: value };
            span = Some(match span {
                Some(span) => span.around(alone),
                None => alone,
            });
        }
        Ok(span)
    }

    /// Returns the smallest span that contains both.
    #[must_use]
    pub fn around(self, other: Self) -> Self {
        Self {
            low: if other.low < self.low { other.low } else { self.low },
            high: if other.high > self.high { other.high } else { self.high },
        }
    }
}

/// The keys of a column, divided by a span.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split<'a> {
    /// The keys below the span.
    pub below: &'a [ScalarValue],
    /// The keys in the span.
    pub within: &'a [ScalarValue],
    /// The keys above the span.
    pub above: &'a [ScalarValue],
}

impl OrderedKeys {
    /// Divides the keys by a span. Returns `None` if they are not known or of another type.
    #[must_use]
    pub fn split(&self, span: &Span) -> Option<Split<'_>> {
        let values = self.values.as_deref()?;
        let of = values.first()?.data_type();
        if span.low.data_type() != of || span.high.data_type() != of || span.low > span.high {
            return None;
        }
        let (below, rest) = values.split_at(values.partition_point(|key| *key < span.low));
        let (within, above) = rest.split_at(rest.partition_point(|key| *key <= span.high));
        Some(Split { below, within, above })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use arrow::array::{Int64Array, StringArray};

    use super::*;

    fn ints(values: &[i64]) -> Vec<ScalarValue> {
        values.iter().map(|value| ScalarValue::from(*value)).collect()
    }

    fn span(low: i64, high: i64) -> Span {
        Span { low: low.into(), high: high.into() }
    }

    #[test]
    fn a_span_parts_keys_in_three() {
        let values: HashSet<_> = ints(&[9, -2, 4, 7]).into_iter().collect();
        let keys = OrderedKeys::from(ColumnKeys { values: Some(values), ..Default::default() });
        let parted = |low, high| {
            let Split { below, within, above } = keys.split(&span(low, high)).unwrap();
            (below.to_vec(), within.to_vec(), above.to_vec())
        };
        assert_eq!(parted(4, 8), (ints(&[-2]), ints(&[4, 7]), ints(&[9])));
        assert_eq!(parted(-9, 90), (vec![], ints(&[-2, 4, 7, 9]), vec![]));
        assert_eq!(parted(5, 6), (ints(&[-2, 4]), vec![], ints(&[7, 9])));
        assert_eq!(parted(10, 10), (ints(&[-2, 4, 7, 9]), vec![], vec![]));
    }

    #[test]
    fn a_span_of_another_type_says_nothing() {
        let keys = OrderedKeys { values: Some(ints(&[1, 2])), ..Default::default() };
        let other = Span { low: ScalarValue::from(1_i32), high: ScalarValue::from(2_i32) };
        assert_eq!(keys.split(&other), None);
        assert_eq!(keys.split(&span(2, 1)), None);
        assert_eq!(OrderedKeys::default().split(&span(1, 2)), None);
    }

    #[test]
    fn a_span_is_that_of_the_values_that_are_there() {
        let of = |values: Vec<Option<i64>>| {
            Span::from_values(&(Arc::new(Int64Array::from(values)) as ArrayRef)).unwrap()
        };
        assert_eq!(of(vec![None, Some(3), Some(-1), None]), Some(span(-1, 3)));
        assert_eq!(of(vec![None]), None);
        assert_eq!(span(1, 3).around(span(-4, 2)), span(-4, 3));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["b", "a"]));
        let texts = Span::from_values(&texts).unwrap().unwrap();
        assert_eq!((texts.low, texts.high), ("a".into(), "b".into()));
    }
}
