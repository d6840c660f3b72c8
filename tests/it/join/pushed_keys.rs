//! The statements that are sent for a join, and the description in EXPLAIN.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use sluicegate_costmodel::{BytesPerSecond, HardwareProfile};
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::{Fault, Operation, Rule};

use crate::harness::{BUCKET, Store, rows, without_bloom_contains};
use crate::parquet_types::written;

/// Creates `b` with the keys 0, 10, …, some of them wanted, and `p` with each of 0, 1, … once.
async fn tables(keys: i64, rows_of_p: i64) -> Store {
    let store = Store::start().await;
    let b: String = (0..keys).map(|n| format!("{},{}\n", n * 10, n % 2)).collect();
    let p: String = (0..rows_of_p).map(|k| format!("{k},value-{k}\n")).collect();
    store.put("b/b.csv", format!("k,w\n{b}"));
    store.put("p/p.csv", format!("k,v\n{p}"));
    store
}

const NUMBERS: [(&str, &str); 2] = [("b", "k BIGINT, w INT"), ("p", "k BIGINT, v VARCHAR")];

async fn engine(store: &Store, profile: StoreCapabilities, scan: Scan) -> Engine {
    engine_of(store, profile, scan, NUMBERS).await
}

async fn engine_of(
    store: &Store,
    profile: StoreCapabilities,
    scan: Scan,
    tables: [(&str, &str); 2],
) -> Engine {
    let engine = store.builder().scan(scan).profile(profile).build().await.unwrap();
    for (table, columns) in tables {
        let ddl = format!(
            "CREATE EXTERNAL TABLE {table} ({columns}) STORED AS CSV \
             LOCATION 's3://{BUCKET}/{table}/' OPTIONS ('format.has_header' 'true')"
        );
        rows(&engine, &ddl).await;
    }
    engine
}

const SQL: &str = "SELECT count(p.v) FROM b JOIN p ON b.k = p.k WHERE b.w = 1";

