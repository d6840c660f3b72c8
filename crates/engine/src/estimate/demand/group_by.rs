//! The demand of GROUP BY in the store.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use sluicegate_costmodel::{
    AnswerFormat, Bytes, HardwareProfile, Requests, Rows, ScanDemand, Steps, Terms, predict,
};
use sluicegate_s3select::dialect::ast::Query;

use super::local_evaluation::{of_aggregate, of_row};
use super::table::Table;
use super::{AGGREGATE_BYTES, looking_up};
use crate::context::config::{GroupBy, SluiceOptions};
use crate::estimate::server_index::ServerIndexScan;
use crate::estimate::statistics::distinct_of;
use crate::pushdown::terms::{CONSTANTS_OF_A_CASE, items, terms};
use crate::scan::s3_select::S3SelectSource;

/// Number of groups assumed without statistics.
const ASSUMED_GROUPS: u64 = 16;
/// Assumed number of largest groups, and the assumed share of the rows that is in none of them.
pub(super) const ASSUMED_LARGEST: (u64, f64) = (6, 0.5);

/// A group-by in the store, as far as its demand depends on it.
#[derive(Debug)]
pub struct GroupByShape<'a> {
    /// The scan whose rows are grouped.
    pub config: &'a FileScanConfig,
    /// The source of the scan.
    pub source: &'a S3SelectSource,
    /// The partial aggregation that the node replaced.
    pub partial: &'a Arc<AggregateExec>,
    /// The number of rows of a file that are sampled to find its groups.
    pub sample_rows: usize,
    /// The columns of the sample.
    pub sampled: Vec<usize>,
    /// The statement about one group.
    pub group: Query,
    /// The columns of its answer for each group.
    pub width: usize,
    /// True if GROUP BY is answered in Arrow.
    pub in_arrow: bool,
    /// True if each group gets a statement of its own.
    pub one_by_one: bool,
    /// True if the states prove that there are no other groups.
    pub exact: bool,
    /// The maximum number of groups of a file that are requested.
    pub most: usize,
}

/// The demand of a group-by in the store.
#[derive(Debug, Clone, Copy)]
pub struct GroupByDemand {
    /// The scan that returns all rows for local grouping.
    scan: ScanDemand,
    /// The format of the answers about single groups.
    answer: AnswerFormat,
    /// The format of the answer to GROUP BY.
    clause_answer: AnswerFormat,
    /// Bytes of all files.
    bytes: f64,
    /// Bytes of a sampled row.
    key_bytes: f64,
    /// Work of the store per group and row to check whether the row is in the group.
    terms: Terms,
    /// Work of the store for each row that passes.
    items: Terms,
    /// Number of columns of an answer per group.
    width: usize,
    /// Bytes of a group's keys in an answer that contains them.
    group_bytes: f64,
    /// Bytes of a group's states.
    state_bytes: f64,
    /// Number of sums and counts among the states, which take one digit more for ten times the rows.
    sums: f64,
    /// Number of rows of a file that are sampled.
    sample_rows: usize,
    /// True if each group gets a statement of its own.
    one_by_one: bool,
    /// True if the store's counts are exact. If not, the rows outside of the groups are read as a proof.
    exact: bool,
    /// Number of samples for estimating the number of groups, if one statement covers all groups.
    looks: u64,
    /// Number of groups, if known.
    groups: Option<f64>,
    /// True if the groups are so few, and their number so certain, that no sample is needed.
    settled: bool,
    /// Number of largest groups, and the share of the rows that is in none of them.
    largest: (u64, f64),
    /// The number of groups set by `sluice.group_by_pushed`; `None` for the predicted best.
    pushed: Option<u64>,
    /// The maximum number of groups of a file that are requested from the store.
    most: usize,
    /// Work of the engine for each row that is grouped locally.
    here: Terms,
}

/// The bytes of keys and states in Arrow as multiples of those of text: numbers have 8 or 16 bytes, and Zstandard makes
/// about half a byte of a digit.
const FIXED_WIDTH: f64 = 1.5;
const COMPRESSED: f64 = 0.5;

/// Further groups that make looking up the group of a row slower by the time of a key, and the most that count: a
/// store sends its groups when they are more. Measured on Sluicegate's store.
const GROUPS_OF_A_KEY: f64 = 2_000.0;
const MOST_GROUPS: f64 = 65_536.0;

