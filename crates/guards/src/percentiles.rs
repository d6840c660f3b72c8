//! Interpolates percentiles with the exact percentile of the statement.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, internal_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, ColumnarValue, EmitTo, GroupsAccumulator,
};
use datafusion::scalar::ScalarValue;

use super::wrapped_functions::{AggregateChange, changed_aggregate};
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "`percentile_cont` cuts the weights of two values to six digits",
    upstream: &[],
    ours: "The weight is computed from the percentile as it is written: 0.3 of four values is 0.9 on the way from the first \
           to the second.",
    cases: &[
        Case {
            setup: &[
                "CREATE TABLE quarters_of AS SELECT * FROM (VALUES (0.0), (1e6), (2e6), (3e6)) t(x)",
            ],
            sql: "SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY x DESC), quantile_cont(x, 0.3), \
                  percentile_cont(0.7) WITHIN GROUP (ORDER BY x) FROM quarters_of",
            right: CaseOutcome::Rows(&["300000.0, 900000.0, 2100000.0"]),
            theirs: CaseOutcome::Rows(&["299999.0, 899999.0, 2099999.0"]),
        },
        Case {
            setup: &[],
            sql: "SELECT g, percentile_cont(0.7) WITHIN GROUP (ORDER BY x), percentile_cont(DISTINCT x, 0.7) \
                  FROM (VALUES (1, 0.0), (1, 10.0), (1, 20.0), (1, 30.0), (2, 5.0), (2, NULL)) t(g, x) \
                  GROUP BY g ORDER BY g",
            right: CaseOutcome::Rows(&["1, 21.0, 21.0", "2, 5.0, 5.0"]),
            theirs: CaseOutcome::Rows(&["1, 20.99999, 20.99999", "2, 5.0, 5.0"]),
        },
        Case {
            setup: &[],
            sql: "SELECT percentile_cont(x, 0.7) OVER (ORDER BY i ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) \
                  FROM (VALUES (1, 0.0), (2, 10.0), (3, 20.0), (4, 30.0), (5, 40.0)) t(i, x) ORDER BY i",
            right: CaseOutcome::Rows(&["0.0", "7.0", "14.0", "21.0", "31.0"]),
            theirs: CaseOutcome::Varies,
        },
    ],
};

