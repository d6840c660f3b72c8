//! What a switch would have to do for a plan, in numbers for the cost model.
//!
//! | how much is let through | by |
//! |---|---|
//! | DISTINCT, GROUP BY, ORDER BY LIMIT at random, JOIN | the theorems of [`theory`](sluicegate_pruning::theory), with the rows and distinct values that statistics tell |
//! | WHERE | the share of the rows that statistics, or `sluice.selectivity`, let pass |
//! | SKYLINE | a switch without limits, of points that nothing connects |
//! | HAVING, ORDER BY LIMIT by cutoffs | an assumed share: only the data can tell |

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, StatisticsArgs, StatisticsContext,
};
use sluicegate_costmodel::{Crossing, SwitchDemand};
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::theory::line_rate::FRAMING_BYTES;
use sluicegate_pruning::theory::{bloom, count_min, distinct, group_by, skyline, top_n};

use super::SwitchPlan;
use crate::config::SluiceOptions;
use crate::physical_plan::switch_prune::{Side, SwitchPruneExec};

/// Rows of a plan if their number is unknown, as for the plans themselves.
const ASSUMED_ROWS: f64 = 10_000_000.0;
/// Rows of a key if the number of keys is unknown.
const ASSUMED_KEY_ROWS: f64 = 16.0;
/// The part of the probing rows with a match if the number of their keys is unknown.
const ASSUMED_MATCHING: f64 = 0.1;
/// Bytes of a value without a fixed width.
const ASSUMED_TEXT_BYTES: usize = 16;
/// The most points whose skyline is summed; of more, a smaller part is let through.
const MOST_POINTS: u64 = 1_000_000;

type Plan = Arc<dyn ExecutionPlan>;

/// What a switch does for one operator of a plan, in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Switched {
    /// The query shape and what its packets hold: `DISTINCT on name`.
    pub subject: String,
    /// What crosses the switch.
    pub demand: SwitchDemand,
    /// What is assumed of the rows, each a clause.
    pub assumed: Vec<String>,
    program: usize,
}

/// Every operator of a plan for which a switch prunes.
pub(crate) fn switched(plan: &Plan, options: &ConfigOptions) -> Result<Vec<Switched>> {
    let mut all = Vec::new();
    walk(plan, None, options, &mut all)?;
    Ok(all)
}

fn walk(
    node: &Plan,
    filter: Option<&FilterExec>,
    options: &ConfigOptions,
    all: &mut Vec<Switched>,
) -> Result<()> {
    // How many rows a second pass sends is the first one's to find out.
    let prune = node.downcast_ref::<SwitchPruneExec>().filter(|it| it.side() != Side::Again);
    if let Some(prune) = prune {
        let mut looked = Looked::new(prune, filter, options)?;
        let crossing = looked.crossing();
        let build = all
            .iter_mut()
            .rfind(|it| it.program == prune.plan().program && it.demand.crossings.len() == 1);
        match (prune.side(), build) {
            (Side::Probe, Some(join)) => {
                // The keys of the build side are in the filter.
                let crossing = looked.probing(crossing, &join.demand.crossings[0]);
                join.demand.crossings.push(crossing);
                join.assumed.append(&mut looked.assumed);
            }
            _ => all.push(looked.into_switched(crossing)),
        }
    }
    // Exchanges lie between a filter and what crosses the switch below it.
    let is_exchange = node.name().contains("Repartition") || node.name().contains("Coalesce");
    let filter = match node.downcast_ref::<FilterExec>() {
        None if is_exchange => filter,
        found => found,
    };
    for child in node.children() {
        walk(child, filter, options, all)?;
    }
    Ok(())
}

/// A node and what is known of its rows.
struct Looked<'a> {
    plan: &'a SwitchPlan,
    node: &'a SwitchPruneExec,
    input: &'a Plan,
    statistics: Arc<Statistics>,
    rows: f64,
    /// The part of the rows that filters pass where nothing is known.
    share: f64,
    /// The part that the filter above passes, if there is one.
    passing: Option<f64>,
    assumed: Vec<String>,
}

fn statistics(plan: &dyn ExecutionPlan) -> Result<Arc<Statistics>> {
    StatisticsContext::new().compute(plan, &StatisticsArgs::new())
}

fn count(count: &Precision<usize>) -> Option<f64> {
    count.get_value().map(|count| *count as f64)
}

