//! Nodes that read objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::physical_plan::ExecutionPlan;

use super::RequestStats;
use crate::context::counters::RequestKind;
use crate::context::timeline::RequestLog;
use crate::operators::s3_aggregate::S3AggregateExec;
use crate::operators::s3_group_by::S3GroupByExec;
use crate::operators::top_k_sample::TopKSampleExec;
use crate::scan::s3_scan::as_scan;
use crate::scan::subject::subject;

/// The objects that a node reads.
pub(crate) struct ScanNode {
    /// A description of the objects.
    pub(crate) subject: String,
    /// True if the objects are not local files.
    pub(crate) is_remote: bool,
    /// The number of plan nodes that form this scan.
    pub(crate) nodes: usize,
    /// The URLs of the objects: `s3://bucket/t/a.csv`.
    pub(crate) objects: Vec<String>,
}

impl ScanNode {
    /// Returns the objects that a node reads, or `None` if it reads no files.
    pub(crate) fn from_plan(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        if plan.is::<TopKSampleExec>() {
            let scan = plan.children().into_iter().next()?;
            return Some(Self { nodes: 2, ..Self::from_plan(scan)? });
        }
        let config = config(plan)?;
        let is_remote = !config.object_store_url.as_str().starts_with("file:");
        let store = config.object_store_url.as_str();
        let files = config.file_groups.iter().flat_map(|group| group.files());
        let mut objects: Vec<_> =
            files.map(|file| format!("{store}{}", file.object_meta.location)).collect();
        objects.sort_unstable();
        objects.dedup();
        Some(Self { subject: subject(config), is_remote, nodes: 1, objects })
    }
}

/// Returns the scan configuration of a node that reads files, or `None` for other nodes.
pub(crate) fn config(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    if let Some(aggregate) = plan.downcast_ref::<S3AggregateExec>() {
        return Some(aggregate.config());
    }
    if let Some(groups) = plan.downcast_ref::<S3GroupByExec>() {
        return Some(groups.config());
    }
    as_scan(plan.as_ref())
}

/// The readers of each object: operators, by index.
#[derive(Default)]
pub(crate) struct Objects {
    readers: BTreeMap<String, Vec<usize>>,
}

impl Objects {
    pub(crate) fn add(&mut self, operator: usize, objects: Vec<String>) {
        for object in objects {
            self.readers.entry(object).or_default().push(operator);
        }
    }

    /// Returns the requests of each operator while the plan ran. Operators that read the same object share its
    /// requests evenly.
    pub(crate) fn request_stats(&self, recorded: &RequestLog) -> BTreeMap<usize, RequestStats> {
        let mut asked: BTreeMap<usize, RequestStats> = BTreeMap::new();
        for operator in self.readers.values().flatten() {
            asked.entry(*operator).or_default();
        }
        let began = recorded.planned.unwrap_or_default();
        let gets = recorded.requests.iter().filter(|it| it.kind == RequestKind::Get);
        for request in gets.filter(|it| it.start >= began) {
            let Some(readers) = self.readers.get(&request.object) else { continue };
            let many = readers.len() as u64;
            for (number, operator) in readers.iter().enumerate() {
                let share = |all: u64| all / many + u64::from((number as u64) < all % many);
                let asked = asked.entry(*operator).or_default();
                asked.gets += share(request.requests);
                asked.link += share(request.bytes);
            }
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::context::timeline::TimedRequest;

    #[test]
    fn requests_are_told_apart_by_their_objects() {
        let mut objects = Objects::default();
        objects.add(0, vec!["a".to_owned(), "b".to_owned()]);
        objects.add(3, vec!["b".to_owned()]);
        objects.add(5, vec!["d".to_owned()]);
        let get = |object: &str, start, bytes| TimedRequest {
            kind: RequestKind::Get,
            object: object.to_owned(),
            start: Duration::from_secs(start),
            took: Duration::ZERO,
            bytes,
            requests: 1,
        };
        let recorded = RequestLog {
            requests: vec![get("a", 0, 1000), get("a", 2, 10), get("b", 3, 7), get("c", 3, 1)],
            planned: Some(Duration::from_secs(1)),
            ..RequestLog::default()
        };
        let asked = objects.request_stats(&recorded);
        let of = |operator| asked.get(&operator).map(|it: &RequestStats| (it.gets, it.link));
        assert_eq!([0, 3, 5].map(of), [Some((2, 14)), Some((0, 3)), Some((0, 0))]);
    }
}