/// A sample pays if a file has at least this many times its rows.
const WORTH_A_SAMPLE: f64 = 8.0;

impl GroupByDemand {
    /// Returns the numbers of a group-by of this shape.
    #[must_use]
    pub fn from_exec(shape: &GroupByShape<'_>, options: &ConfigOptions) -> Self {
        let GroupByShape {
            config,
            source,
            partial,
            sample_rows,
            width,
            one_by_one,
            exact,
            most,
            in_arrow,
            ..
        } = *shape;
        let table = Table::from_scan(config, source, Some(options));
        let selectivity = table.selectivity(source, options);
        let columns = source.columns();
        let scan = table.demand(columns, selectivity, table.row_bytes(columns), Terms::NONE);
        let passing = Some(scan.passing);
        let filter = source.statement(None).map_or(Terms::NONE, |it| terms(&it.query, passing));
        let scan = ScanDemand { terms: filter, ..scan };
        let scan = looking_up(scan, ServerIndexScan::estimate(config, source, options).as_ref());
        let answer = table.text_answer(columns);
        let clause_answer = if in_arrow { table.answer(columns) } else { answer };
        let key_bytes = table.row_bytes(&shape.sampled);
        let group_bytes = table.group_bytes(partial);
        let (state_bytes, sums) = table.states(partial);
        let (terms, items) = (terms(&shape.group, passing) - filter, items(&shape.group));
        let (bytes, looks) = (table.bytes, 0);
        let pushed = SluiceOptions::from_options(options).group_by_pushed.get();
        let pushed = pushed.map(|pushed| pushed.min(most as u64));
        let (groups, largest) = (table.groups(partial), table.largest(partial, pushed));
        let few = groups.is_some_and(|groups| groups * WORTH_A_SAMPLE <= sample_rows as f64);
        let settled = few && table.groups_are_typical(partial);
        let node = Arc::clone(partial) as Arc<dyn ExecutionPlan>;
        let all = Self {
            scan,
            answer,
            clause_answer,
            bytes,
            key_bytes,
            terms,
            items,
            width,
            group_bytes,
            state_bytes,
            sums,
            sample_rows,
            one_by_one,
            exact,
            looks,
            groups,
            settled,
            largest,
            pushed,
            most,
            here: of_row(&node, of_aggregate(partial)).0,
        };
        // One file of each partition is sampled for all its files.
        let looks = config.file_groups.iter().filter(|group| {
            group.files().iter().any(|file| all.of_file(file).is_worth_a_sample(options))
        });
        Self { looks: looks.count() as u64, ..all }
    }

    /// Returns the number of groups set by `sluice.group_by_pushed`; `None` for the predicted best.
    #[must_use]
    pub fn pushed(&self) -> Option<u64> {
        self.pushed
    }

    /// Returns the demand with a filter on the keys of a join, which this share of the rows passes. `asking` changes
    /// the scan accordingly.
    #[must_use]
    pub fn with_keys(&self, share: f64, asking: impl Fn(ScanDemand) -> ScanDemand) -> Self {
        let groups = self.groups.map(|groups| (groups * share).max(1.0));
        Self { scan: asking(self.scan), groups, ..*self }
    }

    /// Returns true if the number of groups is worth a sample of the file.
    #[must_use]
    pub fn is_worth_a_sample(&self, options: &ConfigOptions) -> bool {
        SluiceOptions::from_options(options).group_by == GroupBy::Auto
            && !self.settled
            && self.rows() >= WORTH_A_SAMPLE * self.sample_rows as f64
    }

    /// Returns the demand of one of the files.
    #[must_use]
    pub fn of_file(&self, file: &PartitionedFile) -> Self {
        let share = file.effective_size() as f64 / self.bytes.max(1.0);
        let scan = ScanDemand {
            objects: 1,
            needed: Bytes::from_f64(self.scan.needed.0 as f64 * share),
            rows: Rows::from_f64(self.scan.rows.as_f64() * share),
            looked_up: self.scan.looked_up.map(|some| some.times(share)),
            get_requests: Requests(1),
            select_requests: Some(Requests(1)),
            ..self.scan
        };
        Self { scan, bytes: file.effective_size() as f64, ..*self }
    }

