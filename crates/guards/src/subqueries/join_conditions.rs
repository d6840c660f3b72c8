//! Plans subqueries in the condition of an outer join that reference columns of both sides.
//!
//! They are computed for each pair of the values that they reference. One side is joined with the pairs of its own
//! values, so that it has a row for each value of the other side. The condition then also requires the right value. A
//! row of the other side matches no more of these rows than before, so the outer join must keep the other side.

use std::sync::Arc;

use datafusion::common::{Column, JoinType, Result, ScalarValue};
use datafusion::logical_expr::logical_plan::{Join, JoinConstraint, Union};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};

use super::lifted::{LiftedSubqueries, project};
use super::{Names, domain, unnest};

/// Returns a join whose condition has columns that `both` computes. Its inputs, keys and condition already contain
/// the subqueries of one side. The first `own` columns belong to the user's left side.
pub(super) fn join(
    join: &Join,
    own: usize,
    both: LiftedSubqueries,
    names: &Names,
) -> Result<LogicalPlan> {
    let pairs = Pairs::new(join, both, names)?;
    match join.join_type {
        JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
            pairs.joined(join, true, join.join_type)
        }
        JoinType::Full => {
            // A union has no table names, so each column gets a unique name.
            let given: Vec<String> =
                join.schema.fields().iter().map(|_| names.next("column")).collect();
            let column = |at: usize| Expr::Column(Column::from(join.schema.qualified_field(at)));
            let mut matched = Vec::with_capacity(given.len());
            let mut rest = Vec::with_capacity(given.len());
            let mut named = Vec::with_capacity(given.len());
            for (at, (name, (qualifier, field))) in given.iter().zip(join.schema.iter()).enumerate()
            {
                matched.push(column(at).alias(name));
                let value = match at < own {
                    true => lit(ScalarValue::try_from(field.data_type())?),
                    false => column(at),
                };
                rest.push(value.alias(name));
                let given = Expr::Column(Column::new_unqualified(name));
                named.push(given.alias_qualified(qualifier.cloned(), field.name()));
            }
            let matched = project(matched, pairs.joined(join, false, JoinType::Left)?)?;
            let rest = project(rest, pairs.joined(join, true, JoinType::RightAnti)?)?;
            let union = Union::try_new(vec![Arc::new(matched), Arc::new(rest)])?;
            project(named, LogicalPlan::Union(union))
        }
        _ => pairs.joined(join, false, join.join_type),
    }
}

/// Columns of a side, and their names among the pairs.
struct Side {
    columns: Vec<Column>,
    names: Vec<Column>,
}

impl Side {
    fn new(columns: Vec<Column>, names: &Names) -> Self {
        let named = columns.iter().map(|_| Column::new_unqualified(names.next("outer")));
        Self { names: named.collect(), columns }
    }

    /// Returns their distinct values under the names of the columns.
    fn values(&self, side: &LogicalPlan) -> Result<LogicalPlan> {
        let names = self.columns.iter().map(|it| (it.relation.clone(), it.name.clone()));
        domain::distinct(side, &self.columns, names.collect())
    }

    fn pairs(&self) -> impl Iterator<Item = (Expr, Expr)> {
        let names = self.names.iter().cloned().map(Expr::Column);
        self.columns.iter().cloned().map(Expr::Column).zip(names)
    }
}

/// The pairs of values, with the results of the subqueries for each pair.
struct Pairs {
    left: Side,
    right: Side,
    plan: LogicalPlan,
}

impl Pairs {
    fn new(join: &Join, both: LiftedSubqueries, names: &Names) -> Result<Self> {
        let mut named = Vec::new();
        for column in both.named()? {
            if !named.contains(&column) {
                named.push(column);
            }
        }
        let (left, right) = named.into_iter().partition(|it| join.left.schema().has_column(it));
        let (left, right) = (Side::new(left, names), Side::new(right, names));
        let values = LogicalPlanBuilder::from(left.values(&join.left)?)
            .cross_join(right.values(&join.right)?)?
            .build()?;
        let kept = both.names().map(Expr::Column).collect::<Vec<_>>();
        let plan = both.below(values, names)?;
        let renamed = left.pairs().chain(right.pairs()).map(|(column, name)| match name {
            Expr::Column(name) => column.alias(name.name),
            name => name,
        });
        let plan = project(renamed.chain(kept).collect(), plan)?;
        Ok(Self { left, right, plan })
    }

    /// Returns the join in which one side has a row for each value of the other.
    fn joined(&self, join: &Join, left_has: bool, join_type: JoinType) -> Result<LogicalPlan> {
        let side = if left_has { &self.left } else { &self.right };
        let other = if left_has { &self.right } else { &self.left };
        let with_pairs = |input: &Arc<LogicalPlan>| {
            let on = side.pairs().collect();
            let input = LogicalPlan::clone(input);
            unnest::join(input, self.plan.clone(), on, None, JoinType::Inner).map(Arc::new)
        };
        let (left, right) = match left_has {
            true => (with_pairs(&join.left)?, Arc::clone(&join.right)),
            false => (Arc::clone(&join.left), with_pairs(&join.right)?),
        };
        let same = other.pairs().map(|(column, name)| unnest::same(column, name));
        let filter = join.filter.iter().cloned().chain(same).reduce(Expr::and);
        Ok(LogicalPlan::Join(Join::try_new(
            left,
            right,
            join.on.clone(),
            filter,
            join_type,
            JoinConstraint::On,
            join.null_equality,
            false,
        )?))
    }
}
