//! `sluice storage`: predicts the savings of computational storage.
//!
//! `measure` measures the stages of queries, and `model_tables` compares predictions with queries over model tables.
//! `report` prints one query, `ranking` prints several, and `gantt` draws their stages.

mod gantt;
mod measure;
mod model_tables;
mod ranking;
mod report;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use sluicegate_costmodel::storage::{
    Device, Estimate, Formula, Offloads, Operation, Setup, Slots, StageGraph, estimate,
};
use sluicegate_traces::{Error, Import, Query, datafusion, duckdb, name_of, spark, stages};

use crate::args::{FormulaArg, StorageArgs};
use crate::failure::{Failure, Result};
use crate::output::chart::ChartFormat;
use crate::output::escape::visible;
use crate::output::file::PartialFile;
use crate::output::listing::ListFormat;
use crate::output::progress::print_line;
use crate::runtime::compute::Compute;
use crate::runtime::input::{text_of, unread};
use crate::runtime::interrupt::interruptible;
use crate::session::statements;

const STAGES_HINT: &str = "`sluice help storage` shows such a file.";
const SPARK_HINT: &str =
    "Spark writes event logs with spark.eventLog.enabled=true to spark.eventLog.dir.";
const DUCKDB_HINT: &str = "DuckDB writes profiles with PRAGMA enable_profiling = 'json' and PRAGMA profiling_output = 'FILE'.";
const DATAFUSION_HINT: &str =
    "Write what EXPLAIN ANALYZE VERBOSE or EXPLAIN (ANALYZE, FORMAT pgjson) prints to a file.";

/// The assumed drive, and the way a host uses it.
struct DriveAssumptions {
    device: Device,
    setup: Setup,
    formula: Formula,
    slots: Slots,
}

impl DriveAssumptions {
    fn from_args(args: &StorageArgs) -> Result<Self> {
        let mut device = device(&args.device)?;
        if let Some(setup) = args.setup {
            device.setup = setup.0;
        }
        if !args.offload.is_empty() {
            device.offloads = Offloads::try_from(args.offload.clone())
                .map_err(|message| Failure::Usage(format!("--offload {message}")))?;
        }
        let formula = match args.formula {
            FormulaArg::Intended => Formula::Intended,
            FormulaArg::Printed => Formula::AsPrinted,
        };
        Ok(Self {
            device,
            setup: if args.only_if_beneficial { Setup::OnlyIfBeneficial } else { Setup::Always },
            formula,
            slots: args.slots.map_or(Slots::Unlimited, Slots::Finite),
        })
    }

    fn estimate(&self, graph: &StageGraph) -> Estimate {
        estimate(graph, &self.device, self.setup, self.formula, self.slots)
    }
}

/// Where and how results are written.
struct Output {
    format: ChartFormat,
    file: Option<PartialFile>,
}

impl Output {
    fn from_args(args: &StorageArgs) -> Result<Self> {
        let format = ChartFormat::chosen(args.format, args.output.as_deref())?;
        if format == ChartFormat::Svg && args.model_tables.is_some() {
            return Err(Failure::Usage(
                "a chart is of stages, but --model-tables has none: take csv or json".to_owned(),
            ));
        }
        let file = args.output.as_deref().map(PartialFile::begin).transpose()?;
        Ok(Self { format, file })
    }

    /// Returns the format of lists; `None` for a chart.
    fn list_format(&self) -> Option<ListFormat> {
        match self.format {
            ChartFormat::Table => Some(ListFormat::Table),
            ChartFormat::Csv => Some(ListFormat::Csv),
            ChartFormat::Json => Some(ListFormat::Json),
            ChartFormat::Svg => None,
        }
    }

    fn write(self, text: &str) -> Result<()> {
        match self.file {
            Some(mut file) => {
                file.file().write_all(text.as_bytes())?;
                file.finish()
            }
            None => {
                let mut out = io::stdout();
                out.write_all(text.as_bytes())?;
                Ok(out.flush()?)
            }
        }
    }
}

pub(super) async fn run(args: StorageArgs, compute: &Compute) -> Result<()> {
    let assumed = DriveAssumptions::from_args(&args)?;
    refuse_twice(&args)?;
    let output = Output::from_args(&args)?;
    if let Some(bucket) = args.model_tables.clone() {
        return model_tables::run(args, &bucket, &assumed, output, compute).await;
    }
    let wanted = args.query.clone();
    let mut queries = Vec::new();
    for path in &args.stages {
        queries.push(stages::read(path).map_err(|error| unread(&error, STAGES_HINT))?);
    }
    for path in &args.spark_log {
        queries.extend(imported(spark::read(path), SPARK_HINT)?);
    }
    for path in &args.duckdb {
        queries.extend(imported(duckdb::read(path), DUCKDB_HINT)?);
    }
    for path in &args.datafusion {
        queries.extend(imported(datafusion::read(path), DATAFUSION_HINT)?);
    }
    let mut failures = Vec::new();
    if queries.is_empty() {
        let measured = measure::queries(args, assumed.device.offloads.clone());
        (queries, failures) = interruptible(compute.run(Box::pin(measured))).await?;
    }
    let all = queries.len() + failures.len();
    if let Some(wanted) = wanted {
        let names: Vec<_> = queries.iter().map(|it| it.name.clone()).collect();
        queries.retain(|it| it.name == wanted);
        if queries.is_empty() && !failures.iter().any(|(name, _)| *name == wanted) {
            return Err(Failure::new(format!("there is no query `{wanted}`"))
                .with_hint(format!("There is {}.", names.join(", "))));
        }
    }
    note_unmeasured(&queries, &assumed.device);
    let text = match (queries.as_slice(), output.list_format()) {
        ([], _) => None,
        (queries, None) => Some(gantt::svg(queries, &assumed)),
        ([query], Some(format)) => Some(report::text(query, &assumed, format)),
        (queries, Some(format)) => Some(ranking::text(queries, &assumed, format)),
    };
    if let Some(text) = text {
        output.write(&text)?;
    }
    failed(all, failures.into_iter())
}