/// Replaces PERCENTILE_CONT in a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let functions = builder.aggregate_functions().get_or_insert_default();
    for function in functions.iter_mut().filter(|function| function.name() == "percentile_cont") {
        *function = changed_aggregate(function, Interpolated);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Interpolated;

impl AggregateChange for Interpolated {
    fn accumulator(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn Accumulator>> {
        let percentile = Percentile::from_args(&args);
        let (is_distinct, data_type) = (args.is_distinct, args.expr_fields[0].data_type().clone());
        let inner = inner.accumulator(args)?;
        Ok(match percentile? {
            Some(percentile) => {
                Box::new(SinglePercentile { inner, percentile, is_distinct, data_type })
            }
            None => inner,
        })
    }

    fn sliding(self, inner: &AggregateUDF, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.accumulator(inner, args)
    }

    fn groups(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let percentile = Percentile::from_args(&args);
        let data_type = args.expr_fields[0].data_type().clone();
        let inner = inner.create_groups_accumulator(args)?;
        Ok(match percentile? {
            Some(percentile) => Box::new(Groups { inner, percentile, data_type }),
            None => inner,
        })
    }
}

/// A percentile as it is written in a statement: `mantissa` / `unit` of the way through the sorted values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Percentile {
    mantissa: u128,
    unit: u128,
}

impl Percentile {
    /// Returns the percentile of an aggregate, or `None` if the aggregate has no values or the percentile has too
    /// many digits.
    fn from_args(args: &AccumulatorArgs) -> Result<Option<Self>> {
        let (false, Some(share)) = (args.expr_fields[0].data_type().is_null(), args.exprs.get(1))
        else {
            return Ok(None);
        };
        let none = RecordBatch::new_empty(Arc::new(args.schema.clone()));
        let share = match share.evaluate(&none)? {
            ColumnarValue::Scalar(ScalarValue::Float64(Some(share))) => share,
            _ => return Ok(None),
        };
        let is_descending = args.order_bys.first().is_some_and(|order| order.options.descending);
        let share = Self::parse(&format!("{share:e}"));
        Ok(share.map(|share| if is_descending { share.reversed() } else { share }))
    }

    /// Parses the shortest digits of a double between 0 and 1.
    fn parse(text: &str) -> Option<Self> {
        let (digits, exponent) = text.split_once('e')?;
        let (whole, places) = digits.split_once('.').unwrap_or((digits, ""));
        let exponent: i32 = exponent.parse().ok()?;
        let places = u32::try_from(i32::try_from(places.len()).ok()?.checked_sub(exponent)?);
        let mantissa = format!("{whole}{}", digits.split_once('.').map_or("", |it| it.1));
        let unit = 10_u128.checked_pow(places.ok().filter(|it| *it <= 20)?)?;
        let mantissa = mantissa.parse().ok().filter(|it| *it <= unit)?;
        Some(Self { mantissa, unit })
    }

    fn reversed(self) -> Self {
        Self { mantissa: self.unit - self.mantissa, ..self }
    }

    /// Returns the value at this percentile, or `None` if there are no values.
    fn value(self, values: &mut [f64]) -> Option<f64> {
        let steps =
            u128::try_from(values.len().checked_sub(1)?).ok()?.checked_mul(self.mantissa)?;
        let (first, weight) = (usize::try_from(steps / self.unit).ok()?, steps % self.unit);
        let (_, lower, above) = values.select_nth_unstable_by(first, f64::total_cmp);
        let lower = *lower;
        let upper = above.iter().copied().min_by(f64::total_cmp);
        let Some(upper) = upper.filter(|_| weight > 0) else { return Some(lower) };
        let weight = weight as f64 / self.unit as f64;
        let between = lower + (upper - lower) * weight;
        // The difference of the two values overflows a double.
        let is_far = !between.is_finite() && lower.is_finite() && upper.is_finite();
        Some(if is_far { lower * (1.0 - weight) + upper * weight } else { between })
    }

    /// Returns the percentile of each list.
    fn values(self, lists: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
        let Some(lists) = lists.as_list_opt::<i32>() else {
            return internal_err!("the state of a percentile is a list");
        };
        let mut values = Vec::with_capacity(lists.len());
        for list in lists.iter() {
            let list = list.map(|list| cast(&list, &DataType::Float64)).transpose()?;
            let numbers = list.map(|list| list.as_primitive::<Float64Type>().values().to_vec());
            values.push(numbers.and_then(|mut numbers| self.value(&mut numbers)));
        }
        Ok(cast(&Float64Array::from(values), data_type)?)
    }
}

/// One percentile of the values that DataFusion collects.
#[derive(Debug)]
struct SinglePercentile {
    inner: Box<dyn Accumulator>,
    percentile: Percentile,
    is_distinct: bool,
    data_type: DataType,
}

impl Accumulator for SinglePercentile {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let state = self.inner.state()?;
        let [state] = state.as_slice() else { return internal_err!("a percentile has one state") };
        let lists = state.to_array()?;
        let value = self.percentile.values(&lists, &self.data_type)?;
        // A window adds further values later, so the state is restored. Distinct values are still there.
        if !self.is_distinct {
            self.inner.merge_batch(&[lists])?;
        }
        ScalarValue::try_from_array(&value, 0)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

/// The percentiles of groups of the values that DataFusion collects.
struct Groups {
    inner: Box<dyn GroupsAccumulator>,
    percentile: Percentile,
    data_type: DataType,
}

impl fmt::Debug for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Groups").field("percentile", &self.percentile).finish_non_exhaustive()
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.inner.update_batch(values, groups, filter, total)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let state = self.inner.state(emit_to)?;
        let [lists] = state.as_slice() else { return internal_err!("a percentile has one state") };
        self.percentile.values(lists, &self.data_type)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit_to)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.inner.merge_batch(values, groups, total)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(values, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(share: f64, values: &[f64], expected: Option<f64>) {
        let percentile = Percentile::parse(&format!("{share:e}")).unwrap();
        assert_eq!(percentile.value(&mut values.to_vec()), expected);
    }

    #[test]
    fn shares_are_as_they_are_written() {
        let values = [3e6, 0.0, 2e6, 1e6];
        check(0.3, &values, Some(900_000.0));
        check(0.0, &values, Some(0.0));
        check(1.0, &values, Some(3e6));
        check(0.5, &[1.0], Some(1.0));
        check(0.5, &[], None);
        check(0.333_333_333, &[0.0, 1e9], Some(333_333_333.0));
        check(0.5, &[-f64::MAX, f64::MAX], Some(0.0));
        check(0.5, &[f64::NAN, 1.0, 2.0], Some(2.0));
        let tenth = Percentile::parse("9e-1").unwrap().reversed();
        assert_eq!(tenth, Percentile { mantissa: 1, unit: 10 });
        assert_eq!(Percentile::parse("1e-30"), None);
    }
}
