//! Finds the scans that the keys of joins reach.

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
use crate::context::choice::Reason;
use crate::context::config::{Join as Strategy, SluiceOptions};
use crate::estimate::demand::{kept_of_column, selectivity, table_rows};
use crate::estimate::statistics::distinct_of;
use crate::pushdown::dynamic_filters::DynamicKeys;
use crate::scan::s3_scan::{as_adaptive_scan, as_select_scan};

/// The scans of a plan that are below joins, and the join keys that reach them on the probe side. A key takes the
/// paths that DataFusion's own pushdown takes for a filter on it.
///
/// Each key is followed separately, so the keys of one join may reach different scans. A key that reaches the probe
/// side of a join further down also reaches its build side, through the key that is equal there (`sluice.transfer`).
#[derive(Debug, Default)]
pub(super) struct KeyPaths {
    /// Scans by the address of their node, which the plan keeps in place.
    scans: HashMap<*const (), JoinedScan>,
    joins: Vec<Join>,
    /// True if the session assumes a selectivity for every filter.
    assumed: bool,
}

/// A scan below a join.
#[derive(Debug, Clone)]
pub(super) struct JoinedScan {
    /// The keys that reach the scan.
    pub(super) keys: Vec<ReachingKey>,
    /// The side of the scan, which is the reason why other keys do not reach it.
    pub(super) side: Side,
}

/// The side of the nearest join above that a scan is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The side whose keys go to the other side.
    Build,
    /// The other side, if the join keeps its rows without a partner.
    Kept,
    /// The other side.
    Probe,
}

/// The reason why keys of floating-point types are not sent.
const FLOAT_KEYS: &str = "the store cannot be asked about keys of this type or expression";

impl Side {
    /// Returns the reason why no keys arrive on this side.
    fn without_keys(self) -> Reason {
        Reason::from(match self {
            Self::Build => "it is on the build side of its join, whose keys go to the other side",
            Self::Kept => "its join also keeps rows without a partner",
            Self::Probe => "the keys of its join are not columns of its files",
        })
    }
}

/// A key that reaches a scan.
#[derive(Debug, Clone)]
pub(super) struct ReachingKey {
    /// Names of the scan's columns in the key.
    pub(super) columns: Vec<String>,
    /// The key over the scan's columns.
    expr: Arc<dyn PhysicalExpr>,
    /// Share of the key's values that pass the scan's own filters on it. The build side has only these values, too,
    /// where the plan infers one side's filters from the other's.
    kept: f64,
    /// Share of the rows in which the key is NULL.
    nulls: f64,
    join: usize,
    /// Index of the key among the join's keys.
    key: usize,
}

#[derive(Debug, Default)]
struct Join {
    /// The dynamic filters that carry the join's keys.
    filters: Vec<Arc<dyn PhysicalExpr>>,
    /// Types of the join's keys.
    types: Vec<DataType>,
    /// Estimated rows on the build side, if known.
    build: Option<f64>,
    /// For each key, the table that it comes from.
    origins: Vec<Option<Origin>>,
    /// Rows of the build side, if that is a whole table.
    whole: Option<f64>,
}

/// A table that the keys of a join come from.
#[derive(Debug, Clone, Copy)]
struct Origin {
    rows: f64,
    /// Number of distinct keys in these rows, at least 1 and at most `rows`.
    keys: f64,
}

impl Origin {
    /// Returns the expected number of distinct keys in so many random rows.
    fn keys_of(self, rows: f64) -> f64 {
        distinct_of(rows, self.rows, self.keys)
    }
}

impl Join {
    /// Returns the table that the join's keys come from. With several columns, each row is assumed to have another
    /// key.
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

    /// Returns the estimated number of values of one key column on the build side, at most. The values of each column
    /// are sent separately.
    fn values(&self, key: usize) -> Option<f64> {
        let rows = self.build?;
        let origin = self.origins.get(key).copied().flatten();
        Some(origin.map_or(rows, |origin| origin.keys_of(rows).min(rows)))
    }

