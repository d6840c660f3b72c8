//! The error codes of S3 Select, and the error type of this crate.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A refused statement or a failed evaluation, with the service's error code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectError {
    /// The kind of failure.
    pub code: SelectErrorCode,
    /// One sentence that names the place of the error. It quotes a few bytes of data at most.
    pub message: Cow<'static, str>,
}

impl SelectError {
    /// Creates an error with a message of one sentence.
    #[must_use]
    pub fn new(code: SelectErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for SelectError {}

/// The result of operations that can refuse a statement, a request or an object.
pub type Result<T> = std::result::Result<T, SelectError>;

/// The part of this implementation that reports a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The statement alone: the parser, or the check against the input's format.
    Statement,
    /// The object, while it is read and the statement is evaluated.
    Data,
    /// The statement if it determines the types, otherwise the data.
    Both,
    /// The request: its options, or the server that handles it.
    Request,
    /// Nothing: the code is in the service's table but never occurs here, for the given reason.
    Never(&'static str),
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident => $origin:expr,)*) => {
        /// The error codes of S3 Select: the 111 of the service's own table, and `MissingHeaders`, which the service
        /// sends as well.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum SelectErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl SelectErrorCode {
            /// All codes, in alphabetical order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code's name on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// The part of this implementation that reports the code.
            #[must_use]
            pub fn origin(self) -> Origin {
                use Origin::{Both, Data, Never, Request, Statement};
                match self {
                    $(Self::$name => $origin,)*
                }
            }
        }

        impl FromStr for SelectErrorCode {
            type Err = UnknownCode;

            fn from_str(text: &str) -> std::result::Result<Self, UnknownCode> {
                match text {
                    $(stringify!($name) => Ok(Self::$name),)*
                    _ => Err(UnknownCode),
                }
            }
        }
    };
}

