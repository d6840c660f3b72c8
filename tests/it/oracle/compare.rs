//! Comparison of an answer with the recorded one: decimals exactly by value, floats like `tests/oracle/answers.py`.

use std::cmp::Ordering;

use sqllogictest::ColumnType;

use super::sessions::Answer;

/// Relative error of sums of floating-point numbers in another order.
const TOLERANCE: f64 = 1e-9;

/// The kinds of recorded columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `I`: whole numbers and decimals.
    Exact,
    /// `R`: floating-point numbers that do not depend on the order of rows.
    Float,
    /// `A`: floating-point numbers whose last digits depend on the order of rows, or on a mean's type.
    Approximate,
    /// `D`: dates and timestamps.
    Moment,
    /// `T`: texts between apostrophes, and booleans without.
    Text,
}

impl ColumnType for Kind {
    fn from_char(letter: char) -> Option<Self> {
        Some(match letter {
            'I' => Self::Exact,
            'R' => Self::Float,
            'A' => Self::Approximate,
            'D' => Self::Moment,
            'T' => Self::Text,
            _ => return None,
        })
    }

    fn to_char(&self) -> char {
        match self {
            Self::Exact => 'I',
            Self::Float => 'R',
            Self::Approximate => 'A',
            Self::Moment => 'D',
            Self::Text => 'T',
        }
    }
}

/// Describes the difference between an answer and the recorded rows, if there is one.
pub(crate) fn difference(
    answer: &Answer,
    kinds: &[Kind],
    expected: &[String],
    is_ordered: bool,
) -> Option<String> {
    if answer.types.len() != kinds.len() {
        return Some(format!("{} columns instead of {}", answer.types.len(), kinds.len()));
    }
    if answer.rows.len() != expected.len() {
        let shown =
            answer.rows.iter().take(5).map(|row| format!("\n  {row:?}")).collect::<String>();
        return Some(format!("{} rows instead of {}{shown}", answer.rows.len(), expected.len()));
    }
    let mut rest: Vec<Vec<&str>> = expected.iter().map(|line| line.split('\t').collect()).collect();
    for row in &answer.rows {
        let is_it = |other: &Vec<&str>| same_row(answer, kinds, row, other);
        let at = match is_ordered {
            true => rest.first().filter(|first| is_it(first)).map(|_| 0),
            false => rest.iter().position(is_it),
        };
        match at {
            Some(at) => drop(rest.remove(at)),
            None => return Some(format!("a row {row:?}, but {:?}", &rest[..rest.len().min(5)])),
        }
    }
    None
}

fn same_row(answer: &Answer, kinds: &[Kind], row: &[Option<String>], expected: &[&str]) -> bool {
    row.len() == expected.len()
        && (0..row.len()).all(|at| match &row[at] {
            None => expected[at] == "NULL",
            Some(_) if expected[at] == "NULL" => false,
            Some(value) => same_value(kinds[at], &answer.types[at], value, expected[at]),
        })
}

fn same_value(kind: Kind, arrow_type: &str, value: &str, expected: &str) -> bool {
    match kind {
        Kind::Exact if !arrow_type.starts_with("Float") => number(value) == number(expected),
        Kind::Exact => close(value, expected, TOLERANCE),
        Kind::Float | Kind::Approximate => {
            let digits = scale(arrow_type);
            let loose = match arrow_type {
                _ if digits.is_some() => TOLERANCE,
                _ if kind == Kind::Float => 0.0,
                "Float32" => 1e-5,
                _ => TOLERANCE,
            };
            let (Ok(one), Ok(two)) = (value.parse::<f64>(), expected.parse::<f64>()) else {
                return false;
            };
            close(value, expected, loose)
                || arrow_type == "Float32" && single(value) == single(expected)
                || digits.is_some_and(|digits| (one - two).abs() <= 1.01 * 10_f64.powi(-digits))
        }
        Kind::Moment => moment(value) == moment(expected),
        Kind::Text if expected.starts_with('\'') => {
            let value = value.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t");
            format!("'{value}'") == expected
        }
        Kind::Text => value == expected,
    }
}

fn single(text: &str) -> Option<f32> {
    text.parse().ok()
}

fn close(one: &str, two: &str, loose: f64) -> bool {
    let (Ok(one), Ok(two)) = (one.parse::<f64>(), two.parse::<f64>()) else { return false };
    match one.partial_cmp(&two) {
        None => one.is_nan() && two.is_nan(),
        Some(Ordering::Equal) => true,
        Some(_) => {
            one.is_finite()
                && two.is_finite()
                && (one - two).abs() <= loose * one.abs().max(two.abs()).max(1.0)
        }
    }
}

/// Returns the scale of a decimal type.
fn scale(arrow_type: &str) -> Option<i32> {
    let inside = arrow_type.strip_prefix("Decimal")?.split_once('(')?.1;
    inside.trim_end_matches(')').split_once(", ")?.1.parse().ok()
}

/// Normalizes a number: removes trailing zeros and the sign of zero.
fn number(text: &str) -> String {
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    };
    match text {
        "-0" | "" | "-" => "0".to_owned(),
        text => text.to_owned(),
    }
}

/// Normalizes a date or timestamp: removes midnight and trailing zeros.
fn moment(text: &str) -> String {
    // After the year 9999, only one of the two has a sign.
    let text = text.trim_start_matches('+').replace('T', " ");
    let (day, time) = text.split_once(' ').unwrap_or((&text, ""));
    let time = match time.contains('.') {
        true => time.trim_end_matches('0').trim_end_matches('.'),
        false => time,
    };
    match time {
        "" | "00:00:00" => day.to_owned(),
        time => format!("{day} {time}"),
    }
}
