//! Help for names that are not columns.

use datafusion::common::{Column, SchemaError};
use sluicegate_guards::column_names::is_same;

/// Returns a hint for a name that is not a column but a function without parentheses, or a part of a time.
pub(super) fn unlike_column(name: &Column) -> Option<&'static str> {
    if name.relation.is_some() {
        return None;
    }
    Some(match name.name.to_ascii_lowercase().as_str() {
        "now" | "getdate" | "sysdate" | "systimestamp" => "The time is now(), with parentheses.",
        "today" | "curdate" => "The date is today(), with parentheses, or current_date.",
        "random" | "rand" => "A random number is random(), with parentheses.",
        "uuid" => "A UUID is uuid(), with parentheses.",
        "pi" => "It is pi(), with parentheses.",
        "version" => "It is version(), with parentheses.",
        "row_number" | "rownum" | "rowid" => "Rows are numbered by row_number() OVER (ORDER BY …).",
        "rank" | "dense_rank" => "A rank needs an order: rank() OVER (ORDER BY …).",
        "current_user" | "session_user" | "user" => "There are no users here.",
        "year" | "quarter" | "month" | "week" | "day" | "hour" | "minute" | "second" => {
            "The part of a time is a text: date_trunc('month', d), date_part('year', d); a column is named as it is, with \
             its capitals in quotes: \"Month\"."
        }
        _ => return None,
    })
}

/// Returns the error's message with each valid column once. The columns of ORDER BY come from both SELECT and the
/// table.
pub(super) fn each_once(error: &SchemaError) -> String {
    let SchemaError::FieldNotFound { field, valid_fields } = error else {
        return error.to_string();
    };
    let mut once: Vec<Column> = Vec::with_capacity(valid_fields.len());
    let relation = valid_fields.first().and_then(|valid| valid.relation.as_ref());
    // If all columns are of one file, its path adds nothing.
    let is_of_file = relation.is_some_and(|it| it.table().contains(['/', '.', '(']))
        && valid_fields.iter().all(|valid| valid.relation.as_ref() == relation);
    for valid in valid_fields {
        let valid = match is_of_file {
            true => Column::new_unqualified(valid.name()),
            false => valid.clone(),
        };
        if !once.contains(&valid) {
            once.push(valid);
        }
    }
    let text = SchemaError::FieldNotFound { field: field.clone(), valid_fields: once }.to_string();
    // The setting of the advice does not help a name in quotes.
    match (text.split_once(ADVICE), text.split_once(ADVICE_END)) {
        (Some((before, _)), Some((_, after))) => format!("{} {}", before.trim(), after.trim()),
        _ => text,
    }
}

/// The beginning and the end of DataFusion's advice on letter case.
const ADVICE: &str = "Column names are case sensitive.";
const ADVICE_END: &str = "enable_ident_normalization configuration.";

/// Returns a hint that names the columns that differ from an unknown one in their letter case.
pub(super) fn other_case(error: &SchemaError) -> Option<String> {
    let SchemaError::FieldNotFound { field, valid_fields } = error else { return None };
    let is_of = |valid: &&Column| field.relation.is_none() || valid.relation == field.relation;
    let mut names: Vec<String> = valid_fields
        .iter()
        .filter(is_of)
        .filter(|valid| is_same(valid.name(), field.name()) && valid.name() != field.name())
        .map(|valid| datafusion::common::utils::quote_identifier(valid.name()).into_owned())
        .collect();
    names.sort_unstable();
    names.dedup();
    let names = if names.is_empty() { return None } else { names.join(" or ") };
    Some(format!("Write {names}: a name in quotes is found only in its own letter case."))
}
