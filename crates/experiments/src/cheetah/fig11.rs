//! Figures 11a to 11e: what is forwarded of the first entries.

use sluicegate_workloads::DataTable;
use sluicegate_workloads::bigdata::Table;

use super::bigdata::{VISITS, bigdata, join_scale, joined, rows};
use super::fig10b::{APH, BOUNDED, HEAVY};
use super::sweep::{Point, Sweep, chart, falls, of, percent, points, table};
use super::{fig10b, fig10c, fig10e};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// Figure 11a: DISTINCT.
pub const DISTINCT: Experiment = Experiment {
    id: "cheetah/fig11a",
    title: "What DISTINCT forwards of the first entries",
    place: "Cheetah §8.3, Figure 11a",
    method: Method::Live {
        runs: |setting| vec![visits("distinct", "useragent", &["-d", "4096"], setting)],
        evaluate: |_, results| evaluate("C36", "distinct", true, DISTINCT.title, results),
    },
};

/// Figure 11b: SKYLINE.
pub const SKYLINE: Experiment = Experiment {
    id: "cheetah/fig11b",
    title: "What SKYLINE forwards of the first entries",
    place: "Cheetah §8.3, Figure 11b",
    method: Method::Live {
        runs: |setting| {
            let over = prefixes(rows(Table::Rankings, setting));
            let run = |rank| fig10b::sweep(rank, &over).run(rank, &bigdata(setting));
            [BOUNDED, HEAVY].map(run).to_vec()
        },
        evaluate: |_, results| evaluate_skyline(results),
    },
};

/// Figure 11c: TOP N.
pub const TOP_N: Experiment = Experiment {
    id: "cheetah/fig11c",
    title: "What TOP 250 forwards of the first entries",
    place: "Cheetah §8.3, Figure 11c",
    method: Method::Live {
        runs: |setting| {
            let matrix = fig10c::smallest().map(fig10c::arguments);
            let matrix: Vec<&str> = matrix.iter().flatten().map(String::as_str).collect();
            vec![visits("top-n-randomized", "adrevenue", &matrix, setting)]
        },
        evaluate: |_, results| evaluate("C38", "top-n-randomized", true, TOP_N.title, results),
    },
};

/// Figure 11d: GROUP BY.
pub const GROUP_BY: Experiment = Experiment {
    id: "cheetah/fig11d",
    title: "What GROUP BY forwards of the first entries",
    place: "Cheetah §8.3, Figure 11d",
    method: Method::Live {
        runs: |setting| vec![visits("group-by", "useragent,adrevenue", &["-w", "8"], setting)],
        evaluate: |_, results| evaluate("C39", "group-by", true, GROUP_BY.title, results),
    },
};

/// Figure 11e: JOIN.
pub const JOIN: Experiment = Experiment {
    id: "cheetah/fig11e",
    title: "What JOIN forwards of the first entries",
    place: "Cheetah §8.3, Figure 11e",
    method: Method::Live { runs: joins, evaluate: |_, results| evaluate_join(results) },
};

const RUN: &str = "prefixes";
/// The number of prefixes.
const POINTS: usize = 8;

/// Returns the axis of the first entries, from a two hundredth of all.
pub(super) fn prefixes(entries: u64) -> String {
    format!("prefix={}..{entries}/{POINTS}", entries / 200)
}

fn visits(algorithms: &str, columns: &str, more: &[&str], setting: &Setting) -> Run {
    let sweep = Sweep {
        algorithms,
        over: vec![prefixes(rows(Table::Uservisits, setting))],
        input: VISITS,
        columns,
        more: more.iter().map(|&it| it.to_owned()).collect(),
    };
    sweep.run(RUN, &bigdata(setting))
}

