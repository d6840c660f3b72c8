//! The string functions, on UTF-8 bytes.
//!
//! Positions and lengths count characters (code points). In text that is not UTF-8, a character begins at every byte
//! that does not continue one.

use std::borrow::Cow;

use crate::error::{Result, SelectError, SelectErrorCode as Code};

/// CHAR_LENGTH: the number of characters.
#[must_use]
#[inline]
pub fn char_length(text: &[u8]) -> i64 {
    text.iter().filter(|byte| starts_char(**byte)).count() as i64
}

/// SUBSTRING: the characters at positions `start` up to `start + length`, counted from 1; from
/// `start` on if there is no length. Positions before the first character count but are empty:
/// `SUBSTRING('12345', 0, 3)` is `12`.
///
/// # Errors
///
/// `EvaluatorInvalidArguments` if the length is negative.
#[inline]
pub fn substring(text: &[u8], start: i64, length: Option<i64>) -> Result<&[u8]> {
    let (skip, take) = substring_window(start, length)?;
    if text.is_ascii() {
        return Ok(&text[skip.min(text.len())..skip.saturating_add(take).min(text.len())]);
    }
    let from = nth_char(text, skip);
    let rest = &text[from..];
    Ok(&rest[..nth_char(rest, take)])
}

/// The number of characters that SUBSTRING skips, and the largest number that it then takes.
///
/// # Errors
///
/// In the cases of [`substring`].
#[inline]
pub fn substring_window(start: i64, length: Option<i64>) -> Result<(usize, usize)> {
    let first = start.max(1);
    let skip = usize::try_from(first - 1).unwrap_or(usize::MAX);
    let Some(length) = length else { return Ok((skip, usize::MAX)) };
    if length < 0 {
        return Err(SelectError::new(
            Code::EvaluatorInvalidArguments,
            format!("SUBSTRING with the negative length {length}"),
        ));
    }
    let end = start.saturating_add(length);
    Ok((skip, usize::try_from(end.saturating_sub(first)).unwrap_or(0)))
}

/// The offset of the character after the first `n`.
fn nth_char(text: &[u8], n: usize) -> usize {
    // The text has at most as many characters as bytes.
    if n >= text.len() {
        return text.len();
    }
    let mut starts = text.iter().enumerate().filter(|(_, byte)| starts_char(**byte));
    starts.nth(n).map_or(text.len(), |(at, _)| at)
}

#[inline]
pub(super) fn starts_char(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// LOWER: the text in lower case. Text that is not UTF-8 is returned unchanged.
#[must_use]
pub fn lower(text: &[u8]) -> Cow<'_, [u8]> {
    change_case(text, u8::is_ascii_uppercase, <[u8]>::to_ascii_lowercase, str::to_lowercase)
}

/// UPPER: the text in upper case. Text that is not UTF-8 is returned unchanged.
#[must_use]
pub fn upper(text: &[u8]) -> Cow<'_, [u8]> {
    change_case(text, u8::is_ascii_lowercase, <[u8]>::to_ascii_uppercase, str::to_uppercase)
}

fn change_case(
    text: &[u8],
    changes: fn(&u8) -> bool,
    ascii: fn(&[u8]) -> Vec<u8>,
    unicode: fn(&str) -> String,
) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        if text.iter().any(changes) { Cow::Owned(ascii(text)) } else { Cow::Borrowed(text) }
    } else {
        match std::str::from_utf8(text) {
            Ok(text) => Cow::Owned(unicode(text).into_bytes()),
            Err(_) => Cow::Borrowed(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check_substring(text: &str, start: i64, length: Option<i64>, expected: &str) {
        let part = substring(text.as_bytes(), start, length).unwrap();
        assert_eq!(std::str::from_utf8(part), Ok(expected));
    }

    #[test]
    fn substring_counts_from_one() {
        check_substring("123456789", 0, None, "123456789");
        check_substring("123456789", 1, None, "123456789");
        check_substring("123456789", 2, None, "23456789");
        check_substring("123456789", -4, None, "123456789");
        check_substring("123456789", 0, Some(999), "123456789");
        check_substring("123456789", 0, Some(3), "12");
        check_substring("123456789", 1, Some(5), "12345");
        check_substring("123456789", -4, Some(6), "1");
        check_substring("123456789", -4, Some(5), "");
        check_substring("123456789", 10, Some(1), "");
        check_substring("", 1, Some(1), "");
        check_substring("äöü€x", 2, Some(3), "öü€");
        check_substring("äöü€x", 5, None, "x");
        check_substring("abc", i64::MIN, Some(i64::MAX), "");
        check_substring("abc", i64::MAX, Some(i64::MAX), "");
        check_substring("abc", 1, Some(i64::MAX), "abc");
        let error = substring(b"abc", 1, Some(-1)).unwrap_err();
        assert_eq!(error.code, Code::EvaluatorInvalidArguments);
    }

    #[test]
    fn case_and_length() {
        assert_eq!(&*lower("AbÉ".as_bytes()), "abé".as_bytes());
        assert_eq!(&*upper("abß1".as_bytes()), "ABSS1".as_bytes());
        assert!(matches!(upper(b"AB1"), Cow::Borrowed(_)));
        assert_eq!(&*upper(b"a\xff"), b"a\xff");
        assert_eq!(char_length("aé€😀".as_bytes()), 4);
        assert_eq!(char_length(b""), 0);
    }

    proptest! {
        #[test]
        fn substring_is_what_characters_say(text in "\\PC{0,12}", start in -3i64..15, length in 0i64..15) {
            let expected: String = text.chars().enumerate()
                .filter(|(i, _)| (start..start + length).contains(&(*i as i64 + 1)))
                .map(|(_, c)| c).collect();
            prop_assert_eq!(substring(text.as_bytes(), start, Some(length)).unwrap(), expected.as_bytes());
        }

        #[test]
        fn no_bytes_panic(text in proptest::collection::vec(any::<u8>(), 0..20), start in any::<i64>(), length in any::<Option<i64>>()) {
            let _ = substring(&text, start, length);
            let _ = (lower(&text), upper(&text), char_length(&text));
        }
    }
}
