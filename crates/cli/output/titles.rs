//! Column titles of answers, as the user typed the expressions.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::{self, Expr, SelectItem, SetExpr};
use futures::TryStreamExt;
use sluicegate_engine::sql_types::readable;

/// Renames the columns of an answer to the typed expressions: `sum(a)` where the engine has
/// `sum(s3://bucket/t.csv.a)`. Aliases and names of columns stay.
pub(crate) fn titled(
    answer: SendableRecordBatchStream,
    statement: &str,
) -> SendableRecordBatchStream {
    let Some(schema) = retitled(&answer.schema(), statement) else { return answer };
    let named = Arc::clone(&schema);
    let batches = answer.and_then(move |batch| {
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        // The planner's types may differ from those of the optimized plan, for example of a UNION, so the batch's
        // types are kept.
        let fields = batch.schema_ref().fields().iter().zip(named.fields());
        let fields = fields.map(|(field, named)| field.as_ref().clone().with_name(named.name()));
        let named = Schema::new(fields.collect::<Vec<_>>());
        let named = RecordBatch::try_new_with_options(Arc::new(named), columns, &options);
        std::future::ready(named.map_err(Into::into))
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}

/// Returns the schema with other names; `None` if no name changes, or two would be equal.
pub(crate) fn retitled(schema: &SchemaRef, statement: &str) -> Option<SchemaRef> {
    let count = schema.fields().len();
    let items = match items(statement) {
        Some(items) => items,
        // The text of a prepared statement is not available here.
        None => return with_names(schema, plain_names(schema, statement)),
    };
    // The columns of `*` lie between the expressions before and after it.
    let star = items.iter().position(is_star).unwrap_or(items.len());
    let end = items.iter().rposition(is_star).map_or(items.len(), |last| last + 1);
    if star == items.len() && items.len() != count || star + items.len() - end > count {
        return with_names(schema, plain_names(schema, statement));
    }
    let before = items[..star].iter().enumerate();
    let after = items[end..].iter().enumerate();
    let first_after = count - (items.len() - end);
    let after = after.map(|(index, item)| (first_after + index, item));
    let mut names = plain_names(schema, statement);
    for (index, item) in before.chain(after) {
        if let Some(text) = typed(item, &names[index]) {
            names[index] = text;
        }
    }
    with_names(schema, names)
}

/// Returns the names of columns as a user would type them; names that occur in the statement stay.
fn plain_names(schema: &SchemaRef, statement: &str) -> Vec<String> {
    let names = schema.fields().iter().map(|field| match field.name() {
        name if statement.contains(name.as_str()) => name.clone(),
        name => readable(name).into_owned(),
    });
    names.collect()
}

/// Returns the schema with these names; `None` if no name changes, or two would be equal.
fn with_names(schema: &SchemaRef, names: Vec<String>) -> Option<SchemaRef> {
    let distinct: HashSet<&String> = names.iter().collect();
    let is_new = schema.fields().iter().zip(&names).any(|(field, name)| field.name() != name);
    if !is_new || distinct.len() < names.len() {
        return None;
    }
    let fields = schema.fields().iter().zip(names);
    let fields = fields.map(|(field, name)| field.as_ref().clone().with_name(name));
    let metadata = schema.metadata().clone();
    Some(Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), metadata)))
}

/// Returns the expressions that a query selects; those of the first SELECT for a UNION.
fn items(statement: &str) -> Option<Vec<SelectItem>> {
    // The statement was parsed before, with the session's limit. This limit is higher, because the parser takes very long
    // when it reaches its own.
    const RECURSION: usize = 10_000;
    let parser = DFParserBuilder::new(statement).with_recursion_limit(RECURSION).build();
    let mut statements = parser.ok()?.parse_statements().ok()?;
    let Statement::Statement(statement) = statements.pop_front()? else { return None };
    let ast::Statement::Query(query) = *statement else { return None };
    let mut body = query.body;
    loop {
        body = match *body {
            SetExpr::Select(select) => return Some(select.projection),
            SetExpr::Query(query) => query.body,
            SetExpr::SetOperation { left, .. } => left,
            _ => return None,
        };
    }
}

fn is_star(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

/// Returns the text of an expression without an alias, if the engine generated its name.
fn typed(item: &SelectItem, called: &str) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(Expr::Identifier(_)) => None,
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            // A column has its own name; a field of one is called `t.user[name]`.
            let is_column = parts.last().is_some_and(|name| {
                name.value.eq_ignore_ascii_case(called) || is_numbered(&name.value, called)
            });
            let parts: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
            (!is_column).then(|| parts.join("."))
        }
        SelectItem::UnnamedExpr(expression) => {
            let text = expression.to_string();
            (!is_numbered(&text, called)).then_some(text)
        }
        _ => None,
    }
}

/// Returns true if a column has this name with a number, because earlier columns have the name: `sum(a):1`.
fn is_numbered(text: &str, called: &str) -> bool {
    let number = called.strip_prefix(text).and_then(|rest| rest.strip_prefix(':'));
    number.is_some_and(|number| number.parse::<usize>().is_ok())
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};

    use super::*;

    #[track_caller]
    fn check(statement: &str, names: &[&str], expected: Option<&[&str]>) {
        let fields = names.iter().map(|name| Field::new(*name, DataType::Utf8, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let found = retitled(&schema, statement);
        let found = found.as_ref().map(|schema| {
            schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>()
        });
        assert_eq!(found.as_deref(), expected, "{statement}");
    }

    #[test]
    fn expressions_are_called_as_they_were_typed() {
        check("SELECT sum(a), b FROM 's3://x/'", &["sum(s3://x/.a)", "b"], Some(&["sum(a)", "b"]));
        check("SELECT a * (b + 1) FROM t", &["t.a * t.b + Int64(1)"], Some(&["a * (b + 1)"]));
        check(
            "SELECT *, count(*) OVER () FROM t",
            &["a", "b", "w"],
            Some(&["a", "b", "count(*) OVER ()"]),
        );
        check("SELECT 1+1, t.*, 2 FROM t", &["x", "a", "b", "y"], Some(&["1 + 1", "a", "b", "2"]));
        check(
            "SELECT t.a, \"user\".name, t.\"user\".Id FROM t",
            &["a", "t.user[name]", "t.user[id]"],
            Some(&["a", "user.name", "t.user.Id"]),
        );
        check(
            "SELECT 1, 1, t.a, t.a FROM t",
            &["Int64(1)", "1:1", "a", "a:1"],
            Some(&["1", "1:1", "a", "a:1"]),
        );
        check("(SELECT max(a) FROM t) UNION SELECT 1", &["max(t.a)"], Some(&["max(a)"]));
    }

    /// Generated names such as `Int64(1)` lose the type even if the statement has no such text.
    #[test]
    fn literals_have_no_types() {
        check("EXECUTE p(2)", &["$1 + Int64(1)", "a"], Some(&["$1 + 1", "a"]));
        check("SELECT 1_000", &["Int64(1000)"], Some(&["1000"]));
        check("SELECT a AS \"Int64(1)\" FROM t", &["Int64(1)"], None);
    }

    #[test]
    fn names_stay_and_are_told_apart() {
        check("SELECT a, t.b, sum(c) AS s FROM t", &["a", "b", "s"], None);
        check("SELECT sum(a), b AS \"sum(a)\" FROM t", &["sum(t.a)", "sum(a)"], None);
        check("SELECT * FROM t", &["a", "b"], None);
        check("SHOW TABLES", &["a"], None);
        check("SELECT sum(a) FROM t", &["a", "b"], None);
    }
}
