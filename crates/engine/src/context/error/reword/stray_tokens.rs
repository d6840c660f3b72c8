//! Signs and words at which the parser stops, found in the text of the statement.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, Tokenizer};

use super::super::ErrorKind;
use super::super::user_error::UserError;

/// Signs of other systems or of word processors, and what to write instead.
const SIGNS: [(&str, &str); 19] = [
    ("‘", QUOTES),
    ("’", QUOTES),
    ("‚", QUOTES),
    ("“", DOUBLE_QUOTES),
    ("”", DOUBLE_QUOTES),
    ("„", DOUBLE_QUOTES),
    ("«", DOUBLE_QUOTES),
    ("–", "Write -, the minus of the keyboard."),
    ("—", "Write -, the minus of the keyboard; -- begins a comment."),
    ("−", "Write -, the minus of the keyboard."),
    ("≠", "Write <>."),
    ("≤", "Write <=."),
    ("≥", "Write >=."),
    ("×", "Write *."),
    ("÷", "Write /."),
    ("\u{a0}", "It is a space that does not break: write an ordinary one."),
    ("#", "-- begins a comment, and ^ is XOR of whole numbers."),
    ("!", "Write factorial(n); NOT turns a condition round."),
    ("@", "Write abs(x); parameters are $1, $2."),
];

const QUOTES: &str = "A text is between two ' of the keyboard.";
const DOUBLE_QUOTES: &str = "A text is between two ' of the keyboard, a name between two \".";

/// Words that are not operators in the parser, and what to write instead.
const WORDS: [(&str, &str); 9] = [
    ("div", "Write a / b of whole numbers."),
    ("mod", "Write a % b."),
    ("positional", "Number the rows of both with row_number() OVER (), and join by the number."),
    (
        "asof",
        "Join by <=, and keep the last row of each with row_number() OVER (PARTITION BY … ORDER BY …).",
    ),
    ("minus", "Write EXCEPT."),
    ("sample", "Take rows by chance: WHERE random() < 0.1."),
    ("contains", "Write text LIKE '%part%', or array_has(list, value)."),
    ("startswith", "Write starts_with(text, 'beginning')."),
    ("matches", "Write text ~ 'regular expression'."),
];

/// Words of COPY in other systems, and what to write instead.
const COPY: [(&str, &str); 6] = [
    ("stdout", TO_STDOUT),
    ("stdin", FROM_FILE),
    ("from", FROM_FILE),
    ("csv", IN_PARENTHESES),
    ("header", IN_PARENTHESES),
    ("delimiter", IN_PARENTHESES),
];

const FROM_FILE: &str = "COPY writes. A file is read by its name: FROM 'file.csv', or as a table: CREATE EXTERNAL TABLE t … \
                         LOCATION 's3://bucket/file.csv'.";
const IN_PARENTHESES: &str =
    "Put options in parentheses: COPY t TO 'file.csv' (FORMAT csv, HEADER).";
const TO_STDOUT: &str = "An answer is printed by itself: sluice sql --format csv \"SELECT …\". COPY writes a file or an object: COPY t TO \
     'file.csv'.";

