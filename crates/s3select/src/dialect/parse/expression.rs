//! Parses operators by precedence climbing.

use super::super::ast::{BinaryOp, Expr, Function, IsTest, Literal, Name, PathStep, UnaryOp};
use super::super::keyword::is_reserved;
use super::super::lexer::{Kind, Symbol};
use super::{MAX_DEPTH, Parser};
use crate::error::{Result, SelectErrorCode as Code};
use crate::value::{Decimal, Timestamp};

/// The precedence of an operator. The operands of a level are of the next one.
type Level = u8;
const OR: Level = 1;
const AND: Level = 2;
const NOT: Level = 3;
const EQUALITY: Level = 4;
const ORDER: Level = 5;
const LIKE: Level = 6;
const BETWEEN: Level = 7;
const IN: Level = 8;
const SUM: Level = 9;
const PRODUCT: Level = 10;

/// The length of the longest chain of ANDs or ORs that becomes a left-leaning tree; longer ones are balanced.
const LONGEST_CHAIN: usize = 32;

/// A tree and the number of its levels.
pub(super) struct Tree {
    pub(super) expr: Expr,
    pub(super) height: usize,
}

impl Tree {
    pub(super) fn leaf(expr: Expr) -> Self {
        Self { expr, height: 1 }
    }
}

