use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Mutex;

use arrow::array::RecordBatch;
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::SchemaRef;
use arrow::json::ReaderBuilder;
use bytes::Bytes;
use object_store::ObjectStoreExt;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;

use super::*;
use crate::tpch::{Generate, ProgressFn, Table};

fn request(scale: f64, tables: &[Table], format: Format, objects: usize) -> Generate {
    Generate {
        scale,
        tables: tables.to_vec(),
        format,
        objects_per_table: NonZeroUsize::new(objects).unwrap(),
        threads: NonZeroUsize::new(2).unwrap(),
        ..Generate::default()
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Returns the objects of a request by table, each table's in order.
fn objects(request: &Generate) -> BTreeMap<Table, Vec<Bytes>> {
    run(async {
        let store = InMemory::new();
        let written = generate(request, &store, &|_| ()).await.unwrap();
        let mut objects: BTreeMap<Table, Vec<Bytes>> = BTreeMap::new();
        for object in written {
            let bytes = store.get(&object.path).await.unwrap().bytes().await.unwrap();
            assert_eq!(bytes.len() as u64, object.bytes);
            objects.entry(object.table).or_default().push(bytes);
        }
        objects
    })
}

fn headless() -> Format {
    Format::Csv { header: false }
}

fn read_csv(schema: &SchemaRef, bytes: &[u8], header: bool) -> RecordBatch {
    let reader = arrow::csv::ReaderBuilder::new(schema.clone())
        .with_header(header)
        .build(Cursor::new(bytes))
        .unwrap();
    concat_batches(schema, &reader.map(Result::unwrap).collect::<Vec<_>>()).unwrap()
}

/// Reads Parquet and casts it to the table's types, as a file does not store the Arrow types of text.
fn read_parquet(schema: &SchemaRef, bytes: Bytes) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap().build().unwrap();
    let batches: Vec<_> = reader
        .map(|batch| {
            let batch = batch.unwrap();
            let columns = batch.columns().iter().zip(schema.fields());
            let columns = columns.map(|(column, field)| cast(column, field.data_type()).unwrap());
            RecordBatch::try_new(schema.clone(), columns.collect()).unwrap()
        })
        .collect();
    concat_batches(schema, &batches).unwrap()
}

/// Returns the rows directly from the generator.
fn expected(table: Table, scale: f64) -> RecordBatch {
    let share = Share::whole(table, scale, ());
    let batches: Vec<_> = Table::batches(share).map(Result::unwrap).collect();
    concat_batches(&table.schema(), &batches).unwrap()
}

/// Text with commas is quoted, so a reader finds every value in its column.
#[test]
fn csv_holds_the_rows() {
    for (table, objects) in objects(&request(0.01, &Table::ALL, Format::csv(), 1)) {
        let read = read_csv(&table.schema(), &objects[0], true);
        assert_eq!(read, expected(table, 0.01), "{table}");
    }
}

#[test]
fn json_holds_the_rows() {
    for (table, objects) in objects(&request(0.002, &Table::ALL, Format::Json, 1)) {
        let reader = ReaderBuilder::new(table.schema()).build(&objects[0][..]).unwrap();
        let batches: Vec<_> = reader.map(Result::unwrap).collect();
        let read = concat_batches(&table.schema(), &batches).unwrap();
        assert_eq!(read, expected(table, 0.002), "{table}");
    }
}

#[test]
fn parquet_holds_the_rows() {
    for compression in [Compression::None, Compression::Snappy, Compression::Zstd] {
        let row_group_rows = NonZeroUsize::new(1000).unwrap();
        let format = Format::Parquet { row_group_rows, compression };
        for (table, objects) in objects(&request(0.002, &Table::ALL, format, 3)) {
            let batches: Vec<_> =
                objects.into_iter().map(|bytes| read_parquet(&table.schema(), bytes)).collect();
            let read = concat_batches(&table.schema(), &batches).unwrap();
            assert_eq!(read, expected(table, 0.002), "{table} {compression:?}");
        }
    }
}

#[test]
fn row_groups_have_the_size_asked_for() {
    let row_group_rows = NonZeroUsize::new(400).unwrap();
    let format = Format::Parquet { row_group_rows, compression: Compression::None };
    let objects = objects(&request(0.01, &[Table::Customer], format, 1));
    let bytes = objects[&Table::Customer][0].clone();
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let rows: Vec<_> = reader.metadata().row_groups().iter().map(|g| g.num_rows()).collect();
    assert_eq!(rows, [400, 400, 400, 300]);
}

/// `dbgen` makes 60,175 lines at scale factor 0.01.
#[test]
fn tables_have_their_rows() {
    let rows = |table: Table| expected(table, 0.01).num_rows() as u64;
    assert_eq!(rows(Table::Lineitem), 60_175);
    for table in Table::ALL {
        let (rows, estimate) = (rows(table), table.rows(0.01));
        let error = rows.abs_diff(estimate) as f64 / rows as f64;
        assert!(error <= if table == Table::Lineitem { 0.01 } else { 0.0 }, "{table}: {rows}");
    }
}

#[test]
fn fixed_tables_are_one_object_and_none_is_empty() {
    let objects = objects(&request(0.001, &Table::ALL, headless(), 25));
    for (table, objects) in &objects {
        let expected = match table {
            Table::Nation | Table::Region => 1,
            Table::Supplier => 10,
            _ => 25,
        };
        assert_eq!(objects.len(), expected, "{table}");
        assert!(objects.iter().all(|object| !object.is_empty()), "{table}");
    }
}

#[test]
fn every_object_has_its_header() {
    let objects = objects(&request(0.001, &[Table::Orders], Format::csv(), 4));
    for object in &objects[&Table::Orders] {
        assert!(object.starts_with(b"o_orderkey,o_custkey,o_orderstatus,"));
        assert_eq!(object.windows(10).filter(|w| w == b"o_orderkey").count(), 1);
        assert!(object.ends_with(b"\"\n"));
    }
}

#[test]
fn objects_are_named_in_order() {
    let names = |objects| {
        let request = request(0.1, &[Table::Lineitem], Format::parquet(), objects);
        request.objects(Table::Lineitem).into_iter().map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(
        names(2),
        [
            "tpch/sf0.1/parquet/lineitem/lineitem.00.parquet",
            "tpch/sf0.1/parquet/lineitem/lineitem.01.parquet"
        ]
    );
    assert_eq!(names(101)[100], "tpch/sf0.1/parquet/lineitem/lineitem.100.parquet");
    assert!(names(1000).is_sorted());
}

#[test]
fn the_same_request_writes_the_same_bytes() {
    for format in [Format::csv(), Format::parquet()] {
        let request = request(0.002, &Table::ALL, format, 3);
        let more_threads = Generate { threads: NonZeroUsize::MIN, ..request.clone() };
        assert_eq!(objects(&request), objects(&more_threads));
    }
}

#[test]
fn progress_adds_up_to_what_was_written() {
    run(async {
        let request = request(0.002, &Table::ALL, Format::parquet(), 2);
        let seen: Mutex<BTreeMap<Table, (u64, u64)>> = Mutex::default();
        let progress = |advance: ProgressFn| {
            let mut seen = seen.lock().unwrap();
            let totals = seen.entry(advance.table).or_default();
            *totals = (totals.0 + advance.rows, totals.1 + advance.bytes);
        };
        let mut written: BTreeMap<Table, (u64, u64)> = BTreeMap::new();
        for object in generate(&request, &InMemory::new(), &progress).await.unwrap() {
            let totals = written.entry(object.table).or_default();
            *totals = (totals.0 + object.rows, totals.1 + object.bytes);
        }
        assert_eq!(written[&Table::Nation].0, 25);
        assert_eq!(written[&Table::Orders].0, 3000);
        assert_eq!(seen.into_inner().unwrap(), written);
    });
}

#[test]
fn a_folder_gets_the_files_and_no_others() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let store = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
        let request = request(0.01, &[Table::Lineitem, Table::Region], Format::csv(), 2);
        let written = generate(&request, &store, &|_| ()).await.unwrap();
        let mut found: Vec<_> =
            store.list(None).map_ok(|object| object.location).try_collect().await.unwrap();
        found.sort();
        assert_eq!(found, written.into_iter().map(|object| object.path).collect::<Vec<_>>());
        assert_eq!(found.len(), 3);
    });
}

