//! Parses a profile of any version.

use serde_json::Value;

use super::breakers::{counted, gathers, inputs, takes, work};
use crate::plan::{Input, Operator, Work, amount};

/// The keys that differ between versions.
struct Layout {
    kind: &'static str,
    seconds: &'static str,
    result_bytes: &'static str,
}

const V1: Layout =
    Layout { kind: "operator_type", seconds: "operator_timing", result_bytes: "result_set_size" };
const V2: Layout =
    Layout { kind: "type", seconds: "timing", result_bytes: "intermediate_size_bytes" };

/// The query in a profile.
#[derive(Debug)]
pub(super) struct Profile {
    pub(super) sql: String,
    /// The wall time of the query in seconds; 0 if unknown.
    pub(super) seconds: f64,
    /// The bytes that it read; 0 if unknown.
    read_bytes: f64,
    /// True if `read_bytes` includes all bytes, whatever they were read from.
    counts_all: bool,
    pub(super) plan: Operator,
}

impl Profile {
    /// Parses a profile.
    ///
    /// # Errors
    ///
    /// If it is not a profile, is of an unsupported version, or has an invalid number. The error names the field.
    pub(super) fn from_json(value: &Value) -> Result<Self, String> {
        let (layout, roots) = layout(value)?;
        let [root] = roots.as_slice() else {
            return Err(format!("has {} plans, but a profile has one", roots.len()));
        };
        let is_v2 = layout.kind == V2.kind;
        let (sql, seconds, read) = if is_v2 {
            let query = &value["query"];
            (&query["sql"], &query["total_time"], &value["io"]["total_bytes_read"])
        } else {
            (&value["query_name"], &value["latency"], &value["total_bytes_read"])
        };
        let (seconds_name, read_name) = if is_v2 {
            ("query.total_time", "io.total_bytes_read")
        } else {
            ("latency", "total_bytes_read")
        };
        let mut number = 0;
        let plan = operator(root, &layout, &mut number)?;
        Ok(Self {
            sql: sql.as_str().unwrap_or_default().to_owned(),
            seconds: optional(seconds, seconds_name)?,
            read_bytes: optional(read, read_name)?,
            counts_all: is_v2,
            plan: without_frame(plan),
        })
    }

    /// Divides the bytes read among scans by their time, if they have no counts of their own. Returns a description
    /// of the result.
    pub(super) fn share_read_bytes(&mut self) -> String {
        let (mut known, mut seconds) = (0.0, 0.0);
        visit(&mut self.plan, &mut |scan| {
            known += scan.read_bytes;
            seconds += scan.seconds;
        });
        let words = if known > 0.0 {
            "bytes read are those that operators name"
        } else if self.read_bytes > 0.0 && seconds > 0.0 {
            let all = self.read_bytes;
            visit(&mut self.plan, &mut |scan| scan.read_bytes = all * (scan.seconds / seconds));
            "bytes read are those of the query, shared among its scans by their time"
        } else {
            "the profile does not say how many bytes were read"
        };
        let doubt = if self.counts_all {
            ""
        } else {
            "; DuckDB 1 does not count most of what it reads from local files"
        };
        format!("{words}{doubt}")
    }
}

fn visit(operator: &mut Operator, change: &mut impl FnMut(&mut Operator)) {
    if operator.work == Work::Scan {
        change(operator);
    }
    for input in &mut operator.inputs {
        visit(&mut input.operator, change);
    }
}

/// Detects the version of a profile, and returns its plans.
fn layout(value: &Value) -> Result<(Layout, Vec<&Value>), String> {
    let list = |key: &str| value.get(key).and_then(Value::as_array);
    let first_has = |key: &str| {
        let first = list("children").and_then(|it| it.first());
        first.is_some_and(|it| it.get(key).is_some())
    };
    if let Some(operators) = list("operator") {
        return Ok((V2, operators.iter().collect()));
    }
    if first_has("operator_type") {
        return Ok((V1, list("children").into_iter().flatten().collect()));
    }
    if first_has("name") && first_has("timing") {
        return Err(
            "is a profile of DuckDB 1.0 or before (operators have a `name` and a `timing`), but \
                    those of 1.1 and later are read"
                .to_owned(),
        );
    }
    if value.as_array().and_then(|it| it.first()).is_some_and(|it| it.get("children").is_some()) {
        return Err("is a plan that did not run: take EXPLAIN (ANALYZE, FORMAT json)".to_owned());
    }
    Err("is no profile of DuckDB: it has neither `operator` (2.0) nor `children` with an \
         `operator_type` (1.1 and later)"
        .to_owned())
}

