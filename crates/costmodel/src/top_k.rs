//! ORDER BY … LIMIT over a scan: a sample first, then only the rows that may be in the answer.

use crate::break_even::top_k_sample;
use crate::{Bytes, Phase, Requests, Rows, ScanDemand, Steps, Terms};

/// The demand of a top-K over a scan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TopKDemand {
    /// The scan without a sample.
    pub scan: ScanDemand,
    /// The number of rows needed: the rows of the answer plus the rows that OFFSET skips.
    pub k: Rows,
    /// The bytes of a sampled row as a fraction of a returned row: above 0, at most 1.
    pub share: f64,
    /// Stored bytes of the sampled columns, over the whole table.
    pub keys_needed: Bytes,
    /// The number of requests of the sample.
    pub sample_requests: Requests,
    /// The number of rows to sample, at least 1; `None` for the number that returns the fewest bytes.
    pub sample_rows: Option<Rows>,
}

impl TopKDemand {
    /// The number of rows that the store returns without a sample.
    #[must_use]
    pub fn passing(&self) -> Rows {
        self.scan.rows * self.scan.selectivity.clamp(0.0, 1.0)
    }

    /// The number of rows to sample: [`Self::sample_rows`], or else PushdownDB's S*, see [`top_k_sample`].
    #[must_use]
    pub fn sample(&self) -> Rows {
        self.sample_rows.unwrap_or_else(|| top_k_sample(self.k, self.passing(), self.share))
    }

    /// The number of rows to sample if only the order columns of the remaining rows are returned at first:
    /// [`Self::sample_rows`], or else `√(K·N)`. Both steps then return the same columns, so this size returns the fewest
    /// bytes.
    #[must_use]
    pub fn late_sample(&self) -> Rows {
        self.sample_rows.unwrap_or_else(|| top_k_sample(self.k, self.passing(), 1.0))
    }

    /// The steps with a sample: the sample, and then the rows that it leaves.
    ///
    /// Returns `None` without Select, or if the sample would be the whole table.
    #[must_use]
    pub fn sampling(&self) -> Option<Steps> {
        let sampled = self.sampled(self.sample())?;
        let filtered = self.filtered(self.k / self.sample()).select()?.steps;
        Some(Steps::InTurn(vec![sampled.into(), filtered]))
    }

    /// The steps with late materialization: a sample, then the order columns of the rows that it leaves, then the
    /// rows of the answer from the objects and ranges that hold them.
    ///
    /// Returns `None` in the cases of [`Self::sampling`].
    #[must_use]
    pub fn late_steps(&self) -> Option<Steps> {
        let sampled = self.sampled(self.late_sample())?;
        let keys = ScanDemand {
            needed: self.keys_needed,
            bytes_per_returned_row: self.scan.bytes_per_returned_row * self.share,
            ..self.filtered(self.k / self.late_sample())
        };
        let rows = self.filtered(self.k / self.passing());
        // In the worst case, each row of the answer is in a range of its own.
        let requests = self.scan.select_requests?.as_f64().max(1.0);
        let asked = (self.k.as_f64() / requests).min(1.0);
        let phase = |name, demand: &ScanDemand, share: f64, columns: f64| {
            let rows = demand.rows.as_f64() * demand.selectivity;
            let columns = f64::from(demand.columns) * columns;
            let selects = Requests::from_f64((requests * share).ceil());
            let scanned = demand.scanned();
            Phase {
                name,
                format: demand.format,
                answer: demand.answer,
                selects,
                selects_at_once: demand.selects_at_once,
                scanned: scanned.bytes * share,
                scanned_rows: scanned.rows * share,
                terms: demand.terms,
                answered: demand.written(rows, columns, demand.returned()),
                returned: demand.returned(),
                values: demand.parsed_of(rows, columns),
                ..Phase::default()
            }
        };
        let (keys, rows) =
            (phase("keys", &keys, 1.0, self.share), phase("rows", &rows, asked, 1.0));
        Some(Steps::InTurn(vec![sampled.into(), keys.into(), rows.into()]))
    }

