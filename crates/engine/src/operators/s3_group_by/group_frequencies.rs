//! An estimate of the number of groups from some rows.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::row::{RowConverter, SortField};
use datafusion::common::Result;

/// Statistics of rows in storage order, by how often their groups occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupFrequencies {
    rows: usize,
    groups: usize,
    /// Number of groups that occurred once; `twice` counts those that occurred twice.
    once: usize,
    twice: usize,
    /// Number of runs: rows whose group differs from the row before, and the first row.
    runs: usize,
}

impl GroupFrequencies {
    /// Returns the statistics of rows that consist of the grouping columns; `None` if there are no rows.
    ///
    /// # Errors
    ///
    /// If a column has a type that cannot be compared.
    pub(super) fn count(batches: &[RecordBatch]) -> Result<Option<Self>> {
        let Some(first) = batches.first() else { return Ok(None) };
        let all = concat_batches(first.schema_ref(), batches)?;
        if all.num_rows() == 0 {
            return Ok(None);
        }
        let fields = all.columns().iter().map(|it| SortField::new(it.data_type().clone()));
        let rows = RowConverter::new(fields.collect())?.convert_columns(all.columns())?;
        let mut groups: HashMap<_, usize> = HashMap::new();
        let (mut runs, mut last) = (0, None);
        for row in &rows {
            *groups.entry(row).or_default() += 1;
            runs += usize::from(last.replace(row) != Some(row));
        }
        let seen = |times: usize| groups.values().filter(|count| **count == times).count();
        Ok(Some(Self {
            rows: all.num_rows(),
            groups: groups.len(),
            once: seen(1),
            twice: seen(2),
            runs,
        }))
    }

    /// Estimates the number of groups among `rows` rows, of which these are the first.
    ///
    /// If the rows of each group are adjacent, as in a table sorted by it, new groups are assumed to continue at the
    /// same rate. Otherwise the rows count as a random sample. Chao's bias-corrected estimate is computed from the
    /// groups that occurred once and twice (A. Chao, Nonparametric Estimation of the Number of Classes in a
    /// Population, 1984; S. K. Thompson, Sampling). The result is the expected number of these groups that occur
    /// among `rows` rows, for groups of equal size.
    pub(super) fn groups_among(&self, rows: f64) -> f64 {
        let (seen, groups) = (self.rows as f64, self.groups as f64);
        if rows <= seen {
            return groups.min(rows);
        }
        if self.groups > 1 && self.runs == self.groups {
            return groups / seen * rows;
        }
        let once = self.once as f64;
        let all = groups + once * (once - 1.0).max(0.0) / (2.0 * (self.twice as f64 + 1.0));
        (all * -(-rows / all).exp_m1()).max(groups)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use arrow::array::{Int64Array, StringArray};

    fn seen(keys: &[i64]) -> GroupFrequencies {
        let texts: StringArray = keys.iter().map(|key| Some(format!("k{}", key % 1000))).collect();
        let numbers = Int64Array::from_iter_values(keys.iter().map(|key| key / 1000));
        let columns = [("a", Arc::new(texts) as _), ("b", Arc::new(numbers) as _)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let half = batch.num_rows() / 2;
        let halves = [batch.slice(0, half), batch.slice(half, batch.num_rows() - half)];
        GroupFrequencies::count(&halves).unwrap().unwrap()
    }

    /// Returns pseudo-random numbers below a bound.
    fn random(bound: u64) -> impl Iterator<Item = i64> {
        // The generator is SplitMix64.
        let mut state = 7_u64;
        std::iter::repeat_with(move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) % bound) as i64
        })
    }

    #[test]
    fn groups_of_random_rows_are_guessed_within_a_third() {
        for groups in [1_u64, 4, 50, 1_000, 20_000, 200_000] {
            let keys: Vec<i64> = random(groups).take(4096).collect();
            let guess = seen(&keys).groups_among(750_000.0);
            let all = groups as f64 * -(-750_000.0 / groups as f64).exp_m1();
            assert!((guess / all).ln().abs() < 0.3, "{guess} of {all}");
        }
    }

    #[test]
    fn sorted_rows_go_on_as_they_began() {
        let keys: Vec<i64> = (0..4096).map(|row| row / 4).collect();
        assert!((seen(&keys).groups_among(40_960.0) - 10_240.0).abs() < 1e-6);
        let keys: Vec<i64> = (0..4096).collect();
        assert!((seen(&keys).groups_among(1e6) - 1e6).abs() < 1e-3);
    }

    #[test]
    fn there_are_no_more_groups_than_rows() {
        let one = seen(&[1, 1, 2]);
        assert_eq!(one, GroupFrequencies { rows: 3, groups: 2, once: 1, twice: 1, runs: 2 });
        assert_eq!((one.groups_among(2.0), one.groups_among(1.0)), (2.0, 1.0));
        let empty =
            RecordBatch::try_from_iter([("a", Arc::new(Int64Array::from(vec![0_i64; 0])) as _)]);
        assert_eq!(GroupFrequencies::count(&[empty.unwrap()]).unwrap(), None);
        assert_eq!(GroupFrequencies::count(&[]).unwrap(), None);
    }
}
