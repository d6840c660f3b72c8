//! Chooses the parts of a table that make up a sample.

use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::FileScanConfig;
use sluicegate_pruning::rng::Rng;

use super::Sampling;

/// The maximum number of parts of one sample, each of which takes one request or more.
const MOST_PARTS: usize = 16;
/// Estimated least number of rows in a part, because a request is not worth fewer.
const ROWS_PER_PART: usize = 8;

/// The parts of a sample.
#[derive(Debug, Clone)]
pub struct Pieces {
    /// Files or ranges of files. They do not overlap unless the scan reads bytes twice.
    pub files: Vec<PartitionedFile>,
    /// The maximum number of rows to take of each part; `None` means all.
    pub limit: Option<usize>,
}

impl Pieces {
    /// Chooses the parts of a scan's files to sample: byte ranges at random places, one in each of up to 16 stretches
    /// of equal length. If files can only be read from their start (`ranges = false`), the parts are the first rows
    /// of random files.
    #[must_use]
    pub fn choose(config: &FileScanConfig, ranges: bool, sampling: &Sampling) -> Self {
        let mut rng = Rng::new(sampling.seed);
        let files = segments(config);
        let parts = (sampling.rows / ROWS_PER_PART).clamp(1, MOST_PARTS);
        if ranges {
            Self { files: random_ranges(&files, parts, sampling, &mut rng), limit: None }
        } else {
            let parts = parts.min(files.len());
            let limit = Some(sampling.rows.div_ceil(parts.max(1)));
            Self { files: random_files(&files, parts, &mut rng), limit }
        }
    }
}

/// Returns the files or ranges that the scan reads, independent of how they are split among partitions.
fn segments(config: &FileScanConfig) -> Vec<PartitionedFile> {
    let files = config.file_groups.iter().flat_map(|group| group.files());
    let mut files: Vec<_> = files.filter(|file| file.effective_size() > 0).cloned().collect();
    files.sort_by(|a, b| {
        (&a.object_meta.location, a.range()).cmp(&(&b.object_meta.location, b.range()))
    });
    let mut merged: Vec<PartitionedFile> = Vec::with_capacity(files.len());
    for file in files {
        if let Some(last) = merged.last_mut()
            && last.object_meta.location == file.object_meta.location
            && last.range().1 == file.range().0
        {
            *last = part(last, last.range().0, file.range().1);
        } else {
            merged.push(file);
        }
    }
    merged
}

/// Returns the bytes `start .. end` of a file.
fn part(file: &PartitionedFile, start: u64, end: u64) -> PartitionedFile {
    let whole = start == 0 && end == file.object_meta.size;
    let mut part = file.clone();
    part.range = None;
    match (whole, i64::try_from(start), i64::try_from(end)) {
        (false, Ok(start), Ok(end)) => part.with_range(start, end),
        _ => part,
    }
}

fn random_ranges(
    files: &[PartitionedFile],
    parts: usize,
    sampling: &Sampling,
    rng: &mut Rng,
) -> Vec<PartitionedFile> {
    let all: u64 = files.iter().map(PartitionedFile::effective_size).sum();
    let fraction = sampling.rows as f64 / sampling.of.max(1) as f64;
    let wanted = (all as f64 * fraction.min(1.0)).ceil() as u64;
    let border = |index: usize| {
        let border = u128::from(all) * index as u128 / parts as u128;
        u64::try_from(border).unwrap_or(all)
    };
    let mut pieces = Vec::with_capacity(parts);
    for index in 0..parts {
        let (from, to) = (border(index), border(index + 1));
        let length = wanted.div_ceil(parts as u64).min(to - from);
        let start = from + rng.below(to - from - length + 1);
        cut(files, start, start + length, &mut pieces);
    }
    pieces
}

/// Appends the bytes `start .. end` of the files, laid end to end, to `pieces`.
fn cut(files: &[PartitionedFile], start: u64, end: u64, pieces: &mut Vec<PartitionedFile>) {
    let mut before = 0;
    for file in files {
        let (first, size) = (file.range().0, file.effective_size());
        let (from, to) = (start.max(before), end.min(before + size));
        if from < to {
            pieces.push(part(file, first + from - before, first + to - before));
        }
        before += size;
    }
}

