//! Table 2: five queries, and the device's estimated speed-up.

use sluicegate_costmodel::Provenance;

use super::paper::{COUNTED, SPARK, Spark};
use super::plans::Operators;
use super::ranking::{Ranked, Speedups, extremes, query, ranked};
use super::tpcds::{RANKING, SETUP, all_queries, ranking};
use crate::chart::{Axis, Bar, Marks, PointSeries};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The table.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/table2",
    title: "Five queries, and their speed-up if a device scans, filters and projects",
    place: "ICPE §6.2, Table 2",
    method: Method::Live { runs, evaluate },
};

fn runs(setting: &Setting) -> Vec<Run> {
    vec![all_queries(setting), ranking(setting)]
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let estimated = ranked(results, RANKING)?;
    let pair = |it: &'static Spark| Ok((it, query(results, &estimated, it.query, RANKING)?));
    let pairs: Vec<(&Spark, &Ranked)> = SPARK.iter().map(pair).collect::<Result<_, _>>()?;
    let mut outcome = Outcome::default();
    decide(&mut outcome, setting, &pairs);
    outcome.tables.push(speedups(&pairs));
    outcome.tables.push(operators(&pairs));
    outcome.charts.push(bars(&pairs));
    outcome.charts.push(scatter(&ranked(results, "all queries")?));
    Ok(outcome)
}

fn decide(outcome: &mut Outcome, setting: &Setting, pairs: &[(&Spark, &Ranked)]) {
    let speedups: Speedups = pairs.iter().map(|(it, here)| (it.query, here.speedup())).collect();
    let [(greatest, most), (least, little)] = extremes(&speedups);
    let holds = (greatest, least) == (9, 72);
    outcome.decide("I10", format!("{little:.2} to {most:.2}"), holds);
    let order = match holds {
        true => String::new(),
        false => format!("; Q{greatest} has the greatest and Q{least} the least here"),
    };
    outcome.note(format!("{}{order}", setup(pairs)));
    for (paper, here) in pairs {
        let speedup = here.speedup();
        let (claim, found, holds) = match paper.query {
            4 => {
                let percent = format!("{:.0} %", 100.0 * (speedup - 1.0));
                ("I19", percent, (1.0..=1.3).contains(&speedup))
            }
            72 => ("I21", format!("{speedup:.2}"), speedup <= 1.1),
            _ => continue,
        };
        outcome.decide(claim, found, holds);
        outcome.note(format!("{}{}", setup(pairs), smaller(holds, setting, paper, here)));
    }
}

/// Returns what the estimates assume that the paper's do not.
fn setup(pairs: &[(&Spark, &Ranked)]) -> String {
    let seconds = |of: fn(&(&Spark, &Ranked)) -> f64| {
        let all = pairs.iter().map(of);
        [all.clone().fold(f64::INFINITY, f64::min), all.fold(0.0, f64::max)]
    };
    let [short, long] = seconds(|it| it.1.measured_s);
    let [shortest, longest] = seconds(|it| it.0.seconds);
    format!(
        "estimated for a device that needs {SETUP} to set up, and a second in the paper: the queries take {short:.2} \
         to {long:.2} s here, and {shortest} to {longest} s there"
    )
}

/// Returns the reason why a query speeds up more than in the paper.
fn smaller(holds: bool, setting: &Setting, paper: &Spark, here: &Ranked) -> String {
    if holds {
        return String::new();
    }
    let (ratio, scale) = (100.0 * here.scan_ratio, setting.scale);
    format!(
        "; the Scan Ratio is {ratio:.0} % here and {} % in the paper, since the joins and sorts behind the scans have \
         few rows at scale factor {scale}",
        paper.scan_ratio
    )
}

fn speedups(pairs: &[(&Spark, &Ranked)]) -> Table {
    let row = |(paper, here): &(&Spark, &Ranked)| {
        let busy = here.busy.map(|busy| format!("{:.0}", 100.0 * busy)).unwrap_or_default();
        vec![
            format!("Q{}", paper.query),
            format!("{:.4}", here.measured_s),
            format!("{:.4}", here.estimated_s),
            format!("{:.2}", here.speedup()),
            paper.speedup.to_string(),
            format!("{:.0}", 100.0 * here.scan_ratio),
            paper.scan_ratio.to_string(),
            busy,
            paper.cpu[0].to_string(),
        ]
    };
    Table {
        title: format!("Five queries with a device that needs {SETUP} to set up"),
        columns: vec![
            "query",
            "seconds",
            "with the device",
            "speed-up",
            "published",
            "Scan Ratio, %",
            "published",
            "cores busy, %",
            "published",
        ],
        rows: pairs.iter().map(row).collect(),
        provenance: Provenance::Modelled("icpe-2020".into()),
    }
}

fn operators(pairs: &[(&Spark, &Ranked)]) -> Table {
    let row = |(paper, here): &(&Spark, &Ranked)| {
        let counts = Operators::of([&here.plan]).counted();
        let both = counts.iter().zip(paper.counts);
        let cells = both.map(|(here, published)| format!("{here} ({published})"));
        [format!("Q{}", paper.query)].into_iter().chain(cells).collect()
    };
    let mut columns = vec!["query"];
    columns.extend(COUNTED);
    Table {
        title: "Operators of the plans here, where choosing columns is no project, and those of Spark, published, in \
                parentheses"
            .to_owned(),
        columns,
        rows: pairs.iter().map(row).collect(),
        provenance: Provenance::Counted,
    }
}

fn bars(pairs: &[(&Spark, &Ranked)]) -> Chart {
    let bar = |(paper, here): &(&Spark, &Ranked)| Bar {
        name: format!("Q{}", paper.query),
        lengths: vec![here.speedup(), paper.speedup],
    };
    Chart {
        title: "Speed-up with the device".to_owned(),
        x: Axis::linear("times as fast"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: vec!["estimated".to_owned(), "published".to_owned()],
            bars: pairs.iter().map(bar).collect(),
            is_stacked: false,
        },
        provenance: Provenance::Modelled("icpe-2020".into()),
    }
}

fn scatter(all: &[Ranked]) -> Chart {
    let finite = all.iter().filter(|it| it.speedup().is_finite());
    Chart {
        title: "Estimated speed-up of each query by its Scan Ratio".to_owned(),
        x: Axis::linear("Scan Ratio, %"),
        y: Axis::logarithmic("times as fast with the device"),
        marks: Marks::Points(vec![PointSeries {
            name: "estimated".to_owned(),
            points: finite
                .map(|it| (100.0 * it.scan_ratio, it.speedup(), format!("Q{}", it.number())))
                .collect(),
            is_published: false,
        }]),
        provenance: Provenance::Modelled("icpe-2020".into()),
    }
}
