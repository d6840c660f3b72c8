//! A scan with two strategies: fetch the bytes with GET and filter in the client, or let the store filter.

use std::fmt;

use crate::choice::{Candidate, Choice, choose};
use crate::{
    AnswerFormat, Bytes, Format, HardwareProfile, Objective, Phase, PriceBook, Requests, Rows,
    Steps, Terms,
};

/// The bytes of an object that still arrive after the reader has enough rows.
const READAHEAD_BYTES: Bytes = Bytes::mib(1);

/// The way in which a scan gets its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScanStrategy {
    /// GET the objects, or the needed parts of them, and filter in the client.
    Get,
    /// Let the store filter and project with S3 Select.
    Select,
}

impl fmt::Display for ScanStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Get => "get",
            Self::Select => "select",
        })
    }
}

/// The part of some objects that a store reads for a statement that it answers by indexes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IndexedShare {
    /// Bytes of the indexes, and of the records that they lead to.
    pub bytes: Bytes,
    /// The number of records that the indexes lead to.
    pub rows: Rows,
}

impl IndexedShare {
    /// Multiplies both numbers by `factor`.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { bytes: self.bytes * factor, rows: self.rows * factor }
    }
}

/// The demand of a scan: what it has to read, and what is left after it.
///
/// A pushed aggregate is a scan whose selectivity is one row per request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScanDemand {
    /// The number of objects of the table that are read.
    pub objects: u64,
    /// The format of the objects.
    pub format: Format,
    /// The format of the answers to statements: Arrow for Parquet objects if the store offers it. Otherwise JSON for
    /// JSON objects, and for columns of text from Parquet, whose NULL and empty text CSV does not tell apart.
    pub answer: AnswerFormat,
    /// Stored bytes that must be read, for both strategies: all of a CSV object, the needed column chunks of a
    /// Parquet object. For compressed objects this is the compressed size.
    pub needed: Bytes,
    /// Additional bytes that GET fetches: a Parquet reader fetches small gaps between column chunks instead of
    /// sending another request.
    pub gaps: Bytes,
    /// The number of rows in the objects.
    pub rows: Rows,
    /// The part of the objects that the store reads for a statement, if indexes spare it the rest.
    pub looked_up: Option<IndexedShare>,
    /// The terms that the store would evaluate for each row that it reads.
    pub terms: Terms,
    /// The fraction of rows that pass the store's condition, 0 to 1.
    pub passing: f64,
    /// The terms that the store would evaluate for each passing row: select items, aggregates and group keys.
    pub items: Terms,
    /// Constants in the lists of one statement.
    pub constants: u64,
    /// The fraction of rows that the store would return, 0 to 1: the passing rows, or fewer if it returns groups.
    pub selectivity: f64,
    /// The number of columns that the query needs from the scan.
    pub columns: u32,
    /// The number of further columns that only filters use. The client parses them if it fetches the rows.
    pub filter_columns: u32,
    /// Bytes of one returned row in the format of the answer, with the needed columns.
    pub bytes_per_returned_row: f64,
    /// Footers of Parquet objects that must still be read before their columns.
    pub footers: Requests,
    /// GET requests for ranges of the objects, without footers.
    pub get_requests: Requests,
    /// The number of GET requests in flight; `None` stands for the hardware's limit.
    pub gets_at_once: Option<Requests>,
    /// Select requests; `None` if the store has no Select or the statement cannot be pushed down.
    pub select_requests: Option<Requests>,
    /// The number of Select requests in flight; `None` stands for the hardware's limit.
    pub selects_at_once: Option<Requests>,
}

impl ScanDemand {
    /// Returns the part of the objects that the store reads for a statement. Index lookups never count as more than
    /// the whole.
    #[must_use]
    pub fn scanned(&self) -> IndexedShare {
        let all = IndexedShare { bytes: self.needed, rows: self.rows };
        self.looked_up.map_or(all, |some| IndexedShare {
            bytes: some.bytes.min(all.bytes),
            rows: some.rows.min(all.rows),
        })
    }

