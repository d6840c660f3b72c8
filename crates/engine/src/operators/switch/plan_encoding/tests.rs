use arrow::array::{
    ArrayRef, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int8Array, Int32Array,
    Int64Array, RecordBatch, StringArray, UInt64Array,
};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue};
use datafusion::datasource::MemTable;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use sluicegate_pruning::{Entries, Selection};

use super::*;
use crate::engine::session;
use crate::operators::switch::{Words, encode};
use crate::operators::switch_prune::SwitchPruneExec;
use crate::store::endpoints::Endpoints;

/// One statement for each shape and each kind of field.
const STATEMENTS: [&str; 23] = [
    "SELECT DISTINCT k FROM x",
    "SELECT DISTINCT n, s FROM x",
    "SELECT DISTINCT i, y, b FROM x",
    "SELECT n, max(i) FROM x GROUP BY n",
    "SELECT s, min(f) FROM x GROUP BY s",
    "SELECT s FROM x GROUP BY s HAVING sum(n) > 100",
    "SELECT k FROM x GROUP BY k HAVING sum(e) > CAST('1000000000000000000000000000000' AS DECIMAL(38))",
    "SELECT k FROM x GROUP BY k HAVING sum(f) >= 1.1",
    "SELECT i FROM x GROUP BY i HAVING count(n) >= 10",
    "SELECT k, count(*) FROM x GROUP BY k HAVING max(i) > 1000",
    "SELECT k, count(*) FROM x GROUP BY k HAVING min(d) < 10",
    "SELECT a.k FROM x a JOIN x b ON a.i = b.i",
    "SELECT a.k FROM x a JOIN x b ON a.s = b.s AND a.f = b.f",
    "SELECT * FROM x ORDER BY i DESC LIMIT 3",
    RANGED,
    "SELECT * FROM x ORDER BY s NULLS FIRST LIMIT 3",
    "SELECT k FROM x QUALIFY skyline(u, d) OVER ()",
    "SELECT k FROM x QUALIFY skyline(i, -n, g) OVER ()",
    "SELECT count(*) FROM x WHERE i < 10 AND n > 5 AND g <> 1",
    "SELECT count(*) FROM x WHERE i < 10 OR s LIKE 'a%' AND n IS NULL",
    "SELECT count(*) FROM x WHERE f > 0.5 AND s IN ('a', 'b')",
    "SELECT n, sum(i), count(*) FROM x GROUP BY n",
    "SELECT k, b, sum(u), sum(d) FROM x GROUP BY k, b",
];

/// A statement whose column is sent by its range, which is unknown for a table in memory.
const RANGED: &str = "SELECT * FROM x ORDER BY n LIMIT 3";

/// A program, the rows that it is for, and the goal that it was planned for.
struct Planned {
    sql: &'static str,
    plan: SwitchPlan,
    batch: RecordBatch,
}

impl Planned {
    fn schema(&self) -> &Schema {
        self.batch.schema_ref()
    }
}

