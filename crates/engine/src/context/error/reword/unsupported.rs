//! Features that DataFusion lacks, in the words of SQL.

use super::super::ErrorKind;
use super::super::description::Description;
use super::super::description::description;

/// The text before a feature that DataFusion lacks.
const MARK: &str = "This feature is not implemented: ";

pub(super) const PIVOT: &str =
    "Write a column for each value: sum(x) FILTER (WHERE name = 'apple') AS apple.";

pub(super) const UNPIVOT: &str = "Put the columns below one another: SELECT 'a' AS name, a AS value FROM t UNION ALL SELECT 'b', b FROM t.";

const STATEMENT: &str = "Unsupported SQL statement: ";

/// Statements of other systems, and the alternative here.
const STATEMENTS: [(&str, &str); 7] = [
    (
        "CREATE SECRET",
        "Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or an AWS profile: --aws-profile.",
    ),
    (
        "ATTACH",
        "CREATE EXTERNAL TABLE names a table of files; another store is another --endpoint.",
    ),
    (
        "INSTALL",
        "Nothing has to be installed: s3:// URLs, CSV, JSON and Parquet are read as they are.",
    ),
    ("LOAD", "Nothing has to be loaded: s3:// URLs, CSV, JSON and Parquet are read as they are."),
    ("USE", "Name objects by their URL: 's3://bucket/key'; another store is another --endpoint."),
    ("PRAGMA", "SET changes a setting, SHOW ALL lists them."),
    ("BEGIN", "Each statement stands for itself."),
];

/// Rewords an error about a feature that DataFusion lacks.
pub(super) fn unsupported(text: &str) -> Option<Description> {
    let (_, what) = text.split_once(MARK)?;
    let rules = [expression, change, statement, node, clause];
    Some(
        rules
            .into_iter()
            .find_map(|rule| rule(what))
            .unwrap_or_else(|| lacking(without_debug(what).trim_end_matches('.').to_owned(), None)),
    )
}

/// Cuts a text before the debug output of the parser's types.
fn without_debug(what: &str) -> &str {
    let ends = [" {", "(Ident", "(Expr", ": AsOf", ": Identifier"];
    let end = ends.iter().filter_map(|end| what.find(end)).min();
    let shown = end.map_or(what, |end| what[..end].trim_end());
    // The parser's types may appear within others.
    let of_parser = ["ObjectName(", "Identifier(", "Ident(", "Span(", "quote_style"];
    let is_debug = |text: &str| of_parser.iter().any(|name| text.contains(name));
    match shown.find(['(', '[']) {
        Some(first) if is_debug(what) => shown[..first].trim_end_matches([' ', ':']),
        _ => shown,
    }
}

fn lacking(message: String, hint: Option<&'static str>) -> Description {
    match hint {
        Some(hint) => description(ErrorKind::Unsupported, message, hint),
        None => Description { kind: ErrorKind::Unsupported, message, hint: None },
    }
}

/// Rewords `Physical plan does not support logical expression Exists(Exists { … })`.
fn expression(what: &str) -> Option<Description> {
    let (_, rest) = what.split_once("does not support logical expression ")?;
    let name = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    Some(match name {
        "Exists" => lacking(
            "EXISTS is only supported in WHERE".to_owned(),
            Some("In a list of columns, count instead: (SELECT count(*) FROM …) > 0."),
        ),
        "InSubquery" => lacking(
            "IN with a sub-query is only supported in WHERE".to_owned(),
            Some("In a list of columns, join the sub-query, and ask whether its key IS NOT NULL."),
        ),
        "ScalarSubquery" | "OuterReferenceColumn" => lacking(
            "the sub-query refers to the query around it by something else than =".to_owned(),
            Some("Join the two tables on that condition instead, and aggregate the join."),
        ),
        other => lacking(format!("{other} is not supported in this place"), None),
    })
}

/// Rewords errors of statements that would change a table: `Insert into not implemented for this table`, `DELETE not
/// supported for View table`, `Unsupported logical plan: Dml(Delete)`.
fn change(what: &str) -> Option<Description> {
    if what.starts_with("Insert into not implemented") {
        return Some(lacking(
            "no rows can be inserted into this table".to_owned(),
            Some(
                "INSERT INTO adds an object to a table of CREATE EXTERNAL TABLE whose LOCATION ends in /; COPY \
                 (SELECT …) TO 's3://bucket/key' writes one anew.",
            ),
        ));
    }
    let verb = match what.split_once("Unsupported logical plan: Dml(") {
        Some((_, operation)) => operation.split(|c: char| !c.is_alphabetic()).next()?,
        None => what.split_once(" not supported for ")?.0,
    };
    let verb = verb.to_ascii_uppercase();
    let known = ["DELETE", "UPDATE", "TRUNCATE", "MERGE"];
    known.iter().any(|known| verb.starts_with(known)).then(|| {
        lacking(
            format!("{verb} is not supported: objects are replaced, not changed"),
            Some("COPY (SELECT …) TO 's3://bucket/key' writes the rows that a table should have."),
        )
    })
}

