//! Syntax errors with their place, and with the keyword that was mistyped.

use datafusion::common::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;

use super::super::ErrorKind;
use super::super::description::Description;
use super::super::similarity::are_similar;
use super::super::user_error::UserError;
use super::{clauses, stray_tokens};

/// The keywords with which statements begin.
const STATEMENTS: [&str; 21] = [
    "ALTER",
    "ANALYZE",
    "COPY",
    "CREATE",
    "DELETE",
    "DESCRIBE",
    "DROP",
    "EXECUTE",
    "EXPLAIN",
    "FROM",
    "INSERT",
    "PREPARE",
    "RESET",
    "SELECT",
    "SET",
    "SHOW",
    "SUMMARIZE",
    "TABLE",
    "UPDATE",
    "VALUES",
    "WITH",
];

/// The keywords with which the parts of queries begin, and their full form.
const CLAUSES: [(&str, &str); 16] = [
    ("BETWEEN", "BETWEEN"),
    ("DISTINCT", "DISTINCT"),
    ("EXCEPT", "EXCEPT"),
    ("FROM", "FROM"),
    ("GROUP", "GROUP BY"),
    ("GROUPBY", "GROUP BY"),
    ("HAVING", "HAVING"),
    ("INNER", "INNER"),
    ("INTERSECT", "INTERSECT"),
    ("JOIN", "JOIN"),
    ("LIMIT", "LIMIT"),
    ("OFFSET", "OFFSET"),
    ("ORDER", "ORDER BY"),
    ("ORDERBY", "ORDER BY"),
    ("UNION", "UNION"),
    ("WHERE", "WHERE"),
];

const BRACKETS: &str = "Quote a name as \"name\"; [ ] is around the members of a list.";

/// The parts of a parser message.
struct ParserMessage<'a> {
    expected: &'a str,
    found: &'a str,
    /// Line and column, counted from 1.
    place: Option<(usize, usize)>,
}

impl<'a> ParserMessage<'a> {
    /// Parses `Expected: an SQL statement, found: selct at Line: 1, Column: 1`.
    fn parse(text: &'a str) -> Option<Self> {
        let (expected, rest) = text.strip_prefix("Expected: ")?.rsplit_once(", found: ")?;
        let (found, place) = split_position(rest);
        Some(Self { expected, found, place })
    }

    fn message(&self) -> String {
        let found = match self.found {
            "EOF" => "the end of the statement".to_owned(),
            found => format!("`{found}`"),
        };
        let Self { expected, place, .. } = self;
        format!("syntax error{}: expected {expected}, found {found}", at(*place))
    }
}

/// Splits the place from the end of a message.
fn split_position(text: &str) -> (&str, Option<(usize, usize)>) {
    let found = text.rsplit_once(" at Line: ").and_then(|(before, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        Some((before, (line.parse().ok()?, column.parse().ok()?)))
    });
    found.map_or((text, None), |(before, place)| (before, Some(place)))
}

fn at(place: Option<(usize, usize)>) -> String {
    place.map_or_else(String::new, |(line, column)| format!(" at line {line}, column {column}"))
}

/// Rewords a syntax error and adds a hint for common ones.
pub(super) fn syntax(text: &str) -> Option<Description> {
    let describe = |message: String, hint: Option<String>| {
        Some(Description { kind: ErrorKind::Syntax, message, hint: hint.map(Into::into) })
    };
    if let Some(description) = open(text) {
        return Some(description);
    }
    if text.starts_with("Missing STORED AS clause") {
        let message =
            "CREATE EXTERNAL TABLE lacks its format, and the name of LOCATION implies none";
        let hint = "Write STORED AS CSV, JSON or PARQUET before LOCATION.";
        return describe(message.to_owned(), Some(hint.to_owned()));
    }
    if let Some((clause, rest)) = text.split_once(" clause is no longer in use.") {
        let option = rest.split_once("e.g., ").map(|(_, option)| format!("Write {option}."));
        return describe(format!("{clause} is not supported"), option);
    }
    if text.starts_with("Multiple objects not supported") {
        let message = "DROP names one table or view".to_owned();
        return describe(
            message,
            Some("Write a statement for each: DROP TABLE a; DROP TABLE b.".to_owned()),
        );
    }
    let said = ParserMessage::parse(text)?;
    let word = said.found.to_ascii_uppercase();
    let hint = match (said.expected, word.as_str()) {
        ("an SQL statement", "PIVOT") => Some(super::unsupported::PIVOT.to_owned()),
        ("an SQL statement", "UNPIVOT") => Some(super::unsupported::UNPIVOT.to_owned()),
        ("an SQL statement", "TABLE") => Some("Write FROM t, or SELECT * FROM t.".to_owned()),
        ("an SQL statement", "EOF") => Some("Write a statement, such as SELECT 1.".to_owned()),
        ("an SQL statement", _) => STATEMENTS
            .into_iter()
            .find(|it| are_similar(it, &word))
            .map(|meant| format!("Did you mean {meant}?")),
        (expected, _) if expected.starts_with("ROWS, RANGE, GROUPS") => Some(
            "OVER (…) takes PARTITION BY, ORDER BY and ROWS BETWEEN …; close it with `)` before what follows."
                .to_owned(),
        ),
        (")", "EXCLUDE") => Some(
            "A frame of a window with EXCLUDE is not supported. A sum leaves the row out as sum(x) OVER (…) - x."
                .to_owned(),
        ),
        (expected, _) if expected.starts_with("[NOT] NULL | TRUE") => Some(
            "Write = to compare with a value; IS takes NULL, NOT NULL, TRUE, FALSE and DISTINCT FROM."
                .to_owned(),
        ),
        (_, "[") => Some(BRACKETS.to_owned()),
        ("]", word) if word != "EOF" && word.starts_with(char::is_alphabetic) => {
            Some(BRACKETS.to_owned())
        }
        (_, ":" | "/") => Some(
            "Put the name of a file or an object in quotes: FROM 's3://bucket/file.csv'.".into(),
        ),
        _ => None,
    };
    describe(said.message(), hint)
}