    /// Returns the scan with index lookups: no more rows pass than the indexes find.
    #[must_use]
    pub fn looking_up(self, found: IndexedShare) -> Self {
        let most = (found.rows / self.rows).min(1.0);
        Self {
            looked_up: Some(found),
            passing: self.passing.min(most),
            selectivity: self.selectivity.min(most),
            ..self
        }
    }

    /// Returns the bytes that the store would return.
    #[must_use]
    pub fn returned(&self) -> Bytes {
        Bytes::from_f64(
            self.rows.as_f64() * self.selectivity.clamp(0.0, 1.0) * self.bytes_per_returned_row,
        )
    }

    /// Returns the number of values that the store writes for rows of so many columns, in the format of the answer.
    /// Bytes of JSON count as parts of a value.
    pub(crate) fn written(&self, rows: f64, columns: f64, returned: Bytes) -> f64 {
        /// Names, quotes and escapes of JSON take 2.5 ns a byte where a value of CSV takes 18 ns.
        const BYTES_PER_VALUE: f64 = 7.0;
        match self.answer {
            AnswerFormat::Csv => answered(rows, columns),
            AnswerFormat::Json => answered(rows, columns) + returned.as_f64() / BYTES_PER_VALUE,
            AnswerFormat::Arrow | AnswerFormat::CompressedArrow => rows * columns,
        }
    }

    /// Returns the number of values that the client parses of rows of so many columns.
    pub(crate) fn parsed_of(&self, rows: f64, columns: f64) -> f64 {
        match self.answer {
            AnswerFormat::Csv | AnswerFormat::Json => rows * columns,
            AnswerFormat::Arrow | AnswerFormat::CompressedArrow => 0.0,
        }
    }

    /// Returns the number of values that the client parses if it fetches all rows.
    fn parsed(&self) -> f64 {
        self.rows.as_f64() * f64::from(self.columns + self.filter_columns)
    }

    /// Returns the GET strategy: one phase, with a second round if Parquet footers must be read first.
    #[must_use]
    pub fn get(&self) -> Candidate<ScanStrategy> {
        let is_text = self.format != Format::Parquet;
        let footers = if is_text { Requests::ZERO } else { self.footers };
        let phase = Phase {
            format: self.format,
            rounds: if footers > Requests::ZERO { 2 } else { 1 },
            gets: self.get_requests + footers,
            gets_at_once: self.gets_at_once,
            got: self.needed + self.gaps,
            values: if is_text { self.parsed() } else { 0.0 },
            decoded: if is_text { 0.0 } else { self.parsed() },
            ..Phase::default()
        };
        Candidate { strategy: ScanStrategy::Get, steps: phase.into() }
    }

    /// Returns the S3 Select strategy: one phase. `None` without Select.
    #[must_use]
    pub fn select(&self) -> Option<Candidate<ScanStrategy>> {
        let passing = self.rows.as_f64() * self.selectivity.clamp(0.0, 1.0);
        let columns = f64::from(self.columns);
        let IndexedShare { bytes, rows } = self.scanned();
        let phase = Phase {
            format: self.format,
            answer: self.answer,
            selects: self.select_requests?,
            selects_at_once: self.selects_at_once,
            scanned: bytes,
            scanned_rows: rows,
            terms: self.terms,
            passing_rows: self.rows * self.passing.clamp(0.0, 1.0),
            items: self.items,
            constants: self.constants.saturating_mul(self.select_requests?.0),
            answered: self.written(passing, columns, self.returned()),
            returned: self.returned(),
            values: self.parsed_of(passing, columns),
            ..Phase::default()
        };
        Some(Candidate { strategy: ScanStrategy::Select, steps: phase.into() })
    }

    /// Returns the steps of [`ScanDemand::select`] as a phase of this name, or an empty phase if Select is not
    /// possible.
    #[must_use]
    pub fn select_phase(&self, name: &'static str) -> Steps {
        match self.select().map(|select| select.steps) {
            Some(Steps::Phase(phase)) => Phase { name, ..*phase }.into(),
            Some(steps) => steps,
            None => Phase { name, ..Phase::default() }.into(),
        }
    }

    /// Returns the client's work to join the rows that pass: to hash, look up and copy a row takes about as long as six
    /// keys of groups, as was measured over TPC-H.
    #[must_use]
    pub fn joining(&self) -> Terms {
        const KEYS_PER_ROW: f64 = 6.0;
        let rows = self.rows.as_f64() * self.passing.clamp(0.0, 1.0);
        Terms { keys: KEYS_PER_ROW * rows, ..Terms::NONE }
    }

