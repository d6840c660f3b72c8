//! Expressions in the wrong place, and values that are too large.

use super::super::ErrorKind;
use super::super::description::Description;
use super::super::description::description;

/// Messages of DataFusion, each with its rewording and a hint.
const MESSAGES: [(&str, &str, &str); 15] = [
    (
        "COUNT DISTINCT with multiple arguments",
        "count(DISTINCT …) takes one value",
        "Count combinations as count(DISTINCT (a, b)).",
    ),
    (
        "Expected a signed integer literal for the second argument of nth_value",
        "the second argument of nth_value is a whole number in the statement",
        "Write nth_value(x, 2) OVER (ORDER BY y).",
    ),
    ("Expected LIMIT to be an integer or null", "LIMIT takes a whole number", "Write LIMIT 10."),
    (
        "QUALIFY clause requires window functions",
        "QUALIFY needs a function with OVER",
        "Other conditions are in WHERE, or in HAVING if they are of groups.",
    ),
    ("MINUS not implemented", "MINUS is not supported", "Write EXCEPT."),
    (
        "Nested EXPLAINs are not supported",
        "EXPLAIN of EXPLAIN is not supported",
        "Write EXPLAIN once: EXPLAIN SELECT ….",
    ),
    (
        "Hive formats not supported",
        "CREATE TABLE has no STORED AS and no LOCATION",
        "Write CREATE EXTERNAL TABLE t (a INT) STORED AS PARQUET LOCATION 's3://bucket/folder/'.",
    ),
    (
        "Unsupported LIMIT expression",
        "LIMIT takes a number, not what a query answers",
        "Write the number; or count the rows: row_number() OVER (ORDER BY …) in a sub-query, and compare it.",
    ),
    (
        "Unsupported OFFSET expression",
        "OFFSET takes a number, not what a query answers",
        "Write the number; or count the rows: row_number() OVER (ORDER BY …) in a sub-query, and compare it.",
    ),
    (
        "Unsupported logical plan: Statement(Transaction",
        "transactions are not supported",
        "Each statement stands for itself, and what COPY writes appears when it is complete.",
    ),
    (
        "could not find config namespace for key \"all\"",
        "RESET takes the name of one setting",
        "RESET sluice.scan; SHOW ALL lists the settings.",
    ),
    (
        "does not support logical expression WindowFunction",
        "a function with OVER may only stand in the list of columns and in ORDER BY",
        "Filter by it with QUALIFY: SELECT … FROM t QUALIFY row_number() OVER (ORDER BY a) = 1.",
    ),
    (
        "Date arithmetic overflow",
        "the date is beyond the years that a date can have",
        "Take a smaller INTERVAL.",
    ),
    (
        "is not supported in CSV",
        "CSV has no place for lists and structs",
        "Write JSON or Parquet: --format json, or COPY … TO 'file.parquet'; or make a text of a list: array_to_string(list, ';').",
    ),
    (
        "is nested inside",
        "an aggregate function may not stand in another",
        "Aggregate the rows of a sub-query: SELECT sum(n) FROM (SELECT count(*) AS n FROM t GROUP BY a).",
    ),
];

pub(super) fn misplaced(text: &str) -> Option<Description> {
    if let Some(described) =
        condition(text).or_else(|| overflow(text)).or_else(|| misplaced_parts(text))
    {
        return Some(described);
    }
    let (_, message, hint) = MESSAGES.iter().find(|(theirs, ..)| text.contains(theirs))?;
    Some(description(ErrorKind::Plan, *message, *hint))
}

/// Rewords `Cannot create filter with non-boolean predicate 'Int64(1)' returning Int64` and the errors of ON and NOT.
fn condition(text: &str) -> Option<Description> {
    let kind = match text.split_once("non-boolean predicate '") {
        Some((_, rest)) => rest.rsplit_once("' returning ")?.1,
        None => [
            "Join condition must be boolean type, but got ",
            "'NOT' requires a boolean expression, got ",
        ]
        .into_iter()
        .find_map(|before| Some(text.split_once(before)?.1))?,
    };
    Some(not_a_condition(kind.lines().next().unwrap_or_default()))
}

/// Returns the description of a condition of a type that is not boolean.
pub(in super::super) fn not_a_condition(kind: &str) -> Description {
    let message =
        format!("the condition is a value of the type {kind}, which is neither true nor false");
    let is_text = ["Utf8", "LargeUtf8", "Utf8View"].contains(&kind);
    let hint = match is_text {
        true => "Compare it with something: x <> ''; or convert it: CAST(x AS BOOLEAN).",
        false => "Compare it with something: x <> 0.",
    };
    description(ErrorKind::Plan, message, hint)
}

/// Rewords `Int64Array overflow on abs(-9223372036854775808)` and `Overflow happened on: 9 + 9`.
fn overflow(text: &str) -> Option<Description> {
    if text.contains("Arithmetic Overflow in AvgAccumulator") {
        return Some(description(
            ErrorKind::Data,
            "the mean of a DECIMAL has four more places than its column, and then more than 38 digits",
            "Give the values fewer places first: avg(CAST(x AS DECIMAL(38, 2))); or CAST to DOUBLE.",
        ));
    }
    const DECIMAL: &str =
        "No DECIMAL has more than 38 digits: CAST to DOUBLE, or round the numbers to fewer places.";
    const WIDER: &str = "CAST to a wider type, such as DECIMAL(38, 0) or DOUBLE.";
    let hint = if text.contains(" in DECIMAL") { DECIMAL } else { WIDER };
    let message = if let Some((before, call)) = text.split_once("Array overflow on ") {
        let kind = before.rsplit(|c: char| !c.is_alphanumeric()).next()?;
        format!("{call} is beyond the values of {kind}")
    } else {
        let (_, call) = text.split_once("Overflow happened on")?;
        let call = call.trim_start_matches([':', ' ']);
        match call.strip_suffix(" in DECIMAL") {
            Some(call) => format!("{call} has more than 38 digits"),
            None => format!("{call} is beyond the values of its type"),
        }
    };
    Some(description(ErrorKind::Data, message, hint))
}

/// Rewords `compound identifier: ["a", "b", "c", "d", "e"]`.
fn misplaced_parts(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("compound identifier: [")?;
    let names: Vec<&str> = rest.split('"').skip(1).step_by(2).collect();
    let message = format!("{} has too many parts for the name of a column", names.join("."));
    Some(description(
        ErrorKind::Plan,
        message,
        "Write table.column, or a field as column['field'].",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_not_stand_somewhere_is_said() {
        for (text, message) in [
            (
                "Cannot create filter with non-boolean predicate 'Int64(1)' returning Int64",
                "the condition is a value of the type Int64",
            ),
            (
                "Compute error: Int64Array overflow on abs(-9)",
                "abs(-9) is beyond the values of Int64",
            ),
            ("compound identifier: [\"a\", \"b\", \"c\"]", "a.b.c has too many parts"),
            ("Hive formats not supported: Some(HiveFormat", "CREATE TABLE has no STORED AS"),
            (
                "Aggregate function calls cannot be nested: 'count(Int64(1))' is nested inside 'sum(",
                "an aggregate function may not stand in another",
            ),
            (
                "This feature is not implemented: Physical plan does not support logical expression WindowFunction(W {",
                "a function with OVER",
            ),
        ] {
            let described = misplaced(text).unwrap();
            assert!(described.message.starts_with(message), "{}", described.message);
            assert!(described.hint.is_some());
        }
        assert!(misplaced("something else").is_none());
    }
}
