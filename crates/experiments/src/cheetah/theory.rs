//! The theorems of §4, §5 and the appendices at the paper's examples.

use sluicegate_costmodel::Provenance;
use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
use sluicegate_pruning::switch::Program;
use sluicegate_pruning::theory::top_n::Shape;
use sluicegate_pruning::theory::{Statement, distinct, line_rate, skyline, statements, top_n};

use super::sweep::grouped;
use crate::chart::{Axis, Marks, PointSeries};
use crate::experiment::Method;
use crate::tolerance::{QUARTER, is_within};
use crate::{Chart, Experiment, Outcome, Table};

/// All worked examples.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/theory",
    title: "The theorems at the paper's examples",
    place: "Cheetah §4.2, §5, §7.1, appendices C to E",
    method: Method::Computed(compute),
};

const DELTA: f64 = 1e-4;

fn compute() -> Outcome {
    let mut outcome = Outcome::default();
    let duplicates = distinct::pruned_duplicates_bound(15_000, 1_000, 24).unwrap_or(0.0);
    let found = format!("{:.2} %", 100.0 * duplicates);
    outcome.decide("C06", found.clone(), found == "58.27 %");
    let widths = [600, 8_000, 200].map(|rows| top_n::paper_width(1_000, rows, DELTA).unwrap_or(0));
    let found = format!("{} columns", widths.map(|it| it.to_string()).join(", "));
    outcome.decide("C07", found, widths == [16, 5, 288]);
    let shape = Shape { rows: 600, columns: 16 };
    let pruned = [8_000_000, 100_000_000].map(|entries| top_n::pruned_bound(entries, shape));
    let [few, many] = pruned.map(|it| 100.0 * it);
    let printed = [format!("{few:.0} %"), format!("{many:.1} %")];
    outcome.decide("C08", format!("{few:.2} %, {many:.2} %"), printed == ["99 %", "99.9 %"]);
    let best = top_n::paper_optimum(1_000, DELTA);
    let found = best.map_or_else(String::new, |it| format!("{} × {}", it.rows, it.columns));
    outcome.decide("C09", found.clone(), found == "481 × 19");
    let rounded_down =
        |rows| Some(Shape { rows, columns: top_n::paper_width(1_000, rows, DELTA)? });
    let fewest = (1..10_000).filter_map(rounded_down).min_by_key(|it| it.cells());
    if let (Some(best), Some(fewest)) = (best, fewest.filter(|it| Some(*it) != best)) {
        outcome.note(format!(
            "the continuous optimum, rounded. The formula's columns are rounded down, so that {} × {} has {} cells and \
             this matrix {}",
            fewest.rows,
            fewest.columns,
            grouped(fewest.cells()),
            grouped(best.cells())
        ));
    }
    let most = distinct::max_distinct(64, 1_000, DELTA);
    // The number is published as 500 million, with three digits at most.
    let millions = (most as f64 / 1e6).round();
    outcome.decide("C10", format!("64 bits for {} values", grouped(most)), millions == 500.0);
    outcome.note(format!(
        "the published number is restored and rounded. The formula allows 64 bits for this many values, which round to \
         500 million. For exactly 500,000,000 it needs {:.3} bits, so the claim holds for the rounded number only",
        distinct::fingerprint_bits_real(500_000_000, 1_000, DELTA)
    ));
    let gbit = line_rate::throughput(10e6, 64) / 1e9;
    let found = format!("{gbit:.2}");
    outcome.decide("C15", format!("{found} Gbit/s"), found == "5.12");
    let all = distinct::fingerprint_bits_all_distinct(500_000_000, DELTA);
    let saved = all - distinct::fingerprint_bits_real(500_000_000, 1_000, DELTA);
    let found = format!("{saved:.1} bits; log2 d is {:.1}", 1_000_f64.log2());
    outcome.decide("C46", found, is_within(saved, 1_000_f64.log2(), QUARTER));
    outcome.note(format!(
        "for 1,000 rows. The load of a row is bounded by e times its mean, which costs 2 log2 e = {:.1} bits for any \
         number of rows. The paper's formulas of both lengths are lost; if the sentence is about growth, it holds",
        2.0 * std::f64::consts::LOG2_E
    ));
    decide_logarithms(&mut outcome);

    let row = |it: Statement| {
        let exact = it.exact.unwrap_or_default();
        vec![it.theorem.to_owned(), it.inputs, it.value, it.paper.to_owned(), exact]
    };
    outcome.tables.push(Table {
        title: "Theorems and their examples".to_owned(),
        columns: vec!["theorem", "example", "formula gives", "published", "exact"],
        rows: statements().into_iter().map(row).collect(),
        provenance: Provenance::Counted,
    });
    outcome.charts.push(widths_by_rows());
    outcome
}