    /// Returns the scan with a condition on the keys of a join, which a share of its rows, 0 to 1, satisfies. The
    /// store evaluates `terms` for each row, and the statement lists `constants` values.
    #[must_use]
    pub fn with_keys(&self, share: f64, terms: Terms, constants: u64) -> Self {
        Self {
            passing: self.passing * share,
            selectivity: self.selectivity * share,
            // The terms stand behind the conditions of the query.
            terms: self.terms + terms.times(self.passing),
            constants: self.constants + constants,
            ..*self
        }
    }

    /// Returns the scan by this many statements about keys, after this many looks at a few records, each of this many
    /// bytes.
    #[must_use]
    pub fn keys_by_part(&self, statements: u64, (looks, bytes): (u64, u64)) -> Steps {
        let asked = Self { select_requests: Some(Requests(statements)), ..*self };
        if looks == 0 {
            return asked.select_phase("keys");
        }
        let rows = (looks * bytes) as f64 / (self.needed.0.max(1) as f64) * self.rows.as_f64();
        let look = Self {
            select_requests: Some(Requests(looks)),
            needed: Bytes(looks * bytes),
            rows: Rows::from_f64(rows),
            terms: Terms::NONE,
            passing: 1.0,
            constants: 0,
            selectivity: 1.0,
            ..*self
        };
        Steps::InTurn(vec![look.select_phase("look"), asked.select_phase("keys")])
    }

    /// Returns the demand of a part of the objects that holds this fraction of their bytes, 0 to 1.
    ///
    /// ```
    /// use sluicegate_costmodel::{AnswerFormat, Bytes, Format, Requests, Rows, ScanDemand, Terms};
    ///
    /// let all = ScanDemand {
    ///     objects: 8,
    ///     format: Format::Csv,
    ///     answer: AnswerFormat::Csv,
    ///     needed: Bytes::mib(80),
    ///     gaps: Bytes::ZERO,
    ///     rows: Rows(1_000_000),
    ///     looked_up: None,
    ///     terms: Terms::from(2),
    ///     passing: 0.01,
    ///     items: Terms::NONE,
    ///     constants: 0,
    ///     selectivity: 0.01,
    ///     columns: 2,
    ///     filter_columns: 0,
    ///     bytes_per_returned_row: 40.0,
    ///     footers: Requests::ZERO,
    ///     get_requests: Requests(8),
    ///     gets_at_once: None,
    ///     select_requests: Some(Requests(8)),
    ///     selects_at_once: None,
    /// };
    /// let left = all.part(0.25);
    /// assert_eq!((left.needed, left.rows), (Bytes::mib(20), Rows(250_000)));
    /// assert_eq!((left.get_requests, left.select_requests), (Requests(2), Some(Requests(2))));
    /// ```
    #[must_use]
    pub fn part(&self, share: f64) -> Self {
        let share = share.clamp(0.0, 1.0);
        let some = |requests: Requests| Requests((requests.as_f64() * share).ceil() as u64);
        Self {
            objects: (self.objects as f64 * share).ceil() as u64,
            needed: self.needed * share,
            gaps: self.gaps * share,
            footers: some(self.footers),
            rows: self.rows * share,
            looked_up: self.looked_up.map(|found| found.times(share)),
            get_requests: some(self.get_requests),
            select_requests: self.select_requests.map(some),
            ..*self
        }
    }

