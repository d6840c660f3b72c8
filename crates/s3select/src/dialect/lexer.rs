//! Splits the text of a statement into tokens.

use std::borrow::Cow;

use super::keyword::{continues_word, starts_word};
use crate::error::{Result, SelectError, SelectErrorCode as Code};

/// A token and its place in the statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    /// The offset of the first byte.
    pub(super) at: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind<'a> {
    /// A keyword or an unquoted name.
    Word(&'a str),
    /// `"name"`, without its quotes.
    QuotedName(Cow<'a, str>),
    /// `'text'`, without its quotes.
    String(Cow<'a, str>),
    /// A number without a sign.
    Number(&'a str),
    /// The text between backticks.
    Ion(&'a str),
    /// An operator or a punctuation mark.
    Symbol(Symbol),
    /// The end of the statement.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbol {
    Comma,
    Dot,
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    Semicolon,
    Star,
    Plus,
    Minus,
    Slash,
    Percent,
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
    /// `||`, which is SQL but not part of this dialect.
    Concat,
    /// `?`, `{`, `}` or `:`, which are not part of this dialect.
    Foreign,
}

impl Symbol {
    pub(super) fn is_operator(self) -> bool {
        !matches!(
            self,
            Self::Comma
                | Self::Dot
                | Self::LeftParen
                | Self::RightParen
                | Self::LeftBracket
                | Self::RightBracket
                | Self::Semicolon
                | Self::Foreign
        )
    }
}

/// An error whose message names the place in the statement by line and column.
#[cold]
pub(super) fn error_at(text: &str, at: usize, code: Code, what: &str) -> SelectError {
    let before = &text[..text.floor_char_boundary(at)];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    SelectError::new(code, format!("{what}, at line {line}, column {column}"))
}

/// Splits a statement into tokens; the last one is [`Kind::End`].
pub(super) fn tokenize(text: &str) -> Result<Vec<Token<'_>>> {
    let mut tokens = Vec::with_capacity(text.len() / 4 + 1);
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let skipped = rest.len() - rest.trim_ascii_start().len();
        if skipped > 0 {
            at += skipped;
            continue;
        }
        let Some(&first) = rest.as_bytes().first() else { break };
        let (kind, length) = match first {
            b'\'' => {
                let (content, length) =
                    quoted(text, at, '\'', Code::LexerInvalidLiteral, "a string never ends")?;
                (Kind::String(content), length)
            }
            b'"' => {
                let (content, length) =
                    quoted(text, at, '"', Code::LexerInvalidLiteral, "a quoted name never ends")?;
                (Kind::QuotedName(content), length)
            }
            b'`' => match rest[1..].find('`') {
                Some(length) => (Kind::Ion(&rest[1..=length]), length + 2),
                None => {
                    let code = Code::LexerInvalidIONLiteral;
                    return Err(error_at(text, at, code, "a literal in backticks never ends"));
                }
            },
            b'0'..=b'9' => number(text, at)?,
            b'.' if rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => number(text, at)?,
            _ if starts_word(first) => {
                let length = rest.bytes().take_while(|byte| continues_word(*byte)).count();
                (Kind::Word(&rest[..length]), length)
            }
            _ => {
                let (symbol, length) = symbol(text, at)?;
                (Kind::Symbol(symbol), length)
            }
        };
        tokens.push(Token { kind, at });
        at += length;
    }
    tokens.push(Token { kind: Kind::End, at: text.len() });
    Ok(tokens)
}

/// The text between the quotes at `at`, with doubled quotes as one, and the length of the token including its quotes.
fn quoted<'a>(
    text: &'a str,
    at: usize,
    quote: char,
    code: Code,
    what: &str,
) -> Result<(Cow<'a, str>, usize)> {
    let content = &text[at + 1..];
    let mut from = 0;
    loop {
        let Some(found) = content[from..].find(quote) else {
            return Err(error_at(text, at, code, what));
        };
        let end = from + found;
        if content[end + 1..].starts_with(quote) {
            from = end + 2;
            continue;
        }
        let content = &content[..end];
        let doubled = if quote == '"' { "\"\"" } else { "''" };
        let content = if from == 0 {
            Cow::Borrowed(content)
        } else {
            Cow::Owned(content.replace(doubled, &doubled[1..]))
        };
        return Ok((content, end + 2));
    }
}

/// Reads a number such as `12`, `1.5`, `1.`, `.5` or `1.5e-3`.
fn number(text: &str, at: usize) -> Result<(Kind<'_>, usize)> {
    let bytes = &text.as_bytes()[at..];
    let digits = |from: usize| {
        bytes.get(from..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count()
    };
    let mut length = digits(0);
    if bytes.get(length) == Some(&b'.') {
        length += 1 + digits(length + 1);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits(length + 1 + sign);
        if exponent == 0 {
            let code = Code::LexerInvalidLiteral;
            return Err(error_at(text, at, code, "a number has an exponent without digits"));
        }
        length += 1 + sign + exponent;
    }
    if bytes.get(length).is_some_and(|byte| continues_word(*byte)) {
        return Err(error_at(text, at, Code::LexerInvalidLiteral, "a number runs into a word"));
    }
    Ok((Kind::Number(&text[at..at + length]), length))
}

fn symbol(text: &str, at: usize) -> Result<(Symbol, usize)> {
    let bytes = &text.as_bytes()[at..];
    Ok(match bytes {
        [b'<', b'=', ..] => (Symbol::LtEq, 2),
        [b'>', b'=', ..] => (Symbol::GtEq, 2),
        [b'<', b'>', ..] | [b'!', b'=', ..] => (Symbol::NotEq, 2),
        [b'|', b'|', ..] => (Symbol::Concat, 2),
        [b'!' | b'|', ..] => {
            let code = Code::LexerInvalidOperator;
            return Err(error_at(text, at, code, "this is only half an operator"));
        }
        [b',', ..] => (Symbol::Comma, 1),
        [b'.', ..] => (Symbol::Dot, 1),
        [b'(', ..] => (Symbol::LeftParen, 1),
        [b')', ..] => (Symbol::RightParen, 1),
        [b'[', ..] => (Symbol::LeftBracket, 1),
        [b']', ..] => (Symbol::RightBracket, 1),
        [b';', ..] => (Symbol::Semicolon, 1),
        [b'*', ..] => (Symbol::Star, 1),
        [b'+', ..] => (Symbol::Plus, 1),
        [b'-', ..] => (Symbol::Minus, 1),
        [b'/', ..] => (Symbol::Slash, 1),
        [b'%', ..] => (Symbol::Percent, 1),
        [b'=', ..] => (Symbol::Eq, 1),
        [b'<', ..] => (Symbol::Lt, 1),
        [b'>', ..] => (Symbol::Gt, 1),
        [b'?' | b'{' | b'}' | b':', ..] => (Symbol::Foreign, 1),
        _ => {
            let what = "a character that begins nothing in this language";
            return Err(error_at(text, at, Code::LexerInvalidChar, what));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_every_kind() {
        let kinds: Vec<_> = tokenize("a.\"b\"\"c\" 'd''e'\n1.5e-3 .5 `2010T` <>").unwrap();
        let kinds: Vec<_> = kinds.into_iter().map(|token| token.kind).collect();
        assert_eq!(
            kinds,
            [
                Kind::Word("a"),
                Kind::Symbol(Symbol::Dot),
                Kind::QuotedName("b\"c".into()),
                Kind::String("d'e".into()),
                Kind::Number("1.5e-3"),
                Kind::Number(".5"),
                Kind::Ion("2010T"),
                Kind::Symbol(Symbol::NotEq),
                Kind::End,
            ]
        );
    }

    #[test]
    fn errors_name_the_place() {
        let error = tokenize("SELECT\n é").unwrap_err();
        assert_eq!(error.code, Code::LexerInvalidChar);
        assert!(error.message.ends_with("at line 2, column 2"), "{error}");
    }

    #[test]
    fn malformed_tokens() {
        for (text, code) in [
            ("'a", Code::LexerInvalidLiteral),
            ("'a''", Code::LexerInvalidLiteral),
            ("\"a", Code::LexerInvalidLiteral),
            ("1e", Code::LexerInvalidLiteral),
            ("1x", Code::LexerInvalidLiteral),
            ("`2010T", Code::LexerInvalidIONLiteral),
            ("!", Code::LexerInvalidOperator),
            ("|", Code::LexerInvalidOperator),
            ("@", Code::LexerInvalidChar),
            ("\0", Code::LexerInvalidChar),
        ] {
            assert_eq!(tokenize(text).unwrap_err().code, code, "{text}");
        }
    }
}