/// Returns the description of the keys in EXPLAIN ANALYZE, for the only scan that gets some.
pub(super) async fn keys(engine: &Engine, sql: &str) -> String {
    let text = rows(engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    let (_, rest) = text.split_once("keys=").unwrap_or_else(|| panic!("no keys in {text}"));
    // The description ends at the next metric.
    let end = rest.find(", output_rows=").or_else(|| rest.find(", cost=")).unwrap_or(rest.len());
    rest[..end].trim_end_matches("]\"").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn few_keys_are_a_list_and_many_a_bloom_filter() {
    let store = tables(100, 5_000).await;
    let sluice = engine(&store, StoreCapabilities::sluice(), Scan::Select).await;
    rows(&sluice, "SET sluice.join = 'bloom'").await;
    let said = keys(&sluice, SQL).await;
    assert!(said.starts_with("list on k (50 keys)"), "{said}");
    let before = sluice.counted();
    assert_eq!(rows(&sluice, SQL).await, ["\"50\""]);
    let counted = sluice.counted().since(&before);
    // 50 rows of both tables.
    assert!(counted.returned_bytes < 2_000, "{counted:?}");

    let store = tables(4_000, 40_000).await;
    for (profile, expected) in [
        (StoreCapabilities::sluice(), "binary bloom on k (2000 keys, 19176 bits, p = 0.01)"),
        (without_bloom_contains(), "bloom on k (2000 keys, 19173 bits, p = 0.01)"),
    ] {
        let engine = engine(&store, profile, Scan::Select).await;
        rows(&engine, "SET sluice.join = 'bloom'").await;
        let said = keys(&engine, SQL).await;
        assert!(said.starts_with(expected), "{said}");
        let before = engine.counted();
        assert_eq!(rows(&engine, SQL).await, ["\"2000\""]);
        let bloom = engine.counted().since(&before).returned_bytes;
        rows(&engine, "SET sluice.join = 'filtered'").await;
        let before = engine.counted();
        assert_eq!(rows(&engine, SQL).await, ["\"2000\""]);
        let filtered = engine.counted().since(&before).returned_bytes;
        assert!(8 * bloom < filtered, "{bloom} and {filtered}");
    }
}

/// In a store that compares each row with each key, a long list takes far longer than it saves: MinIO took a minute
/// for a list from a megabyte of rows.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_compares_each_row_with_each_key_gets_no_long_list() {
    for (keys_of_b, expected) in [(100, "list on k (50 keys)"), (400, "bounds on k (no more: ")] {
        let store = tables(keys_of_b, 5_000).await;
        let engine = engine(&store, StoreCapabilities::minio(), Scan::Select).await;
        for strategy in ["bloom", "auto"] {
            rows(&engine, &format!("SET sluice.join = '{strategy}'")).await;
            let said = keys(&engine, SQL).await;
            let asked = said.starts_with(expected) || strategy == "auto" && keys_of_b > 100;
            assert!(asked && !(keys_of_b > 100 && said.contains("list on")), "{strategy}: {said}");
            assert_eq!(rows(&engine, SQL).await, [format!("\"{}\"", keys_of_b / 2)]);
        }
    }
}

/// If no keys are sent, the reason is given: there are none, or there is no condition for them.
#[tokio::test(flavor = "multi_thread")]
async fn an_expression_the_store_cannot_be_asked_about_is_the_reason() {
    let store = tables(100, 5_000).await;
    let engine = engine(&store, StoreCapabilities::sluice(), Scan::Select).await;
    rows(&engine, "SET sluice.join = 'bloom'").await;
    let sql = "SELECT count(p.v) FROM b JOIN p ON b.k = p.k + 1 WHERE b.w = 1";
    let said = keys(&engine, sql).await;
    let why = "nothing: the store cannot be asked about keys of this type or expression";
    assert!(said.starts_with(why), "{said}");
    assert_eq!(rows(&engine, sql).await, ["\"50\""]);
}

/// Creates tables with the texts `key-0`, `key-1`, … for the keys.
async fn tables_of_texts(keys: i64, rows_of_p: i64) -> Store {
    let store = Store::start().await;
    let b: String = (0..keys).map(|n| format!("key-{},{}\n", n * 10, n % 2)).collect();
    let p: String = (0..rows_of_p).map(|k| format!("key-{k},value-{k}\n")).collect();
    store.put("b/b.csv", format!("k,w\n{b}"));
    store.put("p/p.csv", format!("k,v\n{p}"));
    store
}

const TEXTS: [(&str, &str); 2] = [("b", "k VARCHAR, w INT"), ("p", "k VARCHAR, v VARCHAR")];

#[tokio::test(flavor = "multi_thread")]
async fn texts_too_many_for_a_list_are_a_binary_bloom_filter() {
    let store = tables_of_texts(4_000, 40_000).await;
    let with_room = |profile, bytes| StoreCapabilities { max_expression_bytes: bytes, ..profile };
    for (profile, expected) in [
        (StoreCapabilities::sluice(), "binary bloom on k (2000 keys, 19176 bits, p = 0.01)"),
        (with_room(StoreCapabilities::sluice(), 8 * 1024), "binary bloom on k (2000 keys, 19176"),
        (with_room(StoreCapabilities::sluice(), 2 * 1024), "binary bloom on k (2000 keys, "),
        (without_bloom_contains(), "list on k (2000 keys)"),
        (with_room(without_bloom_contains(), 8 * 1024), "bounds on k"),
    ] {
        let engine = engine_of(&store, profile, Scan::Select, TEXTS).await;
        let mut returned = Vec::new();
        for strategy in ["filtered", "bloom", "auto"] {
            rows(&engine, &format!("SET sluice.join = '{strategy}'")).await;
            let before = engine.counted();
            assert_eq!(rows(&engine, SQL).await, ["\"2000\""]);
            let counted = engine.counted().since(&before);
            assert_eq!(counted.fallbacks, 0, "{strategy}, {expected}");
            returned.push(counted.returned_bytes);
        }
        rows(&engine, "SET sluice.join = 'bloom'").await;
        let said = keys(&engine, SQL).await;
        assert!(said.starts_with(expected), "{said}");
        let [filtered, bloom, auto] = returned[..] else { panic!("{returned:?}") };
        if !expected.starts_with("bounds") {
            assert!(2 * bloom < filtered && 2 * auto < filtered, "{said}: {returned:?}");
        }
    }
}

/// The number of keys up to which DataFusion's joins list them.
const LISTED: &str = "datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values";

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_the_join_does_not_list_are_counted_out() {
    let numbers = tables(4_000, 40_000).await;
    let texts = tables_of_texts(4_000, 40_000).await;
    let bloom = "binary bloom on k (2000 keys, 19176 bits, p = 0.01)";
    for partitioned in [false, true] {
        for (store, of, most, expected) in [
            (&numbers, NUMBERS, 2_000, bloom),
            // Beyond the limit, or if keys cannot be counted, only their bounds are known.
            (&numbers, NUMBERS, 1_999, "bounds on k"),
            (&texts, TEXTS, 2_000, "bounds on k"),
        ] {
            let engine = engine_of(store, StoreCapabilities::sluice(), Scan::Select, of).await;
            rows(&engine, &format!("SET {LISTED} = 100")).await;
            rows(&engine, &format!("SET sluice.join_keys = {most}")).await;
            rows(&engine, "SET sluice.join = 'bloom'").await;
            if partitioned {
                let threshold = "datafusion.optimizer.hash_join_single_partition_threshold";
                rows(&engine, &format!("SET {threshold} = 0")).await;
                rows(&engine, &format!("SET {threshold}_rows = 0")).await;
            }
            let said = keys(&engine, SQL).await;
            assert!(said.starts_with(expected), "{partitioned}: {said}");
            assert_eq!(rows(&engine, SQL).await, ["\"2000\""]);
        }
    }
}

/// If a store turns out not to support `BLOOM_CONTAINS`, it gets another condition.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_refuses_the_binary_filter_is_sent_another() {
    let numbers = (tables(4_000, 40_000).await, "bloom on k (2000 keys, 19173 bits, p = 0.01)");
    let texts = (tables_of_texts(4_000, 40_000).await, "list on k (2000 keys)");
    for (tables, (store, expected)) in [(NUMBERS, numbers), (TEXTS, texts)] {
        let engine = engine_of(&store, StoreCapabilities::sluice(), Scan::Select, tables).await;
        rows(&engine, "SET sluice.join = 'bloom'").await;
        let code = "UnsupportedFunction".to_owned();
        let fault = Fault::ErrorFrame { records: 0, code };
        let rule = Rule::new(Operation::SelectObjectContent, fault).key("p/p.csv");
        store.faults.inject(rule.times(u64::MAX));
        assert_eq!(rows(&engine, SQL).await, ["\"2000\""]);
        assert!(engine.counted().fallbacks > 0);
        store.faults.clear();
        let refusals = engine.endpoint().client.refusals();
        assert!(
            refusals.iter().any(|it| it.to_string().contains("BLOOM_CONTAINS")),
            "{refusals:?}"
        );
        let before = engine.counted();
        assert_eq!(rows(&engine, SQL).await, ["\"2000\""]);
        assert_eq!(engine.counted().since(&before).fallbacks, 0);
        let said = keys(&engine, SQL).await;
        assert!(said.starts_with(expected), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_does_not_fit_is_made_coarser_and_then_left_out() {
    let store = tables(4_000, 40_000).await;
    for (profile, name, small, tiny) in [
        (without_bloom_contains(), "bloom", 8 * 1024, 600),
        (StoreCapabilities::sluice(), "binary bloom", 2 * 1024, 250),
    ] {
        let with_room =
            |bytes| StoreCapabilities { max_expression_bytes: bytes, ..profile.clone() };
        let small = engine(&store, with_room(small), Scan::Select).await;
        rows(&small, "SET sluice.join = 'bloom'").await;
        let said = keys(&small, SQL).await;
        assert!(said.starts_with(&format!("{name} on k (2000 keys, ")), "{said}");
        assert!(said.contains("0.01 does not fit"), "{said}");
        assert_eq!(rows(&small, SQL).await, ["\"2000\""]);
        let tiny = engine(&store, with_room(tiny), Scan::Select).await;
        rows(&tiny, "SET sluice.join = 'bloom'").await;
        let said = keys(&tiny, SQL).await;
        assert!(said.starts_with("bounds on k (no more: p = 0.01 is wanted, but"), "{said}");
        assert!(said.contains("only with p = 1, which lets everything through)"), "{said}");
        let query = tiny.plan(SQL).await.unwrap();
        query.collect().await.unwrap();
        let warnings = query.warnings();
        let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
        let expected = "sluice.join = 'bloom' is not followed: only bounds on k are sent: p = 0.01";
        assert!(warning.contains(expected), "{warning}");
    }
}

/// PushdownDB varies the rate from 0.0001 to 0.5 (Figure 4).
#[tokio::test(flavor = "multi_thread")]
async fn the_false_positive_rate_of_a_filter_is_the_given_one() {
    let store = tables(4_000, 40_000).await;
    for profile in [StoreCapabilities::sluice(), without_bloom_contains()] {
        let engine = engine(&store, profile, Scan::Select).await;
        let mut returned = Vec::new();
        rows(&engine, "SET sluice.join = 'bloom'").await;
        for p in ["0.0001", "0.02", "0.3"] {
            rows(&engine, &format!("SET sluice.bloom_p = {p}")).await;
            let said = keys(&engine, SQL).await;
            assert!(said.contains(&format!(" bits, p = {p})")), "{said}");
            let before = engine.counted();
            assert_eq!(rows(&engine, SQL).await, ["\"2000\""]);
            returned.push(engine.counted().since(&before).returned_bytes);
        }
        assert!(returned.is_sorted() && returned[0] < returned[2], "{returned:?}");
    }
}

/// Without SUBSTRING there are no Bloom filters: EXPLAIN predicts the statement that is sent instead, and why.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_without_bloom_filters_says_so() {
    let why = "a Bloom filter needs SUBSTRING or BLOOM_CONTAINS, and the store has neither \
               (profile `minio`)";
    let forced = "sluice.join = 'bloom' is not followed";
    for (keys_of_b, said, warned) in [(100, "list on k", false), (200_000, "bounds on k", true)] {
        let store = tables(keys_of_b, 400_000).await;
        let engine = engine(&store, StoreCapabilities::minio(), Scan::Auto).await;
        rows(&engine, "SET sluice.join = 'bloom'").await;
        let explained = engine.explain(SQL).await.unwrap();
        let text = explained.to_string();
        assert!(text.contains("as a list, or as bounds if they are too many: "), "{text}");
        assert!(text.contains(why), "{text}");
        let of_p = explained.decisions.iter().find(|it| it.subject.contains("/p/")).unwrap();
        let link = |way: &str| {
            let numbers = of_p.verdict(way).unwrap().outcome.as_ref().unwrap();
            numbers.work.link.0
        };
        // Nearly all rows lie between the least and the greatest key.
        assert_eq!(2 * link("bloom") > link("filtered"), warned, "{text}");
        let keys = keys(&engine, SQL).await;
        assert!(keys.starts_with(said) && keys.contains(why) == warned, "{keys}");
        let query = engine.plan(SQL).await.unwrap();
        query.collect().await.unwrap();
        let warnings = query.warnings();
        assert_eq!(warnings.iter().any(|it| it.contains(forced)), warned, "{warnings:?}");
    }
}

/// If a store accepts only shorter statements than its profile, the statement is repeated without the keys.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_is_too_long_is_sent_without_keys() {
    let store = tables_of_texts(44_000, 40_000).await;
    let profile =
        StoreCapabilities { max_expression_bytes: 1024 * 1024, ..without_bloom_contains() };
    let engine = engine_of(&store, profile, Scan::Select, TEXTS).await;
    rows(&engine, "SET sluice.join = 'bloom'").await;
    let said = keys(&engine, SQL).await;
    assert!(said.starts_with("bounds on k") && said.contains(LISTED), "{said}");
    rows(&engine, &format!("SET {LISTED} = 65536")).await;
    let said = keys(&engine, SQL).await;
    assert!(said.starts_with("list on k (22000 keys)"), "{said}");
    let before = engine.counted();
    assert_eq!(rows(&engine, SQL).await, ["\"2000\""]);
    let counted = engine.counted().since(&before);
    // One statement for each table, and one that is refused.
    assert_eq!((counted.select, counted.fallbacks, counted.get), (3, 0, 0), "{counted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn baseline_fetches_and_filtered_sends_no_keys() {
    let store = tables(100, 5_000).await;
    let engine = engine(&store, StoreCapabilities::sluice(), Scan::Auto).await;
    let mut seen = Vec::new();
    for strategy in ["baseline", "filtered", "bloom"] {
        rows(&engine, &format!("SET sluice.join = '{strategy}'")).await;
        let plan = rows(&engine, &format!("EXPLAIN {SQL}")).await.join("\n");
        let before = engine.counted();
        assert_eq!(rows(&engine, SQL).await, ["\"50\""]);
        let counted = engine.counted().since(&before);
        seen.push((plan.contains("join=bloom on k"), counted.select, counted.get > 0));
        assert!(plan.contains(&format!("* {strategy}")), "{plan}");
        assert!(!plan.contains("is not followed"), "{plan}");
    }
    assert_eq!(seen, [(false, 0, true), (false, 2, false), (true, 2, false)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strategy_that_is_impossible_says_why() {
    let store = tables(100, 500).await;
    let get_only = engine(&store, StoreCapabilities::get_only(), Scan::Auto).await;
    rows(&get_only, "SET sluice.join = 'bloom'").await;
    let plan = rows(&get_only, &format!("EXPLAIN {SQL}")).await.join("\n");
    let why = "sluice.join = 'bloom' is not followed: the store has no S3 Select";
    assert!(plan.contains(why), "{plan}");
    // The rows of p are kept whatever the keys are.
    let sluice = engine(&store, StoreCapabilities::sluice(), Scan::Auto).await;
    rows(&sluice, "SET sluice.join = 'bloom'").await;
    let outer = "SELECT count(*) FROM b FULL JOIN p ON b.k = p.k";
    let plan = rows(&sluice, &format!("EXPLAIN {outer}")).await.join("\n");
    let why = "sluice.join = 'bloom' is not followed: its join also keeps rows without a partner";
    assert!(plan.contains(why), "{plan}");
    assert!(plan.contains("not possible: it is on the build side of its join"), "{plan}");
    assert!(!plan.contains("join=bloom"), "{plan}");
    let unequal = "SELECT count(*) FROM b JOIN p ON b.k < p.k";
    let plan = rows(&sluice, &format!("EXPLAIN {unequal}")).await.join("\n");
    assert!(plan.contains("its joins have no keys that must be equal"), "{plan}");
    let alone = rows(&sluice, "EXPLAIN SELECT count(*) FROM b").await.join("\n");
    assert!(!alone.contains("is not followed"), "{alone}");
}

/// Keys of floating-point numbers are expressions, since -0.0 equals 0.0.
#[tokio::test(flavor = "multi_thread")]
async fn float_keys_are_refused_once_and_with_their_reason() {
    let store = tables(100, 500).await;
    let engine = engine(&store, StoreCapabilities::sluice(), Scan::Auto).await;
    rows(&engine, "SET sluice.join = 'bloom'").await;
    let floats = "SELECT count(*) FROM b JOIN p ON CAST(b.k AS DOUBLE) = CAST(p.k AS DOUBLE)";
    let query = engine.plan(floats).await.unwrap();
    query.frame().clone().collect().await.unwrap();
    let warnings = query.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("keys of this type"), "{warnings:?}");
    let plan = rows(&engine, &format!("EXPLAIN {floats}")).await.join("\n");
    assert!(plan.contains("keys of this type") && !plan.contains("not columns of its"), "{plan}");
}

#[tokio::test(flavor = "multi_thread")]
async fn left_to_itself_it_sends_keys_that_pay() {
    let store = tables(100, 40_000).await;
    let sluice = engine(&store, StoreCapabilities::sluice(), Scan::Select).await;
    let said = keys(&sluice, SQL).await;
    assert!(said.starts_with("list on k (50 keys)"), "{said}");
    // If all keys are wanted, the filter saves nothing.
    let store = tables(4_000, 40_000).await;
    let sluice = engine(&store, StoreCapabilities::sluice(), Scan::Select).await;
    let all = "SELECT count(p.v) FROM b JOIN p ON b.k = p.k";
    assert_eq!(rows(&sluice, all).await, ["\"4000\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_side_without_rows_asks_nothing() {
    let store = tables(100, 500).await;
    let sluice = engine(&store, StoreCapabilities::sluice(), Scan::Select).await;
    rows(&sluice, "SET sluice.join = 'bloom'").await;
    rows(&sluice, "SET datafusion.optimizer.hash_join_single_partition_threshold = 0").await;
    rows(&sluice, "SET datafusion.optimizer.hash_join_single_partition_threshold_rows = 0").await;
    let none = "SELECT count(p.v) FROM b JOIN p ON b.k = p.k WHERE b.w = 7";
    assert_eq!(rows(&sluice, none).await, ["\"0\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_keys_of_a_large_table_are_not_asked_about_unless_that_is_forced() {
    let sql = "SELECT count(p.v) FROM b JOIN p ON b.k = p.k";
    // The cost model assumes 1.2 MB for 12,000 rows of 100 bytes, and 30 bytes for a list of the wanted keys.
    for (keys_of_b, asked) in [(140_000, false), (5, true)] {
        let store = tables(keys_of_b, 300_000).await;
        let sluice = engine(&store, StoreCapabilities::sluice(), Scan::Select).await;
        for (strategy, asked) in [("auto", asked), ("bloom", true)] {
            rows(&sluice, &format!("SET sluice.join = '{strategy}'")).await;
            let plan = rows(&sluice, &format!("EXPLAIN {sql}")).await.join("\n");
            assert_eq!(plan.contains("join=bloom on k"), asked, "{strategy}: {plan}");
            let joined = keys_of_b.min(30_000);
            assert_eq!(rows(&sluice, sql).await, [format!("\"{joined}\"")], "{strategy}");
        }
    }
}

/// A scan may have keys of several joins. The number of keys of one says nothing about the other.
#[tokio::test(flavor = "multi_thread")]
async fn each_join_of_a_scan_has_an_estimate_of_its_own() {
    let store = Store::start().await;
    let numbers = |numbers: &mut dyn Iterator<Item = i64>| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(numbers))
    };
    let build =
        |keys: i64| [("k", numbers(&mut (0..keys))), ("w", numbers(&mut (0..keys).map(|k| k % 8)))];
    let rows_of_p = 0..160_000_i64;
    let probe = [
        ("few", numbers(&mut rows_of_p.clone().map(|row| row % 20))),
        ("many", numbers(&mut rows_of_p.clone().map(|row| row * 7 % 40_000))),
        ("v", numbers(&mut rows_of_p.map(|row| row * 1_000_003))),
    ];
    for (key, columns) in [("few", &build(20)[..]), ("many", &build(40_000)[..]), ("p", &probe[..])]
    {
        let columns: Vec<_> =
            columns.iter().map(|(name, it)| ((*name).to_owned(), Arc::clone(it))).collect();
        store.put(&format!("{key}.parquet"), written(&columns));
    }
    let hardware = HardwareProfile::by_name("local").unwrap().clone();
    let hardware = hardware.behind(BytesPerSecond::gbit(0.01));
    let engine = store.builder().hardware(hardware).scan(Scan::Select).build().await.unwrap();
    for table in ["few", "many", "p"] {
        let location = format!("s3://{BUCKET}/{table}.parquet");
        let ddl = format!("CREATE EXTERNAL TABLE {table} STORED AS PARQUET LOCATION '{location}'");
        rows(&engine, &ddl).await;
    }
    let joined = "FROM p JOIN many ON p.many = many.k JOIN few ON p.few = few.k";
    let sql = format!("SELECT sum(p.v), count(*) {joined} WHERE many.w = 1 AND few.w = 1");
    let said = keys(&engine, &sql).await;
    assert!(said.contains("bloom on many (5000 keys"), "{said}");
    assert!(said.contains("list on few (3 keys)"), "{said}");
}
