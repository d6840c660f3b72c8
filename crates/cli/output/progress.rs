//! Progress of long work, on stderr.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use object_store::ObjectStore;
use sluicegate_workloads::{self as workloads, Advance, DataTable, Generate, WrittenObject};

use crate::failure::Result;
use crate::output::visible::visible;

const TEMPLATE: &str = "{msg} [{bar:30}] {percent}% of {len} rows, {elapsed} (eta {eta})";

/// Writes a message for the user to stderr.
pub(crate) fn say(text: &str) {
    // If stderr is closed, the message is lost.
    drop(writeln!(io::stderr(), "{}", visible(text)));
}

/// A bar for work of so many steps, if stderr is a terminal.
#[derive(Debug)]
pub(crate) struct Steps {
    bar: ProgressBar,
}

impl Steps {
    /// No step has begun.
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

    /// A step has begun, counted from 1.
    pub(crate) fn at(&self, step: usize) {
        self.bar.set_position(step as u64);
    }

    /// Removes the bar.
    pub(crate) fn done(&self) {
        self.bar.finish_and_clear();
    }
}

/// A bar for work of so many bytes; a line on stderr if that is no terminal.
#[derive(Debug)]
pub(crate) struct Amount {
    bar: ProgressBar,
}

impl Amount {
    /// Nothing is done yet.
    pub(crate) fn new(bytes: u64, message: &str) -> Self {
        let bar = if io::stderr().is_terminal() {
            ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr())
        } else {
            say(message);
            ProgressBar::hidden()
        };
        let template = "{msg} [{bar:30}] {bytes} of {total_bytes}, {elapsed} (eta {eta})";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(message.to_owned());
        Self { bar }
    }

    /// So many bytes of so many are done.
    pub(crate) fn at(&self, bytes: u64, of: u64) {
        self.bar.set_length(of);
        self.bar.set_position(bytes.min(of));
    }

    /// So many more bytes are done.
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
        say(message);
        ProgressBar::hidden()
    };
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(message.to_owned());
    let advance = |advance: Advance<T>| bar.inc(advance.rows);
    let written = workloads::generate(request, store, &advance).await;
    bar.finish_and_clear();
    Ok(written?)
}
