//! Which scans the keys of which joins reach.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::expressions::{Column, IsNotNullExpr, lit};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPhase, PushedDown};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, StatisticsArgs, StatisticsContext};

use super::choose::Plan;
use super::clear_names::clear_columns;
use super::equal_keys::on_the_build_side;
use crate::choice::Why;
use crate::config::{Join as Strategy, SluiceOptions};
use crate::datasource::arriving::ArrivingKeys;
use crate::datasource::s3_scan::{as_select_scan, as_turning_scan};
use crate::profile::{kept_of_column, selectivity, table_rows};
use crate::statistics::distinct_of;

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
    /// Whether a selectivity is assumed of every filter.
    assumed: bool,
}

/// A scan below a join.
#[derive(Debug, Clone)]
pub(super) struct Joined {
    /// The keys that reach it.
    pub(super) keys: Vec<Reaching>,
    /// Why others do not.
    pub(super) side: Side,
}

/// Where a scan stands below the nearest join above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// On the side whose keys go to the other.
    Build,
    /// On the other side, whose rows the join keeps without a partner.
    Kept,
    /// On the other side.
    Probe,
}

impl Side {
    /// Why no keys arrive there.
    pub(super) fn without_keys(self) -> Why {
        Why::from(match self {
            Self::Build => "it is on the build side of its join, whose keys go to the other side",
            Self::Kept => "its join also keeps rows without a partner",
            Self::Probe => "the keys of its join are not columns of its files",
        })
    }
}

/// A key that reaches a scan.
#[derive(Debug, Clone)]
pub(super) struct Reaching {
    /// The scan's columns that it is made of.
    pub(super) columns: Vec<String>,
    /// Itself, over the scan's columns.
    expr: Arc<dyn PhysicalExpr>,
    /// The share of its values that the scan's own filters on it leave: those that the build side has, too,
    /// where the plan infers one side's filters from the other's.
    kept: f64,
    /// The share of the rows that have none.
    nulls: f64,
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
    /// For each of its keys, the table that it comes from.
    origins: Vec<Option<Origin>>,
    /// The rows of the build side, if that is a whole table.
    whole: Option<f64>,
}

/// A table that the keys of a join come from.
#[derive(Debug, Clone, Copy)]
struct Origin {
    rows: f64,
    /// How many keys they have, at least 1 and at most as many as there are rows.
    keys: f64,
}

impl Origin {
    /// How many keys so many of its rows are expected to have, whichever they are.
    fn keys_of(self, rows: f64) -> f64 {
        distinct_of(rows, self.rows, self.keys)
    }
}

impl Join {
    /// The table that its keys come from: of several columns, each row may have another key.
    fn origin(&self) -> Option<Origin> {
        match self.origins.as_slice() {
            [origin] => *origin,
            origins => {
                let larger = |a: Origin, b: Origin| if b.rows > a.rows { b } else { a };
                let largest = origins.iter().copied().flatten().reduce(larger);
                largest.map(|Origin { rows, .. }| Origin { rows, keys: rows })
            }
        }
    }

    /// How many keys its build side has at most, as far as that is estimated.
    fn keys(&self) -> Option<f64> {
        let rows = self.build?;
        Some(self.origin().map_or(rows, |origin| origin.keys_of(rows).min(rows)))
    }

    /// How many values its build side has in one of its key columns at most, as far as that is estimated. They are
    /// sent by themselves, whatever they stand beside.
    fn values(&self, key: usize) -> Option<f64> {
        let rows = self.build?;
        let origin = self.origins.get(key).copied().flatten();
        Some(origin.map_or(rows, |origin| origin.keys_of(rows).min(rows)))
    }

    /// The share of the rows of a scan that have one of the values of a key column, as far as that is
    /// estimated; 1 if what a filter leaves is not.
    fn share_of(&self, reaching: &Reaching) -> Option<f64> {
        let origin = self.origins.get(reaching.key).copied().flatten();
        let all = origin.filter(|_| self.whole.is_none())?.keys;
        Some((self.values(reaching.key)? / (all * reaching.kept).max(1.0)).min(1.0))
    }

