//! Refuses clauses that the parser accepts, but DataFusion silently ignores or misinterprets.

use std::ops::ControlFlow;

use datafusion::common::Result;
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{
    ColumnDef, ColumnOption, DuplicateTreatment, Expr, FunctionArg, FunctionArgExpr,
    FunctionArguments, GroupByExpr, Insert, JoinConstraint, JoinOperator, LimitClause, LockType,
    OrderBy, OrderByKind, Query, Select, SelectItem, Statement as Sql, TableFactor, TableWithJoins,
    UnaryOperator, Value, ValueWithSpan, Visitor,
};

use crate::context::error::{ErrorKind, UserError};
use crate::engine::sql::foreign_dates;
use crate::engine::sql::foreign_statements::instead_of;
use sluicegate_guards::walk::Walk;

/// Checks a statement.
///
/// # Errors
///
/// If it has such a clause, because its result would be that of another statement.
pub(crate) fn check(statement: &Statement) -> Result<()> {
    let found = match statement {
        Statement::Statement(statement) => match (statement.as_ref(), instead_of(statement)) {
            (_, Some((what, instead))) => refuse(&what, &instead),
            (Sql::Update(update), None) if update.from.is_some() => refuse(
                "UPDATE … FROM",
                "Take the other table's values from a subquery: SET a = (SELECT …) WHERE id IN (SELECT …).",
            ),
            (Sql::Delete(delete), None) if delete.limit.is_some() => refuse(
                "DELETE … LIMIT",
                "Name the rows: DELETE FROM t WHERE id IN (SELECT id FROM t LIMIT 10).",
            ),
            (Sql::Insert(insert), None) => match clause_of_insert(insert) {
                Some((what, instead)) => refuse(what, instead),
                None => insert.walk(&mut UnsupportedClauses),
            },
            (Sql::CreateTable(table), None)
                if table.columns.is_empty()
                    && table.query.is_none()
                    && table.like.is_none()
                    && table.clone.is_none() =>
            {
                refuse(
                    "a table without columns",
                    "Declare them, CREATE TABLE t (id INT, name VARCHAR), or take those of a query, CREATE TABLE t AS SELECT ….",
                )
            }
            (Sql::CreateTable(table), None) => match ignored(&table.columns) {
                ControlFlow::Continue(()) => table.walk(&mut UnsupportedClauses),
                ignored => ignored,
            },
            (statement, None) => statement.walk(&mut UnsupportedClauses),
        },
        Statement::CopyTo(_) => visit(statement, &mut UnsupportedClauses),
        Statement::Explain(explain) => match explain.statement.as_ref() {
            Statement::Statement(inner) if is_definition(inner) => defines(query_of(inner)),
            Statement::CreateExternalTable(_) | Statement::Reset(_) => defines(None),
            inner => return check(inner),
        },
        Statement::CreateExternalTable(table) if !table.order_exprs.is_empty() => refuse(
            "WITH ORDER",
            "Leave it out: nothing checks that files are sorted as it says. ORDER BY sorts rows.",
        ),
        Statement::CreateExternalTable(table) if table.unbounded => refuse(
            "UNBOUNDED",
            "Leave it out: each query reads the objects that are there when it begins.",
        ),
        Statement::CreateExternalTable(table) => ignored(&table.columns),
        Statement::Reset(_) => ControlFlow::Continue(()),
    };
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(told) => Err(told.into()),
    }
}

/// Refuses columns that would be numbered or computed, or compared by a collation, in another system.
fn ignored(columns: &[ColumnDef]) -> ControlFlow<UserError> {
    for option in columns.iter().flat_map(|column| &column.options) {
        match &option.option {
            ColumnOption::Identity(_) | ColumnOption::Generated { generation_expr: None, .. } => {
                return refuse(NUMBERED.0, NUMBERED.1);
            }
            ColumnOption::Generated { .. } => {
                return refuse(
                    "a column that is computed from others",
                    "Compute it in a query, or name the query: CREATE VIEW v AS SELECT *, b * 2 AS a FROM t.",
                );
            }
            ColumnOption::Collation(_) => {
                return refuse(
                    "COLLATE",
                    "Texts are compared byte by byte; compare lower(a) to leave capitals out of account.",
                );
            }
            ColumnOption::DialectSpecific(words) => {
                let text: String =
                    words.iter().map(|word| word.to_string().to_uppercase()).collect();
                if text.contains("INCREMENT") {
                    return refuse(NUMBERED.0, NUMBERED.1);
                }
            }
            _ => {}
        }
    }
    ControlFlow::Continue(())
}

