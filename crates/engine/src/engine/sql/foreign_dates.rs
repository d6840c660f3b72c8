//! Refuses dates without quotes and formats of other systems.
//!
//! A date without quotes is a difference of numbers, which is compared with the days since 1970. A format without `%`
//! gives the same text for every date.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
};

use crate::context::error::{ErrorKind, UserError};

/// Returns the error for such a date or format.
pub(crate) fn error(expr: &Expr) -> Option<UserError> {
    if let Expr::Function(call) = expr
        && let Some(error) = format_of_others(call)
    {
        return Some(error);
    }
    let date = match expr {
        Expr::BinaryOp { left, op, right } if is_comparison(op) => date(left).or(date(right)),
        Expr::Between { low, high, .. } => date(low).or(date(high)),
        Expr::InList { list, .. } => list.iter().find_map(date),
        _ => None,
    }?;
    Some(UserError {
        kind: ErrorKind::Plan,
        message: format!("{date} without quotes is a difference of three numbers"),
        hint: Some(format!("Write DATE '{date}'; put what is to be subtracted in parentheses.")),
    })
}

/// Functions that format or parse a date; some accept several formats.
const FORMATTING: [&str; 9] = [
    "to_char",
    "date_format",
    "to_date",
    "to_timestamp",
    "to_timestamp_seconds",
    "to_timestamp_millis",
    "to_timestamp_micros",
    "to_timestamp_nanos",
    "to_unixtime",
];

/// Format patterns of PostgreSQL and others, with those of strftime, the longer ones first.
const PATTERNS: [(&str, &str); 16] = [
    ("yyyy", "%Y"),
    ("month", "%B"),
    ("hh24", "%H"),
    ("hh12", "%I"),
    ("mon", "%b"),
    ("day", "%A"),
    ("ddd", "%j"),
    ("yy", "%y"),
    ("mm", "%m"),
    ("dd", "%d"),
    ("dy", "%a"),
    ("hh", "%H"),
    ("mi", "%M"),
    ("ss", "%S"),
    ("ms", "%3f"),
    ("am", "%p"),
];

/// Returns the error for a format without any `%`, with an equivalent format.
fn format_of_others(call: &Function) -> Option<UserError> {
    let name = call.name.0.last()?.as_ident()?.value.to_ascii_lowercase();
    let FunctionArguments::List(arguments) = &call.args else { return None };
    let (true, [_, FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(format)))]) =
        (FORMATTING.contains(&name.as_str()), arguments.args.as_slice())
    else {
        return None;
    };
    let Value::SingleQuotedString(format) = &format.value else { return None };
    if format.contains('%') || format.is_empty() {
        return None;
    }
    let (mut meant, mut rest) = (String::new(), format.as_str());
    while let Some(first) = rest.chars().next() {
        let known = PATTERNS.iter().find(|(theirs, _)| {
            rest.get(..theirs.len()).is_some_and(|start| start.eq_ignore_ascii_case(theirs))
        });
        let (added, length) = match known {
            Some((theirs, ours)) => (*ours, theirs.len()),
            None => (&rest[..first.len_utf8()], first.len_utf8()),
        };
        meant.push_str(added);
        rest = &rest[length..];
    }
    let meant = if meant.contains('%') { meant } else { "%Y-%m-%d".to_owned() };
    Some(UserError {
        kind: ErrorKind::Plan,
        message: format!("the format '{format}' of {name} has no %"),
        hint: Some(format!("Formats are those of strftime: '{meant}'.")),
    })
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator as Op;
    matches!(op, Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq)
}

/// Returns the date that subtracted numbers look like: the year, month and day.
fn date(expr: &Expr) -> Option<String> {
    let minus = |expr| match expr {
        &Expr::BinaryOp { ref left, op: BinaryOperator::Minus, ref right } => Some((left, right)),
        _ => None,
    };
    let digits = |expr: &Expr, length: usize| match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) if digits.len() == length => Some(digits.clone()),
            _ => None,
        },
        _ => None,
    };
    let (before, day) = minus(expr)?;
    let (year, month) = minus(before)?;
    let (year, month, day) = (digits(year, 4)?, digits(month, 2)?, digits(day, 2)?);
    let is_in =
        |text: &str, most: u32| text.parse().is_ok_and(|number| (1..=most).contains(&number));
    (is_in(&month, 12) && is_in(&day, 31)).then(|| format!("{year}-{month}-{day}"))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use crate::engine::sql::unsupported_clauses;

    #[test]
    fn dates_have_quotes() {
        for condition in [
            "day > 2024-01-15",
            "2024-01-15 = day",
            "day BETWEEN 2024-01-15 AND now()",
            "NOT day IN ('2024-01-14', 2024-01-15)",
        ] {
            let sql = format!("SELECT * FROM t WHERE x AND {condition}");
            let statement = DFParser::parse_sql(&sql).unwrap().pop_front().unwrap();
            let said = unsupported_clauses::check(&statement).unwrap_err().to_string();
            assert!(said.contains("2024-01-15 without quotes"), "{sql}: {said}");
        }
    }
}
