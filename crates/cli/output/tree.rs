//! Plans of EXPLAIN, drawn as trees.

use arrow::array::RecordBatch;
use arrow::util::display::FormatOptions;
use unicode_width::UnicodeWidthStr;

use super::fit::{beginning, columns, cut};
use crate::failure::Result;

/// The greatest width of a line, in columns.
const WIDTH: usize = 120;
/// The maximum number of lines of a node.
const LINES: usize = 3;

/// Returns true if batches with these columns are plans of EXPLAIN.
pub(crate) fn is_plan(names: &[&str]) -> bool {
    names == ["plan_type", "plan"]
}

/// Formats plans without a frame, each below its title. On a terminal, lines fit its width and 120 columns, and a
/// node has at most three lines unless EXPLAIN is VERBOSE. In a pipe or a file, each node has one line.
pub(crate) fn trees(batches: &[RecordBatch], terminal: Option<usize>) -> Result<String> {
    let columns = columns(batches, &FormatOptions::default())?;
    let [titles, plans] = columns.as_slice() else { return Ok(String::new()) };
    let is_short = |title: &String| {
        matches!(title.as_str(), "logical_plan" | "physical_plan" | "Plan with Metrics")
    };
    let most = if titles.cells.iter().all(is_short) { LINES } else { usize::MAX };
    let mut lines = Lines::new(terminal, most);
    for (title, plan) in titles.cells.iter().zip(&plans.cells) {
        lines.text += &format!("{}\n", title.replace('_', " "));
        if is_drawn(plan) {
            lines.text += &format!("{}\n", plan.trim_end());
            continue;
        }
        let (nodes, rest) = plan.split_once("\n\n").unwrap_or((plan, ""));
        lines.plan(nodes);
        lines.indented(rest);
    }
    if lines.are_cut {
        lines.text += "… (EXPLAIN VERBOSE or --format csv shows all)\n";
    }
    Ok(lines.text)
}

/// Draws an indented plan as a tree for a terminal of this width, followed by notes.
pub(crate) fn tree(plan: &str, said: &str, width: usize) -> String {
    let mut lines = Lines::new(Some(width), LINES);
    lines.plan(plan);
    lines.text.push('\n');
    lines.indented(said);
    if lines.are_cut {
        lines.text += "… (a pipe or a file gets all)\n";
    }
    lines.text
}

/// Text whose lines fit the terminal.
struct Lines {
    text: String,
    width: usize,
    /// The maximum number of lines of a node.
    most: usize,
    are_cut: bool,
}

impl Lines {
    fn new(terminal: Option<usize>, most: usize) -> Self {
        let width = terminal.map_or(usize::MAX, |width| width.min(WIDTH));
        Self { text: String::new(), width, most, are_cut: false }
    }

    /// Adds a plan as a tree.
    fn plan(&mut self, plan: &str) {
        for line in branches(plan) {
            self.wrapped(&line.first, &line.next, line.text);
        }
    }

    /// Adds lines. Their continuations are indented further.
    fn indented(&mut self, text: &str) {
        for line in text.lines() {
            let indent: String = line.chars().take_while(|c| *c == ' ').collect();
            let next = format!("{indent}    ");
            self.wrapped(&indent, &next, line.trim_start());
        }
    }

    /// Adds a text, wrapped at spaces if possible.
    fn wrapped(&mut self, first: &str, next: &str, text: &str) {
        let mut rest = text;
        let mut count = 0;
        loop {
            count += 1;
            let start = if count == 1 { first } else { next };
            let room = self.width.saturating_sub(start.width()).max(20);
            self.text += start;
            if rest.width() <= room {
                self.text += rest;
                self.text.push('\n');
                return;
            }
            if count == self.most {
                self.text += &cut(rest, room);
                self.text.push('\n');
                self.are_cut = true;
                return;
            }
            let length = beginning(rest, room).len();
            let end = rest[..length].rfind(' ').filter(|at| *at > length / 3).unwrap_or(length);
            self.text += rest[..end].trim_end();
            self.text.push('\n');
            rest = rest[end..].trim_start();
        }
    }
}

/// Returns true if a plan is a drawing already, or has a format for programs.
fn is_drawn(plan: &str) -> bool {
    plan.starts_with(['┌', '[', '{']) || plan.trim_start().starts_with("// Begin")
}

/// A node: the prefixes of its first and of its other lines, and its text.
struct Branch<'a> {
    first: String,
    next: String,
    text: &'a str,
}

/// Replaces the indentation of a plan, two spaces for each level, by branches.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, StringArray};

    use super::*;

    fn shown(title: &str, plan: &str) -> String {
        drawn(title, plan, Some(200))
    }

    fn drawn(title: &str, plan: &str, terminal: Option<usize>) -> String {
        let column = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
        let columns = [("plan_type", column(title)), ("plan", column(plan))];
        trees(&[RecordBatch::try_from_iter(columns).unwrap()], terminal).unwrap()
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
        let narrow = drawn("physical_plan", &plan, Some(70));
        assert!(narrow.lines().all(|line| line.width() <= 70), "{narrow}");
        // A program reads a node in one line.
        let piped = drawn("physical_plan", &plan, None);
        assert_eq!(piped.lines().count(), 1 + 4, "{piped}");
        assert_eq!(letters(&piped), letters(&plan));
    }

    #[test]
    fn what_is_said_of_a_plan_follows_its_tree() {
        let said = "scan of t\n  * get    1 request\n    note ".to_owned() + &"word ".repeat(30);
        let text = tree("Join\n  Scan: one\n  Scan: two\n", &said, 60);
        let head =
            "Join\n├ Scan: one\n└ Scan: two\n\nscan of t\n  * get    1 request\n    note word";
        assert!(text.starts_with(head) && text.contains("\n        word word"), "{text}");
        assert!(text.lines().all(|line| line.width() <= 60) && !text.contains('…'), "{text}");
        let cut = tree(&"word ".repeat(200), "", 60);
        assert!(cut.ends_with("… (a pipe or a file gets all)\n"), "{cut}");
    }

    #[test]
    fn drawings_stay_as_they_are() {
        let drawing = "┌───┐\n│ a │\n└───┘";
        assert_eq!(shown("physical_plan", drawing), format!("physical plan\n{drawing}\n"));
    }
}
