//! Comparisons of every type with literals, casts and each other, against a model that computes with digits.
//!
//! `PROPTEST_CASES=5000 cargo test --test it exact` runs more.

mod columns;
mod conditions;
mod decimal_results;
mod digits;
mod means;
mod random;

use std::fmt::Write as _;

use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;

use self::columns::{COLUMNS, Column};
use self::conditions::condition;
use self::random::Random;
use crate::harness::{BUCKET, Store, try_ordered, values};

fn table(random: &mut Random) -> Vec<Vec<Option<&'static str>>> {
    let row = |random: &mut Random| {
        let value = |column: &Column| (random.below(6) > 0).then(|| random.one(column.values));
        COLUMNS.iter().map(value).collect()
    };
    (0..48).map(|_| row(random)).collect()
}

fn csv(rows: &[Vec<Option<&'static str>>]) -> String {
    let mut text = String::from("id");
    for column in &COLUMNS {
        write!(text, ",{}", column.name).unwrap();
    }
    for (id, row) in rows.iter().enumerate() {
        write!(text, "\n{id}").unwrap();
        for value in row {
            write!(text, ",{}", value.unwrap_or_default()).unwrap();
        }
    }
    text + "\n"
}

async fn define(engine: &Engine, format: &str, location: &str, options: &str) {
    let columns: Vec<String> =
        COLUMNS.iter().map(|column| format!("{} {}", column.name, column.data_type)).collect();
    let columns = columns.join(", ");
    let sql = format!(
        "CREATE EXTERNAL TABLE t (id BIGINT NOT NULL, {columns}) STORED AS {format} LOCATION '{location}' {options}"
    );
    engine.collect(&sql).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comparisons_are_exact_in_every_way() {
    let mut random = Random(44);
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let rows = table(&mut random);
    let store = Store::start().await;
    store.put("t.csv", csv(&rows));
    let header = "OPTIONS ('format.has_header' 'true')";
    let (text, parquet) = (format!("s3://{BUCKET}/t.csv"), format!("s3://{BUCKET}/t.parquet"));
    let mut engines = Vec::new();
    for scan in [Scan::Select, Scan::Get] {
        let engine = store.engine(scan).await;
        define(&engine, "CSV", &text, header).await;
        engines.push((format!("{scan:?} of CSV"), engine));
    }
    let (_, engine) = &engines[1];
    engine.collect(&format!("COPY t TO '{parquet}' STORED AS PARQUET")).await.unwrap();
    for scan in [Scan::Select, Scan::Get] {
        let engine = store.engine(scan).await;
        define(&engine, "PARQUET", &parquet, "").await;
        engines.push((format!("{scan:?} of Parquet"), engine));
    }
    let memory = store.engine(Scan::Get).await;
    define(&memory, "CSV", &text, header).await;
    memory.collect("CREATE TABLE m AS SELECT * FROM t").await.unwrap();
    let mut wrong = Vec::new();
    for _ in 0..cases.unwrap_or(120) {
        let condition = condition(&mut random, 2);
        let sql = condition.sql();
        let verdicts: Vec<Option<bool>> = rows.iter().map(|row| condition.verdict(row)).collect();
        let kept: Vec<Vec<String>> = (0..rows.len())
            .filter(|row| verdicts[*row] == Some(true))
            .map(|row| vec![row.to_string()])
            .collect();
        for (way, engine) in &engines {
            let asked = format!("SELECT id FROM t WHERE {sql} ORDER BY id");
            match try_ordered(engine, &asked).await {
                Ok(rows) if rows == kept => {}
                Ok(rows) => wrong.push(format!("{way}: {asked}: {rows:?} instead of {kept:?}")),
                Err(error) => wrong.push(format!("{way}: {asked}: {error}")),
            }
        }
        let asked = format!("SELECT {sql} FROM m ORDER BY id");
        let shown = |verdict: &Option<bool>| {
            vec![verdict.map_or_else(|| "NULL".to_owned(), |it| it.to_string())]
        };
        let expected: Vec<Vec<String>> = verdicts.iter().map(shown).collect();
        match memory.collect(&asked).await {
            Ok(batches) if values(&batches) == expected => {}
            Ok(batches) => {
                let got = values(&batches);
                let at = got.iter().zip(&expected).position(|(a, b)| a != b).unwrap();
                wrong.push(format!("memory: {asked}: row {at} {:?}: {:?}", rows[at], got[at]));
            }
            Err(error) => wrong.push(format!("memory: {asked}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn narrower_types_than_those_of_a_file_are_compared_as_declared() {
    let store = Store::start().await;
    store.put("wide.csv", "id,d,b\n1,1.16,7\n");
    let wide = store.engine(Scan::Get).await;
    let columns = "id BIGINT, d DECIMAL(15,2), b BIGINT";
    let sql = format!(
        "CREATE EXTERNAL TABLE w ({columns}) STORED AS CSV LOCATION 's3://{BUCKET}/wide.csv' \
         OPTIONS ('format.has_header' 'true')"
    );
    wide.collect(&sql).await.unwrap();
    let copy = format!("COPY w TO 's3://{BUCKET}/wide.parquet' STORED AS PARQUET");
    wide.collect(&copy).await.unwrap();
    for scan in [Scan::Get, Scan::Select] {
        let engine = store.engine(scan).await;
        let sql = format!(
            "CREATE EXTERNAL TABLE n (id BIGINT, d DECIMAL(15,1), b INT) STORED AS PARQUET \
             LOCATION 's3://{BUCKET}/wide.parquet'"
        );
        engine.collect(&sql).await.unwrap();
        for pushed in [false, true] {
            let set = format!("SET datafusion.execution.parquet.pushdown_filters = {pushed}");
            engine.collect(&set).await.unwrap();
            let found = try_ordered(&engine, "SELECT id FROM n WHERE d = 1.2 AND b = 7").await;
            assert_eq!(found.unwrap(), [["1"]], "{scan:?}, filters pushed: {pushed}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_are_pushed_into_row_groups_without_rows() {
    let store = Store::start().await;
    // Like pyarrow's file of a table without rows: one row group, whose columns have no bytes.
    store.put("empty.parquet", include_bytes!("../data/no_rows.parquet"));
    let engine = store.engine(Scan::Get).await;
    engine.collect("SET datafusion.execution.parquet.pushdown_filters = true").await.unwrap();
    let sql = format!("SELECT a FROM 's3://{BUCKET}/empty.parquet' WHERE a > 1");
    assert_eq!(values(&engine.collect(&sql).await.unwrap()), Vec::<Vec<String>>::new());
}
