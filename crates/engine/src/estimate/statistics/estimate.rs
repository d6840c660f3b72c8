//! Estimates the share of a table's rows that pass a filter, from histograms and frequent values.
//!
//! Comparisons with constants, IN, IS NULL, AND, OR and NOT are estimated. Columns are assumed to be independent, and
//! values within a part of a histogram to be evenly distributed.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_plan::expressions::{
    BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};

use super::table::{TableStatistics, of_all};
use super::{ColumnStatistics, ObjectStatistics};

/// A bound of a range, and whether it belongs to the range.
type Bound = Option<(ScalarValue, bool)>;

impl TableStatistics {
    /// Returns the share of the rows that pass all filters, which are over the table's columns. Returns `None` if
    /// none of them can be estimated. All other filters together pass the share `otherwise`.
    #[must_use]
    pub fn selectivity<'a>(
        &self,
        filters: impl IntoIterator<Item = &'a Arc<dyn PhysicalExpr>>,
        otherwise: f64,
    ) -> Option<f64> {
        let conjuncts = filters.into_iter().flat_map(split_conjunction).collect::<Vec<_>>();
        let (known, unknown) = self.conjunction(&conjuncts);
        let share = known? * if unknown { otherwise } else { 1.0 };
        // At least half a row passes.
        share.is_finite().then(|| share.clamp((0.5 / self.rows().max(1.0)).min(1.0), 1.0))
    }

    /// Returns the share of the rows that pass the conjuncts that can be estimated, and whether there are others.
    fn conjunction(&self, conjuncts: &[&Arc<dyn PhysicalExpr>]) -> (Option<f64>, bool) {
        let mut ranges: BTreeMap<usize, (Bound, Bound)> = BTreeMap::new();
        let (mut share, mut unknown): (Option<f64>, bool) = (None, false);
        let mut times = |factor: f64| share = Some(share.unwrap_or(1.0) * factor);
        for conjunct in conjuncts {
            if let Some((column, op, constant)) = self.compared(conjunct)
                && matches!(op, Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq)
            {
                let (low, high) = ranges.entry(column).or_default();
                let inclusive = matches!(op, Operator::LtEq | Operator::GtEq);
                let is_low = matches!(op, Operator::Gt | Operator::GtEq);
                let (bound, tighter) =
                    if is_low { (low, Ordering::Greater) } else { (high, Ordering::Less) };
                let replace = bound
                    .as_ref()
                    .is_none_or(|(known, _)| constant.partial_cmp(known) == Some(tighter));
                if replace {
                    *bound = Some((constant, inclusive));
                }
                continue;
            }
            match self.share(conjunct) {
                Some(factor) => times(factor),
                None => unknown = true,
            }
        }
        for (column, (low, high)) in ranges {
            match self.range(column, &low, &high) {
                Some(factor) => times(factor),
                None => unknown = true,
            }
        }
        (share, unknown)
    }

    /// Returns the share of the rows that pass a filter, if it can be estimated.
    fn share(&self, filter: &Arc<dyn PhysicalExpr>) -> Option<f64> {
        if let Some((column, op, constant)) = self.compared(filter) {
            let equal = || self.mean(column, |object, known| equal(object, known, &constant));
            return match op {
                Operator::Eq => equal(),
                Operator::NotEq => Some(1.0 - self.nulls(column)? - equal()?),
                Operator::Lt | Operator::LtEq => {
                    self.range(column, &None, &Some((constant, op == Operator::LtEq)))
                }
                Operator::Gt | Operator::GtEq => {
                    self.range(column, &Some((constant, op == Operator::GtEq)), &None)
                }
                _ => None,
            };
        }
        if let Some(binary) = filter.downcast_ref::<BinaryExpr>() {
            return match binary.op() {
                Operator::And => match self.conjunction(&split_conjunction(filter)) {
                    (share, false) => share,
                    (_, true) => None,
                },
                Operator::Or => {
                    let (left, right) = (self.share(binary.left())?, self.share(binary.right())?);
                    Some(left + right - left * right)
                }
                // Of two columns of the same kind, either may be the greater one.
                Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
                    if place(binary.left()).is_some() && place(binary.right()).is_some() =>
                {
                    Some(0.5)
                }
                _ => None,
            };
        }
        if let Some(like) = filter.downcast_ref::<LikeExpr>() {
            /// The assumed share of texts that have a pattern.
            const LIKE: f64 = 0.1;
            return Some(if like.negated() { 1.0 - LIKE } else { LIKE });
        }
        if let Some(not) = filter.downcast_ref::<NotExpr>() {
            return Some(1.0 - self.share(not.arg())?);
        }
        if let Some(null) = filter.downcast_ref::<IsNullExpr>() {
            return self.nulls(place(null.arg())?);
        }
        if let Some(value) = filter.downcast_ref::<IsNotNullExpr>() {
            return Some(1.0 - self.nulls(place(value.arg())?)?);
        }
        let list = filter.downcast_ref::<InListExpr>()?;
        let column = place(list.expr())?;
        let mut within = 0.0;
        for item in list.list() {
            let constant = item.downcast_ref::<Literal>()?.value();
            within += self.mean(column, |object, known| equal(object, known, constant))?;
        }
        Some(if list.negated() { 1.0 - self.nulls(column)? - within } else { within })
    }

    /// Returns the column, operator and constant of a comparison, turned so that the column is on the left.
    fn compared(&self, filter: &Arc<dyn PhysicalExpr>) -> Option<(usize, Operator, ScalarValue)> {
        let binary = filter.downcast_ref::<BinaryExpr>()?;
        let literal = |expr: &Arc<dyn PhysicalExpr>| expr.is::<Literal>();
        let (column, op, constant) = match (literal(binary.left()), literal(binary.right())) {
            (false, true) => (binary.left(), *binary.op(), binary.right()),
            (true, false) => (binary.right(), binary.op().swap()?, binary.left()),
            _ => return None,
        };
        let constant = constant.downcast_ref::<Literal>()?.value();
        let (column, constant) = match column.downcast_ref::<CastExpr>() {
            // Conversions between numbers or dates keep the order, except for the last digits.
            Some(cast) => {
                let column = place(cast.expr())?;
                let of = self.schema.fields().get(column)?.data_type();
                let in_order = |of: &DataType| of.is_numeric() || of.is_temporal();
                if !in_order(of) || !in_order(cast.cast_type()) {
                    return None;
                }
                (column, constant.cast_to(of).ok()?)
            }
            None => (place(column)?, constant.clone()),
        };
        (!constant.is_null()).then_some((column, op, constant))
    }

    fn range(&self, column: usize, low: &Bound, high: &Bound) -> Option<f64> {
        self.mean(column, |object, known| {
            let up_to = match high {
                Some((bound, inclusive)) => below(object, known, bound, *inclusive, Side::Upper)?,
                None => 1.0 - nulls(object, known),
            };
            let before = match low {
                Some((bound, inclusive)) => below(object, known, bound, !inclusive, Side::Lower)?,
                None => 0.0,
            };
            Some((up_to - before).max(0.0))
        })
    }

    /// Returns the mean of a quantity over the objects, weighted by rows.
    fn mean(
        &self,
        column: usize,
        of: impl Fn(&ObjectStatistics, &ColumnStatistics) -> Option<f64>,
    ) -> Option<f64> {
        let (mut rows, mut sum) = (0.0, 0.0);
        for (object, known) in self.column(column) {
            rows += object.rows as f64;
            sum += object.rows as f64 * of(object, known)?.clamp(0.0, 1.0);
        }
        (rows > 0.0).then(|| sum / rows)
    }
}

