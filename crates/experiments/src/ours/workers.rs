//! One to four workers: measured on this machine, and as the model predicts them for machines of their own.

use sluicegate_costmodel::Provenance;

use super::data::{PLAIN, tpch};
use super::model::{Case, cases};
use crate::chart::{Axis, Line, Marks};
use crate::experiment::Method;
use crate::{
    Chart, Experiment, Outcome, Repeated, Results, ResultsError, Run, Setting, Table, UNLIMITED,
};

/// A scan, an aggregate and a join by the number of workers.
pub const EXPERIMENT: Experiment = Experiment {
    id: "ours/workers",
    title: "One to four workers, measured on one machine and predicted for machines of their own",
    place: "Sluicegate",
    method: Method::Live { runs, evaluate },
};

/// Queries whose answers are small, so that the time is that of reading and of the operators.
const QUERIES: [(&str, &str); 3] = [
    (
        "scan",
        "select l_orderkey, l_comment from lineitem where l_quantity < 2 and l_discount > 0.09",
    ),
    (
        "aggregate",
        "select l_returnflag, l_linestatus, sum(l_quantity), avg(l_extendedprice), count(*) \
         from lineitem group by l_returnflag, l_linestatus",
    ),
    (
        "join",
        "select o_orderpriority, count(*) from orders, lineitem \
         where o_orderkey = l_orderkey and o_totalprice > 100000 group by o_orderpriority",
    ),
];
/// The link that the workers share, and the profile of a machine behind such a link of its own.
const LINK: &str = "1gbit";
const MACHINE: &str = "local-1gbit";
/// The profile of the large scan.
const HARDWARE: &str = "aws-in-region";
const LARGE: &str = "model";
const SAME: &str = "model of the measured queries";
const WORKERS: [u32; 4] = [1, 2, 3, 4];
/// The axis of one point at which the table has the size of scale factor 100.
const SCALE: f64 = 100.0;

fn runs(setting: &Setting) -> Vec<Run> {
    let data = tpch(setting);
    let definitions = data.definitions();
    let texts = QUERIES.map(|(_, text)| text.to_owned());
    let changes = WORKERS.map(|workers| format!("workers={workers}"));
    let mut what_ifs: Vec<&str> = vec!["--draws", "10"];
    what_ifs.extend(changes.iter().flat_map(|change| ["--what-if", change.as_str()]));
    let start = ["model", "-f", &definitions, "--format", "json", "--hardware"];
    let times = SCALE / setting.scale;
    let sweep = format!("scale={times}..{}/2", 2.0 * times);
    let large = [&start[..], &[HARDWARE, "-c", QUERIES[0].1, "--sweep", &sweep], &what_ifs];
    let queries: Vec<&str> = QUERIES.iter().flat_map(|(_, text)| ["-c", *text]).collect();
    let same = [&start[..], &[MACHINE], &queries, &what_ifs];
    let modelled = [(LARGE, large.concat()), (SAME, same.concat())]
        .map(|(name, arguments)| Run::command(name, &arguments).with_data(&data).over(UNLIMITED));
    let measured = WORKERS.map(|workers| {
        Run::sql(measured(workers), &data, LINK, &PLAIN, &texts, setting.rounds())
            .with_workers(workers as usize)
    });
    modelled.into_iter().chain(measured).collect()
}

/// Returns the name of the run with so many workers.
fn measured(workers: u32) -> String {
    format!("{workers} workers")
}

/// A strategy with its workers, seconds and dollars.
struct Predicted {
    strategy: String,
    workers: u32,
    seconds: f64,
    dollars: f64,
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let mut outcome = Outcome::default();
    beside(setting, results, &mut outcome)?;
    large(results, &mut outcome)?;
    Ok(outcome)
}

