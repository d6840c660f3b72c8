//! LIKE patterns: compilation and matching.

use memchr::memmem::{self, Finder};

use super::shift_and::ShiftAnd;
use super::text::starts_char;
use crate::error::{Result, SelectError, SelectErrorCode as Code};

/// A compiled LIKE pattern: `%` matches any text, `_` any character.
///
/// Matching does not backtrack over a `%`. The parts between them are found one after the other, each as early as
/// possible, which finds a match if there is one.
#[derive(Debug, Clone)]
pub struct LikePattern(Shape);

#[derive(Debug, Clone)]
enum Shape {
    /// A pattern without wildcards.
    Exact(Vec<u8>),
    /// A pattern `text%`.
    Prefix(Vec<u8>),
    /// A pattern `%text`.
    Suffix(Vec<u8>),
    /// A pattern `%text%`.
    Contains(Box<Finder<'static>>),
    /// A pattern with `_` and without `%`.
    Whole(Segment),
    /// A pattern `first%middle%…%last`.
    Parts { first: Segment, middle: Vec<Segment>, last: Segment },
}

/// The part of a pattern between two `%`.
#[derive(Debug, Clone)]
struct Segment {
    atoms: Vec<Atom>,
    search: Search,
}

/// The method of searching for a part.
#[derive(Debug, Clone)]
enum Search {
    /// A substring search, for a part without `_`.
    Text(Box<Finder<'static>>),
    /// The same, prepared for each search, for the parts of a pattern that has many.
    Unprepared,
    /// A test at every position, for a short part.
    Everywhere,
    Gaps(ShiftAnd),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Atom {
    Text(Vec<u8>),
    AnyChar,
}

/// The maximum number of wildcards in a pattern.
const MOST_WILDCARDS: usize = 10_000;

/// The maximum length of a pattern with `_` in bytes. A search for such a part takes 32 bytes for each of its own.
const LONGEST_WITH_GAPS: usize = 64 << 10;

/// The maximum number of parts that are searched for with a prepared search, which takes some 600 bytes.
const MOST_PREPARED: usize = 100;

impl LikePattern {
    /// Compiles a pattern in which `escape`, if given, makes `%`, `_` and itself literal.
    ///
    /// # Errors
    ///
    /// `EvaluatorLikePatternInvalidEscapeSequence` if `escape` is not one character, or if it stands before any other
    /// character or at the end. `LikeInvalidInputs` for more than 10,000 wildcards, or if a pattern with `_` is longer
    /// than 64 KiB, because a pattern may come from the data, and compiled patterns take memory.
    pub fn compile(pattern: &str, escape: Option<&str>) -> Result<Self> {
        refuse_large(pattern)?;
        let escape = escape.map(single_char).transpose()?;
        let mut parts = vec![Vec::new()];
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            if c == '%' && escape != Some('%') {
                parts.push(Vec::new());
                continue;
            }
            let Some(atoms) = parts.last_mut() else { break };
            if Some(c) == escape {
                match chars.next() {
                    Some(next) if next == c || matches!(next, '%' | '_') => push(atoms, next),
                    _ => return Err(invalid_escape("the ESCAPE character escapes nothing")),
                }
            } else if c == '_' {
                atoms.push(Atom::AnyChar);
            } else {
                push(atoms, c);
            }
        }
        Ok(Self(Shape::new(parts)))
    }

    /// Returns true if the whole text matches.
    #[must_use]
    #[inline]
    pub fn matches(&self, text: &[u8]) -> bool {
        self.matches_unless(text, &|| false)
    }

    /// Like [`Self::matches`], but ends early, with an arbitrary result, when `stop` returns true.
    ///
    /// A pattern with `_` may take time proportional to the product of its own length and the text's, both of which
    /// may be long.
    #[must_use]
    #[inline]
    pub fn matches_unless(&self, text: &[u8], stop: &dyn Fn() -> bool) -> bool {
        match &self.0 {
            Shape::Exact(exact) => text == &exact[..],
            Shape::Prefix(prefix) => text.starts_with(prefix),
            Shape::Suffix(suffix) => text.ends_with(suffix),
            Shape::Contains(finder) => finder.find(text).is_some(),
            Shape::Whole(part) => part.match_start(text) == Some(text.len()),
            Shape::Parts { first, middle, last } => match_parts(text, [first, last], middle, stop),
        }
    }

    /// The text that every match begins with; it may be empty.
    #[must_use]
    pub fn prefix(&self) -> &[u8] {
        match &self.0 {
            Shape::Exact(text) | Shape::Prefix(text) => text,
            Shape::Suffix(_) | Shape::Contains(_) => b"",
            Shape::Whole(part) | Shape::Parts { first: part, .. } => match part.atoms.first() {
                Some(Atom::Text(text)) => text,
                _ => b"",
            },
        }
    }
}

fn refuse_large(pattern: &str) -> Result<()> {
    if pattern.len() <= MOST_WILDCARDS {
        return Ok(());
    }
    let bytes = pattern.as_bytes();
    let count = |wildcard: u8| memchr::memchr_iter(wildcard, bytes).count();
    let (any, gaps) = (count(b'%'), count(b'_'));
    if any + gaps > MOST_WILDCARDS {
        return Err(SelectError::new(
            Code::LikeInvalidInputs,
            "a pattern of LIKE has at most 10000 wildcards",
        ));
    }
    if gaps > 0 && bytes.len() > LONGEST_WITH_GAPS {
        return Err(SelectError::new(
            Code::LikeInvalidInputs,
            "a pattern of LIKE with _ has at most 65536 bytes",
        ));
    }
    Ok(())
}

fn single_char(escape: &str) -> Result<char> {
    let mut chars = escape.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(c),
        _ => Err(invalid_escape("ESCAPE needs exactly one character")),
    }
}

#[cold]
fn invalid_escape(message: &'static str) -> SelectError {
    SelectError::new(Code::EvaluatorLikePatternInvalidEscapeSequence, message)
}

fn push(atoms: &mut Vec<Atom>, c: char) {
    let mut buffer = [0; 4];
    let bytes = c.encode_utf8(&mut buffer).as_bytes();
    if let Some(Atom::Text(text)) = atoms.last_mut() {
        text.extend_from_slice(bytes);
    } else {
        atoms.push(Atom::Text(bytes.to_vec()));
    }
}

/// The text of a part without `_`; `None` for other parts.
fn plain(atoms: &[Atom]) -> Option<&[u8]> {
    match atoms {
        [] => Some(b""),
        [Atom::Text(text)] => Some(text),
        _ => None,
    }
}

impl Shape {
    fn new(mut parts: Vec<Vec<Atom>>) -> Self {
        let last = parts.pop().unwrap_or_default();
        if parts.is_empty() {
            return match plain(&last) {
                Some(text) => Self::Exact(text.to_vec()),
                None => Self::Whole(Segment::new(last, true)),
            };
        }
        let first = parts.remove(0);
        // `%%` equals `%`.
        parts.retain(|atoms| !atoms.is_empty());
        match (plain(&first), &parts[..], plain(&last)) {
            (Some(b""), [], Some(b"")) => return Self::Prefix(Vec::new()),
            (Some(prefix), [], Some(b"")) => return Self::Prefix(prefix.to_vec()),
            (Some(b""), [], Some(suffix)) => return Self::Suffix(suffix.to_vec()),
            (Some(b""), [middle], Some(b"")) => {
                if let Some(text) = plain(middle) {
                    return Self::Contains(Box::new(Finder::new(text).into_owned()));
                }
            }
            _ => {}
        }
        let prepares = parts.len() <= MOST_PREPARED;
        Self::Parts {
            first: Segment::new(first, prepares),
            middle: parts.into_iter().map(|part| Segment::new(part, prepares)).collect(),
            last: Segment::new(last, prepares),
        }
    }
}

fn match_parts(
    text: &[u8],
    [first, last]: [&Segment; 2],
    middle: &[Segment],
    stop: &dyn Fn() -> bool,
) -> bool {
    let Some(start) = first.match_start(text) else { return false };
    let mut rest = &text[start..];
    for part in middle {
        let Some(end) = part.find(rest, stop) else { return false };
        rest = &rest[end..];
    }
    last.match_end(rest)
}

impl Segment {
    /// Creates a part; `prepares` chooses the search for a text.
    fn new(atoms: Vec<Atom>, prepares: bool) -> Self {
        /// The largest number of bytes and `_` in a part that is tested at every position.
        const FEW: usize = 8;
        let search = if let Some(text) = plain(&atoms) {
            match prepares {
                true => Search::Text(Box::new(Finder::new(text).into_owned())),
                false => Search::Unprepared,
            }
        } else {
            let mut sequence = Vec::new();
            for atom in &atoms {
                match atom {
                    Atom::Text(text) => sequence.extend(text.iter().copied().map(Some)),
                    Atom::AnyChar => sequence.push(None),
                }
            }
            match sequence.len() {
                ..=FEW => Search::Everywhere,
                _ => Search::Gaps(ShiftAnd::new(&sequence)),
            }
        };
        Self { atoms, search }
    }

