//! The timestamp patterns of TO_STRING.

use super::timestamp::{Fields, Timestamp, push_padded};
use crate::error::{Result, SelectError, SelectErrorCode as Code};

/// A compiled timestamp pattern such as `MMMM d, y`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimestampPattern {
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Text(String),
    Symbol(Symbol),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symbol {
    /// The full year, padded to the width.
    Year(usize),
    YearOfCentury,
    /// The month as a number, padded to the width.
    Month(usize),
    /// The first letters of the month's name.
    MonthName(usize),
    Day(usize),
    AmPm,
    Hour12(usize),
    Hour24(usize),
    Minute(usize),
    Second(usize),
    /// The given number of digits of the fraction of the second.
    Fraction(usize),
    Nanos,
    /// The offset from UTC. `width` is the number of letters; with `zulu`, an offset of zero is written as `Z`.
    Offset {
        width: usize,
        zulu: bool,
    },
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl TimestampPattern {
    /// Compiles a pattern: letters are symbols, `'…'` is literal text (`''` is a quote), and all other characters are
    /// literal.
    ///
    /// # Errors
    ///
    /// `EvaluatorInvalidTimestampFormatPatternSymbol` for an unknown letter, `…Token` for a wrong number of letters,
    /// `EvaluatorUnterminatedTimestampFormatPatternToken` for an open quote,
    /// `EvaluatorTimestampFormatPatternHourClockAmPmMismatch` if only one of `h` and `a` is present.
    /// `EvaluatorInvalidTimestampFormatPatternToken` for a pattern of more than 4,096 bytes, because it may come from
    /// the data.
    pub fn compile(pattern: &str) -> Result<Self> {
        const LONGEST: usize = 4096;
        if pattern.len() > LONGEST {
            return Err(SelectError::new(
                Code::EvaluatorInvalidTimestampFormatPatternToken,
                "a timestamp pattern has at most 4096 bytes",
            ));
        }
        let mut tokens = Vec::new();
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            let length;
            if first == '\'' {
                let text;
                (text, length) = quoted(rest)?;
                push_text(&mut tokens, &text);
            } else if first.is_ascii_alphabetic() {
                length = rest.len() - rest.trim_start_matches(first).len();
                tokens.push(Token::Symbol(symbol(first, length)?));
            } else {
                length = first.len_utf8();
                push_text(&mut tokens, &rest[..length]);
            }
            rest = &rest[length..];
        }
        let has = |test: fn(&Symbol) -> bool| {
            tokens.iter().any(|token| matches!(token, Token::Symbol(symbol) if test(symbol)))
        };
        if has(|s| matches!(s, Symbol::Hour12(_))) != has(|s| matches!(s, Symbol::AmPm)) {
            return Err(SelectError::new(
                Code::EvaluatorTimestampFormatPatternHourClockAmPmMismatch,
                "a timestamp pattern needs both h and a, or neither",
            ));
        }
        Ok(Self { tokens })
    }

    /// Appends the timestamp in the form of the pattern.
    pub fn write(&self, time: Timestamp, out: &mut Vec<u8>) {
        let fields = time.fields();
        for token in &self.tokens {
            match token {
                Token::Text(text) => out.extend_from_slice(text.as_bytes()),
                Token::Symbol(symbol) => symbol.write(&fields, time.offset().unwrap_or(0), out),
            }
        }
    }
}

fn push_text(tokens: &mut Vec<Token>, text: &str) {
    if let Some(Token::Text(last)) = tokens.last_mut() {
        last.push_str(text);
    } else {
        tokens.push(Token::Text(text.to_owned()));
    }
}

/// The text of a quoted part at the start of `rest`, and its length with the quotes.
fn quoted(rest: &str) -> Result<(String, usize)> {
    if rest.starts_with("''") {
        return Ok(("'".to_owned(), 2));
    }
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != '\'' {
            text.push(c);
        } else if chars.next_if(|(_, next)| *next == '\'').is_some() {
            text.push('\'');
        } else {
            return Ok((text, at + 1));
        }
    }
    Err(SelectError::new(
        Code::EvaluatorUnterminatedTimestampFormatPatternToken,
        "quoted text in a timestamp pattern never ends",
    ))
}

fn symbol(letter: char, width: usize) -> Result<Symbol> {
    Ok(match (letter, width) {
        ('y', 2) => Symbol::YearOfCentury,
        ('y', 1 | 4) => Symbol::Year(width),
        ('M', 1 | 2) => Symbol::Month(width),
        ('M', 3) => Symbol::MonthName(3),
        ('M', 4) => Symbol::MonthName(usize::MAX),
        ('M', 5) => Symbol::MonthName(1),
        ('d', 1 | 2) => Symbol::Day(width),
        ('a', 1) => Symbol::AmPm,
        ('h', 1 | 2) => Symbol::Hour12(width),
        ('H', 1 | 2) => Symbol::Hour24(width),
        ('m', 1 | 2) => Symbol::Minute(width),
        ('s', 1 | 2) => Symbol::Second(width),
        ('S', 1..=9) => Symbol::Fraction(width),
        ('n', 1) => Symbol::Nanos,
        ('X', 1..=5) => Symbol::Offset { width, zulu: true },
        ('x', 1..=5) => Symbol::Offset { width, zulu: false },
        ('y' | 'M' | 'd' | 'a' | 'h' | 'H' | 'm' | 's' | 'S' | 'n' | 'X' | 'x', _) => {
            return Err(SelectError::new(
                Code::EvaluatorInvalidTimestampFormatPatternToken,
                format!("a timestamp pattern cannot have {width} times {letter}"),
            ));
        }
        _ => {
            return Err(SelectError::new(
                Code::EvaluatorInvalidTimestampFormatPatternSymbol,
                format!("{letter} is not a symbol of timestamp patterns"),
            ));
        }
    })
}

