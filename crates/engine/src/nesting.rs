//! How deep a statement nests.
//!
//! DataFusion's parser gives up at `datafusion.sql_parser.recursion_limit`. Where it only tries one way to read a CASE, a
//! NOT or a CAST, it takes that for a syntax error, or tries both ways at each level, which takes for ever. So levels are
//! counted before a statement is parsed. A sub-query among expressions is three, because DataFusion walks those that are
//! nested in one another twice as often with each: twenty of them took ten seconds.

use datafusion::common::Result;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::error::{ErrorKind, Told};

/// Levels that the parser takes for the statement itself and its outermost expression.
const OUTERMOST: usize = 3;

/// Refuses a statement that nests deeper than the parser follows, given its limit.
///
/// # Errors
///
/// That it is nested too deeply.
pub(crate) fn check(sql: &str, limit: usize) -> Result<()> {
    let most = limit.saturating_sub(OUTERMOST);
    if openers(sql) <= most || levels(sql) <= most {
        return Ok(());
    }
    Err(too_deep(most).into())
}

/// What is said of a statement that the parser gave up.
pub(crate) fn given_up(limit: usize) -> Told {
    too_deep(limit.saturating_sub(OUTERMOST))
}

fn too_deep(most: usize) -> Told {
    Told {
        kind: ErrorKind::Unsupported,
        message: format!(
            "the statement nests deeper than {most} levels; each parenthesis, CASE and NOT is one, a sub-query two or \
             three"
        ),
        hint: Some(
            "Name a part of it: WITH part AS (SELECT …) SELECT … FROM part, or CREATE VIEW. SET \
             datafusion.sql_parser.recursion_limit = 100 allows more levels."
                .to_owned(),
        ),
    }
}

/// No fewer than the levels, counted in the text.
fn openers(sql: &str) -> usize {
    let levels = sql.bytes().map(|byte| match byte {
        b'(' => 3,
        b'[' | b'{' | b'-' | b'+' | b'~' => 1,
        _ => 0,
    });
    let signs: usize = levels.sum();
    let words = sql.as_bytes().windows(4);
    let words = words.filter(|four| {
        four.eq_ignore_ascii_case(b"case") || four[..3].eq_ignore_ascii_case(b"not")
    });
    signs + words.count()
}

/// Words that an operand follows, so that a sign behind them is its own. Others may be names.
const EXPECTING: [Keyword; 18] = [
    Keyword::ALL,
    Keyword::AND,
    Keyword::BETWEEN,
    Keyword::BY,
    Keyword::DISTINCT,
    Keyword::ELSE,
    Keyword::HAVING,
    Keyword::IN,
    Keyword::INTERVAL,
    Keyword::LIKE,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::OR,
    Keyword::SELECT,
    Keyword::THEN,
    Keyword::WHEN,
    Keyword::WHERE,
];

/// The most levels that are open at one place.
fn levels(sql: &str) -> usize {
    // What cannot be split into words is for the parser to refuse.
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, sql).tokenize() else { return 0 };
    // How many levels each parenthesis and each CASE is, with the signs and NOT before it.
    let mut open: Vec<usize> = Vec::new();
    let (mut sum, mut prefixes, mut deepest) = (0, 0, 0);
    let (mut after_operand, mut after_period) = (false, false);
    // How many levels more a parenthesis is in which a query begins, if the last token opened one.
    let (mut of_query, mut names_table) = (None, false);
    for token in &tokens {
        let keyword = match token {
            // Behind a period, it is the name of a column.
            Token::Word(word) if word.quote_style.is_none() && !after_period => word.keyword,
            _ => Keyword::NoKeyword,
        };
        after_period = *token == Token::Period;
        if matches!(token, Token::Whitespace(_)) {
            continue;
        }
        let begins_query = matches!(keyword, Keyword::SELECT | Keyword::WITH | Keyword::FROM);
        if let (Some(more), true, Some(last)) = (of_query.take(), begins_query, open.last_mut()) {
            *last += more;
            sum += more;
        }
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                open.push(prefixes + 1);
                (sum, prefixes, after_operand) = (sum + prefixes + 1, 0, false);
                of_query = Some(if names_table { 1 } else { 2 });
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                sum -= open.pop().unwrap_or(0);
                (prefixes, after_operand) = (0, true);
            }
            Token::Minus | Token::Plus | Token::Tilde if !after_operand => prefixes += 1,
            _ if keyword == Keyword::CASE => {
                open.push(prefixes + 1);
                (sum, prefixes, after_operand) = (sum + prefixes + 1, 0, false);
            }
            _ if keyword == Keyword::END => {
                sum -= open.pop().unwrap_or(0);
                (prefixes, after_operand) = (0, true);
            }
            _ if keyword == Keyword::NOT => (prefixes, after_operand) = (prefixes + 1, false),
            Token::Word(_) => (prefixes, after_operand) = (0, !EXPECTING.contains(&keyword)),
            Token::Number(..) | Token::SingleQuotedString(_) => {
                (prefixes, after_operand) = (0, true);
            }
            _ => (prefixes, after_operand) = (0, false),
        }
        names_table = matches!(
            keyword,
            Keyword::FROM
                | Keyword::JOIN
                | Keyword::LATERAL
                | Keyword::AS
                | Keyword::UNION
                | Keyword::ALL
        );
        deepest = deepest.max(sum + prefixes);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_at_one_place_is_counted() {
        for (sql, expected) in [
            ("select 1", 0),
            ("select (1), (2), [3]", 1),
            ("select abs((1))", 2),
            ("select not not not true and not false", 3),
            ("select - - 1 - 2 - 3 + -1", 2),
            (
                "select case when not (case when true then [1] end) then 1 end, case when 1 then 2 end",
                5,
            ),
            ("select a - (b - c), a is not null", 1),
            ("select '((((' -- ((((", 0),
            ("select )))) (1)", 1),
            ("select day - (name - (value - 1))", 2),
            ("select t.case, t.case, t.not", 0),
            ("select (select (select 1))", 6),
            ("select * from (select * from (from t) a) b", 4),
            ("select 1 where not exists (select 1) and a in ((1), 2)", 3),
            ("with a as (select 1) select * from a, lateral (select 1)", 2),
        ] {
            assert_eq!(levels(sql), expected, "{sql}");
            assert!(openers(sql) >= expected, "{sql}");
        }
    }
}
