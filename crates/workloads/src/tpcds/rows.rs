//! Generates one object's share of a table, row by row.

use arrow::array::RecordBatchIterator;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatchReader;
use tpcdsgen::config::{Scaling, SessionBuilder, Table as Source};
use tpcdsgen_arrow::{
    CallCenterArrow, CatalogPageArrow, CatalogReturnsArrow, CatalogSalesArrow,
    CustomerAddressArrow, CustomerArrow, CustomerDemographicsArrow, DateDimArrow,
    HouseholdDemographicsArrow, IncomeBandArrow, InventoryArrow, ItemArrow, PromotionArrow,
    ReasonArrow, ShipModeArrow, StoreArrow, StoreReturnsArrow, StoreSalesArrow, TimeDimArrow,
    WarehouseArrow, WebPageArrow, WebReturnsArrow, WebSalesArrow, WebSiteArrow,
};

use super::table::Table;
use crate::table::Share;

/// Returns the columns of a table, from its generator.
pub(super) fn schema(table: Table) -> SchemaRef {
    match table {
        Table::CallCenter => CallCenterArrow::schema_ref(),
        Table::CatalogPage => CatalogPageArrow::schema_ref(),
        Table::CatalogReturns => CatalogReturnsArrow::schema_ref(),
        Table::CatalogSales => CatalogSalesArrow::schema_ref(),
        Table::Customer => CustomerArrow::schema_ref(),
        Table::CustomerAddress => CustomerAddressArrow::schema_ref(),
        Table::CustomerDemographics => CustomerDemographicsArrow::schema_ref(),
        Table::DateDim => DateDimArrow::schema_ref(),
        Table::HouseholdDemographics => HouseholdDemographicsArrow::schema_ref(),
        Table::IncomeBand => IncomeBandArrow::schema_ref(),
        Table::Inventory => InventoryArrow::schema_ref(),
        Table::Item => ItemArrow::schema_ref(),
        Table::Promotion => PromotionArrow::schema_ref(),
        Table::Reason => ReasonArrow::schema_ref(),
        Table::ShipMode => ShipModeArrow::schema_ref(),
        Table::Store => StoreArrow::schema_ref(),
        Table::StoreReturns => StoreReturnsArrow::schema_ref(),
        Table::StoreSales => StoreSalesArrow::schema_ref(),
        Table::TimeDim => TimeDimArrow::schema_ref(),
        Table::Warehouse => WarehouseArrow::schema_ref(),
        Table::WebPage => WebPageArrow::schema_ref(),
        Table::WebReturns => WebReturnsArrow::schema_ref(),
        Table::WebSales => WebSalesArrow::schema_ref(),
        Table::WebSite => WebSiteArrow::schema_ref(),
    }
}

/// Returns the table in `dsdgen`.
const fn source(table: Table) -> Source {
    match table {
        Table::CallCenter => Source::CallCenter,
        Table::CatalogPage => Source::CatalogPage,
        Table::CatalogReturns => Source::CatalogReturns,
        Table::CatalogSales => Source::CatalogSales,
        Table::Customer => Source::Customer,
        Table::CustomerAddress => Source::CustomerAddress,
        Table::CustomerDemographics => Source::CustomerDemographics,
        Table::DateDim => Source::DateDim,
        Table::HouseholdDemographics => Source::HouseholdDemographics,
        Table::IncomeBand => Source::IncomeBand,
        Table::Inventory => Source::Inventory,
        Table::Item => Source::Item,
        Table::Promotion => Source::Promotion,
        Table::Reason => Source::Reason,
        Table::ShipMode => Source::ShipMode,
        Table::Store => Source::Store,
        Table::StoreReturns => Source::StoreReturns,
        Table::StoreSales => Source::StoreSales,
        Table::TimeDim => Source::TimeDim,
        Table::Warehouse => Source::Warehouse,
        Table::WebPage => Source::WebPage,
        Table::WebReturns => Source::WebReturns,
        Table::WebSales => Source::WebSales,
        Table::WebSite => Source::WebSite,
    }
}

/// Returns the number of rows that `dsdgen` counts, which are orders for sales and returns.
pub(super) fn source_rows(table: Table, scale: f64) -> u64 {
    let source = match source(table) {
        Source::CatalogReturns => Source::CatalogSales,
        Source::StoreReturns => Source::StoreSales,
        Source::WebReturns => Source::WebSales,
        source => source,
    };
    Scaling::new(scale).get_row_count(source)
}

/// Returns the rows as batches of a few thousand.
pub(super) fn batches(share: &Share<Table>) -> Box<dyn RecordBatchReader + Send> {
    let rows = u128::from(source_rows(share.table, share.scale));
    // The quotient is at most the number of rows.
    let bound = |index: u32| (rows * u128::from(index) / u128::from(share.count.max(1))) as u64;
    let (first, last) = (bound(share.index) + 1, bound(share.index + 1));
    let session = match SessionBuilder::new().with_scale_factor(share.scale).build() {
        Ok(session) => session,
        Err(error) => {
            let error = arrow::error::ArrowError::ExternalError(Box::new(error));
            return Box::new(RecordBatchIterator::new([Err(error)], schema(share.table)));
        }
    };
    macro_rules! rows {
        ($generator:ident) => {
            Box::new($generator::new(session).with_source_row_range(first, last))
        };
    }
    match share.table {
        Table::CallCenter => rows!(CallCenterArrow),
        Table::CatalogPage => rows!(CatalogPageArrow),
        Table::CatalogReturns => rows!(CatalogReturnsArrow),
        Table::CatalogSales => rows!(CatalogSalesArrow),
        Table::Customer => rows!(CustomerArrow),
        Table::CustomerAddress => rows!(CustomerAddressArrow),
        Table::CustomerDemographics => rows!(CustomerDemographicsArrow),
        Table::DateDim => rows!(DateDimArrow),
        Table::HouseholdDemographics => rows!(HouseholdDemographicsArrow),
        Table::IncomeBand => rows!(IncomeBandArrow),
        Table::Inventory => rows!(InventoryArrow),
        Table::Item => rows!(ItemArrow),
        Table::Promotion => rows!(PromotionArrow),
        Table::Reason => rows!(ReasonArrow),
        Table::ShipMode => rows!(ShipModeArrow),
        Table::Store => rows!(StoreArrow),
        Table::StoreReturns => rows!(StoreReturnsArrow),
        Table::StoreSales => rows!(StoreSalesArrow),
        Table::TimeDim => rows!(TimeDimArrow),
        Table::Warehouse => rows!(WarehouseArrow),
        Table::WebPage => rows!(WebPageArrow),
        Table::WebReturns => rows!(WebReturnsArrow),
        Table::WebSales => rows!(WebSalesArrow),
        Table::WebSite => rows!(WebSiteArrow),
    }
}
