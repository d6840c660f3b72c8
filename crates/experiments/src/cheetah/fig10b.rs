//! Figure 10b: SKYLINE by the number of points that the switch keeps.

use super::bigdata::{PAGES, bigdata};
use super::sweep::{OPTIMUM, Point, Sweep, chart, of, points, pruned, table};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// The figure, over two shapes of the pages' ranks.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig10b",
    title: "What SKYLINE forwards, by the points that are kept",
    place: "Cheetah §8.3, Figure 10b",
    method: Method::Live { runs, evaluate },
};

/// Ranks that are shaped so that few points dominate most others.
pub(super) const BOUNDED: &str = "bounded ranks";
/// Ranks as they are generated.
pub(super) const HEAVY: &str = "heavy-tailed ranks";
pub(super) const APH: &str = "skyline-aph";
const SUM: &str = "skyline-sum";

/// Returns the columns of a point. Equal coordinates dominate, as the paper defines it; values are whole numbers.
pub(super) fn sweep(rank: &str, over: &str) -> Sweep<'static> {
    Sweep {
        algorithms: "skyline-sum,skyline-aph,skyline-baseline",
        over: vec![over.to_owned()],
        input: PAGES,
        columns: if rank == BOUNDED { "boundedrank,avgduration" } else { "pagerank,avgduration" },
        more: vec!["--ties".to_owned(), "prune".to_owned()],
    }
}

fn runs(setting: &Setting) -> Vec<Run> {
    let data = bigdata(setting);
    [BOUNDED, HEAVY].map(|rank| sweep(rank, "w=1..20").run(rank, &data)).to_vec()
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let [bounded, heavy] = [BOUNDED, HEAVY].map(|rank| points(results, &[rank]));
    let (bounded, heavy) = (bounded?, heavy?);
    let at = |points: &[Point], algorithm: &str, w: f64| {
        of(points, algorithm).find(|it| it.value == w).map_or(1.0, |it| it.forwarded)
    };
    let better = |points: &[Point]| {
        let both = of(points, APH).zip(of(points, SUM));
        both.filter(|(product, sum)| product.forwarded < sum.forwarded).count()
    };
    let counts = of(&bounded, APH).count();
    // Of all entries with 7 points, and of the superfluous ones with 20.
    let seven = |points: &[Point]| [APH, SUM].map(|it| at(points, it, 7.0));
    let twenty = |points: &[Point]| {
        of(points, APH).find(|it| it.value == 20.0).map_or(0.0, Point::pruned_duplicates)
    };
    let [product, sum] = seven(&bounded);
    let mut outcome = Outcome::default();
    let found = format!(
        "APH more than SUM at {} of {counts} sizes; {} and {}; {} of the superfluous",
        better(&bounded),
        pruned(product),
        pruned(sum),
        pruned(1.0 - twenty(&bounded)),
    );
    let holds = counts > 0
        && better(&bounded) == counts
        && product < 0.01
        && sum < 0.01
        && twenty(&bounded) >= 1.0;
    outcome.decide("C31", found, holds);
    let [product, sum] = seven(&heavy);
    outcome.note(format!(
        "the paper's data is not published, and its numbers of points are restored. The percents are of APH and SUM \
         with 7 points, and of APH with 20. The ranks here are shaped for the claim: 1000 (1 - 10 / rank). Each point \
         that the switch stores is forwarded once, so more points prune less. The baseline, which keeps the first \
         points, prunes {} with 7. Generated ranks have a heavy tail: APH prunes {} and SUM {} with 7 points, and APH \
         {} of the superfluous entries with 20",
        pruned(at(&bounded, "skyline-baseline", 7.0)),
        pruned(product),
        pruned(sum),
        pruned(1.0 - twenty(&heavy)),
    ));
    outcome.tables.push(table("Pages with bounded ranks and durations of 1 to 100", &bounded));
    outcome.tables.push(table("Pages with heavy-tailed ranks", &heavy));
    let mut draw = |name: &str, points: &[Point]| {
        let title = format!("{}: {name}", EXPERIMENT.title);
        outcome.charts.push(chart(title, Axis::linear("points w"), points, |it| it.value));
    };
    draw(BOUNDED, &bounded);
    draw(HEAVY, &heavy);
    outcome.remarks.push(OPTIMUM.to_owned());
    outcome.remarks.push(
        "SKYLINE keeps the points with the greatest product of coordinates (APH, by sums of logarithms from a table) or \
         with the greatest sum (SUM)."
            .to_owned(),
    );
    Ok(outcome)
}
