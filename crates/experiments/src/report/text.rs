//! Text that is easier to read.

/// The shortest number that has separators.
const SEPARATED: usize = 5;

/// Returns a text with commas between the thousands of its whole numbers: `244949 rows` is `244,949 rows`.
pub(super) fn readable(text: &str) -> String {
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
            assert_eq!(readable(text), expected);
        }
    }
}
