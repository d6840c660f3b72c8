//! Refuses FILTER without (WHERE …) after a call, of which the parser drops the word.

use datafusion::common::Result;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::{Keyword, RESERVED_FOR_COLUMN_ALIAS};
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::context::error::{ErrorKind, UserError};

/// Checks the text of a statement.
///
/// # Errors
///
/// If FILTER follows a call, and a name, or a parenthesis that does not begin with WHERE, follows FILTER.
pub(crate) fn check(sql: &str) -> Result<()> {
    let is_word = |part: &[u8]| part.eq_ignore_ascii_case(b"filter");
    if !sql.as_bytes().windows(6).any(is_word) {
        return Ok(());
    }
    // The parser refuses text that cannot be split into tokens.
    let Ok(mut tokens) = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location() else {
        return Ok(());
    };
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    // For each open parenthesis, whether it is that of a call.
    let mut open: Vec<bool> = Vec::new();
    let mut ends_call = false;
    for (at, token) in tokens.iter().enumerate() {
        let next = |by: usize| tokens.get(at + by).map_or(&Token::EOF, |token| &token.token);
        if ends_call && keyword(&token.token) == Keyword::FILTER {
            let is_wrong = match next(1) {
                Token::LParen => keyword(next(2)) != Keyword::WHERE,
                Token::Word(word) => !RESERVED_FOR_COLUMN_ALIAS.contains(&word.keyword),
                _ => false,
            };
            if is_wrong {
                let place = token.span.start;
                return Err(UserError {
                    kind: ErrorKind::Syntax,
                    message: format!(
                        "syntax error at line {}, column {}: FILTER is followed by (WHERE …)",
                        place.line, place.column
                    ),
                    hint: Some("Write count(*) FILTER (WHERE id > 1).".to_owned()),
                }
                .into());
            }
        }
        ends_call = false;
        match &token.token {
            Token::LParen => {
                let is_call = at > 0
                    && matches!(&tokens[at - 1].token, Token::Word(word)
                        if word.quote_style.is_some() || !BEFORE.contains(&word.keyword));
                open.push(is_call);
            }
            Token::RParen => ends_call = open.pop().unwrap_or_default(),
            _ => {}
        }
    }
    Ok(())
}

/// Keywords before a parenthesis that is not that of a call.
const BEFORE: [Keyword; 22] = [
    Keyword::ALL,
    Keyword::AND,
    Keyword::ANY,
    Keyword::AS,
    Keyword::BY,
    Keyword::CASE,
    Keyword::DISTINCT,
    Keyword::ELSE,
    Keyword::EXCEPT,
    Keyword::EXISTS,
    Keyword::FILTER,
    Keyword::FROM,
    Keyword::HAVING,
    Keyword::IN,
    Keyword::JOIN,
    Keyword::NOT,
    Keyword::ON,
    Keyword::OR,
    Keyword::SELECT,
    Keyword::THEN,
    Keyword::WHEN,
    Keyword::WHERE,
];

fn keyword(token: &Token) -> Keyword {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_has_a_condition() {
        for sql in [
            "select count(*) filter (id > 1) from t",
            "select count(*) FILTER (id) from t",
            "select sum(a + (b)) Filter id from t",
        ] {
            let said = check(sql).unwrap_err().to_string();
            assert!(said.contains("FILTER is followed by (WHERE …)"), "{sql}: {said}");
        }
        for sql in [
            "select count(*) filter (where id > 1), sum(a) filter(where b) over () from t",
            "select (a + b) filter, count(*) as filter from t",
            "select filter from filter where filter in (1)",
            "select 'count(*) filter (id)'",
            "select count(*) filter from t",
        ] {
            check(sql).unwrap();
        }
    }
}
