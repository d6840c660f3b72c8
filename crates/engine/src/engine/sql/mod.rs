//! Plans SQL text, up to the logical plan.
//!
//! DataFusion plans the text. The modules here add what its parser lacks, and refuse what it would ignore or misread.
//! [`plan_of`] uses them in this order:
//!
//! | step | modules |
//! |---|---|
//! | parse | `nesting`, `from_first`, `token_rewrites`, `number_literals`, `interval_units`, `copy_options`, `inferred_format`, `filter_clauses` |
//! | statements of our own | `summarize`, `show_tables`, `show_columns` |
//! | refuse statements | `unsupported_clauses`, `foreign_dates`, `foreign_statements`, `declared_twice`, `repeated_options`, `grouped_aggregates`, `calls`, `file_writes` |
//! | add notes | `text_lengths` |
//! | rewrite statements | `delete_alias`, `named_columns`, `equivalent_forms` (`like_lists`, `top`), `function_synonyms`, `copy_format` |
//! | plan again after an error | `restricted_stars`, `unquoted_names`, `outer_fields` |
//! | explain an error | `alias_in_where`, `planning_hints`, `undeclared_keys`, `struct_fields` |
//! | check or change the plan | `mismatched_types`, `conditions`, `not_null`, `expanded_functions`, `changed_rows`, `nullable_columns`, `drop_kind`, `copied_columns`, `copy_round_trip` |
//! | functions and rules of sessions | `boolean_texts`, `bounded_texts`, `type_of`, `times_without_seconds`, `uuid_text` |

pub(crate) mod alias_in_where;
pub(crate) mod boolean_texts;
pub(crate) mod bounded_texts;
pub(crate) mod calls;
pub(crate) mod changed_rows;
pub(crate) mod conditions;
pub(crate) mod copied_columns;
pub(crate) mod copy_format;
pub(crate) mod copy_options;
pub(crate) mod copy_round_trip;
pub(crate) mod declared_twice;
pub(crate) mod delete_alias;
pub(crate) mod drop_kind;
pub(crate) mod equivalent_forms;
pub(crate) mod expanded_functions;
pub(crate) mod file_writes;
pub(crate) mod filter_clauses;
pub(crate) mod foreign_dates;
pub(crate) mod foreign_statements;
pub(crate) mod from_first;
pub(crate) mod function_synonyms;
pub(crate) mod grouped_aggregates;
pub(crate) mod inferred_format;
pub(crate) mod interval_units;
pub(crate) mod like_lists;
pub(crate) mod mismatched_types;
pub(crate) mod named_columns;
pub(crate) mod nesting;
pub(crate) mod not_null;
pub(crate) mod nullable_columns;
pub(crate) mod number_literals;
pub(crate) mod outer_fields;
pub(crate) mod planning_hints;
pub(crate) mod repeated_options;
pub(crate) mod restricted_stars;
pub(crate) mod show_columns;
pub(crate) mod show_tables;
pub(crate) mod struct_fields;
pub(crate) mod summarize;
pub(crate) mod text_lengths;
pub(crate) mod times_without_seconds;
pub(crate) mod token_rewrites;
pub(crate) mod top;
pub(crate) mod type_of;
pub(crate) mod undeclared_keys;
pub(crate) mod unquoted_names;
pub(crate) mod unsupported_clauses;
pub(crate) mod uuid_text;
use std::ops::ControlFlow;