/// Fewer objects than in the previous run would leave old ones in the table, with duplicate rows.
#[test]
fn objects_in_the_way_are_named_and_nothing_is_written() {
    run(async {
        let store = InMemory::new();
        let three = request(0.001, &[Table::Part], headless(), 3);
        generate(&three, &store, &|_| ()).await.unwrap();
        // The same request may run again.
        generate(&three, &store, &|_| ()).await.unwrap();
        let two = request(0.001, &[Table::Nation, Table::Part], headless(), 2);
        let error = generate(&two, &store, &|_| ()).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "`tpch/sf0.001/csv/part/part.02.csv` is in the way: it would become part of the table \
             in `tpch/sf0.001/csv/part`"
        );
        assert!(store.head(&two.objects(Table::Nation)[0]).await.is_err());
    });
}

/// Callers may run the future in a task of their own.
#[test]
fn the_future_can_be_sent_to_another_thread() {
    fn check(_: impl Send) {}
    let (request, store) = (Generate::default(), InMemory::new());
    check(generate(&request, &store, &|_| ()));
}

#[test]
fn requests_out_of_range_are_refused() {
    for scale in [0.0, -1.0, 0.000_9, 1e6, f64::NAN, f64::INFINITY] {
        let request = Generate { scale, ..Generate::default() };
        let error = run(generate(&request, &InMemory::new(), &|_| ())).unwrap_err();
        assert!(matches!(error, Error::Scale { .. }), "{error}");
    }
    let request = request(0.001, &[Table::Part], headless(), 10_001);
    let error = run(generate(&request, &InMemory::new(), &|_| ())).unwrap_err();
    assert!(matches!(error, Error::Objects(10_001)), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The table does not depend on the number of objects.
    #[test]
    fn objects_together_are_the_table(count in 2usize..12, thousandths in 1u32..4) {
        let scale = f64::from(thousandths) / 1000.0;
        let one = objects(&request(scale, &Table::ALL, headless(), 1));
        let many = objects(&request(scale, &Table::ALL, headless(), count));
        for table in Table::ALL {
            prop_assert!(one[&table].concat() == many[&table].concat(), "{}", table);
        }
    }
}
