//! Rewrites `l FULL JOIN r USING (a)` to `(l FULL JOIN r USING (a))`, which
//! [`MergedColumns`](super::plan::MergedColumns) plans.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, ExcludeSelectItem, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, Join, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart,
    OrderBy, Select, SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind, TableAlias,
    TableAliasColumnDef, TableFactor, TableWithJoins, VisitorMut, WildcardAdditionalOptions,
};

use super::names::{self, Columns, Qualified, kept, normal};
use super::plan::MARK;
use crate::walk::WalkMut;

/// The columns that a join merges.
#[derive(Debug, Clone)]
struct Merge {
    /// Index of the join in its list.
    at: usize,
    /// Names of the merged columns; `None` for NATURAL, which merges all common columns.
    columns: Option<BTreeSet<String>>,
    /// Tables on both sides.
    tables: Vec<String>,
    /// True if the left side's column may be NULL where the merged one is not.
    right_counts: bool,
    /// Columns of one side that the statement references.
    named: BTreeSet<Qualified>,
}

impl Merge {
    fn has(&self, column: &Qualified) -> bool {
        self.tables.contains(&column.0)
            && self.columns.as_ref().is_none_or(|columns| columns.contains(&column.1))
    }
}

/// Puts joins of a SELECT into parentheses if DataFusion would get their merged columns wrong or refuse them, or if
/// they merge columns of the name `forced`. Returns true if some join merges columns of that name.
pub(super) fn nest(
    select: &mut Select,
    order: Option<&mut OrderBy>,
    forced: Option<&str>,
) -> Result<bool> {
    select.from.iter_mut().for_each(flatten);
    if !select.from.iter().any(|from| !from.joins.is_empty()) {
        return Ok(false);
    }
    for join in select.from.iter_mut().flat_map(|from| &mut from.joins) {
        one_sided(&mut join.join_operator);
    }
    let mut from = std::mem::take(&mut select.from);
    let mut merges: Vec<Vec<Merge>> = from.iter().map(merges).collect();
    let is_forced = merges.iter().flatten().any(|merge| match (&merge.columns, forced) {
        (Some(columns), Some(forced)) => columns.contains(forced),
        _ => false,
    });
    let done = match merges.iter().all(Vec::is_empty) || (forced.is_some() && !is_forced) {
        true => Ok(false),
        false => nested(select, order, &mut from, &mut merges, is_forced),
    };
    select.from = from;
    done
}

/// Removes parentheses that change nothing, as in `(a JOIN b) JOIN c`.
fn flatten(from: &mut TableWithJoins) {
    while let TableFactor::NestedJoin { table_with_joins, alias: None } = &mut from.relation {
        let inner = std::mem::take(&mut table_with_joins.joins);
        from.joins.splice(0..0, inner);
        from.relation = table_with_joins.relation.clone();
    }
}

fn one_sided(operator: &mut JoinOperator) {
    *operator = match std::mem::replace(operator, JoinOperator::ArrayJoin) {
        JoinOperator::Semi(constraint) => JoinOperator::LeftSemi(constraint),
        JoinOperator::Anti(constraint) => JoinOperator::LeftAnti(constraint),
        other => other,
    };
}

fn merges(from: &TableWithJoins) -> Vec<Merge> {
    let lateral = from.joins.iter().any(|join| is_lateral(&join.relation));
    if lateral {
        return Vec::new();
    }
    let mut tables = names::tables(&from.relation);
    let mut found = Vec::new();
    for (at, join) in from.joins.iter().enumerate() {
        let (constraint, right_counts) = match &join.join_operator {
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint) => (constraint, false),
            JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint) => (constraint, true),
            JoinOperator::CrossJoin(_) => {
                tables.extend(names::tables(&join.relation));
                continue;
            }
            _ => continue,
        };
        tables.extend(names::tables(&join.relation));
        let columns = match constraint {
            JoinConstraint::Using(columns) => {
                let columns = columns.iter().filter_map(|name| match name.0.as_slice() {
                    [ObjectNamePart::Identifier(ident)] => Some(normal(ident)),
                    _ => None,
                });
                Some(columns.collect())
            }
            JoinConstraint::Natural => None,
            JoinConstraint::On(_) | JoinConstraint::None => continue,
        };
        let tables = tables.clone();
        found.push(Merge { at, columns, tables, right_counts, named: BTreeSet::new() });
    }
    found
}

