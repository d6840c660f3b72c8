//! Statements as data: the client builds them, the printer writes them, the parser reads them, and the evaluator runs
//! them.

/// A statement: `SELECT projection FROM S3Object… [alias] [WHERE filter] [GROUP BY groups] [LIMIT limit]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The values that each row of the answer has.
    pub projection: Projection,
    /// The source of the rows.
    pub from: From,
    /// The condition: a row is kept if it is TRUE.
    pub filter: Option<Expr>,
    /// The values that the rows of a group share; empty without GROUP BY. GROUP BY is an extension of this project
    /// ([`Extension::PartialGroups`](crate::capabilities::Extension::PartialGroups)).
    pub group_by: Vec<Expr>,
    /// The largest number of rows to return.
    pub limit: Option<u64>,
}

/// The list of values after SELECT.
#[derive(Debug, Clone, PartialEq)]
pub enum Projection {
    /// `*`, all columns
    Star,
    /// Expressions with their aliases; never empty.
    Items(Vec<ProjectionItem>),
}

/// One item of the SELECT list.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectionItem {
    /// The value of the item.
    pub expr: Expr,
    /// The name after `AS`.
    pub alias: Option<String>,
}

/// The FROM clause: `S3Object`, for JSON followed by a path, with an optional alias.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct From {
    /// The path `[*].a.b` of `S3Object[*].a.b`. It is empty for plain `S3Object`; otherwise its first step is
    /// [`PathStep::AnyIndex`].
    pub path: Vec<PathStep>,
    /// The name of the row.
    pub alias: Option<String>,
}

/// A name with its case rule: quoted names match exactly, unquoted ones in any case.
///
/// An unquoted name is a word ([`super::keyword::is_word`]) that is not reserved. Any other text is printed in quotes
/// even if `quoted` is false, and is then parsed as a quoted name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name {
    /// The text of the name, without quotes.
    pub text: String,
    /// True if the name was written in double quotes.
    pub quoted: bool,
}

/// One step of a path into a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// `.name` or `['name']`; the latter counts as quoted
    Field(Name),
    /// `[index]`, counted from 0
    Index(u64),
    /// `[*]`, all elements
    AnyIndex,
    /// `.*`, all fields
    AnyField,
}

/// A scalar or aggregate expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A constant, as in [`Literal`].
    Literal(Literal),
    /// `_N`, `name`, `alias.name` or `alias.a.b[0]`; the first step may be the alias
    Path(Vec<PathStep>),
    /// `-x`, `+x` or `NOT x`
    Unary {
        /// The sign or NOT.
        op: UnaryOp,
        /// The operand of the operator.
        expr: Box<Expr>,
    },
    /// `left op right`, for example `a < b`
    Binary {
        /// The operand before the operator.
        left: Box<Expr>,
        /// The operator between the operands.
        op: BinaryOp,
        /// The operand after the operator.
        right: Box<Expr>,
    },
    /// `x [NOT] BETWEEN low AND high`
    Between {
        /// The value to compare.
        expr: Box<Expr>,
        /// The lower bound, which is included.
        low: Box<Expr>,
        /// The upper bound, which is included.
        high: Box<Expr>,
        /// True for `NOT BETWEEN`.
        negated: bool,
    },
    /// `x [NOT] LIKE pattern [ESCAPE escape]`
    Like {
        /// The text to match.
        expr: Box<Expr>,
        /// The pattern, where `%` matches any text and `_` any character.
        pattern: Box<Expr>,
        /// The character that makes the next one literal.
        escape: Option<Box<Expr>>,
        /// True for `NOT LIKE`.
        negated: bool,
    },
    /// `x [NOT] IN (a, b, …)`
    In {
        /// The value to compare.
        expr: Box<Expr>,
        /// The values to compare with; never empty.
        list: Vec<Expr>,
        /// True for `NOT IN`.
        negated: bool,
    },
    /// `x IS [NOT] NULL` or `x IS [NOT] MISSING`
    Is {
        /// The value to test.
        expr: Box<Expr>,
        /// The kind of test.
        test: IsTest,
        /// True for `IS NOT`.
        negated: bool,
    },
    /// `CASE [operand] WHEN … THEN … [ELSE …] END`
    Case {
        /// The value that the simple form compares with each WHEN.
        operand: Option<Box<Expr>>,
        /// The pairs of WHEN and THEN; never empty.
        branches: Vec<(Expr, Expr)>,
        /// The value after ELSE; NULL if absent.
        otherwise: Option<Box<Expr>>,
    },
    /// `CAST(x AS type)`, a conversion
    Cast {
        /// The value to convert.
        expr: Box<Expr>,
        /// The type to convert to.
        to: Type,
    },
    /// A call of a scalar function other than CAST, in any of its forms
    Call {
        /// The called function.
        function: Function,
        /// The arguments, in the order of the comma form.
        args: Vec<Expr>,
    },
    /// `AVG(x)`, `COUNT(x)`, `MAX(x)`, `MIN(x)`, `SUM(x)` or `COUNT(*)`
    Aggregate {
        /// The aggregate function.
        function: Aggregate,
        /// The argument; `None` for `COUNT(*)` only.
        arg: Option<Box<Expr>>,
    },
}