/// Prints a note if a device does more than scan, filter and project, but no query has the measurements for it.
fn note_unmeasured(queries: &[Query], device: &Device) {
    let beyond = [Operation::SemiJoin, Operation::Aggregate];
    let stages = || queries.iter().flat_map(|query| query.graph.stages());
    let is_measured = stages().any(|it| it.aggregate_seconds > 0.0 || !it.semi_joins.is_empty());
    if !is_measured && stages().next().is_some() && beyond.iter().any(|it| device.offloads.has(*it))
    {
        print_line(
            "note: no stage has aggregate_seconds or semi_joins, so the drive does nothing beyond scan, \
             filter and project",
        );
    }
}

/// Fails if a file is named twice, since it would count twice.
fn refuse_twice(args: &StorageArgs) -> Result<()> {
    for files in [&args.stages, &args.spark_log, &args.duckdb, &args.datafusion] {
        let same = |file: &Path| fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let mut known = Vec::new();
        for file in files {
            let real = same(file);
            if known.contains(&real) {
                return Err(Failure::Usage(format!("`{}` is named twice", file.display())));
            }
            known.push(real);
        }
    }
    Ok(())
}

/// Fails before any statement runs if none of them can be the wanted query. Queries without a name are numbered.
fn refuse_unknown(script: &str, wanted: Option<&str>) -> Result<()> {
    let Some(wanted) = wanted else { return Ok(()) };
    let statements = statements::all(script);
    let names: Vec<_> = statements.iter().filter_map(|it| name_of(it)).collect();
    let number = wanted.strip_prefix("query ").and_then(|it| it.parse::<usize>().ok());
    let is_numbered = number.is_some_and(|number| (1..=statements.len()).contains(&number));
    if names.iter().any(|it| it == wanted) || is_numbered {
        return Ok(());
    }
    let hint = match names.is_empty() {
        true => {
            "A comment `-- Q9` before a query names it; others are `query 1` and so on.".to_owned()
        }
        false => format!("There is {}.", names.join(", ")),
    };
    Err(Failure::new(format!("there is no query `{wanted}`")).with_hint(hint))
}

/// Prints why each statement failed, and returns the failure of the whole run.
fn failed(all: usize, failures: impl Iterator<Item = (String, Failure)>) -> Result<()> {
    let failures: Vec<_> = failures.collect();
    let names: Vec<_> = failures.iter().map(|(name, _)| format!("`{name}`")).collect();
    if all > 1 {
        failures
            .iter()
            .for_each(|(_, failure)| print_line(&format!("failed: {}", failure.words().0)));
    }
    let Some((_, first)) = failures.into_iter().next() else { return Ok(()) };
    if all == 1 {
        return Err(first);
    }
    let (_, hint) = first.words();
    let message = format!("{} of {all} statements failed: {}", names.len(), names.join(", "));
    Err(Failure::new(message).with_hint(hint.unwrap_or_else(|| "The reasons stand above.".into())))
}

/// Prints the notes of an imported log and returns its queries.
fn imported(import: Result<Import, Error>, hint: &str) -> Result<Vec<Query>> {
    let import = import.map_err(|error| unread(&error, hint))?;
    for note in &import.notes {
        print_line(&format!("note: {}", visible(note)));
    }
    Ok(import.queries)
}

/// Returns the device with this name, or reads it from a file.
fn device(name: &str) -> Result<Device> {
    if let Some(known) = Device::by_name(name) {
        return Ok(known.clone());
    }
    let path = Path::new(name);
    if !path.exists() {
        let names: Vec<_> = Device::all().iter().map(|it| it.name.as_str()).collect();
        return Err(Failure::new(format!("there is no device and no file `{name}`"))
            .with_hint(format!("Take one of {}, or name a TOML file.", names.join(", "))));
    }
    let text = text_of(path)?;
    Device::parse(&text).map_err(|error| {
        let keys = "name, date, source, setup_seconds, media_bytes_per_second, link_bytes_per_second \
                    and filter_bytes_per_second, and may have offloads, decode_bytes_per_second and \
                    semi_join_bytes";
        Failure::new(format!("`{name}`, {error}")).with_hint(format!("A device has {keys}."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_no_statement_has_is_refused_before_any_runs() {
        let script = "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 's3://b/t/';\n-- Q9\nSELECT 1;\nSELECT 2";
        for known in [None, Some("Q9"), Some("query 1"), Some("query 3")] {
            assert!(refuse_unknown(script, known).is_ok(), "{known:?}");
        }
        for unknown in ["Q99", "q9", "query 0", "query 4", ""] {
            let failure = refuse_unknown(script, Some(unknown)).unwrap_err();
            assert_eq!(failure.words().0, format!("there is no query `{unknown}`"));
            assert_eq!(failure.words().1.as_deref(), Some("There is Q9."));
        }
    }
}