    /// Returns the demand of the scan if it ends as soon as this many rows have passed, with this many GETs in
    /// flight. Passing rows are assumed to be spread evenly.
    #[must_use]
    pub fn ending_after(&self, rows: Rows, gets_at_once: Requests) -> Self {
        let lanes = gets_at_once.max(self.selects_at_once.unwrap_or(gets_at_once)).as_f64();
        let passing = self.rows * self.selectivity.clamp(0.0, 1.0);
        // Concurrent requests do not stop when another one has found enough rows.
        let wanted = rows * lanes;
        let share = if passing > wanted { wanted / passing } else { 1.0 };
        let some = |requests: Requests, at_once: Requests| {
            let asked = Requests((requests.as_f64() * share).ceil() as u64) + at_once;
            requests.min(asked)
        };
        let get_requests = some(self.get_requests, gets_at_once);
        let select_requests = self
            .select_requests
            .map(|requests| some(requests, self.selects_at_once.unwrap_or(gets_at_once)));
        let opened = |some: Requests, all: Requests| some.as_f64() / all.as_f64().max(1.0);
        let opened = match (self.select_requests, select_requests) {
            (Some(all), Some(some)) => {
                opened(some, all).max(opened(get_requests, self.get_requests))
            }
            _ => opened(get_requests, self.get_requests),
        };
        let ahead = lanes * READAHEAD_BYTES.as_f64() / self.needed.as_f64().max(1.0);
        let part = self.part((share + ahead).min(opened));
        let most = wanted.as_f64() / part.rows.as_f64().max(1.0);
        Self {
            get_requests,
            select_requests,
            passing: part.passing.min(most),
            selectivity: part.selectivity.min(most),
            ..part
        }
    }

    /// Chooses the better strategy. Select is an alternative only if the store has it (`select_requests`) and sells
    /// it ([`PriceBook::select`]).
    #[must_use]
    pub fn choose(
        &self,
        hardware: &HardwareProfile,
        prices: &PriceBook,
        objective: Objective,
    ) -> Choice<ScanStrategy> {
        let select = prices.select.and_then(|_| self.select());
        choose(self.get(), select, hardware, prices, objective)
    }
}

