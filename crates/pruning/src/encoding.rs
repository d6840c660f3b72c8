//! Order-preserving codes: a worker encodes keys and values as the switch's 32-bit words.
//!
//! For every code, `a ≤ b` implies `encode(a) ≤ encode(b)`. A 64-bit code is one-to-one. It is sent as two words
//! ([`halves`]) or reduced to one by [`squeeze`] or a [`Range`]. Those two may map different values to one code,
//! which [`crate::Ties::Keep`] handles correctly. For descending order, use [`reverse`].
//!
//! Keys that are only compared for equality may be [`fingerprint`]s of any bytes.

use serde::Serialize;

/// Returns the order-preserving code of a signed 32-bit integer.
///
/// ```
/// use sluicegate_pruning::encoding::from_i32;
///
/// assert!(from_i32(i32::MIN) < from_i32(-1) && from_i32(-1) < from_i32(0));
/// ```
#[must_use]
pub const fn from_i32(value: i32) -> u32 {
    value as u32 ^ 1 << 31
}

/// Returns the order-preserving code of a signed 64-bit integer.
#[must_use]
pub const fn from_i64(value: i64) -> u64 {
    value as u64 ^ 1 << 63
}

/// Returns the order-preserving code of a 32-bit float, in the order of [`from_f64`].
#[must_use]
pub const fn from_f32(value: f32) -> u32 {
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// Returns the order-preserving code of a 64-bit float. The order is IEEE 754's total order, which sorts a NaN below
/// or above all numbers by its sign bit, except that -0 equals 0.
///
/// ```
/// use sluicegate_pruning::encoding::from_f64;
///
/// let ascending = [-f64::NAN, f64::NEG_INFINITY, -1.5, 0.0, 1e-300, f64::INFINITY, f64::NAN];
/// assert!(ascending.windows(2).all(|pair| from_f64(pair[0]) < from_f64(pair[1])));
/// assert_eq!(from_f64(-0.0), from_f64(0.0));
/// ```
#[must_use]
pub const fn from_f64(value: f64) -> u64 {
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Returns the order-preserving code of a decimal's unscaled 128-bit integer; all values must have the same scale.
/// Numbers beyond 64 bits take the code of the nearest number that fits.
#[must_use]
pub fn from_decimal(unscaled: i128) -> u64 {
    let clamped = unscaled.clamp(i64::MIN.into(), i64::MAX.into());
    from_i64(clamped as i64)
}

/// Returns the code of the same value in descending order.
#[must_use]
pub const fn reverse(code: u32) -> u32 {
    !code
}

/// Splits a 64-bit code into two words, high half first.
#[must_use]
pub const fn halves(code: u64) -> [u32; 2] {
    [(code >> 32) as u32, code as u32]
}

/// Reduces a 64-bit code to 32 bits without knowing its range. The result is the distance from the middle code (zero,
/// for signed numbers) with a precision of 25 bits, like a short float. It is non-strictly monotone.
///
/// ```
/// use sluicegate_pruning::encoding::{from_i64, squeeze};
///
/// let small = [-3, -2, -1, 0, 1, 2, 1_000_000, 1_000_001].map(|v| squeeze(from_i64(v)));
/// assert!(small.is_sorted_by(|a, b| a < b), "numbers of up to 25 bits stay apart");
/// ```
#[must_use]
pub const fn squeeze(code: u64) -> u32 {
    const MIDDLE: u64 = 1 << 63;
    if code >= MIDDLE {
        1 << 31 | magnitude(code - MIDDLE)
    } else {
        (1 << 31) - 1 - magnitude(MIDDLE - 1 - code)
    }
}

/// Encodes a number below 2⁶³ in 31 bits: 6 bits of exponent and 25 of mantissa. It is exact below 2²⁵.
const fn magnitude(value: u64) -> u32 {
    const MANTISSA: u32 = 25;
    let bits = 64 - value.leading_zeros();
    if bits <= MANTISSA {
        return value as u32;
    }
    // The leading one is implied by the exponent, which starts at 1.
    let shift = bits - MANTISSA - 1;
    let mantissa = (value >> shift) as u32 & ((1 << MANTISSA) - 1);
    (shift + 1) << MANTISSA | mantissa
}

/// Reduces 64-bit codes from a known range to 32 bits, as finely as they fit. Codes outside the range are clamped, so
/// the result stays non-strictly monotone even if the statistics were wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Range {
    least: u64,
    shift: u32,
}

impl Range {
    /// Creates the range between two codes, given in either order.
    #[must_use]
    pub const fn new(least: u64, greatest: u64) -> Self {
        let (least, greatest) =
            if least <= greatest { (least, greatest) } else { (greatest, least) };
        let bits = 64 - (greatest - least).leading_zeros();
        Self { least, shift: bits.saturating_sub(32) }
    }

    /// Returns the 32-bit code of a 64-bit code, clamped to `0..=u32::MAX`.
    #[must_use]
    pub const fn encode(&self, code: u64) -> u32 {
        let offset = code.saturating_sub(self.least) >> self.shift;
        if offset > u32::MAX as u64 { u32::MAX } else { offset as u32 }
    }

    /// Returns true if different codes within the range stay different.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        self.shift == 0
    }
}

checked_when_read!(Range { least: u64, shift: u32 } => {
    if shift <= 32 { Ok(Self { least, shift }) } else { Err("the codes of a range have 64 bits") }
});

