//! Predictions as JSON.

use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_costmodel::Flow;
use sluicegate_costmodel::uncertainty::{Interval, Sensitivity};
use sluicegate_engine::operators::switch::SwitchEstimate;

use super::prediction::{Case, Operator, QueryPrediction, StrategyPrediction, total};
use super::simulated::{Simulated, Simulation};
use crate::failure::{Failure, Result};

/// The version of the layout; it increases when a field changes its meaning or is removed.
const VERSION: u32 = 1;

pub(super) fn write(all: &[QueryPrediction]) -> Result<String> {
    let statements: Vec<_> = all.iter().map(statement).collect();
    let value = json!({ "version": VERSION, "statements": statements });
    let text = serde_json::to_string_pretty(&value);
    Ok(text.map_err(|error| Failure::new(error.to_string()))? + "\n")
}

fn statement(modelled: &QueryPrediction) -> Value {
    let cases: Vec<_> = modelled.cases.iter().map(|it| case(it, &modelled.cases[0])).collect();
    json!({
        "statement": modelled.statement,
        "objective": modelled.objective.to_string(),
        "simulation": modelled.simulation.as_ref().map(Simulation::in_words),
        "cases": cases,
    })
}

/// Returns the sum of all operators, as if they ran one after the other.
fn total_of(all: &[Operator]) -> Value {
    let (time, dollars, work) = total(all);
    json!({
        "seconds": time.as_secs_f64(),
        "dollars": dollars.0,
        "requests": work.requests.total().0,
        "link_bytes": work.link.0,
    })
}

fn case(case: &Case, here: &Case) -> Value {
    let sweeps: Vec<_> = case
        .sweeps
        .iter()
        .map(|swept| {
            let points = swept.points.iter().map(
                |point| json!({ "value": point.value, "operators": operators(&point.operators) }),
            );
            json!({ "axis": swept.sweep.axis.name(), "points": points.collect::<Vec<_>>() })
        })
        .collect();
    json!({
        "what_if": case.assumed.what_if,
        "changes_nothing": case.changes_nothing(here),
        "hardware": case.assumed.scenario.hardware.introduction(),
        "prices": case.assumed.scenario.prices.introduction(),
        "sources": case.assumed.sources,
        "operators": operators(&case.operators),
        "total": total_of(&case.operators),
        "without_pushdown": total_of(&case.fetched),
        "sweeps": sweeps,
    })
}

fn operators(all: &[Operator]) -> Vec<Value> {
    all.iter()
        .map(|operator| {
            let ways = operator
                .ways
                .iter()
                .enumerate()
                .map(|(place, it)| strategy_json(it, place == operator.taken));
            let impossible = operator
                .impossible
                .iter()
                .map(|(strategy, why)| json!({ "strategy": strategy, "reason": why }));
            json!({
                "operator": operator.operator,
                "subject": operator.subject,
                "ways": ways.collect::<Vec<_>>(),
                "impossible": impossible.collect::<Vec<_>>(),
                "sensitivity": operator.sensitivity.iter().map(constant).collect::<Vec<_>>(),
                "switch": operator.switched.as_ref().map(switch),
            })
        })
        .collect()
}

fn strategy_json(way: &StrategyPrediction, taken: bool) -> Value {
    let (numbers, likely) = (&way.numbers, &way.likely);
    let work = &numbers.work;
    let seconds = quantiles(likely.time);
    let dollars = [likely.dollars.p10, likely.dollars.p50, likely.dollars.p90].map(|it| it.0);
    json!({
        "strategy": numbers.strategy,
        "taken": taken,
        "pareto": way.is_pareto,
        "seconds": numbers.time.total().as_secs_f64(),
        "seconds_p10_p50_p90": seconds,
        "dollars": numbers.cost.total().0,
        "dollars_p10_p50_p90": dollars,
        "requests": work.requests.total().0,
        "scanned_bytes": work.scanned.0,
        "link_bytes": work.link.0,
        "bound_by": numbers.time.bound_by().map(|it| it.to_string()),
        "best_probability": likely.best,
        "expected_regret": likely.regret,
        "simulated": way.simulated.as_ref().map(simulated),
    })
}

fn quantiles(time: Interval<Duration>) -> [f64; 3] {
    [time.p10, time.p50, time.p90].map(|it| it.as_secs_f64())
}

fn simulated(it: &Simulated) -> Value {
    match it {
        Ok(runs) => json!({
            "seconds_p10_p50_p90": quantiles(runs.time),
            "refused_requests": runs.refused,
            "most_in_flight": runs.in_flight,
        }),
        Err(why) => json!({ "error": why }),
    }
}

fn switch(switched: &SwitchEstimate) -> Value {
    let flow = |flow: Flow| {
        json!({
            "sent_rows": flow.sent.0,
            "sent_bytes": flow.sent_bytes.0,
            "handled_rows": flow.handled.0,
            "handled_bytes": flow.handled_bytes.0,
        })
    };
    let demand = &switched.demand;
    json!({
        "workers": demand.workers,
        "off": flow(demand.without_switch()),
        "prune": flow(demand.with_switch()),
        "assumed": switched.assumed,
    })
}

fn constant(it: &Sensitivity) -> Value {
    json!({
        "constant": it.key,
        "value": it.value,
        "seconds_at_20_percent_less": it.less,
        "seconds_at_20_percent_more": it.more,
        "elasticity": it.elasticity,
        "total_index": it.total,
        "total_index_error": it.total_error,
    })
}
