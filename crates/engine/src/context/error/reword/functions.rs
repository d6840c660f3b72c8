//! Functions that do not exist, or not with these arguments.

use super::super::ErrorKind;
use super::super::description::Description;
use super::super::description::description;
use super::super::similarity::are_similar;
use super::arguments::Candidates;

/// Rewords `… No function matches the given name and argument types 'sum(Utf8)'. … Candidate functions: sum(Int64)
/// …`.
pub(super) fn signature(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("No function matches the given name and argument types '")?;
    let (call, rest) = rest.split_once('\'')?;
    let name = call.split_once('(')?.0;
    let candidates = rest.split_once("Candidate functions:").map_or("", |(_, these)| these.trim());
    let message = format!("there is no {call}");
    let arguments = call.split_once('(').map_or("", |(_, rest)| rest);
    let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
    let is_time = ["Date", "Timestamp"].iter().any(|it| arguments.starts_with(it));
    let hint = match candidates {
        _ if name == "string_agg" && !arguments.contains(',') => {
            "Say what comes between the texts: string_agg(name, ', ').".to_owned()
        }
        _ if ["date_trunc", "date_part"].contains(&name) && is_time => {
            format!("The part comes first: {name}('month', d).")
        }
        _ if ["max", "min"].contains(&name) && call.contains(',') => {
            let of_row = if name == "max" { "greatest" } else { "least" };
            format!(
                "{name} takes one argument, over rows; of several values in a row: {of_row}(a, b)."
            )
        }
        _ if name == "array_has" && !is_list(arguments) => {
            let kind = arguments.split(['(', ',']).next().unwrap_or_default();
            let message = format!("ANY and array_has take a list, and the type {kind} is none");
            let hint = "Write id = ANY([1, 2]), id IN (1, 2) or array_has([1, 2], id).";
            return Some(description(ErrorKind::Plan, message, hint));
        }
        these if these.contains("UserDefined") || these.contains("Any(") => {
            format!("Check the number of arguments of {name}, or convert them: CAST(… AS …).")
        }
        "" => format!("Convert the argument of {name}: CAST(… AS …)."),
        these => {
            let candidates = Candidates::parse(name, these);
            candidates.of_other_count(arguments).unwrap_or_else(|| {
                format!("Convert the argument: CAST(… AS …). {name} takes: {candidates}.")
            })
        }
    };
    Some(description(ErrorKind::Plan, message, hint))
}

/// Returns whether the first of these types is a list.
fn is_list(arguments: &str) -> bool {
    ["List", "LargeList", "FixedSizeList", "Null"].iter().any(|kind| arguments.starts_with(kind))
}

/// Rewords `… to satisfy a call to 'cardinality' function: coercion from Int64 to the signature …`, an error of ALL.
pub(super) fn all_of_no_list(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("a call to 'cardinality' function: coercion from ")?;
    let (kind, _) = rest.split_once(" to the signature")?;
    let message = format!("ALL and cardinality take a list, and the type {kind} is none");
    Some(description(ErrorKind::Plan, message, "Write id > ALL([1, 2]), or id > 1 AND id > 2."))
}

