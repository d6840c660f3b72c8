//! Names the column of a subquery that IN compares with another type.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use datafusion::optimizer::AnalyzerRule;

use crate::rewrite::RewritePlan;
use crate::{AnalysisRule, Case, CaseOutcome, Guard};

pub(crate) const GUARD: Guard = Guard {
    title: "IN with OR over a subquery with LIMIT fails if the types differ",
    upstream: &[],
    ours: "The column that is cast gets another name than the column of the subquery.",
    cases: &[Case {
        setup: &[T],
        sql: "SELECT a FROM compared WHERE a IN (SELECT i FROM compared ORDER BY i LIMIT 1) OR a = 3",
        right: CaseOutcome::Rows(&["1", "3"]),
        theirs: CaseOutcome::Varies,
    }],
};

const T: &str =
    "CREATE TABLE compared AS SELECT a, CAST(a AS INT) AS i FROM (VALUES (1), (2), (3)) v(a)";

/// Name of a column that is compared.
const NAME: &str = "__compared";

/// Adds the rule after types are coerced, which adds the casts.
pub(super) fn install(rules: &mut Vec<AnalysisRule>) -> Result<()> {
    let coercion = rules.iter().position(|rule| rule.name() == "type_coercion");
    let coercion = coercion.ok_or_else(|| internal_datafusion_err!("there is no type_coercion"))?;
    rules.insert(coercion + 1, Arc::new(Compared));
    Ok(())
}

#[derive(Debug)]
struct Compared;

impl AnalyzerRule for Compared {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.rewrite_all_up(&mut |node| {
            node.rewrite_expressions(&mut |expr| expr.transform_up(compared))
        })
        .data()
    }

    fn name(&self) -> &str {
        "names_of_compared"
    }
}

fn compared(mut expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::InSubquery(test) = &mut expr else { return Ok(Transformed::no(expr)) };
    let plan = match test.subquery.subquery.as_ref() {
        LogicalPlan::Projection(projection) => match projection.expr.as_slice() {
            [cast @ (Expr::Cast(_) | Expr::TryCast(_))] => {
                let named = vec![cast.clone().alias(NAME)];
                Projection::try_new(named, Arc::clone(&projection.input))?
            }
            _ => return Ok(Transformed::no(expr)),
        },
        _ => return Ok(Transformed::no(expr)),
    };
    test.subquery.subquery = Arc::new(LogicalPlan::Projection(plan));
    Ok(Transformed::yes(expr))
}
