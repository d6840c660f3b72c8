//! The look-ups of index scans, and the few bytes that they read.

use futures::TryStreamExt;
use sluicegate_engine::config::Scan;
use sluicegate_engine::counters::RequestKind;
use sluicegate_s3select::capabilities::StoreCapabilities;

use super::{create, files, index_in_plan, is_indexed, key, numbers};
use crate::harness::{BUCKET, Store, rows, stock, stock_rows};

#[tokio::test(flavor = "multi_thread")]
async fn a_look_up_reads_a_small_part_of_the_table_and_of_its_index() {
    let store = Store::start().await;
    for profile in [StoreCapabilities::sluice(), StoreCapabilities::get_only()] {
        let engine = store.builder().profile(profile).scan(Scan::Index).build().await.unwrap();
        rows(&engine, "SET datafusion.execution.collect_statistics = false").await;
        std::fs::remove_dir_all(store.folder.path().join(BUCKET)).unwrap();
        std::fs::create_dir(store.folder.path().join(BUCKET)).unwrap();
        let bytes = numbers(&store, &engine, 3, 40_000).await;
        let before = engine.counted();
        let found = rows(&engine, "SELECT v FROM n WHERE k IN (4000, 30001)").await;
        let wanted = (0..3 * 40_000)
            .filter(|n| [4000, 30_001].contains(&key(n / 40_000, n % 40_000, 40_000)));
        assert_eq!(found.len(), wanted.count(), "{found:?}");
        assert!(!found.is_empty());
        let counted = engine.counted().since(&before);
        assert_eq!((counted.select, counted.fallbacks), (0, 0), "{counted:?}");
        // The table and its indexes; one top when planning; for each object, a top, at most two blocks and two
        // ranges.
        assert_eq!(counted.list, 2, "{counted:?}");
        assert!(counted.get <= 1 + 3 * 5, "{counted:?}");
        assert!(counted.got_bytes < bytes as u64 / 10, "{counted:?} of {bytes}");
    }
}

/// The number of planning requests does not depend on the number of objects.
#[tokio::test(flavor = "multi_thread")]
async fn planning_does_not_look_at_each_object() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Index).await;
    rows(&engine, "SET datafusion.execution.collect_statistics = false").await;
    numbers(&store, &engine, 40, 10).await;
    let planned = async || {
        let query = engine.plan("SELECT v FROM n WHERE k = 3").await.unwrap();
        query.frame().clone().create_physical_plan().await.unwrap();
        let counted = query.counted();
        (counted.list, counted.get)
    };
    assert_eq!(planned().await, (2, 1));
    // With auto, so small a table is not worth a listing.
    rows(&engine, "SET sluice.scan = 'auto'").await;
    assert_eq!(planned().await, (1, 0));
}

/// The objects and their indexes are listed at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn indexes_are_listed_at_the_same_time_as_the_objects() {
    let latency = std::time::Duration::from_millis(100);
    let store = Store::start_with(|server| server.latency(latency)).await;
    let engine = store.engine(Scan::Index).await;
    numbers(&store, &engine, 2, 10).await;
    let query = engine.query_recorded("SELECT v FROM n WHERE k = 3").await.unwrap();
    query.start().await.unwrap().try_collect::<Vec<_>>().await.unwrap();
    let requests = query.report().unwrap().recorded.requests;
    let lists: Vec<_> = requests.iter().filter(|it| it.kind == RequestKind::List).collect();
    let [first, second] = lists.as_slice() else { panic!("{requests:?}") };
    assert!(first.start < second.start + second.took, "{lists:?}");
    assert!(second.start < first.start + first.took, "{lists:?}");
}

