use std::io::Cursor;
use std::num::NonZeroUsize;

use arrow::array::RecordBatch;
use arrow::compute::{cast, concat_batches};
use bytes::Bytes;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::*;
use crate::{DataTable, Format, Share, generate};

/// Returns smaller tables, and those of fixed size that take less than a second.
fn quick() -> Vec<Table> {
    let slow = [Table::CustomerDemographics];
    Table::ALL.into_iter().filter(|table| !slow.contains(table)).collect()
}

fn rows_of(share: Share<Table>) -> RecordBatch {
    let batches: Vec<_> = Table::batches(share).map(Result::unwrap).collect();
    concat_batches(&share.table.schema(), &batches).unwrap()
}

/// Returns the generated objects by table, in order.
fn written(format: Format, objects: usize) -> Vec<(Table, Vec<Bytes>)> {
    let request = Generate {
        scale: 0.01,
        tables: quick(),
        format,
        objects_per_table: NonZeroUsize::new(objects).unwrap(),
        ..Generate::default()
    };
    let store = InMemory::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        generate(&request, &store, &|_| ()).await.unwrap();
        let mut tables = Vec::new();
        for &table in &request.tables {
            let mut objects = Vec::new();
            for path in request.objects(table) {
                objects.push(store.get(&path).await.unwrap().bytes().await.unwrap());
            }
            tables.push((table, objects));
        }
        tables
    })
}

#[test]
fn tables_are_found_by_name() {
    for table in Table::ALL {
        assert_eq!(table.name().to_uppercase().parse(), Ok(table));
    }
    let error = "store_sale".parse::<Table>().unwrap_err().to_string();
    assert!(
        error.starts_with("`store_sale` is no TPC-DS table: they are call_center, "),
        "{error}"
    );
    assert!(Table::ALL.is_sorted_by_key(|table| table.name()));
}

/// The specification lists the numbers of rows for scale factor 1 (clause 3.2.2).
#[test]
fn tables_have_the_rows_of_the_specification() {
    let expected = [
        (Table::CallCenter, 6),
        (Table::CatalogPage, 11_718),
        (Table::Customer, 100_000),
        (Table::CustomerAddress, 50_000),
        (Table::CustomerDemographics, 1_920_800),
        (Table::DateDim, 73_049),
        (Table::HouseholdDemographics, 7_200),
        (Table::IncomeBand, 20),
        (Table::Inventory, 11_745_000),
        (Table::Item, 18_000),
        (Table::Promotion, 300),
        (Table::ShipMode, 20),
        (Table::Store, 12),
        (Table::TimeDim, 86_400),
        (Table::Warehouse, 5),
        (Table::WebPage, 60),
        (Table::WebSite, 30),
    ];
    for (table, rows) in expected {
        assert_eq!(table.rows(1.0), rows, "{table}");
    }
    // These are approximate, because orders have random numbers of lines.
    let nearly = [
        (Table::CatalogReturns, 144_067),
        (Table::CatalogSales, 1_441_548),
        (Table::StoreReturns, 287_514),
        (Table::StoreSales, 2_880_404),
        (Table::WebReturns, 71_763),
        (Table::WebSales, 719_384),
    ];
    for (table, rows) in nearly {
        let estimate = table.rows(1.0);
        assert!(estimate.abs_diff(rows) * 100 <= rows, "{table}: {estimate}");
    }
}

#[test]
fn tables_have_the_rows_they_announce() {
    for table in quick() {
        let rows = rows_of(Share::whole(table, 0.01, ())).num_rows() as u64;
        let estimate = table.rows(0.01);
        let exact = !table.name().ends_with("_sales") && !table.name().ends_with("_returns");
        let tolerance = if exact { 0 } else { rows / 20 };
        assert!(rows.abs_diff(estimate) <= tolerance, "{table}: {rows}, {estimate} announced");
    }
}

/// The table does not depend on the number of objects, none of which is empty.
#[test]
fn objects_together_are_the_table() {
    for table in quick() {
        let whole = rows_of(Share::whole(table, 0.01, ()));
        let count = (table.shares(0.01) as u32).min(7);
        let shares: Vec<_> = (0..count)
            .map(|index| rows_of(Share { index, count, ..Share::whole(table, 0.01, ()) }))
            .collect();
        assert!(shares.iter().all(|share| share.num_rows() > 0), "{table}");
        assert_eq!(concat_batches(&table.schema(), &shares).unwrap(), whole, "{table}");
    }
}

/// A NULL is written as nothing, and no text is empty, so a reader finds the generated values.
#[test]
fn csv_holds_the_rows() {
    for (table, objects) in written(Format::csv(), 3) {
        let schema = table.schema();
        let mut batches = Vec::new();
        for object in objects {
            let reader = arrow::csv::ReaderBuilder::new(schema.clone()).with_header(true);
            batches.extend(reader.build(Cursor::new(object)).unwrap().map(Result::unwrap));
        }
        let read = concat_batches(&schema, &batches).unwrap();
        assert_eq!(read, rows_of(Share::whole(table, 0.01, ())), "{table}");
    }
}

#[test]
fn parquet_holds_the_rows() {
    for (table, objects) in written(Format::parquet(), 3) {
        let schema = table.schema();
        let mut batches = Vec::new();
        for object in objects {
            let reader = ParquetRecordBatchReaderBuilder::try_new(object).unwrap();
            for batch in reader.build().unwrap() {
                let batch = batch.unwrap();
                let columns = batch.columns().iter().zip(schema.fields());
                let columns =
                    columns.map(|(column, field)| cast(column, field.data_type()).unwrap());
                batches.push(RecordBatch::try_new(schema.clone(), columns.collect()).unwrap());
            }
        }
        let read = concat_batches(&schema, &batches).unwrap();
        assert_eq!(read, rows_of(Share::whole(table, 0.01, ())), "{table}");
    }
}

#[test]
fn columns_are_declared_with_their_types() {
    assert_eq!(
        Table::Promotion.columns_sql().split(", p_response_target").next().unwrap(),
        "p_promo_sk INT NOT NULL, p_promo_id VARCHAR NOT NULL, p_start_date_sk INT, \
         p_end_date_sk INT, p_item_sk INT, p_cost DECIMAL(15, 2)"
    );
}

/// The shares of the rows that query 76 selects at scale factor 1, in percent. In the evaluation of computational
/// storage (ICPE 2020), with 10 TB, they are 4.50, 0.03 and 0.50.
#[test]
fn query_76_takes_the_shares_of_the_paper() {
    let filters = [
        (Table::StoreSales, "ss_store_sk", 4.50),
        (Table::WebSales, "ws_ship_customer_sk", 0.03),
        (Table::CatalogSales, "cs_ship_addr_sk", 0.50),
    ];
    for (table, column, expected) in filters {
        let (mut rows, mut nulls) = (0, 0);
        for batch in Table::batches(Share::whole(table, 1.0, ())) {
            let batch = batch.unwrap();
            rows += batch.num_rows();
            nulls += batch.column_by_name(column).unwrap().null_count();
        }
        assert!(rows as u64 > table.rows(1.0) * 99 / 100, "{table}: {rows}");
        let share = 100.0 * nulls as f64 / rows as f64;
        assert!((share - expected).abs() <= 0.05, "{table}: {share} %");
    }
}
