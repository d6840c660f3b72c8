//! The eight tables and their columns.

use std::fmt;
use std::io;
use std::str::FromStr;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatchReader;
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

use super::rows;
use crate::table::{DataTable, Share};
use crate::upload::PartWriter;

/// A table of TPC-H.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// Customers: 150,000 rows per scale factor.
    Customer,
    /// Lines of orders: about 6 million rows per scale factor, two thirds of all bytes.
    Lineitem,
    /// Nations: 25 rows at every scale.
    Nation,
    /// Orders: 1.5 million rows per scale factor.
    Orders,
    /// Parts: 200,000 rows per scale factor.
    Part,
    /// Parts offered by each supplier: 800,000 rows per scale factor.
    Partsupp,
    /// Regions: 5 rows at every scale.
    Region,
    /// Suppliers: 10,000 rows per scale factor.
    Supplier,
}

impl Table {
    /// All eight tables, by name.
    pub const ALL: [Self; 8] = [
        Self::Customer,
        Self::Lineitem,
        Self::Nation,
        Self::Orders,
        Self::Part,
        Self::Partsupp,
        Self::Region,
        Self::Supplier,
    ];

    /// Returns the table's name in the queries.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Lineitem => "lineitem",
            Self::Nation => "nation",
            Self::Orders => "orders",
            Self::Part => "part",
            Self::Partsupp => "partsupp",
            Self::Region => "region",
            Self::Supplier => "supplier",
        }
    }

    /// Returns the columns: keys are `Int64`, other integers `Int32`, money and quantities `Decimal128(15, 2)`, dates
    /// `Date32` and text `Utf8View`. None is nullable.
    #[must_use]
    pub fn schema(self) -> SchemaRef {
        match self {
            Self::Customer => CustomerArrow::schema_ref(),
            Self::Lineitem => LineItemArrow::schema_ref(),
            Self::Nation => NationArrow::schema_ref(),
            Self::Orders => OrderArrow::schema_ref(),
            Self::Part => PartArrow::schema_ref(),
            Self::Partsupp => PartSuppArrow::schema_ref(),
            Self::Region => RegionArrow::schema_ref(),
            Self::Supplier => SupplierArrow::schema_ref(),
        }
    }

    /// Returns the number of rows at a scale factor. It is exact, except for `lineitem`, where it is within a few per
    /// mille.
    #[must_use]
    pub fn rows(self, scale: f64) -> u64 {
        let per_scale = match self {
            Self::Nation => return 25,
            Self::Region => return 5,
            Self::Customer => 150_000.0,
            Self::Lineitem => 6_001_215.0,
            Self::Orders => 1_500_000.0,
            // Each part has four suppliers.
            Self::Partsupp => return Self::Part.rows(scale) * 4,
            Self::Part => 200_000.0,
            Self::Supplier => 10_000.0,
        };
        (per_scale * scale) as u64
    }
}

impl DataTable for Table {
    const DATA_SET: &'static str = "tpch";
    const ALL: &'static [Self] = &Self::ALL;
    const LEAST_SCALE: f64 = 0.001;
    type Seed = ();

    fn name(self) -> &'static str {
        self.name()
    }

    fn schema(self) -> SchemaRef {
        self.schema()
    }

    fn rows(self, scale: f64) -> u64 {
        self.rows(scale)
    }

    fn shares(self, scale: f64) -> u64 {
        // Lines of an order stay together, so the unit of division is an order.
        match self {
            Self::Nation | Self::Region => 1,
            Self::Lineitem => Self::Orders.rows(scale),
            Self::Partsupp => Self::Part.rows(scale),
            other => other.rows(scale),
        }
    }

    fn batches(share: Share<Self>) -> Box<dyn RecordBatchReader + Send> {
        rows::batches(&share)
    }

    fn write_csv(share: Share<Self>, header: bool, out: &mut PartWriter) -> io::Result<()> {
        rows::write_csv(&share, header, out)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a name that is not a table of TPC-H.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no TPC-H table: they are customer, lineitem, nation, orders, part, partsupp, region \
     and supplier"
)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Format;

    #[test]
    fn tables_are_found_by_name() {
        for table in Table::ALL {
            assert_eq!(table.name().to_uppercase().parse(), Ok(table));
        }
        assert!("lineitems".parse::<Table>().is_err());
    }

    #[test]
    fn columns_are_declared_with_their_types() {
        assert_eq!(
            Table::Partsupp.columns_sql(),
            "ps_partkey BIGINT NOT NULL, ps_suppkey BIGINT NOT NULL, ps_availqty INT NOT NULL, \
             ps_supplycost DECIMAL(15, 2) NOT NULL, ps_comment VARCHAR NOT NULL"
        );
        for table in Table::ALL {
            let columns = table.columns_sql().matches(" NOT NULL").count();
            assert_eq!(columns, table.schema().fields().len(), "{table}");
        }
    }

    #[test]
    fn a_location_cannot_leave_its_string() {
        let sql = Table::Region.create_external_table(&Format::parquet(), "s3://b/it's/");
        assert_eq!(sql, "CREATE EXTERNAL TABLE region STORED AS PARQUET LOCATION 's3://b/it''s/'");
    }
}
