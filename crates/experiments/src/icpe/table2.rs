//! Table 2: five queries, and the device's estimated speed-up.

use sluicegate_costmodel::Provenance;

use super::paper::{COUNTED, SPARK, Spark};
use super::plans::Operators;
use super::ranking::{Ranked, rank_correlation, ranked};
use super::table2_numbers;
use super::tpcds::{SETUP, all_queries, plan, ranking};
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
    let numbers = table2_numbers();
    let mut runs = vec![all_queries(setting), ranking(setting, &numbers)];
    runs.extend(numbers.map(|number| plan(setting, number)));
    runs
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = ranked(results, "ranking")?;
    let find = |number: usize| measured.iter().find(|it| it.number() == number);
    let pairs: Vec<(&Spark, &Ranked)> =
        SPARK.iter().filter_map(|it| Some((it, find(it.query)?))).collect();
    let speedup = |number: usize| find(number).map_or(f64::NAN, Ranked::speedup);
    let all = ranked(results, "all queries")?;
    let mut outcome = Outcome::default();
    decide(&mut outcome, setting, speedup, &all);
    outcome.tables.push(speedups(&pairs));
    outcome.tables.push(operators(results)?);
    outcome.charts.push(bars(&pairs));
    outcome.charts.push(scatter(&all));
    Ok(outcome)
}

fn decide(
    outcome: &mut Outcome,
    setting: &Setting,
    speedup: impl Fn(usize) -> f64,
    all: &[Ranked],
) {
    let by_speedup = |one: &usize, other: &usize| speedup(*one).total_cmp(&speedup(*other));
    let numbers = table2_numbers();
    let greatest = numbers.into_iter().max_by(by_speedup).unwrap_or_default();
    let least = numbers.into_iter().min_by(by_speedup).unwrap_or_default();
    let scale = setting.scale;
    outcome.decide(
        "I10",
        format!("{:.2} to {:.2}", speedup(least), speedup(greatest)),
        (greatest, least) == (9, 72),
    );
    if (greatest, least) != (9, 72) {
        outcome.note(format!("Q{greatest} has the greatest and Q{least} the least here"));
    }
    let q4 = speedup(4);
    outcome.decide("I19", format!("{:.0} %", 100.0 * (q4 - 1.0)), (1.0..=1.3).contains(&q4));
    note_scale(outcome, (1.0..=1.3).contains(&q4), scale);
    let q72 = speedup(72);
    outcome.decide("I21", format!("{q72:.2}"), q72 <= 1.1);
    note_scale(outcome, q72 <= 1.1, scale);
    let correlation = correlation(all);
    outcome.decide("I25", format!("{correlation:.2}"), correlation > 0.0);
}

fn note_scale(outcome: &mut Outcome, holds: bool, scale: f64) {
    if !holds {
        outcome.note(format!(
            "the joins and sorts behind its scans, whose work grows with the paper's scale factor of 10000, are \
             small at {scale}"
        ));
    }
}

fn correlation(all: &[Ranked]) -> f64 {
    let pairs: Vec<(f64, f64)> = all.iter().map(|it| (it.scan_ratio, it.speedup())).collect();
    rank_correlation(&pairs)
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

fn operators(results: &Results) -> Result<Table, ResultsError> {
    let mut rows = Vec::new();
    for paper in &SPARK {
        let mut row = vec![format!("Q{}", paper.query)];
        for (here, published) in
            Operators::of(results, paper.query)?.counted().iter().zip(paper.counts)
        {
            row.push(format!("{here} ({published})"));
        }
        rows.push(row);
    }
    let mut columns = vec!["query"];
    columns.extend(COUNTED);
    Ok(Table {
        title: "Operators of the plans here, and those of Spark, published, in parentheses"
            .to_owned(),
        columns,
        rows,
        provenance: Provenance::Counted,
    })
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
        title: "Speed-up of each query by its Scan Ratio".to_owned(),
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
