//! The group-bys of §VI: the query, the four strategies at the paper's sizes, and its client.

use std::sync::LazyLock;

use sluicegate_costmodel::{
    Bytes, BytesPerSecond, Cost, HardwareProfile, Phase, Provenance, Requests, Rows, Steps, Terms,
    predict,
};

use super::filter::used;
use super::names;
use super::paper::predicted;

/// The bytes of the authors' table: 100 objects of 107.65 MB.
pub(super) const TABLE: Bytes = Bytes(10_765_000_000);
pub(super) const ROWS: Rows = Rows(64_000_000);
const OBJECTS: u64 = 100;
/// The GETs of the table: parts of 8 MiB.
const GETS: u64 = 1_300;
/// The sums of the query.
pub(super) const SUMS: usize = 4;
/// What the authors' logs of August 2018 have of a group column and four values: bytes returned, and the rate at
/// which the client took them, 3.68 GB in 51.4 s. Whole rows took it 97.6 s.
const FIVE_COLUMNS: Bytes = Bytes(3_680_000_000);
const FIVE_COLUMNS_SECONDS: f64 = 51.4;
const WHOLE_ROWS_SECONDS: f64 = 97.6;
/// The bytes of a group column in an answer, and the rate of Select's answers, from the same logs.
const GROUP_COLUMN: Bytes = Bytes(190_000_000);
/// Seconds of Python for a query of two phases beyond those of one: 2.3 s by the logs, of which the profile counts 0.66
/// for the start of the second.
const SECOND_PHASE: f64 = 1.64;
/// The first phase waits for the slowest of 100 requests, which takes 1.5 times as long as the median.
const STRAGGLERS: f64 = 0.5;

/// The groups of a column of the skewed table.
pub(super) const GROUPS: usize = 100;

/// Returns the query of the figures.
pub(super) fn query(table: &str, column: &str) -> String {
    let sums: Vec<String> = (0..SUMS).map(|at| format!("sum(f{at})")).collect();
    format!("select {column}, {} from {table} group by {column}", sums.join(", "))
}

/// Returns the share of rows in the largest of 100 groups whose sizes follow Zipf's law.
pub(super) fn share(largest: usize, theta: f64) -> f64 {
    let weight = |many: usize| (1..=many).map(|k| (k as f64).powf(-theta)).sum::<f64>();
    weight(largest) / weight(GROUPS)
}

/// The profile `paper-2018` with a client of this rate.
fn client(bytes: Bytes, seconds: f64) -> HardwareProfile {
    let mut hardware =
        HardwareProfile::by_name("paper-2018").unwrap_or(HardwareProfile::paper()).clone();
    let cores = f64::from(hardware.client.cores.get());
    let busy = seconds - hardware.client.startup.as_secs_f64();
    hardware.client.csv_bytes_per_second = BytesPerSecond(bytes.as_f64() / busy / cores);
    hardware
}

static WHOLE: LazyLock<HardwareProfile> = LazyLock::new(|| client(TABLE, WHOLE_ROWS_SECONDS));
static PROJECTED: LazyLock<HardwareProfile> =
    LazyLock::new(|| client(FIVE_COLUMNS, FIVE_COLUMNS_SECONDS));

/// The provenance of the predictions.
pub(super) fn provenance() -> Provenance {
    Provenance::Modelled("paper-2018, with the client's rates of its authors' logs".into())
}

/// A scan of the table by S3 Select.
fn scan(name: &'static str, cases: f64, returned: Bytes) -> Phase {
    Phase {
        name,
        selects: Requests(OBJECTS),
        scanned: TABLE,
        scanned_rows: ROWS,
        terms: Terms { cases, ..Terms::NONE },
        returned,
        ..Phase::default()
    }
}

/// A strategy of the figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum GroupBy {
    /// Fetches the table.
    Server,
    /// Returns the columns by S3 Select.
    Filtered,
    /// Finds the groups, and aggregates so many by CASE in S3.
    S3(usize),
    /// Aggregates the largest groups in S3 and the rest here.
    Hybrid {
        /// The number of groups in S3.
        largest: usize,
        /// The skew of 100 groups.
        theta: f64,
    },
}

