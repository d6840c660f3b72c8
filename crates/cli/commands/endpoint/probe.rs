//! `sluice endpoint probe`

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use sluicegate_client::{ProbeTarget, SelectMetrics};
use sluicegate_conformance::probe::{Finding, Question, Report, Sample, Verdict};
use sluicegate_costmodel::Bytes;
use sluicegate_engine::{Engine, Error};
use sluicegate_s3select::capabilities::StoreCapabilities;

use super::{HINT, connect};
use crate::args::ProbeArgs;
use crate::commands::samples::Samples;
use crate::connect::detect::Server;
use crate::connect::probed_endpoints::{KnownEndpoints, ProbedEndpoint};
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::output::progress::{Steps, print_line};
use crate::output::stats;
use crate::runtime::interrupt::interruptible;

pub(crate) async fn run(args: ProbeArgs) -> Result<()> {
    let mut output = Output::new(Some(args.format.into()), None, 0)?;
    let engine = connect(&args.store).await?;
    let started = Instant::now();
    let report = Box::pin(run_probe(&engine, &args)).await?;
    let table = engine.context().read_batch(table(&report.findings)?)?;
    let rows = Box::pin(output.answer(Box::pin(table.execute_stream()).await?, || ())).await?;
    let counted = engine.counted();
    let prices = &engine.endpoint().prices;
    let mut lines = summary(&engine, &report);
    lines += &stats::lines(&counted, started.elapsed(), rows, prices, 1);
    io::stderr().write_all(lines.as_bytes())?;
    if args.bucket.is_some() {
        save_probe(&engine, report.profile).await?;
    } else {
        print_line(
            "nothing is remembered: what a store does to fields shows only on samples (--bucket)",
        );
    }
    Ok(())
}

/// Sends the probe's statements. Samples are removed also after an error or an interruption.
async fn run_probe(engine: &Engine, args: &ProbeArgs) -> Result<Report> {
    if let Some(object) = &args.object {
        let target = ProbeTarget::Object { bucket: object.bucket.clone(), key: object.key.clone() };
        return interruptible(Box::pin(questions(engine, &target))).await;
    }
    let Some(bucket) = &args.bucket else {
        return Err(Failure::Usage("name a --bucket or an --object".to_owned()));
    };
    let mut samples = Samples::new(engine, bucket, "probe", HINT)?;
    let target =
        ProbeTarget::Samples { bucket: bucket.clone(), prefix: samples.prefix().to_owned() };
    let asked = interruptible(Box::pin(async {
        let written =
            Sample::ALL.iter().map(|sample| (sample.file_name().to_owned(), sample.bytes()));
        samples.begin().await?;
        samples.write(written).await?;
        // If the store does not find the samples, every statement would fail, and the profile would be wrong.
        if let Some(sample) = Sample::ALL.first() {
            let read = samples.read(sample.file_name(), Bytes(1)).await;
            read.map_err(|failure| failure.at("the samples cannot be read"))?;
        }
        questions(engine, &target).await
    }))
    .await;
    let removed = samples.remove().await;
    let report = asked?;
    removed.map(|()| report)
}

async fn questions(engine: &Engine, target: &ProbeTarget) -> Result<Report> {
    let metrics = Arc::new(SelectMetrics::default());
    let steps = Steps::new(Question::all().count(), "asking");
    let report = engine.endpoint().client.probe(target, &metrics, |number| steps.at(number)).await;
    steps.done();
    engine.endpoint().counters.select(&metrics.counts());
    Ok(report.map_err(Error::from)?)
}

fn table(findings: &[Finding]) -> Result<RecordBatch> {
    let column = |text: fn(&Finding) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(findings.iter().map(text)))
    };
    Ok(RecordBatch::try_from_iter([
        ("topic", column(|finding| finding.topic.as_str())),
        ("feature", column(|finding| &finding.feature)),
        ("verdict", column(|finding| finding.verdict.as_str())),
        ("evidence", column(|finding| &finding.evidence)),
    ])?)
}

fn summary(engine: &Engine, report: &Report) -> String {
    let client = &engine.endpoint().client;
    let place = client.endpoint().unwrap_or("AWS");
    let count = |verdict| report.count(verdict);
    let answers = count(Verdict::Works) + count(Verdict::Wrong) > 0;
    let select = if answers { "" } else { ": a store without Select" };
    format!(
        "{place}{select}: {} features work, {} are refused, {} answer wrongly, {} are not known\n",
        count(Verdict::Works),
        count(Verdict::Refused),
        count(Verdict::Wrong),
        count(Verdict::NotKnown),
    )
}

/// Saves the profile for `--store auto` and `--store probed`.
async fn save_probe(engine: &Engine, profile: StoreCapabilities) -> Result<()> {
    let Some(endpoint) = engine.endpoint().client.endpoint() else {
        print_line("nothing is remembered: this is AWS, whose profile is known");
        return Ok(());
    };
    let server = Server::probe_kind(endpoint).await;
    let header = server.header().map(str::to_owned);
    let known = ProbedEndpoint::now(endpoint, header.as_deref(), profile);
    let Some(file) = KnownEndpoints::in_cache() else {
        print_line("nothing is remembered: there is no cache folder; set XDG_CACHE_HOME");
        return Ok(());
    };
    file.save(known)?;
    let path = file.path().display();
    match server.profile() {
        Some(profile) => print_line(&format!(
            "remembered in {path}: --store probed uses it; without, this store is taken for \
             what its Server header says, `{}`",
            profile.name
        )),
        None => print_line(&format!("remembered in {path}: sql, explain and generate use it")),
    }
    Ok(())
}