    /// The length of the match if the text begins with the part.
    fn match_start(&self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        for atom in &self.atoms {
            at += match atom {
                Atom::Text(part) => text[at..].starts_with(part).then_some(part.len())?,
                Atom::AnyChar => char_length_at(&text[at..])?,
            };
        }
        Some(at)
    }

    /// Returns true if the text ends with the part.
    fn match_end(&self, text: &[u8]) -> bool {
        let mut end = text.len();
        for atom in self.atoms.iter().rev() {
            let start = match atom {
                Atom::Text(part) => text[..end].ends_with(part).then(|| end - part.len()),
                Atom::AnyChar => text[..end].iter().rposition(|byte| starts_char(*byte)),
            };
            let Some(start) = start else { return false };
            end = start;
        }
        true
    }

    /// The end of the part's first occurrence.
    fn find(&self, text: &[u8], stop: &dyn Fn() -> bool) -> Option<usize> {
        match &self.search {
            Search::Text(finder) => finder.find(text).map(|at| at + finder.needle().len()),
            Search::Unprepared => {
                let needle = plain(&self.atoms)?;
                memmem::find(text, needle).map(|at| at + needle.len())
            }
            Search::Everywhere => {
                let mut starts = (0..text.len()).filter(|at| starts_char(text[*at]));
                starts.find_map(|at| self.match_start(&text[at..]).map(|length| at + length))
            }
            Search::Gaps(gaps) => gaps.find(text, stop),
        }
    }
}

/// The number of bytes of the first character.
fn char_length_at(text: &[u8]) -> Option<usize> {
    let rest = text.get(1..)?;
    Some(1 + rest.iter().take_while(|byte| !starts_char(**byte)).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// LIKE by its definition, for comparison with the compiled pattern.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['%', rest @ ..] => (0..=text.len()).any(|skip| naive(rest, &text[skip..])),
            ['_', rest @ ..] => !text.is_empty() && naive(rest, &text[1..]),
            [c, rest @ ..] => text.first() == Some(c) && naive(rest, &text[1..]),
        }
    }

