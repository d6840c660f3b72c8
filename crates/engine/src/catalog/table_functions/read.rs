//! Functions such as `read_csv('s3://…', delim => ';')`: a URL, and named options of the format.

use std::collections::BTreeMap;

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArgOperator, UnaryOperator, Value,
};

use crate::catalog::delta;
use crate::catalog::option_names::once;
use crate::catalog::option_values;
use crate::context::error::{ErrorKind, UserError, are_similar};
use crate::context::file_names::ARROW;

/// A call that reads objects.
#[derive(Debug, PartialEq)]
pub(crate) struct Read {
    /// The URL of the objects.
    pub(crate) url: String,
    /// The format: `csv`, `json`, `parquet`, `arrow`, `avro` or `delta`.
    pub(crate) format: &'static str,
    /// The options of the format in the call.
    pub(crate) options: BTreeMap<String, String>,
}

/// The names of each argument, and its option of the format.
#[rustfmt::skip]
const CSV: [(&[&str], &str); 19] = [
    (&["delim", "delimiter", "sep"], "format.delimiter"),
    (&["header", "has_header"], "format.has_header"),
    (&["quote"], "format.quote"),
    (&["escape"], "format.escape"),
    (&["comment"], "format.comment"),
    (&["compression"], "format.compression"),
    (&["newlines_in_values"], "format.newlines_in_values"),
    (&["null_regex"], "format.null_regex"),
    (&["sample_size"], "format.schema_infer_max_rec"),
    (&["truncated_rows", "null_padding"], "format.truncated_rows"),
    (&["skip"], "format.skip"),
    (&["encoding"], "format.encoding"),
    (&["decimal_separator", "decimal"], "format.decimal_separator"),
    (&["thousands"], "format.thousands"),
    (&["dateformat", "date_format"], "format.dateformat"),
    (&["timestampformat", "timestamp_format"], "format.timestampformat"),
    (&["nullstr", "null", "null_values", "na_values"], "format.nullstr"),
    (&["types", "dtypes", "column_types"], "format.types"),
    BY_NAME,
];
#[rustfmt::skip]
const JSON: [(&[&str], &str); 4] = [
    (&["compression"], "format.compression"),
    (&["sample_size"], "format.schema_infer_max_rec"),
    (&["newline_delimited"], "format.newline_delimited"),
    BY_NAME,
];
const TYPED: [(&[&str], &str); 1] = [BY_NAME];
const BY_NAME: (&[&str], &str) = (&["union_by_name"], "format.union_by_name");

const DELTA_SCAN: [(&[&str], &str); 1] = [(&["version"], delta::VERSION)];

/// Returns the format that a function reads, and its arguments.
fn known(function: &str) -> (&'static str, Arguments) {
    match function {
        "read_csv" => ("csv", &CSV),
        "read_json" => ("json", &JSON),
        "delta_scan" => ("delta", &DELTA_SCAN),
        "read_arrow" => ("arrow", &TYPED),
        "read_avro" => ("avro", &TYPED),
        _ => ("parquet", &TYPED),
    }
}

/// The arguments of a function: the names of each, and its option of the format.
type Arguments = &'static [(&'static [&'static str], &'static str)];

/// Returns the arguments of a function besides the URL: the first name of each, and its option of the format. Other
/// functions have none.
pub fn arguments(function: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let (_, known) = known(&function.to_ascii_lowercase());
    known.iter().filter_map(|(names, option)| Some((*names.first()?, *option)))
}

/// Returns the option that an argument of `read_csv` and its like sets, by a name that is no option itself.
pub(crate) fn option_of_argument(format: &str, name: &str) -> Option<&'static str> {
    // Options of this name are for writing.
    const WRITTEN: [&str; 2] = ["date_format", "timestamp_format"];
    let name = name.to_ascii_lowercase();
    let short = name.strip_prefix("format.").unwrap_or(&name);
    let (_, known) = match format.to_ascii_lowercase().as_str() {
        "csv" => known("read_csv"),
        "json" | "jsonl" | "ndjson" => known("read_json"),
        "parquet" => known("read_parquet"),
        "avro" => known("read_avro"),
        arrow if ARROW.contains(&arrow) => known("read_arrow"),
        _ => return None,
    };
    let (_, option) = known.iter().find(|(names, _)| names.contains(&short))?;
    (!WRITTEN.contains(&short)).then_some(option)
}

