//! Encodes numbers and NULL as bytes that sort in the order of the values.
//!
//! The key of a number starts with a byte for its sign and length. Its bytes without leading zeros follow. The key of
//! a text is its UTF-8.

/// The key of NULL; every other key is less.
pub const NULL: [u8; 1] = [0xff];

/// Appends the key of a number. A longer positive number sorts higher, a longer negative number sorts lower.
pub fn write_number(number: i128, out: &mut Vec<u8>) {
    let negative = number < 0;
    let bytes = if negative { !number } else { number }.to_be_bytes();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let significant = bytes.len() - zeros;
    // The length is at most 16.
    let length = u8::try_from(significant).unwrap_or(u8::MAX);
    if negative {
        out.push(0x7f - length);
        out.extend(bytes[zeros..].iter().map(|byte| !byte));
    } else {
        out.push(0x80 + length);
        out.extend_from_slice(&bytes[zeros..]);
    }
}

/// Returns the key of a number.
#[must_use]
pub fn of_number(number: i128) -> Vec<u8> {
    let mut key = Vec::new();
    write_number(number, &mut key);
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_of_numbers_sort_as_the_numbers_do(a: i128, b: i128, shift in 0_u32..127) {
            let (a, b) = (a >> shift, b >> shift);
            prop_assert_eq!(of_number(a).cmp(&of_number(b)), a.cmp(&b), "{} {}", a, b);
            prop_assert!(of_number(a.saturating_sub(1)) <= of_number(a));
            prop_assert!(of_number(a).as_slice() < NULL.as_slice());
        }
    }
}