    #[track_caller]
    fn check(text: &str, pattern: &str, escape: Option<&str>, expected: bool) {
        let compiled = LikePattern::compile(pattern, escape).unwrap();
        assert_eq!(compiled.matches(text.as_bytes()), expected, "{text} LIKE {pattern}");
        assert!(!expected || text.as_bytes().starts_with(compiled.prefix()));
    }

    #[test]
    fn wildcards() {
        for (text, pattern, expected) in [
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("abc", "abc", true),
            ("abc", "ABC", false),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "a%b%c", true),
            ("abc", "a_c", true),
            ("aéc", "a_c", true),
            ("ac", "a_c", false),
            ("aXaYb", "%a_b", true),
            ("éaXXX", "éa%b", false),
            ("aba", "ab%ba", false),
            ("abba", "ab%ba", true),
            ("abcabd", "%ab_", true),
            ("abcabd", "%a_c%_", true),
            ("a\nb", "a%b", true),
            ("abc", "%%%", true),
            ("special packages requests", "%special%requests%", true),
        ] {
            check(text, pattern, None, expected);
        }
    }

    #[test]
    fn patterns_are_bounded() {
        let many = |count: usize| "%ab".repeat(count);
        check(&"xab".repeat(9_000), &many(9_000), None, true);
        check(&"xab".repeat(8_999), &many(9_000), None, false);
        check(&"a".repeat(200_000), &"a".repeat(200_000), None, true);
        for pattern in [many(10_001), "_".repeat(10_001), "a".repeat(70_000) + "_"] {
            let error = LikePattern::compile(&pattern, None).unwrap_err();
            assert_eq!(error.code, Code::LikeInvalidInputs);
        }
    }

    #[test]
    fn a_long_search_can_be_stopped() {
        let part = "a_a".repeat(4000);
        let pattern = LikePattern::compile(&format!("%{part}%"), None).unwrap();
        // The match is at the end of the text.
        let text = format!("{}{part}", "a".repeat(5000) + &"b".repeat(500_000));
        let asked = std::cell::Cell::new(0);
        let ask = |most: usize| {
            asked.set(asked.get() + 1);
            asked.get() >= most
        };
        assert!(pattern.matches_unless(text.as_bytes(), &|| ask(usize::MAX)));
        assert!(asked.replace(0) > 3);
        assert!(!pattern.matches_unless(text.as_bytes(), &|| ask(2)));
        assert_eq!(asked.get(), 2);
    }

    #[test]
    fn escapes() {
        check("100%", "100!%", Some("!"), true);
        check("1000", "100!%", Some("!"), false);
        check("a_b", "a\\_b", Some("\\"), true);
        check("axb", "a\\_b", Some("\\"), false);
        check("a!b", "a!!b", Some("!"), true);
        check("a%b", "a%%b", Some("%"), true);
        check("axb", "a%%b", Some("%"), false);
        for (pattern, escape) in [("a!", "!"), ("a!b", "!"), ("a", ""), ("a", "!!")] {
            let error = LikePattern::compile(pattern, Some(escape)).unwrap_err();
            assert_eq!(error.code, Code::EvaluatorLikePatternInvalidEscapeSequence, "{pattern}");
        }
    }

    #[test]
    fn hostile_patterns_end() {
        let pattern = "%a".repeat(2000) + "b";
        check(&"a".repeat(100_000), &pattern, None, false);
        let pattern = "%a_".repeat(2000) + "b";
        check(&"a".repeat(100_000), &pattern, None, false);
        let pattern = format!("%{}b%", "a_".repeat(9_000));
        check(&"a".repeat(200_000), &pattern, None, false);
        let text = "a".repeat(150_000) + "b";
        check(&text, &pattern, None, true);
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(text in "[abé]{0,12}", pattern in "[abé%_]{0,4}[a_é]{0,6}%?") {
            let compiled = LikePattern::compile(&pattern, None).unwrap();
            let (p, t): (Vec<_>, Vec<_>) = (pattern.chars().collect(), text.chars().collect());
            prop_assert_eq!(compiled.matches(text.as_bytes()), naive(&p, &t));
        }

        #[test]
        fn long_parts_agree_with_the_definition(
            before in "[abé]{0,70}",
            part in prop::collection::vec(prop_oneof![5 => "[abé]", 1 => Just("_".to_owned())], 60..140),
            after in "[abé]{0,5}",
            changed in any::<prop::sample::Index>(),
        ) {
            let pattern = format!("%{}%", part.concat());
            let compiled = LikePattern::compile(&pattern, None).unwrap();
            let mut text: Vec<char> = before.chars().collect();
            text.extend(part.iter().map(|c| if c == "_" { 'é' } else { c.chars().next().unwrap() }));
            text.extend(after.chars());
            prop_assert!(compiled.matches(text.iter().collect::<String>().as_bytes()));
            let changed = changed.index(text.len());
            text[changed] = 'b';
            let p: Vec<char> = pattern.chars().collect();
            let matches = compiled.matches(text.iter().collect::<String>().as_bytes());
            prop_assert_eq!(matches, naive(&p, &text));
        }

        #[test]
        fn no_bytes_panic(text in proptest::collection::vec(any::<u8>(), 0..20), pattern in "[a%_é]{0,6}") {
            let _ = LikePattern::compile(&pattern, None).unwrap().matches(&text);
        }
    }
}