    /// Returns the number of rows to be grouped.
    #[must_use]
    pub fn rows(&self) -> f64 {
        self.scan.rows.as_f64() * self.scan.selectivity
    }

    /// Returns the bytes of the keys and states of so many groups, as text.
    #[must_use]
    pub fn clause_bytes(&self, groups: f64) -> f64 {
        let rows = self.rows() / (groups * self.scan.objects.max(1) as f64).max(1.0);
        let digits = self.sums * rows.max(1.0).log10();
        groups * (self.group_bytes + self.state_bytes + digits)
    }

    /// Returns the number of groups in a file, if the number of all groups is known. It assumes that the file's rows
    /// are drawn at random.
    fn groups_of_file(&self) -> Option<f64> {
        let (all, files) = (self.rows(), self.scan.objects.max(1) as f64);
        Some(distinct_of(all / files, all, self.groups?).max(1.0))
    }

    /// Returns the steps for the states of all groups of each file by a GROUP BY of the store. Without statistics,
    /// the number of groups is assumed.
    #[must_use]
    pub fn clause_of_some(&self) -> Steps {
        let rows = self.rows() / self.scan.objects.max(1) as f64;
        let groups = self.groups_of_file().unwrap_or(ASSUMED_GROUPS as f64).min(rows.max(1.0));
        let groups = self.clause(groups);
        if self.looks == 0 {
            return groups;
        }
        let rows = (self.looks * self.sample_rows as u64) as f64;
        let share = rows / self.scan.rows.as_f64().max(1.0);
        let look = ScanDemand {
            select_requests: Some(Requests(self.looks)),
            needed: Bytes::from_f64(self.scan.needed.0 as f64 * share),
            rows: Rows::from_f64(rows),
            terms: Terms::NONE,
            passing: 1.0,
            selectivity: 1.0,
            bytes_per_returned_row: self.key_bytes,
            ..self.scan
        };
        Steps::InTurn(vec![look.select_phase("sample"), groups])
    }

    /// Returns the steps for a GROUP BY of the store with so many groups in each file.
    #[must_use]
    pub fn clause(&self, groups: f64) -> Steps {
        let (files, rows) = (self.scan.objects as f64, self.scan.rows.as_f64().max(1.0));
        let of_text = match self.clause_answer {
            AnswerFormat::Csv | AnswerFormat::Json => 1.0,
            AnswerFormat::Arrow => FIXED_WIDTH,
            AnswerFormat::CompressedArrow => COMPRESSED,
        };
        let keys = self.items.keys + groups.min(MOST_GROUPS) / GROUPS_OF_A_KEY;
        ScanDemand {
            answer: self.clause_answer,
            items: Terms { keys, ..self.items },
            selectivity: (groups * files / rows).min(self.scan.selectivity),
            bytes_per_returned_row: of_text * self.clause_bytes(groups) / groups.max(1.0),
            ..self.scan
        }
        .select_phase("groups")
    }

    /// Returns the steps for finding the groups of each file and requesting the states of all. If there are more
    /// groups than are requested, all rows are fetched instead.
    #[must_use]
    pub fn all(&self) -> Steps {
        let groups = self.groups_of_file().unwrap_or(ASSUMED_GROUPS as f64);
        let (most, is_distinct) = (self.most as f64, self.width == 0);
        let then = match (groups <= most, is_distinct) {
            (true, true) => self.remaining_steps(0.0),
            (true, false) => self.proven(groups.ceil() as u64),
            // The rows of the groups that were found are excluded.
            (false, true) => self.remaining_steps(1.0 - most / groups),
            (false, false) => self.local_steps(),
        };
        Steps::InTurn(vec![self.sample(), then])
    }

    /// Returns the steps for finding the largest groups of each file, and requesting their states and all other rows.
    #[must_use]
    pub fn largest(&self) -> Steps {
        let (groups, left) = self.largest;
        Steps::InTurn(vec![self.sample(), self.one_statement_steps(groups, left)])
    }

