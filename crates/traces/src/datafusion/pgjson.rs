//! Reads plans in the JSON that tools for PostgreSQL read.

use serde_json::Value;

use super::metrics::{Metrics, Unit};
use super::plan::Node;
use super::printed_plan::Line;
use crate::json;

/// Reads a plan.
///
/// # Errors
///
/// If it is not such JSON, was printed with `VERBOSE`, or has an invalid number. The error names the operator and the
/// field.
pub(super) fn plan(lines: &[Line<'_>]) -> Result<Node, String> {
    // Pad with empty lines, so that errors have the line numbers of the file.
    let above = lines.first().map_or(0, |(number, _)| number.saturating_sub(1));
    let mut text = "\n".repeat(usize::try_from(above).unwrap_or(0));
    let plan: Vec<_> = lines.iter().map(|(_, line)| *line).collect();
    text.push_str(&plan.join("\n"));
    json::bound(text.as_bytes())?;
    let value: Value = json::deep(text.as_bytes())?;
    let roots = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let [root] = roots else {
        return Err(format!("has {} plans, but one is read", roots.len()));
    };
    let Some(plan) = root.get("Plan") else {
        return Err("has no `Plan`: it is not of FORMAT pgjson".to_owned());
    };
    if root.get("Duration").is_some() {
        return Err(
            "is of VERBOSE, where a metric is that of one partition: leave VERBOSE out".to_owned()
        );
    }
    let mut has_metrics = false;
    let plan = node(plan, &mut 0, &mut has_metrics)?;
    if !has_metrics {
        return Err("has no metrics: it must be of EXPLAIN (ANALYZE, FORMAT pgjson)".to_owned());
    }
    Ok(plan)
}

/// Reads an operator and its inputs. `number` counts operators from 1, from the top.
fn node(value: &Value, number: &mut u64, has_metrics: &mut bool) -> Result<Node, String> {
    *number += 1;
    let place = *number;
    let Some(kind) = value.get("Node Type").and_then(Value::as_str) else {
        return Err(format!("operator {place} has no `Node Type`"));
    };
    let at = |message: String| format!("operator {place} ({kind}), {message}");
    let mut metrics = Metrics::default();
    if let Some(time) = value.get("Actual Total Time") {
        *has_metrics = true;
        metrics.add("elapsed_compute", |unit| number_of(time, unit)).map_err(at)?;
    }
    match value.get("Extras") {
        None => {}
        Some(Value::Object(extras)) => {
            for (name, value) in extras {
                metrics.add(name, |unit| number_of(value, unit)).map_err(at)?;
            }
        }
        Some(_) => return Err(at("`Extras` is no object".to_owned())),
    }
    let details = value.get("Details").and_then(Value::as_str).unwrap_or(kind);
    let mut found = Node::new(details, metrics);
    match value.get("Plans") {
        None => {}
        Some(Value::Array(plans)) => {
            for plan in plans {
                found.inputs.push(node(plan, number, has_metrics)?);
            }
        }
        Some(_) => return Err(at("`Plans` is no list".to_owned())),
    }
    Ok(found)
}

fn number_of(value: &Value, unit: Unit) -> Result<f64, String> {
    let number = value.as_f64().ok_or_else(|| "is no number".to_owned())?;
    Ok(if unit == Unit::Time { number / 1e3 } else { number })
}