    fn sampled(&self, sample: Rows) -> Option<Phase> {
        let passing = self.passing();
        self.scan.select_requests?;
        if sample >= passing {
            return None;
        }
        let fraction = sample / passing;
        let columns = f64::from(self.scan.columns) * self.share;
        let scanned = ScanDemand { needed: self.keys_needed, ..self.scan }.scanned();
        let returned = self.scan.returned() * (fraction * self.share);
        Some(Phase {
            name: "sample",
            format: self.scan.format,
            answer: self.scan.answer,
            selects: self.sample_requests,
            selects_at_once: Some(self.sample_requests),
            scanned: scanned.bytes * fraction,
            scanned_rows: scanned.rows * fraction,
            terms: self.scan.terms,
            answered: self.scan.written(sample.as_f64(), columns, returned),
            returned,
            values: self.scan.parsed_of(sample.as_f64(), columns),
            ..Phase::default()
        })
    }

    /// The scan with a bound that leaves this fraction of its rows.
    fn filtered(&self, left: f64) -> ScanDemand {
        let bound = Terms { casts: 1.0, ..Terms::from(1) };
        ScanDemand {
            passing: self.scan.passing * left.min(1.0),
            selectivity: self.scan.selectivity * left.min(1.0),
            terms: self.scan.terms + bound.times(self.scan.passing),
            ..self.scan
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnswerFormat, Bytes, Format, HardwareProfile, predict};
    use proptest::prelude::*;

    /// PushdownDB's Figure 9: at scale factor 10, α = 0.1.
    #[test]
    fn the_papers_sample_sizes() {
        let lineitem = Rows(60_000_000);
        for (k, expected) in [
            (1, 24_495),
            (10, 77_460),
            (100, 244_949),
            (1_000, 774_597),
            (10_000, 2_449_490),
            (100_000, 7_745_967),
        ] {
            assert_eq!(top_k_sample(Rows(k), lineitem, 0.1), Rows(expected), "k = {k}");
        }
        // At scale factor 1, Figure 8's best hundred.
        assert_eq!(top_k_sample(Rows(100), Rows(6_000_000), 0.1), Rows(77_460));
    }

    fn lineitem(k: u64) -> TopKDemand {
        let scan = ScanDemand {
            objects: 96,
            format: Format::Csv,
            answer: AnswerFormat::Csv,
            needed: Bytes(7_775_727_688),
            gaps: Bytes::ZERO,
            rows: Rows(60_000_000),
            looked_up: None,
            terms: Terms::NONE,
            passing: 1.0,
            items: Terms::NONE,
            constants: 0,
            selectivity: 1.0,
            columns: 16,
            filter_columns: 0,
            bytes_per_returned_row: 130.0,
            footers: Requests::ZERO,
            get_requests: Requests(960),
            gets_at_once: None,
            select_requests: Some(Requests(96)),
            selects_at_once: None,
        };
        TopKDemand {
            keys_needed: scan.needed,
            scan,
            k: Rows(k),
            share: 0.1,
            sample_requests: Requests(96),
            sample_rows: None,
        }
    }

    /// The paper claims that sampling is always faster.
    #[test]
    fn sampling_is_faster_for_every_k_of_the_paper() {
        let hardware = HardwareProfile::paper();
        for k in [1, 10, 100, 1_000, 10_000, 100_000] {
            let demand = lineitem(k);
            let sampling = predict(&demand.sampling().unwrap(), hardware).total();
            let get = predict(&demand.scan.get().steps, hardware).total();
            let select = predict(&demand.scan.select().unwrap().steps, hardware).total();
            assert!(sampling < get && sampling < select, "k = {k}: {sampling:?}, {get:?}");
        }
    }

    #[test]
    fn the_answer_is_what_the_sample_leaves() {
        let steps = lineitem(100).sampling().unwrap();
        let [sample, filtered] = steps.phases()[..] else { panic!("{steps:?}") };
        // 244 949 rows of 13 bytes, and as many bytes in the second step: the minimum of their sum.
        assert_eq!((sample.name, sample.returned.0 / 1000), ("sample", 3184));
        assert_eq!(filtered.returned.0 / 1000, 3184);
        assert_eq!(filtered.scanned, Bytes(7_775_727_688));
        assert_eq!(steps.work().requests.select, Requests(192));
    }

    #[test]
    fn late_rows_are_those_of_the_answer() {
        let steps = lineitem(100).late_steps().unwrap();
        let [sample, keys, rows] = steps.phases()[..] else { panic!("{steps:?}") };
        assert_eq!((sample.name, keys.name, rows.name), ("sample", "keys", "rows"));
        // √(100 · 60 000 000) rows of 13 bytes, twice.
        assert_eq!(lineitem(100).late_sample(), Rows(77_460));
        assert_eq!((sample.returned.0 / 1000, keys.returned.0 / 1000), (1006, 1006));
        assert_eq!(rows.returned, Bytes(100 * 130));
        // A few rows are in a few of the 96 ranges.
        assert_eq!((rows.selects, keys.selects), (Requests(96), Requests(96)));
        let steps = lineitem(3).late_steps().unwrap();
        let rows = steps.phases()[2].clone();
        assert_eq!((rows.selects, rows.scanned), (Requests(3), Bytes(7_775_727_688 / 32)));
    }

    /// Late materialization saves bytes on the link and costs another scan.
    #[test]
    fn late_rows_pay_where_rows_are_wide_and_the_link_is_slow() {
        let faster = |demand: TopKDemand, hardware: &HardwareProfile| {
            let time = |steps: Option<Steps>| predict(&steps.unwrap(), hardware).total();
            time(demand.late_steps()) < time(demand.sampling())
        };
        let slow = HardwareProfile::by_name("home-100mbit").unwrap();
        let fast = HardwareProfile::by_name("aws-in-region").unwrap();
        let mut wide = lineitem(10_000);
        assert!(!faster(wide, fast));
        wide.share = 0.01;
        wide.scan.bytes_per_returned_row = 1300.0;
        assert!(faster(wide, slow));
        assert!(!faster(lineitem(1), fast));
    }

    proptest! {
        /// The best rows of less data take no longer by any strategy: K rows of a part of the table, or fewer rows of
        /// all of it.
        #[test]
        fn fewer_rows_are_never_slower(
            k in 1u64..100_000, rows in 1_000_000u64..1_000_000_000, part in 0.01..1.0f64,
            share in 0.01..1.0f64, fewer in any::<bool>(), profile in 0usize..6,
        ) {
            let hardware = &HardwareProfile::all()[profile];
            let demand = |rows: u64, k: u64| {
                let mut demand = TopKDemand { share, ..lineitem(k) };
                demand.scan.rows = Rows(rows);
                demand.scan.needed = Bytes(rows * 130);
                demand.keys_needed = demand.scan.needed;
                demand
            };
            let whole = demand(rows, k);
            let less = match fewer {
                true => demand(rows, 1.max((k as f64 * part) as u64)),
                false => demand((rows as f64 * part) as u64, k),
            };
            for way in [TopKDemand::sampling, TopKDemand::late_steps] {
                let (Some(less), Some(whole)) = (way(&less), way(&whole)) else { continue };
                let less = predict(&less, hardware).total().as_secs_f64();
                let whole = predict(&whole, hardware).total().as_secs_f64();
                // Samples have a whole number of rows.
                prop_assert!(less <= whole * 1.001 + 1e-6, "{less} s, {whole} s");
            }
        }
    }

    #[test]
    fn a_sample_of_everything_is_none() {
        assert_eq!(lineitem(60_000_000).sampling(), None);
        assert_eq!(lineitem(6_000_000).sampling(), None);
        assert_eq!(lineitem(60_000_000).late_steps(), None);
        let mut none = lineitem(1);
        none.scan.rows = Rows(0);
        assert_eq!(none.sampling(), None);
        none = lineitem(1);
        none.scan.select_requests = None;
        assert_eq!((none.sampling(), none.late_steps()), (None, None));
    }
}
