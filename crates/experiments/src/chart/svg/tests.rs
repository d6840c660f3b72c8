use sluicegate_costmodel::Provenance;

use super::canvas::Area;
use super::*;
use crate::chart::{Axis, Bar, Line, PointSeries, StrategyMap, Task};

fn chart(title: &str, x: Axis, y: Axis, marks: Marks) -> Chart {
    Chart { title: title.to_owned(), x, y, marks, provenance: Provenance::Measured }
}

/// Charts of every kind.
pub(crate) fn examples() -> Vec<Chart> {
    let powers = || (0..6).map(|at| 10_f64.powi(at - 7));
    let with_interval = |name: &str, by: f64| Line {
        name: name.to_owned(),
        points: powers().map(|x| [x, by + x * 3e2, 0.9 * by, 1.2 * by + x * 4e2]).collect(),
        is_published: false,
    };
    let filters = vec![
        with_interval("server-side", 21.7),
        with_interval("S3-side", 1.38),
        with_interval("index", 1.2),
        Line::published("S3-side", powers().map(|x| (x, 1.5 + x * 2e2))),
        Line::published("index", powers().map(|x| (x, 1.0 + x * 1e3))),
    ];
    let pruned = |name: &str, by: f64| {
        Line::new(name, [2.0, 4.0, 8.0, 16.0, 32.0].map(|x| (x, (by / x - 0.01).max(0.0))))
    };
    let bar =
        |name: &str, lengths: &[f64]| Bar { name: name.to_owned(), lengths: lengths.to_vec() };
    let names = |names: &[&str]| names.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    let costs = [
        bar("server-side", &[1.2, 0.0, 0.0, 0.1]),
        bar("S3-side", &[0.1, 1.3, 0.05, 0.001]),
        bar("S3-side, published", &[0.2, 1.2, 0.1, 0.0]),
        bar("index over several ranges of one object in a request", &[0.2, 0.1, 0.0, 3.1]),
    ];
    let queries: Vec<Bar> =
        (1..=12).map(|at| bar(&format!("Q{at}"), &[f64::from(at), 12.5 / f64::from(at)])).collect();
    let point = |at: u32| {
        let x = f64::from(at);
        (x * 0.9 + 0.2 * (x * 7.0).sin(), x + 0.3 * (x * 3.0).cos(), format!("Q{at}"))
    };
    let series = |name: &str, is_published: bool, from: u32| PointSeries {
        name: name.to_owned(),
        points: (from..from + 20).map(point).collect(),
        is_published,
    };
    let task = |name: &str, span: [f64; 2], series: &str, is_critical: bool| Task {
        name: name.to_owned(),
        span,
        series: series.to_owned(),
        is_critical,
    };
    let best = |row: usize, column: usize| match row + column {
        0..5 => "index",
        5..11 => "S3-side",
        _ => "server-side",
    };
    let map = StrategyMap {
        x: (0..12).map(|at| 10_f64.powf(f64::from(at) / 2.0 - 6.0)).collect(),
        y: [0.1, 0.3, 1.0, 3.0, 10.0, 30.0].to_vec(),
        best: (0..6).map(|row| (0..12).map(|x| best(row, x).to_owned()).collect()).collect(),
    };
    let many = (0..11).map(|at| Line::new(format!("series number {at}"), [(1.0, 5.0), (2.0, 5.0)]));
    vec![
        chart(
            "Seconds of three filters by selectivity",
            Axis::logarithmic("selectivity"),
            Axis::logarithmic("seconds"),
            Marks::Lines(filters),
        ),
        chart(
            "Share of entries that reach the master, by columns of the matrix",
            Axis::logarithmic("columns"),
            Axis::logarithmic(
                "share forwarded, with intervals of 95 % over five seeds, as in the paper, on two lines",
            ),
            Marks::Lines(vec![pruned("DISTINCT", 0.5), pruned("OPT", 0.03)]),
        ),
        chart("Many alike", Axis::linear("x"), Axis::linear("y"), Marks::Lines(many.collect())),
        chart(
            "Cents by part",
            Axis::linear("cents"),
            Axis::linear(""),
            Marks::Bars {
                parts: names(&["compute", "scan", "return", "requests"]),
                bars: costs.to_vec(),
                is_stacked: true,
            },
        ),
        chart(
            "Seconds of the queries with and without pushdown",
            Axis::logarithmic("seconds"),
            Axis::linear("query"),
            Marks::Bars {
                parts: names(&["baseline", "pushdown"]),
                bars: queries,
                is_stacked: false,
            },
        ),
        chart(
            "Speed-up by way",
            Axis::linear("times as fast"),
            Axis::linear(""),
            Marks::Bars {
                parts: names(&["speed-up"]),
                bars: vec![
                    bar("S3-side", &[15.7]),
                    bar("index", &[12.5]),
                    bar("server-side", &[1.0]),
                ],
                is_stacked: false,
            },
        ),
        chart(
            "Predicted against measured",
            Axis::linear("predicted seconds"),
            Axis::linear("measured seconds"),
            Marks::Points(vec![series("CSV", false, 1), series("Parquet", true, 14)]),
        ),
        chart(
            "Stages of query 44",
            Axis::linear("seconds"),
            Axis::linear(""),
            Marks::Gantt(vec![
                task("scan store_sales", [0.0, 8.0], "measured", true),
                task("scan store_sales", [0.0, 3.0], "estimated", false),
                task("join", [8.0, 12.0], "measured", true),
                task("join", [3.0, 7.0], "estimated", false),
                task("sort", [12.0, 12.01], "measured", true),
            ]),
        ),
        chart(
            "The fastest strategy",
            Axis::logarithmic("selectivity"),
            Axis::logarithmic("Gbit/s"),
            Marks::Map(map),
        ),
    ]
}