use datafusion::common::{Result, TableReference, plan_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{
    JoinOperator, Select, SelectFlavor, SelectItem, SetExpr, Statement as Sql, Value, VisitorMut,
    WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::catalog::folder_names;
use crate::catalog::locations::{as_url, at_home, check_writable};
use crate::catalog::option_names;
use crate::catalog::option_values;
use crate::catalog::table_functions::{name_calls, option_of_argument, tab};
use crate::context::notes::Notes;
use crate::store::staging::overwrite::OverwriteMode;
use crate::{ErrorKind, UserError};
use sluicegate_guards::walk::WalkMut;

/// Plans a statement; nothing takes effect.
///
/// # Errors
///
/// If the text is not one statement, or names something that does not exist.
pub(crate) async fn logical_plan(state: &SessionState, sql: &str) -> Result<LogicalPlan> {
    Ok(Box::pin(plan_of(state, sql)).await?.0)
}

/// Plans a statement like [`logical_plan`], and also returns how COPY treats existing objects.
///
/// # Errors
///
/// Those of [`logical_plan`].
pub(crate) async fn plan_of(
    state: &SessionState,
    sql: &str,
) -> Result<(LogicalPlan, OverwriteMode)> {
    if depth(sql) > MAX_DEPTH {
        return plan_err!(
            "too many operators follow one another: at most {MAX_DEPTH}, and {} of UNION and JOIN; \
             write a list as IN (…), or the values as a table and join it",
            MAX_DEPTH / PLAN_WEIGHT
        );
    }
    if let Some(table) = summarize::table(sql) {
        let rows = from_first::parse(state, &table)?;
        let (rows, _) = Box::pin(planned(state, rows)).await?;
        let summary = summarize::statement(rows.schema(), &table);
        let summary = from_first::parse(state, &summary)?;
        return Box::pin(planned(state, summary)).await;
    }
    if let Some(query) = show_columns::of_call(sql) {
        let rows = from_first::parse(state, &query)?;
        let (rows, existing) = Box::pin(planned(state, rows)).await?;
        return Ok((show_columns::columns(rows.schema().as_arrow())?, existing));
    }
    let statement = from_first::parse(state, sql)?;
    planned(state, statement).await
}

/// Returns true if a statement is a query of rows, as its text alone says. Nothing is looked up.
pub(crate) fn is_query(state: &SessionState, sql: &str) -> bool {
    let parsed = (depth(sql) <= MAX_DEPTH).then(|| from_first::parse(state, sql));
    matches!(parsed, Some(Ok(Statement::Statement(statement)))
        if matches!(&*statement, Sql::Query(query) if !creates_table(&query.body)))
}

/// Returns true for `SELECT … INTO`, which is CREATE TABLE AS in other words.
fn creates_table(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => select.into.is_some(),
        SetExpr::Query(query) => creates_table(&query.body),
        SetExpr::SetOperation { left, right, .. } => creates_table(left) || creates_table(right),
        _ => false,
    }
}

/// Returns the tables that a statement names. URLs and calls of functions that read objects count as names.
///
/// # Errors
///
/// If the text is not one statement.
pub(crate) fn tables(state: &SessionState, sql: &str) -> Result<Vec<TableReference>> {
    let mut statement = from_first::parse(state, sql)?;
    name_files(&mut statement);
    state.resolve_table_references(&statement)
}

async fn planned(
    state: &SessionState,
    mut statement: Statement,
) -> Result<(LogicalPlan, OverwriteMode)> {
    let shown = show_tables::query(&statement).or_else(|| show_columns::query(&statement));
    if let Some(query) = shown {
        statement = from_first::parse(state, &query)?;
    }
    unsupported_clauses::check(&statement)?;
    declared_twice::check(&statement)?;
    repeated_options::check(&statement)?;
    grouped_aggregates::check(state, &statement)?;
    if let Some(notes) = state.config().get_extension::<Notes>() {
        notes_on(state, &statement).into_iter().for_each(|note| notes.add(note));
    }
    restricted_stars::mark(&mut statement);
    named_columns::name(&mut statement);
    equivalent_forms::rewrite(&mut statement);
    delete_alias::resolve(&mut statement);
    sluicegate_guards::rewrite(&mut statement)?;
    calls::check(state, &statement)?;
    file_writes::check(state, &statement)?;
    select_all(&mut statement);
    name_files(&mut statement);
    folder_names::with_slash(state, &mut statement);
    let existing = prepare(state, &mut statement)?;
    loop {
        match state.statement_to_plan(statement.clone()).await {
            Ok(plan) => {
                mismatched_types::check(&plan)?;
                conditions::check(&plan)?;
                not_null::check(&plan)?;
                expanded_functions::check(&plan)?;
                let plan = changed_rows::by_sink(plan)?;
                let plan = nullable_columns::declared(&statement, plan)?;
                drop_kind::check(state, &plan).await?;
                return Ok((show_columns::described(plan)?, existing));
            }
            // Each iteration quotes one more name.
            Err(error) if restricted_stars::resolve(&mut statement, &error)? => {}
            Err(error) if unquoted_names::quote(&mut statement, &error)? => {}
            Err(error) if outer_fields::index(&mut statement, &error) => {}
            Err(error) => {
                let error = restricted_stars::explained(&mut statement, error);
                let error = alias_in_where::explained(&statement, error);
                let error = grouped_aggregates::explained(state, &statement, error);
                return Err(planning_hints::explained(&statement, error));
            }
        }
    }
}

/// Returns notes on the parts of a statement that have less effect than in other systems.
fn notes_on(state: &SessionState, statement: &Statement) -> Vec<String> {
    let keys = sluicegate_guards::declares_keys(statement).then(|| {
        "PRIMARY KEY and UNIQUE are not enforced: several rows may have one key".to_owned()
    });
    let database = match statement {
        Statement::Statement(statement) => match statement.as_ref() {
            Sql::CreateDatabase { db_name, .. }
                if state.catalog_list().catalog(&db_name.to_string()).is_none() =>
            {
                Some(format!(
                    "the database {db_name} lasts as long as the session and has no schema yet: CREATE SCHEMA {db_name}.main, \
                 and name tables {db_name}.main.t"
                ))
            }
            _ => None,
        },
        _ => None,
    };
    keys.into_iter().chain(text_lengths::note(statement)).chain(database).collect()
}

/// Converts the options and the target of a COPY or CREATE EXTERNAL TABLE. Returns how COPY treats existing objects.
fn prepare(state: &SessionState, statement: &mut Statement) -> Result<OverwriteMode> {
    match statement {
        Statement::CopyTo(copy) => {
            copy.target = at_home(&copy.target)?.into_owned();
            check_writable(&copy.target)?;
            copy.target = as_url(&copy.target)?.into_owned();
            if let Some(format) = &copy.stored_as
                && state.get_file_format_factory(&format.to_lowercase()).is_none()
            {
                // DataFusion would silently ignore an unknown format.
                let told = UserError {
                    kind: ErrorKind::Plan,
                    message: format!("COPY cannot write the format `{format}`"),
                    hint: Some("STORED AS takes CSV, JSON, PARQUET and ARROW.".to_owned()),
                };
                return Err(told.into());
            }
            copy.partitioned_by.iter_mut().for_each(unquote);
            for (name, _) in &mut copy.options {
                if let Some(option) = option_names::written(name) {
                    option.clone_into(name);
                }
            }
            with_tabs(&mut copy.options);
            copy_format::as_named(copy);
            if let Some(note) = copy_format::unlike_name(copy) {
                state.config().get_extension::<Notes>().unwrap_or_default().add(note);
            }
            copy_format::with_level(copy);
            OverwriteMode::take(&mut copy.options)
        }
        Statement::Explain(explain) => prepare(state, &mut explain.statement),
        Statement::CreateExternalTable(table) => {
            for location in &mut table.locations {
                *location = at_home(location)?.into_owned();
            }
            table.table_partition_cols.iter_mut().for_each(unquote);
            for (name, _) in &mut table.options {
                if let Some(option) = option_of_argument(&table.file_type, name) {
                    option.clone_into(name);
                }
            }
            with_tabs(&mut table.options);
            // DataFusion's planner reads this option on its own.
            let compression = table.options.iter().find_map(|(name, value)| match value {
                Value::SingleQuotedString(text) => {
                    let name = name.to_ascii_lowercase();
                    (name.trim_start_matches("format.") == "compression").then_some(text)
                }
                _ => None,
            });
            if let Some(compression) = compression {
                let format = table.file_type.to_ascii_lowercase();
                option_values::check(&format, ("format.compression", compression), "compression")?;
            }
            Ok(OverwriteMode::default())
        }
        Statement::Statement(_) | Statement::Reset(_) => Ok(OverwriteMode::default()),
    }
}

/// Removes the quotes that DataFusion's parser leaves in the names of PARTITIONED BY ("Year").
fn unquote(name: &mut String) {
    let inner = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    if let Some(inner) = inner {
        *name = inner.replace("\"\"", "\"");
    }
}

/// Replaces calls of functions that read objects by names of tables.
fn name_files(statement: &mut Statement) {
    match statement {
        Statement::Statement(statement) => name_calls(statement),
        Statement::CopyTo(copy) => {
            if let CopyToSource::Query(query) = &mut copy.source {
                name_calls(query);
            }
        }
        Statement::Explain(explain) => name_files(&mut explain.statement),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => {}
    }
}

/// Converts `'\t'`, which SQL reads as two characters, into a tab for options that take one character.
fn with_tabs(options: &mut [(String, Value)]) {
    for (name, value) in options {
        let read = match value {
            Value::SingleQuotedString(text) => tab(name, text),
            _ => None,
        };
        if let Some(read) = read {
            *value = Value::SingleQuotedString(read);
        }
    }
}

/// The maximum depth of chains of operators. Every operator in `1 + 1 + 1 …` nests the expression one level deeper,
/// and so do UNION and JOIN with plans. The parser has no limit for that. Recursive functions over the result would
/// overflow the stack and end the process.
const MAX_DEPTH: usize = 2000;

/// Returns the approximate depth of chains of operators.
fn depth(sql: &str) -> usize {
    // An operator and an operand take two bytes.
    if sql.len() / 2 <= MAX_DEPTH {
        return 0;
    }
    // The parser refuses text that cannot be split into tokens.
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, sql).tokenize() else { return 0 };
    let mut outer: Vec<Chains> = Vec::new();
    let mut chains = Chains::default();
    let mut deepest = 0;
    for token in tokens {
        match TokenRole::from_token(&token) {
            TokenRole::Open => {
                outer.push(chains);
                chains = chains.inside();
            }
            TokenRole::Close => {
                let inner = chains.all();
                chains = outer.pop().unwrap_or_default();
                chains.depths[OPERAND] = chains.depths[OPERAND].max(inner);
            }
            TokenRole::Next => chains.next(),
            TokenRole::Operator(strength) => chains.operator(strength),
            TokenRole::Other => {}
        }
        deepest = deepest.max(chains.around + chains.all());
    }
    deepest
}

