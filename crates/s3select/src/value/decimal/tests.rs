use num_bigint::{BigInt, Sign};
use proptest::prelude::*;

use super::*;

fn d(text: &str) -> Decimal {
    Decimal::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text} is no decimal"))
}

#[track_caller]
fn check(result: Option<Decimal>, expected: &str) {
    assert_eq!(result.map_or_else(|| "none".to_owned(), |d| d.to_string()), expected);
}

const NINES: &str = "99999999999999999999999999999999999999";

#[test]
fn parse_keeps_the_scale() {
    for text in ["0", "0.00", "-0.05", "12.50", "123456789012345678.9", NINES] {
        assert_eq!(d(text).to_string(), text);
    }
    for (text, printed) in [
        ("+7", "7"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e3", "1000"),
        ("12.5E-1", "1.25"),
        ("0e99", "0"),
        ("-0", "0"),
        ("00012", "12"),
    ] {
        assert_eq!(d(text).to_string(), printed);
    }
}

#[test]
fn parse_refuses_what_is_no_number() {
    let too_long = format!("{NINES}0");
    for text in ["", ".", "-", "+-1", "1.2.3", "1e", "1e99", "x", " 1", "1 ", "1_0", &too_long] {
        assert_eq!(Decimal::parse(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn arithmetic_is_exact() {
    check(d("0.1").checked_add(d("0.2")), "0.3");
    check(d("1").checked_sub(d("0.05")), "0.95");
    check(d("33078.94").checked_mul(d("0.96")), "31755.7824");
    check(d(NINES).checked_add(d("1")), "none");
    check(d(NINES).checked_mul(d("10")), "none");
    check(d("-7.5").checked_rem(d("2")), "-1.5");
    check(
        d(NINES).checked_rem(d("0.00000000000000000000000000000000000007")),
        "0.00000000000000000000000000000000000002",
    );
    check(
        d("0.00000000000000000000000000000000000001").checked_rem(d(NINES)),
        "0.00000000000000000000000000000000000001",
    );
    check(d("1").checked_rem(d("0")), "none");
}

#[test]
fn division_rounds_half_even_at_38_digits() {
    check(d("1").checked_div(d("4")), "0.25");
    check(d("10").checked_div(d("5")), "2");
    check(d("1").checked_div(d("3")), "0.33333333333333333333333333333333333333");
    check(d("2").checked_div(d("-3")), "-0.66666666666666666666666666666666666667");
    check(d("100").checked_div(d("3")), "33.333333333333333333333333333333333333");
    check(d("1.00").checked_div(d("1")), "1.00");
    check(d("1").checked_div(d("0.5")), "2");
    check(d("1").checked_div(d("0")), "none");
    check(d(NINES).checked_div(d("0.1")), "none");
    check(d(NINES).checked_div(d(NINES)), "1");
}

#[test]
fn results_round_half_to_even_at_38_digits() {
    let third = d("1").checked_div(d("3.0")).unwrap();
    check(third.checked_mul(d("3.0")), "0.99999999999999999999999999999999999999");
    let more = d("10").checked_div(d("3.0")).unwrap();
    check(more.checked_add(d("100")), "103.33333333333333333333333333333333333");
    check(more.checked_sub(d("100")), "-96.666666666666666666666666666666666667");
    check(d("99999999999999999999999999999999999999").checked_add(d("0.4")), NINES);
    check(d("99999999999999999999999999999999999999").checked_add(d("0.5")), "none");
    check(
        d("99999999999999999999999999999999999998").checked_add(d("0.5")),
        "99999999999999999999999999999999999998",
    );
    check(
        d("9999999999999999999999999999999999999.9").checked_add(d("0.05")),
        "10000000000000000000000000000000000000",
    );
    let places = |zeros: usize, digits: &str| d(&format!("0.{}{digits}", "0".repeat(zeros)));
    check(places(19, "5").checked_mul(places(18, "1")), &places(37, "0").to_string());
    check(places(19, "6").checked_mul(places(18, "1")), &places(37, "1").to_string());
}

#[test]
fn texts_of_any_length_are_read() {
    let rounded = |text: &str| Decimal::parse_rounded(text.as_bytes());
    let zeros = "0".repeat(60);
    check(rounded("1e-40"), &format!("0.{}", &zeros[..38]));
    check(rounded("6e-39"), &format!("0.{}1", &zeros[..37]));
    check(rounded("1e-99999999999999999999"), &format!("0.{}", &zeros[..38]));
    check(rounded("1e99999999999999999999"), "none");
    check(rounded("0e99999999999999999999"), "0");
    check(rounded(&format!("1.{zeros}")), &format!("1.{}", &zeros[..37]));
    check(rounded(&format!("1.{}5{zeros}", &zeros[..37])), &format!("1.{}", &zeros[..37]));
    check(rounded(&format!("1.{}5{zeros}1", &zeros[..37])), &format!("1.{}1", &zeros[..36]));
    check(rounded(&format!("{NINES}.4")), NINES);
    check(rounded(&format!("{NINES}.5")), "none");
    check(rounded(&format!("1{zeros}e-60")), &format!("1.{}", &zeros[..37]));
    check(Decimal::parse(format!("1.{zeros}1").as_bytes()), "none");
    check(Decimal::parse(format!("1.{zeros}").as_bytes()), "none");
    let exact = |text: &str| Decimal::parse_exact(text.as_bytes());
    check(exact(&format!("1.{zeros}")), &format!("1.{}", &zeros[..37]));
    check(
        exact(&format!("-99999999999999999.99{zeros}")),
        &format!("-99999999999999999.99{}", &zeros[..19]),
    );
    check(exact(&format!("{NINES}.{zeros}")), NINES);
    check(exact(&format!("0.{zeros}")), &format!("0.{}", &zeros[..38]));
    check(exact(&format!("0.5{zeros}e1")), &format!("5.{}", &zeros[..37]));
    for inexact in
        [format!("1.{zeros}1"), format!("{NINES}.{zeros}1"), format!("0.{zeros}1"), "1e38".into()]
    {
        check(exact(&inexact), "none");
    }
    let scaled = |text: &str| Decimal::parse_to_scale(text.as_bytes(), 4, 2);
    check(scaled(&format!("1.994{NINES}")), "1.99");
    check(scaled(&format!("-0.999{NINES}")), "-1.00");
    check(scaled(&format!("0.005{zeros}")), "0.01");
    check(scaled("9e-99"), "0.00");
    check(scaled(&format!("0000{zeros}12.3")), "12.30");
    check(scaled(&format!("100.{zeros}")), "none");
    check(scaled("99.995"), "none");
}

#[test]
fn sums_are_rounded_once() {
    let sum = |texts: &[&str]| {
        let mut sum = DecimalSum::default();
        texts.iter().for_each(|text| sum.add(d(text)));
        sum
    };
    let tiny = "0.00000000000000000000000000000000000001";
    check(sum(&[]).total(), "0");
    check(sum(&["1.50", "1"]).total(), "2.50");
    check(sum(&[NINES, NINES, &format!("-{NINES}")]).total(), NINES);
    check(sum(&[NINES, "1"]).total(), "none");
    check(sum(&[NINES, NINES]).average(2), NINES);
    check(sum(&[NINES, tiny, &format!("-{NINES}")]).total(), tiny);
    check(sum(&["1", "1", "0"]).average(3), "0.66666666666666666666666666666666666667");
    check(sum(&["1"]).average(0), "none");
}

#[test]
fn compare_looks_at_the_number() {
    assert_eq!(d("1.0").compare(d("1")), Ordering::Equal);
    let tiny = Decimal::new(1, 38).unwrap();
    assert_eq!(d(NINES).compare(tiny), Ordering::Greater);
    assert_eq!(d(NINES).negate().compare(tiny), Ordering::Less);
    assert_eq!(tiny.compare(d(NINES)), Ordering::Less);
    assert_eq!(tiny.compare(d(NINES).negate()), Ordering::Greater);
}

#[test]
fn rescale_rounds_and_checks_digits() {
    check(d("1.994").rescale(3, 2), "1.99");
    check(d("1.995").rescale(3, 2), "2.00");
    check(d("-1.995").rescale(3, 2), "-2.00");
    check(d("9.995").rescale(3, 2), "none");
    check(d("0.99999999999999999999999999999999999999").rescale(38, 0), "1");
    check(d("10").rescale(3, 2), "none");
    check(d("9.9").rescale(3, 2), "9.90");
}

#[test]
fn floats_convert_by_their_shortest_text() {
    check(Decimal::from_f64(0.1), "0.1");
    check(Decimal::from_f64(-2.5e10), "-25000000000");
    check(Decimal::from_f64(f64::NAN), "none");
    check(Decimal::from_f64(1e39), "none");
    assert_eq!(d("0.1").to_f64(), 0.1);
    assert_eq!(d(NINES).to_f64(), 1e38);
}

proptest! {
    #[test]
    fn print_then_parse(unscaled in -POWERS[38] + 1..POWERS[38], scale in 0i8..=38) {
        let decimal = Decimal::new(unscaled, scale).unwrap();
        prop_assert_eq!(d(&decimal.to_string()), decimal);
    }

    #[test]
    fn float_is_the_nearest(unscaled in any::<i64>(), scale in 0i8..=30) {
        let decimal = Decimal::new(i128::from(unscaled), scale).unwrap();
        prop_assert_eq!(decimal.to_f64(), decimal.to_string().parse::<f64>().unwrap());
    }

    #[test]
    fn arithmetic_gives_the_nearest_decimal(a in decimals(), b in decimals()) {
        let (x, y) = (Exact::from_decimal(a), Exact::from_decimal(b));
        let most = u32::from(a.scale.max(b.scale));
        x.plus(&y).check(a.checked_add(b), |scale, _| scale == most)?;
        x.minus(&y).check(a.checked_sub(b), |scale, _| scale == most)?;
        x.times(&y).check(a.checked_mul(b), |scale, _| {
            scale == u32::from(a.scale) + u32::from(b.scale)
        })?;
        prop_assert_eq!(a.compare(b), x.minus(&y).0.cmp(&BigInt::ZERO));
        if b.unscaled == 0 {
            prop_assert_eq!((a.checked_div(b), a.checked_rem(b)), (None, None));
        } else {
            let least = u32::from(a.scale.saturating_sub(b.scale));
            x.divided_by(&y).check(a.checked_div(b), |scale, unscaled| {
                scale == least || scale > least && unscaled % 10 != 0
            })?;
            let quotient = x.divided_by(&y);
            let whole = Exact(&quotient.0 / &quotient.1, 1.into());
            let rest = x.minus(&whole.times(&y));
            rest.check(a.checked_rem(b), |scale, _| scale == most)?;
        }
    }

    #[test]
    fn sums_do_not_depend_on_their_order(
        mut addends in prop::collection::vec(decimals(), 0..12), parts in 1_usize..4, turn: usize,
    ) {
        let mut merged = DecimalSum::default();
        for part in addends.chunks(addends.len() / parts + 1) {
            let mut sum = DecimalSum::default();
            part.iter().for_each(|addend| sum.add(*addend));
            merged.merge(&sum);
        }
        let turn = turn % (addends.len() + 1);
        addends.rotate_left(turn);
        let mut sum = DecimalSum::default();
        addends.iter().for_each(|addend| sum.add(*addend));
        prop_assert_eq!(sum.total(), merged.total());
        let count = addends.len() as u64 + 1;
        prop_assert_eq!(sum.average(count), merged.average(count));
        let zero = Exact::from_decimal(Decimal::ZERO);
        let exact = addends.iter().fold(zero, |sum, addend| sum.plus(&Exact::from_decimal(*addend)));
        let most = addends.iter().map(|addend| u32::from(addend.scale)).max().unwrap_or(0);
        exact.check(sum.total(), |scale, _| scale == most)?;
        Exact(exact.0, exact.1 * count).check(sum.average(count), |scale, unscaled| {
            scale == most || scale > most && unscaled % 10 != 0
        })?;
    }

    #[test]
    fn texts_give_the_nearest_decimal(
        negative: bool, whole in "0{0,3}[0-9]{0,42}", places in "([0-9]{0,45}|0{30,45}[0-9]{0,20}|9{30,45})",
        exponent in prop_oneof![Just(0), -60_i32..60], precision in 1_u8..=38, scale in 0_i8..=38,
    ) {
        let sign = if negative { "-" } else { "" };
        let mut text = format!("{sign}{whole}.{places}");
        if exponent != 0 {
            text.push_str(&format!("e{exponent}"));
        }
        let (text, scale) = (text.as_bytes(), scale.min(precision as i8));
        if whole.is_empty() && places.is_empty() {
            prop_assert_eq!(Decimal::parse_rounded(text), None);
            return Ok(());
        }
        let digits: BigInt = format!("{sign}{whole}{places}").parse().unwrap();
        let exponent = exponent - places.len() as i32;
        let exact = if exponent < 0 {
            Exact(digits, power(exponent.unsigned_abs()))
        } else {
            Exact(digits * power(exponent.unsigned_abs()), 1.into())
        };
        let natural = exponent.min(0).unsigned_abs();
        let rounded = Decimal::parse_rounded(text);
        if exact.0 != BigInt::ZERO {
            exact.check(rounded, |scale, _| scale == natural)?;
        }
        let whole = rounded.filter(|rounded| u32::from(rounded.scale) == natural);
        prop_assert_eq!(Decimal::parse(text), whole);
        // Half away from zero: twice the number and one, by two.
        let twice: BigInt = &exact.0 * power(scale.unsigned_abs().into()) * 2;
        let half = if twice < BigInt::ZERO { -exact.1.clone() } else { exact.1.clone() };
        let near: BigInt = (twice + half) / (&exact.1 * 2);
        let near = (near.magnitude() < power(precision.into()).magnitude()).then_some(near);
        let actual = Decimal::parse_to_scale(text, precision, scale);
        prop_assert_eq!(actual.map(|decimal| BigInt::from(decimal.unscaled)), near);
        prop_assert!(actual.is_none_or(|decimal| decimal.scale() == scale));
    }
}

/// Decimals of every size, many of them near the limits of size and of rounding.
fn decimals() -> impl Strategy<Value = Decimal> {
    let power = (0_usize..=38).prop_map(|digits| POWERS[digits]);
    let unscaled = prop_oneof![
        3 => (0_usize..=38, any::<i128>()).prop_map(|(digits, any)| any % POWERS[digits]),
        2 => (power.clone(), -2_i128..=2).prop_map(|(power, near)| power + near),
        1 => (power.clone(), -1_i128..=1).prop_map(|(power, near)| power / 2 + near),
        1 => (power, -9_i128..=9).prop_map(|(power, digit)| power / 10 * digit),
        1 => -9_i128..=9,
    ];
    let scale = prop_oneof![Just(0_u8), Just(38), 0_u8..=38];
    (unscaled, scale, any::<bool>()).prop_map(|(unscaled, scale, negative)| {
        let unscaled = unscaled.clamp(1 - POWERS[38], POWERS[38] - 1);
        Decimal { unscaled: if negative { -unscaled } else { unscaled }, scale }
    })
}

fn power(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

/// A fraction: the numerator, and a denominator that is not 0.
#[derive(Debug, Clone)]
struct Exact(BigInt, BigInt);

impl Exact {
    fn from_decimal(decimal: Decimal) -> Self {
        Self(decimal.unscaled.into(), power(decimal.scale.into()))
    }

    fn plus(&self, other: &Self) -> Self {
        Self(&self.0 * &other.1 + &other.0 * &self.1, &self.1 * &other.1)
    }

    fn minus(&self, other: &Self) -> Self {
        self.plus(&Self(-&other.0, other.1.clone()))
    }

    fn times(&self, other: &Self) -> Self {
        Self(&self.0 * &other.0, &self.1 * &other.1)
    }

    fn divided_by(&self, other: &Self) -> Self {
        let sign = if other.0.sign() == Sign::Minus { -1 } else { 1 };
        Self(&self.0 * &other.1 * sign, &self.1 * &other.0 * sign)
    }

    /// Checks that no decimal is nearer than `result`, that it is even if two are equally near, and that no digit
    /// that fits was rounded away. `natural` gives the scale and digits that an unrounded result should have.
    fn check(
        &self,
        result: Option<Decimal>,
        natural: impl Fn(u32, i128) -> bool,
    ) -> Result<(), TestCaseError> {
        let Some(result) = result else {
            let twice = self.0.magnitude() * 2_u32;
            let limit: BigInt = power(38) * 2 - 1;
            prop_assert!(twice >= limit.magnitude() * self.1.magnitude(), "{:?}", self);
            return Ok(());
        };
        let Decimal { unscaled, scale } = result;
        prop_assert!(unscaled.abs() < POWERS[38] && scale <= 38);
        let is_full = unscaled.abs() >= POWERS[37] || scale == 38;
        let error = self.minus(&Self::from_decimal(result));
        if error.0 == BigInt::ZERO {
            prop_assert!(is_full || natural(scale.into(), unscaled), "{} for {:?}", result, self);
            return Ok(());
        }
        prop_assert!(is_full, "{} for {:?}", result, self);
        let steps = Self(error.0 * power(scale.into()) * 2, error.1);
        match steps.0.magnitude().cmp(steps.1.magnitude()) {
            Ordering::Less => {}
            order => prop_assert!(order.is_eq() && unscaled % 2 == 0, "{} for {:?}", result, self),
        }
        Ok(())
    }
}
