//! `COPY … TO '…' (FORMAT parquet, COMPRESSION zstd)`: converts options in the syntax of PostgreSQL and DuckDB to
//! that of DataFusion's parser, `STORED AS PARQUET OPTIONS (…)`.

use std::fmt::Write;

use datafusion::common::Result;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::catalog::option_names::{self, OPTIONS, canonical, in_options, once};
use crate::context::error::{ErrorKind, UserError, are_similar};

/// Returns the tokens of COPY with its options in DataFusion's syntax, or `None` if it has no options in parentheses.
///
/// # Errors
///
/// If there is no option of a name, or it does not have one value.
pub(crate) fn understood(tokens: &[TokenWithSpan]) -> Result<Option<Vec<TokenWithSpan>>> {
    let Some((with, open, close)) = place(tokens) else { return Ok(None) };
    let mut written = CopyClauses::default();
    let items = items(&tokens[open + 1..close]);
    once("option", items.iter().map(|item| item.name.as_str()), |name| {
        match canonical(option_names::written(name).unwrap_or(name)) {
            name if name == "partitioned_by" => "partition_by".to_owned(),
            name => name,
        }
    })?;
    for item in items {
        written.add(&item)?;
    }
    let text = written.text();
    let Ok(ours) = Tokenizer::new(&GenericDialect {}, &text).tokenize() else { return Ok(None) };
    let span = tokens[open].span;
    let ours = ours.into_iter().map(|token| TokenWithSpan::new(token, span));
    let (before, behind) = (&tokens[..with], &tokens[close + 1..]);
    Ok(Some(before.iter().cloned().chain(ours).chain(behind.iter().cloned()).collect()))
}

/// Returns the indexes of the first token of the options, which may be WITH, and of their parentheses.
fn place(tokens: &[TokenWithSpan]) -> Option<(usize, usize, usize)> {
    let words: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_) | Token::EOF))
        .collect();
    let first = words
        .iter()
        .map(|at| keyword(&tokens[*at].token))
        .find(|word| !matches!(word, Keyword::EXPLAIN | Keyword::ANALYZE | Keyword::VERBOSE))?;
    if first != Keyword::COPY {
        return None;
    }
    let mut depth = 0_usize;
    let mut target = None;
    for (index, at) in words.iter().enumerate() {
        match &tokens[*at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::SingleQuotedString(_)
                if depth == 0
                    && index > 0
                    && keyword(&tokens[words[index - 1]].token) == Keyword::TO =>
            {
                target = Some(index);
                break;
            }
            _ => {}
        }
    }
    let behind = target? + 1;
    let with = *words.get(behind)?;
    let open = match keyword(&tokens[with].token) {
        Keyword::WITH => behind + 1,
        _ => behind,
    };
    let is = |index: usize, token: &Token| {
        words.get(index).is_some_and(|at| tokens[*at].token == *token)
    };
    if !is(open, &Token::LParen) {
        return None;
    }
    let mut depth = 0_usize;
    let close = (open..words.len()).find(|index| {
        depth += usize::from(is(*index, &Token::LParen));
        depth -= usize::from(is(*index, &Token::RParen));
        depth == 0
    })?;
    let is_last = words[close + 1..].iter().all(|at| tokens[*at].token == Token::SemiColon);
    is_last.then(|| (with, words[open], words[close]))
}

