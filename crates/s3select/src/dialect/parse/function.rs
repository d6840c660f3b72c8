//! Parses calls of functions, each in its own syntax.

use super::super::ast::{Aggregate, DatePart, Expr, Function, TrimSide, Type};
use super::super::keyword::is_reserved;
use super::super::lexer::{Kind, Symbol};
use super::Parser;
use super::expression::Tree;
use crate::error::{Result, SelectErrorCode as Code};
use crate::value::decimal::MAX_DIGITS;

/// The syntax of a function's arguments.
enum Syntax {
    /// `f(a, b, …)` with this many arguments.
    Plain(Function, std::ops::RangeInclusive<usize>),
    Aggregate(Aggregate),
    Cast,
    Substring,
    Trim,
    Extract,
    DateAdd,
    DateDiff,
}

fn syntax(name: &str) -> Option<Syntax> {
    use Syntax::Plain;
    Some(match name.to_ascii_uppercase().as_str() {
        "AVG" => Syntax::Aggregate(Aggregate::Avg),
        "COUNT" => Syntax::Aggregate(Aggregate::Count),
        "MAX" => Syntax::Aggregate(Aggregate::Max),
        "MIN" => Syntax::Aggregate(Aggregate::Min),
        "SUM" => Syntax::Aggregate(Aggregate::Sum),
        "CAST" => Syntax::Cast,
        "CHAR_LENGTH" | "CHARACTER_LENGTH" => Plain(Function::CharLength, 1..=1),
        "COALESCE" => Plain(Function::Coalesce, 1..=usize::MAX),
        "DATE_ADD" => Syntax::DateAdd,
        "DATE_DIFF" => Syntax::DateDiff,
        "EXTRACT" => Syntax::Extract,
        "LOWER" => Plain(Function::Lower, 1..=1),
        "NULLIF" => Plain(Function::NullIf, 2..=2),
        "SUBSTRING" => Syntax::Substring,
        "TO_STRING" => Plain(Function::ToString, 2..=2),
        "TO_TIMESTAMP" => Plain(Function::ToTimestamp, 1..=1),
        "TRIM" => Syntax::Trim,
        "UPPER" => Plain(Function::Upper, 1..=1),
        "UTCNOW" => Plain(Function::UtcNow, 0..=0),
        _ => return None,
    })
}

