//! Random groups of random tables, in every way.

use std::cell::Cell;

use proptest::prelude::*;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use tokio::runtime::Runtime;

use super::{STRATEGIES, force, sample};
use crate::harness::{BUCKET, Store, in_text, rows, runner, stock, stock_rows, try_rows};
use crate::random;

fn key() -> impl Strategy<Value = String> {
    let keys = [
        "s",
        "i",
        "n",
        "d",
        "t",
        "b",
        "f",
        "id",
        "substr(s, 1, 1)",
        "i > 0",
        "n + id",
        "d * 2",
        "CASE WHEN b THEN i END",
        "s IS NULL",
        "upper(s)",
        // A partition column, in half of the tables.
        "PART",
        "PART + 1",
    ];
    prop::sample::select(keys.to_vec()).prop_map(str::to_owned)
}

fn aggregates() -> impl Strategy<Value = String> {
    let aggregates = vec![
        "count(*)",
        "count(s), count(i), count(*)",
        "sum(i), min(i), max(i), avg(i)",
        "sum(n), min(n), max(n)",
        "sum(d), min(d), max(d), avg(d)",
        "min(t), max(t), min(s), max(s)",
        "sum(d) FILTER (WHERE b), count(*) FILTER (WHERE i > 0), max(s) FILTER (WHERE s < 'b')",
        "sum(d * 2 - 1), sum(CASE WHEN b THEN d ELSE 0 END), count(f)",
        // Not of f: the MAX of a group of floats depends on their order in DataFusion if there are NaNs or zeros of
        // both signs.
        "max(d), count(DISTINCT s)",
    ];
    prop::sample::select(aggregates).prop_map(str::to_owned)
}

fn statement() -> impl Strategy<Value = String> {
    let keys = prop::collection::btree_set(key(), 1..4)
        .prop_map(|keys| keys.into_iter().collect::<Vec<_>>().join(", "));
    let having = prop::option::weighted(0.2, Just("HAVING count(*) > 1"));
    let aggregates = prop::option::weighted(0.8, aggregates());
    let predicate = random::predicate().prop_map(|it| it.replace("PARTITION", "PART"));
    let predicate = prop::option::of(predicate);
    (keys, aggregates, predicate, having).prop_map(|(keys, aggregates, predicate, having)| {
        let filter = predicate.map(|it| format!("WHERE {it}")).unwrap_or_default();
        match aggregates {
            Some(aggregates) => format!(
                "SELECT {keys}, {aggregates} FROM x {filter} GROUP BY {keys} {}",
                having.unwrap_or_default()
            ),
            None => format!("SELECT DISTINCT {keys} FROM x {filter}"),
        }
    })
}

/// Generates statements that most stores support, with keys that many stores can compare.
fn plain_statement() -> impl Strategy<Value = String> {
    let keys = prop::sample::subsequence(vec!["s", "i", "n", "id", "t", "b"], 1..3);
    let aggregates =
        vec!["", ", count(*)", ", count(*)", ", sum(i), min(i), max(n), count(*)", ", min(s)"];
    let filters = vec!["", "", "WHERE id > 20", "WHERE s <> 'a'"];
    (keys, prop::sample::select(aggregates), prop::sample::select(filters)).prop_map(
        |(keys, aggregates, filter)| {
            let keys = keys.join(", ");
            format!("SELECT {keys}{aggregates} FROM x {filter} GROUP BY {keys}")
        },
    )
}

/// The formats of objects.
#[derive(Debug, Clone, Copy)]
enum Stored {
    Text(random::Format),
    Parquet,
}

impl Stored {
    fn ddl(self, location: &str, partitioned: bool) -> String {
        match self {
            Self::Text(format) => format.ddl(location, partitioned),
            Self::Parquet => {
                let csv = random::Format::Csv.ddl(location, partitioned);
                let (table, _) = csv.split_once(" OPTIONS").unwrap();
                table.replace("STORED AS CSV", "STORED AS PARQUET")
            }
        }
    }

    fn stock_ddl(self, location: &str, partitioned: bool) -> Vec<String> {
        match self {
            Self::Text(format) => format.stock_ddl(location, partitioned),
            Self::Parquet => vec![self.ddl(location, partitioned)],
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Text(format) => format.extension(),
            Self::Parquet => "parquet",
        }
    }

    /// Returns the object with some rows.
    async fn write(self, rows: &[random::Row], forms: &[u8]) -> Vec<u8> {
        let format = match self {
            Self::Text(format) => return format.write(rows, forms).into_bytes(),
            Self::Parquet => random::Format::Csv,
        };
        let (scratch, stock) = (tempfile::tempdir().unwrap(), stock());
        let [csv, parquet] = ["a.csv", "b.parquet"].map(|name| scratch.path().join(name));
        std::fs::write(&csv, format.write(rows, forms)).unwrap();
        stock_rows(&stock, &format.ddl(&csv.display().to_string(), false)).await.unwrap();
        let copy = format!("COPY (SELECT * FROM x) TO '{}'", parquet.display());
        stock_rows(&stock, &copy).await.unwrap();
        // DataFusion writes no file for no rows.
        std::fs::read(parquet).unwrap_or_default()
    }
}

fn check(stored: Stored) {
    check_in(stored, &StoreCapabilities::sluice());
}

fn check_in(stored: Stored, profile: &StoreCapabilities) {
    let (asked, pushed) = check_with(stored, profile, "s3", statement().boxed(), 20);
    assert!(3 * pushed > asked, "of {asked} statements only {pushed} are grouped in the store");
}

