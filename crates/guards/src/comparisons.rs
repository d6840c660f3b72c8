//! Rules of the guards of comparisons. They run before and after DataFusion gives both sides a common type, and
//! around its simplifier.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue, internal_datafusion_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::expr::{InList, InSubquery, ScalarFunction, SetComparison};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::expr_schema::cast_subquery;
use datafusion::logical_expr::type_coercion::other::get_coerce_type_for_case_expression;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Between, BinaryExpr, Case, Expr, ExprSchemable, Join, LogicalPlan, Operator, Subquery,
    binary_expr, lit,
};
use datafusion::optimizer::{
    Analyzer, AnalyzerRule, ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule,
};

use super::exact::{Number, UnitType};
use super::{
    array_has, decimal_comparisons, distinct_from_null, exclusive_or, far_dates,
    flipped_comparisons, float_zeros, hours_without_minutes, in_lists, intervals, lossy_casts,
    mixed_instants, mixed_types, nested_floats, outer_types, range_frames, regular_expressions,
    rounded_scales, rounding, timestamp_casts, timestamp_comparisons, truncated_dates, years,
};
use crate::rewrite::{Rewrite, RewritePlan};

/// Adds the rules and their functions to a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) -> Result<()> {
    let analyzer = builder.analyzer().get_or_insert_with(Analyzer::new);
    let coercion = analyzer.rules.iter().position(|rule| rule.name() == "type_coercion");
    let coercion = coercion.ok_or_else(|| internal_datafusion_err!("there is no type_coercion"))?;
    analyzer.rules.insert(coercion + 1, Arc::new(Casts));
    analyzer.rules.insert(coercion, Arc::new(Exact));
    let optimizer = builder.optimizer().get_or_insert_with(Optimizer::new);
    let simplifier = optimizer.rules.iter().position(|rule| rule.name() == "simplify_expressions");
    let simplifier =
        simplifier.ok_or_else(|| internal_datafusion_err!("there is no simplify_expressions"))?;
    optimizer.rules.insert(simplifier + 1, Arc::new(NarrowComparisons));
    optimizer.rules.insert(simplifier, Arc::new(Prepare));
    let functions = builder.scalar_functions().get_or_insert_default();
    let years = functions.iter().find(|it| it.name() == "date_part").map(years::guarded);
    let truncated = truncated_dates::guarded(functions);
    let rounding = rounding::guarded(functions);
    let lists = array_has::guarded(functions);
    let hours = hours_without_minutes::guarded(functions);
    functions.extend(years.into_iter().chain(truncated).chain(rounding).chain(lists).chain(hours));
    functions.extend([
        decimal_comparisons::number(),
        lossy_casts::cast_function(),
        lossy_casts::try_cast_function(),
        timestamp_comparisons::instant_function(),
        far_dates::function(),
    ]);
    Ok(())
}

/// Compares constants of the statement as they are written. Runs before DataFusion's type coercion, which rounds.
#[derive(Debug)]
pub(super) struct Exact;

impl AnalyzerRule for Exact {
    fn name(&self) -> &str {
        "exact_comparisons"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        exactly(plan, &Cell::new(false)).data()
    }
}

/// Rewrites a plan from its leaves upward. The subqueries of a node come after its inputs, whose columns they may
/// reference. `retyped` is set once columns have other types than the planner gave them; it applies to all nodes
/// above.
fn exactly(plan: LogicalPlan, retyped: &Cell<bool>) -> Result<Transformed<LogicalPlan>> {
    let inputs = plan.map_children(|input| exactly(input, retyped))?;
    let known = inputs.transform_data(|plan| match retyped.get() {
        true => outer_types::renew(plan.recompute_schema()?),
        false => Ok(Transformed::no(plan)),
    })?;
    let queries =
        known.transform_data(|plan| plan.map_subqueries(|subquery| exactly(subquery, retyped)))?;
    queries.transform_data(|plan| {
        let before = Arc::clone(plan.schema());
        let plan = match plan {
            LogicalPlan::Join(join) => LogicalPlan::Join(join_keys(join)?),
            LogicalPlan::Union(union) => LogicalPlan::Union(decimal_comparisons::union(union)?),
            other => other,
        };
        let keys = intervals::ordered(plan)?;
        let ordered = keys.transformed;
        let plan = rewritten(keys.data, concerns_exact, |expr, schema| {
            let compared =
                expr.rewrite_up(&mut |expr| Ok(replaced(expr, |it| exact(it, schema))))?;
            compared.transform_data(|expr| {
                expr.rewrite_up(&mut |expr| Ok(replaced(expr, decimal_comparisons::as_double)))
            })
        })?;
        retyped.set(retyped.get() || ordered || *plan.data.schema() != before);
        Ok(Transformed { transformed: plan.transformed || ordered, ..plan })
    })
}

