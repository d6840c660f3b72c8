//! Rewrites queries over the catalog into those that DataFusion plans.
//!
//! - Names of functions, types and operators lose the schema `pg_catalog`; types that the engine lacks become its own.
//! - Casts to `regclass` and the like become numbers, or calls that look names up.
//! - A SELECT from a table without rows becomes one without FROM, so that whatever it computes need not be supported.
//! - Scalar subqueries become aggregates, which DataFusion can decorrelate.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, GroupByExpr, Ident, JoinOperator, ObjectName,
    ObjectNamePart, Query, Select, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins,
    Value, Visit, VisitMut, Visitor, VisitorMut,
};

use super::functions::type_oid;
use super::relations;
use super::rows::Snapshot;

/// The tables that a query names.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Tables of the catalog: schema and name.
    pub(super) catalog: BTreeSet<(String, String)>,
    /// True if there are others.
    pub(super) others: bool,
}

/// Returns the tables that a statement names, without those of its WITH.
pub(super) fn named(statement: &Statement) -> Named {
    struct Names {
        found: Vec<ObjectName>,
        with: BTreeSet<String>,
    }
    impl Visitor for Names {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let tables = query.with.iter().flat_map(|with| &with.cte_tables);
            self.with.extend(tables.map(|table| table.alias.name.value.clone()));
            ControlFlow::Continue(())
        }

        fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
            self.found.push(relation.clone());
            ControlFlow::Continue(())
        }
    }
    let mut names = Names { found: Vec::new(), with: BTreeSet::new() };
    let _ = statement.visit(&mut names);
    let mut named = Named::default();
    for name in names.found {
        match of_catalog(&name) {
            Some(table) => drop(named.catalog.insert(table)),
            None => {
                let is_with =
                    matches!(parts(&name).as_slice(), [only] if names.with.contains(only));
                let is_function = matches!(parts(&name).as_slice(), [only] if ["generate_series", "unnest"].contains(&only.as_str()));
                named.others |= !is_with && !is_function;
            }
        }
    }
    named
}

fn parts(name: &ObjectName) -> Vec<String> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(name) => name.value.clone(),
        ObjectNamePart::Function(function) => function.name.value.clone(),
    };
    name.0.iter().map(part).collect()
}

/// Returns schema and name if a name is that of a table of the catalog, also of one that is not known.
fn of_catalog(name: &ObjectName) -> Option<(String, String)> {
    let parts: Vec<String> = parts(name).iter().map(|part| part.to_lowercase()).collect();
    match parts.as_slice() {
        [.., schema, name] if ["pg_catalog", "information_schema"].contains(&schema.as_str()) => {
            Some((schema.clone(), name.clone()))
        }
        [name] if name.starts_with("pg_") => Some(("pg_catalog".to_owned(), name.clone())),
        _ => None,
    }
}

fn is_empty(name: &ObjectName) -> bool {
    of_catalog(name).is_some_and(|(schema, name)| {
        relations::named(Some(&schema), &name).is_none_or(|relation| relation.is_empty)
    })
}

/// Returns the columns that a statement names with the name or alias of a table of the catalog.
pub(super) fn columns(statement: &Statement) -> BTreeMap<(String, String), BTreeSet<String>> {
    #[derive(Default)]
    struct Columns {
        tables: BTreeMap<String, BTreeSet<(String, String)>>,
        columns: BTreeSet<(String, String)>,
    }
    impl Visitor for Columns {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            if let TableFactor::Table { name, alias, .. } = factor
                && let Some(table) = of_catalog(name)
            {
                let called =
                    alias.as_ref().map_or(table.1.clone(), |it| it.name.value.to_lowercase());
                self.tables.entry(called).or_default().insert(table);
            }
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::CompoundIdentifier(names) = expr
                && let [.., table, column] = names.as_slice()
            {
                let column = match column.quote_style {
                    Some(_) => column.value.clone(),
                    None => column.value.to_lowercase(),
                };
                self.columns.insert((table.value.to_lowercase(), column));
            }
            ControlFlow::Continue(())
        }
    }
    let mut found = Columns::default();
    let _ = statement.visit(&mut found);
    let mut columns: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (called, column) in found.columns {
        for table in found.tables.get(&called).into_iter().flatten() {
            columns.entry(table.clone()).or_default().insert(column.clone());
        }
    }
    columns
}

