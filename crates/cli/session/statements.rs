//! Splits text into statements.

/// The statements of a text, and the rest after the last `;`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Split<'a> {
    /// Complete statements without their `;`. Empty ones are left out.
    pub(crate) complete: Vec<&'a str>,
    /// The text that no `;` has ended yet; empty if it is only space and comments.
    pub(crate) rest: &'a str,
    /// Number of bytes of `rest` that need no second scan when lines follow: those before a quote or comment that is
    /// open at the end. It is 0 if only the open piece has words.
    pub(crate) known: usize,
}

/// Splits a text at each `;` that is not inside a string, a quoted name or a comment.
pub(crate) fn split(text: &str) -> Split<'_> {
    split_from(text, 0)
}

/// Splits the rest of an earlier split and the lines after it. The first `known` bytes are not scanned again.
pub(crate) fn split_from(text: &str, known: usize) -> Split<'_> {
    let mut complete = Vec::new();
    let mut start = 0;
    let mut has_words = known > 0;
    // Start of the last piece if it is open, and whether words come before it.
    let mut open = None;
    for piece in pieces(&text[known..]) {
        let at = known + piece.start;
        open = (!piece.closed).then_some((at, has_words));
        match piece.kind {
            Kind::End => {
                if has_words {
                    complete.push(text[start..at].trim());
                }
                start = at + piece.text.len();
                has_words = false;
            }
            // A comment that does not end counts as words, so that it is reported as an error.
            Kind::Comment if piece.closed => {}
            Kind::Space => {}
            _ => has_words = true,
        }
    }
    if !has_words {
        return Split { complete, rest: "", known: 0 };
    }
    let rest = text[start..].trim_start();
    let begin = text.len() - rest.len();
    let rest = rest.trim_end();
    let known = match open {
        Some((at, true)) => at - begin,
        Some((_, false)) => 0,
        None => rest.len(),
    };
    Split { complete, rest, known }
}

/// Returns all statements of a text; the last one needs no `;`.
pub(crate) fn all(text: &str) -> Vec<&str> {
    let mut split = split(text);
    if !split.rest.is_empty() {
        split.complete.push(split.rest);
    }
    split.complete
}

/// A step of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// A statement without its `;`.
    Statement(&'a str),
    /// A line that is a command of the program, such as `\timing on`.
    Command(&'a str),
}

/// Returns the statements and commands of a script. Commands are lines that begin with `\` or, if no statement has
/// begun, with a point and a letter, outside of strings and comments. A command inside a statement ends it. `exit`,
/// `quit`, `help` and the like are commands if they are whole statements.
pub(crate) fn steps(text: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut start = 0;
    while let Some(line) = command_line(text, start, false) {
        steps.extend(all(&text[start..line.start]).into_iter().map(step));
        steps.push(Step::Command(line.text.trim()));
        start = line.start + line.text.len();
    }
    steps.extend(all(&text[start..]).into_iter().map(step));
    steps
}

/// Returns a text as a statement, or as a command if it is one without a sign before it.
fn step(text: &str) -> Step<'_> {
    if is_plain_command(text) { Step::Command(text) } else { Step::Statement(text) }
}

/// Returns the first line after `from` that is a command. `is_begun` is true if a statement has begun before.
pub(crate) fn command_line(text: &str, from: usize, is_begun: bool) -> Option<Token<'_>> {
    let mut is_begun = is_begun;
    let (mut line, mut seen) = (text[..from].rfind('\n').map_or(0, |end| end + 1), from);
    for piece in pieces(&text[from..]) {
        let at = from + piece.start;
        line = text[seen..at].rfind('\n').map_or(line, |end| seen + end + 1);
        seen = at;
        let is_first = line < from || text[line..at].trim().is_empty();
        // Inside a statement, a point may begin a line with a column's name.
        if is_first && (is_command(&text[at..]) || !is_begun && is_dotted(&text[at..])) {
            let length = text[at..].find('\n').unwrap_or(text.len() - at);
            return Some(Token { start: at, text: &text[at..at + length], ..piece });
        }
        match piece.kind {
            Kind::End => is_begun = false,
            Kind::Comment | Kind::Space => {}
            _ => is_begun = true,
        }
    }
    None
}