enum Infix {
    Binary(BinaryOp),
    In,
    Between,
    Like,
    Is,
}

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Result<Expr> {
        Ok(self.tree(OR)?.expr)
    }

    /// Parses an item of the SELECT list, which may also be `name.*`.
    pub(super) fn select_expression(&mut self) -> Result<Expr> {
        let start = self.next;
        if let Some(name) = self.take_path_start() {
            let steps = self.column_path(name, true)?;
            if steps.last() == Some(&PathStep::AnyField) {
                return Ok(Expr::Path(steps));
            }
            self.next = start;
        }
        self.expression()
    }

    /// Parses a complete expression: between parentheses, or as an argument.
    pub(super) fn argument(&mut self) -> Result<Tree> {
        self.tree(OR)
    }

    fn tree(&mut self, min: Level) -> Result<Tree> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.too_deep());
        }
        let mut left = self.prefix()?;
        while let Some((infix, level, negated)) = self.infix() {
            if level < min {
                break;
            }
            if let Infix::Binary(op @ (BinaryOp::And | BinaryOp::Or)) = infix {
                left = self.chain(left, op, level)?;
                continue;
            }
            self.advance();
            if negated {
                self.advance();
            }
            self.count_operator()?;
            left = self.right_side(left, &infix, level, negated)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// The next operator, its level, and whether NOT precedes it.
    fn infix(&self) -> Option<(Infix, Level, bool)> {
        let op = match self.peek() {
            Kind::Symbol(symbol) => match symbol {
                Symbol::Eq => (BinaryOp::Eq, EQUALITY),
                Symbol::NotEq => (BinaryOp::NotEq, EQUALITY),
                Symbol::Lt => (BinaryOp::Lt, ORDER),
                Symbol::LtEq => (BinaryOp::LtEq, ORDER),
                Symbol::Gt => (BinaryOp::Gt, ORDER),
                Symbol::GtEq => (BinaryOp::GtEq, ORDER),
                Symbol::Plus => (BinaryOp::Add, SUM),
                Symbol::Minus => (BinaryOp::Subtract, SUM),
                Symbol::Star => (BinaryOp::Multiply, PRODUCT),
                Symbol::Slash => (BinaryOp::Divide, PRODUCT),
                Symbol::Percent => (BinaryOp::Modulo, PRODUCT),
                _ => return None,
            },
            Kind::Word(_) if self.is_keyword(0, "AND") => (BinaryOp::And, AND),
            Kind::Word(_) if self.is_keyword(0, "OR") => (BinaryOp::Or, OR),
            Kind::Word(_) if self.is_keyword(0, "IS") => return Some((Infix::Is, IN, false)),
            Kind::Word(_) => {
                let negated = self.is_keyword(0, "NOT");
                let at = usize::from(negated);
                return if self.is_keyword(at, "IN") {
                    Some((Infix::In, IN, negated))
                } else if self.is_keyword(at, "BETWEEN") {
                    Some((Infix::Between, BETWEEN, negated))
                } else if self.is_keyword(at, "LIKE") {
                    Some((Infix::Like, LIKE, negated))
                } else {
                    None
                };
            }
            _ => return None,
        };
        Some((Infix::Binary(op.0), op.1, false))
    }

    /// Parses the right side of an operator and combines it with the left side.
    fn right_side(
        &mut self,
        left: Tree,
        infix: &Infix,
        level: Level,
        negated: bool,
    ) -> Result<Tree> {
        let mut height = left.height;
        let expr = Box::new(left.expr);
        let expr = match infix {
            Infix::Binary(op) => {
                // `=` groups from the right, everything else from the left.
                let min = if level == EQUALITY { level } else { level + 1 };
                let right = self.boxed(min, &mut height)?;
                Expr::Binary { left: expr, op: *op, right }
            }
            Infix::In => {
                if !self.take_symbol(Symbol::LeftParen) {
                    let code = Code::ParseExpectedLeftParenValueConstructor;
                    return Err(self.error(code, "( was expected after IN"));
                }
                let mut list = Vec::new();
                loop {
                    let item = self.argument()?;
                    height = height.max(item.height);
                    list.push(item.expr);
                    if !self.take_symbol(Symbol::Comma) {
                        break;
                    }
                }
                self.close_paren()?;
                Expr::In { expr, list, negated }
            }
            Infix::Between => {
                let low = self.boxed(SUM, &mut height)?;
                self.expect_keyword("AND")?;
                let high = self.boxed(SUM, &mut height)?;
                Expr::Between { expr, low, high, negated }
            }
            Infix::Like => {
                let pattern = self.boxed(SUM, &mut height)?;
                let escape = if self.take_keyword("ESCAPE") {
                    Some(self.boxed(SUM, &mut height)?)
                } else {
                    None
                };
                Expr::Like { expr, pattern, escape, negated }
            }
            Infix::Is => {
                let negated = self.take_keyword("NOT");
                let test = if self.take_keyword("NULL") {
                    IsTest::Null
                } else if self.take_keyword("MISSING") {
                    IsTest::Missing
                } else {
                    let code = Code::ParseExpected2TokenTypes;
                    return Err(self.error(code, "NULL or MISSING was expected after IS"));
                };
                Expr::Is { expr, test, negated }
            }
        };
        self.grown(expr, height)
    }

    fn boxed(&mut self, min: Level, height: &mut usize) -> Result<Box<Expr>> {
        let tree = self.tree(min)?;
        *height = tree.height.max(*height);
        Ok(Box::new(tree.expr))
    }

    /// Adds a level on top of `height`.
    pub(super) fn grown(&self, expr: Expr, height: usize) -> Result<Tree> {
        // A tree that is too high is dropped here, so it may be one level higher than the limit.
        if height >= MAX_DEPTH {
            return Err(self.too_deep());
        }
        Ok(Tree { expr, height: height + 1 })
    }

    /// Parses `first op … op …` for AND or OR.
    fn chain(&mut self, first: Tree, op: BinaryOp, level: Level) -> Result<Tree> {
        let keyword = if op == BinaryOp::And { "AND" } else { "OR" };
        let mut height = first.height;
        let mut terms = vec![first.expr];
        while self.take_keyword(keyword) {
            self.count_operator()?;
            let term = self.tree(level + 1)?;
            height = height.max(term.height);
            terms.push(term.expr);
        }
        let levels = if terms.len() <= LONGEST_CHAIN {
            terms.len() - 1
        } else {
            terms.len().ilog2() as usize + 1
        };
        if height + levels > MAX_DEPTH {
            return Err(self.too_deep());
        }
        let expr = if terms.len() <= LONGEST_CHAIN {
            Expr::leaning(op, terms)
        } else {
            Expr::balanced(op, terms)
        };
        // There is at least one term.
        let expr = expr.ok_or_else(|| self.unexpected())?;
        Ok(Tree { expr, height: height + levels })
    }

    fn prefix(&mut self) -> Result<Tree> {
        let op = if self.is_keyword(0, "NOT") {
            UnaryOp::Not
        } else if self.is_symbol(Symbol::Minus) {
            UnaryOp::Negate
        } else if self.is_symbol(Symbol::Plus) {
            UnaryOp::Plus
        } else {
            return self.primary();
        };
        self.advance();
        if op == UnaryOp::Negate
            && let Kind::Number(digits) = *self.peek()
        {
            let literal = self.number(&format!("-{digits}"))?;
            self.advance();
            return Ok(Tree::leaf(Expr::Literal(literal)));
        }
        self.count_operator()?;
        let operand = match op {
            UnaryOp::Not => self.tree(NOT)?,
            UnaryOp::Negate | UnaryOp::Plus => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(self.too_deep());
                }
                let operand = self.prefix()?;
                self.depth -= 1;
                operand
            }
        };
        let expr = Box::new(operand.expr);
        self.grown(Expr::Unary { op, expr }, operand.height)
    }

    fn primary(&mut self) -> Result<Tree> {
        let literal = match self.peek() {
            Kind::Number(digits) => self.number(digits)?,
            Kind::String(text) => Literal::String(text.clone().into_owned()),
            Kind::Ion(text) => {
                if Timestamp::parse_literal(text.as_bytes()).is_none() {
                    let what = "only timestamps can stand in backticks";
                    return Err(self.error(Code::LexerInvalidIONLiteral, what));
                }
                Literal::Timestamp((*text).to_owned())
            }
            Kind::Word(_) if self.is_keyword(0, "NULL") => Literal::Null,
            Kind::Word(_) if self.is_keyword(0, "MISSING") => Literal::Missing,
            Kind::Word(_) if self.is_keyword(0, "TRUE") => Literal::Bool(true),
            Kind::Word(_) if self.is_keyword(0, "FALSE") => Literal::Bool(false),
            Kind::Word(_) if self.is_keyword(0, "CASE") => return self.case(),
            Kind::Word(word) => {
                let word = *word;
                if let Some(tree) = self.call(word)? {
                    return Ok(tree);
                }
                return self.path();
            }
            Kind::QuotedName(_) => return self.path(),
            Kind::Symbol(Symbol::LeftParen) => return self.parenthesised(),
            Kind::Symbol(Symbol::LeftBracket) => return self.list(),
            Kind::End
            | Kind::Symbol(
                Symbol::Comma | Symbol::RightParen | Symbol::RightBracket | Symbol::Semicolon,
            ) => {
                return Err(self.error(Code::ParseExpectedExpression, "a value was expected"));
            }
            Kind::Symbol(_) => return Err(self.unexpected()),
        };
        self.advance();
        Ok(Tree::leaf(Expr::Literal(literal)))
    }

    /// Parses a list `[a, b, …]`.
    fn list(&mut self) -> Result<Tree> {
        self.advance();
        self.count_operator()?;
        let (mut args, mut height) = (Vec::new(), 0);
        if !self.take_symbol(Symbol::RightBracket) {
            loop {
                let element = self.argument()?;
                height = height.max(element.height);
                args.push(element.expr);
                if !self.take_symbol(Symbol::Comma) {
                    break;
                }
            }
            if !self.take_symbol(Symbol::RightBracket) {
                return Err(self.error(Code::ParseExpectedTokenType, "] was expected"));
            }
        }
        self.grown(Expr::Call { function: Function::List, args }, height)
    }

    fn parenthesised(&mut self) -> Result<Tree> {
        self.advance();
        if self.is_keyword(0, "SELECT") {
            return Err(self.error(Code::ParseUnsupportedSelect, "subqueries are not supported"));
        }
        let tree = self.argument()?;
        if self.is_symbol(Symbol::Comma) {
            let what = "a list can stand only after IN";
            return Err(self.error(Code::ParseUnsupportedSyntax, what));
        }
        self.close_paren()?;
        Ok(tree)
    }

    fn close_paren(&mut self) -> Result<()> {
        if self.take_symbol(Symbol::RightParen) {
            return Ok(());
        }
        Err(self.error(Code::ParseExpectedTokenType, ") was expected"))
    }

    fn path(&mut self) -> Result<Tree> {
        let Some(name) = self.take_path_start() else { return Err(self.unexpected()) };
        Ok(Tree::leaf(Expr::Path(self.column_path(name, false)?)))
    }

    fn take_path_start(&mut self) -> Option<Name> {
        let name = match self.peek() {
            Kind::QuotedName(name) => Name { text: name.clone().into_owned(), quoted: true },
            Kind::Word(word) if !is_reserved(word) => {
                if *self.ahead(1) == Kind::Symbol(Symbol::LeftParen) {
                    return None;
                }
                Name { text: (*word).to_owned(), quoted: false }
            }
            _ => return None,
        };
        self.advance();
        Some(name)
    }

    /// Parses a number with its sign: with an exponent it is a float, with a point or beyond 64 bits a decimal.
    fn number(&self, text: &str) -> Result<Literal> {
        let parsed = if text.contains(['e', 'E']) {
            text.parse().ok().filter(|float: &f64| float.is_finite()).map(Literal::Float)
        } else if let Ok(int) = text.parse() {
            Some(Literal::Int(int))
        } else {
            Decimal::parse(text.as_bytes())
                .map(|d| Literal::Decimal { unscaled: d.unscaled(), scale: d.scale() })
        };
        parsed.ok_or_else(|| self.error(Code::NumberFormatError, "a number has too many digits"))
    }

    fn case(&mut self) -> Result<Tree> {
        self.advance();
        self.count_operator()?;
        let mut height = 0;
        let operand = if ["WHEN", "ELSE", "END"].iter().any(|word| self.is_keyword(0, word)) {
            None
        } else {
            Some(self.boxed(OR, &mut height)?)
        };
        let mut branches = Vec::new();
        while self.take_keyword("WHEN") {
            let when = self.argument()?;
            self.expect_keyword("THEN")?;
            let then = self.argument()?;
            height = height.max(when.height).max(then.height);
            branches.push((when.expr, then.expr));
        }
        if branches.is_empty() {
            return Err(self.error(Code::ParseExpectedWhenClause, "WHEN was expected"));
        }
        let otherwise =
            if self.take_keyword("ELSE") { Some(self.boxed(OR, &mut height)?) } else { None };
        if self.is_keyword(0, "WHEN") || self.is_keyword(0, "ELSE") {
            let what = "nothing can follow the ELSE of a CASE but END";
            return Err(self.error(Code::ParseUnsupportedCaseClause, what));
        }
        self.expect_keyword("END")?;
        self.grown(Expr::Case { operand, branches, otherwise }, height)
    }
}
