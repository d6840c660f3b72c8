//! The seven queries of Cheetah's evaluation.

use std::borrow::Cow;

/// The queries of Cheetah's evaluation in order, 1 to 7: filter, DISTINCT, SKYLINE, TOP N, GROUP BY, JOIN, HAVING.
///
/// Each is one statement without a semicolon. The paper does not preserve their exact wording; these match its
/// description.
pub const QUERIES: [&str; 7] = [
    include_str!("queries/q1.sql"),
    include_str!("queries/q2.sql"),
    include_str!("queries/q3.sql"),
    include_str!("queries/q4.sql"),
    include_str!("queries/q5.sql"),
    include_str!("queries/q6.sql"),
    include_str!("queries/q7.sql"),
];

/// Returns the query with this number, 1 to 7.
#[must_use]
pub fn query(number: usize) -> Option<&'static str> {
    QUERIES.get(number.checked_sub(1)?).copied()
}

/// Returns the query with this number for data of this scale factor. Only query 7 has a parameter that depends on it:
/// the revenue of a language, 1,000,000 × scale.
#[must_use]
pub fn query_at_scale(number: usize, scale: f64) -> Option<Cow<'static, str>> {
    let text = query(number)?;
    Some(match number {
        7 => text.replace("1000000", &(1_000_000.0 * scale).to_string()).into(),
        _ => text.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_query_is_one_statement_over_the_tables() {
        for (index, text) in QUERIES.iter().enumerate() {
            assert!(text.starts_with("SELECT "), "{}", index + 1);
            assert!(!text.contains([';', '\t']) && text.ends_with('\n'), "{}", index + 1);
            let known = ["rankings", "uservisits"].iter().any(|table| text.contains(table));
            assert!(known, "{}", index + 1);
        }
        assert!(query(0).is_none() && query(8).is_none());
    }

    #[test]
    fn query_7_depends_on_the_scale() {
        assert!(query_at_scale(7, 0.01).unwrap().contains("> 10000\n"));
        assert_eq!(query_at_scale(6, 0.01).unwrap(), query(6).unwrap());
    }
}
