//! Numbers and times as strings of digits.

use std::cmp::Ordering;

/// Rewrites a number without an exponent.
pub(super) fn plain(text: &str) -> String {
    let Some((digits, exponent)) = text.split_once('e') else { return text.to_owned() };
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let exponent: i32 = exponent.parse().unwrap();
    // These literals have one digit before the exponent.
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap());
    match exponent {
        ..0 => format!("{sign}0.{}{digits}", zeros(-exponent - 1)),
        _ => format!("{sign}{digits}{}", zeros(exponent)),
    }
}

/// Compares two numbers by their digits.
pub(super) fn by_digits(one: &str, other: &str) -> Ordering {
    fn parts(text: &str) -> (bool, String, String) {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (whole, places) = text.split_once('.').unwrap_or((text, ""));
        let (whole, places) = (whole.trim_start_matches('0'), places.trim_end_matches('0'));
        let zero = whole.is_empty() && places.is_empty();
        (negative && !zero, whole.to_owned(), places.to_owned())
    }
    let (a, b) = (parts(one), parts(other));
    let size = |x: &(bool, String, String), y: &(bool, String, String)| {
        (x.1.len(), &x.1, &x.2).cmp(&(y.1.len(), &y.1, &y.2))
    };
    match (a.0, b.0) {
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
        (false, false) => size(&a, &b),
        (true, true) => size(&b, &a),
    }
}

/// Compares doubles like SQL: both zeros are equal, and NaN equals itself and is the greatest.
pub(super) fn by_value(one: f64, other: f64) -> Ordering {
    match (one.is_nan(), other.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        _ => one.partial_cmp(&other).unwrap(),
    }
}

/// Rewrites a date and time of day as a text of fixed length that sorts by time.
pub(super) fn instant(text: &str) -> String {
    let (date, time) = text.split_once(' ').unwrap_or((text, "00:00:00"));
    let (time, places) = time.split_once('.').unwrap_or((time, ""));
    format!("{date} {time}.{places:0<9}")
}

/// Adds so many tenths to a decimal.
pub(super) fn shifted(text: &str, tenths: i128) -> String {
    const PLACES: usize = 4;
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let count = format!("{whole}{fraction:0<PLACES$}").parse::<i128>().unwrap();
    let sum = if negative { -count } else { count } + tenths * 1_000;
    let sign = if sum < 0 { "-" } else { "" };
    let (whole, fraction) = (sum.abs() / 10_000, sum.abs() % 10_000);
    format!("{sign}{whole}.{fraction:0PLACES$}")
}

/// Rounds a decimal to fewer places, half away from zero.
pub(super) fn rounded(text: &str, places: usize) -> String {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let (kept, rest) = fraction.split_at(places.min(fraction.len()));
    let up = rest.as_bytes().first().is_some_and(|digit| *digit >= b'5');
    let count = format!("{whole}{kept}").parse::<i128>().unwrap() + i128::from(up);
    let scale = 10_i128.pow(u32::try_from(kept.len()).unwrap());
    let sign = if negative { "-" } else { "" };
    let digits = kept.len();
    format!("{sign}{}.{:0digits$}", count / scale, count % scale)
}
