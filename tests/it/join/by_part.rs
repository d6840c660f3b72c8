//! Keys that are too many for one statement: each part of a file is asked about its own, wherever
//! they are, and the rows are those of DataFusion.

use std::cell::Cell;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use object_store::local::LocalFileSystem;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;
use sluicegate_engine::datasource::s3_scan::as_select_scan;
use sluicegate_s3select::profile::EndpointProfile;
use sluicegate_server::{Fault, Operation, Rule};
use sluicegate_workloads::tpch::{self, generate};
use tokio::runtime::Runtime;

use super::sent::keys;
use crate::harness::{BUCKET, Store, rows, stock, stock_rows, try_rows, without_bloom_contains};
use crate::tpch::{data, register};

const COLUMNS: &str = "(k BIGINT, i INT, s VARCHAR, d DATE, m DECIMAL(12,2), v BIGINT)";

/// In which order a table's keys are.
#[derive(Debug, Clone, Copy)]
enum Order {
    Ascending,
    Descending,
    /// Ascending, some rows at the wrong place.
    Nearly,
    /// Two ascending runs, one after the other.
    Twice,
    /// Ascending where samples are likely to be taken, and anything between.
    Lying,
    None,
}

/// The keys of a table with so many rows, `step` apart.
fn arranged(order: Order, rows: i64, from: i64, step: i64, seed: u64) -> Vec<i64> {
    let mut keys: Vec<i64> = (0..rows).map(|n| from + n * step).collect();
    let mut state = seed | 1;
    let mut random = |end: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % end.max(1)
    };
    let len = keys.len();
    match order {
        Order::Ascending => {}
        Order::Descending => keys.reverse(),
        Order::Nearly => {
            for _ in 0..len / 20 {
                let (one, other) = (random(len), random(len));
                keys.swap(one, other);
            }
        }
        Order::Twice => {
            let (even, odd): (Vec<_>, Vec<_>) =
                keys.chunks(2).map(|two| (two[0], two.get(1))).unzip();
            keys = even.into_iter().chain(odd.into_iter().flatten().copied()).collect();
        }
        Order::Lying => {
            // Rows that are not near the borders of sixteenths change places with each other.
            let chunk = (len / 16).max(1);
            let near = |at: usize| at % chunk < chunk / 4 || at % chunk > chunk - chunk / 4;
            let inner: Vec<usize> = (0..len).filter(|at| !near(*at)).collect();
            for at in &inner {
                keys.swap(*at, inner[random(inner.len())]);
            }
        }
        Order::None => {
            for at in 0..len {
                keys.swap(at, random(len));
            }
        }
    }
    keys
}

/// A row's fields, derived from a key so that all columns are in one order.
fn fields(key: Option<i64>, v: i64) -> [Option<String>; 6] {
    let of = |text: fn(i64) -> String| key.map(text);
    [
        of(|k| k.to_string()),
        of(|k| (k / 2).to_string()),
        of(|k| format!("t{:07}", k + 1_000_000)),
        of(|k| {
            let days = (k + 1_000_000) % 3_000_000;
            format!("{:04}-{:02}-{:02}", 1000 + days / 360, 1 + days / 30 % 12, 1 + days % 28)
        }),
        of(|k| format!("{k}.50")),
        Some(v.to_string()),
    ]
}

fn csv(keys: &[Option<i64>]) -> String {
    let mut text = String::from("k,i,s,d,m,v\n");
    for (v, key) in keys.iter().enumerate() {
        let fields = fields(*key, v as i64).map(Option::unwrap_or_default);
        writeln!(text, "{}", fields.join(",")).unwrap();
    }
    text
}

fn json(keys: &[Option<i64>]) -> String {
    let mut text = String::new();
    for (v, key) in keys.iter().enumerate() {
        let fields = fields(*key, v as i64);
        let members =
            ["k", "i", "s", "d", "m", "v"].iter().zip(fields).filter_map(|(name, field)| {
                let field = field?;
                let quoted = matches!(*name, "s" | "d");
                Some(if quoted {
                    format!("\"{name}\":\"{field}\"")
                } else {
                    format!("\"{name}\":{field}")
                })
            });
        writeln!(text, "{{{}}}", members.collect::<Vec<_>>().join(",")).unwrap();
    }
    text
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Csv,
    Json,
    Parquet,
}