/// Rewrites a statement. Returns the name of a table that it casts to a number, and that does not exist.
pub(super) fn rewrite(statement: &mut Statement, snapshot: &Snapshot) -> Option<String> {
    let mut rewrite = Rewrite { snapshot, missing: None };
    let _ = statement.visit(&mut rewrite);
    rewrite.missing
}

struct Rewrite<'a> {
    snapshot: &'a Snapshot,
    missing: Option<String>,
}

impl VisitorMut for Rewrite<'_> {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args, .. } = factor
            && of_catalog(name).is_some()
        {
            // `pg_get_keywords()` is a table here.
            *args = None;
            if let Some((schema, table)) = of_catalog(name) {
                *name = ObjectName::from(vec![Ident::new(schema), Ident::with_quote('"', table)]);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        name_columns(&mut select.projection);
        if select.from.iter().any(has_no_rows) {
            make_empty(select);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        query.locks.clear();
        if is_made_empty(query) {
            query.order_by = None;
            query.limit_clause = None;
            query.fetch = None;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let taken = std::mem::replace(expr, null());
        *expr = self.rewritten(taken);
        ControlFlow::Continue(())
    }
}

fn null() -> Expr {
    Expr::Value(Value::Null.into())
}

fn boolean(value: bool) -> Expr {
    Expr::Value(Value::Boolean(value).into())
}

fn number(number: i64) -> Expr {
    Expr::Value(Value::Number(number.to_string(), false).into())
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)));
    let list = FunctionArgumentList {
        duplicate_treatment: None,
        args: args.collect(),
        clauses: Vec::new(),
    };
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

impl Rewrite<'_> {
    fn rewritten(&mut self, expr: Expr) -> Expr {
        match expr {
            // Collations do not change what is equal, and every order here is by bytes.
            Expr::Collate { expr, .. } => *expr,
            Expr::BinaryOp { left, op, right } => {
                let op = match op {
                    BinaryOperator::PGCustomBinaryOperator(names) => plain_operator(&names),
                    op => op,
                };
                Expr::BinaryOp { left, op, right }
            }
            Expr::Cast { expr, data_type, .. } => self.cast(*expr, data_type),
            Expr::Like { negated, any, expr, pattern, escape_char } => {
                let pattern = Box::new(escaped(*pattern, escape_char));
                Expr::Like { negated, any, expr, pattern, escape_char: None }
            }
            Expr::ILike { negated, any, expr, pattern, escape_char } => {
                let pattern = Box::new(escaped(*pattern, escape_char));
                Expr::ILike { negated, any, expr, pattern, escape_char: None }
            }
            Expr::Function(function) => called(function),
            Expr::Exists { subquery, negated } if is_made_empty(&subquery) => boolean(negated),
            Expr::InSubquery { subquery, negated, .. } if is_made_empty(&subquery) => {
                boolean(negated)
            }
            Expr::Subquery(query) if is_made_empty(&query) => null(),
            Expr::Subquery(mut query) => {
                aggregate(&mut query, "first_value");
                Expr::Subquery(query)
            }
            other => other,
        }
    }

    fn cast(&mut self, expr: Expr, kind: DataType) -> Expr {
        let name = match &kind {
            DataType::Regclass => "regclass".to_owned(),
            DataType::Custom(name, _) => {
                let last = parts(name).pop();
                last.unwrap_or_default().to_lowercase()
            }
            // Those of the engine.
            _ => return plain_cast(expr, kind),
        };
        let literal = match &expr {
            Expr::Value(value) => value.value.clone().into_string(),
            _ => None,
        };
        match (name.as_str(), literal) {
            ("regclass", Some(name)) => match self.snapshot.table_oid(&name) {
                Some(oid) => number(oid),
                None => {
                    self.missing.get_or_insert(name);
                    null()
                }
            },
            ("regtype", Some(name)) => type_oid(&name).map_or(null(), number),
            ("regnamespace", Some(name)) => {
                self.snapshot.schemas.get(&name).map_or(null(), |oid| number(*oid))
            }
            ("regclass", None) => call("regclass_name", vec![expr]),
            ("regtype", None) => call("format_type", vec![expr, null()]),
            ("regnamespace", None) => call("regnamespace_name", vec![expr]),
            ("regrole", None) => call("regrole_name", vec![expr]),
            // Functions are known by their names here.
            ("regproc" | "regprocedure", Some(name)) => {
                let name = name.strip_prefix("pg_catalog.").unwrap_or(&name).to_owned();
                Expr::Value(Value::SingleQuotedString(name).into())
            }
            ("oid" | "xid" | "cid" | "int8", _) => plain_cast(expr, DataType::BigInt(None)),
            ("int2", _) => plain_cast(expr, DataType::SmallInt(None)),
            ("int4", _) => plain_cast(expr, DataType::Int(None)),
            ("bool", _) => plain_cast(expr, DataType::Boolean),
            ("float4", _) => plain_cast(expr, DataType::Real),
            ("float8", _) => plain_cast(expr, DataType::DoublePrecision),
            ("int2vector" | "oidvector" | "anyarray", _) => expr,
            _ => plain_cast(expr, DataType::Text),
        }
    }
}

