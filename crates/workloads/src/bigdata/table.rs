//! The two tables and their columns.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatchReader;

use super::{rankings, uservisits};
use crate::numbered::NumberedRows;
use crate::table::{DataTable, Share};

pub(super) const REVENUE_PRECISION: u8 = 9;
pub(super) const REVENUE_SCALE: i8 = 6;

/// A table of the Big Data benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// Pages: 18 million rows per scale factor.
    Rankings,
    /// Visits to pages: 31.7 million rows per scale factor.
    Uservisits,
}

/// The seed of the benchmark's random numbers; the default is 42.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

impl Default for Seed {
    fn default() -> Self {
        Self(42)
    }
}

impl Table {
    /// Both tables, by name.
    pub const ALL: [Self; 2] = [Self::Rankings, Self::Uservisits];
}

impl DataTable for Table {
    const DATA_SET: &'static str = "bigdata";
    const ALL: &'static [Self] = &Self::ALL;
    const CSV_BYTES: f64 = 7e9;
    const LEAST_SCALE: f64 = 0.000_01;
    type Seed = Seed;

    fn name(self) -> &'static str {
        match self {
            Self::Rankings => "rankings",
            Self::Uservisits => "uservisits",
        }
    }

    /// Returns the columns: integers are `Int32`, dates `Date32`, money `Decimal128(9, 6)` and text `Utf8View`. None
    /// is nullable.
    fn schema(self) -> SchemaRef {
        let revenue = DataType::Decimal128(REVENUE_PRECISION, REVENUE_SCALE);
        let columns = match self {
            Self::Rankings => vec![
                ("pageurl", DataType::Utf8View),
                ("pagerank", DataType::Int32),
                ("avgduration", DataType::Int32),
            ],
            Self::Uservisits => vec![
                ("sourceip", DataType::Utf8View),
                ("desturl", DataType::Utf8View),
                ("visitdate", DataType::Date32),
                ("adrevenue", revenue),
                ("useragent", DataType::Utf8View),
                ("countrycode", DataType::Utf8View),
                ("languagecode", DataType::Utf8View),
                ("searchword", DataType::Utf8View),
                ("duration", DataType::Int32),
            ],
        };
        let fields = columns.into_iter().map(|(name, kind)| Field::new(name, kind, false));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    fn rows(self, scale: f64) -> u64 {
        let per_scale = match self {
            Self::Rankings => 18_000_000.0,
            Self::Uservisits => 31_700_000.0,
        };
        (per_scale * scale).round() as u64
    }

    fn shares(self, scale: f64) -> u64 {
        self.rows(scale)
    }

    fn batches(share: Share<Self>) -> Box<dyn RecordBatchReader + Send> {
        let Share { table, scale, seed: Seed(seed), .. } = share;
        let pages = Self::Rankings.rows(scale);
        let visits = Self::Uservisits.rows(scale);
        Box::new(NumberedRows::new(share, move |schema, numbers| match table {
            Self::Rankings => rankings::batch(schema, seed, pages, numbers),
            Self::Uservisits => uservisits::batch(schema, seed, (visits, pages), numbers),
        }))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a name that is not a table of the Big Data benchmark.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no table of the Big Data benchmark: they are rankings and uservisits")]
pub struct UnknownTable(String);

impl FromStr for Table {
    type Err = UnknownTable;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|table| table.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| UnknownTable(name.to_owned()))
    }
}
