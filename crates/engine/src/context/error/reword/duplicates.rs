//! Columns of a query that have the same name.

use super::super::ErrorKind;
use super::super::description::Description;
use super::super::description::description;

const HINT: &str = "Give one of the columns another name: count(*) AS n; or leave it out.";

/// Rewords `Projections require unique expression names but the expression "a + Int64(1)" at position 0 and "…" at
/// position 1 have the same name. …` and `Schema contains duplicate unqualified field name "count(Int64(1))"`.
pub(super) fn twice(text: &str) -> Option<Description> {
    const FRAMES: [(&str, &str); 3] = [
        ("require unique expression names but the expression \"", "\" at position "),
        ("Schema contains duplicate unqualified field name \"", "\""),
        ("Schema contains duplicate unqualified field name ", ""),
    ];
    let name = FRAMES.iter().find_map(|(before, behind)| {
        let (_, rest) = text.split_once(before)?;
        match *behind {
            "" => Some(rest),
            // DataFusion's name may contain quotes itself.
            "\"" => rest.rsplit_once('"').map(|(name, _)| name),
            behind => rest.split_once(behind).map(|(name, _)| name),
        }
    })?;
    // Within quotes, literals would not be shown as they are typed.
    Some(description(ErrorKind::Plan, format!("two columns have the same name: {name}"), HINT))
}

#[cfg(test)]
mod tests {
    use crate::Error;
    use datafusion::common::DataFusionError;

    #[test]
    fn the_name_is_told_once() {
        for (text, message) in [
            (
                "Projections require unique expression names but the expression \"d + \
                 IntervalMonthDayNano(\"IntervalMonthDayNano { months: 0, days: 1, nanoseconds: 0 }\")\" at position 0 \
                 and \"d + IntervalMonthDayNano(\"IntervalMonthDayNano { months: 0, days: 1, nanoseconds: 0 }\")\" at \
                 position 1 have the same name. Consider aliasing (\"AS\") one of them.",
                "two columns have the same name: d + INTERVAL '1 day'",
            ),
            (
                "Projections require unique expression names but the expression \"substr(name, Int64(1), Int64(2))\" \
                 at position 0 and \"substr(name, Int64(1), Int64(2))\" at position 1 have the same name.",
                "two columns have the same name: substr(name, 1, 2)",
            ),
            (
                "Schema contains duplicate unqualified field name \"count(Int64(1))\"",
                "two columns have the same name: count(1)",
            ),
            (
                "Schema contains duplicate unqualified field name a",
                "two columns have the same name: a",
            ),
        ] {
            let error = Error::from(DataFusionError::Plan(text.to_owned()));
            assert_eq!(error.to_string(), message);
            assert!(error.hint().unwrap().contains("another name"));
        }
    }
}