/// The expressions so far, between two parentheses.
#[derive(Debug, Clone, Copy, Default)]
struct Chains {
    /// For each strength, the depth of the last operator with all that is left of it; 0 if there is none. Stronger
    /// operators are in its right operand.
    depths: [usize; OPERAND + 1],
    /// The depth of the deepest complete expression, such as an item of a list.
    complete: usize,
    /// The number of operators outside the parentheses whose right operand these are.
    around: usize,
}

impl Chains {
    /// Returns the depth of operators of at least this strength.
    fn tree(&self, strength: usize) -> usize {
        let pending = self.depths[strength..].iter().rev().filter(|depth| **depth > 0);
        pending.fold(0, |right, depth| (right + 1).max(*depth))
    }

    fn all(&self) -> usize {
        self.tree(UNION).max(self.complete)
    }

    fn inside(&self) -> Self {
        let pending = self.depths[..OPERAND].iter().filter(|depth| **depth > 0).count();
        Self { around: self.around + pending, ..Self::default() }
    }

    /// Adds an operator. Operators are left-associative: those that are at least as strong become the left operand.
    fn operator(&mut self, strength: usize) {
        let left = self.tree(strength);
        self.depths[strength] = match strength {
            UNION => left.max(std::mem::take(&mut self.complete)) + PLAN_WEIGHT,
            _ => left + 1,
        };
        self.depths[strength + 1..].fill(0);
    }

