//! What a query would do, before it does it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use datafusion::physical_plan::{ExecutionPlan, displayable};
use sluicegate_client::KnownRefusal;
use sluicegate_costmodel::{Dollars, ScanStrategy, Work};

use crate::config::{Scan, SluiceOptions};
use crate::optimizer::{ScanChoice, describe_choices};
use crate::{Engine, Result};

/// A plan, what it would send, and what that is predicted to take.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The plan that would run.
    pub plan: Arc<dyn ExecutionPlan>,
    /// Every scan of a bucket, with its alternatives.
    pub scans: Vec<ScanChoice>,
    /// The session's way of scanning.
    pub scan: Scan,
    /// What the store refused before, so that it is not in the plan.
    pub refusals: Vec<KnownRefusal>,
}

/// Predicted work of a query's scans.
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate {
    /// Requests and bytes, modelled.
    pub work: Work,
    /// Dollars, modelled.
    pub cost: Dollars,
    /// Seconds if the scans ran one after the other, modelled.
    pub time: Duration,
}

impl Explanation {
    /// The predicted work of the scans, each the way it would go.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        let mut total = Estimate::default();
        for scan in &self.scans {
            let wanted = match self.scan {
                Scan::Auto => scan.choice.chosen.strategy,
                Scan::Get => ScanStrategy::Get,
                Scan::Select => ScanStrategy::Select,
            };
            let found = scan.choice.alternatives().find(|way| way.strategy == wanted);
            let way = found.unwrap_or(&scan.choice.chosen);
            total.work += way.work;
            total.cost += way.cost.total();
            total.time += way.time.total();
        }
        total
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", displayable(self.plan.as_ref()).indent(false))?;
        for (index, scan) in self.scans.iter().enumerate() {
            let sql = scan.sql.as_deref().unwrap_or("no statement: the objects are read");
            writeln!(f, "scan {}: {sql}", index + 1)?;
            for way in scan.choice.alternatives() {
                let chosen = match self.scan {
                    Scan::Auto => way.strategy == scan.choice.chosen.strategy,
                    Scan::Get => way.strategy == ScanStrategy::Get,
                    Scan::Select => way.strategy == ScanStrategy::Select,
                };
                writeln!(
                    f,
                    "  {} {:<6} {} requests, {} scanned, {} over the link, {:.3} s, {} ({})",
                    if chosen { "*" } else { " " },
                    way.strategy,
                    way.work.requests.total(),
                    way.work.scanned,
                    way.work.link,
                    way.time.total().as_secs_f64(),
                    way.cost.total(),
                    way.provenance,
                )?;
            }
        }
        for refusal in &self.refusals {
            writeln!(f, "refused before, and not sent any more: {refusal}")?;
        }
        Ok(())
    }
}

pub(crate) async fn explain(engine: &Engine, sql: &str) -> Result<Explanation> {
    let state = engine.context().state();
    let logical = state.create_logical_plan(sql).await?;
    let plan = state.create_physical_plan(&logical).await?;
    let scan = SluiceOptions::of(state.config_options()).scan;
    // The alternatives are those of the plan that sends all it can.
    let mut all = state.clone();
    if let Some(options) = all.config_mut().options_mut().extensions.get_mut::<SluiceOptions>() {
        options.scan = Scan::Select;
    }
    let pushed = all.create_physical_plan(&logical).await?;
    let scans = describe_choices(&pushed, all.config_options())?;
    let endpoints = engine.endpoints().all();
    let refusals = endpoints.iter().flat_map(|endpoint| endpoint.client.refusals()).collect();
    Ok(Explanation { plan, scans, scan, refusals })
}
