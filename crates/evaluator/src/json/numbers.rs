//! Tests that numbers of any length keep their value or are rejected.

use proptest::prelude::*;

use super::parser::Parser;
use super::path::Filter;
use sluicegate_s3select::dialect::ast::Type;
use sluicegate_s3select::value::{Value, cast};

/// Returns the sign, the digits without zeros at either end, and their power of ten. Zero has no digits.
fn canonical(number: &str) -> (bool, String, i64) {
    let (negative, number) = match number.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, number),
    };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let exponent: i64 = exponent.parse().unwrap();
    let exponent = exponent - fraction.len() as i64;
    let kept = digits.trim_end_matches('0');
    let power = exponent + (digits.len() - kept.len()) as i64;
    let kept = kept.trim_start_matches('0');
    if kept.is_empty() { (negative, String::new(), 0) } else { (negative, kept.to_owned(), power) }
}

fn text(value: &Value) -> String {
    let mut text = Vec::new();
    value.write(&mut text);
    String::from_utf8(text).unwrap()
}

/// Rounds a number half away from zero to `places` decimal places. Returns its digits if there are at most 38.
fn rounded(number: &str, places: i64) -> Option<(bool, String)> {
    let (negative, digits, power) = canonical(number);
    let kept = digits.len() as i64 + (power + places).min(0);
    let is_up = usize::try_from(kept).is_ok_and(|at| digits.as_bytes().get(at) >= Some(&b'5'));
    let mut digits = digits[..usize::try_from(kept).unwrap_or(0)].to_owned();
    if is_up {
        let whole = if digits.is_empty() { 0 } else { digits.parse::<u128>().unwrap() };
        digits = (whole + 1).to_string();
    }
    if !digits.is_empty() {
        digits += &"0".repeat((power + places).max(0) as usize);
    }
    (digits.len() <= 38).then_some((negative && !digits.is_empty(), digits))
}

fn number() -> impl Strategy<Value = String> {
    let whole = prop_oneof![3 => "0|[1-9][0-9]{0,5}", 1 => "[1-9][0-9]{0,45}", 1 => "[1-9]0{0,45}"];
    let digits = prop_oneof![3 => "[0-9]{0,6}", 1 => "[0-9]{0,45}", 1 => "0{0,45}[0-9]{0,3}"];
    let zeros = prop_oneof![2 => Just(0_usize), 1 => 0_usize..50];
    let exponent = prop_oneof![
        3 => Just(String::new()),
        1 => (-45_i32..45).prop_map(|exponent| format!("e{exponent}")),
        1 => "[eE]\\+0?[0-9]",
    ];
    (any::<bool>(), whole, digits, zeros, exponent).prop_map(
        |(negative, whole, digits, zeros, exponent)| {
            let sign = if negative { "-" } else { "" };
            let fraction = digits + &"0".repeat(zeros);
            let point = if fraction.is_empty() { "" } else { "." };
            format!("{sign}{whole}{point}{fraction}{exponent}")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn numbers_are_what_they_say(number in number(), places in 0_i8..=38) {
        let mut parser = Parser::new(number.as_bytes(), true);
        let Ok(value) = parser.value(Filter::new(&[], None)) else {
            // Only numbers with more digits than any type are rejected.
            prop_assert!(canonical(&number).1.len() > 38, "{number}");
            return Ok(());
        };
        prop_assert_eq!(cast(&value, Type::Float).unwrap(), Value::Float(number.parse().unwrap()));
        // The digits of a float are rounded where no decimal has as many places.
        let (_, digits, power) = canonical(&number);
        let is_decimal = power >= -38 && digits.len() as i64 + power <= 38;
        if is_decimal {
            let (negative, ..) = canonical(&text(&value));
            prop_assert_eq!(canonical(&text(&value)).1, digits, "{} is {:?}", number, value);
            prop_assert_eq!(negative, number.starts_with('-'));
            let to = Type::Decimal(Some((38, places)));
            let found = cast(&Value::String(text(&value)), to).ok().map(|decimal| {
                let (negative, digits, power) = canonical(&text(&decimal));
                let zeros = if digits.is_empty() { 0 } else { (power + i64::from(places)) as usize };
                (negative, digits + &"0".repeat(zeros))
            });
            prop_assert_eq!(found, rounded(&number, places.into()), "{} is {:?}", number, value);
        }
    }
}
