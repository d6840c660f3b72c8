//! Sessions: statements that run one after another on one engine.
//!
//! `statements` splits text, `script` reads files, `prompt` reads lines from a terminal, and `meta` runs commands
//! that are not SQL.

pub(crate) mod meta;
pub(crate) mod prompt;
pub(crate) mod script;
pub(crate) mod statements;

use std::io::{self, Write};
use std::pin::pin;
use std::time::{Duration, Instant};

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::LogicalPlan;
use futures::TryStreamExt;
use sluicegate_costmodel::{Bytes, Dollars};
use sluicegate_engine::analyze::is_analyze;
use sluicegate_engine::{Engine, Query};
use tokio::time::timeout;

use crate::args::ConnectArgs;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::output::escape::visible;
use crate::output::html::Page;
use crate::output::progress::{Amount, ProgressLine, print_line};
use crate::output::stats;
use crate::output::stats_json::StatementLog;
use crate::output::titles::titled;
use crate::runtime::compute::{Compute, RecordLevel, RunOptions, RunningStatement};
use crate::session::meta::Meta;
use crate::session::script::Script;
use crate::session::statements::Step;

/// An engine with its output and the settings of a session.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    pub(crate) engine: Engine,
    /// The threads on which statements run.
    pub(crate) compute: &'a mut Compute,
    pub(crate) output: Output,
    /// True if each statement's work is reported on stderr.
    pub(crate) stats: bool,
    /// True if each statement's time is reported on stderr.
    pub(crate) timing: bool,
    /// Queries with a higher predicted cost do not run.
    pub(crate) max_cost: Option<Dollars>,
    /// The HTML page that statements are added to, if there is one.
    pub(crate) page: Option<Page>,
    /// The file with the statistics of statements, if there is one.
    pub(crate) log: Option<StatementLog>,
    /// True if a query fetches no more rows than its table shows.
    pub(crate) fetch_shown: bool,
    /// True if the progress of long statements is shown, if stderr is a terminal.
    pub(crate) progress: bool,
    /// Depth of nested `\i` commands.
    pub(crate) including: usize,
    /// The arguments of the connection, if the kind of store could not be detected because the store did not answer.
    pub(crate) silent: Option<ConnectArgs>,
}

/// The records of a statement that ran or failed.
#[derive(Debug, Default)]
pub(crate) struct StatementOutcome {
    /// The query with its counts; `None` if it could not be planned.
    pub(crate) query: Option<Query>,
    /// True if the statement only defines a name or sets an option.
    pub(crate) is_definition: bool,
    /// Time from the statement's text to the end of its answer.
    pub(crate) wall: Duration,
    /// The number of rows of its answer, if it was complete.
    pub(crate) rows: Option<u64>,
    /// The notes and warnings that were printed.
    pub(crate) notes: Vec<String>,
}