/// Returns a 64-bit fingerprint of bytes, identical on every machine. Different seeds give independent fingerprints.
/// It is not cryptographic: an attacker with the seed can construct collisions.
#[must_use]
pub fn fingerprint(bytes: &[u8], seed: u64) -> u64 {
    // Multiply and fold 16 bytes at a time; the length distinguishes padding from zeros.
    const KEYS: [u64; 3] = [0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03, 0xAEF1_7502_108E_F2D9];
    let word =
        |chunk: &[u8]| chunk.iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
    let mut state = fold(seed ^ KEYS[0], bytes.len() as u64 ^ KEYS[1]);
    for chunk in bytes.chunks(16) {
        let (low, high) = chunk.split_at(chunk.len().min(8));
        state = fold(word(low) ^ KEYS[1] ^ state, word(high) ^ KEYS[2].wrapping_add(state));
    }
    fold(state ^ KEYS[0], KEYS[2])
}

/// Cuts a fingerprint to `bits` bits (1 to 64). The result is never zero, because DISTINCT never prunes zero keys.
#[must_use]
pub fn nonzero_bits(fingerprint: u64, bits: u32) -> u64 {
    let kept = fingerprint >> 64_u32.saturating_sub(bits.clamp(1, 64));
    if kept == 0 { 1 } else { kept }
}

/// Combines the fingerprints of several columns; the order of the columns matters.
#[must_use]
pub fn combine(first: u64, second: u64) -> u64 {
    fold(first ^ 0xA076_1D64_78BD_642F, second.wrapping_add(0xE703_7ED1_A0B4_28DB))
}

/// Returns the XOR of the two halves of the 128-bit product.
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fingerprints_differ() {
        let mut seen = HashSet::new();
        for length in 0..40 {
            for byte in [0, 1, 255] {
                seen.insert(fingerprint(&vec![byte; length], 7));
            }
        }
        assert_eq!(seen.len(), 3 * 40 - 2, "the empty string is the same thrice");
        assert_ne!(fingerprint(b"abc", 0), fingerprint(b"abc", 1));
        assert_ne!(combine(1, 2), combine(2, 1));
        assert_eq!((nonzero_bits(0, 32), nonzero_bits(u64::MAX, 8)), (1, 255));
    }

    #[test]
    fn low_and_high_bits_are_spread() {
        for shift in [0, 52] {
            let mut load = [0_u32; 4096];
            for i in 0..40_960_u32 {
                load[(fingerprint(&i.to_be_bytes(), 0) >> shift & 0xFFF) as usize] += 1;
            }
            // Poisson with mean 10: beyond 35 lies 1e-9 of it, 4096 times.
            assert!(load.iter().all(|&n| n < 35) && load.iter().filter(|&&n| n == 0).count() < 5);
        }
    }

    /// Returns any bits: NaNs of both signs and all payloads, and often one of the extremes.
    fn any_f64() -> impl Strategy<Value = f64> {
        let special = [f64::NAN, -f64::NAN, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY];
        prop_oneof![any::<u64>().prop_map(f64::from_bits), prop::sample::select(special.to_vec())]
    }

    fn any_f32() -> impl Strategy<Value = f32> {
        prop_oneof![any::<u32>().prop_map(f32::from_bits), any_f64().prop_map(|x| x as f32)]
    }

    proptest! {
        #[test]
        fn codes_keep_the_order(
            a: i64,
            b: i64,
            c: i32,
            d: i32,
            e in any_f64(),
            f in any_f64(),
            g in any_f32(),
            h in any_f32(),
        ) {
            prop_assert_eq!(a.cmp(&b), from_i64(a).cmp(&from_i64(b)));
            prop_assert_eq!(c.cmp(&d), from_i32(c).cmp(&from_i32(d)));
            // Both orders of floats, where they agree.
            if let Some(order) = e.partial_cmp(&f) {
                prop_assert_eq!(order, from_f64(e).cmp(&from_f64(f)));
            }
            if let Some(order) = g.partial_cmp(&h) {
                prop_assert_eq!(order, from_f32(g).cmp(&from_f32(h)));
            }
            prop_assert!(e == f || e.total_cmp(&f) == from_f64(e).cmp(&from_f64(f)));
            prop_assert!(g == h || g.total_cmp(&h) == from_f32(g).cmp(&from_f32(h)));
        }

        #[test]
        fn squeezing_is_monotone(a: u64, b: u64, least: u64, greatest: u64, small in -100_000_i64..100_000) {
            let (a, b) = (a.min(b), a.max(b));
            prop_assert!(squeeze(a) <= squeeze(b));
            prop_assert!(squeeze(from_i64(small)) < squeeze(from_i64(small + 1)));
            let range = Range::new(least, greatest);
            prop_assert!(range.encode(a) <= range.encode(b));
            prop_assert!(from_decimal(i128::from(small) << 64) <= from_decimal((i128::from(small) + 1) << 64));
        }
    }

    #[test]
    fn narrow_ranges_are_exact() {
        let range = Range::new(from_i64(-5), from_i64(1 << 31));
        assert!(range.is_exact());
        assert_eq!([-6, -5, -4].map(|v| range.encode(from_i64(v))), [0, 0, 1]);
        assert!(!Range::new(0, u64::MAX).is_exact());
    }
}
