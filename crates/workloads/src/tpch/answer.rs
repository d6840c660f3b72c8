//! The published answers for scale factor 1.

/// The published answer of a query at scale factor 1, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The names of the columns, as printed (some are cut).
    pub columns: Vec<&'static str>,
    /// The rows, in the query's order, without padding.
    pub rows: Vec<Vec<&'static str>>,
}

/// Returns the published answer of the query with this number, 1 to 22.
#[must_use]
pub fn answer(number: usize) -> Option<Answer> {
    let text = tpchgen::q_and_a::answers_sf1::answer(i32::try_from(number).ok()?)?;
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let fields = |line: &'static str| line.split('|').map(str::trim).collect();
    Some(Answer { columns: fields(lines.next()?), rows: lines.map(fields).collect() })
}

impl Answer {
    /// Returns whether a value agrees with a published one: it is the same text, or the same number to within one
    /// unit of the last printed digit. Integers must be equal.
    ///
    /// ```
    /// use sluicegate_workloads::tpch::Answer;
    ///
    /// assert!(Answer::agrees("25.52", "25.522005853257337"));
    /// assert!(!Answer::agrees("25.52", "25.54"));
    /// assert!(Answer::agrees("1478493", "1478493"));
    /// assert!(!Answer::agrees("1478493", "1478494"));
    /// ```
    #[must_use]
    pub fn agrees(published: &str, value: &str) -> bool {
        let (published, value) = (published.trim(), value.trim());
        if published == value {
            return true;
        }
        let (Ok(expected), Ok(number)) = (published.parse::<f64>(), value.parse::<f64>()) else {
            return false;
        };
        let decimals = published.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        if decimals == 0 {
            return expected == number;
        }
        // Allow slightly more than the unit, for the error of reading decimals as binary.
        let unit = 0.1f64.powi(decimals as i32);
        (expected - number).abs() <= unit + 4.0 * f64::EPSILON * expected.abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_has_an_answer() {
        for number in 1..=22 {
            let answer = answer(number).unwrap();
            assert!(!answer.rows.is_empty(), "{number}");
            assert!(answer.rows.iter().all(|row| row.len() == answer.columns.len()), "{number}");
        }
        assert_eq!(answer(0), None);
        assert_eq!(answer(23), None);
    }

    #[test]
    fn answers_are_trimmed() {
        let answer = answer(6).unwrap();
        assert_eq!(answer.columns, ["revenue"]);
        assert_eq!(answer.rows, [["123141078.23"]]);
    }

    #[test]
    fn text_agrees_only_with_itself() {
        assert!(Answer::agrees("BRAZIL", "BRAZIL "));
        assert!(!Answer::agrees("BRAZIL", "PERU"));
        assert!(!Answer::agrees("BRAZIL", "1"));
        assert!(!Answer::agrees("1.0", "NaN"));
    }
}
