//! Random tables, joined in every way and under every strategy, return the rows of plain DataFusion.

use std::fmt::Write as _;

use proptest::prelude::*;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use tokio::runtime::Runtime;

use crate::harness::{
    BUCKET, Store, rows, runner, stock, stock_rows, try_rows, without_bloom_contains,
};

const COLUMNS: &str = "(k BIGINT, i INT, s VARCHAR, d DATE, m DECIMAL(12,2), v BIGINT)";

/// The fields of a row as text, `None` for NULL.
pub(super) type Row = [Option<String>; 6];

fn maybe<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.85, value)
}

pub(super) fn row() -> impl Strategy<Value = Row> {
    let key = prop_oneof![
        8 => -3..12_i64,
        1 => any::<i64>(),
        1 => Just(i64::MIN),
        1 => Just(i64::MAX),
    ];
    (
        maybe(key),
        maybe(prop_oneof![8 => -3..12_i32, 1 => any::<i32>()]),
        maybe(prop_oneof![8 => "[a-d]{0,1}", 1 => "[a-zÀ-ž' ]{0,4}"]),
        maybe(1..9_u32),
        maybe((-3..6_i64, 0..2_i64)),
        0..50_i64,
    )
        .prop_map(|(k, i, s, d, m, v)| {
            [
                k.map(|k| k.to_string()),
                i.map(|i| i.to_string()),
                // An empty field is NULL.
                s.filter(|s| !s.trim().is_empty()),
                d.map(|d| format!("1995-01-0{d}")),
                m.map(|(whole, half)| format!("{whole}.{}0", half * 5)),
                Some(v.to_string()),
            ]
        })
}

/// Generates few rows with keys of all kinds, and sometimes so many that a list does not fit.
fn table() -> impl Strategy<Value = Vec<Row>> {
    let some = prop::collection::vec(row(), 0..25);
    let more = prop_oneof![
        3 => Just(0..0_i64),
        1 => (-2_000..10_i64).prop_map(|from| from..from + 1_500),
    ];
    (some, more, 1..5_i64).prop_map(|(mut rows, more, step)| {
        rows.extend(more.map(|n| {
            let key = Some((n * step).to_string());
            let date = Some(format!("1995-01-{:02}", 1 + n.rem_euclid(28)));
            [
                key.clone(),
                key,
                Some(format!("t{n}")),
                date,
                Some(format!("{n}.50")),
                Some("7".into()),
            ]
        }));
        rows
    })
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Format {
    Csv,
    Json,
}

impl Format {
    pub(super) fn write(self, rows: &[Row]) -> String {
        let mut text = String::new();
        match self {
            Self::Csv => {
                text.push_str("k,i,s,d,m,v\n");
                for row in rows {
                    let fields: Vec<_> =
                        row.iter().map(|field| field.as_deref().unwrap_or_default()).collect();
                    writeln!(text, "{}", fields.join(",")).unwrap();
                }
            }
            Self::Json => {
                for row in rows {
                    let members = ["k", "i", "s", "d", "m", "v"].iter().zip(row);
                    let members = members.filter_map(|(name, field)| {
                        let field = field.as_ref()?;
                        let value = match *name {
                            "s" | "d" => serde_json::Value::from(field.as_str()).to_string(),
                            _ => field.clone(),
                        };
                        Some(format!("\"{name}\":{value}"))
                    });
                    writeln!(text, "{{{}}}", members.collect::<Vec<_>>().join(",")).unwrap();
                }
            }
        }
        text
    }

    pub(super) fn ddl(self, name: &str, location: &str) -> String {
        let (format, options) = match self {
            Self::Csv => ("CSV", "OPTIONS ('format.has_header' 'true')"),
            Self::Json => ("JSON", ""),
        };
        format!(
            "CREATE EXTERNAL TABLE {name} {COLUMNS} STORED AS {format} LOCATION '{location}' {options}"
        )
    }

    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }
}