/// Rewords `Unsupported SQL statement: USE mydb`.
fn statement(what: &str) -> Option<Description> {
    let rest = what.strip_prefix(STATEMENT)?;
    let known = STATEMENTS.iter().find(|(begins, _)| {
        rest.to_ascii_uppercase()
            .strip_prefix(begins)
            .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    });
    let first = rest.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    Some(match known {
        Some((name, hint)) => lacking(format!("{name} is not supported"), Some(hint)),
        None => lacking(
            format!("{first} is not supported"),
            Some("`sluice sql --help` shows the statements that there are."),
        ),
    })
}

/// Rewords `Unsupported ast node Pivot { table: … }`.
fn node(what: &str) -> Option<Description> {
    let (_, rest) = what.split_once("Unsupported ast node ")?;
    let rest = rest.strip_prefix("in sqltorel: ").unwrap_or(rest);
    let name = rest.split(|c: char| !c.is_alphanumeric()).next()?.to_ascii_uppercase();
    let hint = match name.as_str() {
        "PIVOT" => PIVOT,
        "UNPIVOT" => UNPIVOT,
        "CONVERT" => "Write CAST(x AS INT).",
        _ => "Leave it out; SHOW FUNCTIONS lists the functions that there are.",
    };
    Some(lacking(format!("{name} is not supported"), Some(hint)))
}

/// Rewords errors of clauses and types that have an alternative.
fn clause(what: &str) -> Option<Description> {
    if what.starts_with("Unsupported SQL type") {
        let hint = "Types are INT, BIGINT, DOUBLE, DECIMAL(10, 2), VARCHAR, BOOLEAN, DATE, TIMESTAMP and their like.";
        return Some(lacking(without_debug(what).to_owned(), Some(hint)));
    }
    let (name, hint) = match what {
        "TOP" => ("TOP beside LIMIT or in UNION", "Write LIMIT 5 at the end."),
        "ANY in LIKE expression" => {
            ("LIKE ANY of a column", "List the patterns: x LIKE ANY ('a%', 'b%').")
        }
        _ if what.starts_with("wildcard * with RENAME") => {
            ("* RENAME", "Write SELECT id AS x, * EXCLUDE (id) FROM t.")
        }
        _ if what.starts_with("wildcard * with AS") => {
            ("AS after *", "Name each column: SELECT id AS x, name AS y FROM t.")
        }
        "LATERAL VIEWS" => ("LATERAL VIEW", "Write unnest(list) in the list of columns."),
        _ if what.starts_with("FETCH clause") => ("FETCH", "Write LIMIT 5 at the end."),
        _ => return None,
    };
    Some(lacking(format!("{name} is not supported"), Some(hint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_said_with_what_is() {
        for (what, message, hint) in [
            (
                "Physical plan does not support logical expression Exists(Exists { subquery: <subquery>, negated: \
                 false })",
                "EXISTS is only supported in WHERE",
                "count(*)",
            ),
            (
                "Physical plan does not support logical expression ScalarSubquery(<subquery>)",
                "the sub-query refers to the query around it by something else than =",
                "Join",
            ),
            (
                "Insert into not implemented for this table",
                "no rows can be inserted into this table",
                "LOCATION",
            ),
            (
                "DELETE not supported for View table",
                "DELETE is not supported: objects are replaced, not changed",
                "COPY",
            ),
            (
                "Unsupported SQL statement: CREATE SECRET ( TYPE s3 )",
                "CREATE SECRET is not supported",
                "AWS_ACCESS_KEY_ID",
            ),
            ("Unsupported SQL statement: VACUUM", "VACUUM is not supported", "--help"),
            (
                "Unsupported ast node Pivot { table: Table { name: ObjectName([Identifier(Ident { value: \"f\" ",
                "PIVOT is not supported",
                "FILTER",
            ),
            ("TOP", "TOP beside LIMIT or in UNION is not supported", "LIMIT"),
        ] {
            let described = unsupported(&format!("{MARK}{what}")).unwrap();
            assert_eq!(described.message, message);
            assert!(described.hint.unwrap().contains(hint), "{what}");
        }
        let other = unsupported(&format!("{MARK}Something new.")).unwrap();
        assert_eq!((other.message.as_str(), other.hint), ("Something new", None));
        assert!(unsupported("Something else").is_none());
    }
}
