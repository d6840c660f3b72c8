//! Indexes of CSV tables with every option.

use std::cell::Cell;

use proptest::prelude::*;
use sluicegate_engine::config::Scan;
use tokio::runtime::Runtime;

use super::{create, is_indexed};
use crate::csv_options;
use crate::harness::{BUCKET, Store, rows, runner, stock, stock_rows, try_rows};

/// With any separator, quote, escape, comment and record end, the index splits records like the reader.
#[test]
fn every_option_of_a_table_is_indexed_alike() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let local = tempfile::tempdir().unwrap();
    let (number, indexed) = (Cell::new(0), Cell::new(0));
    let inputs = (1_usize..4).prop_flat_map(|columns| {
        let records = prop::collection::vec(csv_options::record(columns), 0..8);
        (Just(columns), csv_options::Options::any(), records, any::<bool>(), any::<bool>())
    });
    let result = runner(128).run(&inputs, |(columns, options, records, crlf, mark)| {
        number.set(number.get() + 1);
        let mut bytes = csv_options::object(&options, &records, crlf);
        if mark {
            // A byte order mark at the start, which is also before another record.
            bytes.splice(0..0, *b"\xef\xbb\xbf");
        }
        let key = format!("{}/a.csv", number.get());
        store.put(&key, &bytes);
        let file = local.path().join(format!("{}.csv", number.get()));
        std::fs::write(&file, &bytes).unwrap();
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        runtime.block_on(async {
            let stock = stock();
            for sql in options.of_stock(columns, &file.display().to_string()) {
                if stock_rows(&stock, &sql).await.is_err() || bytes.is_empty() {
                    return Ok(());
                }
            }
            let engine = store.engine(Scan::Index).await;
            let location = format!("s3://{BUCKET}/{}/", number.get());
            rows(&engine, &options.ddl(columns, &location)).await;
            if create(&engine, "x", "c1").await.is_err() {
                // A table that cannot be read completely cannot be indexed.
                let read = stock_rows(&stock, "SELECT c1 FROM x").await;
                prop_assert!(read.is_err(), "{:?} as {:?}", shown, options);
                return Ok(());
            }
            for sql in [
                "SELECT * FROM x WHERE c1 = 'a'",
                "SELECT * FROM x WHERE c1 IN ('ab', 'b', '\u{feff}a', 'é')",
                "SELECT * FROM x WHERE c1 > 'a'",
                "SELECT c1 FROM x WHERE c1 < 'b'",
            ] {
                let expected = stock_rows(&stock, sql).await.unwrap();
                let actual = try_rows(&engine, sql).await.map_err(|error| error.to_string());
                // DataFusion reads the rest of the file as one value.
                let is_open = |error: &String| error.contains("a quote is never closed");
                if actual.as_ref().is_err_and(is_open) && bytes.contains(&options.quote) {
                    continue;
                }
                prop_assert_eq!(actual, Ok(expected), "{} over {:?} as {:?}", sql, shown, options);
                indexed.set(indexed.get() + usize::from(is_indexed(&engine, sql).await));
            }
            Ok(())
        })
    });
    result.unwrap();
    assert!(indexed.get() > 50, "only {} statements used an index", indexed.get());
}
