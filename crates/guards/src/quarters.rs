//! Supports intervals in quarters of a year.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{DateTimeField, Expr, Interval, Value, VisitorMut};

use super::{Case, CaseOutcome, Guard, visit};

pub(super) const GUARD: Guard = Guard {
    title: "An INTERVAL cannot be given in quarters",
    upstream: &[],
    ours: "`INTERVAL '1 quarter'` and `INTERVAL '1' QUARTER` are three months, as in DuckDB.",
    cases: &[Case {
        setup: &[],
        sql: "SELECT DATE '2024-01-31' + INTERVAL '1 quarter', DATE '2024-01-31' - INTERVAL '2' QUARTER, \
              DATE '2024-01-31' + INTERVAL '-1 quarters 2 days'",
        right: CaseOutcome::Rows(&["2024-04-30, 2023-07-31, 2023-11-02"]),
        theirs: CaseOutcome::Error("interval"),
    }],
};

/// Rewrites quarters as months.
pub(super) fn rewrite(statement: &mut Statement) {
    let _ = visit(statement, &mut Months);
}

struct Months;

impl VisitorMut for Months {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Interval(interval) = expr {
            in_months(interval);
        }
        ControlFlow::Continue(())
    }
}

fn in_months(interval: &mut Interval) {
    let Expr::Value(value) = interval.value.as_mut() else { return };
    let (Value::SingleQuotedString(text) | Value::Number(text, _)) = &mut value.value else {
        return;
    };
    let field = interval.leading_field.as_ref();
    if field.is_some_and(|field| matches!(field, DateTimeField::Quarter)) {
        if let Some(months) = tripled(text.trim()) {
            *text = months;
            interval.leading_field = Some(DateTimeField::Month);
        }
    } else if field.is_none() {
        *text = spelled(text);
    }
}

/// Returns a text with months instead of quarters.
fn spelled(text: &str) -> String {
    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    for at in 1..words.len() {
        if matches!(words[at].to_ascii_lowercase().as_str(), "quarter" | "quarters")
            && let Some(months) = tripled(&words[at - 1])
        {
            words[at - 1] = months;
            "months".clone_into(&mut words[at]);
        }
    }
    if words.iter().any(|word| word == "months") { words.join(" ") } else { text.to_owned() }
}

fn tripled(number: &str) -> Option<String> {
    Some(number.parse::<i64>().ok()?.checked_mul(3)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters_are_three_months() {
        for (text, expected) in [
            ("1 quarter", "3 months"),
            ("-2 QUARTERS 1 day", "-6 months 1 day"),
            ("1  day", "1  day"),
            ("quarter", "quarter"),
        ] {
            assert_eq!(spelled(text), expected);
        }
    }
}