/// Returns an error for the place at which the parser stopped, or `None` if the parser's own message is better.
pub(super) fn at(sql: &str, place: (usize, usize)) -> Option<UserError> {
    let mut rest = rest_of_statement(sql, place)?;
    if rest.starts_with(char::is_whitespace) {
        // The parser stops after an `@`, which begins a parameter.
        let before = &sql[..sql.len() - rest.len()];
        rest = &sql[before.rfind('@')?..];
    }
    let before = &sql[..sql.len() - rest.len()];
    if rest.starts_with('*') && before.ends_with('*') {
        return Some(stray_error(sql, before.len() - 1, "**", "Write power(a, b)."));
    }
    let reversed = [("=", "<", "=<", "Write <=."), (">", "<", "><", "Write <>.")];
    for (first, second, sign, hint) in reversed {
        if rest.starts_with(second) && before.ends_with(first) {
            return Some(stray_error(sql, before.len() - first.len(), sign, hint));
        }
    }
    if rest.starts_with("=>") {
        return Some(stray_error(sql, before.len(), "=>", "Write >=."));
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word: &str = &rest[..rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())];
    let found = match (word, rest.chars().next()) {
        ("", None) => return None,
        ("", Some(sign)) => &rest[..sign.len_utf8()],
        (word, _) => word,
    };
    let is_copy = sql.trim_start().get(..4).is_some_and(|word| word.eq_ignore_ascii_case("copy"));
    let of_copy: &[(&str, &str)] = if is_copy { &COPY } else { &[] };
    let known = of_copy.iter().chain(&SIGNS).chain(&WORDS);
    let mut known = known.filter(|(known, _)| found.eq_ignore_ascii_case(known));
    if let Some((_, hint)) = known.next() {
        return Some(stray_error(sql, sql.len() - rest.len(), found, hint));
    }
    // The parser took the word before for a name.
    let before = sql[..sql.len() - rest.len()].trim_end();
    let at = before.rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1);
    let word = before.get(at..)?;
    let (_, hint) = WORDS.iter().find(|(known, _)| word.eq_ignore_ascii_case(known))?;
    Some(stray_error(sql, at, word, hint))
}

/// Returns an error for a place without quotes after LOCATION, or after TO in COPY.
pub(super) fn unquoted_place(sql: &str, place: (usize, usize)) -> Option<UserError> {
    let rest = rest_of_statement(sql, place)?;
    let at = sql.len() - rest.len();
    let start = sql[..at].rfind(char::is_whitespace).map_or(0, |space| space + 1);
    let is_copy = sql.trim_start().get(..4).is_some_and(|word| word.eq_ignore_ascii_case("copy"));
    let before = sql[..start].trim_end().rsplit(char::is_whitespace).next()?.to_ascii_uppercase();
    if before != "LOCATION" && !(is_copy && before == "TO") {
        return None;
    }
    let ends = |c: char| c.is_whitespace() || matches!(c, ';' | '(' | '\'' | '"');
    let name = sql[start..].split(ends).next().filter(|name| !name.is_empty())?;
    let hint = format!("Write {before} '{name}'.");
    Some(UserError { hint: Some(hint), ..stray_error(sql, start, name, "") })
}

/// Returns the error for a word or a sign that begins at a byte.
fn stray_error(sql: &str, at: usize, found: &str, hint: &str) -> UserError {
    let line_start = sql[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = sql[..at].matches('\n').count() + 1;
    let column = sql[line_start..at].chars().count() + 1;
    let found = found.escape_debug();
    UserError {
        kind: ErrorKind::Syntax,
        message: format!(
            "syntax error at line {line}, column {column}: `{found}` may not stand here"
        ),
        hint: Some(hint.to_owned()),
    }
}

/// Returns the text from a place on.
fn rest_of_statement(sql: &str, (line, column): (usize, usize)) -> Option<&str> {
    let before: usize = sql.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let at = sql.get(before..)?.char_indices().nth(column.checked_sub(1)?)?.0;
    sql.get(before + at..)
}

/// Returns an error for the innermost parenthesis or CASE that is not closed.
pub(super) fn unclosed(sql: &str, at_end: bool) -> Option<UserError> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location().ok()?;
    let mut open: Vec<(Keyword, Location)> = Vec::new();
    for token in &tokens {
        match &token.token {
            Token::LParen => open.push((Keyword::NoKeyword, token.span.start)),
            Token::RParen => {
                // A CASE within the parentheses has no END.
                let last = open.iter().rposition(|(kind, _)| *kind == Keyword::NoKeyword)?;
                if last + 1 < open.len() {
                    break;
                }
                open.pop();
            }
            Token::Word(word) if word.quote_style.is_none() => match word.keyword {
                Keyword::CASE => open.push((Keyword::CASE, token.span.start)),
                Keyword::END if open.last().is_some_and(|(kind, _)| *kind == Keyword::CASE) => {
                    open.pop();
                }
                _ => {}
            },
            _ => {}
        }
    }
    let (kind, Location { line, column }) = *open.last()?;
    let (what, hint) = match kind {
        Keyword::CASE => {
            ("the CASE that begins here has no END", "Write CASE WHEN … THEN … ELSE … END.")
        }
        // If the parser stopped earlier, another word is wrong.
        _ if !at_end => return None,
        _ => ("the ( that is here is not closed", "Close it with )."),
    };
    Some(UserError {
        kind: ErrorKind::Syntax,
        message: format!("syntax error at line {line}, column {column}: {what}"),
        hint: Some(hint.to_owned()),
    })
}

