//! Progress bars and messages on stderr.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use object_store::ObjectStore;
use sluicegate_costmodel::{Bytes, Requests};
use sluicegate_engine::{CounterSnapshot, Engine};
use sluicegate_workloads::{self as workloads, DataTable, Generate, PartProgress, WrittenObject};

use crate::failure::Result;
use crate::output::escape::visible;
use crate::output::stats;

const TEMPLATE: &str = "{msg} [{bar:30}] {percent}% of {len} rows, {elapsed} (eta {eta})";

tokio::task_local! {
    /// The messages of a task whose program shows them itself.
    static COLLECTED: Arc<Mutex<Vec<String>>>;
}

/// Runs some work and returns its result with the messages that it would have printed.
pub(crate) async fn collecting<T>(work: impl Future<Output = T>) -> (T, Vec<String>) {
    let collected = Arc::<Mutex<Vec<String>>>::default();
    let result = COLLECTED.scope(Arc::clone(&collected), work).await;
    let mut messages = collected.lock().unwrap_or_else(PoisonError::into_inner);
    (result, std::mem::take(&mut *messages))
}

/// Writes a message for the user to stderr.
pub(crate) fn print_line(text: &str) {
    let add = |lines: &Arc<Mutex<Vec<String>>>| {
        lines.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    };
    if COLLECTED.try_with(add).is_ok() {
        return;
    }
    // If stderr is closed, the message is lost.
    drop(writeln!(io::stderr(), "{}", visible(text)));
}

/// A status line about a long statement, if stderr is a terminal: bytes read and total, requests, rate, and remaining
/// time.
pub(crate) struct ProgressLine {
    engine: Engine,
    shown: bool,
    started: Instant,
    before: CounterSnapshot,
    line: RefCell<Option<ProgressBar>>,
}

impl ProgressLine {
    /// Begins a statement. Nothing is printed yet.
    pub(crate) fn begin(engine: &Engine, shown: bool) -> Self {
        let shown = shown && io::stderr().is_terminal();
        let before = engine.counted();
        Self {
            engine: engine.clone(),
            shown,
            started: Instant::now(),
            before,
            line: RefCell::default(),
        }
    }

    /// Waits for a part of the statement and updates the line meanwhile. `total` returns the bytes to read, if they
    /// are known. The line is removed afterwards.
    pub(crate) async fn watch<T>(
        &self,
        total: impl Fn() -> Option<u64>,
        work: impl Future<Output = T>,
    ) -> T {
        const TICK: Duration = Duration::from_millis(200);
        if !self.shown {
            return work.await;
        }
        let mut work = pin!(work);
        let done = loop {
            match tokio::time::timeout(TICK, &mut work).await {
                Ok(done) => break done,
                Err(_) => self.update(total()),
            }
        };
        self.clear();
        done
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        if let Some(line) = self.line.take() {
            line.finish_and_clear();
        }
    }

    fn update(&self, total: Option<u64>) {
        let mut line = self.line.borrow_mut();
        let line = line.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            bar
        });
        let counted = self.engine.counted().since(&self.before);
        line.set_message(words(&counted, total, self.started.elapsed()));
        line.tick();
    }
}

/// Formats the status line: `[====      ] 40.0 MiB of 100 MiB, 12 requests, 20.0 MiB/s, 3.00 s left`
fn words(counted: &CounterSnapshot, total: Option<u64>, elapsed: Duration) -> String {
    const CELLS: u64 = 20;
    let requests = counted.requests();
    if requests == 0 {
        return format!("running for {}", stats::seconds(elapsed));
    }
    let done = counted.got_bytes + counted.scanned_bytes + counted.put_bytes;
    let rate = done as f64 / elapsed.as_secs_f64().max(1e-3);
    let rest = format!("{}, {}/s", Requests(requests).in_words(), Bytes(rate as u64));
    match total.filter(|total| *total > done && done > 0) {
        Some(total) => {
            let full = (CELLS * done / total) as usize;
            let bar = "=".repeat(full) + &" ".repeat(CELLS as usize - full);
            let left = Duration::from_secs_f64((total - done) as f64 / rate.max(1.0));
            let (done, total) = (Bytes(done), Bytes(total));
            format!("[{bar}] {done} of {total}, {rest}, {} left", stats::seconds(left))
        }
        None => format!("{}, {rest}, {}", Bytes(done), stats::seconds(elapsed)),
    }
}

/// A bar for work in steps, if stderr is a terminal.
#[derive(Debug)]
pub(crate) struct Steps {
    bar: ProgressBar,
}

impl Steps {
    /// Creates a bar at step 0.
    pub(crate) fn new(steps: usize, message: &'static str) -> Self {
        let bar = if io::stderr().is_terminal() {
            let target = ProgressDrawTarget::stderr();
            ProgressBar::with_draw_target(Some(steps as u64), target)
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {pos} of {len}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(message);
        Self { bar }
    }

    /// Shows that a step, counted from 1, has begun.
    pub(crate) fn at(&self, step: usize) {
        self.bar.set_position(step as u64);
    }

    /// Removes the bar.
    pub(crate) fn done(&self) {
        self.bar.finish_and_clear();
    }
}

/// A bar for work on bytes. If stderr is no terminal, the message is printed once instead.
#[derive(Debug)]
pub(crate) struct Amount {
    bar: ProgressBar,
}

impl Amount {
    /// Creates a bar at 0 bytes.
    pub(crate) fn new(bytes: u64, message: &str) -> Self {
        let bar = if io::stderr().is_terminal() {
            ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr())
        } else {
            print_line(message);
            ProgressBar::hidden()
        };
        let template = "{msg} [{bar:30}] {bytes} of {total_bytes}, {elapsed} (eta {eta})";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(message.to_owned());
        Self { bar }
    }

    /// Sets the number of bytes done and the total.
    pub(crate) fn at(&self, bytes: u64, of: u64) {
        self.bar.set_length(of);
        self.bar.set_position(bytes.min(of));
    }

    /// Adds to the number of bytes done.
    pub(crate) fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    /// Removes the bar.
    pub(crate) fn done(&self) {
        self.bar.finish_and_clear();
    }
}

/// Generates tables, with a bar if stderr is a terminal.
pub(crate) async fn generate<T: DataTable>(
    request: &Generate<T>,
    store: &dyn ObjectStore,
    message: &str,
) -> Result<Vec<WrittenObject<T>>> {
    let rows = request.tables.iter().map(|table| table.rows(request.scale)).sum();
    let bar = if io::stderr().is_terminal() {
        ProgressBar::with_draw_target(Some(rows), ProgressDrawTarget::stderr())
    } else {
        print_line(message);
        ProgressBar::hidden()
    };
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(message.to_owned());
    let advance = |advance: PartProgress<T>| bar.inc(advance.rows);
    let written = workloads::generate(request, store, &advance).await;
    bar.finish_and_clear();
    Ok(written?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is() {
        let second = Duration::from_secs(2);
        assert_eq!(words(&CounterSnapshot::default(), None, second), "running for 2.00 s");
        let counted = CounterSnapshot { get: 3, got_bytes: 40 << 20, ..CounterSnapshot::default() };
        let text = words(&counted, Some(100 << 20), second);
        let expected =
            "[========            ] 40.0 MiB of 100 MiB, 3 requests, 20.0 MiB/s, 3.00 s left";
        assert_eq!(text, expected);
        let text = words(&counted, Some(1), second);
        assert_eq!(text, "40.0 MiB, 3 requests, 20.0 MiB/s, 2.00 s");
    }
}