    /// Whether the keys of its build side are as a rule all that the probe side has: those of a whole
    /// table that is too large for a list of what is looked for.
    fn tells_nothing(&self) -> bool {
        /// The most rows of such a list.
        const LIST: f64 = 10_000.0;
        self.whole.is_some_and(|rows| rows > LIST)
    }

    /// How many keys the probe side has at most, if that can be estimated. A whole table tells about
    /// itself only.
    fn domain(&self) -> Option<f64> {
        let origin = self.origin().filter(|_| self.whole.is_none());
        origin.map(|origin| origin.keys)
    }
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
        let assumed = SluiceOptions::of(options).selectivity.assumed().is_some();
        let mut paths = Self { assumed, ..Self::default() };
        paths.walk(plan, Vec::new(), None, options)?;
        Ok(paths)
    }

    /// Whether keys reach any scan.
    pub(super) fn reach_any(&self) -> bool {
        self.scans.values().any(|joined| !joined.keys.is_empty())
    }

    /// Why no scan of the plan gets keys, although it has joins; none if some do, or if it has none
    /// over scans.
    pub(super) fn why_none(&self) -> Option<Why> {
        let stands = |side: &Side| self.scans.values().any(|joined| joined.side == *side);
        let side = [Side::Kept, Side::Probe, Side::Build].into_iter().find(stands);
        side.filter(|_| !self.reach_any()).map(Side::without_keys)
    }

    /// What a scan of the plan is to the joins above it; none if there are none.
    pub(super) fn joined(&self, scan: &Plan) -> Option<&Joined> {
        self.scans.get(&address(scan))
    }

    /// The share of a scan's rows that have keys of the build sides, as far as that is estimated.
    pub(super) fn share(&self, joined: &Joined) -> Option<f64> {
        // Of a join by several columns, the values of each are asked about.
        let mut shares: BTreeMap<usize, f64> = BTreeMap::new();
        for key in &joined.keys {
            let Some(join) = self.joins.get(key.join) else { continue };
            let share = if join.tells_nothing() { Some(1.0) } else { join.share_of(key) };
            if let Some(share) = share {
                *shares.entry(key.join).or_insert(1.0) *= share * (1.0 - key.nulls);
            }
        }
        let shares = shares.into_iter().filter_map(|(join, share)| {
            let tells_nothing = self.joins.get(join).is_some_and(Join::tells_nothing);
            // What a filter that the store applies leaves is not estimated, unless all is assumed to pass.
            (share < 1.0 || self.assumed || tells_nothing).then_some(share)
        });
        shares.reduce(f64::min)
    }

    /// How many keys reach a scan at most, as far as that is estimated.
    pub(super) fn most_keys(&self, joined: &Joined) -> Option<f64> {
        let mut builds: BTreeMap<usize, f64> = BTreeMap::new();
        for key in &joined.keys {
            let values = self.joins.get(key.join).and_then(|join| join.values(key.key));
            if let Some(values) = values {
                *builds.entry(key.join).or_default() += values;
            }
        }
        builds.into_values().reduce(f64::min)
    }

    /// How many keys reach a scan if none is filtered out on the build side, as far as that is estimated.
    pub(super) fn all_keys(&self, joined: &Joined) -> Option<f64> {
        let domains = joined.keys.iter().filter_map(|key| self.joins.get(key.join)?.domain());
        domains.reduce(f64::min)
    }

    /// For each expression under which keys arrive, what is known about them, if they are wanted.
    pub(super) fn keys(&self, strategy: Strategy) -> HashMap<u64, Option<ArrivingKeys>> {
        let wanted = |join: &Join| match strategy {
            Strategy::Baseline | Strategy::Filtered => false,
            Strategy::Auto => !join.tells_nothing(),
            Strategy::Bloom => true,
        };
        let each = self.joins.iter().flat_map(|join| {
            let keys = wanted(join).then_some(ArrivingKeys { domain: join.domain() });
            let ids = join.filters.iter().filter_map(|filter| filter.expression_id());
            ids.map(move |id| (id, keys))
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
        side: Option<Side>,
        options: &ConfigOptions,
    ) -> Result<()> {
        let mut probes = probes;
        if !probes.is_empty() {
            let clear = clear_columns(&node.schema());
            probes.retain(|probe| {
                collect_columns(&probe.condition).iter().all(|it| clear.contains(&it.index()))
            });
        }
        let children = node.children();
        if children.is_empty() {
            if let Some(side) = side {
                self.arrive(node, &probes, side, options)?;
            }
            return Ok(());
        }
        let mut below = self.hand_down(node, &probes, options)?;
        let mut sides = vec![side; below.len()];
        if let Some(join) = node.downcast_ref::<HashJoinExec>()
            && let [build, probe] = below.as_mut_slice()
        {
            let kept = !join.join_type().on_lr_is_preserved().1;
            sides = vec![Some(Side::Build), Some(if kept { Side::Kept } else { Side::Probe })];
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
                build: rows(join.left(), options)?,
                origins: vec![None; join.on().len()],
                whole: match build.iter().all(|probe| probe.to_origin) {
                    true => whole_table(join.left()),
                    // Other keys select rows of it.
                    false => None,
                },
            });
            let condition = |key: usize, expr: &Arc<dyn PhysicalExpr>, to_origin| Probe {
                condition: Arc::new(IsNotNullExpr::new(Arc::clone(expr))),
                join: number,
                key,
                to_origin,
            };
            let keys = || join.on().iter().enumerate();
            build.extend(keys().map(|(at, (key, _))| condition(at, key, true)));
            if !kept {
                probe.extend(keys().map(|(at, (_, key))| condition(at, key, false)));
            }
        }
        for ((child, probes), side) in children.into_iter().zip(below).zip(sides) {
            self.walk(child, probes, side, options)?;
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
    fn arrive(
        &mut self,
        scan: &Plan,
        probes: &[Probe],
        side: Side,
        options: &ConfigOptions,
    ) -> Result<()> {
        let mut joined = Joined { keys: Vec::new(), side };
        for probe in probes {
            if probe.to_origin {
                let Some(join) = self.joins.get_mut(probe.join) else { continue };
                let found = origin(scan, &probe.condition)?;
                let larger = |a: Origin, b: Origin| if b.rows > a.rows { b } else { a };
                if let Some(origin) = join.origins.get_mut(probe.key) {
                    *origin = (*origin).into_iter().chain(found).reduce(larger);
                }
            } else if is_of_files(scan, &probe.condition)? {
                let columns = collect_columns(&probe.condition);
                let mut columns: Vec<_> =
                    columns.iter().map(|column| column.name().to_owned()).collect();
                columns.sort();
                let test = probe.condition.downcast_ref::<IsNotNullExpr>();
                let expr = Arc::clone(test.map_or(&probe.condition, IsNotNullExpr::arg));
                let (kept, nulls) = kept_and_nulls(scan, &columns, options);
                let (join, key) = (probe.join, probe.key);
                joined.keys.push(Reaching { columns, expr, kept, nulls, join, key });
            }
        }
        self.scans.insert(address(scan), joined);
        Ok(())
    }
}

/// Whether a condition is about columns that the store knows, if it can be asked: not about
/// partitions, nor about what is computed of columns.
fn is_of_files(scan: &Plan, condition: &Arc<dyn PhysicalExpr>) -> Result<bool> {
    let Some((_, source)) = as_select_scan(scan.as_ref()) else { return Ok(true) };
    let columns = source.file_schema().fields().len();
    let mut known = true;
    for column in collect_columns(condition) {
        let column: Arc<dyn PhysicalExpr> = Arc::new(column);
        let below = source.output().unproject_expr(&column)?;
        known &= below.downcast_ref::<Column>().is_some_and(|it| it.index() < columns);
    }
    Ok(known)
}

/// The share of a key's values that the filters of a scan on it leave, and of the rows that have none, as far as
/// that is known of a Select scan's column.
fn kept_and_nulls(scan: &Plan, columns: &[String], options: &ConfigOptions) -> (f64, f64) {
    let (Some((config, source)), [column]) = (as_select_scan(scan.as_ref()), columns) else {
        return (1.0, 0.0);
    };
    match source.file_schema().index_of(column) {
        Ok(column) => kept_of_column(config, source, column, options),
        Err(_) => (1.0, 0.0),
    }
}

fn address(node: &Plan) -> *const () {
    Arc::as_ptr(node).cast()
}

/// The rows of a table all of which a plan puts out; none if it does not.
fn whole_table(plan: &Plan) -> Option<f64> {
    if let Some((config, source)) = as_select_scan(plan.as_ref()) {
        return source.filters().is_empty().then(|| all_rows(config)).flatten();
    }
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        let turning = as_turning_scan(plan.as_ref()).map(|(config, _)| config);
        let config = turning.or_else(|| scan.data_source().downcast_ref::<FileScanConfig>())?;
        return config.file_source().filter().is_none().then(|| all_rows(config)).flatten();
    }
    let passes = plan.is::<ProjectionExec>()
        || plan.is::<RepartitionExec>()
        || plan.is::<CoalescePartitionsExec>();
    match plan.children().as_slice() {
        [input] if passes && plan.fetch().is_none() => whole_table(input),
        _ => None,
    }
}