impl Read {
    pub(super) fn parse(function: &str, arguments: &[FunctionArg]) -> Result<Self> {
        let (format, known) = known(function);
        let Some((first, named)) = arguments.split_first() else {
            return plan_err!("{function} needs a URL: {function}('s3://bucket/key')");
        };
        let url = url(function, first)?;
        let mut options = BTreeMap::new();
        for argument in named {
            if let FunctionArg::Named {
                arg: FunctionArgExpr::Expr(Expr::Dictionary(fields)), ..
            } = argument
            {
                once("column", fields.iter().map(|it| it.key.value.as_str()), str::to_owned)?;
            }
            let Some((name, value)) = pair(argument) else {
                return plan_err!("`{argument}` is no argument of {function}: write NAME => VALUE");
            };
            let option = known.iter().find(|(names, _)| names.contains(&name.as_str()));
            let Some((_, option)) = option else {
                let names: Vec<&str> = known.iter().map(|(names, _)| names[0]).collect();
                let mut all = known.iter().flat_map(|(names, _)| *names);
                if let Some(meant) = all.find(|it| are_similar(it, &name)) {
                    return Err(UserError {
                        kind: ErrorKind::Plan,
                        message: format!("{function} has no argument `{name}`"),
                        hint: Some(format!("Did you mean {meant}?")),
                    }
                    .into());
                }
                return plan_err!(
                    "{function} has no argument `{name}`; it has {}",
                    names.join(", ")
                );
            };
            let value = tab(option, &value).unwrap_or(value);
            option_values::check(format, (option, &value), &name)?;
            if options.insert((*option).to_owned(), value).is_some() {
                return plan_err!("{function} has the argument `{name}` twice");
            }
        }
        Ok(Self { url, format, options })
    }

    /// Returns whether the columns of CSV files are found by the names in their headers.
    pub(crate) fn reads_by_name(&self) -> bool {
        self.options.get(BY_NAME.1).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

/// Returns the URL of a function that has no other argument.
pub(super) fn url_only(function: &str, arguments: &[FunctionArg]) -> Result<String> {
    match arguments {
        [one] => url(function, one),
        _ => plan_err!("{function} has one argument: {function}('s3://bucket/folder/*.csv')"),
    }
}

fn url(function: &str, argument: &FunctionArg) -> Result<String> {
    let text = match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => quoted(value),
        _ => None,
    };
    match text {
        Some(url) if !url.is_empty() => Ok(url),
        _ => plan_err!("{function} needs a URL, as text, first: {function}('s3://bucket/key')"),
    }
}

/// Returns the text of a quoted literal.
fn quoted(value: &Expr) -> Option<String> {
    match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        Expr::Identifier(word) => word.quote_style.map(|_| word.value.clone()),
        _ => None,
    }
}

/// Parses `name => value`, `name := value` or `name = value`.
fn pair(argument: &FunctionArg) -> Option<(String, String)> {
    let (name, value) = match argument {
        FunctionArg::Named {
            name,
            arg: FunctionArgExpr::Expr(value),
            operator:
                FunctionArgOperator::RightArrow
                | FunctionArgOperator::Assignment
                | FunctionArgOperator::Equals,
        } => (&name.value, value),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        })) => match left.as_ref() {
            Expr::Identifier(name) => (&name.value, right.as_ref()),
            _ => return None,
        },
        _ => return None,
    };
    Some((name.to_ascii_lowercase(), text(value)?))
}

