//! Parses short numbers, eight bytes at a time.
//!
//! A number is read together with the bytes before it in its heap, which are then masked. No loop depends on the
//! number of digits, which differs from row to row and is hard to predict. Anything but plain digits is left to the
//! scalar functions, which give the same results.

use crate::vector::Span;

/// Parses a number of 1 to 8 digits.
#[inline(always)]
pub(super) fn int(heap: &[u8], span: Span) -> Option<i64> {
    if !(1..=8).contains(&span.len()) {
        return None;
    }
    let digits = before(heap, span.start() + span.len())? & (u64::MAX << (64 - 8 * span.len()));
    is_digits(digits).then(|| number(digits).cast_signed())
}

/// Parses a number with a point, `places` (1 to 7) digits after it and at most 15 digits in total. Returns its digits
/// without the point.
#[inline(always)]
pub(super) fn fixed(heap: &[u8], span: Span, places: usize) -> Option<i64> {
    let length = span.len();
    if length > 16 || length < places + 2 {
        return None;
    }
    let end = span.start() + length;
    let low = before(heap, end)?;
    let fraction = u64::MAX << (64 - 8 * places);
    let point = u64::from(b'.' ^ b'0') << (56 - 8 * places);
    if low & (0xff << (56 - 8 * places)) != point {
        return None;
    }
    // Move the digits before the point to its place.
    let high = if length > 8 { before(heap, end - 8)? } else { 0 };
    let low = low & fraction | (low << 8 | high >> 56) & !fraction;
    let digits = length - 1;
    if digits <= 8 {
        let digits = low & (u64::MAX << (64 - 8 * digits));
        return is_digits(digits).then(|| number(digits).cast_signed());
    }
    let high = (high << 8) & (u64::MAX << (128 - 8 * digits));
    (is_digits(low) && is_digits(high))
        .then(|| (number(high) * 100_000_000 + number(low)).cast_signed())
}

/// Returns the eight bytes before `end` as digit values, the last in the highest place.
#[inline(always)]
fn before(heap: &[u8], end: usize) -> Option<u64> {
    let bytes = heap.get(end.checked_sub(8)?..end)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes) ^ 0x3030_3030_3030_3030)
}

/// Returns whether all bytes are 0 to 9.
#[inline(always)]
fn is_digits(digits: u64) -> bool {
    // No carry leaves a byte that is below 128.
    let beyond = digits.wrapping_add(0x7676_7676_7676_7676);
    (beyond | digits) & 0x8080_8080_8080_8080 == 0
}

/// Returns the number with these eight digits, the first in the lowest place.
#[inline(always)]
fn number(digits: u64) -> u64 {
    const PAIR: u64 = 0x0000_00ff_0000_00ff;
    // Combine pairs, then the first and third with their weights, then the second and fourth.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let odd = (pairs & PAIR).wrapping_mul(100 + (1_000_000 << 32));
    let even = ((pairs >> 16) & PAIR).wrapping_mul(1 + (10_000 << 32));
    odd.wrapping_add(even) >> 32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sluicegate_s3select::value::cast::{parse_decimal, parse_int};

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        #[test]
        fn what_is_read_is_what_the_scalar_functions_read(
            before in "[0-9a.,é]{0,20}",
            text in prop_oneof![
                8 => "[0-9]{0,16}", 8 => "[0-9]{0,9}[.][0-9]{0,8}", 2 => "[-+0-9. :/é\u{80}]{0,17}",
            ],
            behind in "[0-9,]{0,3}",
            places in 1_usize..8,
        ) {
            let heap = format!("{before}{text}{behind}");
            let span = Span::new(before.len() as u32, text.len() as u32);
            if let Some(int) = int(heap.as_bytes(), span) {
                prop_assert_eq!(Some(int), parse_int(text.as_bytes()));
            }
            if let Some(unscaled) = fixed(heap.as_bytes(), span, places) {
                let decimal = parse_decimal(text.as_bytes(), None).unwrap();
                prop_assert_eq!(i128::from(unscaled), decimal.unscaled());
                prop_assert_eq!(places as i8, decimal.scale());
            }
            // Every plain number is parsed here, unless too few bytes precede it in the heap.
            let plain = before.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_digit());
            if plain && (1..=8).contains(&text.len()) {
                prop_assert!(int(heap.as_bytes(), span).is_some());
            }
            if before.len() >= 16
                && text.len() <= 16
                && let Some((whole, fraction)) = text.split_once('.')
                && fraction.len() == places
                && !whole.is_empty()
                && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit())
            {
                prop_assert!(fixed(heap.as_bytes(), span, places).is_some());
            }
        }
    }
}