fn is_lateral(relation: &TableFactor) -> bool {
    match relation {
        TableFactor::Derived { lateral, .. } | TableFactor::Function { lateral, .. } => *lateral,
        TableFactor::UNNEST { .. } => true,
        _ => false,
    }
}

fn nested(
    select: &mut Select,
    mut order: Option<&mut OrderBy>,
    from: &mut [TableWithJoins],
    merges: &mut [Vec<Merge>],
    is_forced: bool,
) -> Result<bool> {
    let right_counts = merges.iter().flatten().any(|merge| merge.right_counts);
    // References to columns of one side, collected before anything is changed.
    let mut named = Vec::new();
    let mut columns = Columns::new(|column: &Qualified, _: &mut Expr| named.push(column.clone()));
    let _ = select.walk_mut(&mut columns);
    if let Some(order) = order.as_deref_mut() {
        let _ = order.walk_mut(&mut columns);
    }
    let mut conditions = Columns::new(|_: &Qualified, _: &mut Expr| {});
    for join in from.iter_mut().flat_map(|from| &mut from.joins) {
        if let Some(condition) = condition(join) {
            let _ = condition.walk_mut(&mut conditions);
        }
    }
    let mut unqualified = std::mem::take(&mut columns.unqualified);
    unqualified.append(&mut conditions.unqualified);
    let inside = std::mem::take(&mut columns.inside);
    let all_columns = shows_all(select) && from.iter().any(is_out_of_order);
    let is_needed = right_counts
        || is_forced
        || all_columns
        || is_ambiguous(select, order.as_deref_mut(), merges, &unqualified, inside);
    if !is_needed {
        return Ok(false);
    }
    let wildcards = select.projection.iter().filter_map(|item| match item {
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            name.0.last().and_then(|part| part.as_ident()).map(normal)
        }
        _ => None,
    });
    for table in wildcards {
        if merges.iter().flatten().any(|merge| merge.tables.contains(&table)) {
            if all_columns && !right_counts {
                return plan_err!(
                    "`{table}.*` is not supported beside `*` with USING or NATURAL; name the columns"
                );
            }
            if !right_counts {
                return Ok(false);
            }
            return plan_err!(
                "`{table}.*` is not supported beside FULL or RIGHT JOIN with USING or NATURAL; name the columns"
            );
        }
    }
    for joined in from.iter_mut().zip(merges.iter()) {
        let (from, merges) = joined;
        for (at, join) in from.joins.iter_mut().enumerate() {
            let Some(condition) = condition(join) else { continue };
            let before =
                |column: &Qualified| merges.iter().any(|merge| merge.at < at && merge.has(column));
            let mut columns = Columns::new(|column: &Qualified, expr: &mut Expr| {
                if before(column) {
                    named.push(column.clone());
                    names::rename(column, expr);
                }
            });
            let _ = condition.walk_mut(&mut columns);
        }
    }
    named.retain(|column| {
        let first = merges.iter_mut().flatten().find(|merge| merge.has(column));
        first.is_some_and(|merge| {
            merge.named.insert(column.clone());
            true
        })
    });
    let named: BTreeSet<Qualified> = named.into_iter().collect();
    rename_items(select, &named);
    let mut columns = Columns::new(|column: &Qualified, expr: &mut Expr| {
        if named.contains(column) {
            names::rename(column, expr);
        }
    });
    let _ = select.walk_mut(&mut columns);
    if let Some(order) = order {
        let _ = order.walk_mut(&mut columns);
    }
    for (from, merges) in from.iter_mut().zip(merges) {
        parenthesize(from, merges);
    }
    Ok(is_forced)
}

