//! `FROM t WHERE …`: queries without SELECT, which return all columns.
//!
//! The parser supports only `FROM t`, no options of COPY in parentheses ([`copy_options`]), and no CREATE EXTERNAL TABLE
//! without STORED AS ([`inferred_format`]). If it refuses a
//! statement, `SELECT *` is inserted before each FROM that begins a query without SELECT, and the statement is parsed
//! again. Places in errors still refer to the original text.

use datafusion::common::config::Dialect;
use datafusion::common::{DataFusionError, Result, not_impl_err};
use datafusion::execution::SessionState;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::context::error::with_suggestion;
use crate::engine::sql::copy_options;
use crate::engine::sql::filter_clauses;
use crate::engine::sql::inferred_format;
use crate::engine::sql::interval_units;
use crate::engine::sql::nesting;
use crate::engine::sql::number_literals;
use crate::engine::sql::token_rewrites;

/// Parses one statement.
///
/// # Errors
///
/// If the text is not one statement. The error suggests a keyword in place of a mistyped one.
pub(crate) fn parse(state: &SessionState, sql: &str) -> Result<Statement> {
    let limit = state.config_options().sql_parser.recursion_limit.get();
    nesting::check(sql, limit)?;
    filter_clauses::check(sql)?;
    let statement = parsed(state, sql).map_err(|error| match error.find_root() {
        DataFusionError::SQL(cause, _) if **cause == ParserError::RecursionLimitExceeded => {
            nesting::parser_limit_error(limit).into()
        }
        _ => with_suggestion(sql, error),
    })?;
    interval_units::check(sql, &statement)?;
    Ok(statement)
}

fn parsed(state: &SessionState, sql: &str) -> Result<Statement> {
    let options = &state.config_options().sql_parser;
    if options.dialect != Dialect::Generic {
        return state.sql_to_statement(sql, &options.dialect);
    }
    let respelled = number_literals::read(sql, token_rewrites::respelled(sql))?;
    let first = match &respelled {
        Some(tokens) => only_one(state, tokens.clone()),
        None => state.sql_to_statement(sql, &options.dialect),
    };
    let error = match first {
        Ok(statement) => return Ok(statement),
        Err(error) => error,
    };
    let tokens = match respelled {
        Some(tokens) => tokens,
        None => match Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location() {
            Ok(tokens) => tokens,
            Err(_) => return Err(error),
        },
    };
    let copied = copy_options::understood(&tokens)?.or_else(|| inferred_format::added(&tokens));
    let is_copied = copied.is_some();
    let tokens = copied.unwrap_or(tokens);
    let tokens = match completed(tokens.clone()) {
        Some(completed) => completed,
        None if is_copied => tokens,
        None => return Err(error),
    };
    only_one(state, tokens).map_err(|second| {
        // The error must not be about the inserted text.
        let is_ours = second.to_string().contains("found: SELECT at");
        if is_ours { error } else { second }
    })
}

