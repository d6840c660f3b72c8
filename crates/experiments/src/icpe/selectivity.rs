//! The rows that scans keep, counted.

use super::tpcds::{PLAIN, data};
use crate::{Results, ResultsError, Run, Setting, UNLIMITED};

/// Returns a run that counts the rows of tables, and those that satisfy a condition.
pub(super) fn counting(name: &str, setting: &Setting, scans: &[(&str, &str)]) -> Run {
    let query = |(table, condition): &(&str, &str)| {
        format!("SELECT count(*) AS rows, count(*) FILTER (WHERE {condition}) AS kept FROM {table}")
    };
    let queries: Vec<String> = scans.iter().map(query).collect();
    Run::sql(name, &data(setting), UNLIMITED, &PLAIN, &queries, 1)
}

/// Returns the numbers of rows and of those that are kept, for each of the scans.
pub(super) fn counted(results: &Results, run: &str) -> Result<Vec<(u64, u64)>, ResultsError> {
    let pair = |line: &str| {
        let (rows, kept) = line.split_once(',')?;
        Some((rows.parse().ok()?, kept.parse().ok()?))
    };
    Ok(results.record(run)?.answers.lines().filter_map(pair).collect())
}

/// Returns the kept part in percent.
pub(super) fn percent((rows, kept): (u64, u64)) -> f64 {
    100.0 * kept as f64 / rows as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    #[test]
    fn answers_are_rows_and_kept_rows() {
        let mut results = Results::default();
        let answers = "rows,kept\n200,9\n\nrows,kept\n1000,5\n".to_owned();
        results.insert("a", Record { answers, ..Record::default() });
        let counts = counted(&results, "a").unwrap();
        assert_eq!(counts, [(200, 9), (1000, 5)]);
        assert_eq!(percent(counts[0]), 4.5);
    }
}