/// Rewords errors about quotes and comments that are not closed.
fn open(text: &str) -> Option<Description> {
    let (what, place) = split_position(text);
    let (message, hint) = match what {
        "Unterminated string literal" => (
            "the text that begins here has no second '",
            "Close it; a ' within a text is written twice: 'it''s'.",
        ),
        "Expected close delimiter '\"' before EOF." => (
            "the name that begins here has no second \"",
            "Close it; a text, which is no name, is between two '.",
        ),
        "Unexpected EOF while in a multi-line comment" => {
            ("a comment that begins with /* does not end", "Close it with */.")
        }
        _ => return None,
    };
    let message = format!("syntax error{}: {message}", at(place));
    Some(Description { kind: ErrorKind::Syntax, message, hint: Some(hint.into()) })
}

/// Adds a hint to a parser error. It names the keyword that is similar to the word at which the parser stopped, or to
/// the word before, which the parser took for a name.
pub(crate) fn with_suggestion(sql: &str, error: DataFusionError) -> DataFusionError {
    let DataFusionError::SQL(parser, _) = error.find_root() else { return error };
    let text = match parser.as_ref() {
        ParserError::ParserError(text) => text,
        ParserError::TokenizerError(text) => {
            let place = match text.contains("multi-line comment") {
                true => stray_tokens::open_comment(sql),
                false => None,
            };
            let Some((line, column)) = place else { return error };
            let (what, _) = split_position(text);
            let text = format!("{what} at Line: {line}, Column: {column}");
            return DataFusionError::SQL(Box::new(ParserError::TokenizerError(text)), None);
        }
        ParserError::RecursionLimitExceeded => return error,
    };
    // `No infix parser for token Word(…) at Line: 1, Column: 10`, `… found: x at Line: 1, Column: 10`
    let stopped = split_position(text.trim_end_matches('`')).1;
    if let Some(told) = stopped.and_then(|place| stray_tokens::at(sql, place)) {
        return told.into();
    }
    if let Some(told) = stopped.and_then(|place| stray_tokens::unquoted_place(sql, place)) {
        return told.into();
    }
    let at_end = text.contains("found: EOF");
    if let Some(told) = stray_tokens::unclosed(sql, at_end) {
        return told.into();
    }
    if let (true, Some((line, column))) = (text.contains("No infix parser"), stopped) {
        let message =
            format!("syntax error at line {line}, column {column}: no operator is known here");
        let hint = Some("Check what stands here and before.".to_owned());
        return UserError { kind: ErrorKind::Syntax, message, hint }.into();
    }
    let Some(said) = ParserMessage::parse(text).filter(|it| it.expected != "an SQL statement")
    else {
        return error;
    };
    let Some(place) = said.place else { return error };
    if let Some((what, hint)) = clauses::misordered(sql, place) {
        let message = format!("syntax error{}: {what}", at(said.place));
        return UserError { kind: ErrorKind::Syntax, message, hint: Some(hint.to_owned()) }.into();
    }
    if said.expected == "("
        && let Some(name) = before_in(sql, place)
    {
        let values = if said.found == "[" { "1, 2" } else { said.found };
        let hint = format!("The values of IN are in parentheses: {name} IN ({values}).");
        return UserError { kind: ErrorKind::Syntax, message: said.message(), hint: Some(hint) }
            .into();
    }
    let Some(meant) = closest_keyword(sql, place) else { return error };
    let hint = Some(format!("Did you mean {meant}?"));
    UserError { kind: ErrorKind::Syntax, message: said.message(), hint }.into()
}

/// Returns the byte offset of a line and column.
fn byte_of(sql: &str, (line, column): (usize, usize)) -> Option<usize> {
    let lines_before: usize =
        sql.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let of_line = sql[lines_before..].char_indices().nth(column.checked_sub(1)?);
    Some(lines_before + of_line.map(|(at, _)| at)?)
}

