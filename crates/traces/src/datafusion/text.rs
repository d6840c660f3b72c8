//! Reads plans as indented lines: `FilterExec: x@0 < 3, metrics=[output_rows=2, elapsed_compute=1.20ms]`. Lines may
//! have branches in front, as drawn by `sluice sql`.

use super::metrics::{Metrics, value};
use super::plan::{MOST_DEPTH, Node};
use super::printed_plan::Line;

/// The characters of an indent.
const BRANCHES: [char; 4] = [' ', '│', '├', '└'];
const METRICS: &str = ", metrics=[";
/// The number of characters for each level.
const INDENT: usize = 2;

/// Reads a plan.
///
/// # Errors
///
/// The number of the first line that is not an operator with metrics, is not below an operator, or has an invalid
/// metric.
pub(super) fn plan(lines: &[Line<'_>]) -> Result<Node, (u64, String)> {
    // The operators from the root to the last one.
    let mut open: Vec<Node> = Vec::new();
    let mut base = 0;
    for (number, line) in lines {
        let at = |message: String| (*number, message);
        let said = line.trim_start_matches(BRANCHES);
        let spaces = line[..line.len() - said.len()].chars().count();
        if open.is_empty() {
            base = spaces;
        }
        let depth = spaces.saturating_sub(base) / INDENT;
        let is_place = spaces >= base && (spaces - base) % INDENT == 0 && depth <= open.len();
        if !is_place || (depth == 0) != open.is_empty() {
            return Err(at("is no input of the operator above it: its indent is wrong".to_owned()));
        }
        if depth > MOST_DEPTH {
            return Err(at(format!("is deeper than the {MOST_DEPTH} levels that are read")));
        }
        close(&mut open, depth);
        open.push(node(said).map_err(at)?);
    }
    close(&mut open, 1);
    open.pop().ok_or_else(|| (1, "has no plan".to_owned()))
}

/// Moves operators at this depth and below into the inputs of the operators above them.
fn close(open: &mut Vec<Node>, depth: usize) {
    while open.len() > depth {
        let Some(node) = open.pop() else { return };
        if let Some(above) = open.last_mut() {
            above.inputs.push(node);
        }
    }
}

fn node(line: &str) -> Result<Node, String> {
    let Some((details, metrics)) = line.rsplit_once(METRICS) else {
        return Err("is no operator with metrics: it must be of EXPLAIN ANALYZE".to_owned());
    };
    let Some((metrics, _)) = metrics.split_once(']') else {
        return Err("ends within the metrics of an operator".to_owned());
    };
    let mut found = Metrics::default();
    for metric in metrics.split(", ") {
        if let Some((name, text)) = metric.split_once('=') {
            found.add(name, |unit| value(text, unit))?;
        }
    }
    Ok(Node::new(details.trim_start(), found))
}
