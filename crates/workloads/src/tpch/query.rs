//! The 22 queries of TPC-H.

use std::borrow::Cow;

/// The queries in order, 1 to 22.
///
/// Each is one statement without a semicolon, with the specification's validation parameters and row limits. Wording
/// of the specification that is not portable SQL is rewritten. Query 15's view is a common table expression, and
/// query 1's interval has no leading precision. Query 6's `0.06 - 0.01` and `0.06 + 0.01` are replaced by their exact
/// values, which binary floating point would miss.
pub const QUERIES: [&str; 22] = [
    include_str!("queries/q01.sql"),
    include_str!("queries/q02.sql"),
    include_str!("queries/q03.sql"),
    include_str!("queries/q04.sql"),
    include_str!("queries/q05.sql"),
    include_str!("queries/q06.sql"),
    include_str!("queries/q07.sql"),
    include_str!("queries/q08.sql"),
    include_str!("queries/q09.sql"),
    include_str!("queries/q10.sql"),
    include_str!("queries/q11.sql"),
    include_str!("queries/q12.sql"),
    include_str!("queries/q13.sql"),
    include_str!("queries/q14.sql"),
    include_str!("queries/q15.sql"),
    include_str!("queries/q16.sql"),
    include_str!("queries/q17.sql"),
    include_str!("queries/q18.sql"),
    include_str!("queries/q19.sql"),
    include_str!("queries/q20.sql"),
    include_str!("queries/q21.sql"),
    include_str!("queries/q22.sql"),
];

/// Returns the query with this number, 1 to 22.
#[must_use]
pub fn query(number: usize) -> Option<&'static str> {
    QUERIES.get(number.checked_sub(1)?).copied()
}

/// Returns the query with this number for data of this scale factor. Only query 11 has a parameter that depends on
/// it: the fraction 0.0001 / scale.
#[must_use]
pub fn query_at_scale(number: usize, scale: f64) -> Option<Cow<'static, str>> {
    let text = query(number)?;
    Some(match number {
        11 => text.replace("0.0001", &(0.0001 / scale).to_string()).into(),
        _ => text.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_query_is_one_statement_without_placeholders() {
        for (index, text) in QUERIES.iter().enumerate() {
            assert!(text.starts_with("select") || text.starts_with("with"), "{}", index + 1);
            assert!(!text.contains([':', ';', '\t']), "{}", index + 1);
            assert_eq!(text.matches('(').count(), text.matches(')').count(), "{}", index + 1);
            assert_eq!(text.matches('\'').count() % 2, 0, "{}", index + 1);
        }
    }

    /// The wording is that of the specification, as in `tpchgen`, around its placeholders.
    #[test]
    fn the_wording_is_the_specifications() {
        let one_line = |text: &str| {
            let text = text.replace("l_extendedprice*", "l_extendedprice *").replace(';', "");
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        // These are rewritten on purpose: see `QUERIES`.
        for number in (1..=22).filter(|number| ![1, 6, 15].contains(number)) {
            let template = tpchgen::q_and_a::queries::query(number as i32).unwrap();
            let template = one_line(template);
            let mut fragments = template.split(':');
            let text = one_line(QUERIES[number - 1]);
            let mut rest = text.strip_prefix(fragments.next().unwrap()).unwrap();
            for fragment in fragments {
                let fragment = fragment.trim_start_matches(|c: char| c.is_ascii_digit());
                let (parameter, after) = rest.split_once(fragment).unwrap_or_else(|| {
                    panic!("query {number}: no `{fragment}` in `{rest}`");
                });
                assert!(parameter.len() < 30, "query {number}: {parameter}");
                rest = after;
            }
            let limited = matches!(number, 2 | 3 | 10 | 18 | 21);
            assert_eq!(rest.starts_with(" limit "), limited, "query {number}: {rest}");
            assert!(limited || rest.is_empty(), "query {number}: {rest}");
        }
    }

    #[test]
    fn numbers_run_from_1_to_22() {
        assert!(query(1).is_some() && query(22).is_some());
        assert!(query(0).is_none() && query(23).is_none());
        assert!(query_at_scale(23, 1.0).is_none());
    }

    #[test]
    fn query_11_depends_on_the_scale() {
        assert!(query_at_scale(11, 10.0).unwrap().contains("* 0.00001\n"));
        assert_eq!(query_at_scale(11, 1.0).unwrap(), query(11).unwrap());
        assert_eq!(query_at_scale(12, 10.0).unwrap(), query(12).unwrap());
    }
}
