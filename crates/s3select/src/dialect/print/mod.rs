//! Prints statements in their canonical text: one line, parentheses around every nested operator, no semicolon.
//!
//! Parsing the text gives the same tree, with one exception: a left-leaning chain of more than 32 ANDs or ORs becomes
//! a balanced tree.

use std::fmt::{self, Display, Formatter, Write};

use super::ast::{
    Aggregate, BinaryOp, DatePart, Expr, From, Function, IsTest, Literal, Name, PathStep,
    Projection, Query, TrimSide, Type, UnaryOp,
};
use super::keyword::{is_reserved, is_word};
use crate::value::Decimal;

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("SELECT ")?;
        match &self.projection {
            Projection::Star => f.write_char('*')?,
            Projection::Items(items) => {
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    item.expr.fmt(f)?;
                    if let Some(alias) = &item.alias {
                        f.write_str(" AS ")?;
                        write_alias(f, alias)?;
                    }
                }
            }
        }
        write!(f, " FROM {}", self.from)?;
        if let Some(filter) = &self.filter {
            write!(f, " WHERE {filter}")?;
        }
        if !self.group_by.is_empty() {
            f.write_str(" GROUP BY ")?;
            write_list(f, &self.group_by)?;
        }
        if let Some(limit) = self.limit {
            write!(f, " LIMIT {limit}")?;
        }
        Ok(())
    }
}

impl Display for From {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("S3Object")?;
        write_steps(f, &self.path)?;
        if let Some(alias) = &self.alias {
            f.write_char(' ')?;
            write_alias(f, alias)?;
        }
        Ok(())
    }
}

impl Display for Expr {
    /// Writes the expression without parentheses around it.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(literal) => literal.fmt(f),
            Self::Path(steps) => write_path(f, steps),
            Self::Unary { op, expr } => match op {
                UnaryOp::Not => write!(f, "NOT {}", Operand(expr)),
                // A number after a minus would be read as one literal.
                UnaryOp::Negate if is_number(expr) => write!(f, "-({expr})"),
                UnaryOp::Negate => write!(f, "-{}", Operand(expr)),
                UnaryOp::Plus => write!(f, "+{}", Operand(expr)),
            },
            Self::Binary { .. } => write_binary(f, self),
            Self::Between { expr, low, high, negated } => {
                let not = not(*negated);
                let (expr, low, high) = (Operand(expr), Operand(low), Operand(high));
                write!(f, "{expr} {not}BETWEEN {low} AND {high}")
            }
            Self::Like { expr, pattern, escape, negated } => {
                write!(f, "{} {}LIKE {}", Operand(expr), not(*negated), Operand(pattern))?;
                match escape {
                    Some(escape) => write!(f, " ESCAPE {}", Operand(escape)),
                    None => Ok(()),
                }
            }
            Self::In { expr, list, negated } => {
                write!(f, "{} {}IN (", Operand(expr), not(*negated))?;
                write_list(f, list)?;
                f.write_char(')')
            }
            Self::Is { expr, test, negated } => {
                let test = match test {
                    IsTest::Null => "NULL",
                    IsTest::Missing => "MISSING",
                };
                write!(f, "{} IS {}{test}", Operand(expr), not(*negated))
            }
            Self::Case { operand, branches, otherwise } => {
                f.write_str("CASE")?;
                if let Some(operand) = operand {
                    write!(f, " {operand}")?;
                }
                for (when, then) in branches {
                    write!(f, " WHEN {when} THEN {then}")?;
                }
                if let Some(otherwise) = otherwise {
                    write!(f, " ELSE {otherwise}")?;
                }
                f.write_str(" END")
            }
            Self::Cast { expr, to } => write!(f, "CAST({expr} AS {to})"),
            Self::Call { function, args } => write_call(f, *function, args),
            Self::Aggregate { function, arg } => match arg {
                Some(arg) => write!(f, "{function}({arg})"),
                None => write!(f, "{function}(*)"),
            },
        }
    }
}

/// An expression as the operand of an operator: in parentheses if it has an operator itself.
struct Operand<'a>(&'a Expr);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Expr::Literal(_)
            | Expr::Path(_)
            | Expr::Case { .. }
            | Expr::Cast { .. }
            | Expr::Call { .. }
            | Expr::Aggregate { .. } => self.0.fmt(f),
            _ => write!(f, "({})", self.0),
        }
    }
}

/// Writes left-leaning chains of AND and of OR without parentheses and without recursion, because they can be long.
fn write_binary(f: &mut Formatter<'_>, expr: &Expr) -> fmt::Result {
    let Expr::Binary { left, op, right } = expr else { return expr.fmt(f) };
    let mut terms = vec![&**right];
    let mut first = &**left;
    if matches!(op, BinaryOp::And | BinaryOp::Or) {
        while let Expr::Binary { left, op: inner, right } = first {
            if inner != op {
                break;
            }
            terms.push(right);
            first = left;
        }
    }
    Operand(first).fmt(f)?;
    for term in terms.into_iter().rev() {
        write!(f, " {op} {}", Operand(term))?;
    }
    Ok(())
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

fn is_number(expr: &Expr) -> bool {
    use Literal::{Decimal, Float, Int};
    matches!(expr, Expr::Literal(Int(_) | Float(_) | Decimal { .. }))
}

fn write_list(f: &mut Formatter<'_>, list: &[Expr]) -> fmt::Result {
    for (i, item) in list.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        item.fmt(f)?;
    }
    Ok(())
}