/// Returns true if a SELECT has a `*`.
fn shows_all(select: &Select) -> bool {
    matches!(select.flavor, SelectFlavor::FromFirstNoSelect)
        || select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)))
}

/// Returns true if the first table of a column in FROM may differ from the first by name, which DataFusion uses for
/// `*`.
fn is_out_of_order(from: &TableWithJoins) -> bool {
    let relations =
        || std::iter::once(&from.relation).chain(from.joins.iter().map(|it| &it.relation));
    let is_bare = |relation: &TableFactor| match relation {
        TableFactor::Table { name, alias: None, .. } => name.0.len() == 1,
        _ => true,
    };
    let tables: Vec<String> = relations().flat_map(names::tables).collect();
    !(from.joins.is_empty() || tables.is_sorted() && relations().all(is_bare))
}

fn condition(join: &mut Join) -> Option<&mut Expr> {
    match &mut join.join_operator {
        JoinOperator::Join(JoinConstraint::On(condition))
        | JoinOperator::Inner(JoinConstraint::On(condition))
        | JoinOperator::Left(JoinConstraint::On(condition))
        | JoinOperator::LeftOuter(JoinConstraint::On(condition))
        | JoinOperator::Right(JoinConstraint::On(condition))
        | JoinOperator::RightOuter(JoinConstraint::On(condition))
        | JoinOperator::FullOuter(JoinConstraint::On(condition))
        | JoinOperator::LeftSemi(JoinConstraint::On(condition))
        | JoinOperator::RightSemi(JoinConstraint::On(condition))
        | JoinOperator::LeftAnti(JoinConstraint::On(condition))
        | JoinOperator::RightAnti(JoinConstraint::On(condition)) => Some(condition),
        _ => None,
    }
}

/// Returns true if DataFusion cannot resolve a column, although both candidates are equal.
fn is_ambiguous(
    select: &mut Select,
    order: Option<&mut OrderBy>,
    merges: &[Vec<Merge>],
    unqualified: &BTreeSet<String>,
    inside: BTreeSet<String>,
) -> bool {
    // The planner needs the types of names in WHERE, and of some operands, before it resolves the columns. It also
    // finds no merged column for a name in a nested query.
    let mut operands = Columns::new(|_: &Qualified, _: &mut Expr| {});
    operands.unqualified = inside;
    if let Some(selection) = &mut select.selection {
        let _ = selection.walk_mut(&mut operands);
    }
    let mut typed = TypedOperands(&mut operands);
    let _ = select.projection.walk_mut(&mut typed);
    let _ = select.group_by.walk_mut(&mut typed);
    let _ = select.having.walk_mut(&mut typed);
    let _ = select.qualify.walk_mut(&mut typed);
    if let Some(order) = order {
        let _ = order.walk_mut(&mut typed);
    }
    let chained = merges
        .iter()
        .any(|merges| merges.len() > 1 && merges.iter().any(|merge| merge.columns.is_none()));
    (chained && !unqualified.is_empty())
        || merges.iter().any(|merges| {
            let mut before: BTreeSet<&String> = BTreeSet::new();
            merges.iter().any(|merge| match &merge.columns {
                Some(columns) => {
                    let again = columns
                        .iter()
                        .any(|column| before.contains(column) && unqualified.contains(column));
                    before.extend(columns);
                    again || !columns.is_disjoint(&operands.unqualified)
                }
                None => !operands.unqualified.is_empty(),
            })
        })
}

/// Visits the operands whose types the planner needs: those of signs and NOT, of casts to a timestamp, of operators
/// that also take lists, and of functions of nested values.
struct TypedOperands<'a, B>(&'a mut dyn VisitorMut<Break = B>);

