//! CREATE EXTERNAL TABLE without STORED AS: the format follows from the name of the file.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::context::file_names::{ARROW, COMPRESSIONS, TABS};

/// Returns the tokens of CREATE EXTERNAL TABLE with STORED AS, or `None` if the statement is another one, has STORED AS,
/// or the name of its file implies no format.
pub(crate) fn added(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let words: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_) | Token::EOF))
        .collect();
    let is = |at: &usize, word: Keyword| keyword(&tokens[*at].token) == word;
    let is_external = words.iter().take(5).any(|at| is(at, Keyword::EXTERNAL));
    if !is(words.first()?, Keyword::CREATE)
        || !is_external
        || words.iter().any(|at| is(at, Keyword::STORED))
    {
        return None;
    }
    let location = words.windows(2).find(|pair| {
        is(&pair[0], Keyword::LOCATION)
            && matches!(tokens[pair[1]].token, Token::SingleQuotedString(_))
    })?;
    let Token::SingleQuotedString(url) = &tokens[location[1]].token else { return None };
    let format = format(url)?;
    let span = tokens[location[0]].span;
    let added = ["STORED", "AS", format]
        .into_iter()
        .flat_map(|word| [Token::make_keyword(word), Token::Whitespace(SPACE)])
        .map(|token| TokenWithSpan::new(token, span));
    let (before, behind) = tokens.split_at(location[0]);
    Some(before.iter().cloned().chain(added).chain(behind.iter().cloned()).collect())
}

const SPACE: datafusion::sql::sqlparser::tokenizer::Whitespace =
    datafusion::sql::sqlparser::tokenizer::Whitespace::Space;

fn keyword(token: &Token) -> Keyword {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// Returns the format that the name of a file implies.
fn format(url: &str) -> Option<&'static str> {
    let name = url.to_ascii_lowercase();
    let compression = COMPRESSIONS.iter().find(|(suffix, _)| name.ends_with(suffix));
    let stem = compression.and_then(|(suffix, _)| name.strip_suffix(suffix)).unwrap_or(&name);
    match stem.rsplit('/').next()?.rsplit_once('.')?.1 {
        "csv" | TABS => Some("CSV"),
        "json" | "ndjson" | "jsonl" => Some("JSON"),
        "parquet" => Some("PARQUET"),
        "avro" => Some("AVRO"),
        arrow if ARROW.contains(&arrow) => Some("ARROW"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    use super::*;

    #[test]
    fn the_name_of_the_file_implies_the_format() {
        for (sql, expected) in [
            (
                "CREATE EXTERNAL TABLE t (a INT) LOCATION 's3://b/x.csv.gz'",
                Some("CREATE EXTERNAL TABLE t (a INT) STORED AS CSV LOCATION 's3://b/x.csv.gz'"),
            ),
            (
                "create or replace external table t location 'x.NDJSON' options (a 'b')",
                Some(
                    "create or replace external table t STORED AS JSON location 'x.NDJSON' options (a 'b')",
                ),
            ),
            (
                "CREATE EXTERNAL TABLE t LOCATION 'x.feather'",
                Some("CREATE EXTERNAL TABLE t STORED AS ARROW LOCATION 'x.feather'"),
            ),
            ("CREATE EXTERNAL TABLE t LOCATION 's3://b/folder/'", None),
            ("CREATE EXTERNAL TABLE t LOCATION 'x.txt'", None),
            ("CREATE EXTERNAL TABLE t STORED AS JSON LOCATION 'x.csv'", None),
            ("CREATE TABLE t (location TEXT)", None),
        ] {
            let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location().unwrap();
            let tokens = added(&tokens);
            let text: Option<String> =
                tokens.map(|tokens| tokens.iter().map(|it| it.token.to_string()).collect());
            assert_eq!(text.as_deref(), expected, "{sql}");
        }
    }
}