fn plain_cast(expr: Expr, kind: DataType) -> Expr {
    let kind = match kind {
        DataType::Char(_) | DataType::Character(_) | DataType::Varchar(_) => DataType::Text,
        kind => kind,
    };
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(expr),
        data_type: kind,
        array: false,
        format: None,
    }
}

/// Returns a pattern of LIKE whose escape character is the backslash.
fn escaped(pattern: Expr, escape: Option<ast::ValueWithSpan>) -> Expr {
    let escape = escape.and_then(|escape| escape.value.into_string());
    let Some(escape) = escape.filter(|escape| !escape.is_empty() && escape != "\\") else {
        return pattern;
    };
    let text = |text: &str| Expr::Value(Value::SingleQuotedString(text.to_owned()).into());
    let pattern = call("replace", vec![pattern, text("\\"), text("\\\\")]);
    call("replace", vec![pattern, text(&escape), text("\\")])
}

fn plain_operator(names: &[String]) -> BinaryOperator {
    match names.last().map(String::as_str) {
        Some("~") => BinaryOperator::PGRegexMatch,
        Some("~*") => BinaryOperator::PGRegexIMatch,
        Some("!~") => BinaryOperator::PGRegexNotMatch,
        Some("!~*") => BinaryOperator::PGRegexNotIMatch,
        Some("~~") => BinaryOperator::PGLikeMatch,
        Some("!~~") => BinaryOperator::PGNotLikeMatch,
        Some("<>") => BinaryOperator::NotEq,
        Some("<") => BinaryOperator::Lt,
        Some(">") => BinaryOperator::Gt,
        Some("<=") => BinaryOperator::LtEq,
        Some(">=") => BinaryOperator::GtEq,
        Some("||") => BinaryOperator::StringConcat,
        Some("+") => BinaryOperator::Plus,
        Some("-") => BinaryOperator::Minus,
        _ => BinaryOperator::Eq,
    }
}

/// Rewrites a call of a function.
fn called(mut function: Function) -> Expr {
    if let [ObjectNamePart::Identifier(schema), name] = function.name.0.as_slice()
        && ["pg_catalog", "information_schema"].contains(&schema.value.to_lowercase().as_str())
    {
        function.name = ObjectName(vec![name.clone()]);
    }
    let name = parts(&function.name).pop().unwrap_or_default();
    match function.args {
        FunctionArguments::Subquery(query) if name.eq_ignore_ascii_case("array") => {
            let mut query = query;
            if is_made_empty(&query) {
                return call("make_array", vec![plain_cast(null(), DataType::Text)]);
            }
            query.order_by = None;
            aggregate(&mut query, "array_agg");
            Expr::Subquery(query)
        }
        // `current_user` has no parentheses.
        FunctionArguments::None => call(&name.to_lowercase(), Vec::new()),
        args => Expr::Function(Function { args, ..function }),
    }
}

/// Makes a subquery return one row, which correlated subqueries must.
fn aggregate(query: &mut Query, with: &str) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    if query.limit_clause.is_some() || has_aggregate(select) || select.from.is_empty() {
        return;
    }
    if !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty()) {
        return;
    }
    if let [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] =
        select.projection.as_mut_slice()
    {
        let inner = std::mem::replace(expr, null());
        *expr = call(with, vec![inner]);
        query.order_by = None;
    }
}

