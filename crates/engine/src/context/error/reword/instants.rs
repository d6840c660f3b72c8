//! Dates and timestamps out of the range of 64-bit nanoseconds.

use chrono::DateTime;

use super::super::ErrorKind;
use super::super::description::Description;
use super::super::description::description;

/// The texts before the type, before the count and before the target type, in messages of Arrow and of this engine.
const FRAMES: [(&str, &str, &str); 2] = [
    ("Cannot cast ", " value ", " to Timestamp("),
    ("the timestamp of ", ": ", " has no value in Timestamp("),
];

/// Rewords `Cannot cast Date32 value 2932896 to Timestamp(ns): converted value exceeds the representable i64 range`.
pub(super) fn instant(text: &str) -> Option<Description> {
    let (moment, to) = FRAMES.iter().find_map(|(before, between, behind)| {
        let (unit, rest) = text.split_once(before)?.1.split_once(between)?;
        let (count, to) = rest.split_once(behind)?;
        Some((moment(unit, count.parse().ok()?)?, to))
    })?;
    if !to.starts_with("ns") {
        return None;
    }
    let zone = if to.starts_with("ns)") { "" } else { " WITH TIME ZONE" };
    Some(description(
        ErrorKind::Plan,
        format!("TIMESTAMP{zone} has nanoseconds, and reaches from 1677 to 2262: not to {moment}"),
        format!("Microseconds reach to the year 9999: CAST(… AS TIMESTAMP(6){zone})."),
    ))
}

/// Formats a count since 1970, in days or in parts of a second.
fn moment(unit: &str, count: i64) -> Option<String> {
    if unit == "Date32" {
        let day = DateTime::from_timestamp(count.checked_mul(86_400)?, 0)?;
        return Some(day.format("%Y-%m-%d").to_string());
    }
    let unit = unit.strip_prefix("Timestamp(")?.split([',', ')']).next()?;
    let moment = match unit {
        "s" => DateTime::from_timestamp(count, 0),
        "ms" => DateTime::from_timestamp_millis(count),
        "µs" => DateTime::from_timestamp_micros(count),
        _ => None,
    };
    Some(moment?.format("%Y-%m-%dT%H:%M:%S%.f").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_is_named() {
        let what = "converted value exceeds the representable i64 range";
        for (text, expected) in [
            (
                format!("Cannot cast Date32 value 2932896 to Timestamp(ns): {what}"),
                "TIMESTAMP has nanoseconds, and reaches from 1677 to 2262: not to 9999-12-31",
            ),
            (
                format!("Cannot cast Timestamp(ms) value 253402300799120 to Timestamp(ns, \"UTC\"): {what}"),
                "TIMESTAMP WITH TIME ZONE has nanoseconds, and reaches from 1677 to 2262: \
                 not to 9999-12-31T23:59:59.120",
            ),
            (
                "the timestamp of Timestamp(s): -62135596800 has no value in Timestamp(ns, \"Europe/Berlin\")".into(),
                "TIMESTAMP WITH TIME ZONE has nanoseconds, and reaches from 1677 to 2262: not to 0001-01-01T00:00:00",
            ),
        ] {
            assert_eq!(instant(&text).unwrap().message, expected);
        }
        assert!(instant("Cannot cast Timestamp(ns) value 1 to Timestamp(s): whatever").is_none());
    }
}
