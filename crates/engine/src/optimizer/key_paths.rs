//! Which scans the keys of which joins reach.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::{Result, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::expressions::{Column, IsNotNullExpr, lit};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPhase, PushedDown};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::{ExecutionPlan, StatisticsArgs, StatisticsContext};

use super::choose::Plan;
use super::clear_names::is_clear;
use super::equal_keys::on_the_build_side;
use crate::config::SluiceOptions;

/// Which scans of a plan lie below joins, and which of these joins' keys reach them on the probe
/// side. Where DataFusion takes a filter on a key, it takes the keys: its own answers decide.
///
/// Each key is followed by itself, so that those of one join may reach different scans. What
/// reaches the probe side of a join further down also reaches its build side, by the key that is
/// equal there (`sluice.transfer`).
#[derive(Debug, Default)]
pub(super) struct KeyPaths {
    /// By the address of the scan's node, which the plan keeps in place.
    scans: HashMap<*const (), Joined>,
    joins: Vec<Join>,
}

/// A scan below a join.
#[derive(Debug, Default, Clone)]
pub(super) struct Joined {
    /// The keys that reach it.
    pub(super) keys: Vec<Reaching>,
}

/// A key that reaches a scan.
#[derive(Debug, Clone)]
pub(super) struct Reaching {
    /// The scan's columns that it is made of.
    pub(super) columns: Vec<String>,
    /// Itself, over the scan's columns.
    expr: Arc<dyn PhysicalExpr>,
    join: usize,
    /// Which of the join's keys it is.
    key: usize,
}

#[derive(Debug, Default)]
struct Join {
    /// The expressions under which its keys arrive.
    filters: Vec<Arc<dyn PhysicalExpr>>,
    /// The types of its keys.
    types: Vec<DataType>,
    /// Rows on its build side, if that can be estimated.
    build: Option<f64>,
    /// Rows of the table that the build side's keys come from.
    origin: Option<f64>,
}

/// What becomes of a condition on its way down.
#[derive(Debug, Clone)]
struct Probe {
    condition: Arc<dyn PhysicalExpr>,
    join: usize,
    /// Which of the join's keys it is about.
    key: usize,
    /// Whether it follows the keys of the build side to their origin.
    to_origin: bool,
}

impl KeyPaths {
    /// The paths in a plan.
    pub(super) fn of(plan: &Plan, options: &ConfigOptions) -> Result<Self> {
        let mut paths = Self::default();
        paths.walk(plan, Vec::new(), false, options)?;
        Ok(paths)
    }

    /// What a scan of the plan is to the joins above it; none if there are none.
    pub(super) fn joined(&self, scan: &Plan) -> Option<&Joined> {
        self.scans.get(&address(scan))
    }

    /// The share of a scan's rows that have keys of the build sides, as far as that is estimated.
    pub(super) fn share(&self, joined: &Joined) -> Option<f64> {
        let shares = joined.keys.iter().filter_map(|key| {
            let join = self.joins.get(key.join)?;
            Some((join.build? / join.origin?.max(1.0)).clamp(0.0, 1.0))
        });
        shares.reduce(f64::min)
    }

    /// For each expression under which keys arrive, how many there are on the build side before it
    /// is filtered, if that can be estimated.
    pub(super) fn domains(&self) -> HashMap<u64, Option<f64>> {
        let each = self.joins.iter().flat_map(|join| {
            let ids = join.filters.iter().filter_map(|filter| filter.expression_id());
            ids.map(|id| (id, join.origin))
        });
        each.collect()
    }

    /// The filters of all joins whose keys reach a scan, over the scan's columns. Keys that do not
    /// reach it are NULL in them, so that they only say something about those that do.
    ///
    /// # Errors
    ///
    /// If a filter is not about the keys of its join.
    pub(super) fn filters(&self, scan: &Plan) -> Result<Vec<Arc<dyn PhysicalExpr>>> {
        let keys = self.joined(scan).map(|joined| joined.keys.as_slice()).unwrap_or_default();
        let numbers: BTreeSet<_> = keys.iter().map(|key| key.join).collect();
        let mut filters = Vec::new();
        for number in numbers {
            let Some(join) = self.joins.get(number) else { continue };
            let operands = join.types.iter().enumerate().map(|(at, of)| {
                let reaching = keys.iter().find(|key| key.join == number && key.key == at);
                match reaching.filter(|key| key.expr.is::<Column>()) {
                    Some(key) => Ok(Arc::clone(&key.expr)),
                    None => Ok(lit(ScalarValue::try_from(of)?)),
                }
            });
            let operands = operands.collect::<Result<Vec<_>>>()?;
            if !operands.iter().any(|operand| operand.is::<Column>()) {
                continue;
            }
            for filter in &join.filters {
                filters.push(Arc::clone(filter).with_new_children(operands.clone())?);
            }
        }
        Ok(filters)
    }

