//! Price books: the prices of a store and a machine, as dated data.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::data::{self, DataError};
use crate::{Dollars, Provenance};

/// Dollars per 1000 requests, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestPrices {
    /// A GET of an object, ranged or whole.
    #[serde(deserialize_with = "data::price")]
    pub get: Dollars,
    /// A PUT of an object, and each part of a multipart upload.
    #[serde(deserialize_with = "data::price")]
    pub put: Dollars,
    /// One page of a listing.
    #[serde(deserialize_with = "data::price")]
    pub list: Dollars,
    /// A HEAD of an object or a bucket.
    #[serde(deserialize_with = "data::price")]
    pub head: Dollars,
    /// `SelectObjectContent`, in addition to [`SelectPrices`].
    #[serde(deserialize_with = "data::price")]
    pub select: Dollars,
}

/// Dollars per GiB (2^30 bytes) that S3 Select handles, and per hour of the store's cores.
///
/// Stores bill the scanned bytes, whatever they compute. PushdownDB (ICDE 2020, section X) suggests to bill the work
/// instead: `processed` and `core_hour` do so, for "what if" predictions. Either may be left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectPrices {
    /// Bytes read from the object: compressed bytes if it is stored compressed.
    #[serde(deserialize_with = "data::price")]
    pub scanned: Dollars,
    /// Bytes sent back to the client.
    #[serde(deserialize_with = "data::price")]
    pub returned: Dollars,
    /// Bytes read from the object, after decompression.
    #[serde(default, deserialize_with = "data::price")]
    pub processed: Dollars,
    /// An hour of one of the store's cores.
    #[serde(default, deserialize_with = "data::price")]
    pub core_hour: Dollars,
}

/// Dollars per GiB (2^30 bytes) that leaves the store, by GET or by Select.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferPrices {
    /// Transfer from the store's region to the client.
    #[serde(deserialize_with = "data::price")]
    pub out: Dollars,
    /// The storage class's retrieval fee for GET.
    #[serde(deserialize_with = "data::price")]
    pub retrieved: Dollars,
}

/// The price of the client's machine while it waits and works.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComputePrice {
    /// The type of the rented machine.
    pub instance: String,
    /// Dollars per hour, billed by the second.
    #[serde(deserialize_with = "data::price")]
    pub per_hour: Dollars,
}

impl ComputePrice {
    /// The price per second, in dollars.
    #[must_use]
    pub fn per_second(&self) -> Dollars {
        self.per_hour / 3600.0
    }
}

/// The prices of one place at one time.
///
/// The cost of a query does not contain storage, as in PushdownDB: queries do not change it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceBook {
    /// The book's name, as the option `--prices` takes it.
    #[serde(deserialize_with = "data::text")]
    pub name: String,
    /// The region of the store.
    #[serde(deserialize_with = "data::text")]
    pub region: String,
    /// The date of these prices: year, or year and month.
    #[serde(deserialize_with = "data::text")]
    pub date: String,
    /// The source of the prices, and which of them are assumed.
    #[serde(deserialize_with = "data::text")]
    pub source: String,
    /// Dollars per GiB (2^30 bytes) that is stored for a month. If left out, it is 0.
    #[serde(default, deserialize_with = "data::price")]
    pub storage_month: Dollars,
    /// Prices of requests.
    pub requests: RequestPrices,
    /// Prices of S3 Select. `None` if the store does not sell it; [`crate::ScanDemand`] then does not offer it.
    pub select: Option<SelectPrices>,
    /// Prices of data that leaves the store.
    pub transfer: TransferPrices,
    /// The price of the client's machine.
    pub compute: ComputePrice,
}

/// The books in the order shown to users; the default comes first.
static BOOKS: LazyLock<[PriceBook; 9]> = LazyLock::new(|| {
    [
        include_str!("../prices/paper-2020-us-east-1.toml"),
        include_str!("../prices/paper-2020-us-east-1-internet.toml"),
        include_str!("../prices/fpdb-us-west-1.toml"),
        include_str!("../prices/s3-express-us-east-1.toml"),
        include_str!("../prices/s3-standard-2024-us-east-1.toml"),
        include_str!("../prices/s3-standard-2026-us-east-1.toml"),
        include_str!("../prices/s3-standard-2026-us-east-1-internet.toml"),
        include_str!("../prices/work-2020-us-east-1.toml"),
        include_str!("../prices/free.toml"),
    ]
    .map(data::embedded)
});

impl PriceBook {
    /// The default book: PushdownDB's prices in us-east-1, with its client in the same region.
    #[must_use]
    pub fn paper() -> &'static Self {
        &BOOKS[0]
    }

    /// All books that come with this crate, the default first.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &*BOOKS
    }

    /// The book of this name, if it comes with this crate.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|book| book.name == name)
    }

    /// Parses a user's price book, in the format of the files in `prices/`.
    ///
    /// # Errors
    ///
    /// If a key is missing, unknown, of the wrong type or not a price. The error names the first such key and its
    /// line.
    pub fn parse(toml: &str) -> Result<Self, DataError> {
        data::parse(toml)
    }

    /// The book's name, region and date, as EXPLAIN shows them.
    #[must_use]
    pub fn introduction(&self) -> String {
        format!("{} ({}, {})", self.name, self.region, self.date)
    }

    /// The provenance of a price from this book.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        Provenance::Published(self.introduction().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_book_is_found_by_its_name() {
        for book in PriceBook::all() {
            assert_eq!(PriceBook::by_name(&book.name), Some(book));
            assert!(book.date.len() >= 4 && !book.source.is_empty() && !book.region.is_empty());
        }
        assert_eq!(PriceBook::by_name("paper-2020-us-east-1"), Some(PriceBook::paper()));
        assert_eq!(PriceBook::by_name(""), None);
    }

    const GOOD: &str = include_str!("../prices/free.toml");

    #[track_caller]
    fn refused(from: &str, to: &str, expected: &str) {
        assert!(GOOD.contains(from));
        let error = PriceBook::parse(&GOOD.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_bad_price_is_named_with_its_line() {
        refused(
            "get = 0",
            "get = -1",
            "line 8, `requests.get`: a price must be a number of dollars between 0 and 1e9",
        );
        refused(
            "returned = 0",
            "returned = inf",
            "line 16, `select.returned`: a price must be a number of dollars between 0 and 1e9",
        );
        for absurd in ["1e300", "nan"] {
            refused(
                "scanned = 0",
                &format!("scanned = {absurd}"),
                "line 15, `select.scanned`: a price must be a number of dollars between 0 and 1e9",
            );
        }
        refused(
            "put = 0",
            "put = \"free\"",
            "line 11, `requests.put`: invalid type: string \"free\", expected f64",
        );
    }

    #[test]
    fn missing_and_unknown_keys_are_named() {
        refused("head = 0\n", "", "line 7: missing field `head`");
        refused("region = \"local\"\n", "", "line 1: missing field `region`");
        refused(
            "out = 0",
            "outt = 0",
            "line 19, `transfer.outt`: unknown field `outt`, expected `out` or `retrieved`",
        );
    }

    #[test]
    fn text_that_is_not_toml_is_refused() {
        for text in ["", "{", "name", "name = ", "\u{0}", "[[[[", "a.b.c = [1, {}]"] {
            assert!(PriceBook::parse(text).is_err(), "{text:?}");
        }
    }
}
