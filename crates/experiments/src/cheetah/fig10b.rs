//! Figure 10b: SKYLINE by the number of points that the switch keeps.

use super::bigdata::{PAGES, bigdata};
use super::sweep::{Point, Sweep, chart, of, points, pruned, table};
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

const BOUNDED: &str = "bounded ranks";
const HEAVY: &str = "heavy-tailed ranks";

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

/// The sweep over the pages with bounded ranks.
pub(super) fn bounded(over: &str) -> Sweep<'static> {
    sweep(BOUNDED, over)
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
    let [sum, product, first] =
        ["skyline-sum", "skyline-aph", "skyline-baseline"].map(|it| at(&bounded, it, 7.0));
    let better = of(&bounded, "skyline-aph")
        .zip(of(&bounded, "skyline-sum"))
        .filter(|(product, sum)| product.forwarded < sum.forwarded)
        .count();
    let mut outcome = Outcome::default();
    let found = format!(
        "APH {}, SUM {}, baseline {} with 7 points",
        pruned(product),
        pruned(sum),
        pruned(first)
    );
    let holds = product <= 0.01 && sum <= 0.01;
    outcome.decide("C31", found, holds);
    outcome.note(format!(
        "the paper's numbers are restored, and its data is unknown; ranks here are 1000 (1 - 10 / rank), whose \
         greatest are close to each other. Of the generated ranks, which have a heavy tail, APH prunes {} with 7 \
         points and {} with 20: the points of the greatest ranks do not have the longest durations. \
         With bounded ranks APH forwards less than SUM for {better} of 20 numbers of points, the smallest; each further point is forwarded once",
        pruned(at(&heavy, "skyline-aph", 7.0)),
        pruned(at(&heavy, "skyline-aph", 20.0)),
    ));
    outcome.tables.push(table("Pages with bounded ranks and durations of 1 to 100", &bounded));
    outcome.tables.push(table("Pages with heavy-tailed ranks", &heavy));
    let mut draw = |name: &str, points: &[Point]| {
        let title = format!("{}: {name}", EXPERIMENT.title);
        outcome.charts.push(chart(title, Axis::linear("points w"), points, |it| it.value));
    };
    draw(BOUNDED, &bounded);
    draw(HEAVY, &heavy);
    Ok(outcome)
}
