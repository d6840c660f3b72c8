//! Computes aggregates over moving window frames from the rows in the frame.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{FieldRef, Schema};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};

use super::wrapped_functions::{AggregateChange, changed_aggregate};
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "Sums and means over moving frames keep what has left the frame",
    upstream: &[],
    ours: "Over a frame of a window whose start moves, SUM, AVG, VAR, STDDEV, COVAR, CORR and REGR of FLOAT and DOUBLE \
           are computed from the rows in the frame: a NaN, an infinity and the digits of a large number leave with \
           their row. Aggregates that DataFusion refuses there, such as BOOL_AND and STRING_AGG, are computed so, too.",
    cases: &[
        Case {
            setup: &[
                "CREATE TABLE moving AS SELECT * FROM (VALUES (1, 1e300), (2, 1.0), (3, 2.0), (4, 3.0)) t(i, x)",
            ],
            sql: "SELECT sum(x) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM moving ORDER BY i",
            right: CaseOutcome::Rows(&["1e300", "1e300", "3.0", "5.0"]),
            theirs: CaseOutcome::Rows(&["1e300", "1e300", "0.0", "2.0"]),
        },
        Case {
            setup: &[
                "CREATE TABLE moving_nan AS SELECT * FROM (VALUES (1, CAST('NaN' AS DOUBLE)), (2, 1.0), (3, 2.0)) t(i, x)",
            ],
            sql: "SELECT avg(x) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM moving_nan ORDER BY i",
            right: CaseOutcome::Rows(&["NaN", "NaN", "1.5"]),
            theirs: CaseOutcome::Rows(&["NaN", "NaN", "NaN"]),
        },
        Case {
            setup: &[
                "CREATE TABLE moving_flags AS SELECT * FROM (VALUES (1, true), (2, false), (3, true)) t(i, b)",
            ],
            sql: "SELECT bool_and(b) OVER (ORDER BY i ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) FROM moving_flags \
                  ORDER BY i",
            right: CaseOutcome::Rows(&["false", "false", "true"]),
            theirs: CaseOutcome::Error("retract_batch"),
        },
    ],
};

/// Aggregates whose accumulators subtract a row that leaves the frame, which leaves rounding errors behind.
const SUBTRACTING: &[&str] = &[
    "sum",
    "avg",
    "var",
    "var_pop",
    "stddev",
    "stddev_pop",
    "covar_samp",
    "covar_pop",
    "corr",
    "regr_slope",
    "regr_intercept",
    "regr_r2",
    "regr_avgx",
    "regr_avgy",
    "regr_sxx",
    "regr_syy",
    "regr_sxy",
];

/// Aggregates without an accumulator for moving frames whose states are small and can be merged in any order.
const SMALL: &[&str] = &["bool_and", "bool_or", "bit_and", "bit_or"];

