//! Plans a join with one column instead of each two that are merged.

use std::collections::HashSet;

use datafusion::common::{Column, DFSchema, Result, plan_err};
use datafusion::functions::expr_fn::coalesce;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{
    JoinConstraint, JoinOperator, ObjectNamePart, TableAlias, TableFactor, TableWithJoins,
};

use super::names::kept;
use crate::column_names::is_same;

/// Alias that marks the parentheses that were added.
pub(super) const MARK: &str = "joined with merged columns";

/// Plans joins with this mark.
#[derive(Debug)]
pub(super) struct MergedColumns;

impl RelationPlanner for MergedColumns {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        match relation {
            TableFactor::NestedJoin { table_with_joins, alias: Some(alias) }
                if alias.name.value == MARK =>
            {
                let plan = planned(*table_with_joins, &alias, context)?;
                Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, None))))
            }
            relation => Ok(RelationPlanning::Original(Box::new(relation))),
        }
    }
}

fn planned(
    mut joined: TableWithJoins,
    alias: &TableAlias,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let Some(last) = joined.joins.pop() else { return context.plan(joined.relation) };
    let left = match joined.joins.is_empty() {
        true => joined.relation,
        false => TableFactor::NestedJoin { table_with_joins: Box::new(joined), alias: None },
    };
    let left = context.plan(left)?;
    let right = context.plan(last.relation)?;
    let (join_type, constraint) = match last.join_operator {
        JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
            (JoinType::Left, constraint)
        }
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
            (JoinType::Right, constraint)
        }
        JoinOperator::FullOuter(constraint) => (JoinType::Full, constraint),
        JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => {
            (JoinType::Inner, constraint)
        }
        other => return plan_err!("USING is not supported in {other:?}"),
    };
    let names: Vec<Name> = match constraint {
        JoinConstraint::Using(names) => {
            let names = names.into_iter().map(|name| match name.0.as_slice() {
                [ObjectNamePart::Identifier(ident)] => Ok(Name {
                    is_quoted: ident.quote_style.is_some(),
                    text: context.normalize_ident(ident.clone()),
                }),
                _ => plan_err!("USING takes names of columns without that of a table: {name}"),
            });
            names.collect::<Result<_>>()?
        }
        _ => {
            let theirs: HashSet<&String> =
                right.schema().fields().iter().map(|field| field.name()).collect();
            let ours = left.schema().fields().iter().map(|field| field.name());
            let common = ours.filter(|name| theirs.contains(name)).cloned();
            common.map(|text| Name { text, is_quoted: true }).collect()
        }
    };
    let left_keys = columns(left.schema(), &names)?;
    let right_keys = columns(right.schema(), &names)?;
    let left_columns = left.schema().columns();
    let right_columns = right.schema().columns();
    let builder = LogicalPlanBuilder::from(left);
    let plan = match names.is_empty() {
        // A NATURAL join without common columns is a cross join.
        true => builder.join_on(right, join_type, [])?.build()?,
        false => {
            let keys = (left_keys.clone(), right_keys.clone());
            builder.join(right, join_type, keys, None)?.build()?
        }
    };
    let merged = |column: &Column| {
        let at = left_keys.iter().position(|key| key == column)?;
        let (left, right) = (&left_keys[at], &right_keys[at]);
        let (left, right) = (Expr::Column(left.clone()), Expr::Column(right.clone()));
        let value = match join_type {
            JoinType::Right => right,
            JoinType::Full => coalesce(vec![left, right]),
            _ => left,
        };
        Some(match &value {
            Expr::Column(same) if same == column => value,
            _ => value.alias_qualified(column.relation.clone(), &column.name),
        })
    };
    let mut exprs: Vec<Expr> = Vec::new();
    for column in &left_columns {
        exprs.push(merged(column).unwrap_or_else(|| Expr::Column(column.clone())));
    }
    let rest = right_columns.iter().filter(|column| !right_keys.contains(column));
    exprs.extend(rest.cloned().map(Expr::Column));
    for pair in alias.columns.chunks_exact(2) {
        let (table, name) = (&pair[0].name.value, &pair[1].name.value);
        let all = left_columns.iter().chain(&right_columns);
        let mut found = all.filter(|column| {
            column.name == *name && column.relation.as_ref().is_some_and(|it| it.table() == table)
        });
        if let Some(column) = found.next() {
            let relation = column.relation.clone();
            exprs.push(Expr::Column(column.clone()).alias_qualified(relation, kept(table, name)));
        }
    }
    LogicalPlanBuilder::from(plan).project(exprs)?.build()
}

/// A name in USING.
#[derive(Debug)]
struct Name {
    text: String,
    is_quoted: bool,
}

/// Returns the unique columns of these names. For a name without quotes, a column with other capitals is used if no
/// exact one exists.
fn columns(schema: &DFSchema, names: &[Name]) -> Result<Vec<Column>> {
    let columns = names.iter().map(|Name { text, is_quoted }| {
        let mut found = schema.columns_with_unqualified_name(text);
        if found.is_empty() && !is_quoted {
            found = schema.columns();
            found.retain(|column| is_same(&column.name, text));
        }
        match found.as_slice() {
            [column] => Ok(column.clone()),
            [] => plan_err!("USING: no column is named `{text}` on one side of the join"),
            _ => plan_err!("USING: several columns are named `{text}` on one side of the join"),
        }
    });
    columns.collect()
}