/// Keeps casts that change values from being removed. Runs after type coercion, which adds casts.
#[derive(Debug)]
pub(super) struct Casts;

impl AnalyzerRule for Casts {
    fn name(&self) -> &str {
        "lossy_casts"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.rewrite_all_up(&mut |plan| {
            rewritten(plan, concerns_casts, |expr, schema| {
                expr.rewrite_up(&mut |expr| {
                    let kept = replaced(expr, |it| lossy_casts::keep(it, schema));
                    let days = kept.transform_data(|expr| {
                        Ok(replaced(expr, |it| intervals::cast_to_interval(it, schema)))
                    })?;
                    days.transform_data(|expr| Ok(replaced(expr, years::replace)))
                })
            })
        })
        .data()
    }
}

/// Brings conditions into a form that DataFusion's simplifier treats correctly. Runs before the simplifier.
#[derive(Debug)]
pub(super) struct Prepare;

impl OptimizerRule for Prepare {
    fn name(&self) -> &str {
        "prepare_conditions"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let summed = float_zeros::summed(plan)?;
        let floats = summed.transformed;
        let rewritten = rewritten(summed.data, concerns_preparation, |expr, schema| {
            expr.rewrite_up(&mut |expr| {
                let mut all = Transformed::no(expr);
                for rule in [
                    flipped_comparisons::flip,
                    regular_expressions::replace,
                    float_zeros::positive,
                    exclusive_or::unless_null,
                    in_lists::merge,
                ] {
                    all = all.transform_data(|expr| Ok(replaced(expr, rule)))?;
                }
                all.transform_data(|expr| {
                    Ok(replaced(expr, |it| nested_floats::compared(it, schema)))
                })?
                .transform_data(|expr| Ok(replaced(expr, |it| float_zeros::both(it, schema))))?
                .transform_data(|expr| {
                    Ok(replaced(expr, |it| float_zeros::summed_within(it, schema)))
                })
            })
        })?;
        Ok(Transformed { transformed: rewritten.transformed || floats, ..rewritten })
    }
}

/// Compares columns instead of their widened values, once the simplifier has computed constants. Runs after the
/// simplifier.
#[derive(Debug)]
pub(super) struct NarrowComparisons;

impl OptimizerRule for NarrowComparisons {
    fn name(&self) -> &str {
        "narrow_comparisons"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        rewritten(plan, concerns_simplifier, |expr, schema| {
            expr.rewrite_up(&mut |expr| {
                Ok(replaced(expr, |it| timestamp_comparisons::narrowed(it, schema)))
            })
        })
    }
}

/// Rewrites the expressions of a node that a rule concerns. The names of its columns stay.
pub(super) fn rewritten(
    plan: LogicalPlan,
    concerns: fn(&Expr) -> bool,
    rewrite: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let mut any = false;
    plan.apply_expressions(|expr| {
        any |= expr.exists(|it| Ok(concerns(it)))?;
        Ok(if any { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !any {
        return Ok(Transformed::no(plan));
    }
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        let source = scan.source.schema();
        schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &source)?);
    }
    let names = NamePreserver::new(&plan);
    let plan = plan.rewrite_expressions(&mut |expr| {
        if !expr.exists(|it| Ok(concerns(it)))? {
            return Ok(Transformed::no(expr));
        }
        let name = names.save(&expr);
        let rewritten = rewrite(expr, &schema)?;
        if !rewritten.transformed {
            return Ok(rewritten);
        }
        Ok(rewritten.update_data(|expr| name.restore(expr)))
    })?;
    if plan.transformed {
        return plan.map_data(LogicalPlan::recompute_schema);
    }
    Ok(plan)
}

/// Returns true if an expression has the same value for all rows.
pub(super) fn is_constant(expr: &Expr) -> bool {
    !expr.any_column_refs() && !expr.contains_outer()
}

fn replaced(expr: Expr, rule: impl FnOnce(&Expr) -> Option<Expr>) -> Transformed<Expr> {
    match rule(&expr) {
        Some(other) => Transformed::yes(other),
        None => Transformed::no(expr),
    }
}

fn concerns_exact(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op, left, right }) => {
            is_comparison(*op)
                || *op == Operator::Minus
                || decimal_comparisons::concerns_arithmetic(left, *op, right)
        }
        Expr::ScalarFunction(call) => {
            matches!(call.func.name(), "date_trunc" | "date_part" | "round")
                || decimal_comparisons::concerns(call)
                || decimal_comparisons::as_double(expr).is_some()
        }
        Expr::Between(_)
        | Expr::Case(_)
        | Expr::InList(_)
        | Expr::InSubquery(_)
        | Expr::SetComparison(_)
        | Expr::Cast(_)
        | Expr::TryCast(_)
        | Expr::WindowFunction(_) => true,
        _ => false,
    }
}