impl Symbol {
    fn write(self, fields: &Fields, offset: i16, out: &mut Vec<u8>) {
        match self {
            Self::Year(width) => push_padded(out, fields.date.year, width),
            Self::YearOfCentury => push_padded(out, fields.date.year % 100, 2),
            Self::Month(width) => push_padded(out, fields.date.month, width),
            Self::MonthName(length) => {
                let name = MONTHS.get(fields.date.month as usize - 1).copied().unwrap_or_default();
                out.extend_from_slice(&name.as_bytes()[..length.min(name.len())]);
            }
            Self::Day(width) => push_padded(out, fields.date.day, width),
            Self::AmPm => out.extend_from_slice(if fields.hour < 12 { b"AM" } else { b"PM" }),
            Self::Hour12(width) => push_padded(out, (fields.hour + 11) % 12 + 1, width),
            Self::Hour24(width) => push_padded(out, fields.hour, width),
            Self::Minute(width) => push_padded(out, fields.minute, width),
            Self::Second(width) => push_padded(out, fields.second, width),
            Self::Fraction(digits) => {
                push_padded(out, fields.nanos / 10_u32.pow(9 - digits as u32), digits);
            }
            Self::Nanos => push_padded(out, fields.nanos, 1),
            Self::Offset { zulu: true, .. } if offset == 0 => out.push(b'Z'),
            Self::Offset { width, .. } => {
                let minutes = u32::from(offset.unsigned_abs());
                out.push(if offset < 0 { b'-' } else { b'+' });
                push_padded(out, minutes / 60, 2);
                if matches!(width, 3 | 5) {
                    out.push(b':');
                }
                if width > 1 || minutes % 60 != 0 {
                    push_padded(out, minutes % 60, 2);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(time: &str, pattern: &str, expected: &str) {
        let time = Timestamp::parse(time.as_bytes()).unwrap();
        let mut out = Vec::new();
        TimestampPattern::compile(pattern).unwrap().write(time, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn examples_of_the_service() {
        check("1969-07-20T20:18Z", "MMMM d, y", "July 20, 1969");
        check("1969-07-20T20:18Z", "MMM d, yyyy", "Jul 20, 1969");
        check("1969-07-20T20:18Z", "M-d-yy", "7-20-69");
        check("1969-07-20T20:18Z", "MM-d-y", "07-20-1969");
        check("1969-07-20T20:18Z", "MMMM d, y h:m a", "July 20, 1969 8:18 PM");
        check("1969-07-20T20:18Z", "y-MM-dd'T'H:m:ssX", "1969-07-20T20:18:00Z");
        check("1969-07-20T20:18+08:00", "y-MM-dd'T'H:m:ssXXXX", "1969-07-20T20:18:00+0800");
        check("1969-07-20T20:18+08:00", "y-MM-dd'T'H:m:ssXXXXX", "1969-07-20T20:18:00+08:00");
    }

    #[test]
    fn every_symbol() {
        check("1969-01-02T00:04:05.006007008Z", "y yy yyyy", "1969 69 1969");
        check("0069-01-02T00:04:05.006007008Z", "y yy yyyy", "69 69 0069");
        check("1969-01-02T00:04:05.006007008Z", "M MM MMM MMMM MMMMM", "1 01 Jan January J");
        check("1969-01-02T00:04:05.006007008Z", "d dd a h hh", "2 02 AM 12 12");
        check("1969-01-02T00:04:05.006007008Z", "H HH m mm s ss", "0 00 4 04 5 05");
        check("1969-01-02T13:04:05.006007008Z", "h hh a", "1 01 PM");
        check("1969-01-02T00:04:05.006007008Z", "S SSS SSSSSSSSS n", "0 006 006007008 6007008");
        check("1969-01-02T00:04:05Z", "X XX XXX XXXX XXXXX", "Z Z Z Z Z");
        check("1969-01-02T00:04:05Z", "x xx xxx xxxx xxxxx", "+00 +0000 +00:00 +0000 +00:00");
        check("1969-01-02T00:04:05-07:30", "X XX XXX x", "-0730 -0730 -07:30 -0730");
        check("1969-01-02", "'it''s' yyyy é", "it's 1969 é");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (pattern, code) in [
            ("b", Code::EvaluatorInvalidTimestampFormatPatternSymbol),
            ("yyy", Code::EvaluatorInvalidTimestampFormatPatternToken),
            ("MMMMMM", Code::EvaluatorInvalidTimestampFormatPatternToken),
            ("SSSSSSSSSS", Code::EvaluatorInvalidTimestampFormatPatternToken),
            ("yyyy 'open", Code::EvaluatorUnterminatedTimestampFormatPatternToken),
            ("h", Code::EvaluatorTimestampFormatPatternHourClockAmPmMismatch),
            ("H a", Code::EvaluatorTimestampFormatPatternHourClockAmPmMismatch),
        ] {
            assert_eq!(TimestampPattern::compile(pattern).unwrap_err().code, code, "{pattern}");
        }
    }
}