/// Commands of other shells that begin with a point and are recognized here.
const DOTTED: [&str; 8] =
    [".exit", ".help", ".mode", ".quit", ".read", ".schema", ".tables", ".timer"];

/// Commands without a sign before them, alone on a line.
const PLAIN: [&str; 9] = ["exit", "help", "quit", "exit()", "quit()", "q", "bye", ":q", "?"];

/// Returns true if a line is a command of the program.
pub(crate) fn is_command(line: &str) -> bool {
    let first = line.split(|c: char| c.is_whitespace() || c == ';').next().unwrap_or_default();
    line.starts_with('\\') || DOTTED.contains(&first)
}

/// Returns true if a line looks like a command of another shell: a point and a letter.
pub(crate) fn is_dotted(line: &str) -> bool {
    line.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Returns true if the whole text is a command without a sign before it.
pub(crate) fn is_plain_command(text: &str) -> bool {
    PLAIN.contains(&text.trim().trim_end_matches(';').trim_end())
}

/// Returns what is open at the end of a text: a quote, or `/*`.
pub(crate) fn open_at_end(text: &str) -> Option<&str> {
    let last = pieces(text).last().filter(|piece| !piece.closed)?;
    Some(if last.kind == Kind::Comment { "/*" } else { &last.text[..1] })
}

/// The kinds of pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The `;` at the end of a statement.
    End,
    /// A keyword, a name or a function.
    Word,
    /// A numeric literal.
    Number,
    /// Text between `'`. A text with a doubled quote is two pieces.
    Text,
    /// A name between `"` or backticks.
    Name,
    /// Anything else, such as an operator.
    Symbol,
    /// A line comment or a block comment.
    Comment,
    /// Whitespace between other pieces.
    Space,
}

/// A piece of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    /// Offset of the piece in bytes.
    pub(crate) start: usize,
    pub(crate) text: &'a str,
    /// True if the quote or comment of the piece is closed.
    pub(crate) closed: bool,
}

/// Splits a text into pieces that cover all of it.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let first = rest.chars().next()?;
        let (length, kind, closed) = piece(rest, first);
        let piece = Token { kind, start: at, text: &rest[..length], closed };
        at += length;
        Some(piece)
    })
}