impl<'a> Looked<'a> {
    fn new(
        node: &'a SwitchPruneExec,
        filter: Option<&FilterExec>,
        options: &ConfigOptions,
    ) -> Result<Self> {
        let [input] = node.children()[..] else {
            return datafusion::common::internal_err!("what crosses a switch has one input");
        };
        let known = statistics(input.as_ref())?;
        let mut assumed = Vec::new();
        let rows = count(&known.num_rows).unwrap_or_else(|| {
            assumed.push(format!("{ASSUMED_ROWS} rows"));
            ASSUMED_ROWS
        });
        let share = f64::from(options.optimizer.default_filter_selectivity) / 100.0;
        let passing = match (SluiceOptions::of(options).selectivity.assumed(), filter) {
            (Some(share), _) => Some(share),
            (None, Some(filter)) => {
                let passing = count(&statistics(filter)?.num_rows);
                passing.map(|passing| if rows > 0.0 { (passing / rows).min(1.0) } else { 1.0 })
            }
            (None, None) => None,
        };
        Ok(Self {
            plan: node.plan(),
            node,
            input,
            statistics: known,
            rows,
            share,
            passing,
            assumed,
        })
    }

    fn workers(&self) -> u32 {
        let partitions = self.input.output_partitioning().partition_count();
        u32::try_from(partitions).unwrap_or(u32::MAX).max(1)
    }

    /// The different values of the columns of a packet's key.
    fn distinct(&mut self) -> f64 {
        let columns = self.plan.fields.first().map(|field| field.expressions()).unwrap_or_default();
        let of = |column: &Arc<dyn PhysicalExpr>| {
            let index = column.downcast_ref::<Column>()?.index();
            let known = &self.statistics.column_statistics.get(index)?;
            // NULL is a key, too.
            let nulls = count(&known.null_count).is_some_and(|nulls| nulls > 0.0);
            Some(count(&known.distinct_count)? + f64::from(nulls))
        };
        let known: Option<f64> = columns.iter().map(of).product();
        let keys = known.unwrap_or_else(|| {
            self.assumed.push(format!("{ASSUMED_KEY_ROWS} rows of each key"));
            self.rows / ASSUMED_KEY_ROWS
        });
        keys.clamp(self.rows.min(1.0), self.rows.max(0.0))
    }

    fn assume(&mut self, what: &str) -> f64 {
        let share = self.share;
        self.assumed.push(format!("{} % of the rows {what}", 100.0 * share));
        share
    }

    /// The rows of a node that is all of its operator, or the build side of a join.
    fn crossing(&mut self) -> Crossing {
        let (rows, workers) = (self.rows, f64::from(self.workers()));
        let each = (rows / workers).max(0.0);
        let whole = |number: f64| number.round() as u64;
        // Where not all different keys come to each worker.
        let groups = |keys: f64| (keys.min(each) * workers).min(rows);
        let (unpruned, reduced, reduces) = match &self.plan.algorithm {
            Configured::Filter(_) => {
                let passing = self.passing.unwrap_or_else(|| self.assume("pass the filter"));
                (passing, rows * passing, true)
            }
            Configured::Distinct(config) => {
                let keys = self.distinct();
                let cells = (u64::from(config.rows()), u64::from(config.columns()));
                let hits = distinct::expected_hit_ratio(whole(keys), cells.0, cells.1);
                (part(keys + (rows - keys) * (1.0 - hits), rows), groups(keys), true)
            }
            Configured::TopNRandomized(config, n) => {
                let shape =
                    top_n::Shape { rows: config.rows().into(), columns: config.columns().into() };
                let best = (f64::from(*n).min(each) * workers).min(rows);
                (1.0 - top_n::expected_pruned(whole(rows), shape), best, true)
            }
            Configured::TopNDeterministic(config) => {
                let best = (f64::from(config.n()).min(each) * workers).min(rows);
                (
                    self.assume("are above the cutoffs of the switch").max(part(best, rows)),
                    best,
                    true,
                )
            }
            Configured::GroupBy(config) => {
                let keys = self.distinct();
                let cells = (u64::from(config.cells()), u64::from(config.tables()));
                let pruned = group_by::pruned_bound(whole(rows), whole(keys), cells.0, cells.1);
                (1.0 - pruned, groups(keys), true)
            }
            // What the build side sends goes on as it is.
            Configured::JoinBloom(_) | Configured::JoinRegisterBloom(_) => (1.0, rows, false),
            Configured::Having(config) => {
                let keys = self.distinct();
                let found = self.assume("are of groups that qualify");
                let (counters, lines) = (u64::from(config.counters()), u64::from(config.rows()));
                let wrong = count_min::collision(whole(keys), counters, lines);
                (found + (1.0 - found) * wrong, groups(keys), true)
            }
            Configured::HavingExtreme(_) => {
                let keys = self.distinct();
                (self.assume("are of groups that qualify"), groups(keys), true)
            }
            Configured::Skyline(config) => {
                self.assumed.push("dimensions that say nothing about each other".to_owned());
                let points = whole(rows).min(MOST_POINTS);
                (1.0 - skyline::optimal_pruned(config.dimensions(), points), rows, false)
            }
        };
        let schema = self.input.schema();
        Crossing {
            name: if self.node.side() == Side::Build { "build side" } else { "rows" },
            rows,
            packet_bytes: (self.plan.packet_bytes() as u64 + FRAMING_BYTES) as f64,
            unpruned: unpruned.clamp(0.0, 1.0),
            late_bytes: bytes(&schema, self.node.late().columns().iter().copied()) as f64,
            reduced,
            row_bytes: bytes(&schema, 0..schema.fields().len()) as f64,
            reduces,
        }
    }