impl Format {
    fn ddl(self, name: &str, location: &str) -> String {
        let (format, options) = match self {
            Self::Csv => ("CSV", "OPTIONS ('format.has_header' 'true')"),
            Self::Json => ("JSON", ""),
            Self::Parquet => ("PARQUET", ""),
        };
        format!(
            "CREATE EXTERNAL TABLE {name} {COLUMNS} STORED AS {format} LOCATION '{location}' {options}"
        )
    }

    /// The bytes of a file with such keys.
    async fn write(self, stock: &SessionContext, folder: &Path, keys: &[Option<i64>]) -> Vec<u8> {
        match self {
            Self::Csv => csv(keys).into_bytes(),
            Self::Json => json(keys).into_bytes(),
            Self::Parquet => {
                let (from, to) = (folder.join("from.csv"), folder.join("to.parquet"));
                std::fs::write(&from, csv(keys)).unwrap();
                let ddl = Self::Csv.ddl("written", &from.display().to_string());
                stock_rows(stock, &ddl).await.unwrap();
                let copy = format!(
                    "COPY (SELECT * FROM written) TO '{}' STORED AS PARQUET \
                     OPTIONS ('format.max_row_group_size' '100')",
                    to.display()
                );
                stock_rows(stock, &copy).await.unwrap();
                stock_rows(stock, "DROP TABLE written").await.unwrap();
                std::fs::read(to).unwrap()
            }
        }
    }
}

const STATEMENTS: &[&str] = &[
    "SELECT p.v, p.k FROM b JOIN p ON b.k = p.k",
    "SELECT p.v FROM b JOIN p ON b.i = p.i AND b.k % 7 = 0",
    "SELECT p.v FROM b JOIN p ON b.s = p.s",
    "SELECT p.v FROM b JOIN p ON b.d = p.d AND b.v < 40",
    "SELECT p.v FROM b JOIN p ON b.m = p.m",
    "SELECT p.v, p.k FROM b JOIN p ON b.k IS NOT DISTINCT FROM p.k",
    "SELECT p.v, p.k FROM p WHERE p.k IN (SELECT k FROM b WHERE v % 3 > 0)",
    "SELECT b.v, p.v FROM b LEFT JOIN p ON b.k = p.k AND p.v % 5 > 0",
    "SELECT p.v FROM b JOIN p ON b.k = p.k AND b.s = p.s",
    "SELECT count(*), sum(p.v) FROM b JOIN p ON b.k = p.k WHERE p.v % 10 < 9",
];

#[derive(Debug, Clone)]
struct Case {
    order: Order,
    rows: i64,
    from: i64,
    step: i64,
    seed: u64,
    nulls: usize,
    objects: usize,
    every: usize,
    bytes: usize,
    range_bytes: usize,
    threads: usize,
    profile: EndpointProfile,
    partitioned: bool,
    /// Whether joins list their keys.
    listed: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let order = prop::sample::select(vec![
        Order::Ascending,
        Order::Descending,
        Order::Nearly,
        Order::Twice,
        Order::Lying,
        Order::None,
    ]);
    let no_substring = || {
        let mut profile = EndpointProfile::sluice();
        profile.syntax.substring = false;
        profile
    };
    let profile = prop_oneof![
        3 => Just(EndpointProfile::sluice()),
        3 => Just(without_bloom_contains()),
        2 => Just(EndpointProfile::aws()),
        1 => Just(EndpointProfile::minio()),
        1 => Just(no_substring()),
    ];
    let table = (order, 300..1_500_i64, -900_000..900_000_i64, 1..9_i64, any::<u64>());
    let files = (prop::sample::select(vec![0_usize, 2, 9]), 1..4_usize, 1..6_usize);
    let join = (any::<bool>(), prop::bool::weighted(0.6));
    let setting = (600..4_000_usize, 400..6_000_usize, 1..4_usize, profile, join);
    (table, files, setting).prop_map(
        |(
            (order, rows, from, step, seed),
            (nulls, objects, every),
            (bytes, range_bytes, threads, profile, (partitioned, listed)),
        )| Case {
            order,
            rows,
            from,
            step,
            seed,
            nulls,
            objects,
            every,
            bytes,
            range_bytes,
            threads,
            profile,
            partitioned,
            listed,
        },
    )
}

