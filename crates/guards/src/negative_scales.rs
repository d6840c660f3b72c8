//! Refuses decimals with a negative scale.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::expr::{Cast, TryCast};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

use super::{AnalysisRule, Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "Comparisons and means of decimals with a negative scale panic",
    upstream: &[],
    ours: "Types such as `Decimal128(10, -2)`, which `arrow_cast` and files written with Arrow can have, are refused with \
           the type to use in their place.",
    cases: &[Case {
        setup: &[],
        sql: "SELECT arrow_cast(1, 'Decimal128(10, -2)') = 100",
        right: CaseOutcome::Error("DECIMAL(12, 0)"),
        theirs: CaseOutcome::Panic,
    }],
};

/// Adds the rule at the start.
pub(super) fn install(rules: &mut Vec<AnalysisRule>) {
    rules.insert(0, Arc::new(NegativeScales));
}

/// Refuses statements that read such a column or cast to such a type. Runs first.
#[derive(Debug)]
struct NegativeScales;

impl AnalyzerRule for NegativeScales {
    fn name(&self) -> &str {
        "negative_scales"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node {
                for field in scan.projected_schema.fields() {
                    check(field.data_type(), || format!("the column {}", field.name()))?;
                }
            }
            node.apply_expressions(|expr| {
                expr.apply(|it| {
                    if let Some(to) = cast_to(it) {
                        check(&to, || "a cast".to_owned())?;
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(plan)
    }
}

/// Returns the type that an expression is cast to.
fn cast_to(expr: &Expr) -> Option<DataType> {
    match expr {
        Expr::Cast(Cast { field, .. }) | Expr::TryCast(TryCast { field, .. }) => {
            Some(field.data_type().clone())
        }
        Expr::ScalarFunction(call) if call.func.name().starts_with("arrow_") => {
            let [_, Expr::Literal(to, _)] = call.args.as_slice() else { return None };
            to.try_as_str().flatten()?.parse().ok()
        }
        _ => None,
    }
}

fn check(data_type: &DataType, what: impl Fn() -> String) -> Result<()> {
    match data_type {
        DataType::Decimal32(digits, places)
        | DataType::Decimal64(digits, places)
        | DataType::Decimal128(digits, places)
        | DataType::Decimal256(digits, places)
            if *places < 0 =>
        {
            let whole = digits.saturating_add(places.unsigned_abs());
            plan_err!(
                "{} has the type {data_type}, whose scale is negative; use DECIMAL({whole}, 0)",
                what()
            )
        }
        _ => Ok(()),
    }
}