/// Returns the number of statements, and how many of them the strategy `counted` grouped in the store.
fn check_with(
    stored: Stored,
    profile: &StoreCapabilities,
    counted: &'static str,
    statement: BoxedStrategy<String>,
    cases: u32,
) -> (u32, u32) {
    let runtime = Runtime::new().unwrap();
    let bounds = [Some(1), Some(2), Some(3), None];
    let stores = bounds.map(|most| {
        runtime.block_on(Store::start_with(|server| match most {
            Some(most) => server.max_groups(most),
            None => server,
        }))
    });
    let mut runner = runner(cases);
    let statements = prop::collection::vec(statement, 1..4);
    let objects = prop::collection::vec((random::table(), random::forms()), 1..3);
    let number = Cell::new(0);
    let (asked, pushed) = (Cell::new(0_u32), Cell::new(0_u32));
    let samples = prop::sample::select(vec![1_usize, 3, 4096]);
    let ranges = prop::sample::select(vec![200_usize, 1 << 24]);
    let ways = (samples, ranges, 0..bounds.len(), any::<bool>());
    let result = runner.run(&(objects, statements, ways), |(objects, statements, way)| {
        let (count, range, bound, partitioned) = way;
        let store = &stores[bound];
        number.set(number.get() + 1);
        let folder = format!("{}", number.get());
        runtime.block_on(async {
            for (index, (rows, forms)) in objects.iter().enumerate() {
                let object = stored.write(rows, forms).await;
                let below =
                    if partitioned { format!("p={}/", 2 - index % 2) } else { String::new() };
                if !object.is_empty() {
                    let extension = stored.extension();
                    store.put(&format!("{folder}/{below}{index}.{extension}"), object);
                }
            }
            let local = store.folder.path().join(BUCKET).join(&folder);
            std::fs::create_dir_all(&local).unwrap();
            let engine = store.builder().profile(profile.clone()).scan(Scan::Auto);
            let engine = engine.build().await.unwrap();
            let stock = stock();
            try_rows(&engine, &stored.ddl(&format!("s3://{BUCKET}/{folder}/"), partitioned))
                .await
                .unwrap();
            let local = format!("{}/", local.display());
            for ddl in stored.stock_ddl(&local, partitioned) {
                stock_rows(&stock, &ddl).await.unwrap();
            }
            sample(&engine, count).await;
            rows(&engine, &format!("SET sluice.range_bytes = {range}")).await;
            for sql in statements {
                let sql = sql.replace("PART", if partitioned { "p" } else { "(id * 3)" });
                let expected = stock_rows(&stock, &sql).await;
                for strategy in STRATEGIES {
                    force(&engine, strategy).await;
                    let actual = try_rows(&engine, &sql).await.map_err(|e| e.to_string());
                    if strategy == counted {
                        let explained = engine.explain(&sql).await.unwrap();
                        let taken =
                            explained.decisions.iter().any(|it| it.strategy() == Some(counted));
                        asked.set(asked.get() + 1);
                        pushed.set(pushed.get() + u32::from(taken));
                    }
                    match (actual, &expected) {
                        (Ok(actual), Ok(expected)) => {
                            prop_assert_eq!(&actual, expected, "{}: {}", strategy, sql);
                        }
                        // The row that an error names depends on the order.
                        (Err(_), Err(_)) => {}
                        // Which rows are excluded before a sum is computed is open.
                        (Ok(_), Err(error)) if random::cause(error) == random::OVERFLOW => {}
                        (Err(error), Ok(_)) if random::cause(&error) == random::OVERFLOW => {}
                        (actual, expected) => {
                            prop_assert!(false, "{strategy}: {sql}: {actual:?}, {expected:?}");
                        }
                    }
                }
            }
            Ok(())
        })
    });
    result.unwrap();
    (asked.get(), pushed.get())
}

#[test]
fn random_groups_of_csv_are_those_of_datafusion() {
    check(Stored::Text(random::Format::Csv));
}

/// Each group gets a statement of its own: in stores without CASE, and in stores that may count other rows for a
/// group. Such stores group few random statements; `one_by_one` has some that they do.
#[test]
fn random_groups_one_by_one_are_those_of_datafusion() {
    let mut no_case = StoreCapabilities::sluice();
    no_case.syntax.case = false;
    no_case.syntax.not_in = false;
    let [minio, aws] = [StoreCapabilities::minio(), StoreCapabilities::aws()];
    let [lines, json] = [random::Format::CsvOfLines, random::Format::Json].map(Stored::Text);
    for (profile, formats, statement, most_are_here) in [
        (&no_case, [lines, json, Stored::Parquet].as_slice(), statement().boxed(), false),
        (&minio, &[lines], plain_statement().boxed(), true),
        (&aws, &[lines, json, Stored::Parquet], plain_statement().boxed(), true),
    ] {
        let (mut asked, mut pushed) = (0, 0);
        // A few cases may all be of the kind that is grouped here.
        for cases in [8, 24, 96] {
            (asked, pushed) = (0, 0);
            for stored in formats {
                let counts = check_with(*stored, profile, "case", statement.clone(), cases);
                (asked, pushed) = (asked + counts.0, pushed + counts.1);
            }
            if most_are_here || 12 * pushed > asked {
                break;
            }
        }
        assert!(most_are_here || 12 * pushed > asked, "{}: {pushed} of {asked}", profile.name);
    }
}

#[test]
fn random_groups_of_csv_in_ranges_are_those_of_datafusion() {
    check(Stored::Text(random::Format::CsvOfLines));
}

#[test]
fn random_groups_of_json_are_those_of_datafusion() {
    check(Stored::Text(random::Format::Json));
}

#[test]
fn random_groups_of_parquet_are_those_of_datafusion() {
    check(Stored::Parquet);
}

#[test]
fn random_groups_of_parquet_in_text_are_those_of_datafusion() {
    check_in(Stored::Parquet, &in_text());
}
