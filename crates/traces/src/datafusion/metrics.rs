//! Parses the printed metrics of an operator.

use std::collections::BTreeMap;

use crate::plan::amount;

/// The unit of a metric's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// A time: `1.20ms` in text, milliseconds in JSON.
    Time,
    /// A count: `9.34 M` in text, in powers of 1,000.
    Count,
    /// A size: `6.9 MB` in text, with MB for 2²⁰ bytes.
    Size,
}

/// The metrics that are read.
const READ: [(&str, Unit); 6] = [
    ("elapsed_compute", Unit::Time),
    ("repartition_time", Unit::Time),
    ("time_elapsed_processing", Unit::Time),
    ("time_elapsed_scanning_total", Unit::Time),
    ("bytes_scanned", Unit::Count),
    ("output_bytes", Unit::Size),
];

/// Metrics by name, in seconds or bytes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Metrics(BTreeMap<&'static str, f64>);

impl Metrics {
    pub(super) fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// Adds a metric, if it is one that is read.
    ///
    /// # Errors
    ///
    /// If `parse` finds no number, or one out of range. The error names the metric.
    pub(super) fn add(
        &mut self,
        name: &str,
        parse: impl FnOnce(Unit) -> Result<f64, String>,
    ) -> Result<(), String> {
        if let Some((name, unit)) = READ.iter().find(|(known, _)| *known == name) {
            let failed = |message| format!("`{name}` {message}");
            let number = parse(*unit).and_then(amount).map_err(failed)?;
            *self.0.entry(name).or_default() += number;
        }
        Ok(())
    }
}

/// Parses a value in text.
///
/// # Errors
///
/// If it has no number with a suffix of the unit.
pub(super) fn value(text: &str, unit: Unit) -> Result<f64, String> {
    match unit {
        Unit::Time => duration(text),
        Unit::Count => scaled(text, &[("K", 1e3), ("M", 1e6), ("B", 1e9), ("T", 1e12), ("", 1.0)]),
        Unit::Size => {
            let kib = 1024_f64;
            let units =
                [("KB", kib), ("MB", kib.powi(2)), ("GB", kib.powi(3)), ("TB", kib.powi(4))];
            scaled(text, &[&units[..], &[("B", 1.0), ("", 1.0)]].concat())
        }
    }
}

/// Parses a duration such as `1.20ms` to seconds; 0 if it was not recorded.
///
/// # Errors
///
/// If it is not a duration.
pub(super) fn duration(text: &str) -> Result<f64, String> {
    if text == "NOT RECORDED" {
        return Ok(0.0);
    }
    // Both signs for micro occur; `s` is a suffix of all the others.
    let units = [("ns", 1e-9), ("µs", 1e-6), ("μs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    scaled(text, &units).and_then(amount)
}

fn scaled(text: &str, units: &[(&str, f64)]) -> Result<f64, String> {
    let found = units.iter().find_map(|(unit, scale)| {
        let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        Some(number * scale)
    });
    found.ok_or_else(|| {
        let start: String = text.chars().take(40).collect();
        format!("is `{start}`, which is no number with a unit")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_units_of_their_metric() {
        for (text, unit, expected) in [
            ("1.20s", Unit::Time, 1.2),
            ("12.34ms", Unit::Time, 0.012_34),
            ("5.50µs", Unit::Time, 5.5e-6),
            ("381ns", Unit::Time, 381e-9),
            ("NOT RECORDED", Unit::Time, 0.0),
            ("999", Unit::Count, 999.0),
            ("9.34 M", Unit::Count, 9.34e6),
            ("1.53 B", Unit::Count, 1.53e9),
            ("999.0 B", Unit::Size, 999.0),
            ("6.9 MB", Unit::Size, 6.9 * 1_048_576.0),
            ("37", Unit::Size, 37.0),
        ] {
            let found = value(text, unit).unwrap();
            assert!((found - expected).abs() <= 1e-12 * expected, "{text}: {found}");
        }
        for (text, unit) in
            [("1.2", Unit::Time), ("", Unit::Count), ("fast", Unit::Time), ("1 KB", Unit::Count)]
        {
            assert!(value(text, unit).unwrap_err().contains("no number with a unit"), "{text}");
        }
        assert!(value("-1s", Unit::Time).unwrap_err().starts_with("is -1, but must be between"));
        assert!(value("NaNs", Unit::Time).unwrap_err().starts_with("is NaN"));
        let mut metrics = Metrics::default();
        let error = metrics.add("bytes_scanned", |unit| value("-3 K", unit)).unwrap_err();
        assert_eq!(error, "`bytes_scanned` is -3000, but must be between 0 and 1e18");
        metrics.add("output_rows", |unit| value("many", unit)).unwrap();
        assert_eq!(metrics, Metrics::default());
    }
}