/// Returns the number of values that the store writes for these rows. The end of a row counts as a value, because it
/// takes about as long.
#[must_use]
pub fn answered(rows: f64, columns: f64) -> f64 {
    rows * (columns + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ALIKE, BytesPerSecond, Dollars, predict};
    use proptest::prelude::*;
    use std::time::Duration;

    /// TPC-H's lineitem at scale factor 10 in 96 objects, as in PushdownDB.
    fn lineitem(selectivity: f64) -> ScanDemand {
        ScanDemand {
            objects: 96,
            format: Format::Csv,
            answer: AnswerFormat::Csv,
            needed: Bytes(7_775_727_688),
            gaps: Bytes::ZERO,
            rows: Rows(59_986_052),
            looked_up: None,
            terms: 1.into(),
            passing: selectivity,
            items: Terms::NONE,
            constants: 0,
            selectivity,
            columns: 16,
            filter_columns: 0,
            bytes_per_returned_row: 130.0,
            footers: Requests::ZERO,
            get_requests: Requests(960),
            gets_at_once: None,
            select_requests: Some(Requests(96)),
            selects_at_once: None,
        }
    }

    /// GET parses the filter's columns and fetches small gaps.
    #[test]
    fn what_only_get_takes_is_gets() {
        let scan = lineitem(0.01);
        let more = ScanDemand { filter_columns: 3, gaps: Bytes::mib(100), ..scan };
        let phase = |candidate: Candidate<ScanStrategy>| {
            candidate.steps.phases().first().map(|it| (*it).clone())
        };
        let (get, more_get) = (phase(scan.get()).unwrap(), phase(more.get()).unwrap());
        assert_eq!(more_get.got, get.got + Bytes::mib(100));
        assert!((more_get.values / get.values - 19.0 / 16.0).abs() < 1e-9);
        assert_eq!(scan.select().map(phase), more.select().map(phase));
        assert_eq!(more.part(0.5).gaps, Bytes::mib(50));
    }

    #[track_caller]
    fn chosen(
        scan: ScanDemand,
        hardware: &HardwareProfile,
        prices: &PriceBook,
        objective: Objective,
        expected: ScanStrategy,
    ) {
        let choice = scan.choose(hardware, prices, objective);
        assert_eq!(choice.chosen.strategy, expected, "{choice:#?}");
    }

    /// PushdownDB's finding: Select is an order of magnitude faster and somewhat dearer.
    #[test]
    fn the_papers_filter_is_faster_and_dearer_in_the_store() {
        let (hardware, prices) = (HardwareProfile::paper(), PriceBook::paper());
        let scan = lineitem(1e-5);
        chosen(scan, hardware, prices, Objective::Time, ScanStrategy::Select);
        chosen(scan, hardware, prices, Objective::Dollars, ScanStrategy::Get);
        let choice = scan.choose(hardware, prices, Objective::Time);
        let speedup =
            choice.rejected[0].work.wall.as_secs_f64() / choice.chosen.work.wall.as_secs_f64();
        let price = choice.chosen.cost.total() / choice.rejected[0].cost.total();
        assert!((10.0..20.0).contains(&speedup), "{speedup}");
        assert!((1.1..1.3).contains(&price), "{price}");
    }

    /// With a high enough price for waiting, the dearer strategy wins: 0.2 cents more buy 20 seconds.
    #[test]
    fn a_weight_moves_the_choice() {
        let (hardware, prices) = (HardwareProfile::paper(), PriceBook::paper());
        for (dollars_per_hour, expected) in
            [(0.0, ScanStrategy::Get), (0.036, ScanStrategy::Get), (3.6, ScanStrategy::Select)]
        {
            let objective = Objective::Weighted { dollars_per_hour: Dollars(dollars_per_hour) };
            chosen(lineitem(1e-5), hardware, prices, objective, expected);
        }
    }

    #[test]
    fn everything_selected_is_better_loaded() {
        let hardware = HardwareProfile::by_name("aws-in-region").unwrap();
        chosen(lineitem(1.0), hardware, PriceBook::paper(), Objective::Time, ScanStrategy::Get);
    }

    #[test]
    fn formats_have_rates_of_their_own() {
        let hardware = HardwareProfile::by_name("local").unwrap();
        let predicted = |format| {
            let scan = ScanDemand { format, ..lineitem(0.01) };
            let (get, select) = (scan.get().steps, scan.select().unwrap().steps);
            [get, select].map(|steps| predict(&steps, hardware).total())
        };
        let (csv, json) = (predicted(Format::Csv), predicted(Format::Json));
        assert!(csv[0] < json[0] && csv[1] < json[1], "{csv:?} {json:?}");
        let scan = ScanDemand { format: Format::Csv, ..lineitem(0.01) };
        chosen(scan, hardware, PriceBook::paper(), Objective::Time, ScanStrategy::Select);
    }

    #[test]
    fn a_slow_link_asks_for_select_and_paid_transfer_too() {
        let hardware = HardwareProfile::by_name("home-100mbit").unwrap();
        let prices = PriceBook::by_name("paper-2020-us-east-1-internet").unwrap();
        for objective in [Objective::Time, Objective::Dollars] {
            chosen(lineitem(0.1), hardware, prices, objective, ScanStrategy::Select);
        }
    }

    #[test]
    fn select_is_no_alternative_where_there_is_none() {
        let hardware = HardwareProfile::paper();
        let unpushable = ScanDemand { select_requests: None, ..lineitem(1e-5) };
        let choice = unpushable.choose(hardware, PriceBook::paper(), Objective::Time);
        assert!(choice.rejected.is_empty());
        let express = PriceBook::by_name("s3-express-us-east-1").unwrap();
        let choice = lineitem(1e-5).choose(hardware, express, Objective::Time);
        assert_eq!(choice.chosen.strategy, ScanStrategy::Get);
        assert!(choice.rejected.is_empty());
    }

    #[test]
    fn a_scan_that_ends_early_asks_for_little() {
        let scan = ScanDemand { selects_at_once: Some(Requests(16)), ..lineitem(0.1) };
        let first = scan.ending_after(Rows(1), Requests(4));
        assert_eq!((first.get_requests, first.select_requests), (Requests(5), Some(Requests(17))));
        assert!(first.needed < Bytes::mib(17) && first.needed >= Bytes::mib(16), "{first:?}");
        // Each of the sixteen statements finds one row.
        assert!(first.returned() <= Bytes(16 * 130), "{first:?}");
        // All rows are requested, or more than there are.
        assert_eq!(scan.ending_after(Rows(10_000_000), Requests(4)), scan);
        let nothing = ScanDemand { selectivity: 0.0, passing: 0.0, ..scan };
        assert_eq!(nothing.ending_after(Rows(1), Requests(4)).needed, scan.needed);
        // A part of many small objects.
        let small = ScanDemand {
            objects: 1500,
            needed: Bytes(1_500_000),
            rows: Rows(15_000),
            get_requests: Requests(1500),
            select_requests: None,
            selects_at_once: None,
            ..scan
        };
        let few = small.ending_after(Rows(1), Requests(4));
        assert_eq!(few.get_requests, Requests(8));
        assert!(few.needed < Bytes(9000), "{few:?}");
    }

    #[test]
    fn what_is_looked_up_is_all_that_the_store_reads() {
        let found = IndexedShare { bytes: Bytes(1_000_000), rows: Rows(6000) };
        let scan = lineitem(0.2).looking_up(found);
        let steps = scan.select().unwrap().steps;
        let phase = steps.phases()[0];
        assert_eq!((phase.scanned, phase.scanned_rows), (found.bytes, found.rows));
        assert!(phase.passing_rows <= found.rows);
        assert_eq!(phase.selects, Requests(96));
        assert_eq!(scan.get(), lineitem(0.2).get());
        // The selectivity is already lower, or the index finds all rows.
        assert_eq!(lineitem(1e-6).looking_up(found).passing, 1e-6);
        let more = lineitem(0.2).looking_up(found.times(1e6));
        assert_eq!(more.select(), lineitem(0.2).select());
    }

    #[test]
    fn a_parquet_reader_asks_for_footers_first() {
        let known = ScanDemand { format: Format::Parquet, ..lineitem(0.1) };
        let read = ScanDemand { footers: Requests(96), ..known };
        for (scan, expected) in [(read, (2, Requests(1056))), (known, (1, Requests(960)))] {
            let steps = scan.get().steps;
            let phase = steps.phases()[0];
            assert_eq!((phase.rounds, phase.gets), expected);
        }
    }

    proptest! {
        /// Less selective, more rows, more bytes: never faster, never cheaper.
        #[test]
        fn a_larger_answer_never_pays(low in 0.0..1.0f64, high in 0.0..1.0f64) {
            let (low, high) = (low.min(high), low.max(high));
            let (hardware, prices) = (HardwareProfile::paper(), PriceBook::paper());
            let run = |selectivity| {
                let only_select = lineitem(selectivity).select().unwrap();
                choose(only_select, [], hardware, prices, Objective::Time).chosen
            };
            prop_assert!(run(low).work.wall <= run(high).work.wall);
            prop_assert!(run(low).cost.total() <= run(high).cost.total());
        }

        /// With fewer rows, fewer bytes or a better filter, the choice never takes longer.
        #[test]
        fn less_to_scan_is_never_slower(
            selectivity in 0.0..1.0f64, part in 0.0..1.0f64, which in 0..4, profile in 0usize..6,
            format in proptest::sample::select(&[Format::Csv, Format::Json, Format::Parquet][..]),
        ) {
            let hardware = &HardwareProfile::all()[profile];
            let whole = ScanDemand { format, ..lineitem(selectivity) };
            let mut less = whole;
            match which {
                0 => less.rows = less.rows * part,
                1 => less.needed = less.needed * part,
                2 => less.selectivity *= part,
                _ => (less.rows, less.needed) = (less.rows * part, less.needed * part),
            }
            let time = |scan: ScanDemand| {
                let choice = scan.choose(hardware, PriceBook::paper(), Objective::Time);
                choice.chosen.time.total()
            };
            let alike = time(whole).mul_f64(1.0 + ALIKE);
            prop_assert!(time(less) <= alike + Duration::from_nanos(10));
        }

        /// The time-optimal choice is never clearly slower than either strategy, whatever the link.
        #[test]
        fn the_choice_is_the_minimum(selectivity in 0.0..1.0f64, gbit in 0.01..100.0f64) {
            let mut hardware = HardwareProfile::by_name("aws-in-region").unwrap().clone();
            hardware.link.bytes_per_second = BytesPerSecond::gbit(gbit);
            let choice =
                lineitem(selectivity).choose(&hardware, PriceBook::paper(), Objective::Time);
            for other in &choice.rejected {
                prop_assert!(choice.chosen.work.wall <= other.work.wall.mul_f64(1.0 + ALIKE));
            }
        }
    }
}
