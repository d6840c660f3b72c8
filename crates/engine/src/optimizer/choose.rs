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
use crate::datasource::s3_scan::as_select_scan;
use crate::endpoints::{Endpoints, resolve};
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
        let endpoint = resolve(options, exec.source()?.endpoint_name())?;
        return Ok(Some(choose(&aggregate_demand(exec)?, &endpoint, options)));
    }
    let Some((config, source)) = as_select_scan(node.as_ref()) else { return Ok(None) };
    let endpoint = resolve(options, source.endpoint_name())?;
    Ok(Some(choose(&scan_demand(config, source, options), &endpoint, options)))
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
        } else if let Some(config) = node
            .downcast_ref::<DataSourceExec>()
            .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>())
            && let Some(endpoints) = Endpoints::of(options)
            && let Some(endpoint) = endpoints.serving(&config.object_store_url)
        {
            let choice = choose(&get_demand(config), &endpoint, options);
            found.push(ScanChoice { sql: None, choice });
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}