impl Parser<'_> {
    /// Parses a call, if the next word begins one.
    pub(super) fn call(&mut self, name: &str) -> Result<Option<Tree>> {
        let open = *self.ahead(1) == Kind::Symbol(Symbol::LeftParen);
        let bloom = self.extras.bloom && name.eq_ignore_ascii_case("BLOOM_CONTAINS");
        let syntax =
            if bloom { Some(Syntax::Plain(Function::BloomContains, 4..=4)) } else { syntax(name) };
        let syntax = match (syntax, open) {
            (Some(syntax), true) => syntax,
            (Some(Syntax::Cast), false) => {
                self.advance();
                let code = Code::ParseExpectedLeftParenAfterCast;
                return Err(self.error(code, "( was expected after CAST"));
            }
            (Some(_), false) if is_reserved(name) => {
                self.advance();
                let code = Code::ParseExpectedLeftParenBuiltinFunctionCall;
                let what = format!("( was expected after {name}; as a column it needs quotes");
                return Err(self.error(code, &what));
            }
            // A keyword before a parenthesis does not call a function.
            (None, true) if !is_keyword_of_expressions(name) => {
                let what = format!("{name} is not a function of this language");
                return Err(self.error(Code::UnsupportedFunction, &what));
            }
            _ => return Ok(None),
        };
        self.advance();
        self.advance();
        self.count_operator()?;
        let tree = match syntax {
            Syntax::Plain(function, arity) => {
                self.refuse_star()?;
                let (args, height) = self.arguments(Vec::new(), 0)?;
                self.check_arity(name, args.len(), arity)?;
                (Expr::Call { function, args }, height)
            }
            Syntax::Aggregate(function) => self.aggregate(function)?,
            Syntax::Cast => self.cast()?,
            Syntax::Substring => self.substring(name)?,
            Syntax::Trim => self.trim()?,
            Syntax::Extract => self.extract()?,
            Syntax::DateAdd => {
                let (part, args, height) = self.date_arguments(name)?;
                (Expr::Call { function: Function::DateAdd(part), args }, height)
            }
            Syntax::DateDiff => {
                let (part, args, height) = self.date_arguments(name)?;
                (Expr::Call { function: Function::DateDiff(part), args }, height)
            }
        };
        self.grown(tree.0, tree.1).map(Some)
    }

    fn refuse_star(&self) -> Result<()> {
        if self.is_symbol(Symbol::Star) {
            let code = Code::ParseUnsupportedCallWithStar;
            return Err(self.error(code, "only COUNT takes *"));
        }
        Ok(())
    }

    fn check_arity(
        &self,
        name: &str,
        count: usize,
        arity: std::ops::RangeInclusive<usize>,
    ) -> Result<()> {
        if arity.contains(&count) {
            return Ok(());
        }
        let what = format!("{name} does not take {count} arguments");
        Err(self.error(Code::EvaluatorInvalidArguments, &what))
    }

    /// Parses the rest of a comma-separated list of arguments and the closing parenthesis.
    fn arguments(&mut self, mut args: Vec<Expr>, mut height: usize) -> Result<(Vec<Expr>, usize)> {
        if self.take_symbol(Symbol::RightParen) {
            return Ok((args, height));
        }
        loop {
            let arg = self.argument()?;
            height = height.max(arg.height);
            args.push(arg.expr);
            if !self.take_symbol(Symbol::Comma) {
                break;
            }
        }
        self.close_call()?;
        Ok((args, height))
    }

    fn close_call(&mut self) -> Result<()> {
        if self.take_symbol(Symbol::RightParen) {
            return Ok(());
        }
        Err(match self.peek() {
            Kind::String(_) | Kind::Number(_) | Kind::QuotedName(_) => {
                self.error(Code::ParseExpectedArgumentDelimiter, "a comma was expected")
            }
            _ => {
                let code = Code::ParseExpectedRightParenBuiltinFunctionCall;
                self.error(code, ") was expected at the end of a call")
            }
        })
    }

    fn aggregate(&mut self, function: Aggregate) -> Result<(Expr, usize)> {
        if function == Aggregate::Count && self.take_symbol(Symbol::Star) {
            self.close_call()?;
            return Ok((Expr::Aggregate { function, arg: None }, 0));
        }
        self.refuse_star()?;
        if self.is_keyword(0, "DISTINCT") || self.is_keyword(0, "ALL") {
            let what = "aggregates take no DISTINCT or ALL";
            return Err(self.error(Code::ParseUnsupportedSyntax, what));
        }
        let code = Code::ParseNonUnaryAgregateFunctionCall;
        if self.is_symbol(Symbol::RightParen) {
            return Err(self.error(code, "an aggregate needs an argument"));
        }
        let arg = self.argument()?;
        if self.is_symbol(Symbol::Comma) {
            return Err(self.error(code, "an aggregate takes one argument"));
        }
        self.close_call()?;
        Ok((Expr::Aggregate { function, arg: Some(Box::new(arg.expr)) }, arg.height))
    }

    fn cast(&mut self) -> Result<(Expr, usize)> {
        self.refuse_star()?;
        if self.is_symbol(Symbol::RightParen) {
            return Err(self.error(Code::ParseCastArity, "CAST needs a value and a type"));
        }
        let arg = self.argument()?;
        if matches!(self.peek(), Kind::Symbol(Symbol::Comma | Symbol::RightParen)) {
            return Err(self.error(Code::ParseCastArity, "CAST has the form CAST(value AS type)"));
        }
        self.expect_keyword("AS")?;
        let to = self.type_name()?;
        if self.is_symbol(Symbol::Comma) {
            return Err(self.error(Code::ParseCastArity, "CAST has the form CAST(value AS type)"));
        }
        self.close_call()?;
        Ok((Expr::Cast { expr: Box::new(arg.expr), to }, arg.height))
    }

    fn type_name(&mut self) -> Result<Type> {
        let name = match self.peek() {
            Kind::Word(word) => word.to_ascii_uppercase(),
            _ => String::new(),
        };
        let to = match name.as_str() {
            "BOOL" | "BOOLEAN" => Type::Bool,
            "INT" | "INTEGER" => Type::Int,
            "FLOAT" => Type::Float,
            "DECIMAL" | "NUMERIC" => Type::Decimal(None),
            "STRING" => Type::String,
            "TIMESTAMP" => Type::Timestamp,
            _ => return Err(self.error(Code::ParseExpectedTypeName, "a type was expected")),
        };
        self.advance();
        if !self.take_symbol(Symbol::LeftParen) {
            return Ok(to);
        }
        let invalid = Code::ParseInvalidTypeParam;
        if !matches!(to, Type::Decimal(_)) {
            return Err(self.error(invalid, "only DECIMAL and NUMERIC take parameters"));
        }
        let precision = self.type_parameter(1..=MAX_DIGITS as u8)?;
        let scale =
            if self.take_symbol(Symbol::Comma) { self.type_parameter(0..=precision)? } else { 0 };
        if !self.take_symbol(Symbol::RightParen) {
            return Err(self.error(invalid, "a type takes a precision and a scale"));
        }
        Ok(Type::Decimal(Some((precision, scale as i8))))
    }

    fn type_parameter(&mut self, range: std::ops::RangeInclusive<u8>) -> Result<u8> {
        let Kind::Number(digits) = self.peek() else {
            return Err(self.error(Code::ParseExpectedNumber, "a number was expected"));
        };
        let Some(number) = digits.parse().ok().filter(|number| range.contains(number)) else {
            let what = format!("a number from {} to {} was expected", range.start(), range.end());
            return Err(self.error(Code::ParseInvalidTypeParam, &what));
        };
        self.advance();
        Ok(number)
    }

    fn substring(&mut self, name: &str) -> Result<(Expr, usize)> {
        self.refuse_star()?;
        if self.is_symbol(Symbol::RightParen) {
            self.check_arity(name, 0, 2..=3)?;
        }
        let text = self.argument()?;
        let (args, height) = if self.take_keyword("FROM") {
            let start = self.argument()?;
            let mut height = text.height.max(start.height);
            let mut args = vec![text.expr, start.expr];
            if self.take_keyword("FOR") {
                let length = self.argument()?;
                height = height.max(length.height);
                args.push(length.expr);
            }
            self.close_call()?;
            (args, height)
        } else if self.take_symbol(Symbol::Comma) {
            if self.is_symbol(Symbol::RightParen) {
                return Err(self.error(Code::ParseExpectedExpression, "a value was expected"));
            }
            self.arguments(vec![text.expr], text.height)?
        } else if self.is_symbol(Symbol::RightParen) {
            (vec![text.expr], text.height)
        } else {
            let code = Code::ParseExpected2TokenTypes;
            return Err(self.error(code, "FROM or a comma was expected"));
        };
        self.check_arity(name, args.len(), 2..=3)?;
        Ok((Expr::Call { function: Function::Substring, args }, height))
    }

    fn trim(&mut self) -> Result<(Expr, usize)> {
        self.refuse_star()?;
        let sides = [
            ("BOTH", TrimSide::Both),
            ("LEADING", TrimSide::Leading),
            ("TRAILING", TrimSide::Trailing),
        ];
        let side = sides.into_iter().find(|(word, _)| self.take_keyword(word)).map(|(_, s)| s);
        let function = Function::Trim(side.unwrap_or(TrimSide::Both));
        if self.take_keyword("FROM") {
            let text = self.argument()?;
            self.close_call()?;
            return Ok((Expr::Call { function, args: vec![text.expr] }, text.height));
        }
        if self.is_symbol(Symbol::RightParen) {
            self.check_arity("TRIM", 0, 1..=1)?;
        }
        let first = self.argument()?;
        if !self.take_keyword("FROM") {
            if side.is_some() {
                let code = Code::ParseExpectedKeyword;
                return Err(self.error(code, "FROM was expected after what TRIM cuts off"));
            }
            if self.is_symbol(Symbol::Comma) {
                self.check_arity("TRIM", 2, 1..=1)?;
            }
            self.close_call()?;
            return Ok((Expr::Call { function, args: vec![first.expr] }, first.height));
        }
        let text = self.argument()?;
        self.close_call()?;
        let height = first.height.max(text.height);
        Ok((Expr::Call { function, args: vec![text.expr, first.expr] }, height))
    }

    fn extract(&mut self) -> Result<(Expr, usize)> {
        let part = self.date_part(true)?;
        self.expect_keyword("FROM")?;
        let arg = self.argument()?;
        self.close_call()?;
        Ok((Expr::Call { function: Function::Extract(part), args: vec![arg.expr] }, arg.height))
    }

    fn date_arguments(&mut self, name: &str) -> Result<(DatePart, Vec<Expr>, usize)> {
        let part = self.date_part(false)?;
        if !self.take_symbol(Symbol::Comma) {
            let code = Code::ParseExpectedArgumentDelimiter;
            return Err(self.error(code, "a comma was expected after the date part"));
        }
        let (args, height) = self.arguments(Vec::new(), 0)?;
        self.check_arity(name, args.len() + 1, 3..=3)?;
        Ok((part, args, height))
    }

    fn date_part(&mut self, of_offset: bool) -> Result<DatePart> {
        let name = match self.peek() {
            Kind::Word(word) => word.to_ascii_uppercase(),
            _ => String::new(),
        };
        let part = match name.as_str() {
            "YEAR" => DatePart::Year,
            "MONTH" => DatePart::Month,
            "DAY" => DatePart::Day,
            "HOUR" => DatePart::Hour,
            "MINUTE" => DatePart::Minute,
            "SECOND" => DatePart::Second,
            "TIMEZONE_HOUR" if of_offset => DatePart::TimezoneHour,
            "TIMEZONE_MINUTE" if of_offset => DatePart::TimezoneMinute,
            _ => return Err(self.error(Code::ParseExpectedDatePart, "a date part was expected")),
        };
        self.advance();
        Ok(part)
    }
}

/// Returns true for words that can precede a parenthesis without calling a function.
fn is_keyword_of_expressions(word: &str) -> bool {
    const WORDS: [&str; 11] =
        ["AND", "OR", "NOT", "IN", "FROM", "WHERE", "SELECT", "LIMIT", "AS", "ON", "EXISTS"];
    WORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}
