//! Predictions as CSV: a line for each way, and for each way at each point of a sweep.

use serde_json::{Value, json};

use super::prediction::{Operator, QueryPrediction};
use crate::output::listing::{ListFormat, Listing};

const HEADER: [&str; 27] = [
    "statement",
    "case",
    "axis",
    "value",
    "operator",
    "subject",
    "strategy",
    "possible",
    "taken",
    "pareto",
    "seconds",
    "seconds_p10",
    "seconds_p50",
    "seconds_p90",
    "dollars",
    "dollars_p10",
    "dollars_p50",
    "dollars_p90",
    "requests",
    "scanned_bytes",
    "link_bytes",
    "bound_by",
    "best_probability",
    "simulated_p10",
    "simulated_p50",
    "simulated_p90",
    "simulated_refused",
];

pub(super) fn write(all: &[QueryPrediction]) -> String {
    let mut lines = Listing::new(&HEADER);
    for (number, modelled) in (1..).zip(all) {
        for case in &modelled.cases {
            let place = |axis: Value, value: Value| {
                vec![json!(number), json!(case.assumed.name()), axis, value]
            };
            operators(&mut lines, &place(Value::Null, Value::Null), &case.operators);
            for swept in &case.sweeps {
                for point in &swept.points {
                    let place = place(json!(swept.sweep.axis.name()), json!(point.value));
                    operators(&mut lines, &place, &point.operators);
                }
            }
        }
    }
    lines.text(ListFormat::Csv)
}

fn operators(lines: &mut Listing, place: &[Value], operators: &[Operator]) {
    for operator in operators {
        let start = |strategy: &str, possible: bool, taken: bool| {
            let mut row = place.to_vec();
            row.extend([json!(operator.operator), json!(operator.subject), json!(strategy)]);
            row.extend([json!(possible), json!(taken)]);
            row
        };
        for (index, way) in operator.ways.iter().enumerate() {
            let (numbers, likely) = (&way.numbers, &way.likely);
            let (time, cost, work) = (&likely.time, &likely.dollars, &numbers.work);
            let mut row = start(numbers.strategy, true, index == operator.taken);
            row.extend([
                json!(way.is_pareto),
                json!(numbers.time.total().as_secs_f64()),
                json!(time.p10.as_secs_f64()),
                json!(time.p50.as_secs_f64()),
                json!(time.p90.as_secs_f64()),
                json!(numbers.cost.total().0),
                json!(cost.p10.0),
                json!(cost.p50.0),
                json!(cost.p90.0),
                json!(work.requests.total().0),
                json!(work.scanned.0),
                json!(work.link.0),
                json!(numbers.time.bound_by().map(|it| it.to_string())),
                json!(likely.best),
            ]);
            if let Some(Ok(runs)) = &way.simulated {
                let time = [runs.time.p10, runs.time.p50, runs.time.p90];
                row.extend(time.map(|it| json!(it.as_secs_f64())));
                row.push(json!(runs.refused));
            }
            row.resize(HEADER.len(), Value::Null);
            lines.push(row);
        }
        for (strategy, _) in &operator.impossible {
            let mut row = start(strategy, false, false);
            row.resize(HEADER.len(), Value::Null);
            lines.push(row);
        }
    }
}