/// Names of functions in other systems, and their equivalents in DataFusion.
#[rustfmt::skip]
const SYNONYMS: [(&str, &str); 139] = [
    ("add_months", "d + INTERVAL '1 month'"),
    ("any", "any_value, or bool_or of conditions"),
    ("approx_count_distinct", "approx_distinct"),
    ("approx_percentile", "approx_percentile_cont"),
    ("approx_quantile", "approx_percentile_cont"),
    ("arg_max", "first_value(x ORDER BY y DESC NULLS LAST)"),
    ("arg_min", "first_value(x ORDER BY y)"),
    ("array_agg_distinct", "array_agg(DISTINCT …)"),
    ("array_size", "array_length"),
    ("avg_if", "avg(x) FILTER (WHERE …)"),
    ("avgif", "avg(x) FILTER (WHERE …)"),
    ("bigint", "CAST(x AS BIGINT)"),
    ("bitand", "a & b"),
    ("bitor", "a | b"),
    ("bitxor", "a ^ b"),
    ("bool_xor", "a <> b"),
    ("cast", "CAST(x AS INT)"),
    ("char", "chr"),
    ("charindex", "strpos(text, part)"),
    ("choose", "CASE n WHEN 1 THEN … END"),
    ("cnt", "count"),
    ("collect_list", "array_agg"),
    ("collect_set", "array_agg(DISTINCT …)"),
    ("convert", "CAST(x AS INT)"),
    ("count_if", "count(*) FILTER (WHERE …)"),
    ("countif", "count(*) FILTER (WHERE …)"),
    ("curdate", "today()"),
    ("date_add", "d + INTERVAL '1' DAY"),
    ("date_diff", DATEDIFF),
    ("date_from_parts", "make_date"),
    ("date_sub", "d - INTERVAL '1' DAY"),
    ("dateadd", "d + INTERVAL '1' DAY"),
    ("datediff", DATEDIFF),
    ("datefromparts", "make_date"),
    ("datepart", "date_part('year', …)"),
    ("day_of_week", "date_part('dow', d), in which Sunday is 0"),
    ("dayname", "to_char(d, '%A')"),
    ("dayofmonth", "date_part('day', …)"),
    ("dayofweek", "date_part('dow', d), in which Sunday is 0"),
    ("dayofyear", "date_part('doy', …)"),
    ("days_between", "a - b of two dates"),
    ("div", "a / b of whole numbers"),
    ("double", "CAST(x AS DOUBLE)"),
    ("epoch", "date_part('epoch', …)"),
    ("epoch_ms", "1000 * date_part('epoch', t), or to_timestamp_millis of a number"),
    ("explode", "unnest"),
    ("first", "first_value(x ORDER BY y)"),
    ("float", "CAST(x AS DOUBLE)"),
    ("format_date", "to_char"),
    ("format_datetime", "to_char"),
    ("format_timestamp", "to_char"),
    ("gen_random_uuid", "uuid()"),
    ("generate_date_array", "generate_series(a, b, INTERVAL '1 day')"),
    ("generate_uuid", "uuid()"),
    ("get_json_object", "data['name'], a field of a column of JSON"),
    ("getdate", "now"),
    ("group_array", "array_agg"),
    ("group_concat", "string_agg"),
    ("hex", "to_hex"),
    ("int", "CAST(x AS INT)"),
    ("integer", "CAST(x AS INT)"),
    ("is_nan", "isnan"),
    ("is_null", "the condition x IS NULL"),
    ("isinf", "abs(x) = 'inf'"),
    ("isnull", "coalesce(x, 0), or the condition x IS NULL"),
    ("isnumeric", "TRY_CAST(x AS DOUBLE) IS NOT NULL"),
    ("json_extract", "data['name'], a field of a column of JSON"),
    ("json_extract_path_text", "data['name'], a field of a column of JSON"),
    ("json_extract_scalar", "data['name'], a field of a column of JSON"),
    ("json_extract_string", "data['name'], a field of a column of JSON"),
    ("json_query", "data['name'], a field of a column of JSON"),
    ("json_value", "data['name'], a field of a column of JSON"),
    ("last", "last_value(x ORDER BY y)"),
    ("last_day", "date_trunc('month', d) + INTERVAL '1 month' - INTERVAL '1 day'"),
    ("lcase", "lower"),
    ("list", "array_agg"),
    ("list_agg", "string_agg, or array_agg"),
    ("listagg", "string_agg"),
    ("locate", "strpos(text, part)"),
    ("logical_and", "bool_and"),
    ("logical_or", "bool_or"),
    ("max_by", "first_value(x ORDER BY y DESC NULLS LAST)"),
    ("min_by", "first_value(x ORDER BY y)"),
    ("mode", "SELECT x FROM t GROUP BY x ORDER BY count(*) DESC LIMIT 1"),
    ("monthname", "to_char(d, '%B')"),
    ("months_between", "(date_part('year', a) - date_part('year', b)) * 12 + date_part('month', a) - date_part('month', b)"),
    ("newid", "uuid()"),
    ("nullifzero", "nullif(x, 0)"),
    ("parse_date", "to_date"),
    ("parse_timestamp", "to_timestamp"),
    ("percentile", "percentile_cont"),
    ("percentile_approx", "approx_percentile_cont"),
    ("product", "exp(sum(ln(x))), of numbers above 0"),
    ("quantile", "percentile_cont, which interpolates"),
    ("regexp", "x ~ 'pattern'"),
    ("regexp_extract", "regexp_match(text, '(pattern)')[1]"),
    ("regexp_matches", "regexp_like"),
    ("regexp_split_to_array", "string_to_array, or split_part"),
    ("regexp_substr", "regexp_match(text, '(pattern)')[1]"),
    ("replicate", "repeat"),
    ("rlike", "x ~ 'pattern'"),
    ("rownum", "row_number() OVER ()"),
    ("safe_divide", "a / nullif(b, 0)"),
    ("sequence", "generate_series"),
    ("size", "array_length, or length of a text"),
    ("split", "string_to_array, or split_part"),
    ("square", "power(x, 2)"),
    ("std", "stddev"),
    ("stdev", "stddev"),
    ("str", "CAST(x AS VARCHAR)"),
    ("str_split", "string_to_array, or split_part"),
    ("str_to_date", "to_date"),
    ("strftime", "to_char"),
    ("string", "CAST(x AS VARCHAR)"),
    ("string_split", "string_to_array, or split_part"),
    ("strlen", "length"),
    ("strptime", "to_timestamp, or to_date"),
    ("struct_extract", "column['field']"),
    ("sum_if", "sum(x) FILTER (WHERE …)"),
    ("sumif", "sum(x) FILTER (WHERE …)"),
    ("sysdate", "now"),
    ("text", "CAST(x AS VARCHAR)"),
    ("time_bucket", "date_bin(INTERVAL '15 minutes', t)"),
    ("timestamp_diff", "a - b of two timestamps"),
    ("timestampadd", "t + INTERVAL '1' HOUR"),
    ("timestampdiff", "a - b of two timestamps"),
    ("to_decimal", "CAST(… AS DECIMAL(18, 2))"),
    ("to_number", "CAST(… AS DOUBLE)"),
    ("to_varchar", "CAST(x AS VARCHAR), or to_char of a date"),
    ("truncate", "trunc"),
    ("ucase", "upper"),
    ("unix_seconds", "date_part('epoch', …)"),
    ("unix_timestamp", "date_part('epoch', …)"),
    ("varchar", "CAST(x AS VARCHAR)"),
    ("week", "date_part('week', …)"),
    ("weekday", "date_part('dow', d), in which Sunday is 0"),
    ("weekofyear", "date_part('week', …)"),
    ("yearweek", "to_char(d, '%G%V')"),
    ("zeroifnull", "coalesce(x, 0)"),
];