async fn run(
    case: &Case,
    format: Format,
    statements: &[&str],
    store: &Store,
    folder: &str,
) -> Result<(u32, u32), TestCaseError> {
    let local = tempfile::tempdir().unwrap();
    let stock = stock();
    let keys = arranged(case.order, case.rows, case.from, case.step, case.seed);
    let p: Vec<Option<i64>> = keys
        .iter()
        .enumerate()
        .map(|(at, key)| (case.nulls == 0 || at % (7 * case.nulls) > 0).then_some(*key))
        .collect();
    // Some of these keys, and some that p does not have.
    let mut b: Vec<Option<i64>> = keys.iter().step_by(case.every).copied().map(Some).collect();
    b.extend((0..5).map(|n| Some(case.from - 1 - n)));
    b.extend((case.nulls > 0).then_some(None));
    let extension = format!("{format:?}").to_lowercase();
    let each = p.len().div_ceil(case.objects);
    let parts = p.chunks(each).enumerate().map(|(n, part)| (format!("p/{n}"), part));
    for (name, keys) in parts.chain([("b/0".to_owned(), &b[..])]) {
        let path = local.path().join(format!("{name}.csv"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, csv(keys)).unwrap();
        let bytes = format.write(&stock, local.path(), keys).await;
        store.put(&format!("{folder}/{name}.{extension}"), bytes);
    }
    let profile = EndpointProfile { max_expression_bytes: case.bytes, ..case.profile.clone() };
    let builder = store.builder().scan(Scan::Select).profile(profile).threads(case.threads);
    let engine = builder.build().await.unwrap();
    for name in ["b", "p"] {
        let location = format!("s3://{BUCKET}/{folder}/{name}/");
        rows(&engine, &format.ddl(name, &location)).await;
        let location = format!("{}/{name}/", local.path().display());
        stock_rows(&stock, &Format::Csv.ddl(name, &location)).await.unwrap();
    }
    rows(&engine, &format!("SET sluice.range_bytes = {}", case.range_bytes)).await;
    if case.partitioned {
        let threshold = "datafusion.optimizer.hash_join_single_partition_threshold";
        rows(&engine, &format!("SET {threshold} = 0")).await;
        rows(&engine, &format!("SET {threshold}_rows = 0")).await;
    }
    if !case.listed {
        let listed = "datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values";
        rows(&engine, &format!("SET {listed} = 0")).await;
    }
    let (mut own, mut fewer) = (0, 0);
    for sql in statements {
        let expected = stock_rows(&stock, sql).await.unwrap();
        let mut returned = Vec::new();
        for strategy in ["filtered", "bloom", "auto"] {
            rows(&engine, &format!("SET sluice.join = '{strategy}'")).await;
            let before = engine.counted();
            let actual = try_rows(&engine, sql).await.map_err(|error| error.to_string());
            let counted = engine.counted().since(&before);
            returned.push(counted.returned_bytes);
            prop_assert_eq!(actual.as_ref(), Ok(&expected), "{} with {}", sql, strategy);
            prop_assert_eq!(counted.fallbacks, 0, "{} with {}", sql, strategy);
        }
        fewer += u32::from(4 * returned[1] < 3 * returned[0]);
        rows(&engine, "SET sluice.join = 'bloom'").await;
        let text = rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
        own +=
            u32::from(text.contains("parts with keys of their own (") && !text.contains("0 of "));
    }
    Ok((own, fewer))
}

fn check(format: Format) {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(24);
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let number = Cell::new(0);
    let seen = Cell::new((0, 0));
    let statements = prop::sample::subsequence(STATEMENTS.to_vec(), 3..=3);
    let result = runner.run(&(case(), statements), |(case, statements)| {
        number.set(number.get() + 1);
        let folder = format!("{format:?}{}", number.get());
        let (own, fewer) = runtime.block_on(run(&case, format, &statements, &store, &folder))?;
        seen.set((seen.get().0 + own, seen.get().1 + fewer));
        Ok(())
    });
    result.unwrap();
    let (own, fewer) = seen.get();
    // Only whole objects of Parquet have keys of their own, and not in every run: see
    // `each_parquet_object_is_asked_about_its_keys`.
    if !matches!(format, Format::Parquet) {
        assert!(own > 0, "no part had keys of its own in {cases} · 3 statements");
        assert!(fewer > 0, "keys made none of {cases} · 3 answers shorter");
    }
}

#[test]
fn parts_of_csv_agree_with_datafusion() {
    check(Format::Csv);
}

#[test]
fn parts_of_json_agree_with_datafusion() {
    check(Format::Json);
}

#[test]
fn parts_of_parquet_agree_with_datafusion() {
    check(Format::Parquet);
}

/// `p` has each of 0, 1, … once, in some order; `b` some of them, of which half are wanted.
async fn tables(order: Order, rows_of_p: i64, every: i64) -> Store {
    let store = Store::start().await;
    let b = (0..rows_of_p / every).map(|n| format!("{},{}\n", n * every, n % 2));
    let b: String = b.collect();
    let p = arranged(order, rows_of_p, 0, 1, 5);
    let p: String = p.into_iter().map(|k| format!("{k},value-{k}\n")).collect();
    store.put("b/b.csv", format!("k,w\n{b}"));
    store.put("p/p.csv", format!("k,v\n{p}"));
    store
}

const SQL: &str = "SELECT count(p.v) FROM b JOIN p ON b.k = p.k WHERE b.w = 1";

async fn engine(store: &Store, bytes: usize, range_bytes: usize) -> Engine {
    let profile = EndpointProfile { max_expression_bytes: bytes, ..without_bloom_contains() };
    let engine = store.builder().scan(Scan::Select).profile(profile).build().await.unwrap();
    for (table, columns) in [("b", "k BIGINT, w INT"), ("p", "k BIGINT, v VARCHAR")] {
        let ddl = format!(
            "CREATE EXTERNAL TABLE {table} ({columns}) STORED AS CSV \
             LOCATION 's3://{BUCKET}/{table}/' OPTIONS ('format.has_header' 'true')"
        );
        rows(&engine, &ddl).await;
    }
    rows(&engine, &format!("SET sluice.range_bytes = {range_bytes}")).await;
    rows(&engine, "SET sluice.join = 'bloom'").await;
    engine
}

/// Bytes that a statement returns, under some strategy.
async fn returned(engine: &Engine, strategy: &str, count: &str) -> u64 {
    rows(engine, &format!("SET sluice.join = '{strategy}'")).await;
    let before = engine.counted();
    assert_eq!(rows(engine, SQL).await, [format!("\"{count}\"")], "{strategy}");
    let counted = engine.counted().since(&before);
    assert_eq!(counted.fallbacks, 0, "{strategy}");
    counted.returned_bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_too_many_for_a_statement_are_few_enough_for_parts() {
    for order in [Order::Ascending, Order::Descending] {
        let store = tables(order, 40_000, 10).await;
        let engine = engine(&store, 4_096, 16_384).await;
        let said = keys(&engine, SQL).await;
        assert!(said.starts_with("by part on k (2000 keys); "), "{said}");
        let (own, all) = said
            .split_once("; ")
            .unwrap()
            .1
            .split_once(" parts")
            .unwrap()
            .0
            .split_once(" of ")
            .unwrap();
        assert!(own == all && own.parse::<usize>().unwrap() >= 8, "{said}");
        let bloom = returned(&engine, "bloom", "2000").await;
        let auto = returned(&engine, "auto", "2000").await;
        let filtered = returned(&engine, "filtered", "2000").await;
        assert!(12 * bloom < filtered && 12 * auto < filtered, "{bloom}, {auto} and {filtered}");
    }
}

/// What parts are asked is shown beside the looks at them, shortened; whole with VERBOSE.
#[tokio::test(flavor = "multi_thread")]
async fn what_parts_are_asked_is_shown() {
    let store = tables(Order::Ascending, 40_000, 10).await;
    let engine = engine(&store, 4_096, 16_384).await;
    let sent = |text: Vec<String>| {
        let text = text.join("\n");
        let of_keys = text.lines().find(|line| line.contains("keys=by part"));
        of_keys.map(ToOwned::to_owned).unwrap_or_else(|| panic!("no keys in {text}"))
    };
    let short = sent(rows(&engine, &format!("EXPLAIN ANALYZE {SQL}")).await);
    assert!(short.contains("sent=SELECT s._1 FROM S3Object s;"), "{short}");
    assert!(short.contains(" IN (") && short.contains(" more characters)"), "{short}");
    let whole = sent(rows(&engine, &format!("EXPLAIN ANALYZE VERBOSE {SQL}")).await);
    assert!(whole.contains(" IN (") && !whole.contains(" more char"), "{whole}");
}

#[tokio::test(flavor = "multi_thread")]
async fn data_in_no_order_is_asked_as_a_whole() {
    let store = tables(Order::None, 40_000, 10).await;
    let engine = engine(&store, 4_096, 16_384).await;
    let said = keys(&engine, SQL).await;
    assert!(said.contains("; 0 of 2 parts with keys of their own"), "{said}");
    rows(&engine, "SET sluice.join = 'bloom'").await;
    let before = engine.counted();
    assert_eq!(rows(&engine, SQL).await, ["\"2000\""]);
    let counted = engine.counted().since(&before);
    // The statements of both tables, and a few looks.
    assert!(counted.select < 40, "{counted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_where_no_look_expects_them_are_found() {
    for order in [Order::Nearly, Order::Twice, Order::Lying] {
        let store = tables(order, 40_000, 10).await;
        let engine = engine(&store, 4_096, 16_384).await;
        let bloom = returned(&engine, "bloom", "2000").await;
        let filtered = returned(&engine, "filtered", "2000").await;
        assert!(bloom <= filtered, "{order:?}: {bloom} and {filtered}");
    }
}

/// The footers of Parquet objects say which keys they have.
#[tokio::test(flavor = "multi_thread")]
async fn each_parquet_object_is_asked_about_its_keys() {
    let store = Store::start().await;
    let (local, stock) = (tempfile::tempdir().unwrap(), stock());
    let all: Vec<Option<i64>> = (0..8_000).map(Some).collect();
    let wanted: Vec<Option<i64>> = (0..800).map(|n| Some(n * 10)).collect();
    let parts = all.chunks(2_000).enumerate().map(|(n, part)| (format!("p/{n}"), part));
    for (name, keys) in parts.chain([("b/0".to_owned(), &wanted[..])]) {
        let bytes = Format::Parquet.write(&stock, local.path(), keys).await;
        store.put(&format!("{name}.parquet"), bytes);
    }
    let profile = EndpointProfile { max_expression_bytes: 2_048, ..without_bloom_contains() };
    let builder = store.builder().scan(Scan::Select).profile(profile);
    let engine = builder.build().await.unwrap();
    for name in ["b", "p"] {
        let location = format!("s3://{BUCKET}/{name}/");
        rows(&engine, &Format::Parquet.ddl(name, &location)).await;
    }
    rows(&engine, "SET sluice.join = 'bloom'").await;
    let sql = "SELECT count(p.v) FROM b JOIN p ON b.k = p.k";
    let said = keys(&engine, sql).await;
    let expected = "by part on k (800 keys); 4 of 4 parts with keys of their own (800 keys)";
    assert!(said.starts_with(expected), "{said}");
    assert_eq!(rows(&engine, sql).await, ["\"800\""]);
}

/// More keys than any statement has room for, and than DataFusion's default hands on.
#[tokio::test(flavor = "multi_thread")]
async fn parts_have_room_for_more_keys_than_any_statement() {
    let store = tables(Order::Ascending, 1_200_000, 4).await;
    let engine = engine(&store, 256 * 1024, 1 << 20).await;
    let said = keys(&engine, SQL).await;
    assert!(said.starts_with("by part on k (150000 keys); "), "{said}");
    let bloom = returned(&engine, "bloom", "150000").await;
    let filtered = returned(&engine, "filtered", "150000").await;
    assert!(5 * bloom < filtered, "{bloom} and {filtered}");
}

/// More keys than DataFusion's join lists, in each of its partitions.
#[tokio::test(flavor = "multi_thread")]
async fn parts_have_room_for_more_keys_than_the_join_lists() {
    let store = tables(Order::Ascending, 1_300_000, 2).await;
    let engine = engine(&store, 256 * 1024, 1 << 20).await;
    let listed = "datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values";
    rows(&engine, &format!("SET {listed} = 10000")).await;
    let bloom = returned(&engine, "bloom", "325000").await;
    let filtered = returned(&engine, "filtered", "325000").await;
    assert!(3 * bloom < 2 * filtered, "{bloom} and {filtered}");
    rows(&engine, "SET sluice.join_keys = 300000").await;
    let bounds = returned(&engine, "bloom", "325000").await;
    assert!(3 * bloom < 2 * bounds, "{bloom} and {bounds}");
}

/// Whichever request is struck, a look or a part: the same rows.
#[tokio::test(flavor = "multi_thread")]
async fn parts_survive_refusals_and_breaks() {
    let store = tables(Order::Ascending, 20_000, 10).await;
    let refused = |records, code: &str| Fault::ErrorFrame { records, code: code.to_owned() };
    for fault in [
        Fault::SlowDown,
        Fault::CutBeforeRecords(0),
        Fault::CutAfterRecords(1),
        Fault::CutInRecords(0),
        Fault::MissingEnd,
        refused(0, "UnsupportedSyntax"),
        refused(1, "CastFailed"),
    ] {
        let engine = engine(&store, 4_096, 16_384).await;
        for nth in [1, 2, 4, 8, 13] {
            let rule = Rule::new(Operation::SelectObjectContent, fault.clone());
            store.faults.inject(rule.key("p/p.csv").nth(nth).times(2));
            assert_eq!(rows(&engine, SQL).await, ["\"1000\""], "{fault:?}");
            store.faults.clear();
        }
    }
}

/// A CSV file with line breaks in quotes, although its table does not say so, is not divided.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_the_plan_did_not_divide_is_not_divided() {
    let store = Store::start().await;
    let b: String = (0..2_000).map(|n| format!("{},{}\n", n * 10, n % 2)).collect();
    let p: String = (0..20_000).map(|k| format!("{k},\"value\n{k},{k}\"\n")).collect();
    store.put("b/b.csv", format!("k,w\n{b}"));
    store.put("p/p.csv", format!("k,v\n{p}"));
    let engine = engine(&store, 4_096, 16_384).await;
    rows(&engine, "SET datafusion.optimizer.repartition_file_scans = false").await;
    let said = keys(&engine, SQL).await;
    assert!(said.contains(" of 1 parts with keys of their own"), "{said}");
    assert_eq!(rows(&engine, SQL).await, ["\"1000\""]);
}

/// TPC-H's query 3, with a statement's limit, and the least range, as small against the data as they are
/// at scale factor 1: 147 126 orders, of which a Bloom filter of 256 KiB holds a fifth.
#[tokio::test(flavor = "multi_thread")]
async fn the_orders_of_query_3_reach_lineitem() {
    const SCALE: f64 = 0.05;
    let store = Store::start().await;
    let tables = data(&tpch::Format::csv(), 1, SCALE);
    let bucket = LocalFileSystem::new_with_prefix(store.folder.path().join(BUCKET)).unwrap();
    generate(&tables, &bucket, &|_| ()).await.unwrap();
    let whole = without_bloom_contains();
    let bytes = whole.max_expression_bytes as f64 * SCALE;
    let profile = EndpointProfile { max_expression_bytes: bytes as usize, ..whole };
    let mut returned = Vec::new();
    for strategy in ["filtered", "bloom", "auto"] {
        let builder = store.builder().scan(Scan::Select).profile(profile.clone());
        let engine = builder.build().await.unwrap();
        register(&engine, BUCKET, &tables).await;
        rows(&engine, &format!("SET sluice.join = '{strategy}'")).await;
        rows(&engine, &format!("SET sluice.range_bytes = {}", (16 << 20) / 20)).await;
        let frame = engine.query(tpch::query(3).unwrap()).await.unwrap();
        let context = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await.unwrap();
        collect(Arc::clone(&plan), context).await.unwrap();
        returned.push(returned_of(&plan, "l_orderkey"));
    }
    assert!(5 * returned[1] < returned[0] && 5 * returned[2] < returned[0], "{returned:?}");
}

/// Bytes that the scan of a table with such a column returned.
fn returned_of(plan: &Arc<dyn ExecutionPlan>, column: &str) -> usize {
    let mut returned = 0;
    plan.apply(|node| {
        if let Some((_, source)) = as_select_scan(node.as_ref())
            && source.file_schema().index_of(column).is_ok()
        {
            let metrics = source.metrics_set().clone_inner();
            returned += metrics.sum_by_name("bytes_returned").map_or(0, |sum| sum.as_usize());
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    returned
}
