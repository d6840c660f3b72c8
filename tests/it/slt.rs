//! The files of `tests/slt`: answers that must be the same however tables are scanned, and plans.
//!
//! `answers/*.slt` run once per value of `sluice.scan`; `plans/*.slt` run with `select`, and there
//! `SENT query` gives the statements that the query would send, `PLAN query` its operators, with
//! the programs of a switch. `$BUCKET` is a bucket with `fruit.csv` and `stalls.ndjson`.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use sluicegate_engine::config::Scan;
use sluicegate_engine::{Engine, Error};
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType, Runner};

use crate::harness::{Store, TestStore, statements, values};

const FRUIT: &str = "\
name,price,kind,picked
apple,3.10,pome,2024-09-01
pear,4.25,pome,2024-09-03
fig,9.00,,2024-08-15
plum,2.75,drupe,
cherry,11.99,drupe,2024-06-20
";

const STALLS: &str = r#"{"id":1,"owner":"Ann","open":true,"sold":{"kg":12.5,"what":["fig","plum"]}}
{"id":2,"owner":"","open":false,"sold":{"kg":3,"what":[]},"note":"two\nlines"}
{"id":3,"owner":null,"open":null,"sold":null}
{"id":"4","Owner":"nobody","sold":{"what":["pear"]},"note":"said \"no\""}
"#;

struct Session {
    engine: Engine,
    bucket: String,
}

#[async_trait]
impl AsyncDB for Session {
    type Error = Error;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Error> {
        let sql = sql.replace("$BUCKET", &format!("s3://{}", self.bucket));
        if let Some(sql) = sql.strip_prefix("SENT ") {
            let rows =
                statements(&self.engine, sql).await.into_iter().map(|sent| vec![sent]).collect();
            return Ok(DBOutput::Rows { types: vec![DefaultColumnType::Text], rows });
        }
        if let Some(sql) = sql.strip_prefix("PLAN ") {
            let names = operators(&self.engine, sql).await?;
            let rows = names.into_iter().map(|name| vec![name]).collect();
            return Ok(DBOutput::Rows { types: vec![DefaultColumnType::Text], rows });
        }
        let frame = self.engine.query(&sql).await?;
        let columns = frame.schema().fields().len();
        let rows = values(&frame.collect().await?);
        if columns == 0 {
            return Ok(DBOutput::StatementComplete(0));
        }
        Ok(DBOutput::Rows { types: vec![DefaultColumnType::Text; columns], rows })
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "sluicegate"
    }
}

/// Returns the operators of a query's plan from the top, with dots for their depth.
async fn operators(engine: &Engine, sql: &str) -> Result<Vec<String>, Error> {
    let plan = engine.explain(sql).await?.plan;
    let text = datafusion::physical_plan::displayable(plan.as_ref()).indent(false).to_string();
    let operator = |line: &str| {
        let (name, depth) = (line.trim_start(), line.len() - line.trim_start().len());
        let ends: &[char] = if name.starts_with("Switch") { &['('] } else { &[':', ','] };
        let name = name.split(ends).next().unwrap_or(name).trim_end();
        format!("{}{name}", ".".repeat(depth / 2))
    };
    Ok(text.lines().map(operator).collect())
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt").join(folder);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Runs the files of a folder, once for each kind of scan.
pub(crate) async fn check(place: &dyn TestStore, folder: &str, scans: &[Scan]) {
    let files = files(folder);
    assert!(!files.is_empty());
    place.put_object("fruit.csv", FRUIT.into()).await;
    place.put_object("stalls.ndjson", STALLS.into()).await;
    for file in files {
        for scan in scans {
            let mut runner = Runner::new(|| async {
                let engine = place.builder().scan(*scan).build().await?;
                Ok(Session { engine, bucket: place.bucket().to_owned() })
            });
            let done = Box::pin(runner.run_file_async(&file)).await;
            done.unwrap_or_else(|error| panic!("{scan}: {}", error.display(false)));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers() {
    check(&Store::start().await, "answers", &[Scan::Select, Scan::Get, Scan::Auto]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plans() {
    check(&Store::start().await, "plans", &[Scan::Select]).await;
}
