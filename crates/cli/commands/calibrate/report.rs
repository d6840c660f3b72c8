//! The report of a calibration.

use serde_json::Value;
use sluicegate_costmodel::calibration::{Experiment, scatter};
use sluicegate_costmodel::{Bytes, HardwareProfile, PriceBook, Requests};
use sluicegate_engine::CounterSnapshot;

use crate::failure::Result;
use crate::output::constant::in_words;
use crate::output::listing::{ListFormat, Listing, fraction};
use crate::output::progress::print_line;
use crate::output::stats;

/// Prints the constants, the accuracy of their predictions, and the requests that the calibration took.
pub(super) fn print(
    profile: &HardwareProfile,
    experiments: &[Experiment],
    counted: &CounterSnapshot,
    prices: &PriceBook,
    format: ListFormat,
) -> Result<()> {
    let calibration = profile.calibration.clone().unwrap_or_default();
    let mut listing = Listing::new(&["constant", "value", "low", "high", "is"]);
    for constant in profile.constants() {
        let interval = calibration.intervals.get(constant.key);
        let bound = |at: usize| match interval {
            Some(interval) if interval[at].is_finite() => fraction(interval[at]),
            _ => Value::Null,
        };
        let is = match interval {
            Some(_) => "measured",
            None if constant.key == "client.cores" => "counted",
            None if constant.key == "client.machines" => "given",
            None if calibration.assumed.iter().any(|key| constant.key.starts_with(key)) => {
                "assumed"
            }
            // Derived from other constants, without an interval of its own.
            None => "measured",
        };
        let shown = |value: Value| match (format, value.as_f64()) {
            (ListFormat::Table, Some(number)) => in_words(constant.key, number).into(),
            _ => value,
        };
        let (low, high) = (shown(bound(0)), shown(bound(1)));
        let value = shown(fraction(constant.value));
        listing.push(vec![constant.key.into(), value, low, high, is.into()]);
    }
    listing.print(format, "")?;
    let bytes = Bytes(counted.link_bytes() + counted.put_bytes);
    let work = counted.work(std::time::Duration::ZERO);
    print_line(&format!(
        "counted: {}, {bytes} over the link, {} scanned; the store's bill is {} at the prices {}",
        Requests(counted.requests()).in_words(),
        Bytes(counted.scanned_bytes),
        prices.cost(&work).store(),
        stats::book(prices),
    ));
    let errors: Vec<f64> = experiments.iter().filter_map(|it| it.error(profile)).collect();
    if !errors.is_empty() {
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        print_line(&format!(
            "predicted against measured seconds of {} queries: {:.0} % mean error; the same took \
             {:.0} % more or less each time",
            errors.len(),
            mean * 100.0,
            scatter(experiments) * 100.0,
        ));
    }
    if calibration.assumed.iter().any(|key| key == "select") {
        print_line(
            "the store has no S3 Select, or does not let us use it: its constants are left out",
        );
    }
    for noise in &calibration.noise {
        print_line(&format!("warning: {noise}; measure again when it is quiet"));
    }
    Ok(())
}
