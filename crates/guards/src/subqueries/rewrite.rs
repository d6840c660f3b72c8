//! Rewrites expressions with subqueries.

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, Result, ScalarValue, TableReference};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::logical_plan::{Distinct, Projection, Subquery, SubqueryAlias};
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Expr, ExprSchemable, Filter, Limit, LogicalPlan, Operator, lit, not,
    when,
};

use super::one_row::one_row;
use super::{Names, has_subquery, outer, shape, subquery, unnest};

/// The position of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExprContext {
    /// The expression is one of the conditions of WHERE that must all be TRUE.
    Conjunct,
    /// The expression is part of WHERE, where UNKNOWN counts as FALSE.
    Condition,
    /// UNKNOWN differs from FALSE here.
    Value,
}

/// Rewrites the expressions of a node, and joins the subqueries that they need to its input.
pub(super) struct Rewriter<'a> {
    input: LogicalPlan,
    /// The input before anything was joined to it. It has the columns that subqueries reference, and is read for each
    /// of them.
    before: LogicalPlan,
    /// True if the node is a filter, where DataFusion turns IN and EXISTS into joins.
    filter: bool,
    names: &'a Names,
    added: bool,
}

impl<'a> Rewriter<'a> {
    pub(super) fn new(input: LogicalPlan, filter: bool, names: &'a Names) -> Self {
        Self { before: input.clone(), input, filter, names, added: false }
    }

    /// Returns the input, and whether columns were added.
    pub(super) fn into_input(self) -> (LogicalPlan, bool) {
        (self.input, self.added)
    }