    /// The probing side of a join, once the keys of the build side are in the filter.
    fn probing(&mut self, crossing: Crossing, build: &Crossing) -> Crossing {
        let keys = build.rows.round() as u64;
        let false_positives = match &self.plan.algorithm {
            Configured::JoinBloom(config) => {
                let bits = u64::from(config.cells()) * u64::from(config.hashes());
                bloom::bloom_rate(bits.max(1), config.hashes(), keys)
            }
            Configured::JoinRegisterBloom(config) => {
                let bits = u64::from(config.words()) * u64::from(bloom::REGISTER_BITS);
                bloom::register_bloom_rate(bits.max(1), config.hashes(), keys)
            }
            _ => 1.0,
        };
        let before = self.assumed.len();
        let probed = self.distinct();
        let matching = match self.assumed.len() == before {
            true => part(build.rows, probed).min(1.0),
            false => {
                self.assumed.truncate(before);
                self.assumed
                    .push(format!("{} % of the probing rows match", 100.0 * ASSUMED_MATCHING));
                ASSUMED_MATCHING
            }
        };
        let unpruned = 1.0 - bloom::pruned(matching, false_positives);
        Crossing { name: "probing side", unpruned: unpruned.clamp(0.0, 1.0), ..crossing }
    }

    fn into_switched(self, crossing: Crossing) -> Switched {
        let shape = match &self.plan.algorithm {
            Configured::Filter(_) => "WHERE",
            Configured::Distinct(_) => "DISTINCT",
            Configured::TopNDeterministic(_) | Configured::TopNRandomized(..) => "ORDER BY LIMIT",
            Configured::GroupBy(_) => "GROUP BY",
            Configured::JoinBloom(_) | Configured::JoinRegisterBloom(_) => "JOIN",
            Configured::Having(_) | Configured::HavingExtreme(_) => "HAVING",
            Configured::Skyline(_) => "SKYLINE",
        };
        let mut crossings = vec![crossing];
        if matches!(self.plan.algorithm, Configured::Having(_) | Configured::HavingExtreme(_)) {
            // The candidates' rows, which the workers send once they are known.
            let rows = crossing.rows * crossing.unpruned;
            crossings.push(Crossing {
                name: "candidates",
                rows,
                packet_bytes: crossing.row_bytes,
                unpruned: 1.0,
                late_bytes: 0.0,
                reduced: 0.0,
                reduces: false,
                ..crossing
            });
        }
        let workers = self.workers();
        Switched {
            subject: format!("{shape} on {}", self.plan.fields_in_words()),
            demand: SwitchDemand { workers, crossings },
            assumed: self.assumed,
            program: self.plan.program,
        }
    }
}

fn part(some: f64, all: f64) -> f64 {
    if all > 0.0 { some / all } else { 1.0 }
}

/// Bytes of a row's values in some columns.
fn bytes(schema: &Schema, columns: impl Iterator<Item = usize>) -> usize {
    let width = |of_type: &DataType| of_type.primitive_width().unwrap_or(ASSUMED_TEXT_BYTES);
    columns.filter_map(|at| schema.fields().get(at)).map(|field| width(field.data_type())).sum()
}
