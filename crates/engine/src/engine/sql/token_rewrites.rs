//! Converts spellings of other systems to tokens that the parser supports.
//!
//! `1_000` is a number in PostgreSQL 16 and DuckDB, and `x ISNULL` and `x NOTNULL` are older than the standard's `x
//! IS NULL`. Places in errors refer to the original text.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Span, Token, TokenWithSpan, Tokenizer};

/// Returns the converted tokens of a statement, or `None` if nothing needs to be converted.
pub(crate) fn respelled(sql: &str) -> Option<Vec<TokenWithSpan>> {
    if !has_grouped_digits(sql) && !has_word(sql, "ISNULL") && !has_word(sql, "NOTNULL") {
        return None;
    }
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location().ok()?;
    let count = tokens.len();
    let mut respelled: Vec<TokenWithSpan> = Vec::with_capacity(count);
    let mut is_new = false;
    // True if an operand may end with the last token that is no space.
    let mut is_operand = false;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(TokenWithSpan { token, span }) = tokens.next() {
        let follows_operand = is_operand;
        // `1_000.5`: the parser takes `_000` for a name, so the point and the digits after it are a separate number.
        if let (
            Token::Number(places, _),
            Some(TokenWithSpan { token: Token::Number(number, _), .. }),
        ) = (&token, respelled.last_mut())
            && places.starts_with('.')
            && !number.contains('.')
        {
            number.push_str(places);
            is_new = true;
            continue;
        }
        let added = match &token {
            Token::Word(word) if word.quote_style.is_none() && word.value.starts_with('_') => {
                match (respelled.last_mut(), grouped(&word.value)) {
                    (Some(TokenWithSpan { token: Token::Number(number, _), .. }), Some(digits)) => {
                        number.push_str(&digits);
                        is_new = true;
                        continue;
                    }
                    _ => None,
                }
            }
            Token::Word(word) if word.quote_style.is_none() && follows_operand => {
                let is_call = tokens.peek().is_some_and(|it| it.token == Token::LParen);
                match word.value.to_ascii_uppercase().as_str() {
                    "ISNULL" if !is_call => Some(["IS", "NULL"].as_slice()),
                    "NOTNULL" if !is_call => Some(["IS", "NOT", "NULL"].as_slice()),
                    _ => None,
                }
            }
            _ => None,
        };
        match added {
            Some(words) => {
                is_new = true;
                is_operand = true;
                respelled.extend(words.iter().map(|word| keyword(word, span)));
            }
            None => {
                if !is_space(&token) {
                    is_operand = ends_operand(&token);
                }
                respelled.push(TokenWithSpan { token, span });
            }
        }
    }
    is_new.then_some(respelled)
}

fn keyword(word: &str, span: Span) -> TokenWithSpan {
    TokenWithSpan::new(Token::make_keyword(word), span)
}

/// Returns the digits of `_000_000`, or `None` for other words.
fn grouped(word: &str) -> Option<String> {
    let groups = word.strip_prefix('_')?.split('_');
    let is_number =
        |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    groups.clone().all(is_number).then(|| groups.collect())
}

fn is_space(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}

/// Returns whether an operand may end with a token, so that a following word is no column.
fn ends_operand(token: &Token) -> bool {
    use datafusion::sql::sqlparser::keywords::Keyword as K;
    match token {
        // Names, NULL and END end an operand; other keywords precede one.
        Token::Word(word) => {
            word.quote_style.is_some()
                || !matches!(
                    word.keyword,
                    K::SELECT
                        | K::DISTINCT
                        | K::WHERE
                        | K::AND
                        | K::OR
                        | K::NOT
                        | K::ON
                        | K::AS
                        | K::BY
                        | K::HAVING
                        | K::WHEN
                        | K::THEN
                        | K::ELSE
                        | K::CASE
                        | K::FROM
                        | K::JOIN
                        | K::IN
                        | K::LIKE
                        | K::BETWEEN
                        | K::ALL
                )
        }
        Token::Number(..) | Token::SingleQuotedString(_) | Token::RParen | Token::RBracket => true,
        _ => false,
    }
}

/// Returns whether a text contains a digit, `_` and a digit in sequence.
fn has_grouped_digits(sql: &str) -> bool {
    let is_grouped =
        |three: &[u8]| three[0].is_ascii_digit() && three[1] == b'_' && three[2].is_ascii_digit();
    sql.as_bytes().windows(3).any(is_grouped)
}

fn has_word(sql: &str, word: &str) -> bool {
    sql.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_write_is_what_the_parser_knows() {
        for (sql, expected) in [
            ("select 1_000", Some("select 1000")),
            ("select 1_000.5, 1_000.000_5", Some("select 1000.5 , 1000.0005")),
            ("select 1 .5", None),
            ("select 1_000_000 + 1_0 as a_1_0", Some("select 1000000 + 10 as a_1_0")),
            ("a < 1_00", Some("a < 100")),
            ("x isnull or (y) NotNull", Some("x IS NULL or ( y ) IS NOT NULL")),
            ("select 1_", None),
            ("select 1 _000 + a1_000", None),
            ("select '1_000', \"1_000\"", None),
            ("select isnull(a), isnull from t where notnull", None),
            ("select 1__0", None),
        ] {
            let text = respelled(sql).map(|tokens| {
                let words = tokens.iter().filter(|it| !is_space(&it.token));
                words.map(|it| it.token.to_string()).collect::<Vec<_>>().join(" ")
            });
            assert_eq!(text.as_deref(), expected, "{sql}");
        }
    }

    #[test]
    fn spaces_are_read_once() {
        let sql = format!("select 1_0{}isnull", " ".repeat(400_000));
        let tokens = respelled(&sql).unwrap();
        assert_eq!(tokens.last().unwrap().token.to_string(), "NULL");
    }
}