/// Returns the length and the kind of the first piece, and whether it is closed.
fn piece(rest: &str, first: char) -> (usize, Kind, bool) {
    let run = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
    let of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    match first {
        ';' => (1, Kind::End, true),
        // A doubled quote inside is the end of one string and the start of the next.
        '\'' | '"' | '`' => {
            let length = after(rest, 1, first);
            let kind = if first == '\'' { Kind::Text } else { Kind::Name };
            (length, kind, length > 1 && rest[..length].ends_with(first))
        }
        '-' if rest.starts_with("--") => (after(rest, 2, '\n'), Kind::Comment, true),
        '/' if rest.starts_with("/*") => {
            let (length, closed) = block_comment(rest);
            (length, Kind::Comment, closed)
        }
        c if c.is_whitespace() => (run(char::is_whitespace), Kind::Space, true),
        c if c.is_ascii_digit() => {
            (run(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_')), Kind::Number, true)
        }
        c if of_word(c) => (run(of_word), Kind::Word, true),
        c => (c.len_utf8(), Kind::Symbol, true),
    }
}

/// Returns the length up to and including the next `end` after `from`, or the whole length.
fn after(text: &str, from: usize, end: char) -> usize {
    text[from..].find(end).map_or(text.len(), |at| from + at + end.len_utf8())
}

/// Returns the length of a comment, in which others may be nested, and whether it ends.
fn block_comment(text: &str) -> (usize, bool) {
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
                return (at, true);
            }
        } else {
            at += 1;
        }
    }
    (text.len(), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, complete: &[&str], rest: &str) {
        let found = split(text);
        assert_eq!((found.complete.as_slice(), found.rest), (complete, rest), "{text}");
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
        check("a /* ; /* ; */ ; */ b; /*;", &["a /* ; /* ; */ ; */ b"], "/*;");
        check("select 'open;", &[], "select 'open;");
        check("é; 'ü;ö' ; 1/2*3;", &["é", "'ü;ö'", "1/2*3"], "");
        check("/*/ ; */ x;", &["/*/ ; */ x"], "");
    }

    /// Splits lines like the prompt, which scans each line once.
    #[test]
    fn statements_of_several_lines_are_those_of_their_text() {
        for lines in [
            ["select 'a", "b;c' as d, -- e;", "f; g"].as_slice(),
            &["/* a", "b */ select", "1 /* c", "; */;"],
            &["x /* a */ /* b", "c */", "d;"],
            &["select \"a", "\";", "", "'x", "y'", "z"],
            &["a -", "- b /", "* c; */", ";"],
            &["'it''", "s'", ";"],
        ] {
            let (mut pending, mut known, mut complete) = (String::new(), 0, Vec::new());
            for line in lines {
                pending += line;
                let found = split_from(&pending, known);
                let whole = split(&pending);
                assert_eq!(
                    (&found.complete, found.rest),
                    (&whole.complete, whole.rest),
                    "{lines:?}"
                );
                complete.extend(found.complete.iter().map(|it| (*it).to_owned()));
                known = found.known;
                pending = match found.rest {
                    "" => String::new(),
                    rest => format!("{rest}\n"),
                };
            }
            let text = lines.join("\n");
            let whole = split(&text);
            assert_eq!(complete, whole.complete, "{lines:?}");
            assert_eq!(pending.trim(), whole.rest, "{lines:?}");
        }
        // All bytes but those of the open piece are known.
        assert_eq!(split("select a, 'b").known, "select a, ".len());
        assert_eq!(split("select a; b ").known, 1);
        assert_eq!(split("'a").known, 0);
    }

    #[test]
    fn pieces_are_the_whole_text_and_know_what_is_open() {
        for (text, open) in [
            ("", None),
            ("select 'a", Some("'")),
            ("select 'it''s'", None),
            ("select 'it''", Some("'")),
            ("select \"a", Some("\"")),
            ("'", Some("'")),
            ("/* a /* b */", Some("/*")),
            ("-- it's", None),
            ("1.5e3+é_1 <> `x`; /**/", None),
        ] {
            assert_eq!(open_at_end(text), open, "{text}");
            assert_eq!(pieces(text).map(|piece| piece.text).collect::<String>(), text);
        }
        let kinds: Vec<Kind> = pieces("é_1 1.5<'a'").map(|piece| piece.kind).collect();
        assert_eq!(kinds, [Kind::Word, Kind::Space, Kind::Number, Kind::Symbol, Kind::Text]);
    }

    #[test]
    fn commands_are_lines_outside_of_strings_and_comments() {
        use Step::{Command as C, Statement as S};

        #[track_caller]
        fn check(text: &str, expected: &[Step<'_>]) {
            assert_eq!(steps(text), expected, "{text}");
        }
        check("a; b", &[S("a"), S("b")]);
        check("\\x\na;\n  \\i b.sql\nc", &[C("\\x"), S("a"), C("\\i b.sql"), S("c")]);
        check("a\n\\d t\n", &[S("a"), C("\\d t")]);
        check("select '\n\\x\n' -- it's\n\\x", &[S("select '\n\\x\n' -- it's"), C("\\x")]);
        check("/*\n\\x\n*/ a \\x;", &[S("/*\n\\x\n*/ a \\x")]);
        check(".read a.sql\n.5", &[C(".read a.sql"), S(".5")]);
        check(".tables;\n.tablesx", &[C(".tables;"), C(".tablesx")]);
        check("select t\n.name;\n.foo bar", &[S("select t\n.name"), C(".foo bar")]);
        assert!(is_plain_command(" help ;") && !is_plain_command("help me"));
        check("\\d\n\n;\n", &[C("\\d")]);
    }

    #[test]
    fn the_last_statement_needs_no_semicolon() {
        assert_eq!(all("a; b"), ["a", "b"]);
        assert_eq!(all("a; -- b"), ["a"]);
    }
}