fn batch() -> RecordBatch {
    let decimals = |digits, values: [Option<i128>; 3]| -> ArrayRef {
        let array = Decimal128Array::from(values.to_vec());
        Arc::new(array.with_precision_and_scale(digits, 0).unwrap())
    };
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("k", Arc::new(Int32Array::from(vec![1, 2, 2])), false),
        ("i", Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])), true),
        ("n", Arc::new(Int64Array::from(vec![Some(4), None, Some(6)])), true),
        ("u", Arc::new(UInt64Array::from(vec![Some(7), None, Some(8)])), true),
        ("y", Arc::new(Int8Array::from(vec![Some(9), None, Some(-1)])), true),
        ("s", Arc::new(StringArray::from(vec![Some("a"), None, Some("bc")])), true),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])), true),
        ("f", Arc::new(Float64Array::from(vec![Some(0.1), None, Some(f64::NAN)])), true),
        ("g", Arc::new(Float32Array::from(vec![Some(0.1), None, Some(-0.0)])), true),
        ("d", decimals(9, [Some(5), None, Some(-5)]), true),
        ("e", decimals(38, [Some(10_i128.pow(30)), None, Some(-1)]), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Returns the programs of all statements, with a δ and without.
async fn planned() -> Vec<Planned> {
    let runtime = Arc::new(RuntimeEnv::default());
    let state = session::builder(session::config(), runtime, &Endpoints::default()).unwrap();
    let context = SessionContext::new_with_state(state.build());
    let table = MemTable::try_new(batch().schema(), vec![vec![batch()]]).unwrap();
    context.register_table("x", Arc::new(table)).unwrap();
    let mut all = Vec::new();
    for delta in ["0.0001", "0"] {
        for set in
            ["switch = 'tofino2'", "switch_workers = true", &format!("switch_delta = {delta}")]
        {
            context.sql(&format!("SET sluice.{set}")).await.unwrap();
        }
        for sql in STATEMENTS {
            let frame = context.sql(sql).await.unwrap();
            let mut nodes = vec![frame.create_physical_plan().await.unwrap()];
            let before = all.len();
            while let Some(node) = nodes.pop() {
                nodes.extend(node.children().into_iter().cloned());
                if let Some(prune) = node.downcast_ref::<SwitchPruneExec>() {
                    let batches =
                        collect(Arc::clone(prune.children()[0]), context.task_ctx()).await.unwrap();
                    let batch = arrow::compute::concat_batches(&prune.schema(), &batches).unwrap();
                    all.push(Planned { sql, plan: prune.plan().clone(), batch });
                }
            }
            assert!(delta == "0" || all.len() > before, "{sql} is not served");
        }
    }
    let by_range = all.iter().find(|planned| planned.sql == RANGED).unwrap();
    let (column, schema) = (&by_range.plan.expressions()[0], by_range.schema());
    let value = |value| Precision::Exact(ScalarValue::Int64(Some(value)));
    let known =
        ColumnStatistics::new_unknown().with_min_value(value(0)).with_max_value(value(i64::MAX));
    let order = Order::new(column, schema, Some(&known)).unwrap().unwrap();
    let plan = SwitchPlan { fields: vec![Field::Order(order)], ..by_range.plan.clone() };
    all.push(Planned { sql: RANGED, plan, batch: by_range.batch.clone() });
    all
}

fn is_plan_error(error: &DataFusionError) -> bool {
    matches!(error, DataFusionError::Plan(_))
}

/// Sends rows through a program.
fn run(plan: &SwitchPlan, batch: &RecordBatch) {
    let mut words = Words::default();
    encode(&plan.fields, batch, &mut words).unwrap();
    if plan.resources.register_bits < 1 << 22 {
        let columns: Vec<&[u32]> = words.columns.iter().map(Vec::as_slice).collect();
        let entries = Entries::new(0, 0, &columns).unwrap();
        plan.algorithm.pruner().prune(&entries, &mut Selection::new()).unwrap();
    }
}

#[tokio::test]
async fn what_is_written_is_read() {
    let mut kinds: Vec<&str> = Vec::new();
    for Planned { sql, plan, batch } in planned().await {
        let (settings, exprs) = plan.to_parts().unwrap();
        let read = SwitchPlan::from_parts(&settings, exprs.clone(), &batch.schema()).unwrap();
        assert_eq!(format!("{read:?}"), format!("{plan:?}"), "{sql}");
        assert_eq!(read.to_string(), plan.to_string(), "{sql}");
        assert_eq!(read.to_parts().unwrap(), (settings.clone(), exprs), "{sql}");
        let text = String::from_utf8(settings).unwrap();
        let all = [
            "\"Filter\"",
            "\"Distinct\"",
            "TopNDeterministic",
            "TopNRandomized",
            "GroupBy",
            "\"Join",
            "\"Having\"",
            "HavingExtreme",
            "Skyline",
            "Packed",
            "Fingerprint",
            "Never",
            "Bit\"",
            "Unseen",
            "Whole",
            "Within",
            "Squeezed",
            "Prefix",
            "Above",
            "Coded",
            "Pass\"",
            "Stop",
            "\"Null\"",
            "\"True\"",
            "Present",
            "Amount\":{\"Whole",
            "Real",
            "GroupSum",
            "Near",
            "{\"Exact\":\"All\"}",
            "{\"Exact\":\"Above\"}",
            "{\"Exact\":\"Below\"}",
        ];
        kinds.extend(all.into_iter().filter(|kind| text.contains(kind)));
        run(&read, &batch);
    }
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), 32, "some kind of field is in no plan: {kinds:?}");
}

#[tokio::test]
async fn damaged_bytes_are_an_error_or_a_plan() {
    let mut read = 0;
    for planned in planned().await {
        let (settings, exprs) = planned.plan.to_parts().unwrap();
        let mut check =
            |bytes: &[u8]| match SwitchPlan::from_parts(bytes, exprs.clone(), planned.schema()) {
                Ok(plan) => {
                    read += 1;
                    run(&plan, &planned.batch);
                }
                Err(error) => assert!(is_plan_error(&error), "{}: {error}", planned.sql),
            };
        for at in 0..settings.len() {
            check(&settings[..at]);
            for byte in *b"09," {
                let mut damaged = settings.clone();
                damaged[at] = byte;
                check(&damaged);
            }
            let mut damaged = settings.clone();
            damaged.insert(at, b'1');
            check(&damaged);
        }
    }
    assert!(read > 100, "only {read} of the damaged plans can be read");
}