fn random_files(files: &[PartitionedFile], parts: usize, rng: &mut Rng) -> Vec<PartitionedFile> {
    let border = |index: usize| files.len() * index / parts.max(1);
    (0..parts)
        .filter_map(|index| {
            let (from, to) = (border(index), border(index + 1));
            let among = u64::try_from(to - from).unwrap_or(u64::MAX);
            files.get(from + usize::try_from(rng.below(among)).unwrap_or(0)).cloned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::datasource::object_store::ObjectStoreUrl;
    use datafusion::datasource::physical_plan::{CsvSource, FileGroup, FileScanConfigBuilder};
    use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
    use datafusion::physical_plan::expressions::Column;

    use super::*;

    fn sampling(rows: usize, of: usize, seed: u64) -> Sampling {
        let key = PhysicalSortExpr::new_default(Arc::new(Column::new("k", 0)));
        let keys = LexOrdering::new([key]).unwrap();
        Sampling { keys, k: 1, filters: Vec::new(), rows, of, late: false, seed }
    }

    fn config(groups: Vec<Vec<PartitionedFile>>) -> FileScanConfig {
        let schema = Schema::new(vec![Field::new("k", DataType::Int64, true)]);
        let source = Arc::new(CsvSource::new(Arc::new(schema)));
        let url = ObjectStoreUrl::parse("s3://bucket").unwrap();
        let groups = groups.into_iter().map(FileGroup::new).collect();
        FileScanConfigBuilder::new(url, source).with_file_groups(groups).build()
    }

    fn shown(files: &[PartitionedFile]) -> Vec<(String, u64, u64)> {
        let shown = |file: &PartitionedFile| {
            (file.object_meta.location.to_string(), file.range().0, file.range().1)
        };
        files.iter().map(shown).collect()
    }

    fn files(sizes: &[u64]) -> Vec<PartitionedFile> {
        let named = |(index, size): (usize, &u64)| PartitionedFile::new(format!("{index}"), *size);
        sizes.iter().enumerate().map(named).collect()
    }

    /// A byte in two parts would count its row twice.
    #[test]
    fn ranges_are_apart_from_each_other_and_within_the_files() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let sizes: Vec<u64> = (0..rng.below(6)).map(|_| rng.below(1000)).collect();
            let of = 1 + rng.below(2000) as usize;
            let rows = 1 + rng.below(of as u64) as usize;
            let pieces =
                Pieces::choose(&config(vec![files(&sizes)]), true, &sampling(rows, of, seed));
            assert_eq!(pieces.limit, None);
            let mut taken = shown(&pieces.files);
            taken.sort();
            let mut bytes = 0;
            for (index, (file, start, end)) in taken.iter().enumerate() {
                assert!(start < end && *end <= sizes[file.parse::<usize>().unwrap()]);
                if let Some((next, from, _)) = taken.get(index + 1) {
                    assert!(file != next || end <= from, "{taken:?}");
                }
                bytes += end - start;
            }
            let all: u64 = sizes.iter().sum();
            let wanted = (all as f64 * rows as f64 / of as f64).ceil() as u64;
            assert!(bytes.abs_diff(wanted) <= MOST_PARTS as u64, "{bytes} for {wanted} of {all}");
        }
    }

    /// A plan is predicted before its files are split among partitions, and must send the same requests after.
    #[test]
    fn a_sample_does_not_depend_on_how_the_scan_is_split() {
        let whole = config(vec![files(&[1000, 0, 77, 5000])]);
        let file = |name: &str, size, start, end| {
            PartitionedFile::new(name.to_owned(), size).with_range(start, end)
        };
        let split = config(vec![
            vec![file("0", 1000, 0, 600), file("3", 5000, 0, 2000)],
            vec![file("0", 1000, 600, 1000), file("2", 77, 0, 77)],
            vec![file("3", 5000, 2000, 5000)],
        ]);
        let of = |config| shown(&Pieces::choose(config, true, &sampling(100, 1000, 7)).files);
        assert_eq!(of(&whole), of(&split));
        assert!(of(&whole).len() >= 12, "{:?}", of(&whole));
        assert_eq!(of(&whole), of(&whole));
        let other = Pieces::choose(&whole, true, &sampling(100, 1000, 8));
        assert_ne!(of(&whole), shown(&other.files));
    }

    #[test]
    fn without_ranges_the_first_rows_of_different_files_are_taken() {
        let table = config(vec![files(&[10; 50])]);
        let pieces = Pieces::choose(&table, false, &sampling(320, 1000, 7));
        assert_eq!((pieces.files.len(), pieces.limit), (16, Some(20)));
        let mut names: Vec<_> = shown(&pieces.files).into_iter().map(|(name, ..)| name).collect();
        names.dedup();
        assert_eq!(names.len(), 16);
        let few = Pieces::choose(&config(vec![files(&[10, 10])]), false, &sampling(320, 1000, 7));
        assert_eq!((few.files.len(), few.limit), (2, Some(160)));
        let none = Pieces::choose(&config(vec![files(&[0])]), false, &sampling(320, 1000, 7));
        assert!(none.files.is_empty());
    }
}
