//! The TRIM function.

use super::text::starts_char;
use crate::dialect::ast::TrimSide;

/// The set of characters that TRIM removes, with a fast lookup for any number of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrimSet {
    /// A bit mask of the ASCII characters.
    ascii: u128,
    /// The other characters, in ascending order.
    others: Vec<char>,
}

impl TrimSet {
    /// The set of a TRIM without characters: the space.
    pub const SPACE: Self = Self { ascii: 1 << b' ', others: Vec::new() };

    /// The set of the characters in a text.
    #[must_use]
    pub fn new(chars: &str) -> Self {
        let mut set = Self::default();
        for c in chars.chars() {
            match c {
                '\0'..='\x7f' => set.ascii |= 1 << u32::from(c),
                other => set.others.push(other),
            }
        }
        set.others.sort_unstable();
        set.others.dedup();
        set
    }

    /// The text without these characters at the chosen ends. Bytes that are not UTF-8 stay.
    #[must_use]
    pub fn trim<'a>(&self, text: &'a [u8], side: TrimSide) -> &'a [u8] {
        let mut text = text;
        if side != TrimSide::Trailing {
            while let Some(first) = first_char(text).filter(|first| self.holds(first)) {
                text = &text[first.len()..];
            }
        }
        if side != TrimSide::Leading {
            while let Some(last) = last_char(text).filter(|last| self.holds(last)) {
                text = &text[..text.len() - last.len()];
            }
        }
        text
    }

    #[inline]
    fn holds(&self, char: &[u8]) -> bool {
        if let [byte @ ..=0x7f] = char {
            return self.ascii >> byte & 1 == 1;
        }
        let char = std::str::from_utf8(char).ok().and_then(|char| char.chars().next());
        char.is_some_and(|char| self.others.binary_search(&char).is_ok())
    }
}

#[inline]
fn first_char(text: &[u8]) -> Option<&[u8]> {
    let more = text.get(1..)?.iter().take_while(|byte| !starts_char(**byte)).count();
    text.get(..=more)
}

#[inline]
fn last_char(text: &[u8]) -> Option<&[u8]> {
    let start = text.iter().rposition(|byte| starts_char(*byte)).unwrap_or(0);
    text.get(start..).filter(|last| !last.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, side: TrimSide, set: &TrimSet, expected: &str) {
        assert_eq!(std::str::from_utf8(set.trim(text.as_bytes(), side)), Ok(expected));
    }

    #[test]
    fn trim_takes_a_set_of_characters() {
        let set = TrimSet::new;
        check("  a b ", TrimSide::Both, &TrimSet::SPACE, "a b");
        check("  a b ", TrimSide::Leading, &TrimSet::SPACE, "a b ");
        check("  a b ", TrimSide::Trailing, &TrimSet::SPACE, "  a b");
        check("\ta\t", TrimSide::Both, &TrimSet::SPACE, "\ta\t");
        check("1112211foobar22211122", TrimSide::Both, &set("12"), "foobar");
        check("éèaé", TrimSide::Both, &set("é"), "èa");
        check("aaa", TrimSide::Both, &set("a"), "");
        check("aaa", TrimSide::Both, &set(""), "aaa");
        check("\0\u{7f}a\u{80}", TrimSide::Both, &set("\u{80}\u{7f}\0"), "a");
    }

    /// A set of two hundred thousand characters, the last of which is in the text. Without an index, each character
    /// of the text would be compared with all of them, which takes minutes.
    #[test]
    fn a_large_set_costs_no_more_for_each_character() {
        let set: String = ('\u{10000}'..='\u{40000}').chain(['é', 'a']).collect();
        let set = TrimSet::new(&set);
        let text = format!("{0}x{0}", "aé\u{10000}".repeat(1 << 19));
        check(&text, TrimSide::Both, &set, "x");
    }

    proptest! {
        #[test]
        fn the_set_holds_what_its_text_does(text in "[abéö€😀]{0,9}", chars in "[abéö€😀]{0,4}") {
            let expected = text.trim_matches(|c| chars.contains(c));
            let trimmed = TrimSet::new(&chars).trim(text.as_bytes(), TrimSide::Both);
            prop_assert_eq!(trimmed, expected.as_bytes());
        }

        #[test]
        fn no_bytes_panic(text in proptest::collection::vec(any::<u8>(), 0..20), chars in "\\PC{0,4}") {
            let _ = TrimSet::new(&chars).trim(&text, TrimSide::Both);
        }
    }
}
