//! Encoding of plans: the decoded plan is the same and returns the same rows.

use std::sync::Arc;

use datafusion::datasource::physical_plan::FileScanConfigBuilder;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, DynamicFilterPhysicalExpr, binary, lit};
use datafusion::physical_plan::{ExecutionPlan, collect, displayable};
use proptest::prelude::*;
use sluicegate_engine::Engine;
use sluicegate_engine::codec::{decode, encode};
use sluicegate_engine::config::Scan;
use sluicegate_engine::internals::s3_scan::{S3Scan, as_select_scan};
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_workloads::tpch::{Format, generate, query};
use tokio::runtime::Runtime;

use crate::harness::{BUCKET, Store, rows, runner, text, try_rows};
use crate::{random, tpch};

const SCANS: [Scan; 3] = [Scan::Auto, Scan::Get, Scan::Select];

/// Operators that DataFusion cannot encode.
const NOT_ENCODED: [&str; 6] = [
    "ClusterExec",
    "DataSinkExec cannot be encoded",
    "LazyMemoryExec",
    "RecursiveQueryExec",
    "StreamingTableExec",
    "WorkTableExec",
];

async fn plan(engine: &Engine, sql: &str) -> Arc<dyn ExecutionPlan> {
    engine.query(sql).await.unwrap().create_physical_plan().await.unwrap()
}