fn concerns_casts(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(_) | Expr::TryCast(_) => true,
        Expr::ScalarFunction(call) => {
            matches!(call.func.name(), "arrow_cast" | "arrow_try_cast" | "date_part")
        }
        _ => false,
    }
}

fn concerns_preparation(expr: &Expr) -> bool {
    match expr {
        Expr::WindowFunction(_) | Expr::AggregateFunction(_) => true,
        other => concerns_simplifier(other),
    }
}

fn concerns_simplifier(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryExpr(_) | Expr::InList(_))
}

pub(super) fn is_comparison(op: Operator) -> bool {
    use Operator as O;
    matches!(
        op,
        O::Eq
            | O::NotEq
            | O::Lt
            | O::LtEq
            | O::Gt
            | O::GtEq
            | O::IsDistinctFrom
            | O::IsNotDistinctFrom
    )
}

/// Returns the condition without rounding, or `None` if DataFusion does not round.
fn exact(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            distinct_from_null::tested(left, *op, right)
                .or_else(|| compared(left, *op, right, schema))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            decimal_comparisons::arithmetic(left, *op, right, schema)
                .or_else(|| timestamp_casts::difference(left, *op, right, schema))
        }
        Expr::Between(Between { expr, negated, low, high }) => {
            let (first, second) = if *negated {
                (Operator::Lt, Operator::Gt)
            } else {
                (Operator::GtEq, Operator::LtEq)
            };
            let above = compared(expr, first, low, schema);
            let below = compared(expr, second, high, schema);
            if above.is_none() && below.is_none() {
                return None;
            }
            let plain = |op, bound: &Expr| binary_expr(expr.as_ref().clone(), op, bound.clone());
            let above = above.unwrap_or_else(|| plain(first, low));
            let below = below.unwrap_or_else(|| plain(second, high));
            Some(if *negated { above.or(below) } else { above.and(below) })
        }
        Expr::InList(InList { expr, list, negated }) => in_list(expr, list, *negated, schema),
        Expr::Case(case) => {
            let searched = searched(case, schema);
            let results = decimal_comparisons::branches(searched.as_ref().unwrap_or(case), schema);
            let changed = results.or(searched);
            let typed = in_one_type(changed.as_ref().unwrap_or(case), schema);
            typed.or(changed).map(Expr::Case)
        }
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            let (expr, subquery) = both_sides(expr, subquery, schema)?;
            Some(Expr::InSubquery(InSubquery::new(Box::new(expr), subquery, *negated)))
        }
        Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => {
            let (expr, subquery) = both_sides(expr, subquery, schema)?;
            let (expr, quantifier) = (Box::new(expr), *quantifier);
            Some(Expr::SetComparison(SetComparison::new(expr, subquery, *op, quantifier)))
        }
        Expr::ScalarFunction(call) => null_if(call, schema)
            .or_else(|| decimal_comparisons::arguments(call, schema))
            .or_else(|| rounded_scales::fixed(expr, call, schema))
            .or_else(|| truncated_dates::of_date(expr, schema))
            .or_else(|| intervals::of_duration(expr, schema)),
        Expr::WindowFunction(_) => range_frames::widened(expr, schema),
        Expr::Cast(_) | Expr::TryCast(_) => decimal_comparisons::cast(expr),
        _ => None,
    }
}

/// Returns CASE with results of the type that DataFusion would give them later, or `None` if they have it. Until
/// then, the type of the first result counts as the type of CASE.
fn in_one_type(case: &Case, schema: &DFSchema) -> Option<Case> {
    let thens = case.when_then_expr.iter().map(|(_, then)| then.get_type(schema));
    let thens = thens.collect::<Result<Vec<_>>>().ok()?;
    let otherwise = case.else_expr.as_ref().map(|it| it.get_type(schema)).transpose().ok()?;
    let mut all = thens.iter().chain(&otherwise).filter(|it| !it.is_null());
    let first = all.next()?;
    if all.all(|it| it == first) {
        return None;
    }
    let common = get_coerce_type_for_case_expression(&thens, otherwise.as_ref())?;
    let cast = |expr: &Expr| expr.clone().cast_to(&common, schema).ok().map(Box::new);
    let when_then_expr = case.when_then_expr.iter();
    let when_then_expr = when_then_expr.map(|(when, then)| Some((when.clone(), cast(then)?)));
    let when_then_expr = when_then_expr.collect::<Option<Vec<_>>>()?;
    let else_expr = match &case.else_expr {
        Some(otherwise) => Some(cast(otherwise)?),
        None => None,
    };
    Some(Case { expr: case.expr.clone(), when_then_expr, else_expr })
}

