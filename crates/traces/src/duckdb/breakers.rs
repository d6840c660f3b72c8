//! Classifies DuckDB's operators by whether they end a pipeline (`Sink`s of its physical plans).

use serde_json::Value;
use sluicegate_costmodel::storage::OperatorKind;

use crate::plan::{Input, Operator, Work};

/// Operators that consume their whole input before they return a row.
const GATHER: [&str; 12] = [
    "HASH_GROUP_BY",
    "PERFECT_HASH_GROUP_BY",
    "PARTITIONED_AGGREGATE",
    "UNGROUPED_AGGREGATE",
    "SIMPLE_AGGREGATE",
    "ORDER_BY",
    "TOP_N",
    "WINDOW",
    "LIMIT",
    "LIMIT_PERCENT",
    "RESERVOIR_SAMPLE",
    "DISTINCT",
];

/// Joins that read their second input before the first.
const BUILD: [&str; 6] = [
    "HASH_JOIN",
    "CROSS_PRODUCT",
    "NESTED_LOOP_JOIN",
    "BLOCKWISE_NL_JOIN",
    "PIECEWISE_MERGE_JOIN",
    "POSITIONAL_JOIN",
];

/// Joins that sort both inputs.
const SORT_BOTH: [&str; 2] = ["IE_JOIN", "ASOF_JOIN"];

/// Table functions that read nothing from storage.
const NO_STORAGE: [&str; 6] =
    ["RANGE", "GENERATE_SERIES", "REPEAT", "UNNEST", "PANDAS_SCAN", "ARROW_SCAN"];

/// Classifies an operator without inputs, by its type and `extra_info`.
pub(super) fn work(kind: &str, info: &Value) -> Work {
    match kind {
        "TABLE_SCAN" => {
            let function = info.get("Function").and_then(Value::as_str).unwrap_or_default();
            if NO_STORAGE.contains(&function) { Work::Other } else { Work::Scan }
        }
        "FILTER" | "PROJECTION" => Work::FilterProject,
        "RESULT_COLLECTOR" | "EXPLAIN_ANALYZE" => Work::HandsOn,
        _ => Work::Other,
    }
}

/// Returns the kind of an operator in counts.
pub(super) fn counted(kind: &str, work: Work) -> Option<OperatorKind> {
    Some(match kind {
        _ if work == Work::Scan => OperatorKind::Scan,
        _ if work == Work::HandsOn => return None,
        "FILTER" => OperatorKind::Filter,
        "PROJECTION" => OperatorKind::Project,
        "ORDER_BY" | "TOP_N" => OperatorKind::Sort,
        "WINDOW" | "STREAMING_WINDOW" => OperatorKind::Window,
        "UNION" => OperatorKind::Union,
        "LIMIT" | "LIMIT_PERCENT" | "STREAMING_LIMIT" => OperatorKind::Limit,
        "DISTINCT" => OperatorKind::Aggregate,
        "CROSS_PRODUCT" => OperatorKind::Join,
        kind if kind.ends_with("GROUP_BY") || kind.ends_with("AGGREGATE") => {
            OperatorKind::Aggregate
        }
        kind if kind.ends_with("_JOIN") => OperatorKind::Join,
        _ => OperatorKind::Other,
    })
}

pub(super) fn gathers(kind: &str) -> bool {
    GATHER.contains(&kind)
}

/// Returns the inputs of an operator, with the way it reads them.
pub(super) fn inputs(kind: &str, info: &Value, children: Vec<Operator>) -> Vec<Input> {
    if kind.ends_with("_DELIM_JOIN") {
        return delim_join(info, children);
    }
    let wanted = |place: usize| match kind {
        "CTE" | "RECURSIVE_CTE" => place == 0,
        _ => SORT_BOTH.contains(&kind) || (place == 1 && BUILD.contains(&kind)),
    };
    let label = |place: usize| match kind {
        "CTE" if place == 0 => index(info, "Table Index").map(cte),
        _ => None,
    };
    // A delim join has a placeholder for the rows that it keeps, which never runs.
    let has_others = children.len() > 1;
    let is_input = |operator: &Operator| {
        !(has_others && operator.title == "DUMMY_SCAN" && operator.seconds <= 0.0)
    };
    let children = children.into_iter().enumerate().filter(|(_, operator)| is_input(operator));
    let input = |(place, operator)| Input { operator, first: wanted(place), label: label(place) };
    children.map(input).collect()
}

/// Returns the inputs of a delim join. It keeps the rows of its first input. Its last input finds the distinct values
/// among them, which the scans in the inner join read.
fn delim_join(info: &Value, children: Vec<Operator>) -> Vec<Input> {
    let mut children = children.into_iter();
    let index = index(info, "Delim Index");
    let mut inputs: Vec<_> = children.next().map(Input::first).into_iter().collect();
    let others: Vec<_> = children.collect();
    let last = others.len().saturating_sub(1);
    for (place, mut operator) in others.into_iter().enumerate() {
        if place < last || last == 0 {
            inputs.push(Input::streamed(operator));
            continue;
        }
        operator.takes = index.as_deref().map(kept);
        inputs.push(Input { label: index.as_deref().map(delim), ..Input::first(operator) });
    }
    if let (Some(rows), Some(index)) = (inputs.first_mut(), &index) {
        rows.label = Some(kept(index));
    }
    inputs
}

/// Returns the label of the rows in another part of the plan that an operator reads.
pub(super) fn takes(kind: &str, info: &Value) -> Option<String> {
    match kind {
        "CTE_SCAN" => index(info, "CTE Index").map(cte),
        "DELIM_SCAN" => index(info, "Delim Index").map(|it| delim(&it)),
        _ => None,
    }
}

fn index(info: &Value, key: &str) -> Option<String> {
    match info.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn cte(index: String) -> String {
    format!("expression {index}")
}

fn kept(index: &str) -> String {
    format!("rows {index}")
}

fn delim(index: &str) -> String {
    format!("values {index}")
}