fn place(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    expr.downcast_ref::<Column>().map(Column::index)
}

fn nulls(object: &ObjectStatistics, column: &ColumnStatistics) -> f64 {
    (column.nulls as f64 / object.seen.max(1) as f64).min(1.0)
}

/// Returns the share of the rows with a value that is not heavy.
fn light(object: &ObjectStatistics, column: &ColumnStatistics) -> f64 {
    let heavy: f64 = column.heavy.iter().map(|(_, share)| share).sum();
    (1.0 - nulls(object, column) - heavy).max(0.0)
}

/// Returns the share of the rows with this value.
fn equal(object: &ObjectStatistics, column: &ColumnStatistics, value: &ScalarValue) -> Option<f64> {
    if let Some((_, share)) = column.heavy.iter().find(|(heavy, _)| heavy == value) {
        return Some(*share);
    }
    let compare = |bound: Option<&ScalarValue>| bound.and_then(|bound| value.partial_cmp(bound));
    let (low, high) = (compare(column.bounds.first()), compare(column.bounds.last()));
    if low.is_none() && high.is_none() && !column.bounds.is_empty() {
        // The constant has another type.
        return None;
    }
    // A sample may not contain the extreme values.
    let beyond = low == Some(Ordering::Less) || high == Some(Ordering::Greater);
    if column.bounds.is_empty() || (beyond && object.seen >= object.rows) {
        return Some(0.0);
    }
    let distinct = of_all(column.distinct_values(), object.seen as f64, object.rows as f64);
    let others = (distinct - column.heavy.len() as f64).max(1.0);
    Some(light(object, column) / others)
}