/// Returns an expression and a subquery that it is compared with, in types that lose nothing.
fn both_sides(expr: &Expr, subquery: &Subquery, schema: &DFSchema) -> Option<(Expr, Subquery)> {
    let inner = subquery.subquery.schema().field(0).data_type().clone();
    let outer = expr.get_type(schema).ok()?;
    if let Some(common) = decimal_comparisons::common(&outer, &inner) {
        let subquery = as_type(subquery, &inner, &common)?;
        return Some((expr.clone().cast_to(&common, schema).ok()?, subquery));
    }
    if intervals::differ(&outer, &inner) {
        let subquery = mixed_instants::projected(subquery, |it| intervals::length(it, &inner))?;
        return Some((intervals::length(expr, &outer)?, subquery));
    }
    let wide = timestamp_comparisons::widened(expr, &outer, &inner);
    let wider = |column: &Expr| timestamp_comparisons::widened(column, &inner, &outer);
    match (wide, mixed_instants::projected(subquery, wider)) {
        (None, None) => None,
        (wide, subqueries) => Some((
            wide.unwrap_or_else(|| expr.clone()),
            subqueries.unwrap_or_else(|| subquery.clone()),
        )),
    }
}

/// Returns `nullif` of dates, timestamps and intervals as a CASE.
fn null_if(call: &ScalarFunction, schema: &DFSchema) -> Option<Expr> {
    let [value, other] = call.args.as_slice() else { return None };
    if call.func.name() != "nullif" || value.is_volatile() {
        return None;
    }
    let data_type = value.get_type(schema).ok()?;
    use DataType as D;
    if !matches!(data_type, D::Date32 | D::Timestamp(..) | D::Interval(_) | D::Duration(_)) {
        return None;
    }
    let equal = compared(value, Operator::Eq, other, schema)?;
    let null = lit(ScalarValue::try_from(&data_type).ok()?);
    let branches = vec![(Box::new(equal), Box::new(null))];
    let otherwise = Some(Box::new(value.clone()));
    Some(Expr::Case(Case { expr: None, when_then_expr: branches, else_expr: otherwise }))
}

/// Casts the column of a subquery to another type.
fn as_type(subquery: &Subquery, from: &DataType, to: &DataType) -> Option<Subquery> {
    let same = subquery.clone();
    if from == to { Some(same) } else { cast_subquery(same, to).ok() }
}

/// Returns `left op right` without rounding, or `None` if DataFusion does not round.
fn compared(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (left_type, right_type) = (left.get_type(schema).ok()?, right.get_type(schema).ok()?);
    if let Some(one) = beside(left, &left_type, op, right) {
        return Some(one);
    }
    if let Some(one) = beside(right, &right_type, op.swap()?, left) {
        return Some(one);
    }
    if let Some(common) = decimal_comparisons::common(&left_type, &right_type) {
        let left = left.clone().cast_to(&common, schema).ok()?;
        let right = right.clone().cast_to(&common, schema).ok()?;
        return Some(binary_expr(left, op, right));
    }
    if let Some(alike) = mixed_types::compared(left, op, right, schema) {
        return Some(alike);
    }
    if let Some(lengths) = intervals::compared(left, op, right, schema) {
        return Some(lengths);
    }
    let wide_left = timestamp_comparisons::widened(left, &left_type, &right_type);
    let wide_right = timestamp_comparisons::widened(right, &right_type, &left_type);
    if wide_left.is_none() && wide_right.is_none() {
        return None;
    }
    let left = wide_left.unwrap_or_else(|| left.clone());
    let right = wide_right.unwrap_or_else(|| right.clone());
    Some(binary_expr(left, op, right))
}

/// Returns the value of a constant that is compared with an expression of type `beside`, or `None` if DataFusion
/// compares the two correctly.
fn constant(expr: &Expr, beside: &DataType) -> Option<Number> {
    match beside {
        DataType::Timestamp(..) | DataType::Date32 => timestamp_comparisons::constant(expr, beside),
        DataType::Decimal128(..) if matches!(expr, Expr::Literal(value, _) if value.data_type().is_string()) => {
            decimal_comparisons::text_beyond(expr, beside)
        }
        _ if decimal_comparisons::is_plain(expr, beside) => None,
        _ => decimal_comparisons::constant(expr),
    }
}

