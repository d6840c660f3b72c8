//! The store, a switch and the client in one plan.

use sluicegate_costmodel::Provenance;

use super::data::{PLAIN, tpch};
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Repeated, Results, ResultsError, Run, Setting, Table};

/// Queries in the client alone, with a switch, with the store, and with both.
pub const EXPERIMENT: Experiment = Experiment {
    id: "ours/all-in-one",
    title: "Queries of the client alone, with a switch, with the store, and with both",
    place: "Sluicegate",
    method: Method::Live { runs, evaluate },
};

const SWITCH: (&str, &str) = ("switch", "tofino2");
/// Joins, with an operator behind them that a switch prunes for.
const QUERIES: [(&str, &str); 3] = [
    (
        "distinct",
        "select distinct l_suppkey from orders, lineitem \
         where o_orderkey = l_orderkey and o_totalprice > 300000",
    ),
    (
        "top N",
        "select l_orderkey, l_extendedprice, o_totalprice from orders, lineitem \
         where o_orderkey = l_orderkey and o_totalprice > 300000 \
         order by l_extendedprice desc limit 10",
    ),
    (
        "group by",
        "select o_custkey, max(l_extendedprice) from orders, lineitem \
         where o_orderkey = l_orderkey and o_totalprice > 300000 group by o_custkey",
    ),
];
const LINK: &str = "1gbit";
/// The ways, by the names of their runs.
const WAYS: [&str; 4] =
    ["client", "client and switch", "store and client", "store, switch and client"];

/// Returns the settings of each way.
fn settings() -> [Vec<(&'static str, &'static str)>; 4] {
    let plain = PLAIN.to_vec();
    [plain.clone(), [plain, vec![SWITCH]].concat(), Vec::new(), vec![SWITCH]]
}

/// Returns the name of the run that counts the packets of a way; `None` if it has no switch.
fn packets(way: &str) -> Option<String> {
    way.contains("switch").then(|| format!("packets/{way}"))
}

fn runs(setting: &Setting) -> Vec<Run> {
    let data = tpch(setting);
    let texts = QUERIES.map(|(_, text)| text.to_owned());
    let analyzed = QUERIES.map(|(_, text)| format!("EXPLAIN ANALYZE {text}"));
    let mut runs = Vec::new();
    for (way, settings) in WAYS.into_iter().zip(settings()) {
        runs.push(Run::sql(way, &data, LINK, &settings, &texts, setting.rounds()));
        let counting = packets(way);
        runs.extend(counting.map(|name| Run::sql(name, &data, LINK, &settings, &analyzed, 1)));
    }
    runs
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let mut rows = Vec::new();
    let mut lengths = vec![Vec::new(); QUERIES.len()];
    for way in WAYS {
        let queries = results.queries(way)?;
        for ((name, lengths), query) in
            QUERIES.map(|it| it.0).into_iter().zip(&mut lengths).zip(&queries)
        {
            rows.push(row(name, way, query));
            lengths.push(query.seconds);
        }
    }
    rows.sort_by_key(|row| QUERIES.iter().position(|(name, _)| *name == row[0]));
    let mut outcome = Outcome::default();
    outcome.tables.push(Table {
        title:
            "Three joins over CSV behind a link of 1 Gbit/s; the switch is simulated in the client"
                .to_owned(),
        columns: vec!["query", "way", "seconds", "MB over the link", "requests", "strategies"],
        rows,
        provenance: Provenance::Measured,
    });
    outcome.tables.push(pruned(results)?);
    outcome.remarks.push(
        "There is no switch here: the client simulates it, packet by packet, so the seconds of both ways with a switch are \
         mostly those of the simulator. The packets that the switch drops are counted, and are what a real one would save."
            .to_owned(),
    );
    let names = QUERIES.iter().map(|(name, _)| (*name).to_owned());
    outcome.charts.push(Chart {
        title: "Seconds of each way; the switch is simulated by the client, whose time it takes"
            .to_owned(),
        x: Axis::linear("seconds"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: WAYS.map(str::to_owned).to_vec(),
            bars: names.zip(lengths).map(|(name, lengths)| Bar { name, lengths }).collect(),
            is_stacked: false,
        },
        provenance: Provenance::Measured,
    });
    Ok(outcome)
}

fn row(name: &str, way: &str, query: &Repeated) -> Vec<String> {
    let strategies: Vec<String> = query
        .last
        .strategies
        .iter()
        .filter(|it| !it.strategy.is_empty())
        .map(|it| format!("{} {}", it.operator, it.strategy))
        .collect();
    vec![
        name.to_owned(),
        way.to_owned(),
        format!("{:.3}", query.seconds),
        format!("{:.3}", query.last.bytes.link as f64 / 1e6),
        query.last.requests.total.to_string(),
        strategies.join(", "),
    ]
}

/// Returns the packets that the switch drops for each operator.
fn pruned(results: &Results) -> Result<Table, ResultsError> {
    let mut rows = Vec::new();
    for (way, name) in WAYS.into_iter().filter_map(|way| Some((way, packets(way)?))) {
        let answers = &results.record(&name)?.answers;
        let plans = answers.split("Plan with Metrics").skip(1);
        for ((query, _), plan) in QUERIES.iter().zip(plans) {
            let operators = plan.lines().filter_map(pruned_by);
            rows.extend(operators.map(|(operator, packets)| {
                vec![(*query).to_owned(), way.to_owned(), operator, packets]
            }));
        }
    }
    Ok(Table {
        title: "Packets that the switch drops, of those that reach it".to_owned(),
        columns: vec!["query", "way", "algorithm", "dropped"],
        rows,
        provenance: Provenance::Counted,
    })
}

/// Returns the algorithm of an operator in the switch and the packets that it drops, from a line of EXPLAIN ANALYZE.
fn pruned_by(line: &str) -> Option<(String, String)> {
    let (algorithm, rest) = line.trim_start().strip_prefix("SwitchPruneExec: ")?.split_once('(')?;
    let (_, metric) = rest.split_once("pruned=")?;
    let (packets, _) = metric.split_once(')')?;
    Some((algorithm.to_owned(), format!("{packets})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_packets_are_read_from_the_plan() {
        let line = "    SwitchPruneExec: build join_bloom(arrays=7) on [o_orderkey@0], metrics=[pruned=0% (0/1.10 K)]";
        let expected = ("build join_bloom".to_owned(), "0% (0/1.10 K)".to_owned());
        assert_eq!(pruned_by(line), Some(expected));
        assert_eq!(pruned_by("  ProjectionExec: a(b) pruned=1% (1/2)"), None);
    }
}
