//! Rewords messages of DataFusion and its parser for the user who typed the statement.
//!
//! Each file handles one group of messages. The doc comment of a function quotes the message that it rewords.

mod arguments;
mod casts;
mod clauses;
mod comparisons;
mod duplicates;
mod functions;
mod instants;
mod misplaced;
mod operators;
mod patterns;
mod stray_tokens;
mod syntax;
mod unsupported;
mod values;

use super::ErrorKind;
use super::description::{Description, WITH_POINT, description};
use super::hints::{LEAVE_ONE, NONE_LEFT, insert_into_file};
use crate::context::file_names::{COMPRESSIONS, ENDS, TABS};
use crate::context::not_found;
use crate::context::setting_suggestions;

pub(super) use self::casts::cast;
use self::comparisons::comparison;
use self::duplicates::twice;
use self::functions::{all_of_no_list, function, signature};
use self::instants::instant;
use self::misplaced::misplaced;
pub(super) use self::misplaced::not_a_condition;
use self::operators::operator;
use self::patterns::{no_text, pattern};
use self::syntax::syntax;
pub(crate) use self::syntax::with_suggestion;
use self::unsupported::unsupported;
pub(super) use self::values::of_value;

/// Rewords a message that is unclear to a user. Returns `None` if no rule applies.
pub(super) fn reword(text: &str) -> Option<Description> {
    const RULES: [fn(&str) -> Option<Description>; 27] = [
        syntax,
        twice,
        pattern,
        no_text,
        comparison,
        of_value,
        setting,
        misplaced,
        signature,
        all_of_no_list,
        function,
        operands,
        fields,
        format,
        substring,
        level,
        partitions,
        memory,
        table,
        grouping,
        variable,
        operator,
        instant,
        inserted,
        unsupported,
        nested,
        with_point,
    ];
    RULES.into_iter().find_map(|rule| rule(text))
}

/// Rewords `Cannot coerce arithmetic expression Utf8 + Int64 to valid types`.
fn operands(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("Cannot coerce arithmetic expression ")?;
    let (operation, _) = rest.split_once(" to valid types")?;
    let has = |types: &[&str]| types.iter().any(|it| operation.contains(it));
    let hint = match has(&["Interval", "Timestamp", "Date", "Duration"]) {
        true if has(&["Utf8"]) => "Convert the text: CAST(… AS DATE), or AS TIMESTAMP.",
        true if has(&[" + ", " - "])
            && has(&["Int", "Float", "Decimal"])
            && !has(&["Interval"]) =>
        {
            "Add an interval: + INTERVAL '1 day', or + INTERVAL '12 hours'."
        }
        true => "A date takes an INTERVAL: d + INTERVAL '1 day'; two of them are subtracted.",
        false => "Convert one of the two: CAST(… AS DOUBLE).",
    };
    Some(description(ErrorKind::Plan, format!("there is no {operation}"), hint))
}

/// Rewords `Column in SELECT must be in GROUP BY or an aggregate function: … column "f.name" must appear in …`.
fn grouping(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("must be in GROUP BY or an aggregate function: ")?;
    let (_, rest) = rest.split_once("column \"")?;
    let (column, _) = rest.split_once("\" must appear")?;
    let message = format!("{column} is neither in GROUP BY nor in an aggregate function");
    // The name of a file cannot qualify a column in SQL.
    let written = match column.rsplit_once('.') {
        Some((table, name)) if table.contains('.') && !column.contains(['(', ' ']) => name,
        _ => column,
    };
    let hint = format!(
        "Group by it, too, or by all such columns with GROUP BY ALL; or take one value of each group: \
         min({written})."
    );
    Some(description(ErrorKind::Plan, message, hint))
}

/// Rewords `'sluice.sacn' is not a variable which can be viewed with 'SHOW'`.
fn setting(text: &str) -> Option<Description> {
    let (before, _) = text.split_once("' is not a variable which can be viewed with 'SHOW'")?;
    let (_, name) = before.rsplit_once('\'')?;
    let first = name.split('.').next().unwrap_or_default();
    if ["index", "indexes", "indices", "keys"].contains(&first) {
        let message = format!("SHOW {} is not supported", first.to_ascii_uppercase());
        let hint = "`sluice index list` lists the indexes of a table.";
        return Some(description(ErrorKind::Unsupported, message, hint));
    }
    let message = format!("there is no setting `{name}`");
    Some(description(ErrorKind::Setting, message, setting_suggestions::hint(name, "SHOW")))
}

