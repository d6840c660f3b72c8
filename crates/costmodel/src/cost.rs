//! Bills for work at the prices of a book.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use crate::{Bytes, Dollars, PriceBook, Requests, Work};

/// A bill, split into its terms.
///
/// ```text
/// cost = requests/1000·p + scanned/2³⁰·p + processed/2³⁰·p + store/3600·p + returned/2³⁰·p
///      + retrieved/2³⁰·p + out/2³⁰·p + wall/3600·p
/// ```
///
/// The formula and its "GB = 2^30 bytes" reproduce PushdownDB's Table II to the printed digit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Requests of all kinds.
    pub requests: Dollars,
    /// Bytes that S3 Select scanned.
    pub scanned: Dollars,
    /// Bytes that S3 Select processed, for stores that bill their work.
    pub processed: Dollars,
    /// Time of the store's cores, for stores that bill their work.
    pub store_compute: Dollars,
    /// Bytes that S3 Select returned.
    pub returned: Dollars,
    /// Bytes that GET retrieved, if the storage class bills them.
    pub retrieved: Dollars,
    /// Payload that left the store's region, by GET or Select.
    pub transfer: Dollars,
    /// The client's machine, for the time of the query.
    pub compute: Dollars,
}

impl Cost {
    /// The sum of all terms.
    #[must_use]
    pub fn total(&self) -> Dollars {
        self.store() + self.compute
    }

    /// The store's part of the bill: everything except the client's machine.
    #[must_use]
    pub fn store(&self) -> Dollars {
        let select = self.scanned + self.processed + self.store_compute + self.returned;
        self.requests + select + self.retrieved + self.transfer
    }

    /// The terms with their names, in the order of the bill; the terms for work come last.
    #[must_use]
    pub fn terms(&self) -> [(&'static str, Dollars); 8] {
        [
            ("requests", self.requests),
            ("scanned", self.scanned),
            ("returned", self.returned),
            ("retrieved", self.retrieved),
            ("transfer", self.transfer),
            ("compute", self.compute),
            ("processed", self.processed),
            ("store compute", self.store_compute),
        ]
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self {
            requests: self.requests + rhs.requests,
            scanned: self.scanned + rhs.scanned,
            processed: self.processed + rhs.processed,
            store_compute: self.store_compute + rhs.store_compute,
            returned: self.returned + rhs.returned,
            retrieved: self.retrieved + rhs.retrieved,
            transfer: self.transfer + rhs.transfer,
            compute: self.compute + rhs.compute,
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Add::add)
    }
}

/// Formats as `$0.0153 (requests $0.0000384, scanned $0.0145, compute $0.000816)`; zero terms are left out.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.total())?;
        let mut separator = " (";
        for (name, dollars) in self.terms() {
            if dollars != Dollars::ZERO {
                write!(f, "{separator}{name} {dollars}")?;
                separator = ", ";
            }
        }
        if separator == ", " { f.write_str(")") } else { Ok(()) }
    }
}