/// Returns `expr op other` for a constant `other`.
fn beside(expr: &Expr, data_type: &DataType, op: Operator, other: &Expr) -> Option<Expr> {
    if let Some(literal) = decimal_comparisons::as_decimal(other, data_type) {
        return Some(binary_expr(expr.clone(), op, literal));
    }
    let counted = UnitType::from_type(data_type)?;
    // If both sides are constants, DataFusion computes the answer.
    if matches!(expr, Expr::Literal(..)) {
        return None;
    }
    counted.compare(expr.clone(), op, &constant(other, data_type)?)
}

fn in_list(expr: &Expr, list: &[Expr], negated: bool, schema: &DFSchema) -> Option<Expr> {
    let data_type = expr.get_type(schema).ok()?;
    let is_null = |item: &Expr| matches!(item, Expr::Literal(value, _) if value.is_null());
    if let Some(counted) = UnitType::from_type(&data_type) {
        let mut exact = false;
        let mut values = Vec::with_capacity(list.len());
        let mut seen = HashSet::with_capacity(list.len());
        let mut all = true;
        for item in list {
            if let Some(number) = constant(item, &data_type) {
                exact = true;
                let value = counted.value(&number);
                values.extend(value.filter(|it| seen.insert(it.clone())).map(lit));
            } else if is_null(item) || decimal_comparisons::is_plain(item, &data_type) {
                values.push(item.clone());
            } else {
                all = false;
            }
        }
        if !exact && all {
            return None;
        }
        if all {
            return counted.one_of(expr.clone(), values, negated);
        }
    }
    if expr.is_volatile()
        || !list.iter().any(|item| compared(expr, Operator::Eq, item, schema).is_some())
    {
        return None;
    }
    let op = if negated { Operator::NotEq } else { Operator::Eq };
    let each = list.iter().map(|item| {
        compared(expr, op, item, schema)
            .unwrap_or_else(|| binary_expr(expr.clone(), op, item.clone()))
    });
    each.reduce(|all, one| if negated { all.and(one) } else { all.or(one) })
}

/// Rewrites `CASE x WHEN y …` to `CASE WHEN x = y …`.
fn searched(case: &Case, schema: &DFSchema) -> Option<Case> {
    let operand = case.expr.as_ref().filter(|it| !it.is_volatile())?;
    let equal = |when: &Expr| compared(operand, Operator::Eq, when, schema);
    // DataFusion compares the bits of floats.
    let is_float = |it: &Expr| it.get_type(schema).is_ok_and(|it| nested_floats::has_floats(&it));
    let differs = |when: &Expr| is_float(when) || equal(when).is_some();
    if !is_float(operand) && !case.when_then_expr.iter().any(|(when, _)| differs(when)) {
        return None;
    }
    let branches = case.when_then_expr.iter().map(|(when, then)| {
        let when =
            equal(when).unwrap_or_else(|| operand.as_ref().clone().eq(when.as_ref().clone()));
        (Box::new(when), then.clone())
    });
    let branches = branches.collect();
    Some(Case { expr: None, when_then_expr: branches, else_expr: case.else_expr.clone() })
}

/// Casts join keys whose types would be compared with loss.
fn join_keys(mut join: Join) -> Result<Join> {
    for (left, right) in &mut join.on {
        let (left_schema, right_schema) = (join.left.schema(), join.right.schema());
        let types = (left.get_type(left_schema), right.get_type(right_schema));
        let (Ok(left_type), Ok(right_type)) = types else { continue };
        if let Some(common) = decimal_comparisons::common(&left_type, &right_type) {
            *left = std::mem::take(left).cast_to(&common, left_schema)?;
            *right = std::mem::take(right).cast_to(&common, right_schema)?;
            continue;
        }
        if intervals::differ(&left_type, &right_type)
            && let (Some(one), Some(other)) =
                (intervals::length(left, &left_type), intervals::length(right, &right_type))
        {
            (*left, *right) = (one, other);
            continue;
        }
        let wide_left = timestamp_comparisons::widened(left, &left_type, &right_type);
        let wide_right = timestamp_comparisons::widened(right, &right_type, &left_type);
        *left = wide_left.unwrap_or_else(|| std::mem::take(left));
        *right = wide_right.unwrap_or_else(|| std::mem::take(right));
    }
    Ok(join)
}

/// Returns a fixed answer that is NULL where an expression is NULL.
pub(super) fn unless_null(expr: Expr, answer: bool) -> Expr {
    let null = lit(ScalarValue::Boolean(None));
    if answer { expr.is_not_null().or(null) } else { expr.is_null().and(null) }
}
