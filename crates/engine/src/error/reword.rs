//! What DataFusion and its parser say, in words for whoever typed the statement.

use super::ErrorKind;
use super::describe::Description;
use crate::url_tables::{COMPRESSIONS, TABS};

/// The keywords with which statements begin.
const STATEMENTS: [&str; 20] = [
    "ALTER", "ANALYZE", "COPY", "CREATE", "DELETE", "DESCRIBE", "DROP", "EXECUTE", "EXPLAIN",
    "FROM", "INSERT", "PREPARE", "RESET", "SELECT", "SET", "SHOW", "TABLE", "UPDATE", "VALUES",
    "WITH",
];

/// A message that says less, or more, than a user can use; none if it is good as it is.
pub(super) fn reword(text: &str) -> Option<Description> {
    const RULES: [fn(&str) -> Option<Description>; 9] =
        [syntax, signature, fields, format, substring, level, partitions, memory, table];
    RULES.into_iter().find_map(|rule| rule(text))
}

fn description(kind: ErrorKind, message: String, hint: impl Into<String>) -> Description {
    Description { kind, message, hint: Some(hint.into().into()) }
}

/// `Expected: an SQL statement, found: selct at Line: 1, Column: 1`
fn syntax(text: &str) -> Option<Description> {
    let (expected, rest) = text.strip_prefix("Expected: ")?.rsplit_once(", found: ")?;
    let (found, place) = match rest.rsplit_once(" at Line: ") {
        Some((found, place)) => (found, place.split_once(", Column: ")),
        None => (rest, None),
    };
    let found = match found {
        "EOF" => "the end of the statement".to_owned(),
        found => format!("`{found}`"),
    };
    let place = match place {
        Some((line, column)) => format!(" at line {line}, column {column}"),
        None => String::new(),
    };
    let word = found.trim_matches('`').to_ascii_uppercase();
    let meant = match expected {
        "an SQL statement" => STATEMENTS.into_iter().find(|it| are_similar(it, &word)),
        _ => None,
    };
    let message = format!("syntax error{place}: expected {expected}, found {found}");
    let hint = meant.map(|meant| format!("Did you mean {meant}?").into());
    Some(Description { kind: ErrorKind::Syntax, message, hint })
}

/// Whether two words differ by one letter that is wrong, missing, too much, or has changed places with
/// the next.
fn are_similar(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let before = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[before..], &b[before..]);
    match (a, b) {
        ([], rest) | (rest, []) => rest.len() <= 1,
        ([a0, a1, rest @ ..], [b0, b1, other @ ..]) if a0 == b1 && a1 == b0 => rest == other,
        ([_, rest @ ..], [_, other @ ..]) => rest == other || rest == b || a == other,
    }
}

/// `… No function matches the given name and argument types 'sum(Utf8)'. … Candidate functions: sum(Int64) …`
fn signature(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("No function matches the given name and argument types '")?;
    let (call, rest) = rest.split_once('\'')?;
    let name = call.split_once('(')?.0;
    let candidates = rest.split_once("Candidate functions:").map_or("", |(_, these)| these.trim());
    let message = format!("there is no {call}");
    let hint = match candidates {
        "" => format!("Convert the argument of {name}: CAST(… AS …)."),
        these => format!("Convert the argument: CAST(… AS …). {name} takes: {these}."),
    };
    Some(description(ErrorKind::Plan, message, hint))
}

/// A name after a dot, where what stands before it is no struct.
fn fields(text: &str) -> Option<Description> {
    const HINT: &str =
        "Write table.column or struct.field; quote a name that is a keyword: \"user\".name.";
    if let Some((_, rest)) = text.split_once("Dot access not supported for non-string expr: ") {
        let name = rest.split_once("value: \"").and_then(|(_, rest)| rest.split_once('"'));
        let message = match name {
            Some((name, _)) => format!("what stands before `.{name}` has no fields"),
            None => "what stands before a dot has no fields".to_owned(),
        };
        return Some(description(ErrorKind::Plan, message, HINT));
    }
    let (_, rest) = text.split_once("Cannot access field at argument ")?;
    let (_, rest) = rest.split_once("type ")?;
    let of = rest.split_once(" is not ").map_or(rest, |(of, _)| of);
    let message = format!("a value of the type {of} has no fields");
    Some(description(ErrorKind::Plan, message, HINT))
}

