//! What the parser reads twice: `ARRAY[`, `CAST(`, `a.b[` and INTERVAL, which it takes for a type first. Where an error
//! is within them, the time doubles with each level.

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// How many of them may be within one another.
const MOST: usize = 16;

/// Looks for more.
///
/// # Errors
///
/// If there are.
pub(crate) fn check(sql: &str) -> Result<()> {
    if !may_nest(sql) {
        return Ok(());
    }
    // What cannot be split into words is for the parser to refuse.
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, sql).tokenize() else { return Ok(()) };
    let mut open: Vec<bool> = Vec::new();
    let mut intervals = 0;
    let mut before = [Token::EOF, Token::EOF];
    for token in tokens {
        if matches!(token, Token::Whitespace(_)) {
            continue;
        }
        match &token {
            Token::LParen => {
                open.push(matches!(keyword(&before[0]), Keyword::CAST | Keyword::TRY_CAST));
            }
            Token::LBracket => {
                let is_field = matches!(before[1], Token::Period);
                open.push(is_field || keyword(&before[0]) == Keyword::ARRAY);
            }
            Token::RParen | Token::RBracket => {
                open.pop();
            }
            _ => {}
        }
        intervals = match keyword(&token) {
            Keyword::INTERVAL => intervals + 1,
            _ => 0,
        };
        if intervals + open.iter().filter(|it| **it).count() > MOST {
            return plan_err!(
                "more than {MOST} of ARRAY[…], CAST(…) and fields of lists are within one another; name the inner ones in \
                 a subquery"
            );
        }
        before = [token, std::mem::replace(&mut before[0], Token::EOF)];
    }
    Ok(())
}

fn keyword(token: &Token) -> Keyword {
    match token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// Whether there are brackets, or words, enough.
fn may_nest(sql: &str) -> bool {
    let bytes = sql.as_bytes();
    let is_opening =
        |pair: &&[u8]| pair[1] == b'[' || pair[1] == b'(' && matches!(pair[0], b't' | b'T' | b' ');
    let brackets = bytes.windows(2).filter(is_opening).count();
    let intervals =
        || bytes.windows(8).filter(|word| word.eq_ignore_ascii_case(b"interval")).count();
    brackets > MOST || brackets + intervals() > MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_is_counted() {
        for open in ["ARRAY[", "cast (", "try_cast(", "a.b[", "interval "] {
            assert!(check(&format!("SELECT {}", open.repeat(MOST + 1))).is_err(), "{open}");
            check(&format!("SELECT {}", open.repeat(MOST))).unwrap();
        }
        check(&format!("SELECT {}1", "CAST(1 AS INT), ".repeat(100))).unwrap();
        check(&format!("SELECT {}", "x IN (".repeat(100))).unwrap();
    }
}
