//! Figure 10c: TOP 250 by the stages of the switch.

use sluicegate_pruning::theory::top_n::{Shape, exact_width, expected_pruned, paper_optimum};

use super::bigdata::{VISITS, bigdata};
use super::sweep::{OPTIMUM, Point, Sweep, chart, grouped, of, points, pruned, table};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::tolerance::{QUARTER, is_within};
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// The figure. The randomized algorithm has the matrices of the theorem, by its formula and by the exact tail.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig10c",
    title: "What TOP 250 forwards, by the columns of its matrix",
    place: "Cheetah §8.3, Figure 10c",
    method: Method::Live { runs, evaluate },
};

/// The rows that the query returns.
pub(super) const N: u64 = 250;
/// The probability that a row of the answer is lost.
pub(super) const DELTA: f64 = 1e-4;
const DETERMINISTIC: &str = "deterministic";
/// The published multiple of the optimum, and the share that is pruned.
const RATIO: f64 = 5.0;
const PRUNED: f64 = 0.999_95;
/// The visits of appendix B.
const WHOLE: u64 = 775_000_000;

/// Returns the matrices that lose a row of the answer with at most [`DELTA`], by the exact tail of theorem 1.
pub(super) fn matrices() -> Vec<Shape> {
    let rows = (6..=12).map(|power| 1_u64 << power);
    rows.map(|rows| Shape { rows, columns: exact_width(N, rows, DELTA) }).collect()
}

/// Returns the matrix with the fewest cells.
pub(super) fn smallest() -> Option<Shape> {
    matrices().into_iter().min_by_key(|shape| shape.cells())
}

/// Returns the arguments for a matrix.
pub(super) fn arguments(Shape { rows, columns }: Shape) -> [String; 4] {
    ["-d".to_owned(), rows.to_string(), "-w".to_owned(), columns.to_string()]
}

/// Returns all matrices that run: also the one that the closed formula of the theorem gives.
fn all_matrices() -> Vec<Shape> {
    matrices().into_iter().chain(paper_optimum(N, DELTA)).collect()
}

fn name(shape: Shape) -> String {
    format!("{} × {}", shape.rows, shape.columns)
}

fn runs(setting: &Setting) -> Vec<Run> {
    let data = bigdata(setting);
    let sweep = |algorithms, over: String, more: Vec<String>| Sweep {
        algorithms,
        over: vec![over],
        input: VISITS,
        columns: "adrevenue",
        more,
    };
    let deterministic = sweep("top-n-deterministic", "w=1..16".to_owned(), Vec::new());
    let mut runs = vec![deterministic.run(DETERMINISTIC, &data)];
    for shape in all_matrices() {
        let over = format!("w={0}..{0}", shape.columns);
        let more = arguments(shape)[..2].to_vec();
        runs.push(sweep("top-n-randomized", over, more).run(&name(shape), &data));
    }
    runs
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let mut all = points(results, &[DETERMINISTIC])?;
    for shape in matrices() {
        all.extend(points(results, &[&name(shape)])?);
    }
    let at = |shape: Option<Shape>| -> Result<Option<Point>, ResultsError> {
        Ok(shape
            .map(name)
            .map(|name| points(results, &[&name]))
            .transpose()?
            .and_then(|it| it.into_iter().next()))
    };
    let ratio = |point: &Option<Point>| point.as_ref().map_or(f64::INFINITY, Point::over_optimum);
    let (best, by_formula) = (at(smallest())?, at(paper_optimum(N, DELTA))?);
    let matrix = |shape: Option<Shape>| shape.map(name).unwrap_or_default();
    let mut outcome = Outcome::default();
    let forwarded = by_formula.as_ref().map_or(1.0, |point| point.forwarded);
    let theorem = paper_optimum(N, DELTA);
    // Equal to the printed digits.
    let is_pruned = is_within(1.0 - forwarded, PRUNED, 0.5e-5);
    let found = format!("{}, {:.1} times the optimum", pruned(forwarded), ratio(&by_formula));
    outcome.decide("C32", found, is_within(ratio(&by_formula), RATIO, QUARTER) && is_pruned);
    let wide = of(&all, "top-n-randomized").last().map_or(f64::NAN, Point::over_optimum);
    let entries = by_formula.as_ref().map_or(0, |point| point.entries);
    let expected = theorem.map_or(f64::NAN, |shape| expected_pruned(WHOLE, shape));
    outcome.note(format!(
        "a longer stream is pruned more: of these {} entries no switch prunes more than {}, and of 775 million, this \
         matrix is expected to prune {}. The matrix is {}, which has the fewest cells by the formula of theorem 1. By \
         the exact tail of the binomial distribution, {} is enough, and forwards {:.1} times the optimum. The 4096 × 4 \
         of Table 2 forwards {wide:.0} times the optimum. The paper's numbers are restored, and its matrix is unknown",
        grouped(entries),
        pruned(best.as_ref().map_or(f64::NAN, |point| point.optimum)),
        pruned(1.0 - expected),
        matrix(theorem),
        matrix(smallest()),
        ratio(&best),
    ));
    all.extend(by_formula.map(|mut point| {
        point.algorithm = "closed formula".to_owned();
        point
    }));
    outcome.tables.push(table("The 250 greatest revenues of the visits", &all));
    let x = Axis::linear("columns, or cutoffs of the deterministic algorithm");
    outcome.charts.push(chart(EXPERIMENT.title, x, &all, |it| it.value));
    outcome.remarks.push(OPTIMUM.to_owned());
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrices_are_those_of_the_theorem() {
        assert_eq!(smallest(), Some(Shape { rows: 64, columns: 16 }));
        assert_eq!(paper_optimum(N, DELTA), Some(Shape { rows: 132, columns: 18 }));
        assert!(matrices().contains(&Shape { rows: 4096, columns: 4 }), "{:?}", matrices());
    }
}
