//! Table 2: five queries, and the device's estimated speed-up.

use sluicegate_costmodel::Provenance;

use super::paper::{COUNTED, SPARK, Spark};
use super::plans::Operators;
use super::ranking::{Ranked, Speedups, all_ranked, extremes, query, ranked};
use super::tpcds::{RANKING, REPEATED, SETUP_WORDS, all_queries, estimated, ranking};
use crate::chart::{Axis, Bar, Marks, PointSeries};
use crate::experiment::Method;
use crate::tolerance::{QUARTER, is_within};
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
    let repeated = ranked(results, RANKING)?;
    let pair = |it: &'static Spark| Ok((it, query(results, &repeated, it.query, RANKING)?));
    let pairs: Vec<(&Spark, &Ranked)> = SPARK.iter().map(pair).collect::<Result<_, _>>()?;
    let mut outcome = Outcome::default();
    let all = all_ranked(results)?;
    decide(&mut outcome, setting, &pairs, &all);
    outcome.tables.push(speedups(setting, &pairs));
    outcome.tables.push(operators(&pairs));
    outcome.charts.push(bars(&pairs));
    outcome.charts.push(scatter(&all));
    outcome.remarks.push(REPEATED.to_owned());
    outcome.remarks.push(
        "A speed-up below 1 means that the set-up of the device takes longer than the scans."
            .to_owned(),
    );
    Ok(outcome)
}

/// The greatest difference from 1 of a query that does not speed up.
const SAME: f64 = 0.1;
/// The percent by which query 4 is faster in the paper, and the greatest difference from it.
const FASTER: [f64; 2] = [9.0, 5.0];

/// Returns true if the greatest speed-up is near the published one, and the least is about 1, as published.
pub(super) fn are_near(most: f64, published: f64, least: f64) -> bool {
    is_within(most, published, QUARTER) && is_none(least)
}

/// Returns true if a query is neither faster nor slower.
pub(super) fn is_none(speedup: f64) -> bool {
    is_within(speedup, 1.0, SAME)
}

fn decide(outcome: &mut Outcome, setting: &Setting, pairs: &[(&Spark, &Ranked)], all: &[Ranked]) {
    let speedups: Speedups = pairs.iter().map(|(it, here)| (it.query, here.speedup())).collect();
    let [(greatest, most), (least, little)] = extremes(&speedups);
    let published = pairs.iter().map(|(it, _)| it.speedup).fold(0.0, f64::max);
    let is_near = are_near(most, published, little);
    let found = format!("{little:.2} (query {least}) to {most:.2} times (query {greatest})");
    outcome.decide("I10", found, (greatest, least) == (9, 72) && is_near);
    let finite = all.iter().map(|it| (it.number(), it.speedup()));
    let finite: Speedups = finite.filter(|it| it.1.is_finite()).collect();
    let [(greatest, most), (least, little)] = extremes(&finite);
    let is_q9 = |it: &&(&Spark, &Ranked)| it.0.query == 9;
    let rest = pairs.iter().find(is_q9).map_or_else(String::new, |(paper, here)| {
        format!(
            "Query 9 takes {:.3} s with the device here, and {} s in the paper: what remains beside its scans takes \
             Spark much longer than DataFusion. ",
            here.estimated_s, paper.offloaded
        )
    });
    outcome.note(format!(
        "{rest}All {} queries here have speed-ups from {little:.2} (query {least}) to {most:.2} times (query \
         {greatest}). For these estimates, {}",
        finite.len(),
        setup(pairs),
    ));
    for (paper, here) in pairs {
        let speedup = here.speedup();
        let (claim, found, holds) = match paper.query {
            4 => {
                let (percent, [published, off]) = (100.0 * (speedup - 1.0), FASTER);
                ("I19", format!("{percent:.0} %"), (percent - published).abs() <= off)
            }
            72 => ("I21", format!("{speedup:.2} times"), is_none(speedup)),
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
        "the device needs {SETUP_WORDS} to set up here, and a second in the paper, because the five queries take \
         {short:.2} to {long:.2} s here, and {shortest} to {longest} s in the paper"
    )
}

/// Returns the reason why a query speeds up more than in the paper.
fn smaller(holds: bool, setting: &Setting, paper: &Spark, here: &Ranked) -> String {
    if holds {
        return String::new();
    }
    let (ratio, scale) = (100.0 * here.scan_ratio, setting.scale);
    format!(
        ". The Scan Ratio is {ratio:.0} % here and {} % in the paper, because joins and sorts have few rows at scale \
         factor {scale}",
        paper.scan_ratio
    )
}

fn speedups(setting: &Setting, pairs: &[(&Spark, &Ranked)]) -> Table {
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
        title: format!(
            "Five queries at scale factor {}, medians of five runs, with a device that needs {SETUP_WORDS} to set up",
            setting.scale
        ),
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
        provenance: estimated(),
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
