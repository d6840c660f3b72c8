//! Plans scans that fetch, and that may turn to Select if the link is slower than expected.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use sluicegate_costmodel::{BytesPerSecond, ScanDemand};

use super::choose::Plan;
use crate::context::choice::Journal;
use crate::context::config::{GroupBy, Join, Scan, SluiceOptions, TopK};
use crate::scan::adaptive::{AdaptiveInputs, AdaptiveSource, SelectAlternative};
use crate::scan::s3_scan::{S3Scan, as_adaptive_scan};
use crate::scan::s3_select::S3SelectSource;
use crate::store::endpoint::Endpoint;

/// Returns the plan with a scan that may turn to Select, if that is possible, the session forces nothing, and Select
/// would be better on a slow link. The plan stays as it is if all files are opened at once, because open files are
/// read to their end.
pub(super) fn keep_open(
    fetched: Plan,
    source: &S3SelectSource,
    demand: &ScanDemand,
    endpoint: &Endpoint,
    options: &ConfigOptions,
) -> Result<Plan> {
    let partitions = options.execution.target_partitions as u64;
    if !decides(options) || demand.get_requests.0 <= partitions {
        return Ok(fetched);
    }
    let stakes = AdaptiveInputs::new(*demand, endpoint, options);
    if !stakes.prefer_select(slow(stakes.link()), 1.0) {
        return Ok(fetched);
    }
    fetched
        .transform_up(|node| {
            let config = node
                .downcast_ref::<DataSourceExec>()
                .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
            let Some(config) = config else { return Ok(Transformed::no(node)) };
            let instead = SelectAlternative {
                filters: source.filters().iter().map(|it| Arc::clone(&it.here)).collect(),
                split: source.split(),
                batch_size: source.batch_size(),
            };
            Ok(match AdaptiveSource::replace(config, endpoint, instead) {
                Ok(turning) => Transformed::yes(S3Scan::node(turning) as Plan),
                Err(_) => Transformed::no(node),
            })
        })
        .data()
}

/// Returns true if the session forces no strategy for scans and the operators above them.
fn decides(options: &ConfigOptions) -> bool {
    let SluiceOptions { scan, join, top_k, group_by, .. } = SluiceOptions::from_options(options);
    matches!((scan, join, top_k, group_by), (Scan::Auto, Join::Auto, TopK::Auto, GroupBy::Auto))
}

/// Returns the throughput of an extremely slow link.
fn slow(link: BytesPerSecond) -> BytesPerSecond {
    link * 0.001
}

/// Returns EXPLAIN's note on a plan that may turn to Select.
pub(super) fn note(plan: &Plan, endpoint: &Endpoint, options: &ConfigOptions) -> Option<String> {
    let turns = || plan.exists(|node| Ok(as_adaptive_scan(node.as_ref()).is_some()));
    (Journal::explains(options) && turns().unwrap_or(false)).then(|| {
        let link = endpoint.hardware.link.bytes_per_second;
        format!(
            "begins with GET, and may turn to select at run time if the link gives clearly less \
             than {link}"
        )
    })
}