    /// Returns the estimated share of a scan's rows that have one of the values of a key column. It is 1 if the
    /// effect of a filter cannot be estimated.
    fn share_of(&self, reaching: &ReachingKey) -> Option<f64> {
        let origin = self.origins.get(reaching.key).copied().flatten();
        let all = origin.filter(|_| self.whole.is_none())?.keys;
        Some((self.values(reaching.key)? / (all * reaching.kept).max(1.0)).min(1.0))
    }

    /// Returns true if the build side is a whole table too large for a list of selected values. Its keys then usually
    /// include all keys of the probe side.
    fn is_unconstrained(&self) -> bool {
        /// The maximum number of rows of such a list.
        const LIST: f64 = 10_000.0;
        self.whole.is_some_and(|rows| rows > LIST)
    }

    /// Returns the estimated number of keys of the probe side, at most. A whole table as build side gives no estimate
    /// for the other side.
    fn domain(&self) -> Option<f64> {
        let origin = self.origin().filter(|_| self.whole.is_none());
        origin.map(|origin| origin.keys)
    }
}

/// A condition that is followed down the plan.
#[derive(Debug, Clone)]
struct Probe {
    condition: Arc<dyn PhysicalExpr>,
    join: usize,
    /// Index of the key among the join's keys.
    key: usize,
    /// True if it follows a key of the build side to its origin.
    to_origin: bool,
}

impl KeyPaths {
    /// Finds the paths in a plan.
    pub(super) fn find(plan: &Plan, options: &ConfigOptions) -> Result<Self> {
        let assumed = SluiceOptions::from_options(options).selectivity.get().is_some();
        let mut paths = Self { assumed, ..Self::default() };
        paths.walk(plan, Vec::new(), None, options)?;
        Ok(paths)
    }

    /// Returns true if keys reach any scan.
    pub(super) fn reach_any(&self) -> bool {
        self.scans.values().any(|joined| !joined.keys.is_empty())
    }

    /// Returns the reason why no scan of the plan gets keys although it has joins. Returns `None` if some scan gets
    /// keys, or if no join is over scans.
    pub(super) fn no_path_reason(&self) -> Option<Reason> {
        if self.are_refused_at_run_time() {
            return Some(Reason::from(FLOAT_KEYS));
        }
        let stands = |side: &Side| self.scans.values().any(|joined| joined.side == *side);
        let side = [Side::Kept, Side::Probe, Side::Build].into_iter().find(stands);
        side.filter(|_| !self.reach_any()).map(Side::without_keys)
    }

    /// Returns true if a join has keys of a floating-point type. Their zeros are made equal before they are compared, so
    /// they are expressions, which reach no scan.
    fn has_float_keys(&self) -> bool {
        self.joins.iter().flat_map(|join| &join.types).any(DataType::is_floating)
    }

    /// Returns the reason why no keys reach a scan.
    pub(super) fn without_keys(&self, joined: &JoinedScan) -> Reason {
        match joined.side {
            Side::Probe if self.has_float_keys() => Reason::from(FLOAT_KEYS),
            side => side.without_keys(),
        }
    }

    /// Returns true if the reason why no keys reach a scan is also found when the query runs.
    pub(super) fn are_refused_at_run_time(&self) -> bool {
        let is_probe = |joined: &JoinedScan| joined.side == Side::Probe;
        self.has_float_keys() && !self.reach_any() && self.scans.values().any(is_probe)
    }

    /// Returns the joins' keys and the side of a scan; `None` if no join is above it.
    pub(super) fn joined(&self, scan: &Plan) -> Option<&JoinedScan> {
        self.scans.get(&address(scan))
    }

    /// Returns the estimated share of a scan's rows that have keys of the build sides.
    pub(super) fn share(&self, joined: &JoinedScan) -> Option<f64> {
        // A join by several columns sends the values of each column.
        let mut shares: BTreeMap<usize, f64> = BTreeMap::new();
        for key in &joined.keys {
            let Some(join) = self.joins.get(key.join) else { continue };
            let share = if join.is_unconstrained() { Some(1.0) } else { join.share_of(key) };
            if let Some(share) = share {
                *shares.entry(key.join).or_insert(1.0) *= share * (1.0 - key.nulls);
            }
        }
        let shares = shares.into_iter().filter_map(|(join, share)| {
            let tells_nothing = self.joins.get(join).is_some_and(Join::is_unconstrained);
            // The effect of filters in the store is not estimated, unless the session assumes a selectivity.
            (share < 1.0 || self.assumed || tells_nothing).then_some(share)
        });
        shares.reduce(f64::min)
    }

