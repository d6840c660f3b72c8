//! Text that is easier to read.

/// The shortest number that has separators.
const SEPARATED: usize = 5;
/// A space at which a line does not end.
const NO_BREAK: char = '\u{a0}';
/// The words that stay on a line with the number before them.
const UNITS: &str = "% s ms µs h B kB KB MB GB TB KiB MiB GiB GB/s MB/s Gbit/s Mbit/s Tbit/s bit bits byte bytes row rows \
     keys times cents million points percentage entries columns stages rules queries claims runs groups workers values \
     requests counters plans programs scans";

/// Returns a text with commas between the thousands of its whole numbers, and with spaces at which no line ends between
/// numbers and their units.
pub(crate) fn readable(text: &str) -> String {
    bound(&separated(text))
}

/// Returns a text with spaces at which no line ends between its numbers and their units.
pub(crate) fn bound(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        let is_bound = character == ' ' && is_bound(&text[..at], &text[at + 1..]);
        shown.push(if is_bound { NO_BREAK } else { character });
    }
    shown
}

/// Returns a text with commas between the thousands of its whole numbers: `244949 rows` is `244,949 rows`.
pub(crate) fn separated(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if !first.is_ascii_digit() {
            shown.push(first);
            before = first;
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        // Not the decimals of a number, nor a part of a name.
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let is_whole = before != '.' && !is_word(before) && !after.starts_with(is_word);
        match is_whole && digits.len() >= SEPARATED {
            true => separate(&mut shown, digits),
            false => shown.push_str(digits),
        }
        before = '0';
        rest = after;
    }
    shown
}

/// Returns true if no line may end between these texts: between a number and its unit, and around `×`.
fn is_bound(before: &str, after: &str) -> bool {
    if after.starts_with("× ") || before.ends_with('×') || before.ends_with('§') {
        return true;
    }
    let is_end = |c: char| !(c.is_alphanumeric() || c == '%' || c == '/' || c == 'µ');
    let word = after.split(is_end).next().unwrap_or_default();
    before.ends_with(|c: char| c.is_ascii_digit())
        && !word.is_empty()
        && UNITS.split(' ').any(|unit| unit == word)
}

/// Returns a note as a sentence: with a capital at its start and a period at its end.
pub(crate) fn sentence(note: &str) -> String {
    let note = note.trim();
    let mut characters = note.chars();
    let Some(first) = characters.next() else { return String::new() };
    let end = if note.ends_with(['.', '!', '?', ':']) { "" } else { "." };
    readable(&format!("{}{}{end}", first.to_uppercase(), characters.as_str()))
}

fn separate(shown: &mut String, digits: &str) {
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_separators() {
        for (text, expected) in [
            ("1572864 of 14400000000", "1,572,864 of 14,400,000,000"),
            ("1000 rows, 65,536, -12345.678 s", "1000 rows, 65,536, -12,345.678 s"),
            ("0.9999123 and 1e100000", "0.9999123 and 1e100000"),
            ("c_acctbal_12345, x100000, 100000x, 2^16", "c_acctbal_12345, x100000, 100000x, 2^16"),
            ("16384×4, ±50000 %", "16,384×4, ±50,000 %"),
        ] {
            assert_eq!(separated(text), expected);
        }
    }

    #[test]
    fn a_number_stays_on_a_line_with_its_unit() {
        for (text, expected) in [
            ("10 Gbit/s and 5 rows", "10~Gbit/s and 5~rows"),
            ("-30 %, 481 × 19, 1.9 µs.", "-30~%, 481~×~19, 1.9~µs."),
            ("21.7 s; query 9 scans", "21.7~s; query 9~scans"),
            ("query 72 the least, 4 of 6", "query 72 the least, 4 of 6"),
        ] {
            assert_eq!(readable(text).replace(NO_BREAK, "~"), expected);
        }
    }

    #[test]
    fn a_note_ends_with_a_period() {
        assert_eq!(sentence("as at scale 1"), "As at scale 1.");
        assert_eq!(sentence("Both. "), "Both.");
        assert_eq!(sentence("3 of 4"), "3 of 4.");
        assert_eq!(sentence(""), "");
    }
}
