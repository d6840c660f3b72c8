//! Plans of EXPLAIN as trees.

use arrow::array::RecordBatch;
use arrow::util::display::FormatOptions;
use unicode_width::UnicodeWidthStr;

use super::fit::{beginning, columns, cut};
use crate::failure::Result;

/// The widest line.
const WIDTH: usize = 120;
/// The most lines of a node.
const LINES: usize = 3;

/// Whether batches of this schema are plans of EXPLAIN.
pub(crate) fn is_plan(names: &[&str]) -> bool {
    names == ["plan_type", "plan"]
}

/// The plans without a frame, each under its title. For a terminal, lines have 120 columns, and what has more than
/// three of them is cut, unless all is asked for with VERBOSE; for a pipe or a file, each node has one line.
pub(crate) fn trees(batches: &[RecordBatch], for_terminal: bool) -> Result<String> {
    let columns = columns(batches, &FormatOptions::default())?;
    let [titles, plans] = columns.as_slice() else { return Ok(String::new()) };
    let is_short = |title: &String| {
        matches!(title.as_str(), "logical_plan" | "physical_plan" | "Plan with Metrics")
    };
    let width = if for_terminal { WIDTH } else { usize::MAX };
    let most = if titles.cells.iter().all(is_short) { LINES } else { usize::MAX };
    let mut text = String::new();
    let mut is_cut = false;
    for (title, plan) in titles.cells.iter().zip(&plans.cells) {
        text += &format!("{}\n", title.replace('_', " "));
        if is_drawn(plan) {
            text += &format!("{}\n", plan.trim_end());
            continue;
        }
        let (nodes, rest) = plan.split_once("\n\n").unwrap_or((plan, ""));
        for line in branches(nodes) {
            text += &wrapped(&line.first, &line.next, line.text, (width, most), &mut is_cut);
        }
        for line in rest.lines() {
            let indent: String = line.chars().take_while(|c| *c == ' ').collect();
            let next = format!("{indent}    ");
            text += &wrapped(&indent, &next, line.trim_start(), (width, most), &mut is_cut);
        }
    }
    if is_cut {
        text += "… (EXPLAIN VERBOSE or --format csv shows all)\n";
    }
    Ok(text)
}

/// Whether a plan is a drawing already, or for programs.
fn is_drawn(plan: &str) -> bool {
    plan.starts_with(['┌', '[', '{']) || plan.trim_start().starts_with("// Begin")
}

/// A node: how its first line begins, how the others do, and what it says.
struct Branch<'a> {
    first: String,
    next: String,
    text: &'a str,
}

/// The lines of a plan, which are indented by two spaces for each level, with branches to them.
fn branches(plan: &str) -> Vec<Branch<'_>> {
    let nodes: Vec<(usize, &str)> = plan
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| ((line.len() - line.trim_start().len()) / 2, line.trim()))
        .collect();
    let has_next = |from: usize, depth: usize| {
        let deeper = nodes[from + 1..].iter().find(|(other, _)| *other <= depth);
        deeper.is_some_and(|(other, _)| *other == depth)
    };
    let mut open: Vec<bool> = Vec::new();
    let mut lines = Vec::new();
    for (index, (depth, text)) in nodes.iter().enumerate() {
        open.truncate(*depth);
        open.resize(*depth, false);
        let above: String =
            open.iter().skip(1).map(|open| if *open { "│ " } else { "  " }).collect();
        let goes_on = has_next(index, *depth);
        let (first, next) = match (depth, goes_on) {
            (0, _) => (String::new(), String::new()),
            (_, true) => (format!("{above}├ "), format!("{above}│ ")),
            (_, false) => (format!("{above}└ "), format!("{above}  ")),
        };
        let has_child = nodes.get(index + 1).is_some_and(|(other, _)| other > depth);
        let below = if has_child { "│   " } else { "    " };
        lines.push(Branch { first, next: next + below, text });
        open.push(goes_on);
    }
    lines
}

/// A text in lines of a width, at most so many, broken at spaces where there are any.
fn wrapped(
    first: &str,
    next: &str,
    text: &str,
    (width, most): (usize, usize),
    is_cut: &mut bool,
) -> String {
    let mut lines = String::new();
    let mut rest = text;
    let mut count = 0;
    loop {
        count += 1;
        let start = if count == 1 { first } else { next };
        let room = width.saturating_sub(start.width()).max(20);
        lines += start;
        if rest.width() <= room {
            lines += rest;
            lines.push('\n');
            return lines;
        }
        if count == most {
            lines += &cut(rest, room);
            lines.push('\n');
            *is_cut = true;
            return lines;
        }
        let length = beginning(rest, room).len();
        let end = rest[..length].rfind(' ').filter(|at| *at > length / 3).unwrap_or(length);
        lines += rest[..end].trim_end();
        lines.push('\n');
        rest = rest[end..].trim_start();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, StringArray};

    use super::*;

    fn shown(title: &str, plan: &str) -> String {
        drawn(title, plan, true)
    }

    fn drawn(title: &str, plan: &str, for_terminal: bool) -> String {
        let column = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
        let columns = [("plan_type", column(title)), ("plan", column(plan))];
        trees(&[RecordBatch::try_from_iter(columns).unwrap()], for_terminal).unwrap()
    }

    #[test]
    fn nodes_hang_on_branches_and_decisions_follow() {
        let plan = "Join: a\n  Scan: one\n    Leaf\n  Filter: b\n    Scan: two\n\nscan of t: get\n  select: 5";
        let expected = "\
physical plan
Join: a
├ Scan: one
│ └ Leaf
└ Filter: b
  └ Scan: two
scan of t: get
  select: 5
";
        assert_eq!(shown("physical_plan", plan), expected);
    }

    #[test]
    fn no_line_is_wider_than_120_columns_and_a_node_has_three_lines() {
        let words = "word ".repeat(200);
        let word = "w".repeat(500);
        let plan = format!("{words}\n  {word}\n  {words}\n\n{words}");
        let text = shown("physical_plan", &plan);
        assert!(text.lines().all(|line| line.width() <= WIDTH), "{text}");
        assert_eq!(text.lines().count(), 1 + 4 * LINES + 1, "{text}");
        assert!(text.ends_with("shows all)\n"), "{text}");
        let verbose = shown("initial_logical_plan", &plan);
        assert!(verbose.lines().all(|line| line.width() <= WIDTH), "{verbose}");
        let letters = |text: &str| text.matches('w').count();
        assert_eq!(letters(&verbose), letters(&plan));
        // A program reads a node in one line.
        let piped = drawn("physical_plan", &plan, false);
        assert_eq!(piped.lines().count(), 1 + 4, "{piped}");
        assert_eq!(letters(&piped), letters(&plan));
    }

    #[test]
    fn drawings_stay_as_they_are() {
        let drawing = "┌───┐\n│ a │\n└───┘";
        assert_eq!(shown("physical_plan", drawing), format!("physical plan\n{drawing}\n"));
    }
}