/// The side of a range that a bound is on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    Lower,
    Upper,
}

/// Returns the share of the rows with a value below this bound of a range, or equal to it if `inclusive`. If no value
/// of a sample is beyond the bound, the range gets half a row of the sample.
fn below(
    object: &ObjectStatistics,
    column: &ColumnStatistics,
    value: &ScalarValue,
    inclusive: bool,
    side: Side,
) -> Option<f64> {
    let mut share = 0.0;
    for (heavy, its) in &column.heavy {
        match heavy.partial_cmp(value)? {
            Ordering::Less => share += its,
            Ordering::Equal if inclusive => share += its,
            Ordering::Equal | Ordering::Greater => {}
        }
    }
    let parts = column.bounds.len().saturating_sub(1);
    let (Some(first), Some(last)) = (column.bounds.first(), column.bounds.last()) else {
        return Some(share);
    };
    let unseen = match object.seen < object.rows {
        true => 0.5 / (object.seen as f64 + 1.0),
        false => 0.0,
    };
    let part = match (value.partial_cmp(first)?, value.partial_cmp(last)?) {
        (Ordering::Less, _) if side == Side::Upper => unseen,
        (Ordering::Less, _) => 0.0,
        (_, Ordering::Greater) if side == Side::Lower => 1.0 - unseen,
        (_, Ordering::Greater) => 1.0,
        (Ordering::Equal, _) if !inclusive => 0.0,
        (_, Ordering::Equal) if inclusive => 1.0,
        _ if parts == 0 => 0.5,
        _ => {
            let upper = column.bounds.partition_point(|bound| bound <= value).clamp(1, parts);
            let (low, high) = (&column.bounds[upper - 1], &column.bounds[upper]);
            (upper as f64 - 1.0 + between(low, high, value)) / parts as f64
        }
    };
    Some(share + light(object, column) * part)
}

/// Returns the position of a value between two others, from 0 to 1.
fn between(low: &ScalarValue, high: &ScalarValue, value: &ScalarValue) -> f64 {
    let share = |low: f64, high: f64, value: f64| match high > low {
        true => ((value - low) / (high - low)).clamp(0.0, 1.0),
        false => 0.5,
    };
    if let (Some(low), Some(high), Some(value)) = (number(low), number(high), number(value)) {
        return share(low, high, value);
    }
    let (Some(Some(low)), Some(Some(high)), Some(Some(value))) =
        (low.try_as_str(), high.try_as_str(), value.try_as_str())
    else {
        return 0.5;
    };
    let common = low.bytes().zip(high.bytes()).take_while(|(a, b)| a == b).count();
    let digits = |text: &str| {
        let bytes = text.bytes().skip(common).take(6);
        bytes.fold((0.0, 1.0 / 256.0), |(sum, unit), byte| {
            (sum + f64::from(byte) * unit, unit / 256.0)
        })
    };
    share(digits(low).0, digits(high).0, digits(value).0)
}