    /// Begins another expression.
    fn next(&mut self) {
        self.complete = self.complete.max(self.tree(OR));
        self.depths[OR..].fill(0);
    }
}

const UNION: usize = 0;
/// Planning takes more stack for an input of a plan than for an operand.
const PLAN_WEIGHT: usize = 4;
const OR: usize = 1;
/// The strength of parentheses, which bind most strongly.
const OPERAND: usize = 8;

/// The effect of a token on nesting.
pub(crate) enum TokenRole {
    Open,
    Close,
    /// Begins another expression.
    Next,
    /// An operator of this strength; stronger ones have larger numbers.
    Operator(usize),
    Other,
}

impl TokenRole {
    /// Returns the effect of a token.
    pub(crate) fn from_token(token: &Token) -> Self {
        match token {
            Token::LParen | Token::LBracket => Self::Open,
            Token::RParen | Token::RBracket => Self::Close,
            Token::Comma | Token::SemiColon => Self::Next,
            Token::Eq
            | Token::DoubleEq
            | Token::Neq
            | Token::Lt
            | Token::Gt
            | Token::LtEq
            | Token::GtEq => Self::Operator(3),
            Token::Plus | Token::Minus | Token::StringConcat => Self::Operator(5),
            Token::Mul | Token::Div | Token::Mod => Self::Operator(6),
            Token::DoubleColon => Self::Operator(7),
            Token::Word(word) => match word.keyword {
                Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT | Keyword::JOIN => {
                    Self::Operator(UNION)
                }
                Keyword::OR => Self::Operator(OR),
                Keyword::AND => Self::Operator(2),
                Keyword::IS | Keyword::LIKE | Keyword::ILIKE | Keyword::IN | Keyword::BETWEEN => {
                    Self::Operator(3)
                }
                Keyword::SELECT
                | Keyword::FROM
                | Keyword::WHERE
                | Keyword::GROUP
                | Keyword::HAVING
                | Keyword::ORDER
                | Keyword::ON
                | Keyword::WHEN
                | Keyword::THEN
                | Keyword::ELSE => Self::Next,
                // `x ISNULL` and `x NOTNULL` become `x IS NULL`.
                Keyword::NOTNULL => Self::Operator(3),
                // `x AT TIME ZONE 'UTC'`
                Keyword::AT => Self::Operator(7),
                _ if word.value.eq_ignore_ascii_case("ISNULL") => Self::Operator(3),
                _ => Self::Other,
            },
            Token::Whitespace(_)
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::Period
            | Token::EOF => Self::Other,
            // The other tokens are operators of PostgreSQL and other systems, or look like operators.
            _ => Self::Operator(4),
        }
    }
}