/// Formats a plan without the details that DataFusion's encoding leaves out: the projection of a filter that returns
/// all columns of its input, the preferred order of row groups in a scan of Parquet, and the order in which the
/// groups of an aggregate arrive, which is inferred again.
fn shown(plan: &Arc<dyn ExecutionPlan>) -> String {
    let text = displayable(plan.as_ref()).indent(true).to_string();
    let lines = text.lines().map(|line| {
        let (line, order) = line.split_once(", sort_order_for_reorder=[").unwrap_or((line, ""));
        let after = order.split_once(']').map_or("", |(_, after)| after);
        let line = format!("{line}{}", after.replace(", reverse_row_groups=true", ""));
        let line = line.split_once(", ordering_mode=").map_or(line.as_str(), |(line, _)| line);
        let (filter, rest) = line.split_once(", projection=[").unwrap_or((line, ""));
        let Some((columns, rest)) = rest.split_once(']') else { return line.to_owned() };
        let mut numbered = columns.split(", ").zip(0..);
        let all = numbered.all(|(column, at)| column.ends_with(&format!("@{at}")));
        match all && filter.trim_start().starts_with("FilterExec") {
            true => format!("{filter}{rest}"),
            false => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Encodes and decodes a plan, and checks that the result looks the same. Returns `None` if DataFusion cannot encode
/// one of its own operators.
pub(crate) fn comes_back(
    plan: &Arc<dyn ExecutionPlan>,
    context: &TaskContext,
    sql: &str,
) -> Option<Arc<dyn ExecutionPlan>> {
    let bytes = match encode(plan) {
        Ok(bytes) => bytes,
        Err(error) if NOT_ENCODED.iter().any(|name| error.to_string().contains(name)) => {
            return None;
        }
        Err(error) => panic!("{sql}: {error}\n{}", shown(plan)),
    };
    let back =
        decode(&bytes, context).unwrap_or_else(|error| panic!("{sql}: {error}\n{}", shown(plan)));
    assert_eq!(shown(&back), shown(plan), "{sql}");
    assert_eq!(back.schema(), plan.schema(), "{sql}");
    Some(back)
}

/// Checks that the plan of a statement and its decoded copy return the same rows or the same error.
pub(crate) async fn round_trip(engine: &Engine, sql: &str) {
    let context = engine.context().task_ctx();
    let plan = plan(engine, sql).await;
    let back = comes_back(&plan, &context, sql).unwrap();
    let (there, here) = (collect(back, Arc::clone(&context)).await, collect(plan, context).await);
    match (there, here) {
        (Ok(there), Ok(here)) => assert_eq!(text(&there), text(&here), "{sql}"),
        (Err(there), Err(here)) => assert_eq!(there.to_string(), here.to_string(), "{sql}"),
        (there, here) => panic!("{sql}: {there:?}, but {here:?}"),
    }
}

async fn set(engine: &Engine, scan: Scan) {
    rows(engine, &format!("SET sluice.scan = '{scan}'")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plans_of_tpch_come_back() {
    let store = Store::start().await;
    for (format, objects) in [(Format::csv(), 2), (Format::parquet(), 1)] {
        let engine = store.engine(Scan::Auto).await;
        let data = tpch::data(&format, objects, 0.002);
        let folder = store.folder.path().join(BUCKET);
        let bucket = object_store::local::LocalFileSystem::new_with_prefix(folder).unwrap();
        generate(&data, &bucket, &|_| ()).await.unwrap();
        tpch::register(&engine, BUCKET, &data).await;
        for scan in SCANS {
            set(&engine, scan).await;
            for number in 1..=22 {
                round_trip(&engine, query(number).unwrap()).await;
            }
        }
    }
}

#[test]
fn the_plans_of_random_statements_come_back() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let mut runner = runner(16);
    let statements = prop::collection::vec((random::output(), random::predicate()), 1..4);
    let formats = prop::sample::select(vec![random::Format::Csv, random::Format::Json]);
    let number = std::cell::Cell::new(0);
    let strategy = (random::table(), random::forms(), statements, formats);
    let result = runner.run(&strategy, |(rows_of_table, forms, statements, format)| {
        number.set(number.get() + 1);
        let folder = format!("{}", number.get());
        let partitioned = number.get() % 2 == 0;
        let below = if partitioned { "p=2/" } else { "" };
        store.put(
            &format!("{folder}/{below}a.{}", format.extension()),
            format.write(&rows_of_table, &forms),
        );
        runtime.block_on(async {
            let engine = store.engine(Scan::Auto).await;
            let location = format!("s3://{BUCKET}/{folder}/");
            rows(&engine, &format.ddl(&location, partitioned)).await;
            for (output, predicate) in statements {
                let sql = random::statement(&output, &predicate, partitioned);
                for scan in SCANS {
                    set(&engine, scan).await;
                    round_trip(&engine, &sql).await;
                }
            }
        });
        Ok(())
    });
    result.unwrap();
}

/// Compression, line ends, JSON layouts, partition columns and limits are preserved, although DataFusion's encoding
/// of a scan leaves them out.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_special_about_a_scan_comes_back() {
    let store = Store::start().await;
    let fruit = "name,price\napple,3\npear,4\nfig,9\n";
    store.put("plain/a.csv", fruit);
    store.put("semicolons/a.csv", "name,price;apple,3;pear,4;fig,9;");
    store.put("array/a.json", r#"[{"name":"apple","price":3},{"name":"fig","price":9}]"#);
    store.put("parts/kind=a/x.csv", fruit);
    store.put("parts/kind=b/x.csv", fruit);
    let gzipped = {
        use std::io::Write as _;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(fruit.as_bytes()).unwrap();
        gzip.finish().unwrap()
    };
    store.put("zipped/a.csv.gz", gzipped);
    let engine = store.engine(Scan::Auto).await;
    let table = |name: &str, columns: &str, stored: &str, options: &str| {
        format!(
            "CREATE EXTERNAL TABLE {name} (name VARCHAR, price BIGINT{columns}) STORED AS {stored} \
             LOCATION 's3://{BUCKET}/{name}/' OPTIONS ({options})"
        )
    };
    let header = "'format.has_header' 'true'";
    rows(&engine, &table("plain", "", "CSV", header)).await;
    rows(&engine, &table("semicolons", "", "CSV", &format!("{header}, 'format.terminator' ';'")))
        .await;
    let lines = "'format.newline_delimited' 'false'";
    rows(&engine, &table("array", "", "JSON", lines)).await;
    let zipped = format!("{header}, 'format.compression' 'gzip'");
    rows(&engine, &table("zipped", "", "CSV", &zipped)).await;
    let parts = table("parts", ", kind VARCHAR", "CSV PARTITIONED BY (kind)", header);
    rows(&engine, &parts).await;
    for scan in SCANS {
        set(&engine, scan).await;
        for table in ["plain", "semicolons", "array", "zipped", "parts"] {
            for sql in [
                format!("SELECT * FROM {table} WHERE price > 3 ORDER BY name"),
                format!("SELECT price + 1, name FROM {table} ORDER BY price LIMIT 1"),
                format!("SELECT count(*), sum(price), min(name) FROM {table} WHERE price < 9"),
                format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT 2)"),
                // The union casts the constant to a nullable field within the scan.
                format!(
                    "SELECT price, name FROM {table} UNION ALL SELECT 0, name FROM {table} \
                     ORDER BY price, name"
                ),
            ] {
                round_trip(&engine, &sql).await;
            }
        }
        round_trip(&engine, "SELECT kind, count(*) FROM parts WHERE kind = 'b' GROUP BY kind")
            .await;
    }
}

/// A file without a header among others is refused, also by a decoded plan.
#[tokio::test(flavor = "multi_thread")]
async fn headers_that_are_compared_come_back() {
    let store = Store::start().await;
    store.put("h/a.csv", "id,name\n1,alpha\n2,beta\n");
    let engine = store.engine(Scan::Auto).await;
    let table = "h (id INT, name VARCHAR) STORED AS CSV";
    rows(&engine, &format!("CREATE EXTERNAL TABLE {table} LOCATION 's3://{BUCKET}/h/'")).await;
    store.put("h/b.csv", "3,gamma\n4,delta\n");
    for scan in SCANS {
        set(&engine, scan).await;
        let refused = try_rows(&engine, "SELECT id FROM h ORDER BY id").await.unwrap_err();
        assert!(refused.to_string().contains("begins with a row"), "{refused}");
        round_trip(&engine, "SELECT id FROM h ORDER BY id").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switch_comes_back() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    let data = tpch::data(&Format::csv(), 2, 0.002);
    let folder = store.folder.path().join(BUCKET);
    let bucket = object_store::local::LocalFileSystem::new_with_prefix(folder).unwrap();
    generate(&data, &bucket, &|_| ()).await.unwrap();
    tpch::register(&engine, BUCKET, &data).await;
    rows(&engine, "SET sluice.switch = 'tofino2'").await;
    set(&engine, Scan::Get).await;
    let statements = [
        ("distinct", "SELECT DISTINCT l_shipmode, l_quantity FROM lineitem"),
        ("group_by", "SELECT l_suppkey, max(l_shipdate) FROM lineitem GROUP BY l_suppkey"),
        (
            "group_sum",
            "SELECT l_suppkey, sum(l_partkey), count(*) FROM lineitem GROUP BY l_suppkey",
        ),
        (
            "having",
            "SELECT o_custkey FROM orders GROUP BY o_custkey HAVING sum(o_totalprice) > 2e6",
        ),
        ("having", "SELECT o_custkey FROM orders GROUP BY o_custkey HAVING count(*) > 20"),
        ("join", "SELECT count(*) FROM orders JOIN lineitem ON o_orderkey = l_orderkey"),
        ("top_n", "SELECT l_extendedprice FROM lineitem ORDER BY l_extendedprice DESC LIMIT 3"),
        ("filter", "SELECT l_orderkey FROM lineitem WHERE l_partkey > 100 AND l_suppkey < 5"),
        (
            "skyline",
            "SELECT s_suppkey FROM supplier QUALIFY skyline(s_acctbal, s_nationkey) OVER ()",
        ),
    ];
    for (program, sql) in statements {
        let plan = shown(&plan(&engine, sql).await);
        assert!(plan.contains(program) && plan.contains("SwitchPruneExec"), "{sql}:\n{plan}");
        round_trip(&engine, sql).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_comes_back_staged() {
    let store = Store::start().await;
    store.put("t/a.csv", "k,v\n1,10\n2,20\n");
    let engine = store.engine(Scan::Select).await;
    let context = engine.context().task_ctx();
    let copy = "COPY (SELECT v FROM 's3://test/t/a.csv' WHERE k > 1) TO 's3://test/out.csv'";
    let plan = plan(&engine, copy).await;
    let back = comes_back(&plan, &context, copy).unwrap();
    assert!(shown(&back).contains("StagedWriteExec"), "{}", shown(&back));
    collect(back, context).await.unwrap();
    assert_eq!(rows(&engine, "SELECT * FROM 's3://test/out.csv'").await, [r#""20""#]);
}

/// A dynamic filter, which arrives while the query runs, still belongs to the decoded scan.
#[tokio::test(flavor = "multi_thread")]
async fn an_arriving_filter_comes_back() {
    let store = Store::start().await;
    store.put("t/a.csv", "k,v\n1,10\n2,20\n3,30\n");
    let engine = store.engine(Scan::Select).await;
    let context = engine.context().task_ctx();
    let sql = "SELECT * FROM 's3://test/t/a.csv'";
    let plan = plan(&engine, sql).await;
    let (config, source) = as_select_scan(plan.as_ref()).unwrap();
    let k = Arc::new(Column::new("k", 0)) as Arc<dyn PhysicalExpr>;
    let filter = DynamicFilterPhysicalExpr::new(vec![Arc::clone(&k)], lit(true));
    filter.update(binary(k, Operator::Gt, lit(1_i64), source.file_schema()).unwrap()).unwrap();
    let source = source.with_arriving_filter(Arc::new(filter));
    let config = FileScanConfigBuilder::from(config.clone()).with_source(Arc::new(source)).build();
    let plan: Arc<dyn ExecutionPlan> = S3Scan::node(config);
    let back = comes_back(&plan, &context, sql).unwrap();
    let rows = text(&collect(back, context).await.unwrap());
    assert_eq!(rows, [r#""2" | "20""#, r#""3" | "30""#]);
}

/// The keys of a join reach the scan of a decoded plan as in the original.
#[tokio::test(flavor = "multi_thread")]
async fn the_keys_of_a_join_arrive_after_decoding() {
    let store = Store::start().await;
    store.put("b.csv", "k,w\n7,1\n8,2\n");
    let p: String = (0..5_000).map(|k| format!("{k},value-{k}\n")).collect();
    store.put("p.csv", format!("k,v\n{p}"));
    let engine = store.engine(Scan::Select).await;
    rows(&engine, "SET sluice.join = 'bloom'").await;
    let context = engine.context().task_ctx();
    let sql = "SELECT p.v FROM 's3://test/b.csv' b JOIN 's3://test/p.csv' p ON b.k = p.k";
    let plan = plan(&engine, sql).await;
    let back = comes_back(&plan, &context, sql).unwrap();
    for plan in [back, plan] {
        let before = engine.counted();
        let rows = text(&collect(plan, Arc::clone(&context)).await.unwrap());
        assert_eq!(rows, [r#""value-7""#, r#""value-8""#]);
        assert!(engine.counted().since(&before).returned_bytes < 100);
    }
}

/// The plan includes the version of an object.
#[tokio::test(flavor = "multi_thread")]
async fn a_decoded_plan_reads_the_version_that_was_planned() {
    let store = Store::start().await;
    store.put("t/a.csv", "k,v\n1,10\n2,20\n");
    let engine = store.engine(Scan::Select).await;
    let context = engine.context().task_ctx();
    for sql in
        ["SELECT v FROM 's3://test/t/a.csv' WHERE k > 1", "SELECT sum(v) FROM 's3://test/t/a.csv'"]
    {
        let plan = plan(&engine, sql).await;
        let back = decode(&encode(&plan).unwrap(), &context).unwrap();
        store.put("t/a.csv", "k,v\n1,100\n2,200\n3,300\n");
        let here = collect(plan, Arc::clone(&context)).await.unwrap_err().to_string();
        let there = collect(back, Arc::clone(&context)).await.unwrap_err().to_string();
        assert_eq!(there, here);
        store.put("t/a.csv", "k,v\n1,10\n2,20\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_says_who_is_asked_and_not_how_to_get_in() {
    let store = Store::start().await;
    store.put("t/a.csv", "k,v\n1,1.50\n2,2.50\n");
    let engine = store.engine(Scan::Select).await;
    rows(
        &engine,
        "CREATE EXTERNAL TABLE t (k BIGINT, v DECIMAL(10,2)) STORED AS CSV \
         LOCATION 's3://test/t/' OPTIONS ('format.has_header' 'true')",
    )
    .await;
    let plan = plan(&engine, "SELECT k FROM t WHERE v > 2").await;
    let bytes = encode(&plan).unwrap();
    let holds = |text: &str| bytes.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    assert!(holds("sluice") && holds("t/a.csv"));
    assert!(!holds(store.server.secret_key()) && !holds(store.server.access_key()));
    assert!(!holds(store.server.endpoint().trim_start_matches("http://")));

    let renamed = StoreCapabilities { name: "renamed".to_owned(), ..StoreCapabilities::sluice() };
    let elsewhere = store.builder().profile(renamed).build().await.unwrap();
    let error = decode(&bytes, &elsewhere.context().task_ctx()).unwrap_err().to_string();
    assert!(error.contains("the session has no endpoint `sluice`"), "{error}");
    // Another kind of store under the same name accepts other statements.
    let other = StoreCapabilities { name: "sluice".to_owned(), ..StoreCapabilities::get_only() };
    let elsewhere = store.builder().profile(other).build().await.unwrap();
    let error = decode(&bytes, &elsewhere.context().task_ctx()).unwrap_err().to_string();
    assert!(error.contains("does not take") || error.contains("would be sent"), "{error}");
}

/// A scan may compute with the result of a subquery, which an operator of DataFusion around it holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scans_with_scalar_subqueries_come_back() {
    let store = Store::start().await;
    store.put("t.csv", "a,b\n1,10\n2,20\n3,30\n");
    let table = format!("'s3://{BUCKET}/t.csv'");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for sql in [
            format!("SELECT a + (SELECT min(b) FROM {table}) AS x FROM {table} ORDER BY x"),
            format!("SELECT a FROM {table} WHERE b > (SELECT avg(b) - 1 FROM {table}) ORDER BY a"),
            format!(
                "SELECT CASE WHEN (SELECT count(*) FROM {table} WHERE a > (SELECT min(a) FROM {table})) > 1 \
                 THEN a ELSE b END AS x FROM {table} ORDER BY x"
            ),
        ] {
            round_trip(&engine, &sql).await;
        }
    }
}

/// Arbitrary bytes give an error, or a plan that can be displayed.
#[test]
fn hostile_bytes_are_an_error() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    store.put("t/a.csv", "k,v\n1,10\n2,20\n");
    let engine = runtime.block_on(store.engine(Scan::Select));
    let statements =
        ["SELECT v FROM 's3://test/t/a.csv' WHERE k > 1", "SELECT sum(v) FROM 's3://test/t/a.csv'"];
    let plans = statements.map(|sql| runtime.block_on(plan(&engine, sql)));
    let encoded = plans.map(|plan| encode(&plan).unwrap());
    let context = engine.context().task_ctx();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let mut runner = runner(2000);
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let strategy = (0..encoded.len(), changes, prop::option::of(any::<prop::sample::Index>()));
    let refused = std::cell::Cell::new(0);
    let result = runner.run(&strategy, |(which, changes, cut)| {
        let mut bytes = encoded[which].clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        match decode(&bytes, &context) {
            Ok(plan) => drop(plan),
            Err(_) => refused.set(refused.get() + 1),
        }
        Ok(())
    });
    std::panic::set_hook(hook);
    result.unwrap();
    assert!(refused.get() > 1000, "{} of 2000 were refused", refused.get());
}
