//! Divides the leaves of a plan among several machines.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::{DataSource, DataSourceExec};
use datafusion::physical_plan::ExecutionPlan;

use crate::operators::StagedWriteExec;
use crate::operators::s3_aggregate::S3AggregateExec;
use crate::operators::s3_group_by::S3GroupByExec;
use crate::operators::switch_drain::SwitchDrainExec;
use crate::operators::switch_exec::SwitchExec;
use crate::operators::switch_prune::SwitchPruneExec;
use crate::operators::top_k_sample::TopKSampleExec;
use crate::scan::s3_scan::{S3Scan, as_scan, as_select_scan};
use crate::store::version_pinned_store::Versions;

/// The minimum size in bytes of a part of a file that a machine reads, unless
/// `datafusion.optimizer.repartition_file_min_size` is less.
const LEAST_BYTES: usize = 1 << 20;

/// Returns the size in bytes of the files that a leaf reads, as listed; `None` if it reads no files.
#[must_use]
pub fn bytes(leaf: &dyn ExecutionPlan) -> Option<u64> {
    let files = files_of(leaf)?.file_groups.iter().flat_map(FileGroup::iter);
    Some(files.map(PartitionedFile::effective_size).sum())
}

/// Divides a leaf that reads files into `parts` leaves, each of which reads some of the files or ranges. All have the
/// same number of partitions, some of which may be empty. If there are enough files or ranges, each has at least
/// `partitions` and as many as the leaf, so that a machine reads as much at a time as a single one would. `None` if
/// the leaf reads no files, or if its output partitioning is fixed.
///
/// # Errors
///
/// If the source does not accept the parts.
pub fn divide(
    leaf: &Arc<dyn ExecutionPlan>,
    parts: usize,
    partitions: usize,
    options: &ConfigOptions,
) -> Result<Option<Vec<Arc<dyn ExecutionPlan>>>> {
    let Some(config) = files_of(leaf.as_ref()) else { return Ok(None) };
    if config.output_partitioning.is_some() {
        return Ok(None);
    }
    let each = partitions.max(config.file_groups.len());
    let wanted = parts * each;
    let least = options.optimizer.repartition_file_min_size.min(LEAST_BYTES);
    let ordering = config.output_ordering.first().cloned();
    let ordered = ordering.is_some();
    let split = config.repartitioned(wanted, least, ordering)?;
    let split = split.as_ref().and_then(|it| it.downcast_ref::<FileScanConfig>());
    let mut groups = split.unwrap_or(config).file_groups.clone();
    if groups.len() < wanted && !ordered {
        // A group whose files are read one after the other would be given to a single machine.
        groups = groups.iter().flat_map(FileGroup::iter).cloned().map(one_file).collect();
    }
    let shares = shares(groups, parts, if ordered { usize::MAX } else { each });
    Ok(Some(shares.into_iter().filter_map(|share| with_files(leaf, share)).collect()))
}

fn one_file(file: PartitionedFile) -> FileGroup {
    FileGroup::new(vec![file])
}

/// Distributes groups of files among machines: about the same bytes for each, and the same number of groups. If a
/// machine has more than `most` groups, they are merged.
fn shares(mut groups: Vec<FileGroup>, machines: usize, most: usize) -> Vec<Vec<FileGroup>> {
    let size = |group: &FileGroup| group.iter().map(PartitionedFile::effective_size).sum::<u64>();
    groups.sort_by_key(|group| std::cmp::Reverse(size(group)));
    let mut shares = vec![(0_u64, Vec::new()); machines.max(1)];
    for group in groups {
        let least = shares.iter_mut().min_by_key(|(bytes, groups)| (*bytes, groups.len()));
        if let Some((bytes, groups)) = least {
            // An empty file is some work, too.
            *bytes += size(&group).max(1);
            groups.push(group);
        }
    }
    let shares = shares.into_iter().map(|(_, groups)| merge_groups(groups, most));
    let mut shares: Vec<Vec<FileGroup>> = shares.collect();
    let longest = shares.iter().map(Vec::len).max().unwrap_or(0).max(1);
    for share in &mut shares {
        share.resize_with(longest, FileGroup::default);
    }
    shares
}

/// Merges groups into at most `most` of them, with about the same number of files each.
fn merge_groups(groups: Vec<FileGroup>, most: usize) -> Vec<FileGroup> {
    let most = most.max(1);
    if groups.len() <= most {
        return groups;
    }
    let mut joined = vec![Vec::new(); most];
    for (number, group) in groups.into_iter().enumerate() {
        joined[number % most].extend(group.into_inner());
    }
    joined.into_iter().map(FileGroup::new).collect()
}

/// Notes the versions of the files that a plan scans, as their listings report them.
pub fn note_versions(versions: &Versions, plan: &Arc<dyn ExecutionPlan>) {
    // Nothing in it fails.
    let _ = plan.apply(|node| {
        if let Some(files) = files_of(node.as_ref()) {
            versions.note_files(files);
        }
        Ok(TreeNodeRecursion::Continue)
    });
}

