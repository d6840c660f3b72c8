//! A statement's section of a page.

use sluicegate_costmodel::{Cost, Work};
use sluicegate_engine::choice::Decision;
use sluicegate_engine::plan_graph::PlanGraph;
use sluicegate_engine::timeline::RequestLog;

use super::bill::bill;
use super::plan_graph::GraphDrawing;
use super::{requests, strategies};
use crate::output::stats::{rows_words, seconds};
use sluicegate_experiments::Markup as Html;

/// The maximum number of lines and characters of a statement before it is folded.
const SHOWN: (usize, usize) = (14, 900);

/// A statement with its plan, numbers and notes.
#[derive(Debug, Default)]
pub(crate) struct Section {
    /// The text of the statement.
    pub(crate) statement: String,
    /// True if the statement only defines a name or sets an option.
    pub(crate) is_definition: bool,
    /// The picture of its plan.
    pub(crate) picture: PlanGraph,
    /// The decisions about its operators.
    pub(crate) decisions: Vec<Decision>,
    /// The plan as text.
    pub(crate) plan: String,
    /// The predicted numbers, or the counted ones if it ran.
    pub(crate) numbers: Option<Numbers>,
    /// Warnings and other notes for the user.
    pub(crate) notes: Vec<String>,
    /// The message and the hint, if the statement failed.
    pub(crate) failure: Option<(String, Option<String>)>,
    /// The prediction of a statement that ran.
    pub(crate) predicted: Option<(Work, Cost)>,
    /// The time of each request, if it ran.
    pub(crate) recorded: Option<RequestLog>,
    /// The number of rows of its answer, if it is complete.
    pub(crate) rows: Option<u64>,
}

/// The work and cost of a statement.
#[derive(Debug, Clone)]
pub(crate) struct Numbers {
    /// Requests, bytes and times; `wall` is the statement's time.
    pub(crate) work: Work,
    /// Dollars by kind of cost.
    pub(crate) cost: Cost,
    /// Name, region and date of the price book.
    pub(crate) prices: String,
    /// True if the numbers are counted and measured, false if they are predicted.
    pub(crate) has_run: bool,
}

impl Section {
    /// Writes the section of statement `number` out of `of`.
    pub(super) fn write(&self, html: &mut Html, (number, of): (usize, usize)) {
        html.raw("<section>");
        if of > 1 {
            html.raw("<h2>Statement ").text(number).raw(" of ").text(of).raw("</h2>");
        }
        statement(html, &self.statement);
        if let Some((message, hint)) = &self.failure {
            html.raw("<p class=\"failure\"><b>It failed:</b> ").text(message);
            if let Some(hint) = hint {
                html.raw("<br><b>Hint:</b> ").text(hint);
            }
            html.raw("</p>");
        }
        if let Some(numbers) = &self.numbers {
            tiles(html, numbers, self.predicted.as_ref());
        }
        for note in &self.notes {
            html.raw("<p class=\"note\">").text(note).raw("</p>");
        }
        let answer = self.rows.map(rows_words).unwrap_or_default();
        let (picture, decisions) = (&self.picture, self.decisions.as_slice());
        GraphDrawing { picture, decisions, answer: &answer }.draw(html);
        if let Some(recorded) = &self.recorded {
            requests::timeline(html, recorded);
        }
        self.others(html);
        if let Some(numbers) = &self.numbers {
            let how = match numbers.has_run {
                true => "Counted requests and bytes, and measured time",
                false => "Modelled",
            };
            bill(html, &numbers.cost, &numbers.prices, how);
        }
        if !self.plan.is_empty() {
            html.raw("<details class=\"plan\"><summary>The whole plan</summary><pre>");
            html.text(&self.plan).raw("</pre></details>");
        }
        html.raw("</section>");
    }

