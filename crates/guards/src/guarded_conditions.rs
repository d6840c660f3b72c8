//! Keeps conditions from failing for rows that another condition beside them excludes.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::expressions::{BinaryExpr, CastExpr, Literal, case, lit};
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder,
};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

use super::lossy_casts::loses;
use super::overflow::arithmetic::checked_operators;
use super::{Case, CaseOutcome, Guard, PhysicalRule, insert_around};

pub(super) const GUARD: Guard = Guard {
    title: "AND and OR do not keep a condition from failing",
    upstream: &[],
    ours: "A condition that may fail, by a division or a cast, is computed for the rows only that the \
           conditions beside it leave undecided: `x <> 0 AND 10 / x > 4` and `x = 0 OR 10 / x > 4` divide by no zero. \
           The order of the conditions does not matter.",
    cases: &[
        Case {
            setup: &["CREATE TABLE divisors AS SELECT * FROM (VALUES (0), (1), (2)) t(x)"],
            sql: "SELECT x FROM divisors WHERE x <> 0 AND 10 / x > 4",
            right: CaseOutcome::Rows(&["1", "2"]),
            theirs: CaseOutcome::Error("Divide by zero"),
        },
        Case {
            setup: &["CREATE TABLE divisors AS SELECT * FROM (VALUES (0), (1), (2), (NULL)) t(x)"],
            sql: "SELECT x, x = 0 OR 10 / x > 8, 9 / x > 8 AND x <> 0 FROM divisors",
            right: CaseOutcome::Rows(&[
                "0, true, false",
                "1, true, true",
                "2, false, false",
                "NULL, NULL, NULL",
            ]),
            theirs: CaseOutcome::Error("Divide by zero"),
        },
        Case {
            setup: &[
                "CREATE TABLE mixed_texts AS SELECT * FROM (VALUES ('7'), ('x'), ('3'), (NULL)) t(s)",
            ],
            sql: "SELECT s FROM mixed_texts WHERE s ~ '^[0-9]+$' AND CAST(s AS INT) > 5",
            right: CaseOutcome::Rows(&["7"]),
            theirs: CaseOutcome::Error("Cannot cast"),
        },
        Case {
            setup: &[],
            sql: "SELECT n <> 0 AND 10 / n > 4 FROM (SELECT count(*) AS n FROM (VALUES (1)) t(x) WHERE x > 1) c",
            right: CaseOutcome::Rows(&["false"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &["CREATE TABLE divisors AS SELECT * FROM (VALUES (0), (1), (2)) t(x)"],
            sql: "SELECT sum(CASE WHEN x <> 0 AND 10 / x > 4 THEN 1 END) FROM divisors",
            right: CaseOutcome::Rows(&["2"]),
            theirs: CaseOutcome::Error("Divide by zero"),
        },
    ],
};

/// Adds a rule for filters after their conditions are pushed to scans, and one for other expressions before that.
///
/// # Errors
///
/// If there is no rule that pushes filters down.
pub(super) fn install(rules: &mut Vec<PhysicalRule>) -> Result<()> {
    let [before, after] =
        [GuardStage::Others, GuardStage::Filters].map(|of| Arc::new(Guarded { of }));
    insert_around(rules, "FilterPushdown", before, after)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GuardStage {
    /// Filters, after scans have taken the conditions that they can decide.
    Filters,
    /// All other expressions, which a scan may still compute later.
    Others,
}

#[derive(Debug)]
struct Guarded {
    of: GuardStage,
}

impl PhysicalOptimizerRule for Guarded {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let each = |node: Arc<dyn ExecutionPlan>| match self.of {
            GuardStage::Filters => filter(node),
            GuardStage::Others => other(node),
        };
        plan.transform_up(each).data()
    }

    fn name(&self) -> &str {
        match self.of {
            GuardStage::Filters => "guarded_filters",
            GuardStage::Others => "guarded_conditions",
        }
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns the condition of a filter with guards around expressions that may fail.
///
/// # Errors
///
/// If the condition references a column that the schema lacks.
pub fn guarded(condition: Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    Ok(Guards { schema }.wrap(&condition, true)?.unwrap_or(condition))
}

/// Returns true if an expression may fail for a row.
///
/// # Errors
///
/// If the expression references a column that the schema lacks.
pub(crate) fn may_fail(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<bool> {
    Guards { schema }.may_fail(expr)
}

fn filter(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(filter) = node.downcast_ref::<FilterExec>() else { return Ok(Transformed::no(node)) };
    let guards = Guards { schema: &filter.input().schema() };
    let Some(predicate) = guards.wrap(filter.predicate(), true)? else {
        return Ok(Transformed::no(node));
    };
    let guarded = FilterExecBuilder::from(filter).with_predicate(predicate).build()?;
    Ok(Transformed::yes(Arc::new(guarded)))
}

fn other(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let guarded: Option<Arc<dyn ExecutionPlan>> =
        if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
            of_projection(projection)?.map(|it| Arc::new(it) as _)
        } else if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
            of_aggregate(aggregate)?.map(|it| Arc::new(it) as _)
        } else if let Some(join) = node.downcast_ref::<HashJoinExec>() {
            match of_join(join.filter())? {
                Some(filter) => Some(join.builder().with_filter(Some(filter)).build_exec()?),
                None => None,
            }
        } else if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
            match of_join(join.filter())? {
                Some(filter) => {
                    let (left, right) = (Arc::clone(join.left()), Arc::clone(join.right()));
                    let guarded = NestedLoopJoinExecBuilder::new(left, right, *join.join_type())
                        .with_filter(Some(filter))
                        .with_projection_ref(join.projection().clone())
                        .build()?;
                    Some(Arc::new(guarded))
                }
                None => None,
            }
        } else {
            None
        };
    Ok(guarded.map_or_else(|| Transformed::no(node), Transformed::yes))
}

fn of_projection(projection: &ProjectionExec) -> Result<Option<ProjectionExec>> {
    let guards = Guards { schema: &projection.input().schema() };
    let mut any = false;
    let mut items = Vec::with_capacity(projection.expr().len());
    for item in projection.expr() {
        let guarded = guards.wrap(&item.expr, false)?;
        any |= guarded.is_some();
        let expr = guarded.unwrap_or_else(|| Arc::clone(&item.expr));
        items.push(ProjectionExpr::new(expr, item.alias.clone()));
    }
    any.then(|| ProjectionExec::try_new(items, Arc::clone(projection.input()))).transpose()
}

fn of_aggregate(aggregate: &AggregateExec) -> Result<Option<AggregateExec>> {
    let schema = aggregate.input().schema();
    // Later stages compute no arguments.
    if !matches!(
        aggregate.mode(),
        AggregateMode::Partial | AggregateMode::Single | AggregateMode::SinglePartitioned
    ) {
        return Ok(None);
    }
    let guards = Guards { schema: &schema };
    let mut any = false;
    let mut guarded = |expr: &Arc<dyn PhysicalExpr>, is_filter| -> Result<_> {
        let guarded = guards.wrap(expr, is_filter)?;
        any |= guarded.is_some();
        Ok(guarded.unwrap_or_else(|| Arc::clone(expr)))
    };
    let mut aggregates = Vec::with_capacity(aggregate.aggr_expr().len());
    for function in aggregate.aggr_expr() {
        let args = function.expressions();
        let args = args.iter().map(|arg| guarded(arg, false)).collect::<Result<Vec<_>>>()?;
        let same = args.iter().zip(function.expressions()).all(|(one, other)| *one == other);
        let order_bys = function.order_bys().iter().map(|key| Arc::clone(&key.expr)).collect();
        let other = if same { None } else { function.with_new_expressions(args, order_bys) };
        aggregates.push(other.map_or_else(|| Arc::clone(function), Arc::new));
    }
    let filters = aggregate.filter_expr().iter();
    let filters = filters.map(|it| it.as_ref().map(|it| guarded(it, true)).transpose());
    let filters = filters.collect::<Result<Vec<_>>>()?;
    if !any {
        return Ok(None);
    }
    let groups = Arc::new(aggregate.group_expr().clone());
    let (input, schema) = (Arc::clone(aggregate.input()), aggregate.input_schema());
    let guarded =
        AggregateExec::try_new(*aggregate.mode(), groups, aggregates, filters, input, schema)?;
    Ok(Some(guarded.with_limit_options(aggregate.limit_options())))
}

fn of_join(filter: Option<&JoinFilter>) -> Result<Option<JoinFilter>> {
    let Some(filter) = filter else { return Ok(None) };
    let guards = Guards { schema: filter.schema() };
    let guarded = guards.wrap(filter.expression(), true)?;
    Ok(guarded.map(|expr| {
        JoinFilter::new(expr, filter.column_indices().to_vec(), Arc::clone(filter.schema()))
    }))
}

#[derive(Clone, Copy)]
struct Guards<'a> {
    schema: &'a Schema,
}

impl Guards<'_> {
    /// Returns the expression with guards around parts that may fail, or `None` if there are none.
    ///
    /// `is_filter` is true if NULL means the same as FALSE.
    fn wrap(
        self,
        expr: &Arc<dyn PhysicalExpr>,
        is_filter: bool,
    ) -> Result<Option<Arc<dyn PhysicalExpr>>> {
        if !self.may_fail(expr)? {
            return Ok(None);
        }
        let op = expr.downcast_ref::<BinaryExpr>().map(BinaryExpr::op);
        let Some(op) = op.copied().filter(|op| matches!(op, Operator::And | Operator::Or)) else {
            return self.within(expr);
        };
        let mut parts = Vec::new();
        flatten(expr, op, &mut parts);
        let (mut guards, mut guarded, mut volatile) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            let part = self.wrap(&part, is_filter)?.unwrap_or(part);
            if self.may_fail(&part)? {
                guarded.push(part);
            } else if is_volatile(&part) {
                volatile.push(part);
            } else {
                guards.push(part);
            }
        }
        let decided = lit(op == Operator::Or);
        let guarded = if is_filter {
            // Each condition guards the ones after it.
            let each = guarded.into_iter().rev().map(Ok::<_, DataFusionError>);
            each.reduce(|later, part| {
                let (part, later) = (part?, later?);
                match op {
                    Operator::And => case(None, vec![(part, later)], Some(Arc::clone(&decided))),
                    _ => case(None, vec![(part, Arc::clone(&decided))], Some(later)),
                }
            })
            .transpose()?
        } else {
            joined(guarded, op)
        };
        let guard = joined(guards, op);
        let rest = match (&guard, guarded) {
            (Some(guard), Some(guarded)) => {
                let undecided: Arc<dyn PhysicalExpr> = match op {
                    // NULL excludes a row like FALSE does.
                    Operator::And if is_filter => Arc::clone(guard),
                    _ => Arc::new(BinaryExpr::new(
                        Arc::clone(guard),
                        Operator::IsDistinctFrom,
                        Arc::clone(&decided),
                    )),
                };
                Some(case(None, vec![(undecided, guarded)], Some(Arc::clone(&decided)))?)
            }
            (_, guarded) => guarded,
        };
        Ok(joined(guard.into_iter().chain(volatile).chain(rest).collect(), op))
    }

    /// Adds guards inside an expression that is no AND or OR.
    fn within(self, expr: &Arc<dyn PhysicalExpr>) -> Result<Option<Arc<dyn PhysicalExpr>>> {
        let mut any = false;
        let mut children = Vec::new();
        for child in expr.children() {
            let guarded = self.wrap(child, false)?;
            any |= guarded.is_some();
            children.push(guarded.unwrap_or_else(|| Arc::clone(child)));
        }
        any.then(|| Arc::clone(expr).with_new_children(children)).transpose()
    }

    /// Returns true if an expression may fail for a row.
    fn may_fail(self, expr: &Arc<dyn PhysicalExpr>) -> Result<bool> {
        let mut any = false;
        expr.apply(|part| {
            any = self.fails(part)?;
            Ok(if any { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(any)
    }

    fn fails(self, expr: &Arc<dyn PhysicalExpr>) -> Result<bool> {
        if checked_operators(expr.as_ref()) > 0 {
            return Ok(true);
        }
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            let divides = matches!(binary.op(), Operator::Divide | Operator::Modulo);
            if !divides || !is_exact(&binary.left().data_type(self.schema)?) {
                return Ok(false);
            }
            let divisor = binary.right().downcast_ref::<Literal>().map(Literal::value);
            let zero = divisor.map(|it| ScalarValue::new_zero(&it.data_type())).transpose()?;
            return Ok(divisor.is_none() || divisor == zero.as_ref());
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            return Ok(cast_fails(&cast.expr().data_type(self.schema)?, cast.cast_type()));
        }
        let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() else { return Ok(false) };
        let of_first = call.args().first().map(|it| it.data_type(self.schema)).transpose()?;
        Ok(match (call.name(), of_first) {
            ("sluice_cast" | "arrow_cast", Some(from)) => cast_fails(&from, call.return_type()),
            (name, Some(from))
                if name.starts_with("to_date") || name.starts_with("to_timestamp") =>
            {
                from.is_string()
            }
            _ => false,
        })
    }
}

fn is_exact(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_decimal()
}

/// Returns true if a cast fails for some values.
fn cast_fails(from: &DataType, to: &DataType) -> bool {
    if from.is_string() {
        return !to.is_string() && !matches!(to, DataType::Dictionary(..));
    }
    is_exact(to) && (from.is_floating() || is_exact(from) && loses(from, to))
}

fn flatten(expr: &Arc<dyn PhysicalExpr>, op: Operator, parts: &mut Vec<Arc<dyn PhysicalExpr>>) {
    match expr.downcast_ref::<BinaryExpr>() {
        Some(binary) if *binary.op() == op => {
            flatten(binary.left(), op, parts);
            flatten(binary.right(), op, parts);
        }
        _ => parts.push(Arc::clone(expr)),
    }
}

fn joined(parts: Vec<Arc<dyn PhysicalExpr>>, op: Operator) -> Option<Arc<dyn PhysicalExpr>> {
    parts.into_iter().reduce(|all, part| Arc::new(BinaryExpr::new(all, op, part)))
}