codes! {
    /// An unquoted name matches several columns that differ only in case.
    AmbiguousFieldName => Data,
    /// The server has no capacity left for another request.
    Busy => Request,
    /// A quoted field holds a record delimiter without AllowQuotedRecordDelimiter.
    CSVEscapingRecordDelimiter => Data,
    /// A carriage return without a line feed, in a request with strict lines.
    CSVParsingError => Data,
    /// A quoted field never ends.
    CSVUnescapedQuote => Data,
    /// A value does not convert to the type of a CAST.
    CastFailed => Data,
    /// A field is longer than a record may be.
    ColumnTooLong => Never("a field is bounded by its record, which is OverMaxRecordSize"),
    /// The request has no body.
    EmptyRequestBody => Request,
    /// A name refers to nothing.
    EvaluatorBindingDoesNotExist => Never("an unknown name is reported as InvalidTableAlias, MissingHeaders or InvalidColumnIndex, or is MISSING"),
    /// A function got a value outside its domain, or the wrong number of arguments.
    EvaluatorInvalidArguments => Both,
    /// A timestamp pattern lacks fields.
    EvaluatorInvalidTimestampFormatPattern => Never("only patterns used for parsing can lack fields, and TO_TIMESTAMP takes no pattern"),
    /// A timestamp pattern contains a letter that is not a symbol.
    EvaluatorInvalidTimestampFormatPatternSymbol => Data,
    /// A symbol of a timestamp pattern can be printed but not parsed.
    EvaluatorInvalidTimestampFormatPatternSymbolForParsing => Never("TO_TIMESTAMP takes no pattern in this dialect, so no pattern is used for parsing"),
    /// A timestamp pattern repeats a symbol too often.
    EvaluatorInvalidTimestampFormatPatternToken => Data,
    /// The ESCAPE of a LIKE is not a single character, or escapes nothing.
    EvaluatorLikePatternInvalidEscapeSequence => Data,
    /// The LIMIT is negative.
    EvaluatorNegativeLimit => Statement,
    /// A timestamp pattern names a field twice.
    EvaluatorTimestampFormatPatternDuplicateFields => Never("repeated fields are an error only of patterns used for parsing, which this dialect lacks"),
    /// A timestamp pattern has a 12-hour clock without AM/PM, or the reverse.
    EvaluatorTimestampFormatPatternHourClockAmPmMismatch => Data,
    /// Quoted text in a timestamp pattern never ends.
    EvaluatorUnterminatedTimestampFormatPatternToken => Data,
    /// The statement is longer than 256 KiB.
    ExpressionTooLong => Statement,
    /// An expression has no value, such as a division by zero.
    ExternalEvalException => Data,
    /// A constant argument of a function is outside its domain.
    IllegalSqlFunctionArgument => Statement,
    /// A function got an argument of a type that it does not take.
    IncorrectSqlFunctionArgumentType => Both,
    /// A result does not fit 64 bits, or 38 digits for decimals.
    IntegerOverflow => Data,
    /// The server failed internally.
    InternalError => Request,
    /// A CAST between types that never convert.
    InvalidCast => Both,
    /// A positional column such as `_0` does not exist.
    InvalidColumnIndex => Statement,
    /// The object is not compressed in the way that the request names.
    InvalidCompressionFormat => Request,
    /// FROM names something other than S3Object.
    InvalidDataSource => Statement,
    /// An operator got an operand of a type that it does not take.
    InvalidDataType => Both,
    /// ExpressionType is not SQL.
    InvalidExpressionType => Request,
    /// FileHeaderInfo is none of NONE, IGNORE, USE.
    InvalidFileHeaderInfo => Request,
    /// The JSON type is neither DOCUMENT nor LINES.
    InvalidJsonType => Request,
    /// A path goes into an object whose format has no nesting.
    InvalidKeyPath => Statement,
    /// QuoteFields is neither ALWAYS nor ASNEEDED.
    InvalidQuoteFields => Request,
    /// A serialization option has an invalid value.
    InvalidRequestParameter => Request,
    /// ScanRange is empty or ends before it starts.
    InvalidScanRange => Request,
    /// A column is qualified with a name that is not the row's.
    InvalidTableAlias => Statement,
    /// Text is not UTF-8.
    InvalidTextEncoding => Data,
    /// The object is not JSON.
    JSONParsingError => Data,
    /// A character that starts no token.
    LexerInvalidChar => Statement,
    /// A literal in backticks is not an Ion timestamp.
    LexerInvalidIONLiteral => Statement,
    /// A string or number literal is malformed.
    LexerInvalidLiteral => Statement,
    /// A malformed operator such as a lone `!`.
    LexerInvalidOperator => Statement,
    /// LIKE got something other than strings.
    LikeInvalidInputs => Both,
    /// The request body is not the expected XML.
    MalformedXML => Request,
    /// The statement has too many operators or nests too deeply.
    MaxOperatorsExceeded => Statement,
    /// The resource does not take this method.
    MethodNotAllowed => Never("the S3 server around Select answers that by itself"),
    /// The object's header lacks a name that the statement uses.
    MissingHeaders => Data,
    /// The request lacks a required element.
    MissingRequiredParameter => Request,
    /// FROM names more than one source.
    MultipleDataSourcesUnsupported => Statement,
    /// A number literal has too many digits.
    NumberFormatError => Statement,
    /// More than one input or output format.
    ObjectSerializationConflict => Request,
    /// A record has too many columns.
    OverMaxColumn => Data,
    /// A Parquet row group is too large.
    OverMaxParquetBlockSize => Data,
    /// A record is longer than 1 MiB.
    OverMaxRecordSize => Data,
    /// The object is not readable Parquet.
    ParquetParsingError => Data,
    /// A Parquet column uses an unsupported codec.
    ParquetUnsupportedCompressionCodec => Never("an unreadable column is reported as ParquetParsingError, whatever its codec"),
    /// `*` beside other items of the SELECT list.
    ParseAsteriskIsNotAloneInSelectList => Statement,
    /// `x[…]` and `.*` in one item of the SELECT list.
    ParseCannotMixSqbAndWildcardInSelectList => Statement,
    /// CAST is not of the form CAST(x AS type).
    ParseCastArity => Statement,
    /// The SELECT list is empty.
    ParseEmptySelect => Statement,
    /// One of two tokens was expected.
    ParseExpected2TokenTypes => Statement,
    /// A comma was expected between arguments.
    ParseExpectedArgumentDelimiter => Statement,
    /// A date part such as YEAR was expected.
    ParseExpectedDatePart => Statement,
    /// An expression was expected.
    ParseExpectedExpression => Statement,
    /// A name was expected after AS.
    ParseExpectedIdentForAlias => Statement,
    /// A name was expected after AT.
    ParseExpectedIdentForAt => Never("AT belongs to PartiQL and is refused as ParseUnsupportedSyntax"),
    /// A name was expected for a group.
    ParseExpectedIdentForGroupName => Never("GROUP BY is refused as ParseUnsupportedSyntax"),
    /// A keyword was expected.
    ParseExpectedKeyword => Statement,
    /// A parenthesis was expected after CAST.
    ParseExpectedLeftParenAfterCast => Statement,
    /// A parenthesis was expected after a function's name.
    ParseExpectedLeftParenBuiltinFunctionCall => Statement,
    /// A parenthesis was expected after IN.
    ParseExpectedLeftParenValueConstructor => Statement,
    /// A member of a value constructor was expected.
    ParseExpectedMember => Never("a missing element of a list is reported as ParseExpectedExpression"),
    /// A number was expected.
    ParseExpectedNumber => Statement,
    /// A parenthesis was expected at the end of a function call.
    ParseExpectedRightParenBuiltinFunctionCall => Statement,
    /// A specific token was expected.
    ParseExpectedTokenType => Statement,
    /// A type name was expected.
    ParseExpectedTypeName => Statement,
    /// CASE has no WHEN.
    ParseExpectedWhenClause => Statement,
    /// A wildcard in the place of a value.
    ParseInvalidContextForWildcardInSelectList => Statement,
    /// A path continues with something that is not a step.
    ParseInvalidPathComponent => Statement,
    /// A type has parameters that it does not take.
    ParseInvalidTypeParam => Statement,
    /// FROM has a JOIN.
    ParseMalformedJoin => Statement,
    /// A name was expected after `@`.
    ParseMissingIdentAfterAt => Never("`@name` belongs to PartiQL and `@` is refused as LexerInvalidChar"),
    /// An aggregate does not have exactly one argument.
    ParseNonUnaryAgregateFunctionCall => Statement,
    /// The SELECT list is not followed by FROM.
    ParseSelectMissingFrom => Statement,
    /// A keyword is in an invalid place.
    ParseUnExpectedKeyword => Statement,
    /// An operator is in an invalid place.
    ParseUnexpectedOperator => Statement,
    /// A literal or name is in an invalid place.
    ParseUnexpectedTerm => Statement,
    /// A token is in an invalid place.
    ParseUnexpectedToken => Statement,
    /// An operator that is not in the dialect, such as `||`.
    ParseUnknownOperator => Statement,
    /// An alias is in an invalid place.
    ParseUnsupportedAlias => Statement,
    /// `f(*)` for a function other than COUNT.
    ParseUnsupportedCallWithStar => Statement,
    /// A form of CASE that is not supported.
    ParseUnsupportedCase => Never("both forms of CASE are supported"),
    /// A clause of CASE is in an invalid place.
    ParseUnsupportedCaseClause => Statement,
    /// GROUP BY a literal.
    ParseUnsupportedLiteralsGroupBy => Never("GROUP BY is refused as ParseUnsupportedSyntax"),
    /// SELECT VALUE, SELECT ALL, SELECT DISTINCT or a subquery.
    ParseUnsupportedSelect => Statement,
    /// A clause of SQL that is not in the dialect.
    ParseUnsupportedSyntax => Statement,
    /// A token of SQL that is not in the dialect.
    ParseUnsupportedToken => Statement,
    /// The object ends within its compressed data.
    TruncatedInput => Data,
    /// The caller is not authorized.
    UnauthorizedAccess => Never("the S3 server around Select answers that by itself, as AccessDenied"),
    /// The object is not in the format that the request names.
    UnrecognizedFormatException => Never("every format has a code of its own for what is not in it"),
    /// A function that is not in the dialect.
    UnsupportedFunction => Statement,
    /// A Parquet type that is not supported.
    UnsupportedParquetType => Never("reported as UnsupportedTypeForQuerying"),
    /// The request has a Range header.
    UnsupportedRangeHeader => Request,
    /// ScanRange with an input that cannot be split.
    UnsupportedScanRangeInput => Request,
    /// An aggregate is in an invalid place.
    UnsupportedSqlOperation => Statement,
    /// Aggregates and plain columns in one SELECT list.
    UnsupportedSqlStructure => Statement,
    /// The object's storage class cannot be queried.
    UnsupportedStorageClass => Never("this store has one storage class, and it can be read"),
    /// Syntax that is not supported.
    UnsupportedSyntax => Never("every use is covered by a more precise code"),
    /// A column's type cannot be queried.
    UnsupportedTypeForQuerying => Data,
    /// TO_TIMESTAMP got text that is not a timestamp.
    ValueParseFailure => Data,
}

