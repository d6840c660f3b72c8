//! Plans subqueries of several parts: UNION, VALUES, and GROUP BY with several sets.

use std::sync::Arc;

use datafusion::common::{Column, Result, ScalarValue, not_impl_err};
use datafusion::logical_expr::logical_plan::{Aggregate, Union, Values};
use datafusion::logical_expr::{Expr, GroupingSet, LogicalPlan, cast, lit};

use super::{Outer, UnnestedPart, project, unaliased};

impl Outer<'_> {
    /// Unites the parts, with the values as columns of the same names.
    fn all(
        &self,
        parts: impl Iterator<Item = Result<(Vec<Expr>, UnnestedPart)>>,
    ) -> Result<UnnestedPart> {
        let names: Vec<String> = self.columns.iter().map(|_| self.names.next("outer")).collect();
        let parts = parts.map(|part| {
            let (mut columns, UnnestedPart { plan, values }) = part?;
            let values = values.into_iter().zip(&names);
            columns.extend(values.map(|(value, name)| Expr::Column(value).alias(name)));
            Ok(Arc::new(project(columns, plan)?))
        });
        let mut parts = parts.collect::<Result<Vec<_>>>()?;
        let plan = match (parts.len(), parts.pop()) {
            (1, Some(only)) => Arc::unwrap_or_clone(only),
            (_, last) => {
                parts.extend(last);
                LogicalPlan::Union(Union::try_new(parts)?)
            }
        };
        let values = names.into_iter().map(Column::new_unqualified).collect();
        Ok(UnnestedPart { plan, values })
    }

    pub(super) fn united(&self, union: Union) -> Result<UnnestedPart> {
        self.all(union.inputs.into_iter().map(|input| {
            let columns = input.schema().columns().into_iter().map(Expr::Column).collect();
            Ok((columns, self.input(input)?))
        }))
    }

    pub(super) fn listed(&self, list: Values) -> Result<UnnestedPart> {
        let Values { schema, values } = list;
        self.all(values.into_iter().map(|row| {
            let inner = self.values()?;
            let mut columns = Vec::with_capacity(row.len());
            for (expr, (qualifier, field)) in row.into_iter().zip(schema.iter()) {
                let expr = unaliased(self.expr(expr, inner.plan.schema(), &inner.values)?);
                let expr = cast(expr, field.data_type().clone());
                columns.push(expr.alias_qualified(qualifier.cloned(), field.name()));
            }
            Ok((columns, inner))
        }))
    }

    /// Plans GROUP BY with several sets as one aggregate per set.
    pub(super) fn grouped_by_sets(
        &self,
        aggregate: &Aggregate,
        sets: &GroupingSet,
    ) -> Result<UnnestedPart> {
        let schema = &aggregate.schema;
        let all: Vec<Expr> = sets.distinct_expr().into_iter().cloned().collect();
        let sets = enumerated(sets)?;
        let UnnestedPart { plan, values } = self.all(sets.into_iter().map(|set| {
            let (exprs, input) = (aggregate.aggr_expr.clone(), Arc::clone(&aggregate.input));
            // The grand total without an aggregate is one row of NULL.
            let made = match set.is_empty() && exprs.is_empty() {
                true => None,
                false => Some(Aggregate::try_new(input, set.clone(), exprs)?),
            };
            let made_columns = made.as_ref().map_or_else(Vec::new, |made| made.schema.columns());
            let (groups, aggregates) = made_columns.split_at(set.len());
            let mut columns = Vec::with_capacity(schema.fields().len());
            let mut id = 0_u64;
            for (group, (qualifier, field)) in all.iter().zip(schema.iter()) {
                let at = set.iter().position(|it| it == group);
                id = id << 1 | u64::from(at.is_none());
                let value = match at.and_then(|at| groups.get(at)) {
                    Some(column) => Expr::Column(column.clone()),
                    None => lit(ScalarValue::try_from(field.data_type())?),
                };
                columns.push(value.alias_qualified(qualifier.cloned(), field.name()));
            }
            let field = schema.field(all.len());
            let id = ScalarValue::from(id).cast_to(field.data_type())?;
            columns.push(lit(id).alias(field.name()));
            let names = schema.iter().skip(all.len() + 1);
            for (column, (qualifier, field)) in aggregates.iter().zip(names) {
                let column = Expr::Column(column.clone());
                columns.push(column.alias_qualified(qualifier.cloned(), field.name()));
            }
            let inner = match made {
                Some(made) => self.aggregated(made)?,
                None => self.values()?,
            };
            Ok((columns, inner))
        }))?;
        // A union has no table names.
        let columns = plan.schema().columns().into_iter().zip(schema.iter());
        let columns = columns.map(|(column, (qualifier, field))| {
            Expr::Column(column).alias_qualified(qualifier.cloned(), field.name())
        });
        let columns = columns.chain(values.iter().cloned().map(Expr::Column)).collect();
        Ok(UnnestedPart { plan: project(columns, plan)?, values })
    }
}

/// Returns the sets that ROLLUP and CUBE stand for.
fn enumerated(sets: &GroupingSet) -> Result<Vec<Vec<Expr>>> {
    Ok(match sets {
        GroupingSet::Rollup(exprs) => {
            (0..=exprs.len()).map(|most| exprs.iter().take(most).cloned().collect()).collect()
        }
        GroupingSet::Cube(exprs) if exprs.len() > 12 => {
            return not_impl_err!(
                "a correlated subquery with CUBE of so many columns is not supported"
            );
        }
        GroupingSet::Cube(exprs) => {
            let subset = |bits: usize| {
                let chosen = exprs.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
                chosen.map(|(_, expr)| expr.clone()).collect()
            };
            (0..1_usize << exprs.len()).map(subset).collect()
        }
        GroupingSet::GroupingSets(sets) => sets.clone(),
    })
}
