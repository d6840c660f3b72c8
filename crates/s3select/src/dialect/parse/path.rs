//! Parses paths: `name.name[0]` and, in FROM, `[*].name.*`.

use super::super::ast::{Name, PathStep};
use super::super::keyword::is_reserved;
use super::super::lexer::{Kind, Symbol};
use super::{MAX_DEPTH, Parser};
use crate::error::{Result, SelectErrorCode as Code};

impl Parser<'_> {
    /// Parses the path after S3Object. It must begin with `[*]` or be empty.
    pub(super) fn source_path(&mut self) -> Result<Vec<PathStep>> {
        let mut steps = Vec::new();
        while let Some(step) = self.step()? {
            if steps.is_empty() && step != PathStep::AnyIndex {
                let what = "a path into S3Object begins with [*]";
                return Err(self.error(Code::ParseInvalidPathComponent, what));
            }
            self.push(&mut steps, step)?;
        }
        Ok(steps)
    }

    /// Parses a path that begins with the given name. `wildcard` allows one wildcard, at the end.
    pub(super) fn column_path(&mut self, first: Name, wildcard: bool) -> Result<Vec<PathStep>> {
        let mut steps = vec![PathStep::Field(first)];
        let mut brackets = false;
        while let Some(step) = self.step()? {
            match step {
                PathStep::AnyField if wildcard && brackets => {
                    let code = Code::ParseCannotMixSqbAndWildcardInSelectList;
                    return Err(self.error(code, "[…] and .* do not go together"));
                }
                PathStep::AnyField if wildcard => {
                    steps.push(step);
                    return Ok(steps);
                }
                PathStep::AnyField | PathStep::AnyIndex => {
                    let code = Code::ParseInvalidContextForWildcardInSelectList;
                    return Err(self.error(code, "only FROM takes a path with wildcards"));
                }
                PathStep::Index(_) => brackets = true,
                PathStep::Field(_) => {}
            }
            self.push(&mut steps, step)?;
        }
        Ok(steps)
    }

    fn push(&self, steps: &mut Vec<PathStep>, step: PathStep) -> Result<()> {
        if steps.len() >= MAX_DEPTH {
            return Err(self.too_deep());
        }
        steps.push(step);
        Ok(())
    }

    fn step(&mut self) -> Result<Option<PathStep>> {
        let invalid = Code::ParseInvalidPathComponent;
        if self.take_symbol(Symbol::Dot) {
            let step = match self.peek() {
                Kind::Word(word) if is_reserved(word) => return Err(self.unexpected()),
                Kind::Word(word) => {
                    PathStep::Field(Name { text: (*word).to_owned(), quoted: false })
                }
                Kind::QuotedName(name) => {
                    PathStep::Field(Name { text: name.clone().into_owned(), quoted: true })
                }
                Kind::Symbol(Symbol::Star) => PathStep::AnyField,
                _ => return Err(self.error(invalid, "a name or * was expected after the dot")),
            };
            self.advance();
            return Ok(Some(step));
        }
        if !self.take_symbol(Symbol::LeftBracket) {
            return Ok(None);
        }
        let step = match self.peek() {
            Kind::Symbol(Symbol::Star) => Some(PathStep::AnyIndex),
            Kind::Number(digits) => digits.parse().ok().map(PathStep::Index),
            Kind::String(name) => {
                Some(PathStep::Field(Name { text: name.clone().into_owned(), quoted: true }))
            }
            _ => None,
        };
        let Some(step) = step else {
            return Err(self.error(invalid, "an index, a string or * was expected in brackets"));
        };
        self.advance();
        if !self.take_symbol(Symbol::RightBracket) {
            return Err(self.error(Code::ParseExpectedTokenType, "] was expected"));
        }
        Ok(Some(step))
    }
}
