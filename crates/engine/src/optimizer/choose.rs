//! Each scan goes the way that the cost model predicts to be better.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use sluicegate_costmodel::{Choice, ScanStrategy};

use crate::config::{Scan, SluiceOptions};
use crate::datasource::s3_select::as_select_scan;
use crate::endpoint::Endpoint;
use crate::physical_plan::s3_aggregate::{S3AggregateExec, replace_scan};
use crate::profile::{aggregate_demand, choose, get_demand, scan_demand};

/// Turns Select scans, and aggregates in the store, back into GET scans where `sluice.scan` is
/// `auto` and the cost model predicts that they are slower or dearer.
#[derive(Debug)]
pub struct ChooseScan;

impl PhysicalOptimizerRule for ChooseScan {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if SluiceOptions::of(options).scan != Scan::Auto {
            return Ok(plan);
        }
        plan.transform_down(|node| {
            let Some(choice) = choice(&node, options)? else { return Ok(Transformed::no(node)) };
            if choice.chosen.strategy == ScanStrategy::Select {
                return Ok(Transformed::no(node));
            }
            let replaced = back_to_get(&node, options)?;
            Ok(Transformed::new(replaced, true, TreeNodeRecursion::Jump))
        })
        .data()
    }

    fn name(&self) -> &str {
        "choose_scan"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The alternatives for a node, if it is one that the store may run.
fn choice(
    node: &Arc<dyn ExecutionPlan>,
    options: &ConfigOptions,
) -> Result<Option<Choice<ScanStrategy>>> {
    if let Some(exec) = node.downcast_ref::<S3AggregateExec>() {
        let demand = aggregate_demand(exec)?;
        return Ok(Some(choose(&demand, exec.source()?.endpoint(), options)));
    }
    Ok(as_select_scan(node.as_ref()).map(|(config, source)| {
        choose(&scan_demand(config, source, options), source.endpoint(), options)
    }))
}

fn back_to_get(
    node: &Arc<dyn ExecutionPlan>,
    options: &ConfigOptions,
) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(exec) = node.downcast_ref::<S3AggregateExec>() {
        let scan = bottom(exec.partial().input());
        let scan = back_to_get(&scan, options)?;
        return replace_scan(exec.partial(), scan);
    }
    let Some((config, source)) = as_select_scan(node.as_ref()) else {
        return Ok(Arc::clone(node));
    };
    source.get().plan(config, &source.exact_filters(), source.output(), options)
}

fn bottom(node: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    match node.children().first() {
        Some(child) => bottom(child),
        None => Arc::clone(node),
    }
}

/// A scan of a bucket, and how it may be run.
#[derive(Debug, Clone)]
pub struct ScanChoice {
    /// The statement that would be sent, once per request; `None` if it can only be a GET.
    pub sql: Option<String>,
    /// The alternatives with their predicted numbers.
    pub choice: Choice<ScanStrategy>,
}

/// The alternatives for every scan of a bucket in a plan that sends all it can.
///
/// # Errors
///
/// Never, for plans that our rules made.
pub fn describe_choices(
    plan: &Arc<dyn ExecutionPlan>,
    endpoint: &Endpoint,
    options: &ConfigOptions,
) -> Result<Vec<ScanChoice>> {
    let mut found = Vec::new();
    plan.apply(|node| {
        if let Some(choice) = choice(node, options)? {
            let sql = match node.downcast_ref::<S3AggregateExec>() {
                Some(exec) => Some(exec.statement().sql()),
                None => as_select_scan(node.as_ref())
                    .and_then(|(config, source)| Some(source.statement(config.limit)?.sql())),
            };
            found.push(ScanChoice { sql, choice });
        } else if let Some(demand) = node
            .downcast_ref::<DataSourceExec>()
            .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>())
            .and_then(get_demand)
        {
            found.push(ScanChoice { sql: None, choice: choose(&demand, endpoint, options) });
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}
