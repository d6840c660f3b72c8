//! Conversions that keep the number or fail.

use super::{Decimal, POWERS};

impl Decimal {
    /// The digits of the number with `scale` places (0 to 38), if it has no more places and at most `precision`
    /// digits (1 to 38).
    #[must_use]
    #[inline]
    pub fn unscaled_at(self, precision: u8, scale: u8) -> Option<i128> {
        let unscaled = match scale.checked_sub(self.scale) {
            // Most numbers of a column have the places that the column declares.
            Some(0) => self.unscaled,
            Some(more) => self.unscaled.checked_mul(*POWERS.get(usize::from(more))?)?,
            None => {
                let divisor = POWERS[usize::from(self.scale - scale)];
                if self.unscaled % divisor != 0 {
                    return None;
                }
                self.unscaled / divisor
            }
        };
        let limit = POWERS.get(usize::from(precision))?;
        (unscaled.unsigned_abs() < limit.unsigned_abs()).then_some(unscaled)
    }

    /// The float with the number's value, if there is one.
    #[must_use]
    pub fn to_f64_exact(self) -> Option<f64> {
        let (unscaled, scale) = self.without_zeros();
        // A number u · 10^-s is u / 5^s · 2^-s, and 5^s divides u if the number is a float.
        let divisor = 5_i128.checked_pow(u32::from(scale))?;
        let (whole, rest) = (unscaled / divisor, unscaled % divisor);
        let bits = 128 - whole.unsigned_abs().leading_zeros();
        let is_exact =
            rest == 0 && bits.saturating_sub(whole.trailing_zeros()) <= f64::MANTISSA_DIGITS;
        is_exact.then(|| whole as f64 / (1_u64 << scale) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dec(text: &str) -> Decimal {
        Decimal::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn digits_at_a_scale() {
        let nines = "9".repeat(38);
        for (number, precision, scale, expected) in [
            ("12.50", 4, 2, Some(1250)),
            ("12.50", 3, 1, Some(125)),
            ("12.50", 3, 0, None),
            ("12.50", 3, 2, None),
            ("-12", 5, 3, Some(-12_000)),
            ("-12", 4, 3, None),
            ("0.00", 1, 0, Some(0)),
            (&nines, 38, 0, Some(10_i128.pow(38) - 1)),
            (&nines, 38, 1, None),
            ("1", 38, 38, None),
            ("0.1", 38, 38, Some(10_i128.pow(37))),
        ] {
            let unscaled = dec(number).unscaled_at(precision, scale);
            assert_eq!(unscaled, expected, "{number} as ({precision},{scale})");
        }
    }

    #[test]
    fn exact_floats() {
        for (number, expected) in [
            ("0", Some(0.0)),
            ("0.50", Some(0.5)),
            ("-2.25", Some(-2.25)),
            ("0.1", None),
            ("9007199254740992", Some(9_007_199_254_740_992.0)),
            ("9007199254740993", None),
            ("18014398509481984", Some(18_014_398_509_481_984.0)),
            ("100000000000000000000", Some(1e20)),
            ("0.00000000000000000000000000000000000001", None),
        ] {
            assert_eq!(dec(number).to_f64_exact(), expected, "{number}");
        }
    }

    proptest! {
        #[test]
        fn floats_that_print_few_digits_are_exact(whole in -(1_i64 << 53)..1 << 53, halves in 0_i32..20) {
            let float = whole as f64 / f64::from(1 << halves);
            let text = format!("{float:.20}");
            if let Some(decimal) = Decimal::parse_exact(text.as_bytes()) {
                prop_assert_eq!(decimal.to_f64_exact(), Some(float));
            }
        }

        #[test]
        fn an_exact_float_is_the_nearest_and_has_the_value(unscaled: i64, scale in 0_i8..38) {
            let decimal = Decimal::new(unscaled.into(), scale).unwrap();
            let exact = decimal.to_f64_exact();
            prop_assert!(exact.is_none_or(|float| float == decimal.to_f64()));
            let text = format!("{:.60}", decimal.to_f64());
            let text = text.trim_end_matches('0');
            let is_exact = Decimal::parse_exact(text.as_bytes())
                .is_some_and(|nearest| nearest.compare(decimal).is_eq());
            prop_assert_eq!(exact.is_some(), is_exact);
        }
    }
}