/// Replaces the aggregate functions of a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let functions = builder.aggregate_functions().get_or_insert_default();
    // Their accumulators are exact, and rules of DataFusion identify `count` by its type.
    let unchanged = ["min", "max", "count", "grouping"];
    for function in functions.iter_mut().filter(|it| !unchanged.contains(&it.name())) {
        *function = changed_aggregate(function, FrameAccumulator);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct FrameAccumulator;

impl AggregateChange for FrameAccumulator {
    fn sliding(
        self,
        function: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn Accumulator>> {
        let fresh = AccumulatorFactory::new(function, args);
        let is_float = |field: &FieldRef| field.data_type().is_floating();
        let subtracts = SUBTRACTING.contains(&function.name())
            && fresh.expr_fields.iter().chain([&fresh.return_field]).any(is_float);
        if !subtracts {
            match function.create_sliding_accumulator(fresh.args()) {
                Ok(exact) if exact.supports_retract_batch() => return Ok(exact),
                Ok(_) | Err(DataFusionError::NotImplemented(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if !fresh.is_distinct && (subtracts || SMALL.contains(&function.name())) {
            let newer = fresh.accumulator()?;
            Ok(Box::new(TwoStackQueue {
                fresh,
                older: Vec::new(),
                newer,
                newer_rows: VecDeque::new(),
            }))
        } else {
            Ok(Box::new(Recomputed { fresh, rows: VecDeque::new() }))
        }
    }
}

/// Creates accumulators for a whole frame.
#[derive(Debug)]
struct AccumulatorFactory {
    function: AggregateUDF,
    return_field: FieldRef,
    schema: Schema,
    ignore_nulls: bool,
    order_bys: Vec<PhysicalSortExpr>,
    is_reversed: bool,
    name: String,
    is_distinct: bool,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    expr_fields: Vec<FieldRef>,
}

impl AccumulatorFactory {
    fn new(function: &AggregateUDF, args: AccumulatorArgs) -> Self {
        Self {
            function: function.clone(),
            return_field: args.return_field,
            schema: args.schema.clone(),
            ignore_nulls: args.ignore_nulls,
            order_bys: args.order_bys.to_vec(),
            is_reversed: args.is_reversed,
            name: args.name.to_owned(),
            is_distinct: args.is_distinct,
            exprs: args.exprs.to_vec(),
            expr_fields: args.expr_fields.to_vec(),
        }
    }

    fn args(&self) -> AccumulatorArgs<'_> {
        AccumulatorArgs {
            return_field: Arc::clone(&self.return_field),
            schema: &self.schema,
            ignore_nulls: self.ignore_nulls,
            order_bys: &self.order_bys,
            is_reversed: self.is_reversed,
            name: &self.name,
            is_distinct: self.is_distinct,
            exprs: &self.exprs,
            expr_fields: &self.expr_fields,
        }
    }

    fn accumulator(&self) -> Result<Box<dyn Accumulator>> {
        self.function.accumulator(self.args())
    }
}

/// A queue of two stacks. Each row is accumulated at most twice, however long the frame. For each older row, a state
/// covers all older rows from it on; the newer rows share one accumulator.
#[derive(Debug)]
struct TwoStackQueue {
    fresh: AccumulatorFactory,
    /// States of the older rows. The last one covers all of them.
    older: Vec<Vec<ScalarValue>>,
    newer: Box<dyn Accumulator>,
    newer_rows: VecDeque<Vec<ArrayRef>>,
}

impl TwoStackQueue {
    /// Turns the newer rows into older ones.
    fn turn(&mut self) -> Result<()> {
        let mut suffix = self.fresh.accumulator()?;
        for batch in std::mem::take(&mut self.newer_rows).iter().rev() {
            for row in (0..length(batch)).rev() {
                suffix.update_batch(&sliced(batch, row, 1))?;
                self.older.push(suffix.state()?);
            }
        }
        self.newer = self.fresh.accumulator()?;
        Ok(())
    }

    /// Returns an accumulator of all rows.
    fn all(&mut self) -> Result<Box<dyn Accumulator>> {
        let newer = self.newer.state()?;
        let mut all = self.fresh.accumulator()?;
        for state in self.older.last().into_iter().chain([&newer]) {
            all.merge_batch(&state.iter().map(ScalarValue::to_array).collect::<Result<Vec<_>>>()?)?;
        }
        Ok(all)
    }
}

impl Accumulator for TwoStackQueue {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.newer.update_batch(values)?;
        self.newer_rows.push_back(values.to_vec());
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for _ in 0..length(values) {
            if self.older.is_empty() {
                self.turn()?;
            }
            self.older.pop();
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.older.is_empty() { self.newer.evaluate() } else { self.all()?.evaluate() }
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn size(&self) -> usize {
        let states = self.older.iter().flatten().map(ScalarValue::size).sum::<usize>();
        size_of_val(self) + states + self.newer.size() + size_of_batches(&self.newer_rows)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.all()?.state()
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("accumulators of frames are not merged")
    }
}

/// The rows of a frame, which are accumulated again for each answer.
#[derive(Debug)]
struct Recomputed {
    fresh: AccumulatorFactory,
    rows: VecDeque<Vec<ArrayRef>>,
}

impl Recomputed {
    fn all(&self) -> Result<Box<dyn Accumulator>> {
        let mut all = self.fresh.accumulator()?;
        self.rows.iter().try_for_each(|batch| all.update_batch(batch))?;
        Ok(all)
    }
}

impl Accumulator for Recomputed {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.rows.push_back(values.to_vec());
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut leaving = length(values);
        while leaving > 0
            && let Some(first) = self.rows.pop_front()
        {
            let rows = length(&first);
            if rows > leaving {
                self.rows.push_front(sliced(&first, leaving, rows - leaving));
            }
            leaving = leaving.saturating_sub(rows);
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.all()?.evaluate()
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn size(&self) -> usize {
        size_of_val(self) + size_of_batches(&self.rows)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.all()?.state()
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("accumulators of frames are not merged")
    }
}

fn length(values: &[ArrayRef]) -> usize {
    values.first().map_or(0, |values| values.len())
}

fn sliced(values: &[ArrayRef], offset: usize, length: usize) -> Vec<ArrayRef> {
    values.iter().map(|values| values.slice(offset, length)).collect()
}

/// Returns the size of batches without their values, which are slices of batches that the window holds.
fn size_of_batches(batches: &VecDeque<Vec<ArrayRef>>) -> usize {
    batches.iter().map(|batch| size_of_val(batch.as_slice())).sum()
}