/// Reads an operator and its inputs. `number` counts operators from 1, from the top.
fn operator(value: &Value, layout: &Layout, number: &mut u64) -> Result<Operator, String> {
    *number += 1;
    let place = *number;
    let Some(kind) = value.get(layout.kind).and_then(Value::as_str) else {
        return Err(format!("operator {place} has no `{}`", layout.kind));
    };
    let kind = kind.trim();
    let at = |message: String| format!("operator {place} ({kind}), {message}");
    let Some(seconds) = value.get(layout.seconds) else {
        return Err(at(format!("`{}` is not there: its metric must be enabled", layout.seconds)));
    };
    if !seconds.is_number() {
        return Err(at(format!("`{}` is no number", layout.seconds)));
    }
    let seconds = optional(seconds, layout.seconds).map_err(at)?;
    let result_bytes = optional(&value[layout.result_bytes], layout.result_bytes).map_err(at)?;
    let read_bytes = optional(&value["total_bytes_read"], "total_bytes_read").map_err(at)?;
    let mut children = Vec::new();
    match value.get("children") {
        None | Some(Value::Null) => {}
        Some(Value::Array(values)) => {
            for child in values {
                children.push(operator(child, layout, number)?);
            }
        }
        Some(_) => return Err(at("`children` is no list".to_owned())),
    }
    let info = &value["extra_info"];
    let work = if children.is_empty() { work(kind, info) } else { work_above(kind) };
    Ok(Operator {
        title: title(kind, work, value),
        is_minor: work == Work::HandsOn || kind == "PROJECTION",
        work,
        kind: counted(kind, work),
        seconds,
        read_bytes,
        result_bytes,
        gathers: gathers(kind),
        inputs: inputs(kind, info, children),
        takes: takes(kind, info),
    })
}

/// Classifies an operator with inputs.
fn work_above(kind: &str) -> Work {
    match work(kind, &Value::Null) {
        Work::Scan => Work::Other,
        work => work,
    }
}

/// Returns the title of an operator: for a scan, the table, file or function.
fn title(kind: &str, work: Work, value: &Value) -> String {
    if work != Work::Scan {
        return kind.to_owned();
    }
    let info = &value["extra_info"];
    let names = ["Table", "Filename(s)"].map(|key| info.get(key).and_then(Value::as_str));
    let own = value.get("operator_name").and_then(Value::as_str).map(str::trim);
    let function = info.get("Function").and_then(Value::as_str);
    let name = names.into_iter().flatten().next().or(own).or(function);
    name.unwrap_or(kind).to_owned()
}

/// Removes the operators that output the answer from the plan. Their time counts in the last stage, but not for a
/// scan or filter.
fn without_frame(mut plan: Operator) -> Operator {
    let mut seconds = 0.0;
    while plan.work == Work::HandsOn && plan.inputs.len() == 1 {
        seconds += plan.seconds;
        if let Some(input) = plan.inputs.pop() {
            plan = input.operator;
        }
    }
    if plan.gathers {
        plan.seconds += seconds;
        return plan;
    }
    Operator {
        title: plan.title.clone(),
        is_minor: true,
        work: Work::HandsOn,
        kind: None,
        seconds,
        read_bytes: 0.0,
        result_bytes: plan.result_bytes,
        gathers: false,
        inputs: vec![Input::streamed(plan)],
        takes: None,
    }
}

/// Parses a number that may be missing.
fn optional(value: &Value, name: &str) -> Result<f64, String> {
    match value {
        Value::Null => Ok(0.0),
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            amount(number).map_err(|message| format!("`{name}` {message}"))
        }
        _ => Err(format!("`{name}` is no number")),
    }
}