/// Adds the measured seconds beside the predicted ones.
fn beside(setting: &Setting, results: &Results, outcome: &mut Outcome) -> Result<(), ResultsError> {
    let mut times: Vec<(u32, Vec<Repeated>)> = Vec::new();
    for workers in WORKERS {
        times.push((workers, results.queries(&measured(workers))?));
    }
    let mut rows = Vec::new();
    for (at, ((name, _), cases)) in QUERIES.iter().zip(cases(results, SAME)?).enumerate() {
        let predicted = |workers: u32| {
            let case = cases.iter().find(|case| case.workers() == Some(workers));
            case.map_or(f64::NAN, |case| case.without_pushdown.seconds)
        };
        let queries = times.iter().filter_map(|(workers, all)| Some((*workers, all.get(at)?)));
        let queries: Vec<(u32, &Repeated)> = queries.collect();
        let first = queries.first().map_or(f64::NAN, |(_, query)| query.seconds);
        let line = |name: &str, of: &dyn Fn(u32, &Repeated) -> f64| {
            let points = queries.iter().map(|(it, query)| (f64::from(*it), of(*it, query)));
            Line::new(name, points.filter(|(_, seconds)| seconds.is_finite()))
        };
        outcome.charts.push(Chart {
            title: format!("Seconds of a{} {name}", if *name == "aggregate" { "n" } else { "" }),
            x: Axis::linear("workers"),
            y: Axis::linear("seconds"),
            marks: Marks::Lines(vec![
                line("measured", &|_, query| query.seconds),
                line("modelled", &|workers, _| predicted(workers)),
            ]),
            provenance: mixed(),
        });
        rows.extend(queries.iter().map(|(workers, query)| {
            vec![
                (*name).to_owned(),
                workers.to_string(),
                format!("{:.3}", query.seconds),
                format!("{:.2}", first / query.seconds),
                format!("{:.3}", predicted(*workers)),
                format!("{:.2}", predicted(1) / predicted(*workers)),
                format!("{:.1}", query.last.bytes.link as f64 / 1e6),
            ]
        }));
    }
    outcome.tables.push(Table {
        title: format!(
            "Queries over CSV at scale factor {}, read by GET behind 1 Gbit/s. Measured: all workers, the store and the \
             coordinator share the cores of one machine and one link, and one worker alone gets no part, so that the \
             coordinator runs the query. Modelled ({MACHINE}): each worker has cores and a link of its own",
            setting.scale
        ),
        columns: vec![
            "query",
            "workers",
            "measured s",
            "times as fast as one",
            "modelled s",
            "modelled times as fast",
            "MB over the link",
        ],
        rows,
        provenance: Provenance::Measured,
    });
    Ok(())
}

/// The provenance of a chart of measured and modelled times.
fn mixed() -> Provenance {
    Provenance::Modelled(format!("{MACHINE}; the line named measured is measured here").into())
}

/// Adds the predictions of a scan that is too large for one machine.
fn large(results: &Results, outcome: &mut Outcome) -> Result<(), ResultsError> {
    let cases = cases(results, LARGE)?;
    let predicted: Vec<Predicted> = cases.iter().flatten().flat_map(predictions).collect();
    let mut strategies: Vec<&str> = predicted.iter().map(|it| it.strategy.as_str()).collect();
    strategies.sort_unstable();
    strategies.dedup();
    let line = |strategy: &&str| {
        let of = predicted.iter().filter(|it| it.strategy == *strategy);
        Line::new(*strategy, of.map(|it| (f64::from(it.workers), it.seconds)))
    };
    outcome.charts.push(Chart {
        title: "Predicted seconds of a scan of lineitem at scale factor 100".to_owned(),
        x: Axis::linear("workers"),
        y: Axis::linear("seconds"),
        marks: Marks::Lines(strategies.iter().map(line).collect()),
        provenance: Provenance::Modelled(HARDWARE.into()),
    });
    let row = |it: &Predicted| {
        vec![
            it.strategy.clone(),
            it.workers.to_string(),
            format!("{:.2}", it.seconds),
            format!("{:.4}", it.dollars),
        ]
    };
    outcome.tables.push(Table {
        title: "Predicted time and cost of a scan of lineitem at scale factor 100, not measured"
            .to_owned(),
        columns: vec!["way", "workers", "seconds", "dollars"],
        rows: predicted.iter().map(row).collect(),
        provenance: Provenance::Modelled(HARDWARE.into()),
    });
    Ok(())
}

/// Returns the ways of a case at the first point of the axis.
fn predictions(case: &Case) -> Vec<Predicted> {
    let Some(workers) = case.workers() else { return Vec::new() };
    let point = case.sweeps.first().and_then(|it| it.points.first());
    let operators = point.map_or(&case.operators, |it| &it.operators);
    let ways = operators.iter().flat_map(|it| &it.ways);
    ways.map(|way| Predicted {
        strategy: way.strategy.clone(),
        workers,
        seconds: way.seconds,
        dollars: way.dollars,
    })
    .collect()
}
