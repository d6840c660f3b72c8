//! Runs queries over model tables (ICPE 2020, §5.3) and compares them with their predictions.

use serde_json::{Value, json};
use sluicegate_costmodel::storage::StageGraph;
use sluicegate_engine::Engine;
use sluicegate_engine::model_tables::{ModelQuery, ModelTables, TableInput};
use sluicegate_engine::stages::MeasuredStages;
use sluicegate_traces::name_of;

use super::measure::{refuse_effects, without_pushdown};
use super::report::{rounded, tables};
use super::{DriveAssumptions, Output, failed, refuse_unknown};
use crate::args::StorageArgs;
use crate::commands::embedded_store::measure::{Row, sorted_rows};
use crate::commands::samples::Samples;
use crate::commands::sql::script;
use crate::failure::{Failure, Result};
use crate::output::escape::visible;
use crate::output::listing::{ListFormat, Listing};
use crate::output::progress::print_line;
use crate::runtime::compute::Compute;
use crate::runtime::interrupt::interruptible;
use crate::session::script::place;
use crate::session::{is_query, statements};

const HINT: &str =
    "Name a bucket in which the access key may write and delete, with --model-tables.";
/// The columns; a table has no lists and sentences, so it ends before the operators.
const HEADER: [&str; 22] = [
    "query",
    "scans",
    "tables",
    "same_plan",
    "answer",
    "original_s",
    "layout_s",
    "model_s",
    "variation",
    "speedup",
    "layout_speedup",
    "net_speedup",
    "bytes_ratio",
    "layout_bytes_ratio",
    "cpu_ratio",
    "thread_time_ratio",
    "bound",
    "same_operators",
    "operators",
    "scanned",
    "plan_difference",
    "error",
];
const IN_TABLE: usize = 17;
const OVER: [TableInput; 3] = [TableInput::Original, TableInput::Layout, TableInput::Model];
/// Largest relative difference of floating-point numbers that were summed in different orders.
const ALIKE: f64 = 1e-9;

/// A query with its comparison or its failure.
struct QueryTrial {
    name: String,
    outcome: Result<QueryComparison>,
}

/// A query that ran over each kind of tables.
struct QueryComparison {
    modelled: ModelQuery,
    /// True if all answers are equal. Otherwise they have the same number of rows, and a LIMIT.
    equal: bool,
    runs: [Vec<MeasuredStages>; 3],
}

pub(super) async fn run(
    args: StorageArgs,
    bucket: &str,
    assumed: &DriveAssumptions,
    output: Output,
    compute: &Compute,
) -> Result<()> {
    let Some(script) = script(&args.statements)? else {
        return Err(Failure::Usage(
            "there is no query; give one with -c, or a file with -f".into(),
        ));
    };
    refuse_unknown(script.text(), args.query.as_deref())?;
    let engine = args.connect.connect().await?;
    let mut samples = Samples::new(&engine, bucket, "model-tables", HINT)?;
    let root = format!("s3://{bucket}/{}", samples.prefix());
    let tried = interruptible(Box::pin(async {
        samples.begin().await?;
        let (engine, wanted, rounds) = (engine.clone(), args.query.clone(), args.rounds);
        let work =
            async move { all(&engine, script.text(), wanted.as_deref(), rounds, root).await };
        compute.run(Box::pin(work)).await
    }))
    .await;
    // The tables are removed also after an error or an interruption.
    let removed = match samples.take_in().await {
        Ok(()) => samples.remove().await,
        listed => listed,
    };
    let failed = match tried {
        Ok(tried) => {
            print(&tried, assumed, output)?;
            let all = tried.len();
            failed(all, tried.into_iter().filter_map(|it| Some((it.name, it.outcome.err()?))))
        }
        Err(failure) => Err(failure),
    };
    if let (Err(_), Err(failure)) = (&failed, &removed) {
        let (message, hint) = failure.words();
        print_line(&format!("warning: {message}\n{}", hint.unwrap_or_default()));
    }
    failed.and(removed)
}

