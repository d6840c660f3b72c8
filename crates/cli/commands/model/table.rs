//! Predictions as text for readers.

use std::time::Duration;

use sluicegate_costmodel::uncertainty::{Interval, Output};
use sluicegate_costmodel::what_if::Axis;
use sluicegate_costmodel::{ALIKE, Dollars, Flow, Objective, SwitchDemand};
use sluicegate_engine::operators::switch::SwitchEstimate;

use super::chart;
use super::prediction::{AxisPrediction, Case, Operator, QueryPrediction, at, strategies, total};
use crate::output::constant::in_words;
use crate::output::escape::visible;
use crate::output::grid::align;
use crate::output::stats;

/// The maximum number of constants in the line of sensitivities.
const MOST_CONSTANTS: usize = 5;

pub(super) fn write(all: &[QueryPrediction], colour: bool) -> String {
    let mut text = String::new();
    for (place, modelled) in all.iter().enumerate() {
        if place > 0 {
            text.push('\n');
        }
        if all.len() > 1 {
            text += &format!("{}\n\n", visible(&modelled.statement));
        }
        for (place, case) in modelled.cases.iter().enumerate() {
            if place > 0 {
                text.push('\n');
            }
            text += &self::case(modelled, case, colour);
        }
    }
    text
}

fn case(modelled: &QueryPrediction, case: &Case, colour: bool) -> String {
    let scenario = &case.assumed.scenario;
    let mut text = format!(
        "{} (modelled: hardware {}, prices {}, best by {})\n",
        case.assumed.name(),
        scenario.hardware.introduction(),
        stats::book(&scenario.prices),
        modelled.objective,
    );
    if let Some(simulation) = &modelled.simulation {
        text += &format!("  {}\n", simulation.in_words());
    }
    for source in &case.assumed.sources {
        text += &format!("  source: {source}\n");
    }
    if case.assumed.switch.is_some() && case.operators.iter().any(|it| it.switched.is_some()) {
        text += "  groups and best rows are left to the workers, whose rows cross the switch (`filtered`)\n";
    }
    for operator in &case.operators {
        text += &format!(
            "\n{} of {}\n{}{}{}{}",
            operator.operator,
            visible(&operator.subject),
            strategy_rows(operator),
            between_workers(operator),
            simulated(operator),
            constants(operator)
        );
    }
    if case.operators.is_empty() {
        return text
            + "\nno operator of the query reads a table of the store: there is nothing to choose\n";
    }
    if case.changes_nothing(&modelled.cases[0]) {
        text += "\nnothing that it changes matters to a way of this query: all numbers are as they are\n";
    }
    let (time, dollars, work) = total(&case.operators);
    text += &format!(
        "\nthe query: {}, {dollars}, {}, {} over the link, if its operators run one after the other\n",
        stats::seconds(time),
        work.requests.total().in_words(),
        work.link,
    );
    text += &without_pushdown(&case.fetched, (time, dollars));
    if modelled.objective == Objective::Time {
        text += &format!(
            "`*` is the cheapest way of those that take at most {:.0} % longer than the fastest\n",
            100.0 * ALIKE
        );
    }
    for swept in &case.sweeps {
        for place in 0..case.operators.len() {
            text += &along(swept, modelled.objective, case, place, colour);
        }
    }
    text
}

/// Compares the query with one that fetches everything by GET.
fn without_pushdown(fetched: &[Operator], (time, dollars): (Duration, Dollars)) -> String {
    let (fetched_time, fetched_dollars, work) = total(fetched);
    let part = |taken: f64, of: f64| match 100.0 * (1.0 - taken / of) {
        saved if saved.round() > 0.0 => format!("{saved:.0} % less"),
        saved if saved.round() < 0.0 => format!("{:.0} % more", -saved),
        _ => "the same".to_owned(),
    };
    let (less_time, less_dollars) =
        (part(time.as_secs_f64(), fetched_time.as_secs_f64()), part(dollars.0, fetched_dollars.0));
    format!(
        "without pushdown, all fetched by GET: {}, {fetched_dollars}, {}, {} over the link; what is taken takes \
         {less_time} time, and costs {less_dollars}\n",
        stats::seconds(fetched_time),
        work.requests.total().in_words(),
        work.link,
    )
}

fn strategy_rows(operator: &Operator) -> String {
    let header = [
        "",
        "way",
        "time",
        "p10–p90",
        "dollars",
        "p10–p90",
        "requests",
        "link",
        "bound by",
        "best",
    ];
    let mut rows = Vec::new();
    for (place, way) in operator.ways.iter().enumerate() {
        let numbers = &way.numbers;
        let mark = match (place == operator.taken, way.is_pareto) {
            (true, true) => "*+",
            (true, false) => "*",
            (false, true) => " +",
            (false, false) => "",
        };
        rows.push(vec![
            mark.to_owned(),
            numbers.strategy.to_owned(),
            stats::seconds(numbers.time.total()),
            span(way.likely.time, seconds),
            numbers.cost.total().to_string(),
            span(way.likely.dollars, dollars),
            numbers.work.requests.total().to_string(),
            numbers.work.link.to_string(),
            numbers.time.bound_by().map_or_else(String::new, |it| it.to_string()),
            format!("{:.0} %", 100.0 * way.likely.best),
        ]);
    }
    let mut text = String::new();
    if !rows.is_empty() {
        text += &align(&header, &[2, 4, 6, 7, 9], &rows);
    }
    for (strategy, why) in &operator.impossible {
        text += &format!("   {strategy} is not possible: {}\n", visible(why));
    }
    text
}