/// With auto, a selective query of a large table uses the index, and a query of most rows does not.
#[tokio::test(flavor = "multi_thread")]
async fn auto_takes_an_index_where_it_is_better() {
    let store = Store::start().await;
    let builder = store.builder().profile(StoreCapabilities::get_only());
    let mut hardware =
        sluicegate_costmodel::HardwareProfile::by_name("local-1gbit").unwrap().clone();
    hardware.link.latency = std::time::Duration::from_micros(100);
    let engine = builder.hardware(hardware).build().await.unwrap();
    numbers(&store, &engine, 2, 40_000).await;
    assert!(is_indexed(&engine, "SELECT v FROM n WHERE k = 77").await);
    assert!(!is_indexed(&engine, "SELECT v FROM n WHERE k > 77").await);
    assert!(!is_indexed(&engine, "SELECT v FROM n").await);
    let text = engine.explain("SELECT v FROM n WHERE k = 77").await.unwrap().to_string();
    assert!(text.contains("* index"), "{text}");
    assert!(text.contains("k by k@0 = 77 (gaps of up to"), "{text}");
    let text = engine.explain("SELECT v FROM n WHERE v = '77'").await.unwrap().to_string();
    let why = "not possible: the filter compares no column that has an index (k) with constants";
    assert!(text.contains(why), "{text}");
    let text = engine.explain("SELECT v FROM n WHERE k = 7 OR v = '7'").await.unwrap().to_string();
    let why = "the filter compares what has an index (k) only beside something else in an OR";
    assert!(text.contains(why), "{text}");
}

/// If two columns each select many records and both together few, both are looked up.
#[tokio::test(flavor = "multi_thread")]
async fn several_indexes_are_used_together() {
    let store = Store::start().await;
    let mut text = String::from("a,b,pad\n");
    for record in 0..60_000 {
        let (a, b) = (record % 500, record * 7919 % 60_000 / 120);
        text += &format!("{a},{b},{}\n", "x".repeat(60));
    }
    store.put("two/a.csv", &text);
    for profile in [StoreCapabilities::sluice(), StoreCapabilities::get_only()] {
        let engine = store.builder().profile(profile).scan(Scan::Index).build().await.unwrap();
        rows(
            &engine,
            &format!(
                "CREATE EXTERNAL TABLE two (a BIGINT, b BIGINT, pad VARCHAR) STORED AS CSV \
                 LOCATION 's3://{BUCKET}/two/' OPTIONS ('format.has_header' 'true')"
            ),
        )
        .await;
        for column in ["a", "b"] {
            create(&engine, "two", column).await.unwrap();
        }
        // With several ranges in a request, a second look-up would not pay.
        rows(&engine, "SET sluice.ranges_per_request = 1").await;
        let both = "SELECT a, b FROM two WHERE a = 7 AND b < 5";
        let plan = index_in_plan(&engine, both).await.unwrap();
        assert!(plan.contains("a by a@0 = 7") && plan.contains(" and "), "{plan}");
        assert!(plan.contains("b by b@1 < 5"), "{plan}");
        let explained = engine.explain(both).await.unwrap().to_string();
        assert!(explained.contains(" and b by b@1 < 5 (gaps of up to"), "{explained}");
        let wanted = (0..60_000).filter(|n| n % 500 == 7 && n * 7919 % 60_000 / 120 < 5).count();
        let before = engine.counted();
        assert_eq!(rows(&engine, both).await.len(), wanted);
        let counted = engine.counted().since(&before);
        assert!(counted.got_bytes < text.len() as u64 / 10, "{counted:?}");
        // If one index is damaged, the other one is enough.
        let indexes = files(&store.folder.path().join(BUCKET).join(".sluice-index/two"));
        let sound = std::fs::read(&indexes[1]).unwrap();
        let mut damaged = sound.clone();
        damaged[8..40_000].fill(0);
        std::fs::write(&indexes[1], damaged).unwrap();
        let _ = engine.take_notes();
        assert_eq!(rows(&engine, both).await.len(), wanted);
        let notes = engine.take_notes().join("\n");
        assert!(notes.contains("the index of b for two/a.csv is not used"), "{notes}");
        std::fs::write(&indexes[1], sound).unwrap();
    }
}