/// Converts a value to a number with the same order.
fn number(value: &ScalarValue) -> Option<f64> {
    Some(match value {
        ScalarValue::Int8(value) => f64::from((*value)?),
        ScalarValue::Int16(value) => f64::from((*value)?),
        ScalarValue::Int32(value) | ScalarValue::Date32(value) => f64::from((*value)?),
        ScalarValue::Int64(value)
        | ScalarValue::Date64(value)
        | ScalarValue::TimestampSecond(value, _)
        | ScalarValue::TimestampMillisecond(value, _)
        | ScalarValue::TimestampMicrosecond(value, _)
        | ScalarValue::TimestampNanosecond(value, _) => (*value)? as f64,
        ScalarValue::UInt8(value) => f64::from((*value)?),
        ScalarValue::UInt16(value) => f64::from((*value)?),
        ScalarValue::UInt32(value) => f64::from((*value)?),
        ScalarValue::UInt64(value) => (*value)? as f64,
        ScalarValue::Float32(value) => f64::from((*value)?),
        ScalarValue::Float64(value) => (*value)?,
        // All values of a column have the same scale.
        ScalarValue::Decimal128(value, ..) => (*value)? as f64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
    use datafusion::physical_plan::expressions::{binary, cast, col, in_list, is_null, lit, not};

    use super::*;
    use crate::estimate::statistics::collect::Collector;
    use crate::estimate::statistics::{Origin, StatisticsKey};

    fn schema() -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("k", DataType::Int64, true),
            Field::new("g", DataType::Int64, true),
            Field::new("s", DataType::Utf8, true),
        ]))
    }

    /// Returns statistics of 20 000 rows: `k` has distinct values, `g` is -1 in half of the rows, NULL in a quarter
    /// and one of 1000 values in the others, `s` is text.
    fn table() -> TableStatistics {
        seen_of(20_000)
    }

    /// Returns the statistics as a sample of an object with so many rows.
    fn seen_of(all: u64) -> TableStatistics {
        let rows = 0..20_000_i64;
        let g = |n: i64| match n % 4 {
            0 | 1 => Some(-1),
            2 => None,
            _ => Some(n / 4 % 1000),
        };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(rows.clone().map(|n| Some(n * 7919 % 20_000)).collect::<Int64Array>()),
            Arc::new(rows.clone().map(g).collect::<Int64Array>()),
            Arc::new(rows.map(|n| Some(format!("v{:03}", n % 1000))).collect::<StringArray>()),
        ];
        sampled(columns, all)
    }

    /// Returns the statistics from a sample of 20 000 rows of an object with so many.
    fn sampled(columns: Vec<ArrayRef>, all: u64) -> TableStatistics {
        let batch = RecordBatch::try_new(schema(), columns).unwrap();
        let mut collector = Collector::new(&schema(), &[0, 1, 2]).unwrap();
        collector.push(&batch).unwrap();
        let about =
            StatisticsKey { store: String::new(), url: String::new(), format: String::new() };
        TableStatistics::of_objects(
            schema(),
            vec![Arc::new(ObjectStatistics {
                about,
                e_tag: String::new(),
                size: 1_000_000,
                origin: Origin::Analyze,
                taken: 0,
                rows: all,
                seen: 20_000,
                columns: collector.finish(),
            })],
        )
    }

    /// The sample has 20 000 rows in the order of `k`, with four equal values each, and 1000 values in `g`.
    #[test]
    fn sorted_rows_that_were_not_seen_have_other_values() {
        let rows = 0..20_000_i64;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(rows.clone().map(|n| n / 4).collect::<Int64Array>()),
            Arc::new(rows.clone().map(|n| n * 7919 % 1000).collect::<Int64Array>()),
            Arc::new(rows.map(|_| Some("v")).collect::<StringArray>()),
        ];
        let table = sampled(columns, 600_000);
        let distinct = |position| table.distinct(position).unwrap();
        assert!((140_000.0..160_000.0).contains(&distinct(0)), "{}", distinct(0));
        assert!((950.0..1050.0).contains(&distinct(1)), "{}", distinct(1));
        assert!((0.9..1.1).contains(&distinct(2)), "{}", distinct(2));
    }

    fn compare(column: &str, op: Operator, value: impl Into<ScalarValue>) -> Arc<dyn PhysicalExpr> {
        let value: ScalarValue = value.into();
        binary(col(column, &schema()).unwrap(), op, lit(value), &schema()).unwrap()
    }

    #[test]
    fn estimates_are_near_what_passes() {
        use Operator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
        let table = table();
        let check = |filter: Arc<dyn PhysicalExpr>, low: f64, high: f64| {
            let share = table.selectivity([&filter], 0.2).unwrap();
            assert!((low..=high).contains(&share), "{filter}: {share}");
        };
        let and = |a, b| binary(a, And, b, &schema()).unwrap();
        check(compare("k", Lt, 5000_i64), 0.2, 0.3);
        check(compare("k", GtEq, 19_000_i64), 0.03, 0.08);
        check(and(compare("k", Gt, 5000_i64), compare("k", LtEq, 7000_i64)), 0.06, 0.14);
        check(and(compare("k", Gt, 7000_i64), compare("k", LtEq, 5000_i64)), 0.0, 0.000_03);
        check(compare("k", Eq, 17_i64), 0.000_04, 0.000_06);
        check(compare("k", Eq, 30_000_i64), 0.0, 0.000_03);
        check(compare("g", Eq, -1_i64), 0.45, 0.55);
        check(compare("g", NotEq, -1_i64), 0.2, 0.3);
        check(compare("g", Gt, 500_i64), 0.09, 0.16);
        check(compare("g", Lt, 0_i64), 0.45, 0.55);
        check(is_null(col("g", &schema()).unwrap()).unwrap(), 0.24, 0.26);
        check(not(compare("k", Lt, 5000_i64)).unwrap(), 0.7, 0.8);
        let as_number = cast(col("k", &schema()).unwrap(), &schema(), DataType::Float64).unwrap();
        let limit = |op, limit: f64| binary(as_number.clone(), op, lit(limit), &schema()).unwrap();
        check(limit(Lt, 5000.5), 0.2, 0.3);
        check(and(limit(Gt, 5000.0), compare("k", LtEq, 7000_i64)), 0.06, 0.14);
        check(compare("s", Lt, "v500"), 0.42, 0.58);
        check(compare("s", Eq, "v123"), 0.0008, 0.0012);
        let either =
            binary(compare("k", Lt, 5000_i64), Or, compare("g", Eq, -1_i64), &schema()).unwrap();
        check(either, 0.55, 0.7);
        let list = vec![lit(-1_i64), lit(7_i64)];
        let list = in_list(col("g", &schema()).unwrap(), list, &false, &schema()).unwrap();
        check(and(list, compare("k", Lt, 10_000_i64)), 0.2, 0.3);
    }

    #[test]
    fn a_bound_beyond_a_sample_leaves_half_a_row_of_it() {
        use Operator::{And, Gt, Lt};
        let (whole, sampled) = (table(), seen_of(2_000_000));
        let range = |low: i64, high: i64| {
            binary(compare("k", Gt, low), And, compare("k", Lt, high), &schema()).unwrap()
        };
        for filter in [
            compare("k", Lt, -1_i64),
            compare("k", Gt, 20_000_i64),
            range(-9, -1),
            range(20_000, 20_009),
        ] {
            let share = |table: &TableStatistics| table.selectivity([&filter], 0.2).unwrap();
            assert_eq!(share(&whole), 0.5 / 20_000.0, "{filter}");
            let sampled = share(&sampled) * 20_001.0;
            assert!((0.49..0.51).contains(&sampled), "{filter}: {sampled} rows of the sample");
        }
    }

    #[test]
    fn what_is_unknown_passes_as_before() {
        let table = table();
        let of_columns = |op| {
            let (k, g) = (col("k", &schema()).unwrap(), col("g", &schema()).unwrap());
            binary(k, op, g, &schema()).unwrap()
        };
        // Either of two columns may be the greater one.
        assert_eq!(table.selectivity([&of_columns(Operator::Lt)], 0.2), Some(0.5));
        let sum = of_columns(Operator::Plus);
        let unknown = binary(sum, Operator::Lt, lit(7_i64), &schema()).unwrap();
        assert_eq!(table.selectivity([&unknown], 0.2), None);
        let known = compare("g", Operator::Eq, -1_i64);
        let both = table.selectivity([&unknown, &known], 0.2).unwrap();
        assert!((0.09..0.11).contains(&both), "{both}");
    }
}
