//! Generates the tables of the micro-benchmarks: two for group-bys, and three of floats.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int32Array};
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

/// The number of different floats of a column, each with four decimals between 0 and 1.
const FLOATS: u64 = 10_000;

static DISTRIBUTIONS: LazyLock<[Zipf; GROUPS.len()]> =
    LazyLock::new(|| GROUPS.map(|(groups, theta)| Zipf::new(groups, theta)));

/// A table of the paper's micro-benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// Ten columns of groups, whose sizes follow Zipf's law, and ten of values: 6.4 million rows per scale factor
    /// (Figures 6 and 7).
    Skewed,
    /// Ten columns of 2, 4, …, 1024 groups of equal sizes, and ten of values: 6.4 million rows per scale factor
    /// (Figure 5).
    Uniform,
    /// One column of floats: 14.3 million rows, which are 100 MB of CSV, per scale factor (Figure 11).
    Floats1,
    /// Ten columns of floats, with as many rows.
    Floats10,
    /// Twenty columns of floats, with as many rows.
    Floats20,
}

impl Table {
    /// The number that separates the table's random numbers from those of others.
    fn stream(self) -> u64 {
        match self {
            Self::Skewed => 4,
            Self::Uniform => 5,
            Self::Floats1 | Self::Floats10 | Self::Floats20 => 6,
        }
    }

    /// The number of columns of a table of floats; 0 for other tables.
    fn floats(self) -> usize {
        match self {
            Self::Skewed | Self::Uniform => 0,
            Self::Floats1 => 1,
            Self::Floats10 => 10,
            Self::Floats20 => 20,
        }
    }
}

impl DataTable for Table {
    const DATA_SET: &'static str = "pushdowndb";
    const ALL: &'static [Self] =
        &[Self::Skewed, Self::Uniform, Self::Floats1, Self::Floats10, Self::Floats20];
    const CSV_BYTES: f64 = 5.1e9;
    const LEAST_SCALE: f64 = 0.000_01;
    type Seed = Seed;

    fn name(self) -> &'static str {
        match self {
            Self::Skewed => "skewed",
            Self::Uniform => "uniform",
            Self::Floats1 => "floats_1",
            Self::Floats10 => "floats_10",
            Self::Floats20 => "floats_20",
        }
    }

    /// Returns the columns, none of which is nullable. Groups g0 to g9 are `Int32`, counted from 0, the largest first if
    /// they are skewed; values f0 to f9 are `Decimal128(11, 10)`, uniform between 0 and 1. Tables of floats have
    /// columns f0, f1, … of `Float64` with four decimals, uniform between 0 and 1.
    fn schema(self) -> SchemaRef {
        let column = |name: String, kind: &DataType| Field::new(name, kind.clone(), false);
        let fields: Vec<Field> = match self.floats() {
            0 => {
                let value = DataType::Decimal128(PRECISION, SCALE);
                let groups = (0..GROUPS.len()).map(|at| column(format!("g{at}"), &DataType::Int32));
                groups.chain((0..VALUES).map(|at| column(format!("f{at}"), &value))).collect()
            }
            many => (0..many).map(|at| column(format!("f{at}"), &DataType::Float64)).collect(),
        };
        Arc::new(Schema::new(fields))
    }

    fn rows(self, scale: f64) -> u64 {
        let per_scale = if self.floats() == 0 { 6_400_000.0 } else { 14_300_000.0 };
        (per_scale * scale).round() as u64
    }

    /// Values are about as wide in all tables, which have 1 to 20 columns.
    fn size(self, scale: f64) -> f64 {
        (self.rows(scale) * self.schema().fields().len() as u64) as f64
    }

    fn shares(self, scale: f64) -> u64 {
        self.rows(scale)
    }

    fn batches(share: Share<Self>) -> Box<dyn RecordBatchReader + Send> {
        let (Seed(seed), table) = (share.seed, share.table);
        Box::new(NumberedRows::new(share, move |schema, numbers| {
            let randoms = numbers.map(|number| Random::new(seed, table.stream(), number));
            match table.floats() {
                0 => groups_and_values(table, schema, randoms),
                columns => floats(columns, schema, randoms),
            }
        }))
    }
}