    /// Returns the estimated number of keys that reach a scan, at most.
    pub(super) fn most_keys(&self, joined: &JoinedScan) -> Option<f64> {
        let mut builds: BTreeMap<usize, f64> = BTreeMap::new();
        for key in &joined.keys {
            let values = self.joins.get(key.join).and_then(|join| join.values(key.key));
            if let Some(values) = values {
                *builds.entry(key.join).or_default() += values;
            }
        }
        builds.into_values().reduce(f64::min)
    }

    /// Returns the estimated number of keys that would reach a scan without filters on the build side.
    pub(super) fn all_keys(&self, joined: &JoinedScan) -> Option<f64> {
        let domains = joined.keys.iter().filter_map(|key| self.joins.get(key.join)?.domain());
        domains.reduce(f64::min)
    }

    /// Returns the known properties of the keys for each dynamic filter that carries them; `None` if the keys are not
    /// wanted.
    pub(super) fn keys(&self, strategy: Strategy) -> HashMap<u64, Option<DynamicKeys>> {
        let wanted = |join: &Join| match strategy {
            Strategy::Baseline | Strategy::Filtered => false,
            Strategy::Auto => !join.is_unconstrained(),
            Strategy::Bloom => true,
        };
        let each = self.joins.iter().flat_map(|join| {
            let keys = wanted(join).then_some(DynamicKeys { domain: join.domain() });
            let ids = join.filters.iter().filter_map(|filter| filter.expression_id());
            ids.map(move |id| (id, keys))
        });
        each.collect()
    }

    /// Returns the filters of all joins whose keys reach a scan, over the scan's columns. Keys that do not reach it
    /// are replaced by NULL, so that the filters only restrict the others.
    ///
    /// # Errors
    ///
    /// If a filter does not fit the keys of its join.
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
            if SluiceOptions::from_options(options).transfer {
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
                    // Keys of other joins select some of its rows.
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

    /// Returns the conditions that DataFusion would pass to each child of a node.
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

    /// Records a scan and the conditions that reached it.
    fn arrive(
        &mut self,
        scan: &Plan,
        probes: &[Probe],
        side: Side,
        options: &ConfigOptions,
    ) -> Result<()> {
        let mut joined = JoinedScan { keys: Vec::new(), side };
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
                joined.keys.push(ReachingKey { columns, expr, kept, nulls, join, key });
            }
        }
        self.scans.insert(address(scan), joined);
        Ok(())
    }
}

/// Returns true unless the scan is a Select scan and the condition uses partition columns or computed columns, which
/// the store does not have.
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

/// Returns the share of a key's values that pass the scan's filters on it, and the share of rows in which it is NULL.
/// Both are known for a column of a Select scan only.
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

/// Returns the rows of a table if the plan returns all of them, else `None`.
fn whole_table(plan: &Plan) -> Option<f64> {
    if let Some((config, source)) = as_select_scan(plan.as_ref()) {
        return source.filters().is_empty().then(|| all_rows(config)).flatten();
    }
    if let Some(scan) = plan.downcast_ref::<DataSourceExec>() {
        let turning = as_adaptive_scan(plan.as_ref()).map(|(config, _)| config);
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

/// Returns the known or estimated rows of a node. DataFusion does not account for the filters that scans have taken.
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

/// Returns the known or estimated rows of a node as if scans had no filters.
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

/// Returns the rows and distinct keys of a scan that a key comes from, as if the scan had no filters. Each row is
/// assumed to have another key unless the condition is on a column with statistics.
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
        // Each key has four rows: 1 - 0.7⁴.
        near(keys(4000.0, 1000.0, 1200.0), 759.9);
        for (rows, all) in [(4000.0, 1000.0), (1000.0, 1000.0), (1.0, 1.0)] {
            near(keys(rows, all, 0.0), 0.0);
            near(keys(rows, all, rows), all);
            near(keys(rows, all, 2.0 * rows), all);
        }
    }
}