/// Functions of other systems that have no equivalent, and the reason.
const LACKING: [(&[&str], &str); 4] = [
    (
        &[
            "md5", "sha", "sha1", "sha2", "sha224", "sha256", "sha384", "sha512", "digest", "hash",
            "crc32", "xxhash64",
        ],
        "No function computes hashes; encode(x, 'hex') and encode(x, 'base64') write bytes as text.",
    ),
    (
        &["database", "current_database", "current_schema", "user", "current_user", "session_user"],
        "There are no databases and no users; SHOW TABLES lists the tables.",
    ),
    (
        &["histogram", "width_bucket"],
        "Count by group: SELECT floor(x / 10) * 10 AS from_, count(*) … GROUP BY 1.",
    ),
    (&["nextval", "currval", "lastval"], "Number rows with row_number() OVER (ORDER BY …)."),
];

/// The equivalent of a number of days between two dates.
const DATEDIFF: &str = "a - b of two dates, which is a number of days";

/// Functions that exist only with OVER.
const WINDOWS: [&str; 8] =
    ["cume_dist", "dense_rank", "lag", "lead", "ntile", "percent_rank", "rank", "row_number"];

/// Rewords `Invalid function 'len'. Did you mean 'ln'?`.
pub(super) fn function(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("Invalid function '")?;
    let (name, rest) = rest.split_once('\'')?;
    if WINDOWS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        let hint = format!("Say over which rows: {name}(…) OVER (ORDER BY …).");
        let message = format!("`{name}` is a function of windows");
        return Some(description(ErrorKind::Plan, message, hint));
    }
    let lacking =
        LACKING.iter().find(|(names, _)| names.iter().any(|it| it.eq_ignore_ascii_case(name)));
    if let Some((_, hint)) = lacking {
        return Some(description(ErrorKind::Plan, format!("there is no function `{name}`"), *hint));
    }
    let near = rest.split_once("Did you mean '").and_then(|(_, rest)| rest.split_once('\''));
    let synonym = SYNONYMS.iter().find(|(theirs, _)| theirs.eq_ignore_ascii_case(name));
    let hint = match (synonym, near) {
        (Some((_, ours)), _) => format!("Here it is {ours}."),
        (None, Some((near, _))) if are_similar(near, name) => format!("Did you mean {near}?"),
        _ => "SHOW FUNCTIONS lists all.".to_owned(),
    };
    Some(description(ErrorKind::Plan, format!("there is no function `{name}`"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn said(text: &str, message: &str, hint: Option<&str>) {
        let described = super::super::reword(text).unwrap();
        assert_eq!(described.message, message);
        assert_eq!(described.hint.as_deref(), hint);
    }

    #[test]
    fn a_function_says_what_it_takes() {
        said(
            "Function 'sum' failed. This issue was likely caused by a bug in DataFusion's code. No function \
             matches the given name and argument types 'sum(Utf8)'. You might need to add explicit type \
             casts. Candidate functions: sum(Int64) sum(Float64)",
            "there is no sum(Utf8)",
            Some("Convert the argument: CAST(… AS …). sum takes: sum(BIGINT) sum(DOUBLE)."),
        );
        said(
            "No function matches the given name and argument types 'f(Utf8View)'. Candidate functions: f(Utf8, \
             List(Int64)) f(LargeUtf8, List(Int64)) f(Int8)",
            "there is no f(Utf8View)",
            Some(
                "Convert the argument: CAST(… AS …). f takes: f(VARCHAR, List(BIGINT)) f(TINYINT).",
            ),
        );
        said(
            "No function matches the given name and argument types 'date_trunc(Date32, Utf8)'. Candidate functions: \
             date_trunc(String, Timestamp)",
            "there is no date_trunc(Date32, Utf8)",
            Some("The part comes first: date_trunc('month', d)."),
        );
    }

    #[test]
    fn functions_of_other_systems_are_named_as_here() {
        said(
            "Invalid function 'strlen'. Did you mean 'ln'?",
            "there is no function `strlen`",
            Some("Here it is length."),
        );
        said(
            "Invalid function 'summ'. Did you mean 'sum'?",
            "there is no function `summ`",
            Some("Did you mean sum?"),
        );
        said(
            "Invalid function 'rank'. Did you mean 'rand'?",
            "`rank` is a function of windows",
            Some("Say over which rows: rank(…) OVER (ORDER BY …)."),
        );
        said(
            "Invalid function 'foo'. Did you mean 'log'?",
            "there is no function `foo`",
            Some("SHOW FUNCTIONS lists all."),
        );
    }

    #[test]
    fn names_are_in_order_and_once() {
        assert!(SYNONYMS.is_sorted_by(|(one, _), (other, _)| one < other));
    }
}
