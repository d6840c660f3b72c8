//! The tokens of SQL text: enough to split statements, to find parameters and to recognise the first words.
//!
//! Strings, quoted names, comments and dollar-quoted texts follow PostgreSQL's rules, with
//! `standard_conforming_strings` on.

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A name without quotes or a keyword.
    Word,
    /// A name in double quotes.
    QuotedName,
    /// A text in single quotes, also `E'…'`, or between `$$`.
    Text,
    /// A number.
    Number,
    /// A parameter such as `$1`, with its number.
    Parameter(u16),
    /// White space or a comment.
    Space,
    /// One other character.
    Symbol,
}

/// A token with its place in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// Its kind.
    pub kind: TokenKind,
    /// Its text.
    pub text: &'a str,
    /// The byte at which it starts.
    pub start: usize,
}

impl Token<'_> {
    /// Returns true if the token is this keyword, in upper or lower case.
    #[must_use]
    pub fn is(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Returns the name or the text without its quotes; words in lower case.
    #[must_use]
    pub fn unquoted(&self) -> String {
        match self.kind {
            TokenKind::QuotedName => inner(self.text, '"'),
            TokenKind::Text if self.text.starts_with('\'') => inner(self.text, '\''),
            TokenKind::Text if self.text.starts_with(['e', 'E']) => {
                inner(&self.text[1..], '\'').replace("\\\\", "\\")
            }
            TokenKind::Text => {
                let tag = self.text[1..].find('$').map_or(0, |at| at + 2);
                let end = self.text.len().saturating_sub(tag);
                self.text.get(tag..end).unwrap_or("").to_owned()
            }
            TokenKind::Word => self.text.to_lowercase(),
            _ => self.text.to_owned(),
        }
    }
}

fn inner(text: &str, quote: char) -> String {
    let inner = text.strip_prefix(quote).unwrap_or(text);
    let inner = inner.strip_suffix(quote).unwrap_or(inner);
    let doubled = [quote, quote].iter().collect::<String>();
    inner.replace(&doubled, &quote.to_string())
}

/// Returns the tokens of a text. Together they are the whole text.
pub fn tokens(sql: &str) -> impl Iterator<Item = Token<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &sql[start..];
        let (kind, length) = next(rest)?;
        let token = Token { kind, text: &rest[..length], start };
        start += length;
        Some(token)
    })
}

/// Returns the tokens of a text without white space and comments.
pub fn words(sql: &str) -> impl Iterator<Item = Token<'_>> {
    tokens(sql).filter(|token| token.kind != TokenKind::Space)
}

/// Splits a text into its statements. Each has the byte at which it starts; white space and comments alone are no
/// statement.
#[must_use]
pub fn statements(sql: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut begun: Option<usize> = None;
    let mut end = 0;
    for token in tokens(sql) {
        match token.kind {
            TokenKind::Space => {}
            TokenKind::Symbol if token.text == ";" => {
                found.extend(begun.take().map(|start| (start, &sql[start..end])));
            }
            _ => {
                begun.get_or_insert(token.start);
                end = token.start + token.text.len();
            }
        }
    }
    found.extend(begun.map(|start| (start, &sql[start..end])));
    found
}

/// Returns the highest number of a parameter, 0 without any.
#[must_use]
pub fn highest_parameter(sql: &str) -> usize {
    let numbers = tokens(sql).filter_map(|token| match token.kind {
        TokenKind::Parameter(number) => Some(usize::from(number)),
        _ => None,
    });
    numbers.max().unwrap_or(0)
}

/// Replaces the parameters of a text. `literal` gets the number from 1; `None` leaves the parameter as it is.
pub fn with_parameters(sql: &str, mut literal: impl FnMut(u16) -> Option<String>) -> String {
    let mut text = String::with_capacity(sql.len());
    for token in tokens(sql) {
        match token.kind {
            TokenKind::Parameter(number) => {
                text += literal(number).as_deref().unwrap_or(token.text);
            }
            _ => text += token.text,
        }
    }
    text
}