/// Generates rows of groups and values, one for each source of random numbers.
fn groups_and_values(
    table: Table,
    schema: SchemaRef,
    rows: impl Iterator<Item = Random>,
) -> Result<RecordBatch, ArrowError> {
    let mut groups: [Vec<i32>; GROUPS.len()] = Default::default();
    let mut values: [Vec<i128>; VALUES] = Default::default();
    let end = 10_u64.pow(SCALE.unsigned_abs().into());
    for mut random in rows {
        for (at, (column, distribution)) in groups.iter_mut().zip(&*DISTRIBUTIONS).enumerate() {
            // The group number is at most 10,000.
            column.push(match table {
                Table::Uniform => random.below(2 << at) as i32,
                _ => distribution.draw(&mut random) as i32,
            });
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

/// Generates rows of floats, one for each source of random numbers. A column is the same in tables of any width.
fn floats(
    columns: usize,
    schema: SchemaRef,
    rows: impl Iterator<Item = Random>,
) -> Result<RecordBatch, ArrowError> {
    let mut values = vec![Vec::new(); columns];
    for mut random in rows {
        for column in &mut values {
            column.push(random.below(FLOATS) as f64 / FLOATS as f64);
        }
    }
    let columns = values.into_iter().map(|column| Arc::new(Float64Array::from(column)) as ArrayRef);
    RecordBatch::try_new(schema, columns.collect())
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a name that is not a table of the paper.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no table of PushdownDB's own: there are skewed, uniform, floats_1, floats_10 and floats_20"
)]
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
    use arrow::datatypes::{Decimal128Type, Float64Type, Int32Type};

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
    fn uniform_groups_double_from_column_to_column() {
        let share = Share::whole(Table::Uniform, 0.01, Seed(42));
        let batches: Vec<_> = Table::batches(share).map(Result::unwrap).collect();
        let rows = concat_batches(&Table::Uniform.schema(), &batches).unwrap();
        assert_eq!(rows.num_rows(), 64_000);
        for at in 0..10 {
            let groups = 2 << at;
            let mut counts = vec![0_u32; groups];
            for group in rows.column(at).as_primitive::<Int32Type>().values() {
                counts[*group as usize] += 1;
            }
            let expected = 64_000 / groups as u32;
            let bounds = expected - expected / 2..=expected + expected / 2 + 10;
            assert!(counts.iter().all(|count| bounds.contains(count)), "g{at}: {counts:?}");
        }
    }

    #[test]
    fn floats_have_four_decimals_and_are_the_same_in_tables_of_any_width() {
        let rows = |table: Table| {
            let share = Share::whole(table, 0.000_5, Seed(42));
            let batches: Vec<_> = Table::batches(share).map(Result::unwrap).collect();
            concat_batches(&table.schema(), &batches).unwrap()
        };
        let (one, ten, twenty) =
            (rows(Table::Floats1), rows(Table::Floats10), rows(Table::Floats20));
        assert_eq!((one.num_rows(), one.num_columns(), twenty.num_columns()), (7150, 1, 20));
        assert_eq!((one.column(0), ten.column(9)), (ten.column(0), twenty.column(9)));
        let values = one.column(0).as_primitive::<Float64Type>().values();
        assert!(
            values
                .iter()
                .all(|x| (0.0..1.0).contains(x) && (x * 1e4 - (x * 1e4).round()).abs() < 1e-6)
        );
        let below = values.iter().filter(|x| **x < 0.25).count() as f64 / 7150.0;
        assert!((0.22..0.28).contains(&below), "{below}");
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
        assert_eq!("floats_10".parse(), Ok(Table::Floats10));
        assert!("floats".parse::<Table>().is_err());
        assert_eq!(Table::Floats1.columns_sql(), "f0 DOUBLE NOT NULL");
        let columns = Table::Skewed.columns_sql();
        assert!(columns.starts_with("g0 INT NOT NULL, "), "{columns}");
        assert!(columns.ends_with(", f9 DECIMAL(11, 10) NOT NULL"), "{columns}");
    }
}