impl<B> VisitorMut for TypedOperands<'_, B> {
    type Break = B;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<B> {
        match expr {
            Expr::UnaryOp { expr, .. }
            | Expr::Cast { expr, data_type: DataType::Timestamp(..), .. } => expr.walk_mut(self.0),
            Expr::BinaryOp { left, op, right } if takes_lists(op) => {
                left.walk_mut(self.0)?;
                right.walk_mut(self.0)
            }
            Expr::Function(function) if takes_nested(function) => function.args.walk_mut(self.0),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Returns true if an operator has another meaning for lists.
fn takes_lists(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::StringConcat | BinaryOperator::AtArrow | BinaryOperator::ArrowAt)
}

/// Returns true if a function takes a list, a map or a lambda.
fn takes_nested(function: &Function) -> bool {
    let name = function.name.0.last().and_then(ObjectNamePart::as_ident).map(normal);
    let is_named = name.is_some_and(|name| ["unnest", "map", "make_map"].contains(&name.as_str()));
    let FunctionArguments::List(list) = &function.args else { return is_named };
    let is_lambda = |arg: &FunctionArg| {
        matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Lambda(_))))
    };
    is_named || list.args.iter().any(is_lambda)
}

/// Keeps the column names of the answer, and excludes the kept columns of one side from `*`.
fn rename_items(select: &mut Select, named: &BTreeSet<Qualified>) {
    let mut outputs: BTreeSet<String> = BTreeSet::new();
    for item in &mut select.projection {
        match item {
            SelectItem::UnnamedExpr(Expr::Identifier(ident)) => {
                outputs.insert(normal(ident));
            }
            SelectItem::UnnamedExpr(expr @ Expr::CompoundIdentifier(_)) => {
                let Expr::CompoundIdentifier(parts) = &*expr else { continue };
                let [.., table, column] = parts.as_slice() else { continue };
                let (table, column) = (normal(table), normal(column));
                let is_named = named.contains(&(table.clone(), column.clone()));
                let name = match outputs.insert(column.clone()) {
                    true => column,
                    false => format!("{table}.{column}"),
                };
                if is_named {
                    let expr = expr.clone();
                    *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) };
                }
            }
            SelectItem::Wildcard(options) => without(options, named),
            _ => {}
        }
    }
}

fn without(options: &mut WildcardAdditionalOptions, named: &BTreeSet<Qualified>) {
    if named.is_empty() {
        return;
    }
    let mut excluded = match options.opt_exclude.take() {
        Some(ExcludeSelectItem::Single(name)) => vec![name],
        Some(ExcludeSelectItem::Multiple(names)) => names,
        None => Vec::new(),
    };
    excluded.extend(named.iter().map(|(table, column)| {
        ObjectName::from(vec![Ident::with_quote('"', kept(table, column))])
    }));
    options.opt_exclude = Some(ExcludeSelectItem::Multiple(excluded));
}

/// Nests the joins, as in `((a USING b) ON c USING d) ON e`: each join that merges columns ends a parenthesis.
fn parenthesize(from: &mut TableWithJoins, merges: &[Merge]) {
    let mut merges = merges.iter().peekable();
    let joins = std::mem::take(&mut from.joins);
    for (at, join) in joins.into_iter().enumerate() {
        from.joins.push(join);
        let Some(merge) = merges.next_if(|merge| merge.at == at) else { continue };
        let named = merge.named.iter().flat_map(|(table, column)| [table, column]);
        let columns = named.map(|name| TableAliasColumnDef::from_name(name.as_str())).collect();
        let alias =
            TableAlias { explicit: true, name: Ident::with_quote('"', MARK), columns, at: None };
        let inner = from.clone();
        from.joins.clear();
        from.relation =
            TableFactor::NestedJoin { table_with_joins: Box::new(inner), alias: Some(alias) };
    }
}