/// Rewords `variable ["@x"] has no type information` and `Placeholder '$1' was not provided a value for execution.`
fn variable(text: &str) -> Option<Description> {
    if let Some((_, rest)) = text.split_once("variable [\"")
        && let Some((name, _)) = rest.split_once("\"] has no type information")
    {
        let message = format!("there is no variable `{name}`");
        return Some(description(ErrorKind::Plan, message, "Write the value in its place."));
    }
    let (_, rest) = text.split_once("Placeholder '")?;
    let (name, _) = rest.split_once("' was not provided a value")?;
    let message = format!("the parameter {name} has no value");
    let hint = "PREPARE q AS SELECT … names a statement, and EXECUTE q(1, 'a') gives it values.";
    Some(description(ErrorKind::Plan, message, hint))
}

/// Rewords errors about a name after a dot if the part before the dot is not a struct.
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

/// Rewords `Inserting into a ListingTable backed by a single file is not supported, …`.
fn inserted(text: &str) -> Option<Description> {
    let at_fault = text.contains("Inserting into a ListingTable backed by a single file");
    at_fault.then(|| insert_into_file("").into())
}

/// Rewords `Substring without for/from is not valid Substring { … }`.
fn substring(text: &str) -> Option<Description> {
    let at_fault = text.contains("Substring without for/from is not valid");
    let message =
        "substr takes a text, where to begin and, if it is not to go on to the end, a length";
    at_fault.then(|| {
        description(ErrorKind::Plan, message.to_owned(), "For example substr('sluice', 2, 3).")
    })
}

/// Rewords `valid compression range 1..=22 exceeded.` for a compression level.
fn level(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("valid compression range ")?;
    let (range, _) = rest.split_once(" exceeded")?;
    let message =
        format!("the level of the compression is not in {}", range.replace("..=", " to "));
    Some(description(ErrorKind::Setting, message, "Write it as in 'zstd(3)'."))
}

/// Rewords `table 'datafusion.public.nosuch' not found` for an unqualified name.
fn table(text: &str) -> Option<Description> {
    if let Some((_, rest)) = text.split_once("table function '")
        && let Some((name, _)) = rest.split_once("' not found")
    {
        let message = format!("there is no table function `{name}`");
        let hint = "There are read_csv, read_json, read_parquet, glob, generate_series and range.";
        return Some(description(ErrorKind::Plan, message, hint));
    }
    let (_, rest) = text.split_once("table 'datafusion.")?;
    let (name, _) = rest.split_once("' not found")?;
    // In a name without quotes, the dot separates schema and table.
    let (name, is_quoted) = match name.strip_prefix("public.") {
        Some(name) => (name, true),
        None => (name, false),
    };
    if is_quoted && name == "dual" {
        let message = "table 'dual' not found".to_owned();
        return Some(description(ErrorKind::Plan, message, "Leave FROM dual out: SELECT 1."));
    }
    if let Some(told) = not_found::broken_link(name).filter(|_| is_quoted) {
        return Some(told.into());
    }
    if is_quoted && std::path::Path::new(name).is_file() {
        return Some(not_found::unknown_format(name).into());
    }
    let is_file = name.contains('/')
        || name.rsplit_once('.').is_some_and(|(_, end)| {
            let is_end = |known: &str| known.trim_start_matches('.').eq_ignore_ascii_case(end);
            ENDS.iter().copied().chain(COMPRESSIONS.iter().map(|(end, _)| *end)).any(is_end)
        });
    let hint = not_found::hint(name);
    let is_near = name.contains('.') && hint.starts_with("Did you mean");
    let (message, hint) = match (is_file || is_quoted && is_near, is_quoted) {
        (true, true) => (format!("there is no file '{name}'"), hint),
        (true, false) => (
            format!("table '{name}' not found"),
            format!("Put the name of a file in quotes: FROM '{name}'."),
        ),
        (false, true) if std::path::Path::new(name).is_dir() => (
            format!("table '{name}' not found"),
            format!("A folder ends in a slash: FROM '{name}/'."),
        ),
        (false, _) => (
            format!("table '{name}' not found"),
            "CREATE EXTERNAL TABLE it, or name the object itself: FROM 's3://bucket/file.csv'."
                .into(),
        ),
    };
    Some(description(ErrorKind::Plan, message, hint))
}