/// `Substring without for/from is not valid Substring { … }`
fn substring(text: &str) -> Option<Description> {
    let at_fault = text.contains("Substring without for/from is not valid");
    let message =
        "substr takes a text, where to begin and, if it is not to go on to the end, a length";
    at_fault.then(|| {
        description(ErrorKind::Plan, message.to_owned(), "For example substr('sluice', 2, 3).")
    })
}

/// `valid compression range 1..=22 exceeded.`, of a level
fn level(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("valid compression range ")?;
    let (range, _) = rest.split_once(" exceeded")?;
    let message =
        format!("the level of the compression is not in {}", range.replace("..=", " to "));
    Some(description(ErrorKind::Setting, message, "Write it as in 'zstd(3)'."))
}

/// `table 'datafusion.public.nosuch' not found`, of a name that was typed without what stands before it.
fn table(text: &str) -> Option<Description> {
    if let Some((_, rest)) = text.split_once("table function '")
        && let Some((name, _)) = rest.split_once("' not found")
    {
        let message = format!("there is no table function `{name}`");
        let hint = "There are read_csv, read_json, read_parquet, glob, generate_series and range.";
        return Some(description(ErrorKind::Plan, message, hint));
    }
    let (_, rest) = text.split_once("table 'datafusion.public.")?;
    let (name, _) = rest.split_once("' not found")?;
    let hint = match name.contains('/') {
        true => {
            "Name an object as 's3://bucket/key', or a file of this machine by its whole path: '/folder/file.csv'."
        }
        false => {
            "CREATE EXTERNAL TABLE it, or name the object itself: FROM 's3://bucket/file.csv'."
        }
    };
    Some(description(ErrorKind::Plan, format!("table '{name}' not found"), hint))
}

/// A partitioned COPY of which no column is left.
fn partitions(text: &str) -> Option<Description> {
    let at_fault = text.contains("must either specify a row count or at least one column");
    let message =
        "all columns are those that partition the objects, and none is left to be written in them";
    at_fault.then(|| {
        description(ErrorKind::Plan, message.to_owned(), "Leave one out of PARTITIONED BY (…).")
    })
}

/// `Resources exhausted: … Error: Failed to allocate additional 4.6 KB for … (used: 0.0 B, pool_size: 1024.0 B)`
fn memory(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("Failed to allocate additional ")?;
    let (wanted, rest) = rest.split_once(" for ")?;
    let (_, pool) = rest.rsplit_once("pool_size: ")?;
    let limit = pool.trim_end_matches([')', '"', '.']);
    let message = format!("the query needs {wanted} more memory than its limit of {limit} leaves");
    Some(description(ErrorKind::Resources, message, "Give the query more memory: --memory-limit."))
}

const SAY_FORMAT: &str = "Say it: STORED AS CSV, JSON, PARQUET or ARROW; or end the name in .csv, .json, .parquet or .arrow.";