/// Returns the line and column of a comment that is not closed.
pub(super) fn open_comment(sql: &str) -> Option<(usize, usize)> {
    let mut before = Vec::new();
    let mut tokenizer = Tokenizer::new(&GenericDialect {}, sql);
    tokenizer.tokenize_with_location_into_buf(&mut before).err()?;
    // The tokenizer stops after the last complete token.
    let end = before.last().map_or(Location::new(1, 1), |token| token.span.end);
    let place = (usize::try_from(end.line).ok()?, usize::try_from(end.column).ok()?);
    rest_of_statement(sql, place)?.starts_with("/*").then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_closed_is_named_where_it_begins() {
        for (sql, at_end, expected) in [
            ("select case when a then 2", false, Some("line 1, column 8: the CASE")),
            ("select (case when a then 2) from t", false, Some("line 1, column 9: the CASE")),
            ("select\n (1 + 2", true, Some("line 2, column 2: the (")),
            ("select (1 + 2", false, None),
            ("select case when a then 2 end, (1)", true, None),
            ("select \"case\", 'case ('", true, None),
        ] {
            let said = unclosed(sql, at_end).map(|told| told.message);
            match expected {
                Some(part) => {
                    assert!(said.as_ref().is_some_and(|it| it.contains(part)), "{said:?}")
                }
                None => assert_eq!(said, None, "{sql}"),
            }
        }
    }

    #[test]
    fn a_comment_without_an_end_is_named_where_it_begins() {
        assert_eq!(open_comment("select 1\n /* c"), Some((2, 2)));
        assert_eq!(open_comment("select '/*', /* a */ 1 /* b"), Some((1, 24)));
        assert_eq!(open_comment("select 1 /* a */"), None);
        assert_eq!(open_comment("/* a /* b */"), Some((1, 1)));
        assert_eq!(open_comment("/*/*/*"), Some((1, 1)));
        assert_eq!(open_comment("'é' -- /*\n, 'é' /*é\n/* */"), Some((2, 7)));
        assert_eq!(open_comment("select 'a"), None);
        // This is as many as a statement may have; the search makes one pass.
        assert_eq!(open_comment(&"/*".repeat(200_000)), Some((1, 1)));
    }

    #[test]
    fn places_without_quotes_are_named() {
        for (sql, column, part) in [
            ("create external table t location s3://b/k.csv;", 36, "Write LOCATION 's3://b/k.csv'"),
            ("copy t to x.csv (format csv)", 12, "Write TO 'x.csv'"),
            ("copy t to /tmp/x.csv", 11, "Write TO '/tmp/x.csv'"),
        ] {
            let told = unquoted_place(sql, (1, column)).unwrap();
            assert!(told.hint.unwrap().contains(part), "{sql}");
        }
        assert!(unquoted_place("grant x to y.z", (1, 13)).is_none());
    }

    #[test]
    fn signs_of_others_are_named() {
        for (sql, column, part) in [
            ("select 5 div 2", 10, "whole numbers"),
            ("select 1 # c", 10, "-- begins"),
            ("select ‘a’", 8, "two ' of the keyboard"),
            ("select a ≠ 1", 10, "<>"),
            ("select a =< 1", 11, "<="),
            ("select a => 1", 10, ">="),
            ("select a >< 1", 11, "<>"),
        ] {
            let told = at(sql, (1, column)).unwrap();
            assert!(told.hint.unwrap().contains(part), "{sql}");
        }
        assert!(at("select 1 x", (1, 10)).is_none());
    }
}