#[tokio::test]
async fn other_expressions_are_an_error_or_run() {
    let (mut read, mut refused) = (0, 0);
    for planned in planned().await {
        let (settings, exprs) = planned.plan.to_parts().unwrap();
        let from = |exprs| SwitchPlan::from_parts(&settings, exprs, planned.schema());
        let column = |at| Arc::new(Column::new("c", at)) as Arc<dyn PhysicalExpr>;
        let fewer = exprs[1..].to_vec();
        let more = exprs.iter().cloned().chain([column(0)]).collect();
        for wrong in [fewer, more, Vec::new()] {
            assert!(is_plan_error(&from(wrong).unwrap_err()), "{}", planned.sql);
        }
        for at in 0..exprs.len() {
            for index in 0..=planned.schema().fields().len() {
                let mut others = exprs.clone();
                others[at] = column(index);
                match from(others) {
                    Ok(plan) => {
                        read += 1;
                        run(&plan, &planned.batch);
                    }
                    Err(error) => {
                        refused += 1;
                        assert!(is_plan_error(&error), "{}: {error}", planned.sql);
                    }
                }
            }
        }
    }
    assert!(read > 50 && refused > 50, "{read} were read, {refused} were not");
}

/// Reads the plan of a statement after replacing a part of its bytes.
async fn replaced(sql: &str, valid: &str, damaged: &str) -> String {
    let all = planned().await;
    let planned = all.iter().find(|planned| planned.sql == sql).unwrap();
    let (settings, exprs) = planned.plan.to_parts().unwrap();
    let text = String::from_utf8(settings).unwrap();
    assert!(text.contains(valid), "{valid} in {text}");
    let text = text.replacen(valid, damaged, 1);
    let error = SwitchPlan::from_parts(text.as_bytes(), exprs, planned.schema()).unwrap_err();
    assert!(is_plan_error(&error), "{error}");
    error.to_string()
}

#[tokio::test]
async fn what_no_planner_makes_is_refused() {
    let (distinct, group, sum, real) = (STATEMENTS[0], STATEMENTS[4], STATEMENTS[6], STATEMENTS[7]);
    let held = STATEMENTS[21];
    let nan = format!("\"failure\":{}", f64::NAN.to_bits());
    let below = format!("\"failure\":{}", (-0.5_f64).to_bits());
    let infinite = format!("{{\"Real\":{}}}", f64::INFINITY.to_bits());
    for (sql, valid, damaged, says) in [
        (distinct, "\"failure\":0", nan.as_str(), "probability"),
        (distinct, "\"failure\":0", &below, "probability"),
        (distinct, "\"Bits32\"", "\"Bits64\"", "words"),
        (distinct, "\"register_bits\":", "\"register_bits\":1", "registers"),
        (distinct, "\"bits\":32", "\"bits\":8", "is packed as"),
        (distinct, "{\"bits\":32", "{\"bits\":32,\"null\":\"Bit\"},{\"bits\":32", "columns"),
        (group, "\"Squeezed\"", "\"Prefix\"", "no code of the form"),
        (group, "\"Squeezed\"", "\"Whole\"", "no code of the form"),
        (sum, "{\"Whole\":", "{\"Whole\":-", "cannot be added"),
        (sum, "{\"Whole\":", "{\"Whole\":0,\"Whole\":", "cannot be read"),
        (real, "{\"Real\":", &format!("{infinite},{{\"Real\":"), "cannot be read"),
        (RANGED, "\"Squeezed\"", "{\"Within\":{\"least\":0,\"shift\":33}}", "cannot be read"),
        (STATEMENTS[19], "\"Null\"", "\"True\"", "cannot be TRUE"),
        (held, "{\"Exact\":\"Above\"}", "{\"Exact\":\"Below\"}", "words of its own fields"),
        (held, "\"Present\"", "{\"Whole\":2}", "words of its own fields"),
        (held, "\"sums\":3", "\"sums\":2", "words of its own fields"),
        (held, "{\"Near\":[", "{\"Near\":[1,", "a key of 2 columns has 1"),
    ] {
        let error = replaced(sql, valid, damaged).await;
        assert!(error.contains(says), "{sql} with {damaged}: {error}");
    }
}