    pub(super) fn rewritten(&mut self, expr: Expr, place: ExprContext) -> Result<Expr> {
        if !has_subquery(&expr) {
            return Ok(expr);
        }
        match expr {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: op @ (Operator::And | Operator::Or),
                right,
            }) if place != ExprContext::Value => {
                let inner = match op {
                    Operator::And => place,
                    _ => ExprContext::Condition,
                };
                let left = self.rewritten(*left, inner)?;
                let right = self.rewritten(*right, inner)?;
                Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))))
            }
            Expr::Not(inner) => match *inner {
                Expr::Exists(Exists { subquery, negated }) => {
                    self.exists(subquery, !negated, false)
                }
                Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                    self.is_in(*expr, subquery, !negated, place)
                }
                inner => Ok(not(self.rewritten(inner, ExprContext::Value)?)),
            },
            Expr::Exists(Exists { subquery, negated }) => self.exists(subquery, negated, false),
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                self.is_in(*expr, subquery, negated, place)
            }
            Expr::ScalarSubquery(subquery) => self.scalar(subquery),
            expr => expr
                .map_children(|child| {
                    Ok(Transformed::yes(self.rewritten(child, ExprContext::Value)?))
                })
                .data(),
        }
    }

    fn is_in(
        &mut self,
        value: Expr,
        sub: Subquery,
        negated: bool,
        place: ExprContext,
    ) -> Result<Expr> {
        let value = self.rewritten(value, ExprContext::Value)?;
        let plan = match (sub.subquery.as_ref(), place) {
            // It does not matter which of several equal rows is found, and DataFusion's mark joins fail on DISTINCT.
            (
                LogicalPlan::Distinct(Distinct::All(input)),
                ExprContext::Condition | ExprContext::Value,
            ) => input.as_ref(),
            (plan, _) => plan,
        };
        let value_may_be_null = value.nullable(self.input.schema())?;
        let output_may_be_null = plan.schema().field(0).is_nullable();
        let nullable = value_may_be_null || output_may_be_null;
        let correlated = !outer::references(plan)?.is_empty();
        let exact = match (negated, place) {
            (false, ExprContext::Conjunct | ExprContext::Condition) => true,
            // DataFusion's null-aware anti join supports one key only.
            (true, ExprContext::Conjunct) => {
                !(correlated || nullable && value.column_refs().is_empty())
            }
            _ => !nullable,
        };
        if self.filter && exact && shape::can_be_joined(plan) {
            let sub = subquery(self.renamed(plan, place)?);
            return Ok(Expr::InSubquery(InSubquery::new(Box::new(value), sub, negated)));
        }
        if let (Expr::Literal(ScalarValue::Boolean(Some(value)), _), true) =
            (&value, place != ExprContext::Value)
        {
            // Returns the condition for rows of the subquery that make IN TRUE, or NOT IN other than TRUE.
            let met = |output: Expr| match (value, negated) {
                (true, false) => output,
                (false, false) => not(output),
                (true, true) if output_may_be_null => Expr::IsNotFalse(Box::new(output)),
                (true, true) => output,
                (false, true) if output_may_be_null => Expr::IsNotTrue(Box::new(output)),
                (false, true) => not(output),
            };
            return self.exists(subquery(where_column(plan, met)?), negated, false);
        }
        let inside = outer::seen_from_inside(value.clone(), self.input.schema())?;
        let equal = self.where_equal(plan, &value, inside)?;
        let matched = self.exists(subquery(equal), false, true)?;
        let mut unknown = Vec::new();
        if value_may_be_null {
            unknown.push(value.is_null().and(self.exists(subquery(plan.clone()), false, true)?));
        }
        if output_may_be_null {
            let null = where_column(plan, Expr::is_null)?;
            unknown.push(self.exists(subquery(null), false, true)?);
        }
        let Some(unknown) = unknown.into_iter().reduce(Expr::or) else {
            return Ok(if negated { not(matched) } else { matched });
        };
        if place != ExprContext::Value {
            return Ok(if negated { not(matched.or(unknown)) } else { matched });
        }
        let unknown_value = Expr::Literal(ScalarValue::Boolean(None), None);
        let value =
            when(matched, lit(!negated)).when(unknown, unknown_value).otherwise(lit(negated))?;
        Ok(value)
    }

    /// Returns a subquery whose column DataFusion can join with. It finds none in VALUES, and its mark join reads the
    /// column twice if it has the name of an unqualified column that it is computed from.
    fn renamed(&self, plan: &LogicalPlan, place: ExprContext) -> Result<LogicalPlan> {
        let field = plan.schema().field(0);
        let same = |column: &&Column| column.relation.is_none() && column.name == *field.name();
        let joined = match plan.head_output_expr()? {
            Some(output) => {
                place == ExprContext::Conjunct || !output.column_refs().iter().any(same)
            }
            None => false,
        };
        if joined {
            return Ok(plan.clone());
        }
        let column = Expr::Column(Column::new_unqualified(field.name()));
        unnest::project(vec![column.alias(self.names.next("in"))], plan.clone())
    }

    /// Returns the rows of a subquery whose only column equals a value of the outer query.
    fn where_equal(&self, plan: &LogicalPlan, value: &Expr, inside: Expr) -> Result<LogicalPlan> {
        let below = match plan {
            LogicalPlan::Projection(projection) => projection.input.schema(),
            plan => plan.schema(),
        };
        let mut named = value.column_refs().into_iter();
        if !named.any(|column| below.has_column(column)) {
            return where_column(plan, |output| output.eq(inside));
        }
        // Both sides have a column of this name, so the inner one is renamed.
        let (table, name) = (self.names.next("in"), self.names.next("value"));
        let column = Column::from(plan.schema().qualified_field(0));
        let renamed = vec![Expr::Column(column).alias(&name)];
        let renamed =
            LogicalPlan::Projection(Projection::try_new(renamed, Arc::new(plan.clone()))?);
        let alias = SubqueryAlias::try_new(Arc::new(renamed), table.as_str())?;
        let output = Expr::Column(Column::new(Some(table.as_str()), name));
        where_(&LogicalPlan::SubqueryAlias(alias), output.eq(inside))
    }

    /// Tests whether a subquery has rows. For `ours`, which the rewriter created, one row is counted, which costs
    /// less than the join with all of them.
    fn exists(&mut self, sub: Subquery, negated: bool, ours: bool) -> Result<Expr> {
        let plan = sub.subquery.as_ref();
        if shape::has_a_row(plan) {
            return Ok(lit(!negated));
        }
        let correlated = !outer::references(plan)?.is_empty();
        let distinct = matches!(plan, LogicalPlan::Distinct(_));
        if self.filter && !distinct && shape::can_be_joined(plan) && (correlated || !ours) {
            return Ok(Expr::Exists(Exists { subquery: sub, negated }));
        }
        let shorter = shape::without_limit(plan);
        let plan = shorter.as_ref().unwrap_or(plan);
        if self.filter && correlated && shape::can_be_joined(plan) {
            return Ok(Expr::Exists(Exists { subquery: subquery(plan.clone()), negated }));
        }
        let plan = match correlated {
            true => plan.clone(),
            // One row suffices.
            false => LogicalPlan::Limit(Limit {
                skip: None,
                fetch: Some(Box::new(lit(1_i64))),
                input: Arc::new(plan.clone()),
            }),
        };
        let rows = count(lit(1_i64)).alias(self.names.next("rows"));
        let counted = Aggregate::try_new(Arc::new(plan), vec![], vec![rows])?;
        let rows = self.scalar(subquery(LogicalPlan::Aggregate(counted)))?;
        Ok(if negated { rows.eq(lit(0_i64)) } else { rows.gt(lit(0_i64)) })
    }

    fn scalar(&mut self, sub: Subquery) -> Result<Expr> {
        let plan = sub.subquery.as_ref();
        let references = outer::references(plan)?;
        if references.is_empty() && !shape::is_known_to_be_null(plan) {
            return Ok(one_row(Expr::ScalarSubquery(sub), lit(1_i64)));
        }
        if references.is_empty() {
            return Ok(Expr::ScalarSubquery(sub));
        }
        if shape::is_scalar_to_join(plan) {
            return Ok(Expr::ScalarSubquery(self.with_a_name_of_its_own(sub)?));
        }
        let input = self.input.clone();
        // A compared value may come from a subquery itself.
        let known = |plan: &LogicalPlan| {
            references.iter().all(|(_, column)| plan.schema().has_column(column))
        };
        let before = if known(&self.before) { self.before.clone() } else { input.clone() };
        let (input, value) = unnest::scalar(input, &before, plan, &references, self.names)?;
        self.input = input;
        self.added = true;
        Ok(value)
    }
}