impl Session<'_> {
    /// Runs one statement and writes its answer.
    pub(crate) async fn run(&mut self, statement: &str) -> Result<()> {
        let mut ran = StatementOutcome::default();
        self.query_again().await?;
        if self.records() {
            // A statement that cannot be planned reports the error when it runs.
            ran.is_definition = !is_query(&self.engine, statement).await.unwrap_or(true);
        }
        let mut result = Box::pin(self.run_as(statement, &mut ran)).await;
        if let Some(log) = &mut self.log {
            let written = log.add(&self.engine, statement, &ran, &result);
            result = result.and(written);
        }
        if let Some(page) = &mut self.page {
            page.add_run(&self.engine, statement, ran, &result);
        }
        result
    }

    /// Returns true if the decisions and the predictions of statements are kept.
    const fn records(&self) -> bool {
        self.page.is_some() || self.log.is_some()
    }

    /// Detects the kind of store again, if the store did not answer before.
    async fn query_again(&mut self) -> Result<()> {
        let Some(connect) = self.silent.take() else { return Ok(()) };
        if Box::pin(connect.is_unreachable()).await? {
            self.silent = Some(connect);
            return Ok(());
        }
        self.engine.adopt_endpoint(&Box::pin(connect.connect()).await?);
        Ok(())
    }

    async fn run_as(&mut self, statement: &str, ran: &mut StatementOutcome) -> Result<()> {
        if let Some(limit) = self.max_cost {
            self.refuse_above(limit, statement).await?;
        }
        let asked = RunOptions {
            kept: if self.records() { RecordLevel::Everything } else { RecordLevel::Counts },
            first: self.output.looks_at().filter(|_| self.fetch_shown),
        };
        let started = Instant::now();
        let shows = self.progress && !self.output.streams_to_terminal();
        let running = ProgressLine::begin(&self.engine, shows);
        let planned = Box::pin(self.compute.plan(&self.engine, statement, asked));
        let answer = match is_analyze(statement) {
            true if self.progress => with_bytes_read(&self.engine, planned).await,
            true => planned.await,
            false => running.watch(|| None, planned).await,
        };
        self.print_notes(&mut ran.notes);
        ran.wall = started.elapsed();
        let RunningStatement { answer, query, limited } = answer?;
        self.output.limit(limited);
        let writes =
            matches!(query.frame().logical_plan(), LogicalPlan::Copy(_) | LogicalPlan::Dml(_));
        let rows = if writes && self.output.is_for_reading() {
            running.watch(|| query.bytes_to_read(), written(answer)).await
        } else {
            let answer = self.output.answer(titled(answer, statement), || running.clear());
            running.watch(|| query.bytes_to_read(), Box::pin(answer)).await
        };
        self.print_notes(&mut ran.notes);
        let wall = started.elapsed();
        ran.wall = wall;
        for warning in query.warnings() {
            let warning = format!("warning: {warning}");
            print_line(&warning);
            ran.notes.push(warning);
        }
        let query = ran.query.insert(query);
        let rows = rows?;
        ran.rows = Some(rows);
        if writes && self.output.is_for_reading() {
            let (rows, sent) = (stats::rows_words(rows), Bytes(query.bytes_written()));
            writeln!(io::stdout(), "{rows} and {sent} written")?;
        }
        if self.stats {
            let counted = query.counted();
            let endpoint = self.engine.endpoint();
            let machines = endpoint.hardware.client.machines.get();
            let mut lines = stats::lines(&counted, wall, rows, &endpoint.prices, machines);
            for refusal in self.engine.endpoint().client.refusals() {
                lines += &format!("refused:  {refusal}; not sent any more\n");
            }
            io::stderr().write_all(visible(&lines).as_bytes())?;
        } else if self.timing {
            writeln!(io::stderr(), "{}, {}", stats::rows_words(rows), stats::seconds(wall))?;
        }
        Ok(())
    }

    /// Runs a statement or a command. Returns false if the command is to quit.
    pub(crate) async fn step(&mut self, step: Step<'_>) -> Result<bool> {
        match step {
            Step::Statement(statement) => self.run(statement).await.map(|()| true),
            Step::Command(line) => Meta::parse(line)?.obey(self).await,
        }
    }

    /// Runs the steps of a script in order. An error names its step. Returns false if a command was to quit.
    pub(crate) async fn run_all(&mut self, script: &Script) -> Result<bool> {
        let steps = script.steps();
        for (index, step) in steps.iter().enumerate() {
            let (Step::Statement(text) | Step::Command(text)) = step;
            let result = Box::pin(self.step(*step)).await;
            let which = (index, steps.len());
            let goes_on = result.map_err(|failure| script.failed(which, text, failure))?;
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs a query of the program itself and returns its answer.
    pub(crate) async fn query(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        let answer = Box::pin(self.compute.query(&self.engine, sql)).await?;
        Ok(answer.try_collect().await?)
    }

    /// Prints the engine's notes on a statement, whether or not it succeeds.
    fn print_notes(&self, told: &mut Vec<String>) {
        for note in self.engine.take_notes() {
            let note = format!("note: {note}");
            // Planning and running may produce the same note.
            if !told.contains(&note) {
                print_line(&note);
                told.push(note);
            }
        }
    }

    async fn refuse_above(&self, limit: Dollars, statement: &str) -> Result<()> {
        let (engine, text) = (self.engine.clone(), statement.to_owned());
        let explained = self.compute.run(async move {
            if is_query(&engine, &text).await? {
                Ok(Some(Box::pin(engine.explain(&text)).await?.estimate().cost))
            } else {
                Ok(None)
            }
        });
        let Some(cost) = explained.await? else { return Ok(()) };
        if cost <= limit {
            return Ok(());
        }
        let prices = stats::book(&self.engine.endpoint().prices);
        Err(Failure::new(format!(
            "the query is predicted to cost {cost} at the prices {prices}, which is more than {limit}"
        ))
        .with_hint("See `sluice explain` for what it would do, or raise --max-cost."))
    }
}

/// Returns true if a statement reads or writes rows, and so can be explained and priced. Statements that only define
/// a name or set an option take effect when they are planned.
pub(crate) async fn is_query(engine: &Engine, statement: &str) -> Result<bool> {
    Ok(!Box::pin(engine.is_definition(statement)).await?)
}

/// Returns the number of rows that a statement wrote, from its answer.
async fn written(mut answer: SendableRecordBatchStream) -> Result<u64> {
    let mut rows = 0;
    while let Some(batch) = answer.try_next().await? {
        let counts = batch.columns().first().and_then(|it| it.as_primitive_opt::<UInt64Type>());
        rows += counts.into_iter().flatten().flatten().sum::<u64>();
    }
    Ok(rows)
}

/// Waits for ANALYZE TABLE, with a progress bar of the bytes read.
async fn with_bytes_read<T>(engine: &Engine, work: impl Future<Output = T>) -> T {
    const TICK: Duration = Duration::from_millis(100);
    let (before, mut work) = (engine.counted().got_bytes, pin!(work));
    let mut bar: Option<Amount> = None;
    let done = loop {
        match timeout(TICK, &mut work).await {
            Ok(done) => break done,
            Err(_) => {
                let bar = bar.get_or_insert_with(|| Amount::new(0, "analyzing"));
                bar.at(engine.counted().got_bytes - before, engine.analyzing());
            }
        }
    };
    if let Some(bar) = bar {
        bar.done();
    }
    done
}