    /// Returns the steps of [`largest`](Self::largest) as they will probably run on this hardware. Once the operator
    /// has taken a sample, it requests all groups if that is faster.
    #[must_use]
    pub fn largest_groups_steps(&self, hardware: &HardwareProfile) -> Steps {
        let some = self.largest();
        if self.pushed.is_some() {
            return some;
        }
        let Some(groups) = self.groups_of_file().filter(|groups| *groups <= self.most as f64)
        else {
            return some;
        };
        let together = self.one_statement_steps(groups.ceil() as u64, 0.0);
        let all = Steps::InTurn(vec![self.sample(), together]);
        let seconds = |steps: &Steps| predict(steps, hardware).total();
        if seconds(&all) < seconds(&some) { all } else { some }
    }

    /// Returns the steps for fetching all rows and grouping them locally.
    #[must_use]
    pub fn local_steps(&self) -> Steps {
        self.remaining_steps(1.0)
    }

    /// Returns the steps for requesting the states of some groups, and at the same time the share `left` of the rows
    /// that is in none of them.
    #[must_use]
    pub fn one_statement_steps(&self, groups: u64, left: f64) -> Steps {
        Steps::Together(vec![self.states_of(groups), self.remaining_steps(left)])
    }

    fn sample(&self) -> Steps {
        let rows = (self.scan.rows.as_f64() / self.scan.objects.max(1) as f64).max(1.0);
        // Number of rows that must be read to find enough that pass the filter.
        let read = (self.sample_rows as f64 / self.scan.selectivity.max(1e-6)).min(rows);
        let share = read / rows;
        ScanDemand {
            needed: Bytes::from_f64(self.scan.needed.0 as f64 * share),
            rows: Rows::from_f64(self.scan.rows.as_f64() * share),
            bytes_per_returned_row: self.key_bytes,
            ..self.scan
        }
        .select_phase("sample")
    }

    /// Returns the steps for the states of all groups, with the proof that there are no others.
    #[must_use]
    pub fn proven(&self, groups: u64) -> Steps {
        let pushed = self.states_of(groups);
        match self.exact {
            true => pushed,
            false => Steps::InTurn(vec![pushed, self.remaining_steps(0.0)]),
        }
    }

    /// Returns the steps for the states of some groups.
    #[must_use]
    pub fn states_of(&self, groups: u64) -> Steps {
        if self.one_by_one {
            // There is one scan per group, and one that counts all rows.
            let scans = groups as f64 + 1.0;
            let rows = (self.scan.rows.as_f64() * scans).max(1.0);
            let requests = self.scan.select_requests.unwrap_or(Requests::ZERO).as_f64() * scans;
            return ScanDemand {
                answer: self.answer,
                needed: self.scan.needed * scans,
                rows: Rows::from_f64(rows),
                looked_up: self.scan.looked_up.map(|some| some.times(scans)),
                terms: self.scan.terms + self.terms + Terms::from(1),
                // Each row is in one group, and once more in the count of all rows.
                passing: self.scan.passing * 2.0 / scans,
                items: self.items,
                selectivity: (self.scan.objects as f64 * scans / rows).min(1.0),
                bytes_per_returned_row: self.width as f64 * AGGREGATE_BYTES,
                select_requests: Some(Requests::from_f64(requests)),
                ..self.scan
            }
            .select_phase("groups");
        }
        let columns = groups as f64 * self.width as f64 + 1.0;
        let cases = self.items.cases * groups as f64;
        ScanDemand {
            answer: self.answer,
            // Keys and values are computed once for all groups.
            items: Terms { cases, ..self.items },
            // Each statement is read once, however few rows it scans.
            constants: CONSTANTS_OF_A_CASE.saturating_mul(cases.ceil() as u64),
            selectivity: (self.scan.objects as f64 / self.scan.rows.as_f64().max(1.0)).min(1.0),
            columns: columns as u32,
            bytes_per_returned_row: columns * AGGREGATE_BYTES,
            ..self.scan
        }
        .select_phase("groups")
    }

    fn remaining_steps(&self, share: f64) -> Steps {
        ScanDemand {
            passing: self.scan.passing * share,
            selectivity: self.scan.selectivity * share,
            terms: self.scan.terms + Terms::from(1),
            ..self.scan
        }
        .select_phase("rest")
        .evaluating(self.here.times(self.rows() * share))
    }
}