fn has_aggregate(select: &Select) -> bool {
    const NAMES: &[&str] = &[
        "count",
        "max",
        "min",
        "sum",
        "avg",
        "string_agg",
        "array_agg",
        "bool_or",
        "bool_and",
        "json_agg",
        "first_value",
    ];
    /// Looks for aggregates outside of subqueries.
    #[derive(Default)]
    struct Aggregates {
        depth: usize,
    }
    impl Visitor for Aggregates {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
            let name = parts(&function.name).pop().unwrap_or_default().to_lowercase();
            match self.depth == 0 && NAMES.contains(&name.as_str()) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    select.projection.iter().any(|item| item.visit(&mut Aggregates::default()).is_break())
}

/// Returns true if a part of FROM never has rows.
fn has_no_rows(from: &TableWithJoins) -> bool {
    let mut left = factor_has_no_rows(&from.relation);
    for join in &from.joins {
        let right = factor_has_no_rows(&join.relation);
        left = match &join.join_operator {
            JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => left,
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => right,
            JoinOperator::FullOuter(_) => left && right,
            _ => left || right,
        };
    }
    left
}

fn factor_has_no_rows(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Table { name, .. } => is_empty(name),
        TableFactor::Derived { subquery, .. } => is_made_empty(subquery),
        TableFactor::NestedJoin { table_with_joins, .. } => has_no_rows(table_with_joins),
        _ => false,
    }
}

/// Replaces a SELECT that never returns rows by one that needs no tables.
fn make_empty(select: &mut Select) {
    let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    let has_star = select
        .projection
        .iter()
        .any(|item| !matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }));
    if has_star || (has_aggregate(select) && !grouped) {
        return;
    }
    for (index, item) in select.projection.iter_mut().enumerate() {
        let alias = match &*item {
            SelectItem::ExprWithAlias { alias, .. } => alias.clone(),
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => name.clone(),
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names)) => {
                names.last().cloned().unwrap_or_else(|| Ident::new("column"))
            }
            _ => Ident::with_quote('"', format!("column{index}")),
        };
        *item = SelectItem::ExprWithAlias { expr: null(), alias };
    }
    select.from.clear();
    select.selection = Some(boolean(false));
    select.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());
    select.having = None;
    select.distinct = None;
    select.named_window.clear();
    select.qualify = None;
    select.sort_by.clear();
}

fn is_made_empty(query: &Query) -> bool {
    match query.body.as_ref() {
        SetExpr::Select(select) => {
            select.from.is_empty()
                && matches!(&select.selection, Some(Expr::Value(value)) if value.value == Value::Boolean(false))
        }
        SetExpr::Query(query) => is_made_empty(query),
        _ => false,
    }
}

/// Names columns as PostgreSQL does: calls by their function, casts by what they convert. Names stay unique.
fn name_columns(items: &mut [SelectItem]) {
    let mut taken: BTreeSet<String> = items
        .iter()
        .filter_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.to_lowercase()),
            SelectItem::UnnamedExpr(expr) => column_name(expr),
            _ => None,
        })
        .collect();
    for item in items {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        if column_name(expr).is_some() {
            continue;
        }
        let name = shown_name(expr);
        let mut unique = name.clone();
        let mut number = 2;
        while !taken.insert(unique.to_lowercase()) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        let expr = std::mem::replace(expr, null());
        *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', unique) };
    }
}

fn column_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(name.value.to_lowercase()),
        Expr::CompoundIdentifier(names) => names.last().map(|name| name.value.to_lowercase()),
        _ => None,
    }
}

fn shown_name(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => column_name(expr).unwrap_or_default(),
        Expr::Function(function) => parts(&function.name).pop().unwrap_or_default().to_lowercase(),
        Expr::Cast { expr, .. } | Expr::Nested(expr) => shown_name(expr),
        Expr::Case { .. } => "case".to_owned(),
        Expr::Array(_) => "array".to_owned(),
        Expr::Exists { .. } => "exists".to_owned(),
        Expr::Subquery(query) => match query.body.as_ref() {
            SetExpr::Select(select) => match select.projection.first() {
                Some(SelectItem::ExprWithAlias { alias, .. }) => alias.value.clone(),
                Some(SelectItem::UnnamedExpr(expr)) => shown_name(expr),
                _ => "?column?".to_owned(),
            },
            _ => "?column?".to_owned(),
        },
        _ => "?column?".to_owned(),
    }
}
