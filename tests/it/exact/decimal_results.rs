//! `+`, `-`, `*` and `/` of decimals with many digits, compared with a model of 256 bits.

use arrow::datatypes::i256;
use proptest::prelude::*;
use sluicegate_engine::Engine;

use crate::harness::{runner, values};

/// A decimal of a declared type.
#[derive(Debug, Clone)]
struct Decimal {
    unscaled: i128,
    digits: u8,
    places: u8,
}

impl Decimal {
    fn sql(&self) -> String {
        let text = written(i256::from_i128(self.unscaled), self.places);
        format!("CAST('{text}' AS DECIMAL({}, {}))", self.digits, self.places)
    }

    /// Returns the value in units of another number of places.
    fn in_units(&self, places: u8) -> i256 {
        i256::from_i128(self.unscaled).wrapping_mul(power(places - self.places))
    }
}

fn power(places: u8) -> i256 {
    (0..places).fold(i256::ONE, |power, _| power.wrapping_mul(i256::from(10_i64)))
}

/// Formats a number of units of the last place.
fn written(unscaled: i256, places: u8) -> String {
    let text = unscaled.to_string();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.as_str()),
    };
    let places = usize::from(places);
    let digits = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    if places == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Returns the result and whether a step of its computation has more than 127 bits, which is an error, too.
fn result(left: &Decimal, op: char, right: &Decimal) -> Option<(String, bool)> {
    let widest = left.places.max(right.places);
    let (l, r) = (i256::from_i128(left.unscaled), i256::from_i128(right.unscaled));
    let (unscaled, places, steps) = match op {
        '+' | '-' => {
            let (l, r) = (left.in_units(widest), right.in_units(widest));
            let result = if op == '+' { l.wrapping_add(r) } else { l.wrapping_sub(r) };
            (result, widest, [l, r])
        }
        '*' => (l.wrapping_mul(r), left.places + right.places, [l, r]),
        _ => {
            let places = (left.places + 4).min(38);
            let factor = places - left.places + right.places;
            if factor > 38 {
                return None;
            }
            let l = l.checked_mul(power(factor)).filter(|l| l.to_i128().is_some())?;
            (l.checked_div(r)?, places, [l, r])
        }
    };
    let limit = power(38);
    let fits = unscaled.wrapping_abs() < limit && places <= 38;
    let steps_fit = steps.iter().all(|step| step.to_i128().is_some());
    fits.then(|| (written(unscaled, places), steps_fit))
}

fn decimal() -> impl Strategy<Value = Decimal> {
    (1..=38_u8, prop_oneof![Just(0_u8), 0..=38_u8]).prop_flat_map(|(digits, places)| {
        let most = 10_i128.pow(digits.into()) - 1;
        let unscaled = prop_oneof![Just(most), Just(-most), Just(1), Just(0), -most..=most];
        let places = places.min(digits);
        unscaled.prop_map(move |unscaled| Decimal { unscaled, digits, places })
    })
}

async fn shown(engine: &Engine, sql: &str) -> Option<String> {
    let rows = engine.collect(sql).await.ok()?;
    Some(values(&rows)[0][0].clone())
}

#[test]
fn results_of_decimals_are_exact_or_errors() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let engine = runtime.block_on(Engine::builder().build()).unwrap();
    let case = (decimal(), proptest::sample::select(vec!['+', '-', '*', '/']), decimal());
    let test = runner(192).run(&case, |(left, op, right)| {
        let expected = result(&left, op, &right);
        let (l, r) = (left.sql(), right.sql());
        for sql in [
            format!("SELECT {l} {op} {r}"),
            format!("SELECT x {op} y FROM (VALUES ({l}, {r})) t(x, y)"),
            format!("SELECT x {op} {r} FROM (VALUES ({l}), (NULL)) t(x)"),
        ] {
            match (runtime.block_on(shown(&engine, &sql)), &expected) {
                (Some(got), Some((text, _))) => prop_assert_eq!(got, text.clone(), "{}", sql),
                (None, None | Some((_, false))) => {}
                (got, _) => prop_assert!(false, "{}: {:?} instead of {:?}", sql, got, expected),
            }
        }
        Ok(())
    });
    test.unwrap();
}

#[test]
fn long_chains_of_decimals_are_planned_soon() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let engine = runtime.block_on(Engine::builder().build()).unwrap();
    let sum = vec!["x"; 200].join(" + ");
    let sql = format!("SELECT {sum} FROM (VALUES (CAST(1.5 AS DECIMAL(9, 2)))) t(x)");
    assert_eq!(runtime.block_on(shown(&engine, &sql)).as_deref(), Some("300.00"));
}
