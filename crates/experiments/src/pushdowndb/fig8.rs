//! Figure 8: the sample of a top-K.

use sluicegate_costmodel::{
    AnswerFormat, Bytes, Format, HardwareProfile, PriceBook, Requests, Rows, ScanDemand, Steps,
    Terms, TopKDemand, Work, break_even, predict,
};

use super::paper::{
    LINEITEM, LINEITEM_ROWS, OBJECTS, PARTS, ROW_BYTES, predicted, provenance, seconds,
};
use crate::experiment::Method;
use crate::{Experiment, Outcome, Table};

/// The figure, predicted for the paper's client.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/fig8",
    title: "Time, bytes and cost of a top-K by the size of its sample",
    place: "PushdownDB §VII, Figure 8",
    method: Method::Computed(compute),
};

const K: Rows = Rows(100);
/// The share of a row that the sorted column takes.
const SHARE: f64 = 0.1;
const SAMPLES: [u64; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Returns a top-K over lineitem with a sample of this size.
fn top_k(sample: u64) -> TopKDemand {
    TopKDemand {
        scan: ScanDemand {
            objects: OBJECTS,
            format: Format::Csv,
            answer: AnswerFormat::Csv,
            needed: LINEITEM,
            gaps: Bytes::ZERO,
            rows: LINEITEM_ROWS,
            looked_up: None,
            terms: Terms::NONE,
            passing: 1.0,
            items: Terms::NONE,
            constants: 0,
            selectivity: 1.0,
            columns: 16,
            filter_columns: 0,
            bytes_per_returned_row: ROW_BYTES as f64,
            footers: Requests::ZERO,
            get_requests: Requests(PARTS),
            gets_at_once: None,
            select_requests: Some(Requests(OBJECTS)),
            selects_at_once: None,
        },
        k: K,
        share: SHARE,
        keys_needed: LINEITEM,
        sample_requests: Requests(OBJECTS),
        sample_rows: Some(Rows(sample)),
    }
}

fn compute() -> Outcome {
    let hardware = HardwareProfile::paper();
    let mut outcome = Outcome::default();
    let best = break_even::top_k_sample(K, Rows(60_000_000), SHARE);
    outcome.decide("P53", best.0.to_string(), best.0 == 244_949);
    let declared = format!("{:.2} GB, {:.1} million rows", LINEITEM.as_gib(), millions());
    let sizes =
        (LINEITEM.as_gib() / 7.25 - 1.0).abs() <= 0.01 && (millions() / 60.0 - 1.0).abs() <= 0.01;
    outcome.decide("P54", declared, sizes);
    outcome.decide("P55", "1e3 to 1e7", SAMPLES[0] == 1_000 && SAMPLES[4] == 10_000_000);

    let mut rows = Vec::new();
    let mut phases = Vec::new();
    let mut scanned = Vec::new();
    for sample in SAMPLES {
        let Some(Steps::InTurn(steps)) = top_k(sample).sampling() else { continue };
        let [first, second] = [0, 1].map(|at| predict(&steps[at], hardware).total());
        let returned = steps.iter().map(|it| it.work().returned).sum::<Bytes>();
        let second_cost =
            PriceBook::paper().cost(&Work { wall: second, ..steps[1].work() }).scanned.cents();
        let (time, cost) = predicted(&Steps::InTurn(steps), hardware);
        rows.push(vec![
            sample.to_string(),
            seconds(first),
            seconds(second),
            seconds(time),
            format!("{:.1}", returned.as_f64() / 1e6),
            format!("{:.2}", cost.total().cents()),
        ]);
        phases.push((sample, first, second, returned));
        scanned.push(second_cost / cost.total().cents());
    }
    let monotone = phases.windows(2).all(|pair| pair[0].1 <= pair[1].1 && pair[0].2 >= pair[1].2);
    let ends = phases.first().zip(phases.last());
    let opposite = monotone && ends.is_some_and(|(few, many)| few.1 < many.1 && few.2 > many.2);
    outcome.decide("P56", if opposite { "both" } else { "not both" }, opposite);
    let fewest = phases.iter().min_by_key(|it| it.3).map_or(0, |it| it.0);
    let near = (best.as_f64() / 3.0..=best.as_f64() * 3.0).contains(&(fewest as f64));
    outcome.decide("P57", fewest.to_string(), near);
    let least = scanned.iter().copied().fold(f64::INFINITY, f64::min);
    outcome.decide("P58", format!("at least {:.0} %", 100.0 * least), least > 0.5);
    outcome.tables.push(Table {
        title: "The 100 least prices of lineitem at scale factor 10".to_owned(),
        columns: vec!["sample", "phase 1", "phase 2", "seconds", "MB returned", "cents"],
        rows,
        provenance: provenance(),
    });
    outcome
}

fn millions() -> f64 {
    LINEITEM_ROWS.as_f64() / 1e6
}
