//! Work that a switch does for a plan, in numbers for the cost model.
//!
//! | share let through | source |
//! |---|---|
//! | DISTINCT, GROUP BY, ORDER BY LIMIT at random, JOIN | the theorems of [`theory`](sluicegate_pruning::theory), with the rows and distinct values from statistics |
//! | WHERE | the share of rows that passes by statistics, or by `sluice.selectivity` |
//! | SKYLINE | a switch without limits, for independent coordinates |
//! | HAVING, ORDER BY LIMIT by cutoffs | an assumed share, because it depends on the data |

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
use sluicegate_pruning::theory::line_rate::FRAMING_BYTES;
use sluicegate_pruning::theory::{PruningEstimate, RowStatistics, bloom};

use super::SwitchPlan;
use crate::context::config::SluiceOptions;
use crate::operators::switch_prune::{Side, SwitchPruneExec};

/// Assumed rows of a plan if their number is unknown. The cost model of plans assumes the same.
const ASSUMED_ROWS: f64 = 10_000_000.0;
/// Assumed rows per key if the number of keys is unknown.
const ASSUMED_KEY_ROWS: f64 = 16.0;
/// Assumed share of probing rows with a match if the number of their keys is unknown.
const ASSUMED_MATCHING: f64 = 0.1;
/// Assumed bytes of a value without a fixed width.
const ASSUMED_TEXT_BYTES: usize = 16;
type Plan = Arc<dyn ExecutionPlan>;

/// The work of a switch for one operator of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct SwitchEstimate {
    /// The query shape and the packet's fields, such as `DISTINCT on name`.
    pub subject: String,
    /// The traffic that crosses the switch.
    pub demand: SwitchDemand,
    /// Assumptions about the rows, one clause each.
    pub assumed: Vec<String>,
    program: usize,
}

/// Returns every operator of a plan for which a switch prunes.
pub(crate) fn switched(plan: &Plan, options: &ConfigOptions) -> Result<Vec<SwitchEstimate>> {
    let mut all = Vec::new();
    walk(plan, None, options, &mut all)?;
    Ok(all)
}

fn walk(
    node: &Plan,
    filter: Option<&FilterExec>,
    options: &ConfigOptions,
    all: &mut Vec<SwitchEstimate>,
) -> Result<()> {
    // The rows of a second pass are predicted from the first pass.
    let prune = node.downcast_ref::<SwitchPruneExec>().filter(|it| it.side() != Side::Again);
    if let Some(prune) = prune {
        let mut looked = NodeEstimate::new(prune, filter, options)?;
        let crossing = looked.crossing();
        let build = all
            .iter_mut()
            .rfind(|it| it.program == prune.plan().program && it.demand.crossings.len() == 1);
        match (prune.side(), build) {
            (Side::Probe, Some(join)) => {
                // The Bloom filter holds the keys of the build side.
                let crossing = looked.probing(crossing, &join.demand.crossings[0]);
                join.demand.crossings.push(crossing);
                join.assumed.append(&mut looked.assumed);
            }
            _ => all.push(looked.into_switched(crossing)),
        }
    }
    // Exchanges may stand between a filter and the crossing below it.
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

/// A node with the statistics and assumptions about its rows.
struct NodeEstimate<'a> {
    plan: &'a SwitchPlan,
    node: &'a SwitchPruneExec,
    input: &'a Plan,
    statistics: Arc<Statistics>,
    rows: f64,
    /// Assumed share of rows that pass a filter without statistics.
    share: f64,
    /// Share of rows that the filter above passes, if there is a filter.
    passing: Option<f64>,
    assumed: Vec<String>,
}

fn statistics(plan: &dyn ExecutionPlan) -> Result<Arc<Statistics>> {
    StatisticsContext::new().compute(plan, &StatisticsArgs::new())
}

fn count(count: &Precision<usize>) -> Option<f64> {
    count.get_value().map(|count| *count as f64)
}

impl<'a> NodeEstimate<'a> {
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
        let passing = match (SluiceOptions::from_options(options).selectivity.get(), filter) {
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

    fn senders(&self) -> u32 {
        let partitions = self.input.output_partitioning().partition_count();
        u32::try_from(partitions).unwrap_or(u32::MAX).max(1)
    }

    /// Returns the crossing of an operator with one input, or of the build side of a join.
    fn crossing(&mut self) -> Crossing {
        let plan = self.plan;
        let PruningEstimate { unpruned, reduced, reduces } = plan.algorithm.expected(self);
        let schema = self.input.schema();
        Crossing {
            name: if self.node.side() == Side::Build { "build side" } else { "rows" },
            rows: self.rows,
            packet_bytes: (self.plan.packet_bytes() as u64 + FRAMING_BYTES) as f64,
            unpruned: unpruned.clamp(0.0, 1.0),
            late_bytes: bytes(&schema, self.node.late_columns().columns().iter().copied()) as f64,
            reduced,
            row_bytes: bytes(&schema, 0..schema.fields().len()) as f64,
            reduces,
        }
    }

    /// Returns the crossing of a join's probing side, given the build side whose keys are in the filter.
    fn probing(&mut self, crossing: Crossing, build: &Crossing) -> Crossing {
        let keys = build.rows.round() as u64;
        let false_positives = self.plan.algorithm.false_positives(keys);
        let before = self.assumed.len();
        let probed = self.keys();
        let matching = match self.assumed.len() == before {
            true if probed > 0.0 => (build.rows / probed).min(1.0),
            true => 1.0,
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

    fn into_switched(self, crossing: Crossing) -> SwitchEstimate {
        let mut crossings = vec![crossing];
        if self.plan.algorithm.rereads() {
            // The rows of candidates, which the workers send once the candidates are known.
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
        let workers = self.senders();
        SwitchEstimate {
            subject: format!(
                "{} on {}",
                self.plan.algorithm.entry().sql,
                self.plan.fields_in_words()
            ),
            demand: SwitchDemand { workers, crossings },
            assumed: self.assumed,
            program: self.plan.program,
        }
    }
}

impl RowStatistics for NodeEstimate<'_> {
    fn rows(&self) -> f64 {
        self.rows
    }

    fn workers(&self) -> f64 {
        self.senders().into()
    }

    /// Returns the number of distinct values of the packet's key.
    fn keys(&mut self) -> f64 {
        let columns = self.plan.fields.first().map(|field| field.expressions()).unwrap_or_default();
        let of = |column: &Arc<dyn PhysicalExpr>| {
            let index = column.downcast_ref::<Column>()?.index();
            let known = &self.statistics.column_statistics.get(index)?;
            // NULL counts as a key.
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

    fn passing(&mut self) -> f64 {
        self.passing.unwrap_or_else(|| self.assume("pass the filter"))
    }

    fn assume(&mut self, what: &str) -> f64 {
        let share = self.share;
        self.assumed.push(format!("{} % of the rows {what}", 100.0 * share));
        share
    }

    fn note(&mut self, what: &str) {
        self.assumed.push(what.to_owned());
    }
}

/// Returns the bytes of a row's values in some columns.
fn bytes(schema: &Schema, columns: impl Iterator<Item = usize>) -> usize {
    let width = |of_type: &DataType| of_type.primitive_width().unwrap_or(ASSUMED_TEXT_BYTES);
    columns.filter_map(|at| schema.fields().get(at)).map(|field| width(field.data_type())).sum()
}