const TIES: &str = "Rank the rows: SELECT * FROM t QUALIFY rank() OVER (ORDER BY id) <= 2.";

const PERCENT: &str =
    "Rank the rows: SELECT * FROM t QUALIFY percent_rank() OVER (ORDER BY id) <= 0.1.";

const NUMBERED: (&str, &str) = (
    "a column that numbers rows by itself",
    "Number them in a query: row_number() OVER (ORDER BY …).",
);

/// Returns the name and the hint for a clause of INSERT that DataFusion lacks.
fn clause_of_insert(insert: &Insert) -> Option<(&'static str, &'static str)> {
    const KEYS: &str = "No key is unique here: DELETE FROM t WHERE id IN (…) removes the old rows of a table in memory, \
                        and INSERT INTO adds the new ones.";
    if insert.overwrite {
        return Some((
            "INSERT OVERWRITE",
            "TRUNCATE TABLE t empties a table in memory, and INSERT INTO fills it; files are replaced by COPY (SELECT …) \
             TO 's3://bucket/key' OPTIONS (overwrite true).",
        ));
    }
    if insert.replace_into || insert.or.is_some() {
        return Some(("REPLACE INTO", KEYS));
    }
    if insert.ignore {
        return Some(("INSERT IGNORE", KEYS));
    }
    if insert.on.is_some() {
        return Some(("ON CONFLICT", KEYS));
    }
    if insert.returning.is_some() || insert.output.is_some() {
        return Some(("RETURNING", "Query the table after it: SELECT * FROM t."));
    }
    if insert.source.is_none() {
        return Some(("INSERT without VALUES or SELECT", "Write INSERT INTO t VALUES (1, 'a')."));
    }
    None
}

/// Returns whether a statement defines or sets something, and has no physical plan.
fn is_definition(statement: &Sql) -> bool {
    matches!(
        statement,
        Sql::CreateTable(_)
            | Sql::CreateView(_)
            | Sql::CreateSchema { .. }
            | Sql::CreateDatabase { .. }
            | Sql::Drop { .. }
            | Sql::Set(_)
            | Sql::Prepare { .. }
            | Sql::Deallocate { .. }
    )
}

/// Returns the query in a definition.
fn query_of(statement: &Sql) -> Option<&Query> {
    match statement {
        Sql::CreateTable(table) => table.query.as_deref(),
        Sql::CreateView(view) => Some(&view.query),
        _ => None,
    }
}

fn defines(query: Option<&Query>) -> ControlFlow<UserError> {
    const SHOWN: usize = 80;
    let query = query.map(ToString::to_string).filter(|text| text.len() <= SHOWN);
    let hint = match query {
        Some(query) => format!("Explain its query: EXPLAIN {query}."),
        None => "Explain a query: EXPLAIN SELECT ….".to_owned(),
    };
    refuse("EXPLAIN of a statement that defines or sets something", &hint)
}

/// Visits the queries of any statement.
pub(crate) fn visit<B>(
    statement: &Statement,
    visitor: &mut dyn Visitor<Break = B>,
) -> ControlFlow<B> {
    match statement {
        Statement::Statement(statement) => statement.walk(visitor),
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => query.walk(visitor),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::Explain(explain) => visit(&explain.statement, visitor),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    }
}

/// Refuses a clause, with a hint on the alternative.
fn refuse(clause: &str, instead: &str) -> ControlFlow<UserError> {
    ControlFlow::Break(UserError {
        kind: ErrorKind::Unsupported,
        message: format!("{clause} is not supported"),
        hint: Some(instead.to_owned()),
    })
}

struct UnsupportedClauses;

