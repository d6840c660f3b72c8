//! Statements as data. The client builds them, the printer writes them, the parser reads them,
//! the evaluator runs them.

/// A statement: `SELECT projection FROM S3Object… [alias] [WHERE filter] [GROUP BY groups]
/// [LIMIT limit]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// What is asked for.
    pub projection: Projection,
    /// Where rows come from.
    pub from: From,
    /// The rows wanted: those for which this is TRUE.
    pub filter: Option<Expr>,
    /// What the rows of a group share, an extension of ours
    /// ([`Extension::PartialGroups`](crate::profile::Extension::PartialGroups)); empty without
    /// GROUP BY.
    pub group_by: Vec<Expr>,
    /// The most rows wanted.
    pub limit: Option<u64>,
}

/// The SELECT list.
#[derive(Debug, Clone, PartialEq)]
pub enum Projection {
    /// `*`
    Star,
    /// Expressions with their aliases; never empty.
    Items(Vec<ProjectionItem>),
}

/// One entry of the SELECT list.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectionItem {
    /// The value.
    pub expr: Expr,
    /// `AS alias`
    pub alias: Option<String>,
}

/// The FROM clause: `S3Object`, for JSON followed by a path, with an optional alias.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct From {
    /// `[*].a.b` of `S3Object[*].a.b`: empty for plain `S3Object`, else its first step is
    /// [`PathStep::AnyIndex`].
    pub path: Vec<PathStep>,
    /// The row's name.
    pub alias: Option<String>,
}

/// A name with its case rule: quoted names match exactly, unquoted ones in any case.
///
/// An unquoted name is a word ([`super::keyword::is_word`]) that is not reserved. Any other text is
/// printed in quotes even if `quoted` is false, and is then read back as a quoted name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name {
    /// The name, without quotes.
    pub text: String,
    /// Whether it was written in double quotes.
    pub quoted: bool,
}

/// One step of a path into a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// `.name` or `['name']` (the latter counts as quoted)
    Field(Name),
    /// `[index]`, from 0
    Index(u64),
    /// `[*]`
    AnyIndex,
    /// `.*`
    AnyField,
}

/// A scalar or aggregate expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Literal),
    /// `_N`, `name`, `alias.name`, `alias.a.b[0]`: the first step may be the alias.
    Path(Vec<PathStep>),
    /// `-x`, `+x`, `NOT x`
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        expr: Box<Expr>,
    },
    /// `a op b`
    Binary {
        /// The left operand.
        left: Box<Expr>,
        /// The operator.
        op: BinaryOp,
        /// The right operand.
        right: Box<Expr>,
    },
    /// `x [NOT] BETWEEN low AND high`
    Between {
        /// The value tested.
        expr: Box<Expr>,
        /// The lower bound, included.
        low: Box<Expr>,
        /// The upper bound, included.
        high: Box<Expr>,
        /// `NOT BETWEEN`
        negated: bool,
    },
    /// `x [NOT] LIKE pattern [ESCAPE escape]`
    Like {
        /// The text tested.
        expr: Box<Expr>,
        /// `%` any text, `_` any character.
        pattern: Box<Expr>,
        /// The character that makes the next one literal.
        escape: Option<Box<Expr>>,
        /// `NOT LIKE`
        negated: bool,
    },
    /// `x [NOT] IN (a, b, …)`
    In {
        /// The value tested.
        expr: Box<Expr>,
        /// The values it may equal; never empty.
        list: Vec<Expr>,
        /// `NOT IN`
        negated: bool,
    },
    /// `x IS [NOT] NULL`, `x IS [NOT] MISSING`
    Is {
        /// The value tested.
        expr: Box<Expr>,
        /// What it is tested for.
        test: IsTest,
        /// `IS NOT`
        negated: bool,
    },
    /// `CASE [operand] WHEN … THEN … [ELSE …] END`
    Case {
        /// For the simple form, the value compared with each WHEN.
        operand: Option<Box<Expr>>,
        /// WHEN and THEN; never empty.
        branches: Vec<(Expr, Expr)>,
        /// ELSE; NULL if absent.
        otherwise: Option<Box<Expr>>,
    },
    /// `CAST(x AS type)`
    Cast {
        /// The value converted.
        expr: Box<Expr>,
        /// Its new type.
        to: Type,
    },
    /// A call of a scalar function other than CAST, in any of its forms.
    Call {
        /// The function.
        function: Function,
        /// Its arguments in the order of the comma form.
        args: Vec<Expr>,
    },
    /// `AVG|COUNT|MAX|MIN|SUM (x)`, `COUNT(*)`
    Aggregate {
        /// The function.
        function: Aggregate,
        /// Its argument; `None` only for `COUNT(*)`.
        arg: Option<Box<Expr>>,
    },
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `NULL`
    Null,
    /// `MISSING`
    Missing,
    /// `TRUE`, `FALSE`
    Bool(bool),
    /// A whole number that fits 64 bits.
    Int(i64),
    /// A number with a point, exactly: `unscaled · 10^-scale`, at most 38 digits.
    Decimal {
        /// The digits.
        unscaled: i128,
        /// How many of them are behind the point.
        scale: i8,
    },
    /// A number in exponent notation.
    Float(f64),
    /// `'text'`
    String(String),
    /// An Ion timestamp in backticks, e.g. `` `2010-01-01T` ``, as written without the backticks;
    /// [`crate::value::Timestamp::parse_literal`] reads it.
    Timestamp(String),
}