fn write_call(f: &mut Formatter<'_>, function: Function, args: &[Expr]) -> fmt::Result {
    let name = match function {
        Function::Coalesce => "COALESCE",
        Function::NullIf => "NULLIF",
        Function::CharLength => "CHAR_LENGTH",
        Function::Lower => "LOWER",
        Function::Upper => "UPPER",
        Function::Substring => "SUBSTRING",
        Function::ToString => "TO_STRING",
        Function::ToTimestamp => "TO_TIMESTAMP",
        Function::UtcNow => "UTCNOW",
        Function::BloomContains => "BLOOM_CONTAINS",
        Function::List => {
            f.write_char('[')?;
            write_list(f, args)?;
            return f.write_char(']');
        }
        Function::Trim(side) => return write_trim(f, side, args),
        Function::DateAdd(part) => {
            write!(f, "DATE_ADD({part}, ")?;
            write_list(f, args)?;
            return f.write_char(')');
        }
        Function::DateDiff(part) => {
            write!(f, "DATE_DIFF({part}, ")?;
            write_list(f, args)?;
            return f.write_char(')');
        }
        Function::Extract(part) => {
            write!(f, "EXTRACT({part} FROM ")?;
            write_list(f, args)?;
            return f.write_char(')');
        }
    };
    write!(f, "{name}(")?;
    write_list(f, args)?;
    f.write_char(')')
}

fn write_trim(f: &mut Formatter<'_>, side: TrimSide, args: &[Expr]) -> fmt::Result {
    let word = match side {
        TrimSide::Both => "BOTH",
        TrimSide::Leading => "LEADING",
        TrimSide::Trailing => "TRAILING",
    };
    match args {
        [text] if side == TrimSide::Both => write!(f, "TRIM({text})"),
        [text] => write!(f, "TRIM({word} FROM {text})"),
        [text, set, ..] => write!(f, "TRIM({word} {set} FROM {text})"),
        [] => f.write_str("TRIM()"),
    }
}

fn write_path(f: &mut Formatter<'_>, steps: &[PathStep]) -> fmt::Result {
    let Some((PathStep::Field(first), rest)) = steps.split_first() else {
        return write_steps(f, steps);
    };
    write_name(f, first)?;
    write_steps(f, rest)
}

fn write_steps(f: &mut Formatter<'_>, steps: &[PathStep]) -> fmt::Result {
    for step in steps {
        match step {
            PathStep::Field(name) => {
                f.write_char('.')?;
                write_name(f, name)?;
            }
            PathStep::Index(index) => write!(f, "[{index}]")?,
            PathStep::AnyIndex => f.write_str("[*]")?,
            PathStep::AnyField => f.write_str(".*")?,
        }
    }
    Ok(())
}

fn write_name(f: &mut Formatter<'_>, name: &Name) -> fmt::Result {
    if name.quoted { write_quoted(f, &name.text, '"') } else { write_alias(f, &name.text) }
}

/// Writes a name whose case does not matter: without quotes, if that is possible.
fn write_alias(f: &mut Formatter<'_>, name: &str) -> fmt::Result {
    if is_word(name) && !is_reserved(name) { f.write_str(name) } else { write_quoted(f, name, '"') }
}

fn write_quoted(f: &mut Formatter<'_>, text: &str, quote: char) -> fmt::Result {
    f.write_char(quote)?;
    for (i, part) in text.split(quote).enumerate() {
        if i > 0 {
            f.write_char(quote)?;
            f.write_char(quote)?;
        }
        f.write_str(part)?;
    }
    f.write_char(quote)
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Missing => f.write_str("MISSING"),
            Self::Bool(true) => f.write_str("TRUE"),
            Self::Bool(false) => f.write_str("FALSE"),
            Self::Int(int) => int.fmt(f),
            Self::Decimal { unscaled, scale } => match Decimal::new(*unscaled, *scale) {
                // The point distinguishes the decimal from an integer.
                Some(decimal) if *scale <= 0 => write!(f, "{decimal}."),
                Some(decimal) => decimal.fmt(f),
                None => write!(f, "CAST('{unscaled}e{}' AS DECIMAL)", -i32::from(*scale)),
            },
            Self::Float(float) if float.is_finite() => write!(f, "{float:e}"),
            Self::Float(float) => write!(f, "CAST('{float:?}' AS FLOAT)"),
            Self::String(text) => write_quoted(f, text, '\''),
            Self::Timestamp(text) => write!(f, "`{text}`"),
        }
    }
}

impl Display for BinaryOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::And => "AND",
            Self::Or => "OR",
            Self::Eq => "=",
            // Some stores parse `<>` and then fail on it.
            Self::NotEq => "!=",
            Self::Lt => "<",
            Self::LtEq => "<=",
            Self::Gt => ">",
            Self::GtEq => ">=",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
        })
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("BOOL"),
            Self::Int => f.write_str("INT"),
            Self::Float => f.write_str("FLOAT"),
            Self::Decimal(None) => f.write_str("DECIMAL"),
            Self::Decimal(Some((precision, scale))) => write!(f, "DECIMAL({precision}, {scale})"),
            Self::String => f.write_str("STRING"),
            Self::Timestamp => f.write_str("TIMESTAMP"),
        }
    }
}

impl Display for Aggregate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Avg => "AVG",
            Self::Count => "COUNT",
            Self::Max => "MAX",
            Self::Min => "MIN",
            Self::Sum => "SUM",
        })
    }
}

impl Display for DatePart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Year => "YEAR",
            Self::Month => "MONTH",
            Self::Day => "DAY",
            Self::Hour => "HOUR",
            Self::Minute => "MINUTE",
            Self::Second => "SECOND",
            Self::TimezoneHour => "TIMEZONE_HOUR",
            Self::TimezoneMinute => "TIMEZONE_MINUTE",
        })
    }
}

#[cfg(test)]
mod tests;