/// A constant in a statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `NULL`, an absent value
    Null,
    /// `MISSING`, an absent field
    Missing,
    /// `TRUE` or `FALSE`
    Bool(bool),
    /// A whole number that fits 64 bits.
    Int(i64),
    /// An exact number with a point: `unscaled · 10^-scale`, at most 38 digits.
    Decimal {
        /// The digits without the point.
        unscaled: i128,
        /// The number of digits after the point.
        scale: i8,
    },
    /// A number in exponent notation.
    Float(f64),
    /// `'text'`, without the quotes
    String(String),
    /// An Ion timestamp in backticks, e.g. `` `2010-01-01T` ``, as written without the backticks.
    /// [`crate::value::Timestamp::parse_literal`] parses it.
    Timestamp(String),
}

/// An operator with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum UnaryOp {
    Negate,
    Plus,
    Not,
}

/// An operator with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum BinaryOp {
    And,
    Or,
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// The kinds of tests of the IS operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IsTest {
    /// True for NULL and for MISSING
    Null,
    /// True for MISSING only
    Missing,
}

/// The types that CAST can convert to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// `BOOL` or `BOOLEAN`
    Bool,
    /// `INT` or `INTEGER`: 64 bits, signed
    Int,
    /// `FLOAT`: an IEEE 754 double
    Float,
    /// `DECIMAL` or `NUMERIC`, optionally with `(precision, scale)`: at most 38 digits
    Decimal(Option<(u8, i8)>),
    /// `STRING`: text in UTF-8
    String,
    /// `TIMESTAMP`: a point in time
    Timestamp,
}

/// The five aggregate functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Aggregate {
    Avg,
    Count,
    Max,
    Min,
    Sum,
}

/// The scalar functions other than CAST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// `COALESCE(a, b, …)`: the first argument that is neither NULL nor MISSING
    Coalesce,
    /// `NULLIF(a, b)`: NULL if both are the same, otherwise `a`
    NullIf,
    /// `CHAR_LENGTH(s)` or `CHARACTER_LENGTH(s)`: the number of characters
    CharLength,
    /// `LOWER(s)`: the text in lower case
    Lower,
    /// `UPPER(s)`: the text in upper case
    Upper,
    /// `SUBSTRING(s FROM start [FOR length])` or `SUBSTRING(s, start [, length])`
    Substring,
    /// `TRIM([side] [chars] FROM s)`; the arguments are `(s[, chars])`
    Trim(TrimSide),
    /// `DATE_ADD(part, quantity, timestamp)`; the arguments are `(quantity, timestamp)`
    DateAdd(DatePart),
    /// `DATE_DIFF(part, from, to)`; the arguments are `(from, to)`
    DateDiff(DatePart),
    /// `EXTRACT(part FROM timestamp)`: one part as a number
    Extract(DatePart),
    /// `TO_STRING(timestamp, pattern)`: the timestamp as text
    ToString,
    /// `TO_TIMESTAMP(s)`: the timestamp in a text
    ToTimestamp,
    /// `UTCNOW()`: the time of the statement
    UtcNow,
    /// `BLOOM_CONTAINS(bits, hashes, seed, x)`, an extension of this project
    /// ([`Extension::Bloom`](crate::capabilities::Extension::Bloom)). [`BloomFilter`](crate::value::BloomFilter) defines
    /// its meaning.
    BloomContains,
    /// `[a, b, …]`, a list, which may be empty
    List,
}

/// The ends of a text that TRIM trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

/// A part of a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum DatePart {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    TimezoneHour,
    TimezoneMinute,
}
