//! Corrects LEAD and LAG that look ahead.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::function::{
    ExpressionArgs, PartitionEvaluatorArgs, WindowFunctionSimplification, WindowUDFFieldArgs,
};
use datafusion::logical_expr::{
    Documentation, LimitEffect, PartitionEvaluator, ReversedUDWF, Signature, WindowUDF,
    WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;

use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "LEAD and LAG with IGNORE NULLS, and LAG with a negative offset before LIMIT",
    upstream: &["datafusion#25471"],
    ours: "With IGNORE NULLS they see all rows of a partition at once. LIMIT is not moved below those that look ahead.",
    cases: &[
        Case {
            setup: &[V],
            sql: "SELECT id, lead(v, 2) IGNORE NULLS OVER (ORDER BY id), lag(v, -2, -1) IGNORE NULLS OVER (ORDER BY id) \
                  FROM shifts ORDER BY id",
            right: CaseOutcome::Rows(&[
                "1, 30, 30",
                "2, 40, 40",
                "3, 70, 70",
                "4, 80, 80",
                "5, 80, 80",
                "6, 80, 80",
                "7, NULL, -1",
                "8, NULL, -1",
                "9, NULL, -1",
            ]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[V],
            sql: "SELECT id, lag(v, -1) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) \
                  FROM shifts ORDER BY id LIMIT 1",
            right: CaseOutcome::Rows(&["1, 20"]),
            theirs: CaseOutcome::Rows(&["1, NULL"]),
        },
        Case {
            setup: &[V],
            sql: "SELECT id, lead(v) IGNORE NULLS OVER \
                  (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) \
                  FROM shifts WHERE id IN (4, 5, 6, 7) ORDER BY id LIMIT 1",
            right: CaseOutcome::Rows(&["4, 70"]),
            theirs: CaseOutcome::Rows(&["4, NULL"]),
        },
    ],
};

const V: &str = "CREATE TABLE shifts AS SELECT * FROM (VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, NULL), \
                 (6, NULL), (7, 70), (8, 80), (9, NULL)) v(id, v)";

/// Replaces DataFusion's functions by guarded ones.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let functions = builder.window_functions().get_or_insert_default();
    let guarded = functions
        .iter()
        .filter(|function| matches!(function.name(), "lead" | "lag"))
        .map(|function| Arc::new(WindowUDF::new_from_impl(Shift { inner: Arc::clone(function) })));
    let guarded: Vec<_> = guarded.collect();
    functions.extend(guarded);
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Shift {
    inner: Arc<WindowUDF>,
}

impl WindowUDFImpl for Shift {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn expressions(&self, args: ExpressionArgs<'_>) -> Vec<Arc<dyn PhysicalExpr>> {
        self.inner.expressions(args)
    }

    fn partition_evaluator(
        &self,
        args: PartitionEvaluatorArgs<'_>,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        let whole = args.ignore_nulls();
        let inner = self.inner.partition_evaluator_factory(args)?;
        Ok(match whole {
            true => Box::new(WholePartition { inner }),
            false => inner,
        })
    }

    fn simplify(&self) -> Option<WindowFunctionSimplification> {
        self.inner.simplify()
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.field(args)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn reverse_expr(&self) -> ReversedUDWF {
        // The reverse would be a function without this guard.
        ReversedUDWF::NotSupported
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        let offset = args.get(1).map(|offset| {
            let literal = offset.downcast_ref::<Literal>().map(Literal::value);
            matches!(literal, Some(ScalarValue::Int64(Some(0..))))
        });
        match (self.inner.name(), offset) {
            ("lag", None | Some(true)) => self.inner.inner().limit_effect(args),
            // It is unknown here whether NULL is ignored.
            _ => LimitEffect::Unknown,
        }
    }
}

/// An evaluator that gets all rows of a partition at once.
#[derive(Debug)]
struct WholePartition {
    inner: Box<dyn PartitionEvaluator>,
}

impl PartitionEvaluator for WholePartition {
    fn evaluate_all(&mut self, values: &[ArrayRef], num_rows: usize) -> Result<ArrayRef> {
        self.inner.evaluate_all(values, num_rows)
    }

    fn supports_bounded_execution(&self) -> bool {
        false
    }
}