impl Visitor for UnsupportedClauses {
    type Break = UserError;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<UserError> {
        if let Some(told) = query.order_by.as_ref().and_then(ordering_constant) {
            return ControlFlow::Break(told);
        }
        if let Some(fetch) = &query.fetch
            && (fetch.with_ties || fetch.percent)
        {
            return match fetch.with_ties {
                true => refuse("FETCH … WITH TIES", TIES),
                false => refuse("FETCH … PERCENT", PERCENT),
            };
        }
        let has_limit = query.limit_clause.as_ref().is_some_and(|limit| match limit {
            LimitClause::LimitOffset { limit, .. } => limit.is_some(),
            LimitClause::OffsetCommaLimit { .. } => true,
        });
        if has_limit && query.fetch.is_some() {
            return refuse(
                "LIMIT beside FETCH FIRST",
                "Leave one of the two out: both limit the rows.",
            );
        }
        if let Some(LimitClause::LimitOffset { limit_by, .. }) = &query.limit_clause
            && let Some(by) = limit_by.first()
        {
            return refuse(
                "LIMIT … BY",
                &format!(
                    "Number the rows of each group: QUALIFY row_number() OVER (PARTITION BY {by}) <= 2; or count all: LIMIT 2."
                ),
            );
        }
        if query.format_clause.is_some() || query.settings.is_some() || query.for_clause.is_some() {
            return refuse(
                "FORMAT, SETTINGS and FOR after a query",
                "Choose a format with --format, or COPY … STORED AS …; and settings with SET.",
            );
        }
        let Some(lock) = query.locks.first() else { return ControlFlow::Continue(()) };
        let clause = match lock.lock_type {
            LockType::Update => "FOR UPDATE",
            LockType::Share => "FOR SHARE",
        };
        refuse(clause, "Leave it out: objects are read as they are, and nothing is locked.")
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<UserError> {
        if let Some(error) = select.projection.iter().find_map(adjacent_texts) {
            return ControlFlow::Break(error);
        }
        if let Some(top) = &select.top {
            if top.percent {
                return refuse("TOP … PERCENT", PERCENT);
            }
            if top.with_ties {
                return refuse("TOP … WITH TIES", TIES);
            }
        }
        if select.prewhere.is_some() {
            return refuse("PREWHERE", "Write WHERE: it is pushed to the store.");
        }
        let sorted = [
            (select.sort_by.is_empty(), "SORT BY"),
            (select.cluster_by.is_empty(), "CLUSTER BY"),
            (select.distribute_by.is_empty(), "DISTRIBUTE BY"),
        ];
        if let Some((_, clause)) = sorted.into_iter().find(|(is_empty, _)| !is_empty) {
            return refuse(clause, "Write ORDER BY, which sorts all rows.");
        }
        if !select.connect_by.is_empty() {
            return refuse("CONNECT BY", "Write WITH RECURSIVE … instead.");
        }
        if let GroupByExpr::Expressions(_, with) | GroupByExpr::All(with) = &select.group_by
            && !with.is_empty()
        {
            return refuse(
                "GROUP BY … WITH",
                "Write GROUP BY ROLLUP (a, b), CUBE (a, b) or GROUPING SETS ((a, b), ()).",
            );
        }
        if select.from.iter().any(is_positional) {
            return refuse(
                "POSITIONAL JOIN",
                "Number the rows of both with row_number() OVER (), and join by the number.",
            );
        }
        if select.from.iter().any(is_without_condition) {
            return refuse(WITHOUT_CONDITION.0, WITHOUT_CONDITION.1);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<UserError> {
        match table {
            TableFactor::Table { sample: Some(_), .. }
            | TableFactor::Derived { sample: Some(_), .. } => {
                refuse("TABLESAMPLE", "Take rows by chance: WHERE random() < 0.1.")
            }
            TableFactor::Table { partitions, .. } if !partitions.is_empty() => {
                refuse("PARTITION (…)", "Name the folder's column instead: WHERE month = 3.")
            }
            TableFactor::Table { with_ordinality: true, .. }
            | TableFactor::Function { with_ordinality: true, .. }
            | TableFactor::UNNEST { with_ordinality: true, .. } => {
                refuse("WITH ORDINALITY", "Number the rows with row_number() OVER ().")
            }
            TableFactor::Table { with_hints, .. } if !with_hints.is_empty() => {
                refuse("a hint such as WITH (NOLOCK)", "Leave it out: nothing is locked.")
            }
            TableFactor::NestedJoin { table_with_joins, .. }
                if is_without_condition(table_with_joins) =>
            {
                refuse(WITHOUT_CONDITION.0, WITHOUT_CONDITION.1)
            }
            TableFactor::Table { version: Some(_), .. } => {
                refuse("a version of a table", "Objects are read as they are; name another object.")
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// Refuses dates and formats of other systems, intervals with a range of units, texts with N, and `*` in aggregates.
    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<UserError> {
        match expr {
            Expr::Interval(interval) if interval.last_field.is_some() => {
                return refuse(
                    "INTERVAL with a range of units, as in YEAR TO MONTH,",
                    "Name each unit: INTERVAL '1 year 2 months'.",
                );
            }
            Expr::Value(value) => match &value.value {
                Value::NationalStringLiteral(text) => {
                    let text = text.replace('\'', "''");
                    return refuse(
                        "N before a text",
                        &format!("Leave it out: '{text}'. All texts are Unicode."),
                    );
                }
                Value::SingleQuotedByteStringLiteral(text)
                | Value::DoubleQuotedByteStringLiteral(text) => {
                    let bytes: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
                    return refuse(
                        "B before a text",
                        &format!(
                            "Write bytes in hexadecimal, X'{bytes}', and a number of bits as 0b101."
                        ),
                    );
                }
                _ => {}
            },
            Expr::Like { any: true, negated, pattern, .. }
            | Expr::ILike { any: true, negated, pattern, .. }
                if *negated || matches!(pattern.as_ref(), Expr::Subquery(_)) =>
            {
                return match negated {
                    true => refuse(
                        "NOT LIKE ANY",
                        "Write NOT (x LIKE ANY (…)) if no pattern may match, which is x NOT LIKE ALL (…).",
                    ),
                    false => refuse(
                        "LIKE ANY of a sub-query",
                        "Join it: … JOIN (SELECT …) AS p(pattern) ON x LIKE p.pattern.",
                    ),
                };
            }
            _ => {}
        }
        if let Some(told) = star(expr) {
            return ControlFlow::Break(told);
        }
        match foreign_dates::error(expr) {
            Some(told) => ControlFlow::Break(told),
            None => ControlFlow::Continue(()),
        }
    }
}

/// Returns the error for a text behind a text, `'a' 'b'`, which the parser takes for an alias.
fn adjacent_texts(item: &SelectItem) -> Option<UserError> {
    let SelectItem::ExprWithAlias { expr: Expr::Value(value), alias } = item else { return None };
    let Value::SingleQuotedString(text) = &value.value else { return None };
    if alias.quote_style != Some('\'') {
        return None;
    }
    let name = &alias.value;
    Some(UserError {
        kind: ErrorKind::Plan,
        message: format!("the text '{name}' follows the text '{text}'"),
        hint: Some(format!(
            "Write a comma between them, '{text}' || '{name}' for one text, or \"{name}\" for the name of the column."
        )),
    })
}

/// Returns the error for a text or a negative number in ORDER BY.
fn ordering_constant(order: &OrderBy) -> Option<UserError> {
    let OrderByKind::Expressions(keys) = &order.kind else { return None };
    let told = |message, hint| UserError { kind: ErrorKind::Plan, message, hint: Some(hint) };
    keys.iter().find_map(|key| match &key.expr {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => Some(told(
            format!("ORDER BY '{text}' orders nothing: it is a text, and no column"),
            format!("Write ORDER BY {text}, or ORDER BY \"{text}\"."),
        )),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match expr.as_ref() {
            Expr::Value(ValueWithSpan { value: number @ Value::Number(..), .. }) => Some(told(
                format!("ORDER BY -{number} orders nothing: it is the same number in each row"),
                format!("Write ORDER BY {number} DESC for the column with that number, the greatest first."),
            )),
            _ => None,
        },
        _ => None,
    })
}

/// Returns the error for `count(DISTINCT *)`, which would be 1, or for `*` as the argument of another aggregate.
fn star(expr: &Expr) -> Option<UserError> {
    let Expr::Function(function) = expr else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let star = list.args.iter().find(|argument| {
        use FunctionArgExpr::{QualifiedWildcard, Wildcard};
        matches!(argument, FunctionArg::Unnamed(Wildcard | QualifiedWildcard(_)))
    })?;
    let name = function.name.to_string();
    let is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
    let hint = match name.to_lowercase().as_str() {
        "count" if is_distinct => {
            "Count the rows of SELECT DISTINCT: SELECT count(*) FROM (SELECT DISTINCT * FROM t)."
        }
        "sum" | "avg" | "min" | "max" | "stddev" | "median" => {
            "Name the column that it is of; only count takes *."
        }
        _ => return None,
    };
    let distinct = if is_distinct { "DISTINCT " } else { "" };
    Some(UserError {
        kind: ErrorKind::Unsupported,
        message: format!("{name}({distinct}{star}) is not supported"),
        hint: Some(hint.to_owned()),
    })
}

/// Returns whether the left table of a join has the alias `positional` without AS, because the parser takes the
/// keyword of POSITIONAL JOIN for a name.
fn is_positional(tables: &TableWithJoins) -> bool {
    let joined = tables.joins.iter().map(|join| &join.relation);
    let mut before_a_join =
        std::iter::once(&tables.relation).chain(joined).take(tables.joins.len());
    before_a_join.any(|table| match table {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } => {
            !alias.explicit
                && alias.name.quote_style.is_none()
                && alias.name.value.eq_ignore_ascii_case("positional")
        }
        _ => false,
    })
}

/// The name of a join that pairs every row with every other, although other systems require a condition; and the
/// hint.
const WITHOUT_CONDITION: (&str, &str) = (
    "JOIN without ON or USING",
    "Say which rows belong together: JOIN u ON t.id = u.id; or CROSS JOIN u for every pair of rows.",
);

/// Returns whether tables are joined without a condition. Table functions and lateral subqueries need none.
fn is_without_condition(tables: &TableWithJoins) -> bool {
    tables.joins.iter().any(|join| {
        let is_inner = matches!(
            join.join_operator,
            JoinOperator::Join(JoinConstraint::None) | JoinOperator::Inner(JoinConstraint::None)
        );
        let makes_rows = matches!(
            join.relation,
            TableFactor::UNNEST { .. }
                | TableFactor::Function { .. }
                | TableFactor::Derived { lateral: true, .. }
                | TableFactor::Table { args: Some(_), .. }
        );
        is_inner && !makes_rows
    })
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[test]
    fn what_would_be_left_out_is_refused() {
        for (sql, name) in [
            ("SELECT * FROM t TABLESAMPLE (10 PERCENT)", Some("TABLESAMPLE")),
            (
                "SELECT count(*) FROM (SELECT * FROM t TABLESAMPLE BERNOULLI (10)) u",
                Some("TABLESAMPLE"),
            ),
            ("EXPLAIN SELECT * FROM t PREWHERE id < 5", Some("PREWHERE")),
            ("COPY (SELECT * FROM t PARTITION (p0)) TO 'x.csv'", Some("PARTITION (…)")),
            ("SELECT * FROM t WHERE id IN (SELECT id FROM u FOR SHARE)", Some("FOR SHARE")),
            ("SELECT * FROM t FOR UPDATE OF t NOWAIT", Some("FOR UPDATE")),
            ("SELECT count(DISTINCT *), count(*) FROM t", Some("count(DISTINCT *)")),
            ("SELECT COUNT(DISTINCT t.*) FROM t", Some("COUNT(DISTINCT t.*)")),
            ("SELECT sum(*) FROM t", Some("sum(*)")),
            ("SELECT max(DISTINCT *) FROM t", Some("max(DISTINCT *)")),
            ("DELETE FROM t LIMIT 1", Some("DELETE … LIMIT")),
            ("SELECT a, sum(b) FROM t GROUP BY a WITH ROLLUP", Some("GROUP BY … WITH")),
            ("SELECT * FROM t WITH ORDINALITY", Some("WITH ORDINALITY")),
            (
                "CREATE TABLE t (a INT GENERATED ALWAYS AS IDENTITY)",
                Some("a column that numbers rows by itself"),
            ),
            ("SELECT * FROM t FORMAT JSON", Some("FORMAT, SETTINGS and FOR after a query")),
            ("SELECT count(*), count(t.*), count(DISTINCT id) FROM t", None),
            ("SELECT * FROM t WHERE id < 5", None),
            ("SELECT sum(x) OVER (PARTITION BY y) FROM t", None),
            ("SELECT * FROM t WHERE x > 2024-13-15 OR x < (2024-01)-15 OR x = 2024-1-5", None),
            ("SELECT 2024-01-15, date '2024-01-15' < d FROM t", None),
        ] {
            let statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            let said = check(&statement).map_err(|error| error.to_string());
            let expected = name.map(|name| format!("{name} is not supported"));
            assert_eq!(
                said.err().as_deref().map(|it| it.trim_start_matches("External error: ")),
                expected.as_deref(),
                "{sql}"
            );
        }
    }
}
