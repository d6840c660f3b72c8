//! Divides the files of a scan among statements.

use datafusion::common::config::ConfigOptions;
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::{FileGroup, FileGroupPartitioner};

use crate::context::config::{Partitions, SluiceOptions};

/// The division of the files of a scan among statements. The store does the work and the client mostly waits for it,
/// so there may be more partitions than cores: their waits for first bytes overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// The least bytes of a part of a file.
    pub range_bytes: usize,
    /// The minimum number of partitions, if there are enough parts.
    pub partitions: usize,
}

impl Split {
    /// Returns the division that the session's options request.
    #[must_use]
    pub fn from_options(options: &ConfigOptions) -> Self {
        let SluiceOptions { range_bytes, select_partitions, .. } =
            SluiceOptions::from_options(options);
        Self { range_bytes, partitions: select_partitions.get() }
    }

    /// Divides files into at least `partitions` groups; into fewer if there are not enough files or parts of
    /// sufficient length. Returns `None` if the files are already in as many groups as there would be parts.
    pub(super) fn groups(
        self,
        groups: &[FileGroup],
        partitions: usize,
        in_parts: bool,
    ) -> Option<Vec<FileGroup>> {
        let wanted = partitions.max(self.partitions).clamp(1, Partitions::MOST);
        let files = || groups.iter().flat_map(FileGroup::iter);
        let total: u64 = files().map(PartitionedFile::effective_size).sum();
        let share = (total / wanted as u64).max(1);
        let least = self.range_bytes.max(1) as u64;
        let parts_of = |size: u64| match in_parts {
            true => (size.saturating_add(share / 2) / share).min(size / least).max(1),
            false => 1,
        };
        let parts: Vec<PartitionedFile> =
            files().flat_map(|file| split(file, parts_of(file.effective_size()))).collect();
        if parts.len() <= groups.len() {
            return None;
        }
        // The parts keep their order. The middle of a part determines its group.
        let mut split = vec![Vec::new(); wanted.min(parts.len())];
        let (last, mut before) = (split.len() - 1, 0_u64);
        for part in parts {
            let size = part.effective_size();
            let middle = (before + size / 2) as f64 / total.max(1) as f64;
            let group = ((middle * split.len() as f64) as usize).min(last);
            before += size;
            split[group].push(part);
        }
        Some(split.into_iter().filter(|files| !files.is_empty()).map(FileGroup::new).collect())
    }

    /// Like [`Self::groups`], but keeps the order within each group.
    pub(super) fn groups_in_order(
        self,
        groups: &[FileGroup],
        partitions: usize,
    ) -> Option<Vec<FileGroup>> {
        FileGroupPartitioner::new()
            .with_target_partitions(partitions)
            .with_repartition_file_min_size(self.range_bytes)
            .with_preserve_order_within_groups(true)
            .repartition_file_groups(groups)
    }
}

/// Divides a file, or its range, into so many parts of about the same size.
fn split(file: &PartitionedFile, parts: u64) -> Vec<PartitionedFile> {
    if parts == 1 {
        return vec![file.clone()];
    }
    let start = file.range.as_ref().map_or(0, |range| range.start);
    let size = file.effective_size();
    let at = |part: u64| start + (u128::from(size) * u128::from(part) / u128::from(parts)) as i64;
    let part = |part| {
        let mut file = file.clone();
        file.range = Some(FileRange { start: at(part), end: at(part + 1) });
        file
    };
    (0..parts).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SPLIT: Split = Split { range_bytes: 10, partitions: 4 };

    fn file(number: usize, size: u64) -> PartitionedFile {
        PartitionedFile::new(format!("{number}.csv"), size)
    }

    /// Checks the sizes of the parts in each group.
    #[track_caller]
    fn check(sizes: &[u64], partitions: usize, in_parts: bool, expected: &[&[u64]]) {
        let files = sizes.iter().enumerate().map(|(number, size)| file(number, *size));
        let groups = [FileGroup::new(files.collect())];
        let split = SPLIT.groups(&groups, partitions, in_parts);
        let sizes = |group: &FileGroup| group.iter().map(PartitionedFile::effective_size).collect();
        let sizes: Vec<Vec<u64>> = split.unwrap_or_default().iter().map(sizes).collect();
        assert_eq!(sizes, expected);
    }

    #[test]
    fn a_partition_has_a_part_that_is_long_enough() {
        check(&[80], 1, true, &[&[20], &[20], &[20], &[20]]);
        check(&[80], 8, true, &[&[10_u64] as &[u64]; 8]);
        check(&[25], 8, true, &[&[12], &[13]]);
        // The sizes are nearly the same: no file is cut to balance a few bytes.
        check(&[41, 40], 2, true, &[&[20], &[21], &[20], &[20]]);
        // Small files stay whole, but are read concurrently.
        check(&[1, 1, 1], 2, true, &[&[1], &[1], &[1]]);
        check(&[1; 8], 2, true, &[&[1, 1], &[1, 1], &[1, 1], &[1, 1]]);
        check(&[80, 80], 2, false, &[&[80], &[80]]);
    }

    #[test]
    fn nothing_changes_that_cannot_be_split() {
        check(&[], 2, true, &[]);
        check(&[9], 2, true, &[]);
        check(&[80], 2, false, &[]);
        check(&[0], 2, true, &[]);
        check(&[0, 0], 2, true, &[&[0, 0]]);
    }

    proptest! {
        /// Every byte of every file is in one part, in order.
        #[test]
        fn parts_are_all_there_is(
            sizes in proptest::collection::vec(0u64..10_000, 0..20), range_bytes in 0usize..2_000,
            partitions in 0usize..20, more in 0usize..20, in_parts in any::<bool>(),
        ) {
            let files = sizes.iter().enumerate().map(|(number, size)| file(number, *size));
            let groups = [FileGroup::new(files.collect())];
            let split = Split { range_bytes, partitions }.groups(&groups, more, in_parts);
            let Some(split) = split else { return Ok(()) };
            prop_assert!(split.len() <= partitions.max(more).max(1));
            let mut parts = split.iter().flat_map(FileGroup::iter);
            for (number, size) in sizes.iter().enumerate() {
                let mut end = 0;
                loop {
                    let part = parts.next().unwrap();
                    prop_assert_eq!(&part.object_meta.location, &file(number, 0).object_meta.location);
                    let range = part.range.clone();
                    let range = range.unwrap_or(FileRange { start: 0, end: *size as i64 });
                    prop_assert_eq!(range.start, end);
                    prop_assert!(part.range.is_none() || range.end - range.start >= range_bytes as i64);
                    end = range.end;
                    if end == *size as i64 { break }
                }
            }
            prop_assert!(parts.next().is_none());
        }
    }
}
