//! `CAST(u AS VARCHAR)` of UUIDs, which Parquet stores as 16 bytes. DataFusion has no such cast.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::functions::encoding::expr_fn::encode;
use datafusion::functions::unicode::expr_fn::substring;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Expr, ExprSchemable, LogicalPlan, Operator, binary_expr, cast, lit,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::utils::NamePreserver;

/// The type of a UUID's bytes.
const UUID: DataType = DataType::FixedSizeBinary(16);

/// The start of the digits of each part, counted from 1, and their number.
const PARTS: [(i64, i64); 5] = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)];

/// Replaces the cast by functions that write `01234567-89ab-cdef-0123-456789abcdef`.
#[derive(Debug)]
struct UuidText;

impl AnalyzerRule for UuidText {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let written = |plan: LogicalPlan| {
            let schema = merge_schema(&plan.inputs());
            if !schema.fields().iter().any(|field| *field.data_type() == UUID) {
                return Ok(Transformed::no(plan));
            }
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let written = expr.transform_up(|expr| Ok(written(expr, &schema)))?;
                Ok(written.update_data(|expr| name.restore(expr)))
            })
        };
        plan.transform_up_with_subqueries(written).data()
    }

    fn name(&self) -> &str {
        "uuid_text"
    }
}

fn written(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let (value, to) = match &expr {
        Expr::Cast(cast) => (&cast.expr, cast.field.data_type()),
        Expr::TryCast(cast) => (&cast.expr, cast.field.data_type()),
        _ => return Transformed::no(expr),
    };
    if !to.is_string() || !value.get_type(schema).is_ok_and(|from| from == UUID) {
        return Transformed::no(expr);
    }
    let digits = encode(cast((**value).clone(), DataType::Binary), lit("hex"));
    let part = |(start, length)| substring(digits.clone(), lit(start), lit(length));
    let text = PARTS.into_iter().map(part).reduce(|text, part| {
        let dashed = binary_expr(text, Operator::StringConcat, lit("-"));
        binary_expr(dashed, Operator::StringConcat, part)
    });
    match text {
        Some(text) => Transformed::yes(cast(text, to.clone())),
        None => Transformed::no(expr),
    }
}

/// Returns the rule for a session.
pub(crate) fn rule() -> Arc<dyn AnalyzerRule + Send + Sync> {
    Arc::new(UuidText)
}