/// Replaces `FROM t` by `SELECT * FROM t`, because DataFusion plans it as a query without columns. Makes `SEMI JOIN`
/// and `ANTI JOIN` those of the left side, because DataFusion requires a side.
fn select_all(statement: &mut Statement) {
    let _ = match statement {
        Statement::Statement(statement) => statement.walk_mut(&mut SelectAll),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.walk_mut(&mut SelectAll),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::Explain(explain) => {
            select_all(&mut explain.statement);
            ControlFlow::Continue(())
        }
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    };
}

struct SelectAll;

impl VisitorMut for SelectAll {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if matches!(select.flavor, SelectFlavor::FromFirstNoSelect) {
            select.flavor = SelectFlavor::FromFirst;
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        for join in select.from.iter_mut().flat_map(|table| &mut table.joins) {
            join.join_operator =
                match std::mem::replace(&mut join.join_operator, JoinOperator::CrossApply) {
                    JoinOperator::Semi(constraint) => JoinOperator::LeftSemi(constraint),
                    JoinOperator::Anti(constraint) => JoinOperator::LeftAnti(constraint),
                    other => other,
                };
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[track_caller]
    fn check(sql: &str, expected: &str) {
        let mut statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
        select_all(&mut statement);
        assert_eq!(statement.to_string(), expected);
    }

    #[track_caller]
    fn check_depth(sql: &str, expected: usize) {
        // Short texts are not measured.
        let padded = format!("{sql} -- {}", "x".repeat(2 * MAX_DEPTH));
        assert_eq!(depth(&padded), expected, "{sql}");
    }

    #[test]
    fn chains_of_operators_are_deep_and_lists_are_not() {
        let chain = |operator: &str, operand: &str| vec![operand; 5001].join(operator);
        for (operator, operand) in [
            ("+", "1"),
            (" - ", "a.b"),
            ("*", "x"),
            ("||", "'a, b'"),
            ("::", "int"),
            (" OR ", "a"),
            (" and ", "f(a, 1 + 2)"),
            ("=", "a"),
            (" # ", "a"),
        ] {
            let depth = depth(&chain(operator, operand));
            assert!((5000..5003).contains(&depth), "{operator}: {depth}");
        }
        for (operator, operand) in [(" UNION ALL ", "SELECT 1 + 2"), (" JOIN ", "t")] {
            let depth = depth(&chain(operator, operand));
            assert!((20_000..20_010).contains(&depth), "{operator}: {depth}");
        }
        assert!(depth(&chain(" OR ", "a = 1 AND b < 2 + 3")) < 5010);
        for word in [" isnull", " NOTNULL", " at time zone 'utc'"] {
            assert_eq!(depth(&format!("SELECT a{}", word.repeat(5000))), 5000, "{word}");
        }
        // The left operand may be as deep as the chain that it begins.
        let sum = chain("+", "1");
        for deep in [
            format!("{sum} = {}", chain(" OR ", "a")),
            format!("({sum}) + {sum}"),
            format!("f({sum}, 2) * {}", chain("*", "1")),
            format!("SELECT {sum}, 2 UNION {}", chain(" UNION ", "SELECT 1")),
            format!("{} OR ({sum})", chain(" OR ", "a")),
        ] {
            let depth = depth(&deep);
            let either = deep.ends_with(')');
            assert!(depth >= if either { 5001 } else { 10_000 }, "{}: {depth}", &deep[..20]);
        }
        for list in [
            format!("a IN ({})", chain(", ", "1 + 2")),
            format!("SELECT {}", chain(", ", "a + b")),
            format!("CASE {} END", chain(" ", "WHEN a = 1 AND b = 2 THEN c + d")),
            chain("; ", "SELECT 1 + 2"),
            format!("'{}'", chain("+", "1")),
        ] {
            assert!(depth(&list) < 10, "{}", &list[..40]);
        }
        check_depth("SELECT 1", 0);
        check_depth("SELECT a + b * c - d FROM t WHERE a = 1 AND b = 2 OR c = 3", 3);
        check_depth("SELECT (a + (b + (c + d)))", 3);
    }

    #[test]
    fn from_alone_selects_all_columns() {
        check("FROM t LIMIT 2", "FROM t SELECT * LIMIT 2");
        check("SELECT a FROM t", "SELECT a FROM t");
        check("FROM t SELECT a", "FROM t SELECT a");
        check("SELECT * FROM (FROM t) x", "SELECT * FROM (FROM t SELECT *) x");
        check("FROM t UNION ALL FROM u", "FROM t SELECT * UNION ALL FROM u SELECT *");
        check("WITH c AS (FROM t) FROM c", "WITH c AS (FROM t SELECT *) FROM c SELECT *");
        check("EXPLAIN FROM t", "EXPLAIN FROM t SELECT *");
        check("COPY (FROM t) TO 'x.csv'", "COPY (FROM t SELECT *) TO x.csv");
        check("CREATE TABLE u AS FROM t", "CREATE TABLE u AS FROM t SELECT *");
    }
}
