//! Writes the digits of short numbers without a loop over them. The number of digits differs from row to row, so the
//! end of such a loop is hard to predict.

/// Appends an integer in decimal digits.
#[inline]
pub fn write_int(int: i64, out: &mut Vec<u8>) {
    if int < 0 {
        out.push(b'-');
    }
    let number = int.unsigned_abs();
    match u32::try_from(number) {
        Ok(short) if short < 100_000_000 => {
            let digits = eight(short);
            let zeros = (digits.trailing_zeros() / 8).min(7);
            let text = (digits | 0x3030_3030_3030_3030) >> (8 * zeros);
            let end = out.len() + 8 - zeros as usize;
            out.extend_from_slice(&text.to_le_bytes());
            out.truncate(end);
        }
        _ => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
    }
}

/// Appends a number with a point before its last `places` digits. Returns false and writes nothing if the number has
/// more than 15 digits, including leading zeros after the point.
#[inline]
pub(super) fn write_fixed(number: u64, places: u32, out: &mut Vec<u8>) -> bool {
    if number >= 1_000_000_000_000_000 || !(1..=14).contains(&places) {
        return false;
    }
    let (high, low) = (number / 100_000_000, number % 100_000_000);
    let digits = u128::from(eight(high as u32)) | u128::from(eight(low as u32)) << 64;
    // One digit stays before the point. The first of the sixteen digits is always zero, so the point has room.
    let zeros = (digits.trailing_zeros() / 8).min(15 - places);
    let text = (digits | u128::from_ne_bytes([b'0'; 16])) >> (8 * zeros);
    let before = 8 * (16 - zeros - places);
    let fraction = u128::MAX << before;
    let text = text & !fraction | u128::from(b'.') << before | (text & fraction) << 8;
    let end = out.len() + 17 - zeros as usize;
    out.extend_from_slice(&text.to_le_bytes());
    out.truncate(end);
    true
}

/// The digits of a number below 10⁸, one per byte, with the first in the lowest byte.
#[inline(always)]
fn eight(number: u32) -> u64 {
    const HUNDREDS: u64 = 0x0000_007f_0000_007f;
    const TENS: u64 = 0x000f_000f_000f_000f;
    // Splits the number into two of four digits, then four of two, then eight digits. Multiplication by 10486 / 2²⁰
    // and by 103 / 2¹⁰ divides numbers as short as these by 100 and by 10.
    let fours = u64::from(number / 10_000) | u64::from(number % 10_000) << 32;
    let high = ((fours * 10_486) >> 20) & HUNDREDS;
    let twos = high | (fours - 100 * high) << 16;
    let high = ((twos * 103) >> 10) & TENS;
    high | (twos - 10 * high) << 8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn int(int: i64) -> String {
        let mut out = b"x".to_vec();
        write_int(int, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn fixed(number: u64, places: u32) -> Option<String> {
        let mut out = b"x".to_vec();
        write_fixed(number, places, &mut out).then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn numbers_at_the_bounds() {
        for power in 0..19 {
            for number in [10_i64.pow(power) - 1, 10_i64.pow(power)] {
                assert_eq!(int(number), format!("x{number}"));
                assert_eq!(int(-number), format!("x{}", -number));
            }
        }
        assert_eq!(int(i64::MIN), format!("x{}", i64::MIN));
        assert_eq!(fixed(0, 1).unwrap(), "x0.0");
        assert_eq!(fixed(0, 14).unwrap(), "x0.00000000000000");
        assert_eq!(fixed(5, 2).unwrap(), "x0.05");
        assert_eq!(fixed(1250, 2).unwrap(), "x12.50");
        assert_eq!(fixed(999_999_999_999_999, 1).unwrap(), "x99999999999999.9");
        assert_eq!(fixed(999_999_999_999_999, 14).unwrap(), "x9.99999999999999");
        for (number, places) in [(1_000_000_000_000_000, 2), (u64::MAX, 2), (1, 0), (1, 15)] {
            assert_eq!(fixed(number, places), None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        #[test]
        fn digits_are_those_of_the_standard_library(number: u64, less in 0_u32..64, places in 1_u32..15) {
            let number = number >> less;
            prop_assert_eq!(int(number.cast_signed()), format!("x{}", number.cast_signed()));
            if let Some(text) = fixed(number, places) {
                let power = 10_u64.pow(places);
                let (whole, fraction) = (number / power, number % power);
                let width = places as usize;
                prop_assert_eq!(text, format!("x{whole}.{fraction:0width$}"));
            } else {
                prop_assert!(number >= 1_000_000_000_000_000);
            }
        }
    }
}
