//! The Bloom filters of §V, and the statement's limit of 256 KB.

use sluicegate_costmodel::Provenance;

use super::bloom::{Hash, LONGEST, affordable, bits, hashes};
use super::data;
use super::joins::{BOUNDS, customers};
use super::sweep::LINK;
use crate::chart::{Axis, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The formulas, and the filters that the engine sends.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/bloom-limit",
    title: "The false-positive rate of filters that must fit into a statement of 256 KB",
    place: "PushdownDB §V-A, §V-B1, Listing 1",
    method: Method::Live { runs, evaluate },
};

const WANTED: f64 = 0.01;
/// The rates that the authors' code uses in Figure 2, by its formula.
const USED: [&str; 6] = ["0.0100", "0.0100", "0.0254", "0.0726", "0.1298", "0.1913"];
/// The largest relative difference of the engine's rates, whose hash functions take more room.
const TOLERANCE: f64 = 0.1;
/// The largest relative difference between a filter's bits and the formula. A filter has a whole number of hashes.
const SAME_BITS: f64 = 0.01;
const RUN: &str = "filters";

/// Returns the bound that as many of 150,000 customers pass as pass the paper's bound of 1.5 million.
fn bound(paper: f64) -> f64 {
    -999.99 + 10.0 * (paper + 999.99)
}

/// Orders are one object here that is read in one range. The engine would otherwise send each part of a table the keys
/// of its own, and keep the wanted rate.
fn runs(_: &Setting) -> Vec<Run> {
    let (keys, orders) = (data::customers(), data::all_of_tpch());
    let location = format!("s3://{}/sf{}/csv/orders/", orders.name, data::ALL_SCALE);
    let query = |paper: &f64| {
        format!(
            "explain analyze select sum(o_totalprice) from customer, '{location}' \
             where o_custkey = c_custkey and c_acctbal <= {:.2}",
            bound(*paper)
        )
    };
    let queries: Vec<String> = BOUNDS.iter().map(query).collect();
    let settings =
        [("scan", "select"), ("join", "bloom"), ("bloom_p", "0.01"), ("range_bytes", "1073741824")];
    let mut run = Run::sql(RUN, &keys, LINK, &settings, &queries, 1).with_data(&orders);
    run.arguments.extend(["--store", "aws"].map(str::to_owned));
    vec![run]
}

/// A filter that the engine sent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sent {
    keys: f64,
    bits: f64,
    rate: f64,
}

/// Reads the filters from plans: `keys=bloom on o_custkey (6804 keys, 65219 bits, p = 0.01)`.
fn filters(plans: &str) -> Vec<Sent> {
    let number = |text: Option<&str>| text?.trim().parse().ok();
    let read = |text: &str| {
        let (_, text) = text.split_once('(')?;
        let mut parts = text.split(')').next()?.split(',');
        let keys = number(parts.next()?.strip_suffix(" keys"))?;
        let bits = number(parts.next()?.strip_suffix(" bits"))?;
        let rate = number(parts.next()?.trim().strip_prefix("p = "))?;
        Some(Sent { keys, bits, rate })
    };
    plans.split("keys=").skip(1).filter_map(read).collect()
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let sent = filters(&results.record(RUN)?.answers);
    let mut outcome = Outcome::default();
    let listing = Hash { a: 69, b: 92, n: 97, m: 68 };
    let off = sent.iter().map(|it| (it.bits / bits(it.keys, it.rate) - 1.0).abs());
    let off: Vec<f64> = off.collect();
    let most = off.iter().copied().fold(0.0, f64::max);
    let found = format!(
        "the bits of {} filters are within {:.2} % of the formula; {} hashes at 0.1, {} at 0.01, {} at 0.0001; {} is {} \
         above {}",
        sent.len(),
        100.0 * most,
        hashes(0.1),
        hashes(0.01),
        hashes(0.0001),
        listing.n,
        if listing.is_universal() { "a prime" } else { "no prime" },
        listing.m,
    );
    let as_computed = sent.len() == BOUNDS.len() && off.iter().all(|it| *it <= SAME_BITS);
    let rounded = [0.1, 0.01, 0.0001].map(hashes) == [4.0, 7.0, 14.0];
    outcome.decide("P31", found, as_computed && rounded && listing.is_universal());
    outcome.note(
        "the bits are those of the filters that the engine sends; the hashes are log2 1/p, rounded up as in the authors' \
         code; 69, 92, 97 and 68 are a, b, n and m of the hash in Listing 1",
    );

    let rates = BOUNDS.map(|bound| affordable(customers(bound), WANTED));
    let printed = rates.map(|rate| format!("{rate:.4}"));
    let near = |(rate, sent): (&f64, &Sent)| (sent.rate / rate - 1.0).abs() <= TOLERANCE;
    let holds = printed == USED && sent.len() == rates.len() && rates.iter().zip(&sent).all(near);
    let found = format!("{LONGEST} bytes; rates {}", printed.join(", "));
    outcome.decide("P32", found, holds);
    let engine: Vec<String> = sent.iter().map(|it| format!("{:.4}", it.rate)).collect();
    outcome.note(format!("the filters that the engine sends have {}", engine.join(", ")));

    let rows = BOUNDS.iter().zip(&rates).enumerate().map(|(at, (bound, rate))| {
        let sent = sent.get(at);
        let of = |get: fn(&Sent) -> String| sent.map_or_else(|| "none".to_owned(), get);
        vec![
            bound.to_string(),
            format!("{:.0}", customers(*bound)),
            format!("{:.0}", bits(customers(*bound), WANTED)),
            format!("{rate:.4}"),
            format!("{:.0}", hashes(*rate)),
            of(|it| format!("{:.0}", it.keys)),
            of(|it| format!("{:.0}", it.bits)),
            of(|it| format!("{:.4}", it.rate)),
        ]
    });
    outcome.tables.push(Table {
        title: "Filters on orders, for which 0.01 is wanted, by the bound on c_acctbal".to_owned(),
        columns: vec![
            "bound",
            "keys at scale 10",
            "bits at 0.01",
            "rate used",
            "hashes",
            "engine's keys",
            "engine's bits",
            "engine's rate",
        ],
        rows: rows.collect(),
        provenance: Provenance::Counted,
    });
    let keys: Vec<f64> = (1..=60).map(|it| 5_000.0 * f64::from(it)).collect();
    let line = keys.iter().map(|keys| (*keys, affordable(*keys, WANTED)));
    outcome.charts.push(Chart {
        title: "The least rate of a filter in a statement".to_owned(),
        x: Axis::linear(format!("keys, in a statement of {LONGEST:.0} bytes")),
        y: Axis::logarithmic("false-positive rate"),
        marks: Marks::Lines(vec![
            Line::new("formula", line),
            Line::new("engine", sent.iter().map(|it| (it.keys, it.rate))),
        ]),
        provenance: Provenance::Counted,
    });
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read_from_plans() {
        let plans = "keys=bloom on o_custkey (6804 keys, 65219 bits, p = 0.01), sent=S\nkeys=list on x (3 keys)";
        assert_eq!(filters(plans), [Sent { keys: 6804.0, bits: 65_219.0, rate: 0.01 }]);
    }

    #[test]
    fn the_rates_of_figure_2_are_raised_to_fit() {
        let rates = BOUNDS.map(|bound| format!("{:.4}", affordable(customers(bound), WANTED)));
        assert_eq!(rates, USED);
    }
}
