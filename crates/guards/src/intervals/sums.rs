//! Computes SUM and AVG of differences of timestamps.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, ListArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type, TimeUnit};
use datafusion::common::{Result, ScalarValue, exec_datafusion_err, internal_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF};

use super::{INTERVAL, LENGTH, interval, with_fractions};
use crate::exact::places;
use crate::wrapped_functions::{AggregateChange, changed_aggregate};
use crate::{Case, CaseOutcome, Guard};

pub(crate) const GUARD: Guard = Guard {
    title: "SUM of differences of timestamps wraps around, and AVG loses fractions",
    upstream: &[],
    ours: "The sum is an INTERVAL of days and a time, which has room for it. The mean of whole seconds or milliseconds has \
           microseconds.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT sum(b - a) FROM (VALUES (TIMESTAMP '1700-01-01 00:00:00', TIMESTAMP '1950-01-01 12:00:00'), \
                  (TIMESTAMP '1900-01-01 00:00:00', TIMESTAMP '2000-01-01 00:00:00')) t(a, b)",
            right: CaseOutcome::Rows(&["127834 days 12 hours"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[],
            sql: "SELECT avg(CAST(b AS TIMESTAMP(0)) - CAST(a AS TIMESTAMP(0))) > INTERVAL '1 second' \
                  FROM (VALUES ('2020-01-01', '2020-01-01 00:00:01'), ('2020-01-01', '2020-01-01 00:00:02')) t(a, b)",
            right: CaseOutcome::Rows(&["true"]),
            theirs: CaseOutcome::Rows(&["false"]),
        },
    ],
};

/// Replaces the aggregates of a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let functions = builder.aggregate_functions().get_or_insert_default();
    for function in functions.iter_mut().filter(|it| matches!(it.name(), "sum" | "avg")) {
        *function = changed_aggregate(function, DurationAggregate);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct DurationAggregate;

fn unit(fields: &[FieldRef]) -> Option<TimeUnit> {
    match fields.first()?.data_type() {
        DataType::Duration(unit) => Some(*unit),
        _ => None,
    }
}

impl AggregateChange for DurationAggregate {
    fn result(self, inner: &AggregateUDF, data_type: DataType) -> DataType {
        match (inner.name(), data_type) {
            ("sum", DataType::Duration(_)) => INTERVAL,
            ("avg", DataType::Duration(unit)) => DataType::Duration(with_fractions(unit)),
            (_, other) => other,
        }
    }

    fn state_fields(self, inner: &AggregateUDF, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if unit(args.input_fields).is_none() {
            return inner.state_fields(args);
        }
        let name = |part: &str| format!("{}[{part}]", args.name);
        Ok(if args.is_distinct {
            let item = Arc::new(Field::new_list_field(DataType::Int64, true));
            vec![Arc::new(Field::new(name("distinct"), DataType::List(item), true))]
        } else {
            vec![
                Arc::new(Field::new(name("count"), DataType::Int64, true)),
                Arc::new(Field::new(name("sum"), LENGTH, true)),
            ]
        })
    }

    fn groups_supported(self, inner: &AggregateUDF, args: AccumulatorArgs) -> bool {
        unit(args.expr_fields).is_none() && inner.groups_accumulator_supported(args)
    }

    fn accumulator(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn Accumulator>> {
        match unit(args.expr_fields) {
            Some(unit) => Ok(Box::new(Total::new(inner, unit, args.is_distinct))),
            None => inner.accumulator(args),
        }
    }

    fn sliding(self, inner: &AggregateUDF, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match unit(args.expr_fields) {
            Some(unit) => Ok(Box::new(Total::new(inner, unit, args.is_distinct))),
            None => inner.create_sliding_accumulator(args),
        }
    }
}

/// A sum with more than 64 bits.
#[derive(Debug)]
struct Total {
    mean: bool,
    unit: TimeUnit,
    count: i64,
    sum: i128,
    distinct: Option<BTreeSet<i64>>,
}

impl Total {
    fn new(function: &AggregateUDF, unit: TimeUnit, distinct: bool) -> Self {
        Self {
            mean: function.name() == "avg",
            unit,
            count: 0,
            sum: 0,
            distinct: distinct.then(BTreeSet::new),
        }
    }

    fn add(&mut self, counts: &Int64Array) {
        for count in counts.iter().flatten() {
            if self.distinct.as_mut().is_none_or(|seen| seen.insert(count)) {
                self.count += 1;
                self.sum += i128::from(count);
            }
        }
    }
}

fn counts(values: &[ArrayRef]) -> Result<Int64Array> {
    let [values] = values else { return internal_err!("SUM and AVG have one argument") };
    Ok(cast(values, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

/// Returns the nearest whole quotient. Ties go away from zero.
pub(super) fn rounded(dividend: i128, divisor: i128) -> Option<i128> {
    let whole = dividend.checked_div(divisor)?;
    let rest = dividend.checked_rem(divisor)?.unsigned_abs();
    let up = rest >= divisor.unsigned_abs() - rest;
    let away = if (dividend < 0) == (divisor < 0) { 1 } else { -1 };
    if up { whole.checked_add(away) } else { Some(whole) }
}

impl Accumulator for Total {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&counts(values)?);
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for count in counts(values)?.iter().flatten() {
            self.count -= 1;
            self.sum -= i128::from(count);
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        self.distinct.is_none()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let unit = with_fractions(self.unit);
        if self.count == 0 {
            let data_type = if self.mean { DataType::Duration(unit) } else { INTERVAL };
            return ScalarValue::try_from(&data_type);
        }
        let beyond = || exec_datafusion_err!("the sum of differences of timestamps is too great");
        let finer = |places_to: i32| {
            let ones = 10_i128.pow((places_to - places(self.unit)).unsigned_abs());
            self.sum.checked_mul(ones).ok_or_else(beyond)
        };
        if !self.mean {
            return Ok(ScalarValue::IntervalMonthDayNano(Some(interval(finer(9)?)?)));
        }
        let mean = rounded(finer(places(unit))?, i128::from(self.count));
        let mean = mean.and_then(|mean| i64::try_from(mean).ok()).ok_or_else(beyond)?;
        Ok(match unit {
            TimeUnit::Nanosecond => ScalarValue::DurationNanosecond(Some(mean)),
            _ => ScalarValue::DurationMicrosecond(Some(mean)),
        })
    }

    fn size(&self) -> usize {
        let distinct = self.distinct.as_ref().map_or(0, BTreeSet::len);
        size_of_val(self) + distinct * size_of::<i64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(match &self.distinct {
            Some(seen) => {
                let values: Vec<ScalarValue> =
                    seen.iter().map(|count| ScalarValue::Int64(Some(*count))).collect();
                let list: Arc<ListArray> = ScalarValue::new_list(&values, &DataType::Int64, true);
                vec![ScalarValue::List(list)]
            }
            None => vec![
                ScalarValue::Int64(Some(self.count)),
                ScalarValue::Decimal128(Some(self.sum), 38, 0),
            ],
        })
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        match states {
            [lists] => {
                for list in lists.as_list::<i32>().iter().flatten() {
                    self.add(list.as_primitive::<Int64Type>());
                }
            }
            [counts, sums] => {
                let counts = counts.as_primitive::<Int64Type>();
                self.count += counts.iter().flatten().sum::<i64>();
                let sums = sums.as_primitive::<arrow::datatypes::Decimal128Type>();
                self.sum += sums.iter().flatten().sum::<i128>();
            }
            _ => return internal_err!("a sum of durations has another state"),
        }
        Ok(())
    }
}
