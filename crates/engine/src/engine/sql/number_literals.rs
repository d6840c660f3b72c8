//! Numbers that the parser misreads: it reads `0b11` as 0 with the alias `b11`, and `0x1F` as bytes. `123abc`, which
//! it reads as 123 with the alias `abc`, is refused as in PostgreSQL.

use datafusion::common::Result;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};

use crate::context::error::{ErrorKind, UserError};

/// Returns the tokens of a statement with such numbers replaced by plain ones; `tokens` if there are none.
///
/// # Errors
///
/// If a number is followed by letters.
pub(crate) fn read(
    sql: &str,
    tokens: Option<Vec<TokenWithSpan>>,
) -> Result<Option<Vec<TokenWithSpan>>> {
    if !has_letter_behind_number(sql) {
        return Ok(tokens);
    }
    let tokens = match tokens {
        Some(tokens) => tokens,
        // The parser refuses text that cannot be split into tokens.
        None => match Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location() {
            Ok(tokens) => tokens,
            Err(_) => return Ok(None),
        },
    };
    let mut read: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for TokenWithSpan { token, span } in tokens {
        let before = read.last_mut().filter(|before| before.span.end == span.start);
        match (&token, before) {
            (Token::HexStringLiteral(digits), _) if is_number(digits, span) => {
                let number = radix(digits, 16).ok_or_else(|| refused("0x", digits, span.start))?;
                read.push(TokenWithSpan::new(number, span));
                continue;
            }
            (Token::Word(word), Some(before)) if word.quote_style.is_none() => {
                if let Token::Number(number, _) = &before.token {
                    let digits = word.value.get(1..).filter(|_| number == "0");
                    let value = match word.value.bytes().next() {
                        Some(b'b' | b'B') => digits.and_then(|digits| radix(digits, 2)),
                        Some(b'o' | b'O') => digits.and_then(|digits| radix(digits, 8)),
                        _ => None,
                    };
                    let place = before.span.start;
                    before.token = value.ok_or_else(|| refused(number, &word.value, place))?;
                    before.span.end = span.end;
                    continue;
                }
            }
            _ => {}
        }
        read.push(TokenWithSpan { token, span });
    }
    Ok(Some(read))
}

fn radix(digits: &str, radix: u32) -> Option<Token> {
    let number = u64::from_str_radix(digits, radix).ok()?;
    Some(Token::Number(number.to_string(), false))
}

fn refused(number: &str, letters: &str, place: Location) -> UserError {
    UserError {
        kind: ErrorKind::Plan,
        message: format!(
            "syntax error at line {}, column {}: `{number}{letters}` is no number",
            place.line, place.column
        ),
        hint: Some(
            "Put a space before a name; a name that begins with a digit is in quotes: \"2nd\"."
                .to_owned(),
        ),
    }
}

/// Returns whether a letter follows digits that no letter precedes.
fn has_letter_behind_number(sql: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut before = b' ';
    let mut in_number = false;
    for byte in sql.bytes() {
        if byte.is_ascii_digit() {
            in_number |= !is_word(before);
        } else if in_number && byte.is_ascii_alphabetic() {
            return true;
        } else if byte != b'.' {
            in_number = false;
        }
        before = byte;
    }
    false
}

/// Returns whether the source is `0x1F` rather than `x'1F'`, which is one character longer.
fn is_number(digits: &str, span: Span) -> bool {
    let written = span.end.column.saturating_sub(span.start.column);
    usize::try_from(written) == Ok("0x".len() + digits.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_numbers() {
        for (sql, expected) in [
            ("select 0b11, 0B0, 0o17 x", Some("select 3 , 0 , 15 x")),
            ("select 0x1F+0xff, x'1F'", Some("select 31 + 255 , X'1F'")),
            ("select 1e5, a1b from t2x", Some("select 1e5 , a1b from t2x")),
            ("select a1, 2", None),
            ("select 1 a, 2.5 b", None),
            ("select '0b11'", Some("select '0b11'")),
        ] {
            let text = read(sql, None).unwrap().map(|tokens| {
                let words = tokens.iter().map(|it| &it.token);
                let words = words.filter(|it| !matches!(it, Token::Whitespace(_)));
                words.map(ToString::to_string).collect::<Vec<_>>().join(" ")
            });
            assert_eq!(text.as_deref(), expected, "{sql}");
        }
        let many = read(&format!("select {}0", "0x1,".repeat(60_000)), None).unwrap().unwrap();
        let is_one = |it: &&TokenWithSpan| matches!(&it.token, Token::Number(one, _) if one == "1");
        assert_eq!(many.iter().filter(is_one).count(), 60_000);
        for sql in [
            "select 123abc",
            "select 1e",
            "select 0b12",
            "select 0xFFFFFFFFFFFFFFFFF",
            "select 2nd",
        ] {
            assert!(read(sql, None).is_err(), "{sql}");
        }
    }
}
