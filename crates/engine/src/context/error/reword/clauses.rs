//! Clauses of a query in the wrong order.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

const ORDER: &str =
    "The order is SELECT … FROM … JOIN … WHERE … GROUP BY … HAVING … QUALIFY … ORDER BY … LIMIT ….";

/// Returns the position of a clause in SQL's order, and its name.
fn rank(word: Keyword) -> Option<(u8, &'static str)> {
    Some(match word {
        Keyword::FROM => (0, "FROM"),
        Keyword::JOIN | Keyword::LEFT | Keyword::RIGHT | Keyword::INNER | Keyword::FULL => {
            (1, "JOIN")
        }
        Keyword::WHERE => (2, "WHERE"),
        Keyword::GROUP => (3, "GROUP BY"),
        Keyword::HAVING => (4, "HAVING"),
        Keyword::QUALIFY => (5, "QUALIFY"),
        Keyword::ORDER => (6, "ORDER BY"),
        Keyword::LIMIT => (7, "LIMIT"),
        Keyword::OFFSET => (7, "OFFSET"),
        Keyword::FETCH => (7, "FETCH"),
        _ => return None,
    })
}

/// Returns a message and a hint if the clause at which the parser stopped should come before an earlier one.
pub(super) fn misordered(
    sql: &str,
    (line, column): (usize, usize),
) -> Option<(String, &'static str)> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location().ok()?;
    let keyword = |token: &Token| match token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let stopped = tokens.iter().position(|token| {
        let start = token.span.start;
        (start.line, start.column) == (line as u64, column as u64)
    })?;
    let (place, found) = rank(keyword(&tokens[stopped].token))?;
    let mut depth = 0_usize;
    let mut first = None;
    for token in tokens[..stopped].iter().rev() {
        match &token.token {
            Token::RParen => depth += 1,
            // The query begins after this parenthesis.
            Token::LParen if depth == 0 => break,
            Token::LParen => depth -= 1,
            _ if depth > 0 => {}
            Token::SemiColon => break,
            word => match keyword(word) {
                Keyword::SELECT | Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT => break,
                word => {
                    if let Some((later, name)) = rank(word).filter(|(later, _)| *later > place) {
                        first = Some((later, name));
                    }
                }
            },
        }
    }
    let (_, before) = first?;
    Some((format!("{found} comes before {before}"), ORDER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_clauses_are_named() {
        for (sql, column, expected) in [
            ("select * from t limit 1 where id = 1", 25, Some("WHERE comes before LIMIT")),
            ("select * from t order by id where x", 29, Some("WHERE comes before ORDER BY")),
            ("select * where id = 1 from t", 23, Some("FROM comes before WHERE")),
            ("select * from t where x join u on y", 25, Some("JOIN comes before WHERE")),
            ("select * from t limit 2 order by id", 25, Some("ORDER BY comes before LIMIT")),
            ("select 1 from (select 2 limit 1) t where x", 36, None),
            ("select a from t limit 1 union select b from u where c", 47, None),
            ("select * from t x y", 19, None),
        ] {
            let said = misordered(sql, (1, column)).map(|(message, _)| message);
            assert_eq!(said.as_deref(), expected, "{sql}");
        }
    }
}