impl GroupBy {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Server => names::SERVER,
            Self::Filtered => names::FILTERED,
            Self::S3(_) => names::S3,
            Self::Hybrid { .. } => names::HYBRID,
        }
    }

    fn hardware(self) -> &'static HardwareProfile {
        if self == Self::Server { &WHOLE } else { &PROJECTED }
    }

    fn steps(self) -> Steps {
        match self {
            Self::Server => Phase { gets: Requests(GETS), got: TABLE, ..Phase::default() }.into(),
            Self::Filtered => scan("columns", 0.0, FIVE_COLUMNS).into(),
            Self::S3(groups) => Steps::InTurn(vec![
                scan("groups", 0.0, Bytes::ZERO).into(),
                used("slowest request", STRAGGLERS * scan_seconds()),
                used("Python", SECOND_PHASE),
                scan("sums", (groups * SUMS) as f64, Bytes::ZERO).into(),
            ]),
            Self::Hybrid { largest, theta } => {
                let [remote, local] = hybrid(largest, theta);
                let sample = Phase {
                    scanned: TABLE * SAMPLED,
                    scanned_rows: ROWS * SAMPLED,
                    returned: GROUP_COLUMN * SAMPLED,
                    ..scan("sample", 0.0, Bytes::ZERO)
                };
                Steps::InTurn(vec![
                    sample.into(),
                    used("Python", SECOND_PHASE),
                    Steps::Together(vec![remote.into(), local.into()]),
                ])
            }
        }
    }

    /// Returns the predicted seconds and cost.
    pub(super) fn predict(self) -> (f64, Cost) {
        let (time, cost) = predicted(&self.steps(), self.hardware());
        (time.as_secs_f64(), cost)
    }

    /// Returns the bytes that S3 Select scans.
    pub(super) fn scanned(self) -> Bytes {
        self.steps().work().scanned
    }
}

/// The share of the table that the hybrid samples.
pub(super) const SAMPLED: f64 = 0.01;

/// The two parts of the hybrid: the sums of the largest groups in S3, and the rows of the others.
fn hybrid(largest: usize, theta: f64) -> [Phase; 2] {
    let left = FIVE_COLUMNS * (1.0 - share(largest, theta));
    let excluded = Terms { comparisons: largest as f64, ..Terms::NONE };
    let remote = scan("largest groups", (largest * SUMS) as f64, Bytes::ZERO);
    [remote, Phase { terms: excluded, ..scan("other groups", 0.0, left) }]
}

/// Returns the predicted seconds of the hybrid's parts, each by itself, and its bytes returned.
pub(super) fn hybrid_parts(largest: usize, theta: f64) -> ([f64; 2], Bytes) {
    let parts = hybrid(largest, theta);
    let returned = parts.iter().map(|part| part.returned).sum();
    let startup = PROJECTED.client.startup.as_secs_f64();
    let alone = |part: Phase| predict(&part.into(), &PROJECTED).total().as_secs_f64() - startup;
    (parts.map(alone), returned)
}

/// Returns the seconds of one scan without the client.
fn scan_seconds() -> f64 {
    let hardware = &*PROJECTED;
    let steps = Steps::from(scan("scan", 0.0, Bytes::ZERO));
    (predict(&steps, hardware).total() - hardware.client.startup).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference formula: 2.5 s of Python, one and a half first phases, and a second one with CASE columns.
    #[test]
    fn s3_takes_what_the_logs_imply() {
        for (groups, expected) in [(2, 12.7), (4, 20.4), (8, 35.8), (16, 66.5), (32, 127.9)] {
            let (seconds, _) = GroupBy::S3(groups).predict();
            assert!((seconds / expected - 1.0).abs() < 0.05, "{groups}: {seconds}");
        }
    }

    #[test]
    fn the_client_takes_what_its_logs_have() {
        let [server, filtered] = [GroupBy::Server, GroupBy::Filtered].map(|it| it.predict().0);
        assert!((server - WHOLE_ROWS_SECONDS).abs() < 0.5, "{server}");
        assert!((filtered - FIVE_COLUMNS_SECONDS).abs() < 0.5, "{filtered}");
    }

    #[test]
    fn four_groups_have_59_percent_of_the_rows() {
        assert_eq!(format!("{:.3}", share(4, 1.3)), "0.585");
    }
}
