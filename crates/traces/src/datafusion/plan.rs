//! Converts operators of DataFusion to those of a plan.

use sluicegate_costmodel::storage::OperatorKind;

use super::metrics::Metrics;
use crate::plan::{Input, Operator, Work};

/// The deepest plan that is read, the same as for JSON.
pub(super) const MOST_DEPTH: usize = 300;
/// The most partitions; greater numbers are ignored, as no machine has so many cores.
const MOST_PARTITIONS: f64 = 65_536.0;

/// Operators that pass rows on unchanged.
const HANDS_ON: [&str; 6] = [
    "CoalesceBatchesExec",
    "CoalescePartitionsExec",
    "CooperativeExec",
    "OutputRequirementExec",
    "RepartitionExec",
    "SortPreservingMergeExec",
];
/// Joins that read their first input before the second.
const BUILD: [&str; 4] =
    ["HashJoinExec", "NestedLoopJoinExec", "CrossJoinExec", "PiecewiseMergeJoinExec"];

/// An operator as printed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// The name, such as `FilterExec`.
    name: String,
    /// The line without metrics, such as `FilterExec: x@0 < 3`.
    details: String,
    metrics: Metrics,
    pub(super) inputs: Vec<Node>,
}

impl Node {
    pub(super) fn new(details: &str, metrics: Metrics) -> Self {
        let name = details.split([':', ',', ' ', '(']).next().unwrap_or_default();
        Self { name: name.to_owned(), details: details.to_owned(), metrics, inputs: Vec::new() }
    }

    /// Returns whether the operator reads a table. Scans of data in memory have no file metrics and do not count.
    fn scans(&self) -> bool {
        let of_files = ["bytes_scanned", "time_elapsed_processing", "time_elapsed_scanning_total"];
        self.inputs.is_empty() && of_files.iter().any(|name| self.metrics.get(name).is_some())
    }

    fn work(&self) -> Work {
        match self.name.as_str() {
            _ if self.scans() => Work::Scan,
            "FilterExec" | "ProjectionExec" => Work::FilterProject,
            name if HANDS_ON.contains(&name) => Work::HandsOn,
            _ => Work::Other,
        }
    }

    /// Returns its kind in counts, as those of this project's own plans.
    fn kind(&self) -> Option<OperatorKind> {
        Some(match self.name.as_str() {
            _ if self.scans() => OperatorKind::Scan,
            "CoalesceBatchesExec" | "CooperativeExec" | "OutputRequirementExec" => return None,
            name if HANDS_ON.contains(&name) => OperatorKind::Exchange,
            "FilterExec" => OperatorKind::Filter,
            "ProjectionExec" => OperatorKind::Project,
            "AggregateExec" => OperatorKind::Aggregate,
            "SortExec" | "PartialSortExec" => OperatorKind::Sort,
            "BoundedWindowAggExec" | "WindowAggExec" => OperatorKind::Window,
            "UnionExec" | "InterleaveExec" => OperatorKind::Union,
            "GlobalLimitExec" | "LocalLimitExec" => OperatorKind::Limit,
            name if name.ends_with("JoinExec") => OperatorKind::Join,
            _ => OperatorKind::Other,
        })
    }

    /// Returns the seconds that threads spent in the operator.
    fn seconds(&self) -> f64 {
        let of = |name: &str| self.metrics.get(name).unwrap_or_default();
        if self.scans() {
            return of("elapsed_compute").max(of("time_elapsed_processing"));
        }
        of("elapsed_compute") + of("repartition_time")
    }

    fn gathers(&self) -> bool {
        match self.name.as_str() {
            "AggregateExec" => {
                self.details.contains("gby=[],") || !self.details.contains(", ordering_mode=")
            }
            "SortExec" | "WindowAggExec" => true,
            _ => false,
        }
    }

    fn wants_first(&self, input: usize) -> bool {
        match self.name.as_str() {
            "ScalarSubqueryExec" => input > 0,
            name => input == 0 && BUILD.contains(&name),
        }
    }

    /// Returns the operator's title in the name of a stage, such as `AggregateExec Partial`, or the files of a scan.
    fn title(&self) -> String {
        let of = |key: &str, end: &[char]| {
            let (_, rest) = self.details.split_once(key)?;
            rest.split(end).next().filter(|it| !it.is_empty())
        };
        match self.work() {
            Work::Scan => of("[[", &[',', ']', ':']).unwrap_or(&self.name).to_owned(),
            _ => match of("mode=", &[',']) {
                Some(mode) if self.name == "AggregateExec" => format!("{} {mode}", self.name),
                _ => self.name.clone(),
            },
        }
    }
}

/// Converts the plan to operators.
pub(super) fn operator(node: Node) -> Operator {
    let (work, seconds, gathers, title) =
        (node.work(), node.seconds(), node.gathers(), node.title());
    let kind = node.kind();
    let is_minor = work == Work::HandsOn || node.name == "ProjectionExec";
    let first: Vec<_> = (0..node.inputs.len()).map(|place| node.wants_first(place)).collect();
    let of = |name: &str| node.metrics.get(name).unwrap_or_default();
    let (read_bytes, result_bytes) = (of("bytes_scanned"), of("output_bytes"));
    let inputs = node.inputs.into_iter().zip(first).map(|(input, first)| {
        let input = operator(input);
        if first { Input::first(input) } else { Input::streamed(input) }
    });
    Operator {
        title,
        is_minor,
        work,
        kind,
        seconds,
        read_bytes,
        result_bytes,
        gathers,
        inputs: inputs.collect(),
        takes: None,
    }
}

/// Counts the scans without a thread time.
pub(super) fn scans_without_time(node: &Node) -> usize {
    let own = usize::from(node.scans() && node.seconds() <= 0.0);
    own + node.inputs.iter().map(scans_without_time).sum::<usize>()
}

/// Returns the most partitions that an operator lists. By default, DataFusion makes as many as there are cores.
pub(super) fn partitions(node: &Node) -> Option<f64> {
    let number = |key: &str| {
        let (_, rest) = node.details.split_once(key)?;
        leading(rest)
    };
    let repartitioned = || {
        let (_, rest) = node.details.split_once("partitioning=")?;
        let (partitioning, _) = rest.split_once(", input_partitions=")?;
        let last = partitioning.trim_end_matches(')').rsplit([' ', '(']).next()?;
        leading(last)
    };
    let own = match node.name.as_str() {
        "RepartitionExec" => number(", input_partitions=").into_iter().chain(repartitioned()).max(),
        "DataSourceExec" => number("file_groups={"),
        _ => None,
    };
    let own = own.map(f64::from).filter(|it| (1.0..=MOST_PARTITIONS).contains(it));
    let below = node.inputs.iter().filter_map(partitions);
    own.into_iter().chain(below).reduce(f64::max)
}

fn leading(text: &str) -> Option<u32> {
    let end = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}