/// Returns the sweep of a join with a filter that is as small as 4 MB are for the paper's tables.
fn joins(setting: &Setting) -> Vec<Run> {
    let (scale, files) = (join_scale(setting), fig10e::files(setting));
    let entries: u64 = [Table::Rankings, Table::Uservisits].map(|it| it.rows(scale)).iter().sum();
    let mut sweep = fig10e::sweep("join-bloom", prefixes(entries), &files);
    let bits = (4.0 * 8.0 * 1024.0 * 1024.0 * scale).log2().floor().exp2();
    sweep.more.extend(["--filter-bits".to_owned(), bits.to_string()]);
    vec![sweep.run(RUN, &joined(setting))]
}

fn evaluate(
    claim: &'static str,
    algorithm: &str,
    does_fall: bool,
    title: &str,
    results: &Results,
) -> Result<Outcome, ResultsError> {
    let all = points(results, &[RUN])?;
    let shares: Vec<f64> = of(&all, algorithm).map(|point| point.forwarded).collect();
    let ends = [shares.first(), shares.last()].map(|it| it.copied().unwrap_or(f64::NAN));
    let mut towards = shares.clone();
    if !does_fall {
        towards.reverse();
    }
    let holds = falls(&towards);
    let mut outcome = Outcome::default();
    outcome.decide(claim, format!("forwards {} to {}", percent(ends[0]), percent(ends[1])), holds);
    if !holds {
        let all: Vec<String> = shares.iter().map(|share| percent(*share)).collect();
        outcome.note(format!("the shares are not ordered: {}", all.join(", ")));
    }
    outcome.tables.push(table(title, &all));
    outcome.charts.push(chart(title, first_entries(), &all, thousands));
    Ok(outcome)
}

/// The axis of prefixes. Labels in thousands are short enough for all of them.
pub(super) fn first_entries() -> Axis {
    Axis::logarithmic("first entries, thousands")
}

pub(super) fn thousands(point: &Point) -> f64 {
    point.value / 1000.0
}

/// Decides by the ranks as they are generated, and by those that are shaped for SKYLINE.
fn evaluate_skyline(results: &Results) -> Result<Outcome, ResultsError> {
    let mut outcome = Outcome::default();
    let (mut found, mut notes, mut holds) = (Vec::new(), Vec::new(), true);
    for rank in [BOUNDED, HEAVY] {
        let all = points(results, &[rank])?;
        let shares: Vec<f64> = of(&all, APH).map(|point| point.forwarded).collect();
        let ends = [shares.first(), shares.last()].map(|it| it.copied().unwrap_or(f64::NAN));
        found.push(format!("forwards {} to {} of {rank}", percent(ends[0]), percent(ends[1])));
        if !falls(&shares) {
            holds = false;
            let all: Vec<String> = shares.iter().map(|share| percent(*share)).collect();
            notes.push(format!("with {rank} the shares are not ordered: {}", all.join(", ")));
        }
        let title = format!("{}: {rank}", SKYLINE.title);
        outcome.tables.push(table(title.as_str(), &all));
        outcome.charts.push(chart(title, first_entries(), &all, thousands));
    }
    notes.push(
        "The paper's data is not published. Bounded ranks are shaped for SKYLINE, as in Figure 10b. Generated ranks \
         have a heavy tail: a few entries of a great rank stay in the switch although they dominate few others"
            .to_owned(),
    );
    outcome.decide("C37", found.join(", "), holds);
    outcome.note(notes.join(". "));
    Ok(outcome)
}

/// The share of a join also rises because more and more visits find their page.
fn evaluate_join(results: &Results) -> Result<Outcome, ResultsError> {
    let mut outcome = evaluate("C40", "join-bloom", false, JOIN.title, results)?;
    let all = points(results, &[RUN])?;
    if let (Some(first), Some(last)) = (all.first(), all.last())
        && outcome.verdicts.iter().all(|verdict| verdict.holds)
    {
        outcome.note(format!(
            "the share of the entries with a match rises, too, from {} to {}. False positives are {} to {} of the entries",
            percent(first.optimum),
            percent(last.optimum),
            percent(first.forwarded - first.optimum),
            percent(last.forwarded - last.optimum),
        ));
    }
    Ok(outcome)
}