/// Converts a literal to text.
fn text(value: &Expr) -> Option<String> {
    if let Some(text) = quoted(value) {
        return Some(text);
    }
    match value {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => Some(number.clone()),
            Value::Boolean(yes) => Some(yes.to_string()),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Some(format!("-{}", text(expr)?)),
        // Lists and named types are converted to JSON.
        Expr::Array(list) => {
            let texts: Option<Vec<String>> = list.elem.iter().map(text).collect();
            serde_json::to_string(&texts?).ok()
        }
        Expr::Dictionary(fields) => {
            let fields =
                fields.iter().map(|field| Some((field.key.value.clone(), text(&field.value)?)));
            let fields: Option<BTreeMap<String, String>> = fields.collect();
            serde_json::to_string(&fields?).ok()
        }
        // Values without quotes, such as a compression, are accepted.
        Expr::Identifier(word) => Some(word.value.clone()),
        _ => None,
    }
}

/// Options that take one character.
const TABS: [&str; 5] = ["delimiter", "quote", "escape", "comment", "terminator"];

/// Returns a tab if an option takes one character, and its value is `\t`; none otherwise.
pub(crate) fn tab(option: &str, value: &str) -> Option<String> {
    let name = option.rsplit('.').next().unwrap_or(option).to_ascii_lowercase();
    (value == "\\t" && TABS.contains(&name.as_str())).then(|| "\t".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::Call;

    #[track_caller]
    fn check(call: &str, format: &str, options: &[(&str, &str)]) {
        let Ok(Some(Call::Read(read))) = Call::parse(call) else { panic!("{call}") };
        let found: Vec<(&str, &str)> =
            read.options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            (read.url.as_str(), read.format, found.as_slice()),
            ("s3://b/x", format, options)
        );
    }

    #[test]
    fn options_have_names() {
        check("read_parquet('s3://b/x')", "parquet", &[]);
        check("read_json('s3://b/x')", "json", &[]);
        check(
            "read_csv('s3://b/x', delim => '\\t', header => false)",
            "csv",
            &[("format.delimiter", "\t"), ("format.has_header", "false")],
        );
        for operator in ["=>", ":=", "="] {
            let call = format!("read_csv('s3://b/x', SEP {operator} '|')");
            check(&call, "csv", &[("format.delimiter", "|")]);
        }
    }

    #[test]
    fn lists_and_types_are_text() {
        check(
            "read_csv('s3://b/x', nullstr => ['NA', 'n/a'], types => {'a': 'INT', 'b': VARCHAR}, skip => 2)",
            "csv",
            &[
                ("format.nullstr", "[\"NA\",\"n/a\"]"),
                ("format.skip", "2"),
                ("format.types", "{\"a\":\"INT\",\"b\":\"VARCHAR\"}"),
            ],
        );
    }

    #[test]
    fn what_is_no_argument_is_named() {
        for (call, words) in [
            ("read_csv()", "needs a URL"),
            ("read_csv(1 + 1)", "needs a URL"),
            ("read_csv(5)", "needs a URL, as text"),
            ("glob(5)", "needs a URL, as text"),
            ("glob(true)", "needs a URL, as text"),
            ("read_json(some)", "needs a URL, as text"),
            ("read_csv('s3://b/x', 5)", "`5` is no argument"),
            ("read_csv('s3://b/x', color => 'red')", "no argument `color`; it has delim, header"),
            ("read_csv('s3://b/x', foo => 1)", "sample_size, truncated_rows"),
            ("read_csv('s3://b/x', sep => ';', delim => ',')", "twice"),
            (
                "read_parquet('s3://b/x', header => true)",
                "no argument `header`; it has union_by_name",
            ),
            ("read_avro('s3://b/x', union_by_name => 'x')", "must be true or false"),
            ("read_arrow('s3://b/x', union_by_name => false)", "always"),
        ] {
            let error = Call::parse(call).unwrap_err().to_string();
            assert!(error.contains(words), "{call}: {error}");
        }
    }
}