    fn walk(
        &mut self,
        node: &Plan,
        probes: Vec<Probe>,
        joined: bool,
        options: &ConfigOptions,
    ) -> Result<()> {
        let mut probes = probes;
        probes.retain(|probe| is_clear(&probe.condition, &node.schema()));
        let children = node.children();
        if children.is_empty() {
            if joined {
                self.arrive(node, &probes)?;
            }
            return Ok(());
        }
        let mut below = self.hand_down(node, &probes, options)?;
        let mut joined = joined;
        if let Some(join) = node.downcast_ref::<HashJoinExec>()
            && let [build, probe] = below.as_mut_slice()
        {
            joined = true;
            if SluiceOptions::of(options).transfer {
                let reaching = probes.iter().filter(|probe| !probe.to_origin);
                for reaching in reaching {
                    let is_there = |it: &Probe| (it.join, it.key) == (reaching.join, reaching.key);
                    if let Some(condition) = on_the_build_side(join, &reaching.condition)?
                        && !build.iter().any(is_there)
                    {
                        build.push(Probe { condition, ..reaching.clone() });
                    }
                }
            }
            let number = self.joins.len();
            let right = join.right().schema();
            let types = join.on().iter().map(|(_, key)| key.data_type(&right));
            self.joins.push(Join {
                filters: join.dynamic_expressions_produced(),
                types: types.collect::<Result<_>>()?,
                build: rows(join.left())?,
                origin: None,
            });
            let condition = |key: usize, expr: &Arc<dyn PhysicalExpr>, to_origin| Probe {
                condition: Arc::new(IsNotNullExpr::new(Arc::clone(expr))),
                join: number,
                key,
                to_origin,
            };
            let keys = || join.on().iter().enumerate();
            build.extend(keys().map(|(at, (key, _))| condition(at, key, true)));
            if join.join_type().on_lr_is_preserved().1 {
                probe.extend(keys().map(|(at, (_, key))| condition(at, key, false)));
            }
        }
        for (child, probes) in children.into_iter().zip(below) {
            self.walk(child, probes, joined, options)?;
        }
        Ok(())
    }

    /// The conditions that DataFusion would hand to each child of a node.
    fn hand_down(
        &self,
        node: &Plan,
        probes: &[Probe],
        options: &ConfigOptions,
    ) -> Result<Vec<Vec<Probe>>> {
        let conditions = probes.iter().map(|probe| Arc::clone(&probe.condition)).collect();
        let phase = FilterPushdownPhase::Post;
        let described = node.gather_filters_for_pushdown(phase, conditions, options)?;
        let mut below = vec![Vec::new(); node.children().len()];
        for (child, conditions) in below.iter_mut().zip(described.parent_filters()) {
            for (probe, handed) in probes.iter().zip(conditions) {
                if matches!(handed.discriminant, PushedDown::Yes) {
                    child.push(Probe { condition: handed.predicate, ..probe.clone() });
                }
            }
        }
        Ok(below)
    }

    /// A scan, and what reached it.
    fn arrive(&mut self, scan: &Plan, probes: &[Probe]) -> Result<()> {
        let mut joined = Joined::default();
        for probe in probes {
            if probe.to_origin {
                let rows = rows(scan)?;
                if let Some(join) = self.joins.get_mut(probe.join) {
                    // Of several key columns, each has at most as many values as the whole.
                    join.origin = join.origin.into_iter().chain(rows).reduce(f64::max);
                }
            } else {
                let columns = collect_columns(&probe.condition);
                let mut columns: Vec<_> =
                    columns.iter().map(|column| column.name().to_owned()).collect();
                columns.sort();
                let test = probe.condition.downcast_ref::<IsNotNullExpr>();
                let expr = Arc::clone(test.map_or(&probe.condition, IsNotNullExpr::arg));
                joined.keys.push(Reaching { columns, expr, join: probe.join, key: probe.key });
            }
        }
        self.scans.insert(address(scan), joined);
        Ok(())
    }
}

fn address(node: &Plan) -> *const () {
    Arc::as_ptr(node).cast()
}

/// The rows that a node puts out, if that is known or estimated.
fn rows(node: &Plan) -> Result<Option<f64>> {
    let statistics = StatisticsContext::new().compute(node.as_ref(), &StatisticsArgs::new())?;
    Ok(match statistics.num_rows {
        Precision::Exact(rows) | Precision::Inexact(rows) => Some(rows as f64),
        Precision::Absent => None,
    })
}
