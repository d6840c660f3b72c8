//! `TIMESTAMP '2026-01-01 10:00'`: times without seconds, which Arrow's parser refuses.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::utils::NamePreserver;
use sluicegate_client::text_values::with_seconds;

/// Completes text that becomes a time stamp: literals, casts of literals, literals that are compared with time
/// stamps, and arguments of `to_timestamp`. The rule runs after the one that adds casts.
#[derive(Debug)]
pub(crate) struct ShortTimes;

impl AnalyzerRule for ShortTimes {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let complete = |plan: LogicalPlan| {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let completed = expr.transform_up(|expr| Ok(complete(expr)))?;
                Ok(completed.update_data(|expr| name.restore(expr)))
            })
        };
        plan.transform_up_with_subqueries(complete).data()
    }

    fn name(&self) -> &str {
        "short_times"
    }
}

fn complete(expr: Expr) -> Transformed<Expr> {
    match expr {
        Expr::Cast(mut cast) if is_time(cast.field.data_type()) => {
            let changed = complete_text(&mut cast.expr);
            Transformed::new_transformed(Expr::Cast(cast), changed)
        }
        Expr::TryCast(mut cast) if is_time(cast.field.data_type()) => {
            let changed = complete_text(&mut cast.expr);
            Transformed::new_transformed(Expr::TryCast(cast), changed)
        }
        Expr::ScalarFunction(mut call) if call.args.len() == 1 => {
            let changed =
                call.name().starts_with("to_timestamp") && complete_text(&mut call.args[0]);
            Transformed::new_transformed(Expr::ScalarFunction(call), changed)
        }
        other => Transformed::no(other),
    }
}

fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, _))
}

/// Adds the seconds to a literal without them. Returns whether the literal was changed.
fn complete_text(expr: &mut Expr) -> bool {
    let Expr::Literal(
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)),
        _,
    ) = expr
    else {
        return false;
    };
    let Some(completed) = with_seconds(text) else { return false };
    *text = completed;
    true
}

/// Returns the rule for a session.
pub(crate) fn rule() -> Arc<dyn AnalyzerRule + Send + Sync> {
    Arc::new(ShortTimes)
}
