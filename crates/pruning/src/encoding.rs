//! How a worker turns keys and values into the switch's 32-bit words.
//!
//! Order-preserving: `a ≤ b` implies `encode(a) ≤ encode(b)`. A code of 64 bits is one-to-one and
//! is sent as two words ([`halves`]), or is squeezed into one by [`squeeze`] or a [`Range`], which
//! conflate values; [`crate::Ties::Keep`] stays right for those. Descending order takes [`reverse`].
//!
//! Keys that are only compared for equality may be [`fingerprint`]s of any bytes.

use serde::Serialize;

/// The order-preserving code of a signed 32-bit integer.
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

/// The order-preserving code of a signed 64-bit integer.
#[must_use]
pub const fn from_i64(value: i64) -> u64 {
    value as u64 ^ 1 << 63
}

/// The order-preserving code of a 32-bit float: see [`from_f64`].
#[must_use]
pub const fn from_f32(value: f32) -> u32 {
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The order-preserving code of a 64-bit float. The order is IEEE 754's total order, which sorts a
/// NaN below or above all numbers by its sign bit, except that -0 equals 0.
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

/// The order-preserving code of a decimal's unscaled 128-bit integer, all of one scale. It conflates:
/// numbers beyond 64 bits take the code of the nearest that fits.
#[must_use]
pub fn from_decimal(unscaled: i128) -> u64 {
    let clamped = unscaled.clamp(i64::MIN.into(), i64::MAX.into());
    from_i64(clamped as i64)
}

/// The code of the same values in descending order.
#[must_use]
pub const fn reverse(code: u32) -> u32 {
    !code
}

/// A code of 64 bits as two words, high half first.
#[must_use]
pub const fn halves(code: u64) -> [u32; 2] {
    [(code >> 32) as u32, code as u32]
}

/// Squeezes a code of 64 bits into 32, without knowing its range: distance from the middle code
/// (zero, for signed numbers) with a precision of 25 bits, as a short float would keep it.
/// Non-strictly monotone.
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

/// A number below 2⁶³ in 31 bits: 6 bits of exponent, 25 of mantissa; exact below 2²⁵.
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

/// Squeezes codes of 64 bits from a known range into 32 bits, as finely as they fit. Codes outside
/// the range take its ends, so it stays non-strictly monotone if statistics were wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Range {
    least: u64,
    shift: u32,
}

impl Range {
    /// The range between two codes, in either order.
    #[must_use]
    pub const fn new(least: u64, greatest: u64) -> Self {
        let (least, greatest) =
            if least <= greatest { (least, greatest) } else { (greatest, least) };
        let bits = 64 - (greatest - least).leading_zeros();
        Self { least, shift: bits.saturating_sub(32) }
    }

    /// The code within the range.
    #[must_use]
    pub const fn encode(&self, code: u64) -> u32 {
        let offset = code.saturating_sub(self.least) >> self.shift;
        if offset > u32::MAX as u64 { u32::MAX } else { offset as u32 }
    }

    /// Whether different codes within the range stay different.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        self.shift == 0
    }
}

checked_when_read!(Range { least: u64, shift: u32 } => {
    if shift <= 32 { Ok(Self { least, shift }) } else { Err("the codes of a range have 64 bits") }
});

/// A 64-bit fingerprint of bytes, the same on every machine. Different seeds give independent
/// fingerprints. It is not cryptographic: whoever knows the seed can make keys collide.
#[must_use]
pub fn fingerprint(bytes: &[u8], seed: u64) -> u64 {
    // Multiply and fold 16 bytes at a time; the length tells padding from zeros.
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

/// A fingerprint cut to `bits` bits (1 to 64), never zero: zero keys are never pruned by DISTINCT.
#[must_use]
pub fn nonzero_bits(fingerprint: u64, bits: u32) -> u64 {
    let kept = fingerprint >> 64_u32.saturating_sub(bits.clamp(1, 64));
    if kept == 0 { 1 } else { kept }
}

/// Combines the fingerprints of several columns, in order.
#[must_use]
pub fn combine(first: u64, second: u64) -> u64 {
    fold(first ^ 0xA076_1D64_78BD_642F, second.wrapping_add(0xE703_7ED1_A0B4_28DB))
}

/// The halves of the 128-bit product, XOR-ed.
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

    /// Any bits: NaNs of both signs and all payloads, and often one of the extremes.
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