impl Rewriter<'_> {
    /// Renames the column of a subquery that becomes a side of a join, if the other side has a column of that name.
    fn with_a_name_of_its_own(&self, sub: Subquery) -> Result<Subquery> {
        let field = sub.subquery.schema().field(0).name().clone();
        let has = |(table, other): (Option<&TableReference>, &FieldRef)| {
            table.is_none() && *other.name() == field
        };
        if !self.input.schema().iter().any(has) {
            return Ok(sub);
        }
        let column = Expr::Column(Column::from(sub.subquery.schema().qualified_field(0)));
        let named = vec![column.alias(self.names.next("value"))];
        let projection = Projection::try_new(named, Arc::clone(&sub.subquery))?;
        Ok(subquery(LogicalPlan::Projection(projection)))
    }
}

/// Returns the rows of a subquery whose only column meets a condition.
fn where_column(plan: &LogicalPlan, condition: impl FnOnce(Expr) -> Expr) -> Result<LogicalPlan> {
    match plan {
        // The condition goes below the projection, where DataFusion can turn it into a join.
        LogicalPlan::Projection(projection) => match projection.expr.as_slice() {
            [value] if !value.is_volatile() && !has_subquery(value) => {
                where_(&projection.input, condition(value.clone().unalias()))
            }
            _ => where_(
                plan,
                condition(Expr::Column(Column::from(plan.schema().qualified_field(0)))),
            ),
        },
        plan => {
            where_(plan, condition(Expr::Column(Column::from(plan.schema().qualified_field(0)))))
        }
    }
}

/// Returns `SELECT 1 FROM plan WHERE condition`. DataFusion moves the conditions of one WHERE, but not of two.
fn where_(plan: &LogicalPlan, condition: Expr) -> Result<LogicalPlan> {
    let filter = match plan {
        LogicalPlan::Filter(filter) => {
            let both = filter.predicate.clone().and(condition);
            Filter::try_new(both, Arc::clone(&filter.input))?
        }
        plan => Filter::try_new(condition, Arc::new(plan.clone()))?,
    };
    let filter = Arc::new(LogicalPlan::Filter(filter));
    Ok(LogicalPlan::Projection(Projection::try_new(vec![lit(1_i64)], filter)?))
}