/// The logarithms and the rules that the paper gives each coordinate of 32 bits.
const LOGARITHMS: usize = 1 << 16;
const RULES: usize = 32;

/// Counts the entries of the tables of the APH program, for each coordinate.
fn decide_logarithms(outcome: &mut Outcome) {
    let configured = Algorithm::SkylineProduct.configure(&Parameters::default());
    let program = configured.map(|it| it.program()).ok();
    let tables = |name: &str| -> Vec<usize> {
        let tables = program.iter().flat_map(Program::tables);
        tables.filter(|(_, it)| it.name.starts_with(name)).map(|(_, it)| it.entries.len()).collect()
    };
    let (logarithms, rules) = (tables("logarithm"), tables("highest_bit"));
    let all = |counts: &[usize], each: usize| {
        !counts.is_empty() && counts.iter().all(|count| *count == each)
    };
    let first = |counts: &[usize]| counts.first().copied().unwrap_or(0);
    outcome.decide(
        "C47",
        format!("{} logarithms, {} rules", grouped(first(&logarithms) as u64), first(&rules)),
        all(&logarithms, LOGARITHMS) && all(&rules, RULES),
    );
    outcome.note(format!(
        "for each coordinate of 32 bits, our program needs fewer. The logarithm of 0 needs no entry, because a field is \
         0 without one. Numbers below 2^16 need no rule, because they are looked up as they are. The logarithms have an \
         error of {:.1e} at most",
        skyline::log_error(2_f64.powi(26), true)
    ));
}

/// The published numbers of rows and columns for TOP 1000.
const PUBLISHED: [(u64, u64); 4] = [(200, 288), (481, 19), (600, 16), (8_000, 5)];

/// Returns the columns that TOP 1000 needs for each number of rows, by the theorem and by the exact tail. The published
/// examples are four points, which no line connects.
fn widths_by_rows() -> Chart {
    let least = PUBLISHED[0].0;
    let rows = || (0..=11).map(|step| (least as f64 * 2_f64.powf(f64::from(step) / 2.0)) as u64);
    let point = |rows: u64, columns: u64, label: String| (rows as f64, columns as f64, label);
    let by_theorem = rows().filter_map(|rows| {
        Some(point(rows, top_n::paper_width(1_000, rows, DELTA)?, String::new()))
    });
    let exact = rows()
        .map(|rows| point(rows, top_n::exact_width(1_000, rows, DELTA).max(1), String::new()));
    let published = PUBLISHED
        .map(|(rows, columns)| point(rows, columns, format!("{} × {columns}", grouped(rows))));
    let series = |name: &str, points: Vec<(f64, f64, String)>, is_published: bool| PointSeries {
        name: name.to_owned(),
        points,
        is_published,
    };
    Chart {
        title: "Columns of TOP 1000 by rows, for a failure in 10,000 queries".to_owned(),
        x: Axis::logarithmic("rows"),
        y: Axis::logarithmic("columns"),
        marks: Marks::Points(vec![
            series("formula of the theorem", by_theorem.collect(), false),
            series("exact tail of the binomial distribution", exact.collect(), false),
            series("examples, published", published.to_vec(), true),
        ]),
        provenance: Provenance::Counted,
    }
}
