//! Figure 9: a top-K by K.

use super::fig8::query;
use super::paper::LINEITEM_ROWS;
use super::sweep::{self, Cell, series};
use super::sweep_charts;
use super::{data, names};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// The figure, measured here.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/fig9",
    title: "Time and cost of a top-K by K, with and without a sample",
    place: "PushdownDB §VII-C2, Figure 9",
    method: Method::Live { runs, evaluate },
};

/// The values of K at scale factor 10.
const PUBLISHED: [u64; 6] = [1, 10, 100, 1_000, 10_000, 100_000];
const WAYS: [(&str, [(&str, &str); 2]); 2] = [
    (names::SERVER, [("scan", "get"), ("top_k", "server")]),
    (names::SAMPLING, [("scan", "select"), ("top_k", "sampling")]),
];

/// The least ratio of times that counts as longer. Times within 10 % count as the same.
const SLOWER: f64 = 1.1;

/// Returns the values of K that have the same share of the table as the paper's, and 1.
fn values(setting: &Setting) -> Vec<u64> {
    let scaled = PUBLISHED.map(|k| ((k as f64 * setting.scale / 10.0).round() as u64).max(1));
    let mut values = scaled.to_vec();
    values.dedup();
    values
}

fn cells(setting: &Setting) -> Vec<Cell> {
    let data = data::tpch(setting);
    let of = |(name, settings): (&'static str, [(&'static str, &'static str); 2])| {
        let data = data.clone();
        values(setting)
            .into_iter()
            .map(move |k| Cell::new(name, (k.to_string(), k as f64), &data, &settings, query(k)))
    };
    WAYS.into_iter().flat_map(of).collect()
}

fn runs(setting: &Setting) -> Vec<Run> {
    sweep::runs(&cells(setting), sweep::ROUNDS)
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let [server, sampling] = WAYS.map(|(name, _)| series(&measured, name));
    let mut outcome = Outcome::default();
    let share = format!("{:.2} %", 100.0 * PUBLISHED[5] as f64 / LINEITEM_ROWS.as_f64());
    outcome.decide("P59", share.clone(), share == "0.17 %");
    let times =
        [&server, &sampling].map(|of| of.iter().map(|it| it.seconds()).collect::<Vec<f64>>());
    let grow = times.each_ref().map(|times| grows(times));
    let ratio =
        |times: &[f64]| times.last().zip(times.first()).map_or(0.0, |(last, first)| last / first);
    let found = format!(
        "from the least K to the largest, {} takes {:.2} times as long and {} {:.2} times",
        names::SERVER,
        ratio(&times[0]),
        names::SAMPLING,
        ratio(&times[1]),
    );
    outcome.decide("P60", found, grow == [true; 2]);
    let listed = times
        .each_ref()
        .map(|times| times.iter().map(|it| format!("{it:.3}")).collect::<Vec<String>>().join(", "));
    let reason = match grow == [true; 2] {
        true => String::new(),
        false => format!(
            ". The values of K have the paper's shares of the table, so that they are at most {} here: a heap of so few rows \
             takes no time beside loading and parsing",
            values(setting).last().copied().unwrap_or_default()
        ),
    };
    outcome.note(format!(
        "by K, the server-side top-K takes {} s; with a sample it takes {} s{reason}",
        listed[0], listed[1],
    ));
    let pairs = || server.iter().zip(&sampling);
    let faster = pairs().filter(|(all, some)| some.seconds() < all.seconds()).count();
    let cheaper = pairs().filter(|(all, some)| some.dollars() < all.dollars()).count();
    let many = server.len();
    let found = format!("faster at {faster} and cheaper at {cheaper} of {many}");
    outcome.decide("P61", found, faster == many && cheaper == many);
    if faster < many || cheaper < many {
        let ratios: Vec<String> =
            pairs().map(|(all, some)| format!("{:.2}", some.dollars() / all.dollars())).collect();
        outcome.note(format!(
            "ratios of costs by K: {}; S3 Select charges for the scan, and this client is faster than the paper's",
            ratios.join(", ")
        ));
    }
    let axis = || Axis::logarithmic("K");
    outcome.charts.push(sweep_charts::time_chart("Measured time of a top-K", axis(), &measured));
    outcome.charts.push(sweep_charts::cost_chart("Measured cost of a top-K", &measured));
    let title = format!("The K least prices of lineitem at scale factor {}", setting.scale);
    outcome.tables.push(sweep::table(title, "K", &measured));
    Ok(outcome)
}

/// Returns true if times grow: the last is longer than the first by [`SLOWER`], and none is shorter than the one before
/// by as much.
fn grows(times: &[f64]) -> bool {
    let ends = times.first().zip(times.last());
    ends.is_some_and(|(first, last)| last / first >= SLOWER)
        && times.windows(2).all(|pair| pair[1] * SLOWER > pair[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_grow_if_the_last_is_the_longest_beyond_noise() {
        assert!(grows(&[1.0, 0.95, 1.3, 1.5]));
        assert!(!grows(&[1.0, 1.0, 1.05]), "within the noise");
        assert!(!grows(&[1.0, 2.0, 1.5]), "falls");
        assert!(!grows(&[]));
    }

    #[test]
    fn k_has_the_papers_share_of_the_table() {
        assert_eq!(values(&Setting::FULL), [1, 10, 100, 1_000, 10_000]);
        assert_eq!(values(&Setting::QUICK), [1, 5, 50, 500]);
    }
}
