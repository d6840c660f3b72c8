//! `sluice endpoint conformance`

use std::io::{self, Write};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use sluicegate_client::SelectMetrics;
use sluicegate_conformance::NoAnswer;
use sluicegate_conformance::table::{Answer, Expected, Outcome, Run, Verdict};
use sluicegate_engine::{Engine, Error};

use super::{HINT, connect};
use crate::args::ConformanceArgs;
use crate::commands::samples::Samples;
use crate::failure::Result;
use crate::output::Output;
use crate::output::progress::Steps;
use crate::runtime::interrupt::interruptible;

/// The longest text of a cell, in characters.
const CELL: usize = 80;

pub(crate) async fn run(args: ConformanceArgs) -> Result<()> {
    let mut output = Output::new(Some(args.format.into()), None, 0)?;
    let engine = connect(&args.store).await?;
    let mut samples = Samples::new(&engine, &args.bucket, "probe", HINT)?;
    let table = Run::new(samples.prefix());
    let prefix = samples.prefix().len();
    let asked = interruptible(Box::pin(async {
        let objects =
            table.objects().map(|(key, bytes)| (key[prefix..].to_owned(), bytes.to_vec()));
        samples.begin().await?;
        samples.write(objects).await?;
        run_cases(&engine, &args.bucket, &table).await
    }))
    .await;
    // The samples are removed also after an error or an interruption.
    let removed = samples.remove().await;
    let outcomes = asked?;
    removed?;
    let shown: Vec<&Outcome> = outcomes
        .iter()
        .filter(|outcome| args.all || outcome.verdict() != Verdict::Agrees)
        .collect();
    output
        .answer(engine.context().read_batch(rows(&shown)?)?.execute_stream().await?, || ())
        .await?;
    let place = engine.endpoint().client.endpoint().unwrap_or("AWS");
    let count = |verdict| outcomes.iter().filter(|outcome| outcome.verdict() == verdict).count();
    let summary = format!(
        "{place}: of {} answers {} agree, {} are wrong, {} questions are refused, {} errors have \
         another code\n",
        outcomes.len(),
        count(Verdict::Agrees),
        count(Verdict::Wrong),
        count(Verdict::Refused),
        count(Verdict::OtherCode),
    );
    io::stderr().write_all(summary.as_bytes())?;
    Ok(())
}

async fn run_cases(engine: &Engine, bucket: &str, table: &Run) -> Result<Vec<Outcome>> {
    let metrics = Arc::new(SelectMetrics::default());
    let steps = Steps::new(table.questions(), "asking");
    let client = &engine.endpoint().client;
    let mut asked = 0;
    let outcomes = table.run_case(async |key, request| {
        asked += 1;
        steps.at(asked);
        match client.send(bucket, key, request, &metrics).await {
            Ok(answer) => Ok(Ok(answer)),
            Err(error) => NoAnswer::try_from(error).map(Err),
        }
    });
    let outcomes = outcomes.await;
    steps.done();
    engine.endpoint().counters.select(&metrics.counts());
    Ok(outcomes.map_err(Error::from)?)
}

fn rows(outcomes: &[&Outcome]) -> Result<RecordBatch> {
    let column = |text: fn(&Outcome) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(outcomes.iter().map(|outcome| text(outcome))))
    };
    Ok(RecordBatch::try_from_iter([
        ("verdict", column(|outcome| outcome.verdict().as_str().to_owned())),
        ("rule", column(|outcome| outcome.case.rule.to_owned())),
        ("statement", column(|outcome| cell(&outcome.case.statement()))),
        (
            "expected",
            column(|outcome| match outcome.case.expected {
                Expected::Rows(rows) => cell(rows),
                Expected::Error(code) => code.to_string(),
            }),
        ),
        (
            "answer",
            column(|outcome| match &outcome.answer {
                Answer::Rows(rows) => cell(&String::from_utf8_lossy(rows)),
                Answer::Error { code, message } => cell(&format!("{code}: {message}")),
            }),
        ),
    ])?)
}

/// Shortens a text to one line of at most [`CELL`] characters.
fn cell(text: &str) -> String {
    let line = text.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'");
    match line.char_indices().nth(CELL) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}