/// A unary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum UnaryOp {
    Negate,
    Plus,
    Not,
}

/// A binary operator.
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

/// What IS tests for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IsTest {
    /// NULL or MISSING
    Null,
    /// MISSING
    Missing,
}

/// The type names of CAST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// `BOOL`, `BOOLEAN`
    Bool,
    /// `INT`, `INTEGER`: 64 bits, signed
    Int,
    /// `FLOAT`: IEEE 754 double
    Float,
    /// `DECIMAL`, `NUMERIC`, optionally `(precision, scale)`: at most 38 digits
    Decimal(Option<(u8, i8)>),
    /// `STRING`
    String,
    /// `TIMESTAMP`
    Timestamp,
}

/// The five aggregates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Aggregate {
    Avg,
    Count,
    Max,
    Min,
    Sum,
}

/// Scalar functions other than CAST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// `COALESCE(a, b, …)`
    Coalesce,
    /// `NULLIF(a, b)`
    NullIf,
    /// `CHAR_LENGTH(s)`, `CHARACTER_LENGTH(s)`
    CharLength,
    /// `LOWER(s)`
    Lower,
    /// `UPPER(s)`
    Upper,
    /// `SUBSTRING(s FROM start [FOR length])`, `SUBSTRING(s, start [, length])`
    Substring,
    /// `TRIM([side] [chars] FROM s)`: arguments `(s[, chars])`
    Trim(TrimSide),
    /// `DATE_ADD(part, quantity, timestamp)`: arguments `(quantity, timestamp)`
    DateAdd(DatePart),
    /// `DATE_DIFF(part, from, to)`: arguments `(from, to)`
    DateDiff(DatePart),
    /// `EXTRACT(part FROM timestamp)`
    Extract(DatePart),
    /// `TO_STRING(timestamp, pattern)`
    ToString,
    /// `TO_TIMESTAMP(s)`
    ToTimestamp,
    /// `UTCNOW()`
    UtcNow,
    /// `BLOOM_CONTAINS(bits, hashes, seed, x)`, an extension of ours
    /// ([`Extension::Bloom`](crate::profile::Extension::Bloom)); what it means is documented at
    /// [`BloomFilter`](crate::value::BloomFilter).
    BloomContains,
    /// `[a, b, …]`, possibly empty
    List,
}

/// Which end TRIM trims.
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
