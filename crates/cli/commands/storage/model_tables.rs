//! Queries over model tables (ICPE 2020, §5.2), beside what is predicted.

use serde_json::json;
use sluicegate_costmodel::storage::StageGraph;
use sluicegate_engine::Engine;
use sluicegate_engine::model_tables::{ModelTables, Modelled, Over};
use sluicegate_engine::stages::MeasuredStages;
use sluicegate_traces::name_of;

use super::Assumed;
use super::measure::without_pushdown;
use super::report::rounded;
use crate::args::StorageArgs;
use crate::commands::embedded::measure::{Row, sorted_rows};
use crate::commands::samples::Samples;
use crate::commands::sql::script;
use crate::failure::{Failure, Result};
use crate::output::listing::{ListFormat, Listing};
use crate::output::progress::say;
use crate::runtime::compute::Compute;
use crate::runtime::interrupt::interruptible;
use crate::session::{is_query, place, statements};

const HINT: &str =
    "Name a bucket in which the access key may write and delete, with --model-tables.";
const HEADER: [&str; 17] = [
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
];
const OVER: [Over; 3] = [Over::Original, Over::Layout, Over::Model];
/// By which part of it a floating-point number may differ that is summed in another order.
const ALIKE: f64 = 1e-9;

/// A query that ran over each kind of tables.
struct Compared {
    name: String,
    modelled: Modelled,
    /// Whether all answers are equal; otherwise they are of as many rows.
    equal: bool,
    runs: [Vec<MeasuredStages>; 3],
}

pub(super) async fn run(
    args: StorageArgs,
    bucket: &str,
    assumed: &Assumed,
    compute: &Compute,
) -> Result<()> {
    let Some(script) = script(&args.statements)? else {
        return Err(Failure::Usage(
            "there is no query; give one with -c, or a file with -f".into(),
        ));
    };
    let engine = args.connect.connect().await?;
    let mut samples = Samples::new(&engine, bucket, "model-tables", HINT)?;
    let root = format!("s3://{bucket}/{}", samples.prefix());
    let compared = interruptible(Box::pin(async {
        samples.begin().await?;
        let (engine, wanted, rounds) = (engine.clone(), args.query.clone(), args.rounds);
        let work = async move { all(&engine, &script, wanted.as_deref(), rounds, root).await };
        compute.run(Box::pin(work)).await
    }))
    .await;
    // Nothing is left behind, however that ended.
    let removed = match samples.take_in().await {
        Ok(()) => samples.remove().await,
        listed => listed,
    };
    if let (Err(_), Err(failure)) = (&compared, &removed) {
        let (message, hint) = failure.words();
        say(&format!("warning: {message}\n{}", hint.unwrap_or_default()));
    }
    print(&compared?, assumed, args.format)?;
    removed
}

/// Runs the queries of a script, after the definitions among them.
async fn all(
    engine: &Engine,
    script: &str,
    wanted: Option<&str>,
    rounds: u32,
    root: String,
) -> Result<Vec<Compared>> {
    let mut tables = ModelTables::new(root);
    let (mut compared, mut names) = (Vec::new(), Vec::new());
    for (index, statement) in statements::all(script).iter().enumerate() {
        let at = |failure: Failure| failure.at(&place(index, statement));
        if !is_query(engine, statement).await.map_err(at)? {
            let run = Box::pin(engine.query(statement)).await.map_err(|error| at(error.into()))?;
            Box::pin(run.collect()).await.map_err(|error| at(error.into()))?;
            continue;
        }
        let name = name_of(statement).unwrap_or_else(|| format!("query {}", names.len() + 1));
        names.push(name.clone());
        if wanted.is_some_and(|wanted| wanted != name) {
            continue;
        }
        say(&format!("{name}: writing model tables, and running it {rounds} times over each kind"));
        let one = Box::pin(compare(engine, &mut tables, name, statement, rounds)).await;
        compared.push(one.map_err(at)?);
    }
    match (compared.is_empty(), wanted) {
        (false, _) => Ok(compared),
        (true, Some(wanted)) if !names.is_empty() => {
            Err(Failure::new(format!("there is no query `{wanted}`"))
                .with_hint(format!("There is {}.", names.join(", "))))
        }
        (true, _) => Err(Failure::new("there is no query to compare")
            .with_hint("Give one with -c, after the definitions of its tables.")),
    }
}

async fn compare(
    engine: &Engine,
    tables: &mut ModelTables,
    name: String,
    sql: &str,
    rounds: u32,
) -> Result<Compared> {
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
    Ok(Compared { name, modelled, equal, runs })
}

/// Whether two answers are equal, but for the order in which floating-point numbers were summed.
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

impl Compared {
    /// The run of the median time.
    fn median(&self, kind: usize) -> &MeasuredStages {
        let runs = &self.runs[kind];
        &runs[runs.len() / 2]
    }

    /// The largest coefficient of variation of the times.
    fn variation(&self) -> f64 {
        let of = |runs: &Vec<MeasuredStages>| {
            let times: Vec<f64> = runs.iter().map(|run| run.took.as_secs_f64()).collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let squares = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>();
            (squares / times.len() as f64).sqrt() / mean
        };
        self.runs.iter().map(of).fold(0.0, f64::max)
    }
}

fn print(compared: &[Compared], assumed: &Assumed, format: ListFormat) -> Result<()> {
    let mut listing = Listing::new(&HEADER);
    for query in compared {
        let [original, layout, model] = [0, 1, 2].map(|kind| query.median(kind));
        let [before, copied, after] = [original, layout, model].map(|run| run.took.as_secs_f64());
        let bytes = |run: &MeasuredStages| run.read.as_f64();
        let threads = |graph: &StageGraph| graph.thread_seconds();
        listing.push(vec![
            json!(query.name),
            json!(query.modelled.scans),
            json!(query.modelled.tables),
            json!(query.modelled.same_plan),
            json!(if query.equal { "equal" } else { "as many rows" }),
            json!(rounded(before)),
            json!(rounded(copied)),
            json!(rounded(after)),
            json!(rounded(query.variation())),
            json!(rounded(before / after)),
            json!(rounded(before / copied)),
            json!(rounded(copied / after)),
            json!(rounded(bytes(original) / bytes(model).max(1.0))),
            json!(rounded(bytes(layout) / bytes(model).max(1.0))),
            json!(rounded(threads(&original.graph) / threads(&model.graph))),
            json!(rounded(original.graph.thread_time_ratio())),
            json!(rounded(assumed.estimate(&original.graph).bound)),
        ]);
    }
    let notes = "Seconds and CPU are measured (medians; variation: standard deviation over mean, the largest of the \
                 three), bytes counted,\nthread_time_ratio and bound modelled. speedup: over the tables against over the \
                 model tables; layout: what the writer alone changes;\nnet: copies against model tables. An answer \
                 of as many rows: LIMIT leaves open which.\nWithout scan, filter and project, cpu_ratio would \
                 be thread_time_ratio, and speedup at most bound; one left out is without limit.\n";
    if format != ListFormat::Table {
        say(notes.trim_end());
    }
    listing.print(format, notes)
}