/// Rewords `Csv error: Nested type Struct("a": Int64) is not supported in CSV`.
fn nested(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("Nested type ")?;
    rest.split_once(" is not supported in CSV")?;
    Some(description(
        ErrorKind::Unsupported,
        "CSV has no objects and no lists, and a column is one of these",
        "Write it as JSON or Parquet: COPY … TO 'x.json'; or its fields: SELECT a['x'] AS x, …",
    ))
}

/// Rewords `Cannot cast string '1.234,5 (with a point)' to value of Decimal128(38, 10) type, in file:…`.
pub(super) fn with_point(text: &str) -> Option<Description> {
    let (before, rest) = text.split_once(WITH_POINT)?;
    let (_, value) = before.rsplit_once('\'')?;
    let place = rest.rfind(", in ").map_or("", |at| &rest[at..]);
    Some(description(
        ErrorKind::Data,
        format!("'{value}' has a point, and another character separates decimals{place}"),
        "Write numbers without separators of thousands; or declare the column as VARCHAR, and take them out: \
         replace(x, '.', '').",
    ))
}

/// Rewords the error of a partitioned COPY that has no other column.
fn partitions(text: &str) -> Option<Description> {
    let at_fault = text.contains("must either specify a row count or at least one column");
    at_fault.then(|| description(ErrorKind::Plan, NONE_LEFT.to_owned(), LEAVE_ONE))
}

/// Rewords `Resources exhausted: … Error: Failed to allocate additional 4.6 KB for … (used: 0.0 B, pool_size: 1024.0
/// B)`.
fn memory(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("Failed to allocate additional ")?;
    let (wanted, rest) = rest.split_once(" for ")?;
    let (_, pool) = rest.rsplit_once("pool_size: ")?;
    let limit = pool.trim_end_matches([')', '"', '.']);
    let (whose, hint) = match rest.contains("session(used: ") {
        true => (
            "its session's",
            "Run fewer queries at a time; or give sessions more: --session-memory.",
        ),
        false => ("its", "Give the query more memory: --memory-limit."),
    };
    let message =
        format!("the query needs {wanted} more memory than {whose} limit of {limit} leaves");
    Some(description(ErrorKind::Resources, message, hint))
}

const FORMAT_HINT: &str = "Say it: STORED AS CSV, JSON, PARQUET, ARROW or AVRO; or end the name in .csv, .json, .parquet or .arrow.";

/// Rewords `Unable to find factory for ORC` and `There is no registered file format with ext gz`.
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
            None => FORMAT_HINT.to_owned(),
        };
        return Some(description(ErrorKind::Unsupported, message, hint));
    }
    if text.contains("unable to get file extension") {
        let message = "COPY cannot tell from a name without an extension which format to write";
        return Some(description(ErrorKind::Unsupported, message.to_owned(), FORMAT_HINT));
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
            Some(FORMAT_HINT),
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
    fn names_that_do_not_exist_are_named_with_what_may_be_meant() {
        said(
            "table 'datafusion.public.no.csv' not found",
            "there is no file 'no.csv'",
            Some(not_found::hint("no.csv").as_str()),
        );
        said(
            "table 'datafusion.no.csv' not found",
            "table 'no.csv' not found",
            Some("Put the name of a file in quotes: FROM 'no.csv'."),
        );
        said(
            "variable [\"@x\"] has no type information",
            "there is no variable `@x`",
            Some("Write the value in its place."),
        );
        said(
            "Column in SELECT must be in GROUP BY or an aggregate function: While expanding wildcard, column \
             \"f.name\" must appear in the GROUP BY clause or must be part of an aggregate function",
            "f.name is neither in GROUP BY nor in an aggregate function",
            Some(
                "Group by it, too, or by all such columns with GROUP BY ALL; or take one value of each group: \
                 min(f.name).",
            ),
        );
        said(
            "Column in SELECT must be in GROUP BY or an aggregate function: While expanding wildcard, column \
             \"f.csv.name\" must appear in the GROUP BY clause or must be part of an aggregate function",
            "f.csv.name is neither in GROUP BY nor in an aggregate function",
            Some(
                "Group by it, too, or by all such columns with GROUP BY ALL; or take one value of each group: \
                 min(name).",
            ),
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