/// Runs the definitions and queries of a script. After a query that fails, the next ones still run.
async fn all(
    engine: &Engine,
    script: &str,
    wanted: Option<&str>,
    rounds: u32,
    root: String,
) -> Result<Vec<QueryTrial>> {
    let mut tables = ModelTables::new(root);
    let (mut tried, mut names) = (Vec::new(), Vec::new());
    let statements = statements::all(script);
    for (index, statement) in statements.iter().enumerate() {
        let at = |failure: Failure| match statements.len() {
            1 => failure,
            _ => failure.at(&place(index, statement)),
        };
        match define(engine, statement).await.map_err(at) {
            Ok(true) => continue,
            Ok(false) => {}
            // If a definition fails before the first query, the queries cannot run either.
            Err(failure) if tried.is_empty() => return Err(failure),
            Err(failure) => {
                let name = name_of(statement).unwrap_or_else(|| place(index, statement));
                tried.push(QueryTrial { name, outcome: Err(failure) });
                continue;
            }
        }
        let name = name_of(statement).unwrap_or_else(|| format!("query {}", names.len() + 1));
        names.push(name.clone());
        if wanted.is_some_and(|wanted| wanted != name) {
            continue;
        }
        print_line(&format!(
            "{name}: writing model tables, and running it {rounds} times over each kind"
        ));
        let one = Box::pin(compare(engine, &mut tables, &name, statement, rounds)).await;
        let outcome = match one.map_err(at) {
            Err(failure) if !matches!(failure, Failure::Failed { .. }) => return Err(failure),
            outcome => outcome,
        };
        tried.push(QueryTrial { name, outcome });
    }
    match (tried.is_empty(), wanted) {
        (false, _) => Ok(tried),
        (true, Some(wanted)) if !names.is_empty() => {
            Err(Failure::new(format!("there is no query `{wanted}`"))
                .with_hint(format!("There is {}.", names.join(", "))))
        }
        (true, _) => Err(Failure::new("there is no query to compare")
            .with_hint("Give one with -c, after the definitions of its tables.")),
    }
}

/// Runs a statement unless it is a query. Returns whether it ran.
async fn define(engine: &Engine, statement: &str) -> Result<bool> {
    if is_query(engine, statement).await? {
        return Ok(false);
    }
    Box::pin(Box::pin(engine.query(statement)).await?.collect()).await?;
    Ok(true)
}

async fn compare(
    engine: &Engine,
    tables: &mut ModelTables,
    name: &str,
    sql: &str,
    rounds: u32,
) -> Result<QueryComparison> {
    refuse_effects(engine, sql).await?;
    without_pushdown(engine).await?;
    let modelled = Box::pin(tables.write(engine, sql)).await?;
    let mut answers: Vec<Vec<Row>> = Vec::new();
    for over in OVER {
        let query = Box::pin(modelled.query(engine, over)).await?;
        answers.push(sorted_rows(&Box::pin(query.collect()).await?)?);
    }
    let equal = answers.iter().all(|answer| alike(answer, &answers[0]));
    let same_count = answers.iter().all(|answer| answer.len() == answers[0].len());
    if !(equal || modelled.has_limit && same_count) {
        return Err(Failure::new(format!("`{name}` has another answer over its model tables"))
            .with_hint("This is a bug, unless the query is random: please report it."));
    }
    let mut runs = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        for (over, runs) in OVER.into_iter().zip(&mut runs) {
            let query = Box::pin(modelled.query(engine, over)).await?;
            runs.push(Box::pin(query.measure_stages()).await?);
        }
    }
    for runs in &mut runs {
        runs.sort_by_key(|run| run.took);
    }
    Ok(QueryComparison { modelled, equal, runs })
}

/// Returns true if two answers are equal, apart from differences by the order in which floating-point numbers were
/// summed.
fn alike(one: &[Row], other: &[Row]) -> bool {
    let same = |(a, b): (&Option<String>, &Option<String>)| match (a, b) {
        (Some(a), Some(b)) if a != b => match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => (a - b).abs() <= ALIKE * a.abs().max(b.abs()),
            _ => false,
        },
        (a, b) => a == b,
    };
    one.len() == other.len()
        && one.iter().zip(other).all(|(a, b)| a.len() == b.len() && a.iter().zip(b).all(same))
}

