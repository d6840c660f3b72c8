//! The progress of an evaluation on stderr.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use sluicegate_experiments::{Observer, RunEvent};

use crate::output::progress::print_line;
use crate::runtime::interrupt::stopped;

/// Shows the current command and the time left, on a terminal as one line, else as a line for each experiment.
pub(super) struct EvaluationProgress {
    bar: Option<ProgressBar>,
    /// Commands to run.
    all: usize,
    ran: usize,
    reused: usize,
    current: String,
    started: Instant,
}

impl EvaluationProgress {
    /// Begins with no commands.
    pub(super) fn new() -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, all: 0, ran: 0, reused: 0, current: String::new(), started: Instant::now() }
    }

    /// Sets the number of commands to run.
    pub(super) fn expect(&mut self, all: usize) {
        self.all = all;
        self.started = Instant::now();
    }

    /// Returns the number of commands whose output was there.
    pub(super) const fn reused(&self) -> usize {
        self.reused
    }

    /// Returns the number of commands that ran.
    pub(super) const fn ran(&self) -> usize {
        self.ran
    }

    /// Reports the end of an experiment.
    pub(super) fn ended(&self, id: &str, words: &str) {
        let line = format!("{id}: {words}");
        match &self.bar {
            Some(bar) => bar.suspend(|| print_line(&line)),
            None => print_line(&line),
        }
    }

    /// Removes the line.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn show(&self) {
        let Some(bar) = &self.bar else { return };
        let left = left(self.started.elapsed(), self.ran, self.all);
        let left =
            left.map_or_else(String::new, |left| format!(", about {} left", HumanDuration(left)));
        bar.set_message(format!("{} of {}{left}: {}", self.ran, self.all, self.current));
        bar.tick();
    }
}

/// Returns the time left, if the rest takes as long as what has run.
fn left(elapsed: Duration, ran: usize, all: usize) -> Option<Duration> {
    let (ran, rest) = (u32::try_from(ran).ok()?, u32::try_from(all.checked_sub(ran)?).ok()?);
    Some(elapsed.checked_div(ran)? * rest)
}

impl Observer for EvaluationProgress {
    fn event(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Generates(data) => self.current = format!("generates {data}"),
            RunEvent::Begins { experiment, run } => self.current = format!("{experiment} {run}"),
            RunEvent::Ended { is_reused: true } => self.reused += 1,
            RunEvent::Ended { is_reused: false } => self.ran += 1,
        }
        self.show();
    }

    fn is_stopped(&mut self) -> bool {
        stopped().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_has_run() {
        let seconds = Duration::from_secs;
        assert_eq!(left(seconds(10), 2, 6), Some(seconds(20)));
        assert_eq!(left(seconds(10), 0, 6), None);
        assert_eq!(left(seconds(10), 6, 6), Some(Duration::ZERO));
    }
}
