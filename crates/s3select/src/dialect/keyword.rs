//! Reserved words, and the rule for names without quotes.

use std::collections::HashSet;
use std::sync::LazyLock;

/// The words that the service reserves, in lower case, one per line. A column or field with such a name needs double
/// quotes.
pub(super) const RESERVED_WORDS: &str = include_str!("reserved-words.txt");

static RESERVED: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| RESERVED_WORDS.lines().collect());

/// The length of the longest reserved word.
const LONGEST: usize = 17;

/// Returns true if the word is reserved, in any case.
#[must_use]
pub fn is_reserved(word: &str) -> bool {
    word.len() <= LONGEST && RESERVED.contains(word.to_ascii_lowercase().as_str())
}

/// Returns true if the text can be parsed as one unquoted word.
#[must_use]
pub fn is_word(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(starts_word) && bytes.all(continues_word)
}

pub(super) fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$'
}

pub(super) fn continues_word(byte: u8) -> bool {
    starts_word(byte) || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_complete() {
        assert_eq!(RESERVED.len(), 242);
        assert_eq!(RESERVED_WORDS.lines().map(str::len).max(), Some(LONGEST));
        assert!(is_reserved("Timestamp") && is_reserved("zone") && !is_reserved("s3object"));
    }

    #[test]
    fn words() {
        for (text, expected) in
            [("_1", true), ("a$b", true), ("1a", false), ("", false), ("é", false), ("a b", false)]
        {
            assert_eq!(is_word(text), expected, "{text}");
        }
    }
}