impl PriceBook {
    /// The bill for this work at these prices.
    #[must_use]
    pub fn cost(&self, work: &Work) -> Cost {
        let per_thousand = |price: Dollars, count: Requests| price * (count.as_f64() / 1000.0);
        let per_gib = |price: Dollars, bytes: Bytes| price * bytes.as_gib();
        let (prices, counts) = (&self.requests, &work.requests);
        let select = self.select.unwrap_or_default();
        Cost {
            requests: per_thousand(prices.get, counts.get)
                + per_thousand(prices.put, counts.put)
                + per_thousand(prices.list, counts.list)
                + per_thousand(prices.head, counts.head)
                + per_thousand(prices.select, counts.select),
            scanned: per_gib(select.scanned, work.scanned),
            processed: per_gib(select.processed, work.processed),
            store_compute: select.core_hour / 3600.0 * work.store.as_secs_f64(),
            returned: per_gib(select.returned, work.returned),
            retrieved: per_gib(self.transfer.retrieved, work.got),
            transfer: per_gib(self.transfer.out, work.got + work.returned),
            compute: self.compute.per_second() * work.wall.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestCounts;
    use std::time::Duration;

    /// TPC-H's lineitem at scale factor 10, as CSV.
    const LINEITEM: Bytes = Bytes(7_775_727_688);
    const LINEITEM_ROWS: u64 = 59_986_052;

    /// Checks against a published number of cents with one decimal.
    #[track_caller]
    fn published(work: Work, cents: &str) {
        let cost = PriceBook::paper().cost(&work).total();
        assert_eq!(format!("{:.1}", cost.cents()), cents);
    }

    fn wall(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// 96 objects read in parts of 8 MiB.
    fn server_side(seconds: f64) -> Work {
        Work {
            requests: RequestCounts { get: 960.into(), ..Default::default() },
            got: LINEITEM,
            wall: wall(seconds),
            ..Default::default()
        }
    }

    fn s3_side(seconds: f64, rows: u64) -> Work {
        Work {
            requests: RequestCounts { select: 96.into(), ..Default::default() },
            scanned: LINEITEM,
            returned: Bytes(rows * 130),
            wall: wall(seconds),
            ..Default::default()
        }
    }

    /// One GET per row, after a scan of the index with S3 Select.
    fn index(seconds: f64, rows: u64, bytes_per_entry: u64) -> Work {
        Work {
            requests: RequestCounts { get: rows.into(), select: 96.into(), ..Default::default() },
            scanned: Bytes(LINEITEM_ROWS * bytes_per_entry),
            returned: Bytes(rows * bytes_per_entry),
            got: Bytes(rows * 130),
            wall: wall(seconds),
            ..Default::default()
        }
    }

    /// PushdownDB, Table II: selectivities 1e-5 and 1e-3.
    #[test]
    fn the_published_cents_come_out() {
        published(server_side(21.7), "1.3");
        published(server_side(21.3), "1.3");
        published(s3_side(1.38, 600), "1.5");
        published(s3_side(1.82, 60_000), "1.6");
        published(index(1.74, 600, 24), "0.4");
        published(index(1.74, 600, 28), "0.4");
    }

    /// The paper's 3.4 cents are met to within the size of an index entry, which it does not give:
    /// 24 to 28 bytes make 3.30 to 3.35.
    #[test]
    fn the_index_at_1e_3_is_within_a_tenth_of_a_cent() {
        for bytes_per_entry in [24, 28] {
            let cents =
                PriceBook::paper().cost(&index(10.7, 60_000, bytes_per_entry)).total().cents();
            assert!((3.29..3.36).contains(&cents), "{cents}");
        }
    }

    /// The label in the paper's plot script for selectivity 1e-2 is $0.30. The time is predicted from 6630 GET/s,
    /// fitted at 1e-3.
    #[test]
    fn the_index_at_1e_2_costs_thirty_cents() {
        let seconds = 1.65 + 600_000.0 / 6630.0;
        let cents = PriceBook::paper().cost(&index(seconds, 600_000, 24)).total().cents();
        assert_eq!(format!("{cents:.0}"), "30");
    }

    /// With decimal gigabytes the paper's numbers do not come out.
    #[test]
    fn a_billed_gigabyte_is_binary() {
        let cost = PriceBook::paper().cost(&s3_side(1.38, 600));
        assert!((cost.scanned.cents() - 1.448).abs() < 0.001);
        assert!((LINEITEM.as_f64() / 1e9 * 0.2 + cost.compute.cents()) > 1.6);
    }

    /// Charges each amount at its own price only.
    #[test]
    fn every_term_is_charged_once() {
        let book = PriceBook::parse(
            "name = 'powers of ten'\nregion = ''\ndate = ''\nsource = ''\n\
             [requests]\nget = 1000\nput = 10_000\nlist = 100_000\nhead = 1e6\nselect = 1e7\n\
             [select]\nscanned = 1e5\nreturned = 1e6\nprocessed = 2e5\ncore_hour = 3.6e8\n\
             [transfer]\nout = 1e7\nretrieved = 1e8\n\
             [compute]\ninstance = ''\nper_hour = 3.6e8",
        )
        .unwrap();
        let one = Requests(1);
        let work = Work {
            requests: RequestCounts { get: one, put: one, list: one, head: one, select: one },
            scanned: Bytes::gib(1),
            processed: Bytes::gib(1),
            returned: Bytes::gib(1),
            got: Bytes::gib(1),
            sent: Bytes::gib(1),
            link: Bytes::gib(1),
            store: Duration::from_secs(3),
            wall: Duration::from_secs(10_000),
        };
        let expected = Cost {
            requests: Dollars(11_111.0),
            scanned: Dollars(1e5),
            processed: Dollars(2e5),
            store_compute: Dollars(3e5),
            returned: Dollars(1e6),
            retrieved: Dollars(1e8),
            transfer: Dollars(2e7),
            compute: Dollars(1e9),
        };
        let cost = book.cost(&work);
        assert_eq!(cost, expected);
        assert_eq!(cost.total(), Dollars(1_121_611_111.0));
        assert_eq!(cost.store(), Dollars(121_611_111.0));
        assert_eq!([cost, cost].into_iter().sum::<Cost>().total(), cost.total() * 2.0);
    }

    /// Prices PushdownDB's store as if it were paid for its work: 7.24 GiB at $0.0005, and the 94.6 s of core time
    /// for a comparison of each row, at $0.0665 an hour.
    #[test]
    fn a_store_may_be_paid_for_its_work() {
        use crate::{HardwareProfile, Rows, ScanWork};
        let book = PriceBook::by_name("work-2020-us-east-1").unwrap();
        let store_time = |terms: u32| {
            let rows = Rows(LINEITEM_ROWS);
            HardwareProfile::paper().store_time(&ScanWork {
                bytes: LINEITEM,
                rows,
                terms: terms.into(),
                ..ScanWork::default()
            })
        };
        let work =
            |terms| Work { processed: LINEITEM, store: store_time(terms), ..s3_side(1.38, 600) };
        let cost = book.cost(&work(1));
        assert_eq!(store_time(1), wall(7_775_727_688.0 / 130e6 + 59_986_052.0 * 5.8e-7));
        assert_eq!(format!("{:.1}", store_time(1).as_secs_f64()), "94.6");
        assert_eq!(cost.scanned, Dollars::ZERO);
        assert_eq!(format!("{:.5}", cost.processed.cents()), "0.36209");
        assert_eq!(format!("{:.5}", cost.store_compute.cents()), "0.17476");
        assert_eq!(cost.requests + cost.compute, {
            let paper = PriceBook::paper().cost(&work(1));
            paper.requests + paper.compute
        });
        // A plain scan is cheaper than at the published price; a scan that computes a lot is dearer.
        let published = PriceBook::paper().cost(&work(1)).store();
        assert!(cost.store() < published && book.cost(&work(20)).store() > published);
    }

    #[test]
    fn a_free_store_costs_nothing() {
        let book = PriceBook::by_name("free").unwrap();
        let cost = book.cost(&s3_side(100.0, 60_000));
        assert_eq!(cost.to_string(), "$0");
    }

    #[test]
    fn a_bill_shows_its_terms() {
        let cost = PriceBook::paper().cost(&server_side(21.7));
        assert_eq!(cost.to_string(), "$0.0132 (requests $0.000384, compute $0.0128)");
    }
}
