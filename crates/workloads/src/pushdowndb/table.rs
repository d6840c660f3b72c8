//! Generates the table of the group-by.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, Decimal128Array, Int32Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchReader};

use super::Seed;
use crate::numbered::NumberedRows;
use crate::random::{Random, Zipf};
use crate::table::{DataTable, Share};

/// The number of digits of a value, followed by how many of them are after the point.
const PRECISION: u8 = 11;
const SCALE: i8 = 10;
/// The number of columns with values.
const VALUES: usize = 10;
/// The number that separates this table's random numbers from those of others.
const STREAM: u64 = 4;

/// The number of groups of the columns g0 to g9, and the skew of their sizes: the `k`-th largest group has a weight
/// of `1 / k^theta`. The paper does not describe g3 and g6.
const GROUPS: [(usize, f64); 10] = [
    (100, 0.0),
    (100, 0.6),
    (100, 0.9),
    (100, 1.0),
    (100, 1.1),
    (100, 1.3),
    (2, 0.9),
    (10, 0.9),
    (1_000, 0.9),
    (10_000, 0.9),
];

static DISTRIBUTIONS: LazyLock<[Zipf; GROUPS.len()]> =
    LazyLock::new(|| GROUPS.map(|(groups, theta)| Zipf::new(groups, theta)));

/// A table of the paper's micro-benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// Ten columns of groups, whose sizes follow Zipf's law, and ten of values: 6.4 million rows per scale factor.
    Skewed,
}

impl DataTable for Table {
    const DATA_SET: &'static str = "pushdowndb";
    const ALL: &'static [Self] = &[Self::Skewed];
    const LEAST_SCALE: f64 = 0.000_01;
    type Seed = Seed;

    fn name(self) -> &'static str {
        match self {
            Self::Skewed => "skewed",
        }
    }

    /// Returns the columns. Groups g0 to g9 are `Int32`, counted from 0, the largest first; values f0 to f9 are
    /// `Decimal128(11, 10)`, uniform between 0 and 1. None is nullable.
    fn schema(self) -> SchemaRef {
        let groups = (0..GROUPS.len()).map(|at| (format!("g{at}"), DataType::Int32));
        let value = DataType::Decimal128(PRECISION, SCALE);
        let values = (0..VALUES).map(|at| (format!("f{at}"), value.clone()));
        let fields = groups.chain(values).map(|(name, kind)| Field::new(name, kind, false));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    fn rows(self, scale: f64) -> u64 {
        (6_400_000.0 * scale).round() as u64
    }

    fn shares(self, scale: f64) -> u64 {
        self.rows(scale)
    }

    fn batches(share: Share<Self>) -> Box<dyn RecordBatchReader + Send> {
        let Seed(seed) = share.seed;
        Box::new(NumberedRows::new(share, move |schema, numbers| batch(schema, seed, numbers)))
    }
}

/// Generates the rows with these numbers.
fn batch(schema: SchemaRef, seed: u64, numbers: Range<u64>) -> Result<RecordBatch, ArrowError> {
    let mut groups: [Vec<i32>; GROUPS.len()] = Default::default();
    let mut values: [Vec<i128>; VALUES] = Default::default();
    let end = 10_u64.pow(SCALE.unsigned_abs().into());
    for number in numbers {
        let mut random = Random::new(seed, STREAM, number);
        for (column, distribution) in groups.iter_mut().zip(&*DISTRIBUTIONS) {
            // The group number is at most 10,000.
            column.push(distribution.draw(&mut random) as i32);
        }
        for column in &mut values {
            column.push(random.below(end).into());
        }
    }
    let mut columns: Vec<ArrayRef> = Vec::new();
    for column in groups {
        columns.push(Arc::new(Int32Array::from(column)));
    }
    for column in values {
        let column = Decimal128Array::from(column).with_precision_and_scale(PRECISION, SCALE)?;
        columns.push(Arc::new(column));
    }
    RecordBatch::try_new(schema, columns)
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a name that is not a table of the paper.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no table of PushdownDB's own: there is skewed")]
pub struct UnknownTable(String);

impl FromStr for Table {
    type Err = UnknownTable;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        <Self as DataTable>::ALL
            .iter()
            .copied()
            .find(|table| table.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| UnknownTable(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;
    use arrow::compute::concat_batches;
    use arrow::datatypes::{Decimal128Type, Int32Type};

    use super::*;

    fn rows(scale: f64, seed: u64) -> RecordBatch {
        let share = Share::whole(Table::Skewed, scale, Seed(seed));
        let batches: Vec<_> = Table::batches(share).map(Result::unwrap).collect();
        concat_batches(&Table::Skewed.schema(), &batches).unwrap()
    }

    #[test]
    fn groups_are_as_skewed_as_published() {
        let rows = rows(0.01, 42);
        assert_eq!(rows.num_rows(), 64_000);
        let shares = |name: &str| {
            let mut counts = vec![0_u32; 10_000];
            for group in rows.column_by_name(name).unwrap().as_primitive::<Int32Type>().values() {
                counts[*group as usize] += 1;
            }
            counts.into_iter().map(|count| f64::from(count) / 64_000.0).collect::<Vec<_>>()
        };
        // In the paper, the four largest groups have 59 % of the rows with θ = 1.3.
        let g5: f64 = shares("g5")[..4].iter().sum();
        assert!((0.575..0.595).contains(&g5), "{g5}");
        let g0 = shares("g0");
        assert!(g0[..100].iter().all(|share| (0.008..0.012).contains(share)), "{g0:?}");
        for (at, (groups, _)) in GROUPS.iter().enumerate() {
            let beyond: f64 = shares(&format!("g{at}"))[*groups..].iter().sum();
            assert_eq!(beyond, 0.0, "g{at}");
        }
    }

    #[test]
    fn values_are_uniform() {
        let rows = rows(0.001, 42);
        for at in 0..VALUES {
            let column = rows.column(GROUPS.len() + at).as_primitive::<Decimal128Type>();
            let mean = column.values().iter().sum::<i128>() as f64 / 6_400.0 / 1e10;
            assert!((0.48..0.52).contains(&mean), "f{at}: {mean}");
        }
    }

    #[test]
    fn seeds_differ_and_shares_are_parts() {
        assert_eq!(rows(0.0005, 1), rows(0.0005, 1));
        assert_ne!(rows(0.0005, 1), rows(0.0005, 2));
        let share =
            |index| Share { index, count: 3, ..Share::whole(Table::Skewed, 0.0005, Seed(1)) };
        let parts: Vec<_> =
            (0..3).flat_map(|index| Table::batches(share(index))).map(Result::unwrap).collect();
        assert_eq!(concat_batches(&Table::Skewed.schema(), &parts).unwrap(), rows(0.0005, 1));
    }

    #[test]
    fn a_table_is_found_by_name() {
        assert_eq!("Skewed".parse(), Ok(Table::Skewed));
        assert!("uniform".parse::<Table>().is_err());
        let columns = Table::Skewed.columns_sql();
        assert!(columns.starts_with("g0 INT NOT NULL, "), "{columns}");
        assert!(columns.ends_with(", f9 DECIMAL(11, 10) NOT NULL"), "{columns}");
    }
}