fn long_names() -> Vec<Chart> {
    let word = "Donaudampfschifffahrtsgesellschaftskapitän of a long and winding name ";
    let mut charts = examples();
    for chart in &mut charts {
        chart.title = word.repeat(3);
        chart.x.title = word.repeat(3);
        chart.y.title = word.repeat(2);
        match &mut chart.marks {
            Marks::Lines(lines) => {
                lines.iter_mut().for_each(|it| it.name = word.repeat(2) + &it.name)
            }
            Marks::Bars { parts, bars, .. } => {
                parts.iter_mut().for_each(|it| *it = word.repeat(2) + it);
                bars.iter_mut().for_each(|it| it.name = word.repeat(2) + &it.name);
            }
            Marks::Points(series) => {
                series.iter_mut().for_each(|it| it.name = word.to_owned() + &it.name)
            }
            Marks::Gantt(tasks) => {
                tasks.iter_mut().for_each(|it| it.name = word.to_owned() + &it.name)
            }
            Marks::Map(map) => {
                map.best.iter_mut().flatten().for_each(|it| *it = word.to_owned() + it)
            }
        }
    }
    charts
}

#[test]
fn no_text_is_cut_and_no_two_overlap() {
    for chart in examples().into_iter().chain(long_names()) {
        for width in [Width::Wide, Width::Narrow] {
            let panel = panel(&chart, width, true);
            let picture = Area { left: 0.0, top: 0.0, right: panel.width, bottom: panel.height };
            assert!(panel.texts.len() > 5);
            for (at, text) in panel.texts.iter().enumerate() {
                assert!(
                    picture.contains(text),
                    "{} {width:?}: {text:?} of {picture:?}",
                    chart.title
                );
                for other in &panel.texts[..at] {
                    // The areas are larger than the letters.
                    let smaller =
                        Area { top: other.top + 2.0, bottom: other.bottom - 2.0, ..*other };
                    assert!(
                        !text.overlaps(&smaller),
                        "{} {width:?}: {text:?} {other:?}",
                        chart.title
                    );
                }
            }
        }
    }
}

#[test]
fn charts_without_marks_or_with_strange_numbers_are_drawn() {
    let strange = [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300, 1e-300];
    for logarithmic in [false, true] {
        let axis = |title: &str| Axis { title: title.to_owned(), is_logarithmic: logarithmic };
        let lines = vec![
            Line::new("none", []),
            Line::new("strange", strange.map(|it| (it, it))),
            Line::new("one", [(1.0, 1.0)]),
        ];
        for marks in [
            Marks::Lines(Vec::new()),
            Marks::Lines(lines),
            Marks::Bars { parts: Vec::new(), bars: Vec::new(), is_stacked: true },
            Marks::Bars {
                parts: vec!["p".to_owned()],
                bars: vec![Bar { name: "b".to_owned(), lengths: strange.to_vec() }],
                is_stacked: logarithmic,
            },
            Marks::Points(Vec::new()),
            Marks::Gantt(Vec::new()),
            Marks::Map(StrategyMap { x: Vec::new(), y: Vec::new(), best: Vec::new() }),
        ] {
            let drawn = chart("t", axis("x"), axis("y"), marks).svg();
            assert!(drawn.ends_with("</svg>\n") && !drawn.contains("NaN"));
        }
    }
}

#[test]
fn no_text_of_a_chart_becomes_markup() {
    let hostile = "</title></svg><script>alert('x')</script>";
    let mut charts = examples();
    for chart in &mut charts {
        chart.title = hostile.to_owned();
        chart.x.title = hostile.to_owned();
        if let Marks::Lines(lines) = &mut chart.marks {
            lines[0].name = hostile.to_owned();
        }
    }
    let drawn = super::super::svg(&charts);
    assert!(!drawn.contains("<script") && drawn.matches("</svg>").count() == 1);
}
