//! The lexer: words, numbers and signs.

/// A token with the line that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub text: String,
    pub line: usize,
}

impl Token {
    pub(super) fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    }

    pub(super) fn is_number(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_digit())
    }
}

/// Signs of several characters, the longest first. `>>` is two: it also ends `register<bit<32>>`.
const SIGNS: [&str; 9] = ["|+|", "|-|", "++", "==", "!=", "<=", ">=", "&&", "||"];

/// Returns the tokens of a program, and the files that it includes.
pub(super) fn tokens(text: &str) -> (Vec<Token>, Vec<String>) {
    let (mut tokens, mut includes) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        if let Some(file) = line.strip_prefix("#include <") {
            includes.push(file.trim_end_matches('>').to_owned());
            continue;
        }
        let mut rest = line.split("//").next().unwrap_or("").trim_start();
        while let Some(first) = rest.chars().next() {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let length = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else {
                SIGNS.iter().find(|sign| rest.starts_with(**sign)).map_or(1, |sign| sign.len())
            };
            tokens.push(Token { text: rest[..length].to_owned(), line: number + 1 });
            rest = rest[length..].trim_start();
        }
    }
    (tokens, includes)
}
