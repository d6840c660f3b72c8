//! Computes MIN, MAX, GREATEST and LEAST of intervals by their length.

use std::collections::VecDeque;

use arrow::array::{Array, ArrayRef};
use arrow::compute::interleave;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, ColumnarValue, ScalarFunctionArgs, ScalarUDF,
};

use super::lengths;
use crate::wrapped_functions::{AggregateChange, Change, changed, changed_aggregate};

/// Replaces the functions in a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let aggregates = builder.aggregate_functions().get_or_insert_default();
    for function in aggregates.iter_mut().filter(|it| matches!(it.name(), "min" | "max")) {
        *function = changed_aggregate(function, IntervalMinMax);
    }
    let functions = builder.scalar_functions().get_or_insert_default();
    for function in functions.iter_mut().filter(|it| matches!(it.name(), "greatest" | "least")) {
        *function = changed(function, IntervalMinMax);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct IntervalMinMax;

fn is_interval(field: &FieldRef) -> bool {
    matches!(field.data_type(), DataType::Interval(_))
}

impl Change for IntervalMinMax {
    fn invoke(self, inner: &ScalarUDF, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if !is_interval(&args.return_field) {
            return inner.invoke_with_args(args);
        }
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let lengths = arrays.iter().map(lengths).collect::<Result<Vec<_>>>()?;
        let greatest = inner.name() == "greatest";
        let rows = arrays.first().map_or(0, |it| it.len());
        let chosen: Vec<(usize, usize)> = (0..rows)
            .map(|row| {
                let valid = (0..lengths.len()).filter(|at| lengths[*at].is_valid(row));
                let best = valid.reduce(|best, at| {
                    let (kept, next) = (lengths[best].value(row), lengths[at].value(row));
                    if next != kept && (next > kept) == greatest { at } else { best }
                });
                (best.unwrap_or(0), row)
            })
            .collect();
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(interleave(&arrays, &chosen)?))
    }
}

impl AggregateChange for IntervalMinMax {
    fn accumulator(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn Accumulator>> {
        if !is_interval(&args.return_field) {
            return inner.accumulator(args);
        }
        Ok(Box::new(Extreme::new(inner, &args, false)?))
    }

    fn sliding(self, inner: &AggregateUDF, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if !is_interval(&args.return_field) {
            return inner.create_sliding_accumulator(args);
        }
        Ok(Box::new(Extreme::new(inner, &args, true)?))
    }
}

/// The longest or shortest of some intervals.
#[derive(Debug)]
struct Extreme {
    longest: bool,
    /// True if rows leave the frame.
    moves: bool,
    none: ScalarValue,
    /// All rows if rows leave, else only the result so far.
    rows: VecDeque<Option<(i128, ScalarValue)>>,
}

impl Extreme {
    fn new(function: &AggregateUDF, args: &AccumulatorArgs, moves: bool) -> Result<Self> {
        Ok(Self {
            longest: function.name() == "max",
            moves,
            none: ScalarValue::try_from(args.return_field.data_type())?,
            rows: VecDeque::new(),
        })
    }

    fn best(&self) -> Option<&(i128, ScalarValue)> {
        self.rows.iter().flatten().reduce(|best, next| {
            if next.0 != best.0 && (next.0 > best.0) == self.longest { next } else { best }
        })
    }
}

impl Accumulator for Extreme {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return internal_err!("MIN and MAX have one argument") };
        let lengths = lengths(values)?;
        for row in 0..values.len() {
            let value = match lengths.is_valid(row) {
                true => Some((lengths.value(row), ScalarValue::try_from_array(values, row)?)),
                false => None,
            };
            self.rows.push_back(value);
        }
        if !self.moves {
            let best = self.best().cloned();
            self.rows = VecDeque::from([best]);
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |values| values.len());
        self.rows.drain(..rows.min(self.rows.len()));
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        self.moves
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.best().map_or_else(|| self.none.clone(), |(_, value)| value.clone()))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.rows.capacity() * size_of::<Option<(i128, ScalarValue)>>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