/// A look-up in Parquet reads the pages of its rows, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn of_parquet_only_the_pages_of_wanted_rows_are_read() {
    let store = Store::start().await;
    let stock = stock();
    let local = tempfile::tempdir().unwrap();
    let file = local.path().join("a.parquet");
    let copy = format!(
        "COPY (SELECT value * 7919 % 200000 AS k, repeat(CAST(value AS VARCHAR), 20) AS v \
         FROM generate_series(0, 199999)) TO '{}' STORED AS PARQUET \
         OPTIONS ('data_page_row_count_limit' '1000', 'dictionary_enabled' 'false', \
         'compression' 'uncompressed')",
        file.display()
    );
    stock_rows(&stock, &copy).await.unwrap();
    let bytes = std::fs::read(&file).unwrap();
    store.put("p/a.parquet", &bytes);
    let engine = store.engine(Scan::Index).await;
    let url = format!("s3://{BUCKET}/p/a.parquet");
    assert_eq!(create(&engine, &url, "k").await.unwrap(), 1);
    let sql = |table: &str| format!("SELECT v FROM \"{table}\" WHERE k IN (4711, 150000)");
    assert!(is_indexed(&engine, &sql(&url)).await);
    let before = engine.counted();
    let found = rows(&engine, &sql(&url)).await;
    let counted = engine.counted().since(&before);
    let here =
        format!("CREATE EXTERNAL TABLE here STORED AS PARQUET LOCATION '{}'", file.display());
    stock_rows(&stock, &here).await.unwrap();
    let expected = stock_rows(&stock, &sql("here")).await.unwrap();
    assert_eq!(found, expected);
    assert_eq!(found.len(), 2);
    assert_eq!((counted.select, counted.fallbacks), (0, 0), "{counted:?}");
    assert!(counted.got_bytes < bytes.len() as u64 / 8, "{counted:?} of {}", bytes.len());
    assert!(!is_indexed(&engine, &format!("SELECT v FROM '{url}'")).await);
}

/// The top has the range of values, so values outside of it need no further requests.
#[tokio::test(flavor = "multi_thread")]
async fn what_lies_beyond_all_values_takes_no_more_than_tops() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Index).await;
    rows(&engine, "SET datafusion.execution.collect_statistics = false").await;
    numbers(&store, &engine, 3, 5_000).await;
    for filter in ["k > 1000000000", "k IN (-7, 10000000)", "k IS NULL"] {
        let before = engine.counted();
        let found = rows(&engine, &format!("SELECT v FROM n WHERE {filter}")).await;
        assert!(found.is_empty(), "{filter}");
        // One top when planning, then those of all objects.
        assert_eq!(engine.counted().since(&before).get, 1 + 3, "{filter}");
    }
}

/// The number of look-ups and records is predicted; requests of planning are counted separately.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_index_scan_asks_for_is_predicted() {
    let store = Store::start().await;
    for profile in [StoreCapabilities::sluice(), StoreCapabilities::get_only()] {
        let engine = store.builder().profile(profile).scan(Scan::Index).build().await.unwrap();
        rows(&engine, "SET datafusion.execution.collect_statistics = false").await;
        numbers(&store, &engine, 3, 40_000).await;
        for filter in [
            "k = 77",
            "k IN (5, 255, 70000)",
            "k BETWEEN 65500 AND 65600",
            "k < 100",
            "k > 79900",
            "k > 1000000000",
            "k >= 0",
        ] {
            let sql = format!("SELECT v FROM n WHERE {filter}");
            let explanation = engine.explain(&sql).await.unwrap();
            let (predicted, planning) = (explanation.estimate().work, explanation.planning);
            let before = engine.counted();
            rows(&engine, &sql).await;
            let counted = engine.counted().since(&before);
            let gets = (counted.get - planning.get) as f64;
            let bytes = (counted.got_bytes - planning.got_bytes) as f64;
            let ratios = [predicted.requests.get.0 as f64 / gets, predicted.got.0 as f64 / bytes];
            let about = ratios.iter().all(|ratio| (0.4..2.5).contains(ratio));
            assert!(about, "{filter}: {ratios:?} of {gets} GETs and {bytes} B");
        }
    }
}