    /// Writes the decisions that belong to no scan of the picture.
    fn others(&self, html: &mut Html) {
        let drawn = |index| self.picture.operators.iter().any(|it| it.decision == Some(index));
        let mut others =
            self.decisions.iter().enumerate().filter(|(index, _)| !drawn(*index)).peekable();
        if others.peek().is_none() {
            return;
        }
        html.raw("<h3>What else was considered</h3><div class=\"others\">");
        for (_, decision) in others {
            html.raw("<div class=\"other\"><p><b>").text(decision.operator).raw("</b> of <code>");
            html.text(&decision.subject).raw("</code></p>");
            strategies::table(html, decision);
            html.raw("</div>");
        }
        html.raw("</div>");
    }
}

/// Writes consecutive statements that only define names or set options: a summary, and the statements folded behind
/// it. `number` is that of the first, out of `of`.
pub(super) fn definitions(html: &mut Html, all: &[Section], (number, of): (usize, usize)) {
    html.raw("<section class=\"definitions\"><details><summary>");
    match all.len() {
        1 => html.raw("Statement ").text(number).raw(" of ").text(of).raw(" defines a name"),
        some => {
            html.raw("Statements ").text(number).raw(" to ").text(number + some - 1);
            html.raw(" of ").text(of).raw(" define names")
        }
    };
    html.raw(" or ").raw(if all.len() == 1 { "sets an option" } else { "set options" });
    html.raw(" and took effect");
    let counted: Vec<_> = all.iter().filter_map(|section| section.numbers.as_ref()).collect();
    if !counted.is_empty() {
        let work: Work = counted.iter().map(|numbers| numbers.work).sum();
        let cost: Cost = counted.iter().map(|numbers| numbers.cost).sum();
        html.raw(": ").text(work.requests.total().in_words()).raw(", ").text(work.link);
        html.raw(" over the link, ").text(seconds(work.wall)).raw(", ").text(cost.total());
    }
    html.raw("</summary>");
    for section in all {
        statement(html, &section.statement);
    }
    html.raw("</details></section>");
}

/// Writes the text of a statement. If it is long, only its beginning is shown until the reader opens it.
fn statement(html: &mut Html, text: &str) {
    let (lines, characters) = SHOWN;
    let by_lines = text.match_indices('\n').nth(lines - 1).map(|(at, _)| at);
    let by_characters = text.char_indices().nth(characters).map(|(at, _)| at);
    match by_lines.into_iter().chain(by_characters).min() {
        None => html.raw("<pre class=\"sql\">").text(text).raw("</pre>"),
        Some(end) => {
            html.raw("<pre class=\"sql\">").text(&text[..end]).raw("…</pre>");
            html.raw("<details><summary>The whole statement</summary><pre class=\"sql\">");
            html.text(text).raw("</pre></details>")
        }
    };
}

fn tiles(html: &mut Html, numbers: &Numbers, predicted: Option<&(Work, Cost)>) {
    let (measured, counted) = match numbers.has_run {
        true => ("measured", "counted"),
        false => ("modelled, one scan after the other", "modelled"),
    };
    let of = |work: &Work, cost: &Cost| {
        [
            ("Time", seconds(work.wall), measured),
            ("Cost", cost.total().to_string(), counted),
            ("Requests", work.requests.total().to_string(), counted),
            ("Scanned by the store", work.scanned.to_string(), counted),
            ("Over the link", work.link.to_string(), counted),
        ]
    };
    let predicted = predicted.map(|(work, cost)| of(work, cost));
    html.raw("<dl class=\"tiles\">");
    for (index, (name, value, how)) in of(&numbers.work, &numbers.cost).into_iter().enumerate() {
        html.raw("<div><dt>").raw(name).raw("<dd>").text(value).raw("<small>").raw(how);
        if let Some(predicted) = &predicted {
            html.raw("; predicted ").text(&predicted[index].1);
        }
        html.raw("</small></div>");
    }
    html.raw("</dl>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_statement_is_shortened_and_whole_where_it_is_asked_for() {
        let shown = |text: &str| {
            let mut html = Html::default();
            statement(&mut html, text);
            html.as_str().to_owned()
        };
        assert_eq!(shown("SELECT 1"), "<pre class=\"sql\">SELECT 1</pre>");
        for long in ["x\n".repeat(30), "é".repeat(2000)] {
            let html = shown(&long);
            assert!(html.contains("…</pre><details>") && html.contains(&long), "{html}");
        }
    }
}
