//! Formats constants of profiles and price books for readers.

use sluicegate_costmodel::BytesPerSecond;

use super::listing::fraction;

/// Formats a constant with its unit, which its key determines.
pub(crate) fn in_words(key: &str, value: f64) -> String {
    if key.ends_with("bytes_per_second") {
        return BytesPerSecond(value).to_string();
    }
    if key.starts_with("prices.") {
        return format!("${}", fraction(value));
    }
    if !key.ends_with("_seconds") {
        return fraction(value).to_string();
    }
    let (scale, unit) = match value {
        0.0 => (1.0, "s"),
        value if value >= 1.0 => (1.0, "s"),
        value if value >= 1e-3 => (1e3, "ms"),
        value if value >= 1e-6 => (1e6, "µs"),
        _ => (1e9, "ns"),
    };
    format!("{} {unit}", fraction(value * scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_their_units() {
        for (key, value, words) in [
            ("link.bytes_per_second", 125e6, "119 MiB/s"),
            ("select.csv_bytes_per_second", 2e9, "1.86 GiB/s"),
            ("link.latency_seconds", 0.0123, "12.3 ms"),
            ("select.term_seconds", 3.1e-8, "31.0 ns"),
            ("select.case_seconds", 0.0, "0.0 s"),
            ("requests.slots", 4.0, "4.0"),
            ("client.overlap", 0.4, "0.4"),
            ("prices.select.scanned", 0.002, "$0.002"),
        ] {
            assert_eq!(in_words(key, value), words, "{key}");
        }
    }
}
