//! `SUMMARIZE t` describes the columns of a table or of a query, with one row for each.
//!
//! It is a query of aggregates over the existing columns, so it is planned, pushed down and counted like any other.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;

use sluicegate_guards::sql_types::sql_type;

/// Returns the query to summarize, if the statement is SUMMARIZE.
pub(crate) fn table(sql: &str) -> Option<String> {
    const WORD: &str = "summarize";
    let sql = after_comments(sql);
    let (word, of) = sql.split_at_checked(WORD.len())?;
    let of = after_comments(of).trim_end();
    if !word.eq_ignore_ascii_case(WORD) || !sql[WORD.len()..].starts_with(char::is_whitespace) {
        return None;
    }
    let first: String = of.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
    let is_query = of.starts_with('(')
        || ["select", "with", "from", "values"].iter().any(|word| first.eq_ignore_ascii_case(word));
    Some(if is_query { of.to_owned() } else { format!("SELECT * FROM {of}") })
}

/// Removes spaces and comments before the first word.
pub(crate) fn after_comments(sql: &str) -> &str {
    let mut rest = sql.trim_start();
    loop {
        let after = match (rest.strip_prefix("--"), rest.strip_prefix("/*")) {
            (Some(comment), _) => comment.split_once('\n'),
            (_, Some(comment)) => comment.split_once("*/"),
            (None, None) => None,
        };
        let Some((_, after)) = after else { return rest };
        rest = after.trim_start();
    }
}

/// Returns the statement that summarizes the rows of a query with these columns.
pub(crate) fn statement(schema: &DFSchema, rows: &str) -> String {
    let structs: Vec<String> =
        schema.fields().iter().map(|field| of_column(field.name(), field.data_type())).collect();
    let names = COLUMNS.iter().map(|name| format!("s['{name}'] AS \"{name}\""));
    let names = names.collect::<Vec<_>>().join(", ");
    format!(
        "SELECT {names} FROM (SELECT unnest(a) AS s FROM (SELECT make_array({}) AS a FROM ({rows}) AS r) \
         AS b) AS c",
        structs.join(", ")
    )
}

/// The columns of the answer.
const COLUMNS: [&str; 11] = [
    "column_name",
    "column_type",
    "min",
    "max",
    "approx_unique",
    "avg",
    "std",
    "q25",
    "q50",
    "q75",
    "null_percentage",
];

fn of_column(name: &str, kind: &DataType) -> String {
    let mut column = format!("\"{}\"", name.replace('"', "\"\""));
    // Bytes need not be text; in hexadecimal, they have the same order.
    if kind.is_binary() || matches!(kind, DataType::FixedSizeBinary(_)) {
        column = format!("encode(arrow_cast({column}, 'Binary'), 'hex')");
    }
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let null = || "CAST(NULL AS DOUBLE)".to_owned();
    let number = |call: &str| match kind.is_numeric() {
        true => call.replace('#', &format!("CAST({column} AS DOUBLE)")),
        false => null(),
    };
    let ordered = !kind.is_nested();
    let text = |call: &str| match ordered {
        true => format!("CAST({call}({column}) AS VARCHAR)"),
        false => "CAST(NULL AS VARCHAR)".to_owned(),
    };
    let unique = match ordered {
        true => format!("CAST(approx_distinct(CAST({column} AS VARCHAR)) AS BIGINT)"),
        false => "CAST(NULL AS BIGINT)".to_owned(),
    };
    let quantile = |share: &str| number(&format!("approx_percentile_cont(#, {share})"));
    let nulls = format!(
        "CASE WHEN count(*) = 0 THEN NULL ELSE round(100.0 * (count(*) - count({column})) / count(*), 2) END"
    );
    let values = [
        quoted(name),
        quoted(&sql_type(kind)),
        text("min"),
        text("max"),
        unique,
        number("avg(#)"),
        number("stddev(#)"),
        quantile("0.25"),
        quantile("0.5"),
        quantile("0.75"),
        format!("CAST({nulls} AS DOUBLE)"),
    ];
    let pairs: Vec<String> =
        COLUMNS.iter().zip(values).map(|(name, value)| format!("'{name}', {value}")).collect();
    format!("named_struct({})", pairs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_or_a_query_is_summarized() {
        for (sql, expected) in [
            ("SUMMARIZE t", Some("SELECT * FROM t")),
            ("  summarize\n's3://b/x'", Some("SELECT * FROM 's3://b/x'")),
            ("-- of t\n/* as\n-- it is */ SUMMARIZE /* all */ t", Some("SELECT * FROM t")),
            ("-- SUMMARIZE t", None),
            ("SUMMARIZE selection", Some("SELECT * FROM selection")),
            ("SUMMARIZE SELECT 1", Some("SELECT 1")),
            ("SUMMARIZE (SELECT 1)", Some("(SELECT 1)")),
            ("summarized t", None),
            ("SELECT summarize", None),
            ("summ", None),
        ] {
            assert_eq!(table(sql).as_deref(), expected, "{sql}");
        }
    }
}