/// Every type of join, equality of NULLs, several keys, keys of several types and under casts.
const STATEMENTS: &[&str] = &[
    "SELECT b.v, p.v, p.k FROM b JOIN p ON b.k = p.k",
    "SELECT b.v, p.v FROM b JOIN p ON b.k = p.k WHERE b.v < 20 AND p.v > 3",
    "SELECT b.v, p.v FROM b JOIN p ON b.k = p.k WHERE b.v < -1",
    "SELECT b.v, p.v FROM b LEFT JOIN p ON b.k = p.k",
    "SELECT b.v, p.v FROM b RIGHT JOIN p ON b.k = p.k",
    "SELECT b.v, p.v FROM b FULL JOIN p ON b.k = p.k",
    "SELECT p.v, p.k FROM p WHERE p.k IN (SELECT k FROM b WHERE v < 30)",
    "SELECT b.v, b.k FROM b WHERE EXISTS (SELECT 1 FROM p WHERE p.k = b.k)",
    "SELECT p.v, p.k FROM p WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = p.k)",
    "SELECT b.v, b.k FROM b WHERE b.k NOT IN (SELECT k FROM p)",
    "SELECT b.v, b.k FROM b WHERE b.k NOT IN (SELECT k FROM p WHERE k IS NOT NULL)",
    "SELECT p.v, p.k FROM p WHERE p.v > 40 OR p.k IN (SELECT k FROM b)",
    "SELECT b.v, p.v FROM b JOIN p ON b.k IS NOT DISTINCT FROM p.k",
    "SELECT b.v, p.v FROM b JOIN p ON b.k IS NOT DISTINCT FROM p.k AND b.s IS NOT DISTINCT FROM p.s",
    "SELECT b.v, p.v FROM b JOIN p ON b.k = p.k AND b.s = p.s",
    "SELECT b.v, p.v FROM b JOIN p ON b.i = p.k",
    "SELECT b.v, p.v FROM b JOIN p ON b.k = p.i AND b.v > 10",
    "SELECT b.v, p.v FROM b JOIN p ON b.s = p.s",
    "SELECT p.v, p.s FROM p WHERE p.s IN (SELECT s FROM b WHERE v > 5)",
    "SELECT b.v, p.v FROM b JOIN p ON b.s IS NOT DISTINCT FROM p.s",
    "SELECT b.v, p.v FROM b JOIN p ON b.s = p.s AND b.m = p.m",
    "SELECT b.v, p.v FROM b JOIN p ON b.d = p.d AND b.v < 9",
    "SELECT b.v, p.v FROM b JOIN p ON b.m = p.m",
    "SELECT b.v, p.v FROM b JOIN p ON b.k = p.m",
    "SELECT b.v, p.v FROM b JOIN p ON b.m = p.k",
    "SELECT b.v, p.v FROM b JOIN p ON b.k = p.k + 1",
    "SELECT count(*), sum(p.v) FROM b JOIN p ON b.k = p.k JOIN b c ON c.i = p.i WHERE c.v < 25",
    "SELECT x.k, x.n, b.v FROM b JOIN (SELECT k, count(*) AS n FROM p GROUP BY k) x ON x.k = b.k",
    "SELECT b.v, x.v FROM b JOIN (SELECT * FROM p UNION ALL SELECT * FROM p) x ON x.k = b.k",
    "SELECT p.k, p.v FROM b JOIN p ON b.k = p.k ORDER BY p.k, p.v LIMIT 3",
];

/// Knowledge and settings of a run, apart from the strategy.
#[derive(Debug, Clone)]
struct Setting {
    scan: Scan,
    profile: StoreCapabilities,
    partitioned: bool,
    /// True if joins list their keys.
    listed: bool,
}

