//! Parses the clauses: `SELECT list FROM source [WHERE filter] [GROUP BY list] [LIMIT number] [;]`.

use super::super::ast::{Expr, From, PathStep, Projection, ProjectionItem, Query};
use super::super::lexer::{Kind, Symbol};
use super::Parser;
use crate::error::{Result, SelectErrorCode as Code};

/// Words that begin clauses of SQL which this dialect does not have.
const FOREIGN_CLAUSES: [&str; 12] = [
    "GROUP",
    "ORDER",
    "HAVING",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "OFFSET",
    "FETCH",
    "WINDOW",
    "AT",
    "BY",
    "LET",
];
const JOINS: [&str; 7] = ["JOIN", "INNER", "LEFT", "RIGHT", "OUTER", "CROSS", "FULL"];

impl Parser<'_> {
    pub(super) fn query(mut self) -> Result<Query> {
        self.expect_keyword("SELECT")?;
        for quantifier in ["DISTINCT", "ALL", "VALUE", "PIVOT"] {
            // A column named `value` needs quotes anyway, so this refuses no valid statement.
            if self.is_keyword(0, quantifier) {
                let what = format!("SELECT {quantifier} is not supported");
                return Err(self.error(Code::ParseUnsupportedSelect, &what));
            }
        }
        let items = self.items()?;
        if !self.is_keyword(0, "FROM") {
            return Err(match self.peek() {
                Kind::Word(_) | Kind::End | Kind::Symbol(Symbol::Semicolon) => {
                    self.error(Code::ParseSelectMissingFrom, "FROM was expected")
                }
                _ => self.unexpected(),
            });
        }
        self.advance();
        let from = self.source()?;
        let projection = self.projection(items, &from)?;
        let filter = if self.take_keyword("WHERE") { Some(self.expression()?) } else { None };
        let group_by = if self.extras.groups { self.group_by()? } else { Vec::new() };
        let limit = if self.take_keyword("LIMIT") { Some(self.limit()?) } else { None };
        self.end()?;
        Ok(Query { projection, from, filter, group_by, limit })
    }

    /// Parses the SELECT list; `None` for `*`.
    fn items(&mut self) -> Result<Option<Vec<ProjectionItem>>> {
        let ends = matches!(self.peek(), Kind::End | Kind::Symbol(Symbol::Semicolon));
        if ends || self.is_keyword(0, "FROM") {
            return Err(self.error(Code::ParseEmptySelect, "the SELECT list is empty"));
        }
        let lone = Code::ParseAsteriskIsNotAloneInSelectList;
        if self.take_symbol(Symbol::Star) {
            if self.is_symbol(Symbol::Comma) {
                return Err(self.error(lone, "* must be alone in the SELECT list"));
            }
            if self.is_keyword(0, "AS") {
                return Err(self.error(Code::ParseUnsupportedAlias, "* takes no alias"));
            }
            return Ok(None);
        }
        let mut items = Vec::new();
        loop {
            if self.is_symbol(Symbol::Star) {
                return Err(self.error(lone, "* must be alone in the SELECT list"));
            }
            items.push(self.item()?);
            if !self.take_symbol(Symbol::Comma) {
                return Ok(Some(items));
            }
        }
    }

    fn item(&mut self) -> Result<ProjectionItem> {
        let expr = self.select_expression()?;
        let alias = if self.take_keyword("AS") {
            let name = self.take_name();
            Some(name.ok_or_else(|| {
                self.error(Code::ParseExpectedIdentForAlias, "a name was expected after AS")
            })?)
        } else {
            self.take_name()
        };
        Ok(ProjectionItem { expr, alias })
    }

    /// Replaces `alias.*` by `*`, once the alias is parsed in FROM.
    fn projection(&self, items: Option<Vec<ProjectionItem>>, from: &From) -> Result<Projection> {
        let Some(items) = items else { return Ok(Projection::Star) };
        let Some(star) = items.iter().position(|item| ends_in_wildcard(&item.expr)) else {
            return Ok(Projection::Items(items));
        };
        let steps = match &items[star].expr {
            Expr::Path(steps) => &steps[..],
            _ => &[],
        };
        let (code, what) = match steps {
            [PathStep::Field(name), PathStep::AnyField] if from.is_row_name(name) => {
                if items.len() == 1 && items[star].alias.is_none() {
                    return Ok(Projection::Star);
                }
                let code = Code::ParseAsteriskIsNotAloneInSelectList;
                (code, "* must be alone in the SELECT list")
            }
            [_, PathStep::AnyField] => {
                (Code::InvalidTableAlias, "the name before .* is not the row's")
            }
            _ => {
                let code = Code::ParseInvalidContextForWildcardInSelectList;
                (code, "a wildcard cannot go into a value here")
            }
        };
        Err(self.error(code, what))
    }

    fn source(&mut self) -> Result<From> {
        match self.peek() {
            Kind::Word(word) if word.eq_ignore_ascii_case("S3Object") => self.advance(),
            Kind::Symbol(Symbol::LeftParen) => {
                return Err(self.error(Code::ParseUnsupportedSelect, "FROM takes no subquery"));
            }
            Kind::End => {
                return Err(self.error(Code::ParseExpectedTokenType, "S3Object was expected"));
            }
            _ => return Err(self.error(Code::InvalidDataSource, "FROM takes only S3Object")),
        }
        let path = self.source_path()?;
        let alias = if self.take_keyword("AS") {
            let name = self.take_name();
            Some(name.ok_or_else(|| {
                self.error(Code::ParseExpectedIdentForAlias, "a name was expected after AS")
            })?)
        } else if FOREIGN_CLAUSES.iter().any(|word| self.is_keyword(0, word)) {
            None
        } else {
            self.take_name()
        };
        if self.is_symbol(Symbol::Comma) {
            let code = Code::MultipleDataSourcesUnsupported;
            return Err(self.error(code, "FROM takes one source"));
        }
        if JOINS.iter().any(|word| self.is_keyword(0, word)) {
            return Err(self.error(Code::ParseMalformedJoin, "JOIN is not supported"));
        }
        Ok(From { path, alias })
    }

    /// Parses the expressions after GROUP BY, if it comes next.
    fn group_by(&mut self) -> Result<Vec<Expr>> {
        let mut groups = Vec::new();
        if !self.take_keyword("GROUP") {
            return Ok(groups);
        }
        self.expect_keyword("BY")?;
        loop {
            groups.push(self.expression()?);
            if !self.take_symbol(Symbol::Comma) {
                return Ok(groups);
            }
        }
    }

    fn limit(&mut self) -> Result<u64> {
        if self.is_symbol(Symbol::Minus) {
            let code = Code::EvaluatorNegativeLimit;
            return Err(self.error(code, "LIMIT takes no negative number"));
        }
        let Kind::Number(digits) = self.peek() else {
            return Err(self.error(Code::ParseExpectedNumber, "LIMIT takes a number"));
        };
        let Ok(limit) = digits.parse() else {
            let what = "LIMIT takes a whole number of 64 bits";
            return Err(self.error(Code::ParseExpectedNumber, what));
        };
        self.advance();
        Ok(limit)
    }

    fn end(&mut self) -> Result<()> {
        self.take_symbol(Symbol::Semicolon);
        if *self.peek() == Kind::End {
            return Ok(());
        }
        if FOREIGN_CLAUSES.iter().any(|word| self.is_keyword(0, word)) {
            let code = Code::ParseUnsupportedSyntax;
            return Err(self.error(code, "only WHERE and LIMIT can follow"));
        }
        Err(self.unexpected())
    }
}

fn ends_in_wildcard(expr: &Expr) -> bool {
    matches!(expr, Expr::Path(steps) if steps.last() == Some(&PathStep::AnyField))
}