/// Parses tokens as exactly one statement.
fn only_one(state: &SessionState, tokens: Vec<TokenWithSpan>) -> Result<Statement> {
    let limit = state.config_options().sql_parser.recursion_limit.get();
    let mut statements = DFParserBuilder::new(tokens)
        .with_dialect(&GenericDialect {})
        .with_recursion_limit(limit)
        .build()?
        .parse_statements()?;
    match (statements.pop_front(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => not_impl_err!("The context currently only supports a single SQL statement"),
    }
}

/// A query between two parentheses, or one operand of set operators.
#[derive(Debug, Default)]
struct Query {
    /// The index of its FROM, if that comes first and no SELECT has followed.
    from: Option<usize>,
    /// True after SELECT or another FROM, so that no later FROM can be the first.
    begun: bool,
    /// True if it begins with WITH, so that its FROM may follow a parenthesis.
    with: bool,
}

/// Inserts SELECT wherever it is missing. Returns `None` if it never is.
fn completed(tokens: Vec<TokenWithSpan>) -> Option<Vec<TokenWithSpan>> {
    let mut outer: Vec<Query> = Vec::new();
    let mut query = Query::default();
    let mut missing: Vec<usize> = Vec::new();
    // The two previous tokens, the last one first.
    let mut before: [Option<&Token>; 2] = [None, None];
    for (index, TokenWithSpan { token, .. }) in tokens.iter().enumerate() {
        match token {
            Token::Whitespace(_) => continue,
            Token::LParen => outer.push(std::mem::take(&mut query)),
            Token::RParen => {
                missing.extend(query.from);
                query = outer.pop().unwrap_or_default();
            }
            Token::SemiColon => missing.extend(std::mem::take(&mut query).from),
            _ => match keyword(token) {
                Keyword::WITH => query.with = true,
                Keyword::SELECT => {
                    query.from = None;
                    query.begun = true;
                }
                Keyword::FROM if !query.begun => {
                    query.begun = true;
                    if may_begin(before, query.with) {
                        query.from = Some(index);
                    }
                }
                Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT => {
                    missing.extend(std::mem::take(&mut query).from);
                }
                _ => {}
            },
        }
        before = [Some(token), before[0]];
    }
    missing.extend(query.from);
    if missing.is_empty() {
        return None;
    }
    missing.sort_unstable();
    let mut missing = missing.into_iter().peekable();
    let mut completed = Vec::with_capacity(tokens.len() + 2 * missing.len());
    for (index, token) in tokens.into_iter().enumerate() {
        if missing.next_if_eq(&index).is_some() {
            for added in [Token::make_keyword("SELECT"), Token::Mul] {
                completed.push(TokenWithSpan::new(added, token.span));
            }
        }
        completed.push(token);
    }
    Some(completed)
}

/// Returns whether FROM begins a query after these tokens, unlike in `extract(year FROM d)` and `a IS DISTINCT FROM
/// b`.
fn may_begin(before: [Option<&Token>; 2], with: bool) -> bool {
    let [Some(last), earlier] = before else { return true };
    match last {
        Token::LParen => earlier.map(keyword) != Some(Keyword::OVER),
        Token::SemiColon => true,
        Token::RParen => with,
        _ => match keyword(last) {
            Keyword::AS
            | Keyword::EXPLAIN
            | Keyword::ANALYZE
            | Keyword::VERBOSE
            | Keyword::UNION
            | Keyword::INTERSECT
            | Keyword::EXCEPT => true,
            Keyword::ALL | Keyword::DISTINCT => matches!(
                earlier.map(keyword),
                Some(Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT)
            ),
            _ => false,
        },
    }
}

fn keyword(token: &Token) -> Keyword {
    match token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sql: &str, expected: Option<&str>) {
        let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location().unwrap();
        let text = completed(tokens).map(|tokens| {
            let words: Vec<String> = tokens
                .iter()
                .filter(|it| !matches!(it.token, Token::Whitespace(_)))
                .map(|it| it.token.to_string())
                .collect();
            words.join(" ")
        });
        assert_eq!(text.as_deref(), expected, "{sql}");
    }

    #[test]
    fn select_is_added_where_it_is_missing() {
        for (sql, expected) in [
            ("from t where a", "SELECT * from t where a"),
            ("-- all\nexplain analyze from t", "explain analyze SELECT * from t"),
            ("copy (from t where a) to 'x'", "copy ( SELECT * from t where a ) to 'x'"),
            (
                "with c as (from t where a) from c limit 1",
                "with c as ( SELECT * from t where a ) SELECT * from c limit 1",
            ),
            (
                "from a where b union all from c where d",
                "SELECT * from a where b union all SELECT * from c where d",
            ),
            (
                "select n from (from t where a) where b",
                "select n from ( SELECT * from t where a ) where b",
            ),
            (
                "from (select 1 as a) where a in (from t where b)",
                "SELECT * from ( select 1 as a ) where a in ( SELECT * from t where b )",
            ),
            (
                "from t where extract(year from d) = 1 and a is distinct from b",
                "SELECT * from t where extract ( year from d ) = 1 and a is distinct from b",
            ),
        ] {
            check(sql, Some(expected));
        }
    }

    #[test]
    fn other_statements_stay() {
        for sql in [
            "select a from t",
            "from t select a where b",
            "select count(*) from t",
            "with c as (select 1) select * from c",
            "select extract(year from d)",
            "select a is not distinct from b from t",
            "select * except (a) from t",
            "delete from t where a",
            "select sum(a) over (from t",
            "select \"from\"",
            ") from (",
        ] {
            check(sql, None);
        }
    }
}