fn keyword(token: &Token) -> Keyword {
    match token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// An option as it is written.
struct Item {
    name: String,
    values: Vec<String>,
}

/// Parses the options between two parentheses.
fn items(tokens: &[TokenWithSpan]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut depth = 0_usize;
    let mut begins = true;
    for TokenWithSpan { token, .. } in tokens {
        let text = match token {
            Token::Whitespace(_) | Token::Eq | Token::RArrow => continue,
            Token::LParen | Token::LBracket => {
                depth += 1;
                continue;
            }
            Token::RParen | Token::RBracket => {
                depth = depth.saturating_sub(1);
                continue;
            }
            Token::Comma => {
                begins |= depth == 0;
                continue;
            }
            Token::SingleQuotedString(text) => text.clone(),
            Token::Word(word) => word.value.clone(),
            other => other.to_string(),
        };
        match items.last_mut() {
            Some(item) if !begins => item.values.push(text),
            _ => items.push(Item { name: text, values: Vec::new() }),
        }
        begins = false;
    }
    items
}

/// The clauses that replace the options.
#[derive(Debug, Default)]
struct CopyClauses {
    format: Option<String>,
    partitions: Vec<String>,
    options: Vec<(&'static str, String)>,
}

impl CopyClauses {
    fn add(&mut self, Item { name, values }: &Item) -> Result<()> {
        let lower = name.to_ascii_lowercase();
        match (lower.as_str(), values.as_slice()) {
            ("format", [format]) => self.format = Some(format.to_ascii_uppercase()),
            ("partition_by" | "partitioned_by", [_, ..]) => {
                self.partitions.extend(values.iter().cloned())
            }
            _ => {
                let known = in_options(lower.trim_start_matches("format."));
                let value = match values.as_slice() {
                    [] => Some("true".to_owned()),
                    [one] => Some(one.clone()),
                    _ => None,
                };
                let Some((option, value)) = known.zip(value) else {
                    let mut all = OPTIONS.iter().flat_map(|(names, _)| *names);
                    let meant = all
                        .find(|it| known.is_none() && are_similar(it, &lower))
                        .map_or_else(String::new, |it| format!("Did you mean {it}? "));
                    let names: Vec<&str> = OPTIONS.iter().map(|(names, _)| names[0]).collect();
                    let told = UserError {
                        kind: ErrorKind::Plan,
                        message: match known {
                            None => format!("COPY has no option `{name}`"),
                            Some(_) => format!("the option `{name}` of COPY has one value"),
                        },
                        hint: Some(format!(
                            "{meant}Its options are format, partition_by, {}; OPTIONS ('format.…' '…') takes all of a format.",
                            names.join(", ")
                        )),
                    };
                    return Err(told.into());
                };
                self.options.push((option, value));
            }
        }
        Ok(())
    }

    fn text(self) -> String {
        let Self { format, partitions, options } = self;
        // Writing to a string cannot fail.
        let mut text = String::from(" ");
        if let Some(format) = format {
            let _ = write!(text, "STORED AS {format} ");
        }
        if !partitions.is_empty() {
            let names: Vec<String> = partitions
                .iter()
                .map(|name| format!("\"{}\"", name.replace('"', "\"\"")))
                .collect();
            let _ = write!(text, "PARTITIONED BY ({}) ", names.join(", "));
        }
        if !options.is_empty() {
            let quoted =
                |(name, value): (&str, String)| format!("'{name}' '{}'", value.replace('\'', "''"));
            let options: Vec<String> = options.into_iter().map(quoted).collect();
            let _ = write!(text, "OPTIONS ({}) ", options.join(", "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(sql: &str) -> Result<Option<String>> {
        let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location().unwrap();
        let tokens = understood(&tokens)?;
        Ok(tokens.map(|tokens| {
            let text: String = tokens.iter().map(|it| it.token.to_string()).collect();
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        }))
    }

    #[test]
    fn options_in_parentheses_are_those_of_other_systems() {
        for (options, expected) in [
            ("(FORMAT parquet)", "STORED AS PARQUET"),
            ("(format 'csv', header);", "STORED AS CSV OPTIONS ('format.has_header' 'true') ;"),
            ("WITH (DELIMITER ';')", "OPTIONS ('format.delimiter' ';')"),
            (
                "(FORMAT PARQUET, COMPRESSION zstd)",
                "STORED AS PARQUET OPTIONS ('format.compression' 'zstd')",
            ),
            (
                "(FORMAT json, COMPRESSION = gzip, OVERWRITE)",
                "STORED AS JSON OPTIONS ('format.compression' 'gzip', 'overwrite' 'true')",
            ),
            (
                "(FORMAT csv, PARTITION_BY (year, \"Month\"))",
                "STORED AS CSV PARTITIONED BY (\"year\", \"Month\")",
            ),
            // The token shows its quote unescaped.
            ("(NULL 'it''s')", "OPTIONS ('format.null_value' 'it's')"),
        ] {
            let sql = format!("explain COPY (select ')' from t) TO 's3://b/x' {options}");
            let expected = format!("explain COPY (select ')' from t) TO 's3://b/x' {expected}");
            assert_eq!(rewritten(&sql).unwrap().as_deref(), Some(expected.as_str()), "{options}");
        }
    }

    #[test]
    fn what_is_no_option_is_named_and_the_rest_is_left() {
        let said = rewritten("COPY t TO 'x' (FORMAT csv, COLOR red)").unwrap_err().to_string();
        assert!(said.contains("COPY has no option `COLOR`"), "{said}");
        for sql in [
            "COPY t TO 'x' STORED AS CSV OPTIONS (a 'b')",
            "COPY t TO 'x'",
            "select 'x' (a)",
            "COPY t TO 'x' (FORMAT csv) STORED AS CSV",
            "COPY (select 1) TO",
        ] {
            assert_eq!(rewritten(sql).unwrap(), None, "{sql}");
        }
    }
}