impl QueryComparison {
    /// Returns the run with the median time.
    fn median(&self, kind: usize) -> &MeasuredStages {
        let runs = &self.runs[kind];
        &runs[runs.len() / 2]
    }

    /// Returns the largest coefficient of variation of the times.
    fn variation(&self) -> f64 {
        let of = |runs: &Vec<MeasuredStages>| {
            let times: Vec<f64> = runs.iter().map(|run| run.took.as_secs_f64()).collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let squares = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>();
            (squares / times.len() as f64).sqrt() / mean
        };
        self.runs.iter().map(of).fold(0.0, f64::max)
    }

    /// Returns the values of a row below [`HEADER`].
    fn row(&self, name: &str, assumed: &DriveAssumptions) -> Vec<Value> {
        let [original, layout, model] = [0, 1, 2].map(|kind| self.median(kind));
        let [before, copied, after] = [original, layout, model].map(|run| run.took.as_secs_f64());
        let bytes = |run: &MeasuredStages| run.read.as_f64();
        let threads = |graph: &StageGraph| graph.thread_seconds();
        let difference = self.modelled.plan_difference.as_ref();
        vec![
            json!(name),
            json!(self.modelled.scans),
            json!(self.modelled.tables),
            json!(self.modelled.plan_difference.is_none()),
            json!(if self.equal { "equal" } else { "as many rows" }),
            json!(rounded(before)),
            json!(rounded(copied)),
            json!(rounded(after)),
            json!(rounded(self.variation())),
            json!(rounded(before / after)),
            json!(rounded(before / copied)),
            json!(rounded(copied / after)),
            json!(rounded(bytes(original) / bytes(model).max(1.0))),
            json!(rounded(bytes(layout) / bytes(model).max(1.0))),
            json!(rounded(threads(&original.graph) / threads(&model.graph))),
            json!(rounded(original.graph.thread_time_ratio())),
            json!(rounded(assumed.estimate(&original.graph).bound)),
            json!(difference.is_none_or(|it| it.same_operators)),
            json!(self.modelled.operators),
            tables(&self.modelled.scanned),
            json!(difference.map(|it| &it.text)),
            Value::Null,
        ]
    }
}

fn print(tried: &[QueryTrial], assumed: &DriveAssumptions, output: Output) -> Result<()> {
    if tried.len() == 1 && tried[0].outcome.is_err() {
        return Ok(());
    }
    let Some(format) = output.list_format() else { return Ok(()) };
    let columns = if format == ListFormat::Table { IN_TABLE } else { HEADER.len() };
    let mut listing = Listing::new(&HEADER[..columns]);
    for QueryTrial { name, outcome } in tried {
        let mut row = match outcome {
            Ok(compared) => compared.row(name, assumed),
            Err(failure) => {
                let mut row = vec![Value::Null; HEADER.len()];
                (row[0], row[4]) = (json!(name), json!("failed"));
                row[HEADER.len() - 1] = json!(failure.words().0);
                row
            }
        };
        row.truncate(columns);
        listing.push(row);
    }
    let mut notes = String::new();
    for QueryTrial { name, outcome } in tried {
        let difference = outcome.as_ref().ok().and_then(|it| it.modelled.plan_difference.as_ref());
        if let Some(difference) = difference {
            notes += &format!(
                "{}: another plan over its model tables: {}\n",
                visible(name),
                visible(&difference.text)
            );
        }
    }
    notes += "same_plan: the same operators in the same places; exchanges, parts of aggregates, limits, and filters and\n\
              projections of scans are not compared, since they depend on the number and the size of files.\n";
    notes += "Seconds and CPU are measured (medians; variation: standard deviation over mean, the largest of the \
                 three), bytes counted,\nthread_time_ratio and bound modelled. speedup: over the tables against over the \
                 model tables; layout: what the writer alone changes;\nnet: copies against model tables. An answer \
                 of as many rows: LIMIT leaves open which.\nWithout scan, filter and project, cpu_ratio would \
                 be thread_time_ratio, and speedup at most bound; one left out is without limit.\n";
    if format == ListFormat::Table {
        return output.write(&format!("{}\n{notes}", listing.text(format)));
    }
    print_line(notes.trim_end());
    output.write(&listing.text(format))
}
