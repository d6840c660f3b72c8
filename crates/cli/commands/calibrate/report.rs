//! What was found out, for a reader.

use serde_json::Value;
use sluicegate_costmodel::calibration::{Experiment, scatter};
use sluicegate_costmodel::{Bytes, BytesPerSecond, HardwareProfile, PriceBook, Requests};
use sluicegate_engine::Counted;

use crate::failure::Result;
use crate::output::listing::{ListFormat, Listing, fraction};
use crate::output::progress::say;
use crate::output::stats;

/// Prints the constants, and says how well they predict and what measuring them took.
pub(super) fn print(
    profile: &HardwareProfile,
    experiments: &[Experiment],
    counted: &Counted,
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
            None => "assumed",
        };
        let shown = |value: Value| match (format, value.as_f64()) {
            (ListFormat::Table, Some(number)) => in_words(constant.key, number).into(),
            _ => value,
        };
        let (low, high) = (shown(bound(0)), shown(bound(1)));
        let value = shown(fraction(constant.value));
        listing.push(vec![name(constant.key, format).into(), value, low, high, is.into()]);
    }
    listing.print(format, "")?;
    let bytes = Bytes(counted.link_bytes() + counted.put_bytes);
    let work = counted.work(std::time::Duration::ZERO);
    say(&format!(
        "counted: {}, {bytes} over the link, {} scanned; the store's bill is {} at the prices {}",
        Requests(counted.requests()).in_words(),
        Bytes(counted.scanned_bytes),
        prices.cost(&work).store(),
        stats::book(prices),
    ));
    let errors: Vec<f64> = experiments.iter().filter_map(|it| it.error(profile)).collect();
    if !errors.is_empty() {
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        say(&format!(
            "predicted against measured seconds of {} queries: {:.0} % mean error; the same took \
             {:.0} % more or less each time",
            errors.len(),
            mean * 100.0,
            scatter(experiments) * 100.0,
        ));
    }
    if calibration.assumed.iter().any(|key| key == "select") {
        say("the store has no S3 Select, or does not let us use it: its constants are left out");
    }
    for noise in &calibration.noise {
        say(&format!("warning: {noise}; measure again when it is quiet"));
    }
    Ok(())
}

/// A key, without the unit that a table shows with the number.
fn name(key: &str, format: ListFormat) -> &str {
    let units = ["_bytes_per_second", "_seconds", ".bytes_per_second"];
    let short = units.iter().find_map(|unit| key.strip_suffix(unit));
    match (format, short) {
        (ListFormat::Table, Some(short)) => short,
        _ => key,
    }
}

/// A constant with its unit.
fn in_words(key: &str, value: f64) -> String {
    if key.ends_with("bytes_per_second") {
        BytesPerSecond(value).to_string()
    } else if key.ends_with("_seconds") {
        let (scale, unit) = match value {
            0.0 => (1.0, "s"),
            value if value >= 1.0 => (1.0, "s"),
            value if value >= 1e-3 => (1e3, "ms"),
            value if value >= 1e-6 => (1e6, "µs"),
            _ => (1e9, "ns"),
        };
        format!("{} {unit}", fraction(value * scale))
    } else {
        fraction(value).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_constants_with_their_units() {
        for (key, value, short, words) in [
            ("link.bytes_per_second", 125e6, "link", "119 MiB/s"),
            ("select.csv_bytes_per_second", 2e9, "select.csv", "1.86 GiB/s"),
            ("link.latency_seconds", 0.0123, "link.latency", "12.3 ms"),
            ("select.term_seconds", 3.1e-8, "select.term", "31.0 ns"),
            ("select.case_seconds", 0.0, "select.case", "0.0 s"),
            ("requests.slots", 4.0, "requests.slots", "4.0"),
            ("client.overlap", 0.4, "client.overlap", "0.4"),
        ] {
            assert_eq!(name(key, ListFormat::Table), short);
            assert_eq!(name(key, ListFormat::Csv), key);
            assert_eq!(in_words(key, value), words, "{key}");
        }
    }
}