/// Returns the word before IN, if IN comes directly before a place.
fn before_in(sql: &str, place: (usize, usize)) -> Option<&str> {
    let before = sql[..byte_of(sql, place)?].trim_end();
    let words = before.get(..before.len().checked_sub(2)?)?;
    let is_in =
        before[words.len()..].eq_ignore_ascii_case("in") && words.ends_with(char::is_whitespace);
    let mut words = words.split_whitespace().rev();
    let name = words.next()?;
    let name = if name.eq_ignore_ascii_case("not") { words.next()? } else { name };
    is_in.then_some(name)
}

/// Returns the keyword that is similar to the word at a place, or to the word before.
fn closest_keyword(sql: &str, place: (usize, usize)) -> Option<&'static str> {
    let start = byte_of(sql, place)?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let found = sql[start..].split(|c| !is_word(c)).next().unwrap_or_default();
    // The parser stops at these words only if BY is missing.
    match found.to_ascii_uppercase().as_str() {
        "GROUP" => return Some("GROUP BY"),
        "ORDER" => return Some("ORDER BY"),
        _ => {}
    }
    let before = sql[..start].trim_end();
    let before = before.rsplit(|c| !is_word(c)).next().unwrap_or_default();
    [found, before].into_iter().filter(|word| word.len() > 2).find_map(|word| {
        let word = word.to_ascii_uppercase();
        let is_right = CLAUSES.iter().any(|(known, meant)| *known == word && *meant == word)
            || matches!(word.as_str(), "GROUP" | "ORDER");
        let similar = CLAUSES.iter().find(|(known, _)| are_similar(known, &word))?;
        (!is_right).then_some(similar.1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::parser::DFParser;

    #[track_caller]
    fn said(text: &str, message: &str, hint: Option<&str>) {
        let described = syntax(text).unwrap();
        assert_eq!(described.message, message);
        assert_eq!(described.hint.as_deref(), hint);
    }

    #[test]
    fn a_syntax_error_says_where_and_what_was_meant() {
        said(
            "Expected: an SQL statement, found: selct at Line: 1, Column: 3",
            "syntax error at line 1, column 3: expected an SQL statement, found `selct`",
            Some("Did you mean SELECT?"),
        );
        said(
            "Expected: ), found: EXCLUDE at Line: 1, Column: 73",
            "syntax error at line 1, column 73: expected ), found `EXCLUDE`",
            Some(
                "A frame of a window with EXCLUDE is not supported. A sum leaves the row out as sum(x) OVER (…) - x.",
            ),
        );
        said(
            "Expected: an expression, found: EOF",
            "syntax error: expected an expression, found the end of the statement",
            None,
        );
        said(
            "Unterminated string literal at Line: 1, Column: 8",
            "syntax error at line 1, column 8: the text that begins here has no second '",
            Some("Close it; a ' within a text is written twice: 'it''s'."),
        );
        assert!(syntax("sql parser error").is_none());
    }

    #[test]
    fn keywords_that_were_mistyped_are_found() {
        for (sql, expected) in [
            ("select * form f", Some("FROM")),
            ("select * from f wher id = 1", Some("WHERE")),
            ("select *\nfrom f\nwhere é = 'é' gruop by name", Some("GROUP BY")),
            ("select id from f groupby id", Some("GROUP BY")),
            ("select id from f order bye id", Some("ORDER BY")),
            ("select id from f group id", Some("GROUP BY")),
            ("select * from f t id", None),
            ("select count( from f", None),
        ] {
            let error = DFParser::parse_sql(sql).unwrap_err();
            let error = crate::Error::from(with_suggestion(sql, error));
            let hint = expected.map(|word| format!("Did you mean {word}?"));
            assert_eq!(error.hint(), hint.as_deref(), "{sql}: {error}");
            assert!(error.to_string().starts_with("syntax error at line "), "{error}");
        }
    }

    #[test]
    fn what_helps_is_said_of_what_the_parser_stops_at() {
        for (sql, part) in [
            ("select * from t where name in 'a'", "name IN ('a')"),
            ("select * from t where name not in 'a'", "name IN ('a')"),
            ("select * from t where name is 'a'", "Write ="),
            ("select [t].[name] from t", "\"name\""),
            ("select [no such] from t", "\"name\""),
            ("select * from t limit 1 where id = 1", "WHERE … GROUP BY"),
            ("select * from t where id =< 1", "<="),
            ("select * from t where id => 1", ">="),
            ("summarise t", "SUMMARIZE"),
        ] {
            let error = DFParser::parse_sql(sql).unwrap_err();
            let error = crate::Error::from(with_suggestion(sql, error));
            assert!(error.hint().unwrap_or_default().contains(part), "{sql}: {error}");
        }
    }
}