/// `Unable to find factory for ORC`, `There is no registered file format with ext gz`
fn format(text: &str) -> Option<Description> {
    if let Some((_, extension)) = text.split_once("There is no registered file format with ext ") {
        let message = format!("COPY cannot tell from `.{extension}` which format to write");
        let end = format!(".{extension}");
        let hint = match COMPRESSIONS.iter().find(|(suffix, _)| *suffix == end) {
            Some((_, compression)) => format!(
                "Say the format, and how it is compressed: STORED AS CSV, or JSON, OPTIONS ('format.compression' \
                 '{compression}'); Parquet is compressed within, so that its names end in .parquet."
            ),
            None if extension == TABS => {
                "Say that it is CSV with tabs: STORED AS CSV OPTIONS ('format.delimiter' '\\t')."
                    .to_owned()
            }
            None => SAY_FORMAT.to_owned(),
        };
        return Some(description(ErrorKind::Unsupported, message, hint));
    }
    if text.contains("unable to get file extension") {
        let message = "COPY cannot tell from a name without an extension which format to write";
        return Some(description(ErrorKind::Unsupported, message.to_owned(), SAY_FORMAT));
    }
    let (_, name) = text.split_once("Unable to find factory for ")?;
    let message = format!("{name} is no format of tables");
    Some(description(
        ErrorKind::Unsupported,
        message,
        "STORED AS CSV, JSON (also NDJSON, JSONL), PARQUET, or ARROW.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn said(text: &str, message: &str, hint: Option<&str>) {
        let described = reword(text).unwrap();
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
            "Expected: an expression, found: EOF",
            "syntax error: expected an expression, found the end of the statement",
            None,
        );
        assert!(reword("sql parser error").is_none());
    }

    #[test]
    fn words_of_libraries_are_not_those_of_users() {
        said(
            "Substring without for/from is not valid Substring { expr: Value(1) }",
            "substr takes a text, where to begin and, if it is not to go on to the end, a length",
            Some("For example substr('sluice', 2, 3)."),
        );
        said(
            "valid compression range 1..=22 exceeded.",
            "the level of the compression is not in 1 to 22",
            Some("Write it as in 'zstd(3)'."),
        );
        said(
            "There is no registered file format with ext zst",
            "COPY cannot tell from `.zst` which format to write",
            Some(
                "Say the format, and how it is compressed: STORED AS CSV, or JSON, OPTIONS ('format.compression' \
                 'zstd'); Parquet is compressed within, so that its names end in .parquet.",
            ),
        );
        said(
            "Format not explicitly set and unable to get file extension! Use STORED AS to define file format.",
            "COPY cannot tell from a name without an extension which format to write",
            Some(SAY_FORMAT),
        );
        said(
            "Additional allocation failed for Sort with top memory consumers as: Sort consumed 0.0 B. Error: Failed \
             to allocate additional 4.6 KB for Sort[1] with 0.0 B already allocated - 1024.0 B remain available \
             for the total memory pool: greedy(used: 0.0 B, pool_size: 1024.0 B)",
            "the query needs 4.6 KB more memory than its limit of 1024.0 B leaves",
            Some("Give the query more memory: --memory-limit."),
        );
    }

    #[test]
    fn words_are_similar_if_one_letter_is_wrong() {
        for word in ["SELCT", "SELECTT", "SLEECT", "SELEKT", "ELECT", "SELECT"] {
            assert!(are_similar("SELECT", word) && are_similar(word, "SELECT"), "{word}");
        }
        for word in ["SLCT", "TABLE", "", "SELECTED", "TCELES"] {
            assert!(!are_similar("SELECT", word) && !are_similar(word, "SELECT"), "{word}");
        }
    }

    #[test]
    fn a_function_says_what_it_takes() {
        said(
            "Function 'sum' failed. This issue was likely caused by a bug in DataFusion's code. No function \
             matches the given name and argument types 'sum(Utf8)'. You might need to add explicit type \
             casts. Candidate functions: sum(Int64) sum(Float64)",
            "there is no sum(Utf8)",
            Some("Convert the argument: CAST(… AS …). sum takes: sum(Int64) sum(Float64)."),
        );
    }

    #[test]
    fn what_has_no_fields_is_named() {
        let hint =
            "Write table.column or struct.field; quote a name that is a keyword: \"user\".name.";
        said(
            "Dot access not supported for non-string expr: Identifier(Ident { value: \"name\", quote_style: \
             None })",
            "what stands before `.name` has no fields",
            Some(hint),
        );
        said(
            "Cannot access field at argument 1: type Utf8 is not Struct, Map, or Null",
            "a value of the type Utf8 has no fields",
            Some(hint),
        );
    }
}
