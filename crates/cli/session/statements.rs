//! Text cut into statements.

/// Statements and what follows the last `;`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Split<'a> {
    /// Complete statements, without their `;`. Empty ones are left out.
    pub(crate) complete: Vec<&'a str>,
    /// What is not ended by a `;` yet; empty if that is only space and comments.
    pub(crate) rest: &'a str,
}

/// Cuts at each `;` that is not inside a string, a quoted name or a comment.
pub(crate) fn split(text: &str) -> Split<'_> {
    let mut complete = Vec::new();
    let mut scan = Scan { text, at: 0 };
    let mut start = 0;
    let mut has_words = false;
    while let Some(piece) = scan.next() {
        match piece {
            Piece::End => {
                if has_words {
                    complete.push(text[start..scan.at - 1].trim());
                }
                start = scan.at;
                has_words = false;
            }
            Piece::Word => has_words = true,
            Piece::Blank => {}
        }
    }
    Split { complete, rest: if has_words { text[start..].trim() } else { "" } }
}

/// All statements of a text; the last one needs no `;`.
pub(crate) fn all(text: &str) -> Vec<&str> {
    let mut split = split(text);
    if !split.rest.is_empty() {
        split.complete.push(split.rest);
    }
    split.complete
}

enum Piece {
    /// A `;`
    End,
    /// A part of a statement.
    Word,
    /// Space or a comment.
    Blank,
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn next(&mut self) -> Option<Piece> {
        let rest = &self.text[self.at..];
        let first = rest.chars().next()?;
        let (length, piece) = match first {
            ';' => (1, Piece::End),
            // A doubled quote inside is the end of one string and the start of the next.
            '\'' | '"' | '`' => (after(rest, 1, first), Piece::Word),
            '-' if rest.starts_with("--") => (after(rest, 2, '\n'), Piece::Blank),
            '/' if rest.starts_with("/*") => (block_comment(rest), Piece::Blank),
            c if c.is_whitespace() => (c.len_utf8(), Piece::Blank),
            c => (c.len_utf8(), Piece::Word),
        };
        self.at += length;
        Some(piece)
    }
}

/// The length up to and including the next `end` from `from` on, or all of it.
fn after(text: &str, from: usize, end: char) -> usize {
    text[from..].find(end).map_or(text.len(), |at| from + at + end.len_utf8())
}

/// The length of a comment, in which others may be nested.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(found) = text[at..].find(['/', '*']) {
        at += found;
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth = depth.saturating_sub(1);
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, complete: &[&str], rest: &str) {
        assert_eq!(split(text), Split { complete: complete.to_vec(), rest }, "{text}");
    }

    #[test]
    fn statements_end_at_a_semicolon() {
        check("", &[], "");
        check(" ;; ; ", &[], "");
        check("select 1", &[], "select 1");
        check("select 1;", &["select 1"], "");
        check(" a ;\n b; c ", &["a", "b"], "c");
    }

    #[test]
    fn but_not_inside_strings_names_and_comments() {
        check("select ';', 'it''s;';", &["select ';', 'it''s;'"], "");
        check("select \"a;b\" from `c;d`; x", &["select \"a;b\" from `c;d`"], "x");
        check("a -- b;\n c; -- d;", &["a -- b;\n c"], "");
        check("a /* ; /* ; */ ; */ b; /*;", &["a /* ; /* ; */ ; */ b"], "");
        check("select 'open;", &[], "select 'open;");
        check("é; 'ü;ö' ; 1/2*3;", &["é", "'ü;ö'", "1/2*3"], "");
        check("/*/ ; */ x;", &["/*/ ; */ x"], "");
    }

    #[test]
    fn the_last_statement_needs_no_semicolon() {
        assert_eq!(all("a; b"), ["a", "b"]);
        assert_eq!(all("a; -- b"), ["a"]);
    }
}
