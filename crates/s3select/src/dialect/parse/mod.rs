//! Parses statements by recursive descent.
//!
//! Nesting has two bounds: the parser recurses at most [`MAX_DEPTH`] deep, and no tree that it returns is higher than
//! that. Walking, cloning and dropping a tree is therefore safe. Only long chains of AND and OR would be higher; they
//! are built as balanced trees, which have the same meaning.

mod expression;
mod function;
mod path;
mod query;

use super::ast::Query;
use super::extras::Extras;
use super::keyword::is_reserved;
use super::lexer::{Kind, Symbol, Token, error_at, tokenize};
use crate::error::{Result, SelectError, SelectErrorCode as Code};

/// The length of the longest statement, in bytes.
pub const MAX_LENGTH: usize = 256 * 1024;
/// The largest number of levels of an expression.
pub const MAX_DEPTH: usize = 200;
/// The largest number of operators and calls in a statement.
pub const MAX_OPERATORS: usize = 20_000;

/// Parses a statement, which may end with a semicolon.
///
/// # Errors
///
/// The service's code for the first error; the message names its line and column.
pub fn parse(text: &str) -> Result<Query> {
    parse_with(text, Extras::NONE)
}

/// Parses a statement that may use extensions of this project, which the request enables with
/// [`SelectRequest::extras`](crate::request::SelectRequest::extras).
///
/// # Errors
///
/// In the cases of [`parse`].
pub fn parse_with(text: &str, extras: Extras) -> Result<Query> {
    if text.len() > MAX_LENGTH {
        let message = format!("the statement has {} bytes, at most {MAX_LENGTH} fit", text.len());
        return Err(SelectError::new(Code::ExpressionTooLong, message));
    }
    let tokens = tokenize(text)?;
    Parser { text, tokens, extras, next: 0, depth: 0, operators: 0 }.query()
}

struct Parser<'a> {
    text: &'a str,
    /// Never empty: the last token is `End`.
    tokens: Vec<Token<'a>>,
    /// The enabled extensions of the language.
    extras: Extras,
    next: usize,
    depth: usize,
    operators: usize,
}

impl<'a> Parser<'a> {
    fn ahead(&self, distance: usize) -> &Kind<'a> {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.next + distance).min(last)].kind
    }

    fn peek(&self) -> &Kind<'a> {
        self.ahead(0)
    }

    fn advance(&mut self) {
        self.next += 1;
    }

    fn error(&self, code: Code, what: &str) -> SelectError {
        let last = self.tokens.len() - 1;
        error_at(self.text, self.tokens[self.next.min(last)].at, code, what)
    }

    fn is_keyword(&self, distance: usize, keyword: &str) -> bool {
        matches!(self.ahead(distance), Kind::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.is_keyword(0, keyword);
        self.next += usize::from(found);
        found
    }

    fn expect_keyword(&mut self, keyword: &str) -> Result<()> {
        if self.take_keyword(keyword) {
            return Ok(());
        }
        Err(self.error(Code::ParseExpectedKeyword, &format!("{keyword} was expected")))
    }

    fn is_symbol(&self, symbol: Symbol) -> bool {
        *self.peek() == Kind::Symbol(symbol)
    }

    fn take_symbol(&mut self, symbol: Symbol) -> bool {
        let found = self.is_symbol(symbol);
        self.next += usize::from(found);
        found
    }

    /// Takes a name: quoted, or a word that is not reserved.
    fn take_name(&mut self) -> Option<String> {
        let name = match self.peek() {
            Kind::QuotedName(name) => name.clone().into_owned(),
            Kind::Word(word) if !is_reserved(word) => (*word).to_owned(),
            _ => return None,
        };
        self.advance();
        Some(name)
    }

    /// The error for a token that cannot stand where it does.
    fn unexpected(&self) -> SelectError {
        let (code, what) = match self.peek() {
            Kind::Word(word) if is_reserved(word) => {
                let what = format!("{word} is reserved; as a column it needs double quotes");
                return self.error(Code::ParseUnExpectedKeyword, &what);
            }
            Kind::End => (Code::ParseUnexpectedToken, "the statement ends too early"),
            Kind::Symbol(Symbol::Concat) => (Code::ParseUnknownOperator, "|| is not supported"),
            Kind::Symbol(Symbol::Foreign) => {
                (Code::ParseUnsupportedToken, "this token is not supported")
            }
            Kind::Symbol(symbol) if symbol.is_operator() => {
                (Code::ParseUnexpectedOperator, "an operator cannot stand here")
            }
            Kind::Symbol(_) => (Code::ParseUnexpectedToken, "this token cannot stand here"),
            _ => (Code::ParseUnexpectedTerm, "a value cannot stand here"),
        };
        self.error(code, what)
    }

    fn count_operator(&mut self) -> Result<()> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            return Err(self.error(Code::MaxOperatorsExceeded, "too many operators"));
        }
        Ok(())
    }

    fn too_deep(&self) -> SelectError {
        self.error(Code::MaxOperatorsExceeded, "expressions nest too deeply")
    }
}

#[cfg(test)]
mod tests;