fn all_rows(config: &FileScanConfig) -> Option<f64> {
    config.limit.is_none().then(|| table_rows(config))
}

/// The rows that a node puts out, if that is known or estimated: DataFusion does not know which share
/// passes the filters that scans have taken.
fn rows(node: &Plan, options: &ConfigOptions) -> Result<Option<f64>> {
    let mut share = 1.0;
    node.apply(|below| {
        if let Some((config, source)) = as_select_scan(below.as_ref()) {
            share *= selectivity(config, source, options);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(all_rows_of(node)?.map(|rows| rows * share))
}

/// The same as if scans had no filters.
fn all_rows_of(node: &Plan) -> Result<Option<f64>> {
    let statistics = StatisticsContext::new().compute(node.as_ref(), &StatisticsArgs::new())?;
    Ok(estimated(statistics.num_rows))
}

fn estimated(number: Precision<usize>) -> Option<f64> {
    match number {
        Precision::Exact(number) | Precision::Inexact(number) => Some(number as f64),
        Precision::Absent => None,
    }
}

/// What is known about a scan that a key comes from, as if it had no filters. Each row may have another key
/// unless the condition is about a column whose values are known.
fn origin(scan: &Plan, condition: &Arc<dyn PhysicalExpr>) -> Result<Option<Origin>> {
    let statistics = StatisticsContext::new().compute(scan.as_ref(), &StatisticsArgs::new())?;
    let Some(rows) = estimated(statistics.num_rows) else { return Ok(None) };
    let rows = rows.max(1.0);
    let test = condition.downcast_ref::<IsNotNullExpr>();
    let key = test.and_then(|test| test.arg().downcast_ref::<Column>());
    let known = key.and_then(|key| statistics.column_statistics.get(key.index()));
    let keys = known.and_then(|known| estimated(known.distinct_count));
    Ok(Some(Origin { rows, keys: keys.unwrap_or(rows).clamp(1.0, rows) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_few_keys_have_most_of_them() {
        let keys = |rows: f64, keys: f64, some: f64| Origin { rows, keys }.keys_of(some);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * b.max(1.0), "{a} {b}");
        // Each row has another key.
        near(keys(1000.0, 1000.0, 300.0), 300.0);
        // Four rows have a key: 1 - 0.7⁴.
        near(keys(4000.0, 1000.0, 1200.0), 759.9);
        for (rows, all) in [(4000.0, 1000.0), (1000.0, 1000.0), (1.0, 1.0)] {
            near(keys(rows, all, 0.0), 0.0);
            near(keys(rows, all, rows), all);
            near(keys(rows, all, 2.0 * rows), all);
        }
    }
}
