//! The report: every trial, and a summary of all.

use serde_json::json;
use sluicegate_costmodel::validation::{Validation, right, validate};

use super::trial::{Cell, Choice};
use crate::args::quantity::link_words;
use crate::failure::Result;
use crate::output::grid::align;
use crate::output::listing::{ListFormat, Listing};
use crate::output::progress::print_line;

const HEADER: [&str; 16] = [
    "link",
    "latency_ms",
    "query",
    "selectivity",
    "way",
    "chosen",
    "predicted_s",
    "measured_s",
    "error_percent",
    "bound_by",
    "predicted_link_bytes",
    "link_bytes",
    "requests",
    "right",
    "runs_s",
    "ran_as",
];

pub(super) fn print(choices: &[Choice], format: ListFormat) -> Result<()> {
    let mut listing = Listing::new(&HEADER);
    for choice in choices {
        let all = choice.observed();
        let is_right = right(&all);
        for (trial, observed) in choice.ways.iter().zip(&all) {
            listing.push(vec![
                json!(link_words(choice.cell.link)),
                json!(milliseconds(choice.cell)),
                json!(choice.query),
                json!(choice.share),
                json!(trial.way),
                json!(trial.chosen()),
                json!(rounded(observed.predicted, 1e4)),
                json!(rounded(observed.measured, 1e4)),
                json!(rounded(100.0 * observed.error(), 10.0)),
                json!(trial.bound_by.map(|it| it.to_string())),
                json!(trial.predicted_link.0),
                json!(trial.link.0),
                json!(trial.requests),
                if observed.taken { json!(is_right) } else { json!(null) },
                json!(trial.runs()),
                json!(observed.strategy),
            ]);
        }
    }
    let summary = summary(choices);
    if format != ListFormat::Table {
        print_line(summary.trim_end());
    }
    listing.print(format, &summary)
}

/// Formats a line for each cell, and one for all cells.
fn summary(choices: &[Choice]) -> String {
    let mut cells: Vec<Cell> = Vec::new();
    for choice in choices {
        if !cells.contains(&choice.cell) {
            cells.push(choice.cell);
        }
    }
    let mut rows = Vec::new();
    for cell in cells {
        let within = choices.iter().filter(|choice| choice.cell == cell);
        let name = format!("{}, {} ms", link_words(cell.link), milliseconds(cell));
        rows.push(row(name, &validate(&within.map(Choice::observed).collect::<Vec<_>>())));
    }
    let all: Vec<_> = choices.iter().map(Choice::observed).collect();
    rows.push(row("all".to_owned(), &validate(&all)));
    let header = [
        "link",
        "ways",
        "choices",
        "mean error",
        "median",
        "p90",
        "link-bound",
        "rank corr.",
        "right",
        "alike",
        "mean regret",
        "worst",
    ];
    format!(
        "{}\nErrors are of predicted (modelled) against measured seconds, the median of the runs; link-bound: where the\n\
         link is predicted to bind. Right: what `auto` chose is within 5 % of the fastest way, all runs of the same\n\
         choice taken together; alike: so is its own run. Regret: how many times as long that took as the fastest way.\n",
        align(&header, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], &rows)
    )
}

fn row(name: String, of: &Validation) -> Vec<String> {
    let percent = |part: f64| format!("{:.1} %", 100.0 * part);
    vec![
        name,
        of.strategies.to_string(),
        of.choices.to_string(),
        percent(of.mean_error),
        percent(of.median_error),
        percent(of.p90_error),
        of.link_bound_error.map_or_else(|| "-".to_owned(), percent),
        of.rank_correlation.map_or_else(|| "-".to_owned(), |it| format!("{it:.3}")),
        percent(of.right),
        percent(of.alike),
        format!("{:.3}", of.mean_regret),
        format!("{:.2}", of.worst_regret),
    ]
}

fn milliseconds(cell: Cell) -> f64 {
    rounded(cell.latency.as_secs_f64() * 1e3, 1e3)
}

fn rounded(number: f64, places: f64) -> f64 {
    (number * places).round() / places
}
