//! Arguments of functions: how many, and of which types.

use std::borrow::Cow;

use sluicegate_guards::sql_types::readable;

/// The calls that a function accepts, as DataFusion lists them: `sum(Int64) sum(Float64)`.
pub(super) struct Candidates {
    name: String,
    /// The arguments of each call, as a user reads them; calls with the same arguments appear once.
    calls: Vec<String>,
    /// The numbers of arguments, in order and once; `None` if a call takes any number.
    counts: Option<Vec<usize>>,
}

impl Candidates {
    pub(super) fn parse(name: &str, text: &str) -> Self {
        let mut calls: Vec<String> = Vec::new();
        let mut counts = Some(Vec::new());
        for call in text.split(&format!("{name}(")).filter(|it| !it.is_empty()) {
            let call = call.trim();
            let call = call.strip_suffix(')').unwrap_or(call);
            let (call, count) = arguments(call);
            counts = counts.zip(count).map(|(mut counts, count)| {
                counts.push(count);
                counts
            });
            if !calls.contains(&call) {
                calls.push(call);
            }
        }
        if let Some(counts) = &mut counts {
            counts.sort_unstable();
            counts.dedup();
        }
        Self { name: name.to_owned(), calls, counts }
    }

    /// Returns a hint if the function takes another number of arguments.
    pub(super) fn of_other_count(&self, arguments: &str) -> Option<String> {
        let counts = self.counts.as_ref().filter(|counts| !counts.is_empty())?;
        if counts.contains(&count(arguments)) {
            return None;
        }
        let numbers: Vec<String> = counts.iter().map(ToString::to_string).collect();
        let Self { name, .. } = self;
        Some(match counts.as_slice() {
            [0] => format!("{name} takes no argument: {name}()."),
            [1] => format!("{name} takes one argument: {self}."),
            _ => format!("{name} takes {} arguments: {self}.", numbers.join(" or ")),
        })
    }
}

impl std::fmt::Display for Candidates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, call) in self.calls.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{}({call})", self.name)?;
        }
        Ok(())
    }
}

/// Returns the arguments of a call as a user reads them, and their number, if it is fixed.
fn arguments(call: &str) -> (String, Option<usize>) {
    let repeated = |class: &str, word: &str| {
        let count: usize = call.strip_prefix(class)?.strip_suffix(')')?.parse().ok()?;
        Some((vec![word; count].join(", "), Some(count)))
    };
    if call.is_empty() || call == "NullAry()" {
        return (String::new(), Some(0));
    }
    repeated("Numeric(", "number")
        .or_else(|| repeated("String(", "text"))
        .or_else(|| repeated("Comparable(", "value"))
        .unwrap_or_else(|| {
            let text: Cow<'_, str> = readable(call);
            let is_open = call.contains("..") || call.contains("UserDefined");
            (text.into_owned(), (!is_open).then(|| count(call)))
        })
}

/// Returns the number of arguments in a list of types.
fn count(types: &str) -> usize {
    if types.trim().is_empty() {
        return 0;
    }
    let mut depth = 0_usize;
    1 + types
        .chars()
        .filter(|c| {
            match c {
                '(' | '[' | '{' | '<' => depth += 1,
                ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
                _ => {}
            }
            *c == ',' && depth == 0
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_arguments_is_named() {
        for (name, candidates, arguments, hint) in [
            (
                "row_number",
                "row_number(NullAry())",
                "Int64",
                Some("row_number takes no argument: row_number()."),
            ),
            ("upper", "upper(String)", "", Some("upper takes one argument: upper(String).")),
            ("abs", "abs(Numeric(1))", "", Some("abs takes one argument: abs(number).")),
            (
                "round",
                "round(Decimal, Int32) round(Decimal) round(Float64, Int32) round(Float64)",
                "",
                Some(
                    "round takes 1 or 2 arguments: round(Decimal, INT) round(Decimal) round(DOUBLE, INT) round(DOUBLE).",
                ),
            ),
            ("sum", "sum(Int64) sum(Float64)", "Utf8", None),
            ("f", "f(Utf8, ..)", "", None),
            ("f", "f(List(Int64), Decimal(3, 1))", "Utf8, Utf8", None),
        ] {
            let said = Candidates::parse(name, candidates).of_other_count(arguments);
            assert_eq!(said.as_deref(), hint, "{name}");
        }
    }
}
