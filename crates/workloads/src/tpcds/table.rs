//! The 24 tables and their columns.

use std::fmt;
use std::str::FromStr;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatchReader;

use super::rows;
use crate::table::{DataTable, Share};

/// A table of TPC-DS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// Call centers, with their history.
    CallCenter,
    /// The pages of catalogs.
    CatalogPage,
    /// Lines of catalog orders that were returned: about 144,000 per scale factor.
    CatalogReturns,
    /// Lines of catalog orders: about 1.44 million per scale factor.
    CatalogSales,
    /// Customers: 100,000 at scale factor 1.
    Customer,
    /// Addresses of customers: 50,000 at scale factor 1.
    CustomerAddress,
    /// All combinations of the known attributes of people: 1,920,800 rows at every scale.
    CustomerDemographics,
    /// The days from 1900 to 2100: 73,049 rows at every scale.
    DateDim,
    /// All combinations of the known attributes of households: 7,200 rows at every scale.
    HouseholdDemographics,
    /// Twenty bands of income at every scale.
    IncomeBand,
    /// The stock of each item in each warehouse, week by week: 11.7 million rows at scale factor 1.
    Inventory,
    /// Items, with their history: 18,000 rows at scale factor 1.
    Item,
    /// Promotions of items: 300 rows at scale factor 1.
    Promotion,
    /// Reasons for returns: 35 rows at scale factor 1, and 75 at 100,000.
    Reason,
    /// Twenty ways to ship at every scale.
    ShipMode,
    /// Stores, with their history.
    Store,
    /// Lines of store tickets that were returned: about 288,000 per scale factor.
    StoreReturns,
    /// Lines of store tickets: about 2.88 million per scale factor.
    StoreSales,
    /// The seconds of a day: 86,400 rows at every scale.
    TimeDim,
    /// The warehouses of the retailer.
    Warehouse,
    /// Pages of the web sites, with their history.
    WebPage,
    /// Lines of web orders that were returned: about 72,000 per scale factor.
    WebReturns,
    /// Lines of web orders: about 719,000 per scale factor.
    WebSales,
    /// Web sites, with their history.
    WebSite,
}

impl Table {
    /// All 24 tables, by name.
    pub const ALL: [Self; 24] = [
        Self::CallCenter,
        Self::CatalogPage,
        Self::CatalogReturns,
        Self::CatalogSales,
        Self::Customer,
        Self::CustomerAddress,
        Self::CustomerDemographics,
        Self::DateDim,
        Self::HouseholdDemographics,
        Self::IncomeBand,
        Self::Inventory,
        Self::Item,
        Self::Promotion,
        Self::Reason,
        Self::ShipMode,
        Self::Store,
        Self::StoreReturns,
        Self::StoreSales,
        Self::TimeDim,
        Self::Warehouse,
        Self::WebPage,
        Self::WebReturns,
        Self::WebSales,
        Self::WebSite,
    ];

    /// Returns the table's name in the queries.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CallCenter => "call_center",
            Self::CatalogPage => "catalog_page",
            Self::CatalogReturns => "catalog_returns",
            Self::CatalogSales => "catalog_sales",
            Self::Customer => "customer",
            Self::CustomerAddress => "customer_address",
            Self::CustomerDemographics => "customer_demographics",
            Self::DateDim => "date_dim",
            Self::HouseholdDemographics => "household_demographics",
            Self::IncomeBand => "income_band",
            Self::Inventory => "inventory",
            Self::Item => "item",
            Self::Promotion => "promotion",
            Self::Reason => "reason",
            Self::ShipMode => "ship_mode",
            Self::Store => "store",
            Self::StoreReturns => "store_returns",
            Self::StoreSales => "store_sales",
            Self::TimeDim => "time_dim",
            Self::Warehouse => "warehouse",
            Self::WebPage => "web_page",
            Self::WebReturns => "web_returns",
            Self::WebSales => "web_sales",
            Self::WebSite => "web_site",
        }
    }

    /// Returns the columns. Keys are `Int32`, except numbers of tickets and orders, which are `Int64`. Other integers
    /// are `Int32`, money `Decimal128(7, 2)` (a promotion's cost `Decimal128(15, 2)`), tax rates and offsets
    /// `Decimal128(5, 2)`, dates `Date32` and text `Utf8View`. Nearly all are nullable.
    #[must_use]
    pub fn schema(self) -> SchemaRef {
        rows::schema(self)
    }

    /// Returns the number of rows at a scale factor. It is exact, except for sales and returns, whose orders have
    /// random numbers of lines.
    #[must_use]
    pub fn rows(self, scale: f64) -> u64 {
        let source_rows = rows::source_rows(self, scale);
        match self {
            // Orders have 8 to 16 lines, or 4 to 14, of which one in ten is returned.
            Self::StoreSales | Self::WebSales => source_rows * 12,
            Self::CatalogSales => source_rows * 9,
            Self::StoreReturns | Self::WebReturns => source_rows * 12 / 10,
            Self::CatalogReturns => source_rows * 9 / 10,
            _ => source_rows,
        }
    }
}

impl DataTable for Table {
    const DATA_SET: &'static str = "tpcds";
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
        let source_rows = rows::source_rows(self, scale);
        match self {
            // Lines of an order stay together, so the unit of division is an order.
            Self::CatalogSales
            | Self::StoreSales
            | Self::WebSales
            | Self::Customer
            | Self::CustomerAddress
            | Self::Inventory => source_rows,
            // An order has no return with probability 0.3 to 0.4; a hundred orders always have one.
            Self::CatalogReturns | Self::StoreReturns | Self::WebReturns => source_rows / 100,
            // Tables of fixed size, and small ones.
            _ => 1,
        }
    }

    fn batches(share: Share<Self>) -> Box<dyn RecordBatchReader + Send> {
        rows::batches(&share)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a name that is not a table of TPC-DS.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no TPC-DS table: they are {names}", names = names())]
pub struct UnknownTable(String);

fn names() -> String {
    Table::ALL.map(Table::name).join(", ")
}

impl FromStr for Table {
    type Err = UnknownTable;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|table| table.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| UnknownTable(name.to_owned()))
    }
}