/// Returns the files that a leaf reads.
fn files_of(leaf: &dyn ExecutionPlan) -> Option<&FileScanConfig> {
    if let Some(aggregate) = leaf.downcast_ref::<S3AggregateExec>() {
        return Some(aggregate.config());
    }
    if let Some(group_by) = leaf.downcast_ref::<S3GroupByExec>() {
        return Some(group_by.config());
    }
    as_scan(leaf)
}

/// Replaces the files that a leaf reads.
fn with_files(
    leaf: &Arc<dyn ExecutionPlan>,
    groups: Vec<FileGroup>,
) -> Option<Arc<dyn ExecutionPlan>> {
    let config = FileScanConfigBuilder::from(files_of(leaf.as_ref())?.clone());
    let config = config.with_file_groups(groups).build();
    if let Some(aggregate) = leaf.downcast_ref::<S3AggregateExec>() {
        return Some(Arc::new(aggregate.about(config)));
    }
    if let Some(group_by) = leaf.downcast_ref::<S3GroupByExec>() {
        return Some(Arc::new(group_by.about(config)));
    }
    let ours = leaf.downcast_ref::<DataSourceExec>()?.data_source().is::<S3Scan>();
    Some(if ours { S3Scan::node(config) } else { DataSourceExec::from_data_source(config) })
}

/// Returns whether all rows through a node must pass it in one process, because the node has state.
#[must_use]
pub fn in_one_process(node: &dyn ExecutionPlan) -> bool {
    node.is::<TopKSampleExec>()
        || node.is::<SwitchExec>()
        || node.is::<SwitchPruneExec>()
        || node.is::<SwitchDrainExec>()
        || node.is::<StagedWriteExec>()
}

/// Returns whether a node is a switch.
#[must_use]
pub fn is_switch(node: &dyn ExecutionPlan) -> bool {
    node.is::<SwitchExec>()
}

/// Returns whether a switch drops rows at a node.
#[must_use]
pub fn is_pruned_by_switch(node: &dyn ExecutionPlan) -> bool {
    node.is::<SwitchPruneExec>()
}

/// Returns whether a node needs its input as its direct child.
#[must_use]
pub fn needs_its_scan(node: &dyn ExecutionPlan) -> bool {
    node.is::<TopKSampleExec>()
}

/// Removes filters by keys of joins for which a leaf would wait in vain: those whose identities are not `known`.
/// Returns the leaf and the number of removed filters; `None` if there are none.
#[must_use]
pub fn without_unknown_keys(
    leaf: &Arc<dyn ExecutionPlan>,
    known: &BTreeSet<u64>,
) -> Option<(Arc<dyn ExecutionPlan>, usize)> {
    let source = match leaf.downcast_ref::<S3GroupByExec>() {
        Some(group_by) => group_by.source().ok()?,
        None => as_select_scan(leaf.as_ref())?.1,
    };
    let (kept, dropped) = source.only_arriving(|id| known.contains(&id));
    if dropped == 0 {
        return None;
    }
    let leaf: Arc<dyn ExecutionPlan> = match leaf.downcast_ref::<S3GroupByExec>() {
        Some(group_by) => Arc::new(group_by.with_source(Arc::new(kept))),
        None => {
            let config = FileScanConfigBuilder::from(files_of(leaf.as_ref())?.clone());
            S3Scan::node(config.with_source(Arc::new(kept)).build())
        }
    };
    Some((leaf, dropped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn groups(sizes: &[Vec<u64>]) -> Vec<FileGroup> {
        let file = |(number, size): (usize, &u64)| PartitionedFile::new(format!("{number}"), *size);
        sizes.iter().map(|it| FileGroup::new(it.iter().enumerate().map(file).collect())).collect()
    }

    proptest! {
        #[test]
        fn shares_are_all_files_and_alike(
            sizes in proptest::collection::vec(proptest::collection::vec(0_u64..1_000, 0..4), 0..30),
            machines in 1_usize..9, most in 1_usize..9,
        ) {
            let files = sizes.iter().flatten();
            let (count, bytes) = (files.clone().count(), files.sum::<u64>());
            let greatest = sizes.iter().map(|it| it.iter().sum::<u64>()).max().unwrap_or(0);
            let shares = shares(groups(&sizes), machines, most);
            prop_assert_eq!(shares.len(), machines);
            let all = || shares.iter().flatten().flat_map(FileGroup::iter);
            prop_assert_eq!(all().count(), count);
            prop_assert_eq!(all().map(PartitionedFile::effective_size).sum::<u64>(), bytes);
            for share in &shares {
                prop_assert_eq!(share.len(), shares[0].len());
                prop_assert!(share.len() <= most);
                let here = share.iter().flat_map(FileGroup::iter);
                let here: u64 = here.map(PartitionedFile::effective_size).sum();
                // No machine has more than its share and one group.
                let fair = bytes / machines as u64 + greatest + sizes.len() as u64 + 1;
                prop_assert!(here <= fair, "{} of {}", here, bytes);
            }
        }
    }
}
