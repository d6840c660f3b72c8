//! The 99 queries of TPC-DS.

use std::borrow::Cow;

/// The queries in order, 1 to 99.
///
/// Each is one statement without a semicolon, with the specification's validation parameters and row limits. There
/// are these exceptions:
///
/// * Queries 14, 23, 24 and 39 have two statements each, of which this is the first.
/// * Query 8's list of 400 postal codes has codes that occur in the generated addresses.
/// * Columns without a name, or with the name of another column, get one.
/// * Ratios of integers are multiplied by 1.0 first (queries 21, 34, 73, 78 and 83): SQL does not define whether a
///   quotient of integers is an integer.
/// * Addition of days to a date is addition of an interval.
pub const QUERIES: [&str; 99] = [
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
    include_str!("queries/q23.sql"),
    include_str!("queries/q24.sql"),
    include_str!("queries/q25.sql"),
    include_str!("queries/q26.sql"),
    include_str!("queries/q27.sql"),
    include_str!("queries/q28.sql"),
    include_str!("queries/q29.sql"),
    include_str!("queries/q30.sql"),
    include_str!("queries/q31.sql"),
    include_str!("queries/q32.sql"),
    include_str!("queries/q33.sql"),
    include_str!("queries/q34.sql"),
    include_str!("queries/q35.sql"),
    include_str!("queries/q36.sql"),
    include_str!("queries/q37.sql"),
    include_str!("queries/q38.sql"),
    include_str!("queries/q39.sql"),
    include_str!("queries/q40.sql"),
    include_str!("queries/q41.sql"),
    include_str!("queries/q42.sql"),
    include_str!("queries/q43.sql"),
    include_str!("queries/q44.sql"),
    include_str!("queries/q45.sql"),
    include_str!("queries/q46.sql"),
    include_str!("queries/q47.sql"),
    include_str!("queries/q48.sql"),
    include_str!("queries/q49.sql"),
    include_str!("queries/q50.sql"),
    include_str!("queries/q51.sql"),
    include_str!("queries/q52.sql"),
    include_str!("queries/q53.sql"),
    include_str!("queries/q54.sql"),
    include_str!("queries/q55.sql"),
    include_str!("queries/q56.sql"),
    include_str!("queries/q57.sql"),
    include_str!("queries/q58.sql"),
    include_str!("queries/q59.sql"),
    include_str!("queries/q60.sql"),
    include_str!("queries/q61.sql"),
    include_str!("queries/q62.sql"),
    include_str!("queries/q63.sql"),
    include_str!("queries/q64.sql"),
    include_str!("queries/q65.sql"),
    include_str!("queries/q66.sql"),
    include_str!("queries/q67.sql"),
    include_str!("queries/q68.sql"),
    include_str!("queries/q69.sql"),
    include_str!("queries/q70.sql"),
    include_str!("queries/q71.sql"),
    include_str!("queries/q72.sql"),
    include_str!("queries/q73.sql"),
    include_str!("queries/q74.sql"),
    include_str!("queries/q75.sql"),
    include_str!("queries/q76.sql"),
    include_str!("queries/q77.sql"),
    include_str!("queries/q78.sql"),
    include_str!("queries/q79.sql"),
    include_str!("queries/q80.sql"),
    include_str!("queries/q81.sql"),
    include_str!("queries/q82.sql"),
    include_str!("queries/q83.sql"),
    include_str!("queries/q84.sql"),
    include_str!("queries/q85.sql"),
    include_str!("queries/q86.sql"),
    include_str!("queries/q87.sql"),
    include_str!("queries/q88.sql"),
    include_str!("queries/q89.sql"),
    include_str!("queries/q90.sql"),
    include_str!("queries/q91.sql"),
    include_str!("queries/q92.sql"),
    include_str!("queries/q93.sql"),
    include_str!("queries/q94.sql"),
    include_str!("queries/q95.sql"),
    include_str!("queries/q96.sql"),
    include_str!("queries/q97.sql"),
    include_str!("queries/q98.sql"),
    include_str!("queries/q99.sql"),
];

/// Returns the query with this number, 1 to 99.
#[must_use]
pub fn query(number: usize) -> Option<&'static str> {
    QUERIES.get(number.checked_sub(1)?).copied()
}

/// Values that a paper prints in place of the specification's validation parameters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Parameters {
    /// The specification's validation parameters.
    #[default]
    Validation,
    /// Those of "Modeling Analytics for Computational Storage" (ICPE 2020). Its §6.4 names one: query 44 is about
    /// store 2, where the specification has store 4, which has no sales at some scales.
    Icpe2020,
}

/// Returns the query with this number, 1 to 99, with these parameters.
#[must_use]
pub fn query_with(number: usize, parameters: Parameters) -> Option<Cow<'static, str>> {
    let text = query(number)?;
    Some(match (number, parameters) {
        (44, Parameters::Icpe2020) => text.replace("ss_store_sk = 4", "ss_store_sk = 2").into(),
        _ => text.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_query_is_one_statement_without_placeholders() {
        for (index, text) in QUERIES.iter().enumerate() {
            let number = index + 1;
            assert!(text.starts_with("select") || text.starts_with("with"), "{number}");
            assert!(!text.contains([';', '\t', '[', '"']) && text.ends_with('\n'), "{number}");
            assert_eq!(text.matches('(').count(), text.matches(')').count(), "{number}");
            assert_eq!(text.matches('\'').count() % 2, 0, "{number}");
        }
    }

    #[test]
    fn numbers_run_from_1_to_99() {
        assert!(query(1).is_some() && query(99).is_some());
        assert!(query(0).is_none() && query(100).is_none());
    }

    #[test]
    fn query_44_is_about_store_2_in_the_paper() {
        let text = query_with(44, Parameters::Icpe2020).unwrap();
        assert_eq!(text.matches("ss_store_sk = 2\n").count(), 4);
        assert!(!text.contains("ss_store_sk = 4"));
        for number in (1..=99).filter(|it| *it != 44) {
            assert_eq!(query_with(number, Parameters::Icpe2020).as_deref(), query(number));
        }
        assert_eq!(query_with(44, Parameters::Validation).as_deref(), query(44));
        assert_eq!(query_with(100, Parameters::Icpe2020), None);
    }
}