/// Formats the rows and bytes of workers and master, without a switch and with it.
fn between_workers(operator: &Operator) -> String {
    let Some(SwitchEstimate { demand, assumed, .. }) = &operator.switched else {
        return String::new();
    };
    let header = ["", "rows sent", "bytes sent", "rows at the master", "bytes at the master"];
    let row = |name: &str, flow: Flow| {
        vec![
            name.to_owned(),
            flow.sent.to_string(),
            flow.sent_bytes.to_string(),
            flow.handled.to_string(),
            flow.handled_bytes.to_string(),
        ]
    };
    let [off, prune] = SwitchDemand::STRATEGIES;
    let rows = [row(off, demand.without_switch()), row(prune, demand.with_switch())];
    let mut text = align(&header, &[1, 2, 3, 4], &rows);
    let crossings: Vec<_> = demand
        .crossings
        .iter()
        .map(|it| format!("{:.2} % of its {} pass the switch", 100.0 * it.unpruned, it.name))
        .collect();
    let machines = match demand.workers {
        1 => "1 worker and a master".to_owned(),
        workers => format!("{workers} workers and a master"),
    };
    text += &format!(
        "expected: {}; {machines}, each a machine like the client, and its time and dollars not in the \
         query's\n",
        crossings.join(", ")
    );
    if !assumed.is_empty() {
        text += &format!("assumed: {}\n", assumed.join(", "));
    }
    text
}

/// Formats the simulated runs of each way.
fn simulated(operator: &Operator) -> String {
    let mut rows = Vec::new();
    let mut failures = String::new();
    for way in &operator.ways {
        let strategy = way.numbers.strategy.to_owned();
        match &way.simulated {
            Some(Ok(runs)) => rows.push(vec![
                strategy,
                stats::seconds(way.numbers.time.total()),
                stats::seconds(runs.time.p50),
                span(runs.time, seconds),
                format!("{:.1}", runs.refused),
                runs.in_flight.to_string(),
            ]),
            Some(Err(why)) => failures += &format!("{strategy} is not simulated: {why}\n"),
            None => {}
        }
    }
    if rows.is_empty() {
        return failures;
    }
    let header = ["way", "predicted", "simulated", "p10–p90", "refused", "in flight"];
    align(&header, &[1, 2, 3, 4, 5], &rows) + &failures
}

/// Formats the sensitivities: `time of select grows with: link.latency_seconds +0.61 % per %, …`
fn constants(operator: &Operator) -> String {
    let Some(first) = operator.taken().filter(|_| !operator.sensitivity.is_empty()) else {
        return String::new();
    };
    let header = ["constant", "value", "20 % less", "20 % more", "per 1 %", "of the variance"];
    let time = |seconds: f64| in_words("_seconds", rounded(seconds.max(0.0)));
    let rows: Vec<_> = operator
        .sensitivity
        .iter()
        .take(MOST_CONSTANTS)
        .map(|it| {
            vec![
                it.key.clone(),
                in_words(&it.key, it.value),
                time(it.less),
                time(it.more),
                format!("{:+.2} %", it.elasticity),
                format!("{:.0} ± {:.0} %", 100.0 * it.total, 100.0 * it.total_error),
            ]
        })
        .collect();
    format!(
        "what the time of {} depends on most:\n{}\
         20 % less, 20 % more: the time with such a value. Of the variance: what would be left of it if all other \
         constants were known; more than 100 % together where they act on each other.\n",
        first.numbers.strategy,
        align(&header, &[1, 2, 3, 4, 5], &rows)
    )
}

/// Rounds to three significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// Formats the seconds or dollars of each way along an axis, with the best marked.
fn along(
    swept: &AxisPrediction,
    objective: Objective,
    case: &Case,
    place: usize,
    colour: bool,
) -> String {
    let strategies = strategies(&swept.points, place);
    if strategies.is_empty() {
        return String::new();
    }
    let axis = &swept.sweep.axis;
    let shown = swept.shown(objective);
    let mut header = vec![axis.name()];
    header.extend(&strategies);
    let mut rows = Vec::new();
    for point in &swept.points {
        let best = point.operators.get(place).and_then(Operator::taken);
        let mut row = vec![axis.show(point.value)];
        for strategy in &strategies {
            let Some(way) = at(point, place, strategy) else {
                row.push("-".to_owned());
                continue;
            };
            let is_best = best.is_some_and(|best| best.numbers.strategy == *strategy);
            let mark = if is_best { "* " } else { "" };
            row.push(match shown {
                Output::Time => format!("{mark}{}", stats::seconds(way.numbers.time.total())),
                Output::Dollars => format!("{mark}{}", way.numbers.cost.total()),
            });
        }
        rows.push(row);
    }
    let right: Vec<_> = (0..header.len()).collect();
    let operator = &case.operators[place];
    let assumed = match axis {
        Axis::Selectivity => ", which is assumed",
        Axis::Scale => ", of as many objects, which grow",
        Axis::Constant(_) => "",
    };
    let title = format!(
        "\n{} of {} along {}{assumed}",
        operator.operator,
        visible(&operator.subject),
        axis.name()
    );
    if swept.changes_nothing(place) {
        return format!("{title}: no way of it depends on that\n");
    }
    format!(
        "{title}\n{}{}",
        align(&header, &right, &rows),
        chart::terminal(swept, objective, case, place, colour)
    )
}

fn span<T>(interval: Interval<T>, show: impl Fn(T) -> String) -> String {
    format!("{}–{}", show(interval.p10), show(interval.p90))
}

fn seconds(time: Duration) -> String {
    stats::seconds(time).trim_end_matches(" s").to_owned()
}

fn dollars(dollars: Dollars) -> String {
    dollars.to_string()
}