/// Returns the kind and the length in bytes of the first token; `None` at the end.
fn next(text: &str) -> Option<(TokenKind, usize)> {
    let first = text.chars().next()?;
    let is_space = |c: char| c.is_whitespace();
    Some(match first {
        c if is_space(c) => (TokenKind::Space, while_true(text, is_space)),
        '-' if text.starts_with("--") => {
            (TokenKind::Space, text.find('\n').map_or(text.len(), |at| at + 1))
        }
        '/' if text.starts_with("/*") => (TokenKind::Space, block_comment(text)),
        '\'' => (TokenKind::Text, quoted(text, '\'', false)),
        '"' => (TokenKind::QuotedName, quoted(text, '"', false)),
        'e' | 'E' if text[1..].starts_with('\'') => {
            (TokenKind::Text, 1 + quoted(&text[1..], '\'', true))
        }
        c if is_name_start(c) => (TokenKind::Word, while_true(text, is_name)),
        c if c.is_ascii_digit() => (TokenKind::Number, number(text)),
        '.' if text[1..].starts_with(|c: char| c.is_ascii_digit()) => {
            (TokenKind::Number, number(text))
        }
        '$' => dollar(text),
        other => (TokenKind::Symbol, other.len_utf8()),
    })
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

fn while_true(text: &str, accept: impl Fn(char) -> bool) -> usize {
    text.find(|c| !accept(c)).unwrap_or(text.len())
}

/// Returns the length of a number; an exponent needs digits.
fn number(text: &str) -> usize {
    let digits = |from: usize| from + while_true(&text[from..], |c| c.is_ascii_digit());
    let mut end = digits(0);
    // `1..2` has no decimal point.
    if text[end..].starts_with('.') && !text[end..].starts_with("..") {
        end = digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

/// Returns the length of a quoted text, up to the end if the closing quote is missing.
fn quoted(text: &str, quote: char, escapes: bool) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if escapes && c == '\\' {
            chars.next();
        } else if c == quote {
            match chars.peek() {
                Some((_, next)) if *next == quote => {
                    chars.next();
                }
                _ => return at + 1,
            }
        }
    }
    text.len()
}

/// Returns the length of a comment, in which comments may nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    let bytes = text.as_bytes();
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => {
                (depth, at) = (depth.saturating_sub(1), at + 2);
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    text.len()
}

/// Returns the kind and length of a token that begins with `$`.
fn dollar(text: &str) -> (TokenKind, usize) {
    let digits = while_true(&text[1..], |c| c.is_ascii_digit());
    if digits > 0 {
        return match text[1..=digits].parse() {
            Ok(number) if number > 0 => (TokenKind::Parameter(number), 1 + digits),
            _ => (TokenKind::Symbol, 1 + digits),
        };
    }
    let tag = while_true(&text[1..], |c| c.is_alphanumeric() || c == '_');
    if !text[1 + tag..].starts_with('$') {
        return (TokenKind::Symbol, 1);
    }
    let opening = &text[..tag + 2];
    let end = text[opening.len()..].find(opening);
    (TokenKind::Text, end.map_or(text.len(), |at| at + 2 * opening.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_split(sql: &str, expected: &[&str]) {
        let found: Vec<_> = statements(sql).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes() {
        check_split("SELECT 1; SELECT ';' ;", &["SELECT 1", "SELECT ';'"]);
        check_split(" ; -- a; b\n /* ; /* ; */ */ ;", &[]);
        check_split("SELECT $$a;b$$, $t$;$$;$t$", &["SELECT $$a;b$$, $t$;$$;$t$"]);
        check_split(r"SELECT E'\';', 'it''s;'", &[r"SELECT E'\';', 'it''s;'"]);
        check_split("SELECT \"a;\"\"b\" -- end", &["SELECT \"a;\"\"b\""]);
        check_split("SELECT 'open; ", &["SELECT 'open; "]);
        assert_eq!(statements("a; bé;c")[2], (7, "c"));
    }

    #[test]
    fn parameters_are_found_outside_of_quotes() {
        let replaced =
            with_parameters("a$1 $1 '$2' \"$3\" $12::int -- $4", |n| Some(format!("<{n}>")));
        assert_eq!(replaced, "a$1 <1> '$2' \"$3\" <12>::int -- $4");
        assert_eq!(highest_parameter("$2 + $10"), 10);
        assert_eq!(highest_parameter("'$2'"), 0);
        assert_eq!(highest_parameter("$0 $99999999"), 0);
    }

    #[test]
    fn quotes_are_removed() {
        let unquoted = |sql: &str| words(sql).next().unwrap().unquoted();
        assert_eq!(unquoted("'it''s'"), "it's");
        assert_eq!(unquoted("\"A\"\"b\""), "A\"b");
        assert_eq!(unquoted("$x$a'b$x$"), "a'b");
        assert_eq!(unquoted("SELECT"), "select");
        assert_eq!(unquoted(r"E'a\\b'"), r"a\b");
    }

    proptest! {
        #[test]
        fn tokens_are_the_whole_text(sql in ".{0,200}") {
            let joined: String = tokens(&sql).map(|token| token.text).collect();
            prop_assert_eq!(joined, sql.clone());
            for token in tokens(&sql) {
                let _ = token.unquoted();
            }
            let _ = statements(&sql);
        }

        #[test]
        fn quotes_of_any_kind_never_panic(sql in "[$'\"/*eE\\\\;a1. -]{0,40}") {
            let joined: String = tokens(&sql).map(|token| token.text).collect();
            prop_assert_eq!(joined, sql.clone());
            for token in tokens(&sql) {
                let _ = token.unquoted();
            }
        }
    }
}
