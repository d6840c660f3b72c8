//! Converts keys to numbers, so that the share of keys in a span can be interpolated.

use std::cmp::Ordering;

use sluicegate_index::key::NULL;

/// The conversion of a column's keys to numbers.
#[derive(Debug, Clone, Copy)]
pub enum Scale {
    /// Keys of whole numbers, decimals, dates or times.
    Number,
    /// Keys of 64-bit floating-point numbers.
    Double,
    /// Keys of 32-bit floating-point numbers.
    Single,
    /// Keys of text, without a common prefix of so many bytes.
    Text(usize),
}

impl Scale {
    /// Returns the scale of the keys between two, for a column whose type has this name in index objects.
    #[must_use]
    pub fn between(type_name: &str, low: &[u8], high: &[u8]) -> Self {
        match type_name {
            "Utf8" => Self::Text(low.iter().zip(high).take_while(|(a, b)| a == b).count()),
            "Float64" => Self::Double,
            "Float32" => Self::Single,
            _ => Self::Number,
        }
    }

    /// Returns the number for a key, as exact as its first bytes allow.
    #[must_use]
    pub fn at(self, key: &[u8]) -> f64 {
        if key == NULL {
            return GREATEST;
        }
        match self {
            Self::Number => number(key),
            Self::Double => {
                let bits = u64::from_be_bytes(bytes(key, 1));
                let turned = if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits };
                finite(f64::from_bits(turned))
            }
            Self::Single => {
                let bits = u32::from_be_bytes(bytes(key, 1));
                let turned = if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits };
                finite(f64::from(f32::from_bits(turned)))
            }
            Self::Text(skip) => u64::from_be_bytes(bytes(key, skip)) as f64,
        }
    }
}

/// A number beyond all others, and far enough from infinity for a difference.
const GREATEST: f64 = f64::MAX / 4.0;

/// Replaces infinities and NaNs by finite numbers, so that differences exist; NaNs are at the end of their sign.
fn finite(number: f64) -> f64 {
    match number.partial_cmp(&0.0) {
        Some(Ordering::Less | Ordering::Greater | Ordering::Equal) => {
            number.clamp(-GREATEST, GREATEST)
        }
        None => GREATEST.copysign(number),
    }
}

/// Decodes a byte with sign and length and the number without leading zeros; in negative numbers, all bits are
/// inverted.
fn number(key: &[u8]) -> f64 {
    let Some(first) = key.first() else { return -GREATEST };
    let negative = *first < 0x80;
    let length = if negative { 0x7f - first } else { first - 0x80 };
    let turn = if negative { u8::MAX } else { 0 };
    let digits = key[1..].iter().map(|byte| byte ^ turn).chain(std::iter::repeat(0));
    let size = digits.take(length.into()).fold(0.0, |all, byte| all * 256.0 + f64::from(byte));
    if negative { -size - 1.0 } else { size }
}

/// Returns `N` bytes of a key from some offset on, padded with zeros.
fn bytes<const N: usize>(key: &[u8], from: usize) -> [u8; N] {
    let mut bytes = [0; N];
    for (byte, known) in bytes.iter_mut().zip(key.iter().skip(from)) {
        *byte = *known;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use datafusion::common::ScalarValue;

    use super::*;
    use crate::index::key::{self, Constant};

    #[test]
    fn numbers_lie_where_they_are() {
        let check = |value: ScalarValue, expected: f64| {
            let data_type = value.data_type();
            let name = key::type_name(&data_type).unwrap();
            let Some(Constant::Key(mut key)) = key::of_scalar(&value, &data_type) else {
                panic!("{value}")
            };
            let at = Scale::between(&name, &key, &key).at(&key);
            assert!((at - expected).abs() <= expected.abs() * 1e-9, "{value}: {at}");
            // The key just beyond is at the same place, within the precision.
            key.push(0);
            assert_eq!(Scale::between(&name, &key, &key).at(&key), at);
        };
        for number in [0, 1, -1, 255, 256, -256, -257, 65_535, 65_536, i64::MAX, i64::MIN] {
            check(number.into(), number as f64);
        }
        check(ScalarValue::Decimal128(Some(i128::MAX), 38, 2), i128::MAX as f64);
        check(ScalarValue::Date32(Some(-7)), -7.0);
        for number in [1.0, -1.5, 1e300, -5e-324] {
            check(number.into(), number);
        }
        check(2.5_f32.into(), 2.5);
        check((-2.5_f32).into(), -2.5);
        check(f64::INFINITY.into(), GREATEST);
        check(f64::NEG_INFINITY.into(), -GREATEST);
    }

    #[test]
    fn text_lies_where_it_differs() {
        let scale = Scale::between("Utf8", b"item-a", b"item-c");
        let [a, b, c] = ["item-a", "item-b", "item-c"].map(|text| scale.at(text.as_bytes()));
        assert!(a < b && b < c && ((b - a) / (c - a) - 0.5).abs() < 1e-9, "{a} {b} {c}");
        assert!(scale.at(&NULL) > c);
    }

    #[test]
    fn every_key_lies_somewhere() {
        for scale in [Scale::Number, Scale::Double, Scale::Single, Scale::Text(3)] {
            for key in [&[][..], &[0x7f], &[0x80], &[0x90], &[0xff; 80], &[0; 3], &[0x6f, 1]] {
                let at = scale.at(key);
                assert!((at - scale.at(&NULL)).is_finite(), "{scale:?} {key:?} {at}");
            }
        }
    }
}
