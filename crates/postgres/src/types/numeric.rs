//! The binary form of `numeric`: groups of four decimal digits.

use bytes::BufMut;

/// The sign of a negative number.
const NEGATIVE: u16 = 0x4000;
/// The sign of the value that is no number.
const NAN: u16 = 0xC000;
/// Most groups that a parameter may have; PostgreSQL's numbers have at most 131,072 digits before the point.
const MOST_GROUPS: usize = 1_000;

/// Appends the binary form of a decimal number. Returns false if the text is none.
pub fn write(out: &mut impl BufMut, text: &str) -> bool {
    if text == "NaN" {
        header(out, 0, 0, NAN, 0);
        return true;
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (NEGATIVE, digits),
        None => (0, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return false;
    }
    let whole = whole.trim_start_matches('0');
    let mut padded = "0".repeat(whole.len().next_multiple_of(4) - whole.len());
    padded.push_str(whole);
    let before_point = padded.len() / 4;
    padded.push_str(fraction);
    padded.push_str(&"0".repeat(padded.len().next_multiple_of(4) - padded.len()));
    let mut groups: Vec<u16> = padded
        .as_bytes()
        .chunks(4)
        .map(|group| group.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0')))
        .collect();
    let mut weight = i16::try_from(before_point).unwrap_or(i16::MAX) - 1;
    while groups.last() == Some(&0) {
        groups.pop();
    }
    let zeros = groups.iter().take_while(|group| **group == 0).count();
    groups.drain(..zeros);
    weight -= i16::try_from(zeros).unwrap_or(0);
    let (sign, weight) = if groups.is_empty() { (0, 0) } else { (sign, weight) };
    let scale = u16::try_from(fraction.len()).unwrap_or(u16::MAX);
    header(out, u16::try_from(groups.len()).unwrap_or(0), weight, sign, scale);
    for group in groups {
        out.put_u16(group);
    }
    true
}

fn header(out: &mut impl BufMut, groups: u16, weight: i16, sign: u16, scale: u16) {
    out.put_u16(groups);
    out.put_i16(weight);
    out.put_u16(sign);
    out.put_u16(scale);
}

/// Reads the binary form of a decimal number as text; `None` if the bytes are none.
#[must_use]
pub fn read(bytes: &[u8]) -> Option<String> {
    let field = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let (count, sign, scale) = (usize::from(field(0)?), field(4)?, usize::from(field(6)?));
    let weight = i32::from(i16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
    if sign == NAN {
        return Some("NaN".to_owned());
    }
    if sign != 0 && sign != NEGATIVE {
        return None;
    }
    let most = i32::try_from(MOST_GROUPS).unwrap_or(0);
    if count > MOST_GROUPS || weight.abs() > most || scale > 4 * MOST_GROUPS {
        return None;
    }
    if bytes.len() != 8 + 2 * count {
        return None;
    }
    let group = |position: i32| -> Option<u16> {
        match usize::try_from(weight - position) {
            Ok(index) if index < count => field(8 + 2 * index).filter(|group| *group < 10_000),
            _ => Some(0),
        }
    };
    let mut text = String::new();
    for position in (0..=weight.max(0)).rev() {
        text += &format!("{:04}", group(position)?);
    }
    let whole = text.trim_start_matches('0');
    let mut text = if whole.is_empty() { "0".to_owned() } else { whole.to_owned() };
    if sign == NEGATIVE {
        text.insert(0, '-');
    }
    if scale > 0 {
        let mut fraction = String::new();
        for position in 1..=i32::try_from(scale.div_ceil(4)).ok()? {
            fraction += &format!("{:04}", group(-position)?);
        }
        text.push('.');
        text += &fraction[..scale];
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        assert!(write(&mut out, text), "{text}");
        out
    }

    #[test]
    fn the_form_is_that_of_postgres() {
        // As numeric_send writes them.
        assert_eq!(written("0"), [0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(written("1"), [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(written("-12345.678"), [0, 3, 0, 1, 64, 0, 0, 3, 0, 1, 9, 41, 26, 124]);
        assert_eq!(written("0.0001"), [0, 1, 255, 255, 0, 0, 0, 4, 0, 1]);
        assert_eq!(written("10000"), [0, 1, 0, 1, 0, 0, 0, 0, 0, 1]);
        assert_eq!(written("NaN"), [0, 0, 0, 0, 192, 0, 0, 0]);
        for wrong in ["", ".", "-", "1e5", "1.2.3", " 1"] {
            assert!(!write(&mut Vec::new(), wrong), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn numbers_are_read_back(text in "-?[1-9][0-9]{0,30}\\.[0-9]{1,20}|0\\.[0-9]{1,30}|-?[1-9][0-9]{0,40}") {
            let expected = text.clone();
            prop_assert_eq!(read(&written(&text)).unwrap(), expected);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = read(&bytes);
        }
    }
}
