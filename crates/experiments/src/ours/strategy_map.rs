//! The best way to filter a table, over selectivity and bandwidth.

use sluicegate_costmodel::Provenance;

use super::data::tpch;
use super::model::{Case, Point, cases};
use crate::chart::{Axis, Marks, StrategyMap};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table, UNLIMITED};

/// The strategy that would be taken at each selectivity and bandwidth.
pub const EXPERIMENT: Experiment = Experiment {
    id: "ours/strategy-map",
    title: "The best way to filter a table, by selectivity and bandwidth",
    place: "Sluicegate",
    method: Method::Live { runs, evaluate },
};

const HARDWARE: &str = "local-1gbit";
const RUN: &str = "model";
/// Filters of a column without an index and of one with an index.
const QUERIES: [(&str, &str); 2] = [
    ("without an index", "select * from lineitem where l_extendedprice < 1000"),
    ("with an index", "select * from lineitem where l_orderkey < 1000"),
];
/// The y axis, in Gbit/s.
const BANDWIDTHS: [f64; 9] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0];
/// The x axis.
const SELECTIVITIES: &str = "selectivity=1e-3..1/16";

fn runs(setting: &Setting) -> Vec<Run> {
    let data = tpch(setting);
    let definitions = data.definitions();
    let changes = BANDWIDTHS.map(|gbit| format!("bandwidth={gbit}Gbit"));
    let mut arguments = vec!["model", "-f", &definitions, "--format", "json"];
    arguments.extend(QUERIES.iter().flat_map(|(_, query)| ["-c", query]));
    arguments.extend(["--hardware", HARDWARE, "--draws", "10", "--sweep", SELECTIVITIES]);
    arguments.extend(changes.iter().flat_map(|change| ["--what-if", change.as_str()]));
    vec![Run::command(RUN, &arguments).with_data(&data).over(UNLIMITED)]
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let mut outcome = Outcome::default();
    let mut rows = Vec::new();
    for ((column, _), cases) in QUERIES.iter().zip(cases(results, RUN)?) {
        let map = map(&cases);
        rows.extend(map.y.iter().zip(&map.best).map(|(gbit, best)| {
            vec![(*column).to_owned(), gbit.to_string(), changes(&map.x, best)]
        }));
        outcome.charts.push(Chart {
            title: format!("The best way to filter by a column {column}"),
            x: Axis::logarithmic("selectivity"),
            y: Axis::logarithmic("Gbit/s"),
            marks: Marks::Map(map),
            provenance: Provenance::Modelled(HARDWARE.into()),
        });
    }
    outcome.tables.push(Table {
        title: "The way that would be taken, from the smallest selectivity on".to_owned(),
        columns: vec!["column", "Gbit/s", "ways"],
        rows,
        provenance: Provenance::Modelled(HARDWARE.into()),
    });
    Ok(outcome)
}

/// Returns the best way at each bandwidth and selectivity.
fn map(cases: &[Case]) -> StrategyMap {
    let changed: Vec<&Case> = cases.iter().filter(|case| case.what_if.is_some()).collect();
    let x = changed.first().into_iter().flat_map(|case| points(case));
    StrategyMap {
        x: x.map(|it| it.value).collect(),
        y: BANDWIDTHS.to_vec(),
        best: changed.iter().map(|case| points(case).iter().map(taken).collect()).collect(),
    }
}

fn points(case: &Case) -> &[Point] {
    case.sweeps.first().map_or(&[], |it| it.points.as_slice())
}

fn taken(point: &Point) -> String {
    let taken = point.operators.first().and_then(|it| it.taken());
    taken.unwrap_or("none").to_owned()
}

/// Returns the ways with the selectivities from which on they are taken: `index, get from 0.01`.
fn changes(x: &[f64], best: &[String]) -> String {
    let mut text: Vec<String> = Vec::new();
    let mut last = "";
    for (selectivity, way) in x.iter().zip(best) {
        match last {
            "" => text.push(way.clone()),
            last if last != way => text.push(format!("{way} from {selectivity:.1e}")),
            _ => {}
        }
        last = way;
    }
    text.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_listed_where_they_change() {
        let best = ["index", "index", "select", "get"].map(str::to_owned);
        let text = changes(&[1e-7, 1e-5, 1e-3, 1e-1], &best);
        assert_eq!(text, "index, select from 1.0e-3, get from 1.0e-1");
    }
}