fn settings() -> impl Strategy<Value = Setting> {
    let small = || StoreCapabilities { max_expression_bytes: 700, ..StoreCapabilities::sluice() };
    let no_substring = || {
        let mut profile = StoreCapabilities::sluice();
        profile.syntax.substring = false;
        profile
    };
    // A limit that fits a binary Bloom filter, and no list.
    let short = || StoreCapabilities { max_expression_bytes: 4_000, ..StoreCapabilities::sluice() };
    let profile = prop_oneof![
        4 => Just(StoreCapabilities::sluice()),
        2 => Just(without_bloom_contains()),
        2 => Just(short()),
        2 => Just(StoreCapabilities::aws()),
        1 => Just(StoreCapabilities::minio()),
        1 => Just(StoreCapabilities::get_only()),
        1 => Just(small()),
        1 => Just(no_substring()),
    ];
    let listed = prop::bool::weighted(0.6);
    (prop::sample::select(vec![Scan::Auto, Scan::Select]), profile, any::<bool>(), listed).prop_map(
        |(scan, profile, partitioned, listed)| Setting { scan, profile, partitioned, listed },
    )
}

fn check(format: Format) {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let local = tempfile::tempdir().unwrap();
    let mut runner = runner(20);
    let cases = runner.config().cases;
    let number = std::cell::Cell::new(0);
    let fewer = std::cell::Cell::new(0_u32);
    let statements = prop::sample::subsequence(STATEMENTS.to_vec(), 4..=4);
    let tables = (table(), table(), any::<prop::sample::Index>());
    let result = runner.run(&(tables, settings(), statements), |(tables, setting, statements)| {
        number.set(number.get() + 1);
        let (b, p, cut) = tables;
        let folder = format!("{format:?}{}", number.get());
        let extension = format.extension();
        let (first, second) = p.split_at(cut.index(p.len() + 1));
        let parts = [("b/0", &b[..]), ("p/0", first), ("p/1", second)];
        for (name, rows) in parts {
            let text = format.write(rows);
            let path = local.path().join(&folder).join(format!("{name}.{extension}"));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &text).unwrap();
            store.put(&format!("{folder}/{name}.{extension}"), text);
        }
        runtime.block_on(async {
            let builder = store.builder().scan(setting.scan).profile(setting.profile.clone());
            let engine = builder.build().await.unwrap();
            let stock = stock();
            for name in ["b", "p"] {
                let location = format!("s3://{BUCKET}/{folder}/{name}/");
                rows(&engine, &format.ddl(name, &location)).await;
                let location = format!("{}/{folder}/{name}/", local.path().display());
                stock_rows(&stock, &format.ddl(name, &location)).await.unwrap();
            }
            if setting.partitioned {
                let threshold = "datafusion.optimizer.hash_join_single_partition_threshold";
                rows(&engine, &format!("SET {threshold} = 0")).await;
                rows(&engine, &format!("SET {threshold}_rows = 0")).await;
            }
            if !setting.listed {
                let listed = "datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values";
                rows(&engine, &format!("SET {listed} = 0")).await;
            }
            for sql in statements {
                let expected = stock_rows(&stock, sql).await;
                let mut returned = Vec::new();
                for strategy in ["baseline", "filtered", "bloom", "auto"] {
                    rows(&engine, &format!("SET sluice.join = '{strategy}'")).await;
                    let before = engine.counted();
                    let actual = try_rows(&engine, sql).await.map_err(|error| error.to_string());
                    returned.push(engine.counted().since(&before).returned_bytes);
                    match (&actual, &expected) {
                        (Ok(actual), Ok(expected)) => {
                            prop_assert_eq!(actual, expected, "{} with {}", sql, strategy);
                        }
                        (Err(_), Err(_)) => {}
                        _ => prop_assert!(false, "{sql} with {strategy}: {actual:?}, {expected:?}"),
                    }
                }
                fewer.set(fewer.get() + u32::from(returned[2] < returned[1]));
            }
            Ok(())
        })
    });
    result.unwrap();
    assert!(fewer.get() > cases / 2, "keys made {} of {cases} · 4 answers shorter", fewer.get());
}

#[test]
fn joins_over_csv_agree_with_datafusion() {
    check(Format::Csv);
}

#[test]
fn joins_over_json_agree_with_datafusion() {
    check(Format::Json);
}