impl SelectErrorCode {
    /// The HTTP status of an error with this code, for errors before the answer has begun.
    #[must_use]
    pub fn http_status(self) -> u16 {
        match self {
            Self::Busy => 503,
            Self::InternalError => 500,
            Self::MethodNotAllowed => 405,
            Self::UnauthorizedAccess => 401,
            _ => 400,
        }
    }
}

/// The text in this project's server's `ParquetParsingError` for a page whose checksum differs from the one in its
/// header.
pub const DAMAGED_PAGE: &str = "has another checksum than was written";

/// Returns true if a store's error shows that bytes of the object differ from those that were written.
///
/// Such an object cannot be trusted, whichever way it is read. Other errors of data may only mean that the store
/// supports less than other readers do.
#[must_use]
pub fn is_damage(code: &str, message: &str) -> bool {
    /// The text in the parquet library's error.
    const LIBRARY: &str = "Page CRC checksum mismatch";
    match code.parse() {
        Ok(SelectErrorCode::ParquetParsingError) => {
            message.contains(DAMAGED_PAGE) || message.contains(LIBRARY)
        }
        Ok(SelectErrorCode::TruncatedInput) => true,
        _ => false,
    }
}

impl fmt::Display for SelectErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reports a text that is not an error code of S3 Select.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an error code of S3 Select")]
pub struct UnknownCode;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_survive_the_wire() {
        assert_eq!(SelectErrorCode::ALL.len(), 111 + 1);
        for code in SelectErrorCode::ALL {
            assert_eq!(code.as_str().parse(), Ok(*code));
        }
        assert_eq!("Nonsense".parse::<SelectErrorCode>(), Err(UnknownCode));
    }

    #[test]
    fn damage_is_told_from_what_a_store_does_not_read() {
        let page = format!("Parquet error: the page at byte 4 {DAMAGED_PAGE}");
        for (code, message, expected) in [
            ("ParquetParsingError", page.as_str(), true),
            ("ParquetParsingError", "Parquet error: Page CRC checksum mismatch", true),
            ("ParquetParsingError", "a timestamp is beyond the years 1 to 9999", false),
            ("TruncatedInput", "", true),
            ("CSVParsingError", page.as_str(), false),
            ("SomethingElse", page.as_str(), false),
        ] {
            assert_eq!(is_damage(code, message), expected, "{code}: {message}");
        }
    }

    #[test]
    fn codes_are_sorted_and_have_a_status() {
        assert!(SelectErrorCode::ALL.is_sorted_by_key(|code| code.as_str()));
        let not_400 = SelectErrorCode::ALL.iter().filter(|code| code.http_status() != 400);
        assert_eq!(not_400.count(), 4);
    }

    #[test]
    fn what_never_happens_says_why() {
        for code in SelectErrorCode::ALL {
            if let Origin::Never(reason) = code.origin() {
                assert!(reason.len() > 20, "{code}");
            }
        }
    }
}
