//! Floating-point numbers as PostgreSQL prints them: the shortest text that is read back as the same number.

/// Returns the text of a number of double precision.
#[must_use]
pub fn double(number: f64) -> String {
    match special(number) {
        Some(text) => text.to_owned(),
        None => layout(&format!("{number:e}"), 15),
    }
}

/// Returns the text of a number of single precision.
#[must_use]
pub fn single(number: f32) -> String {
    match special(f64::from(number)) {
        Some(text) => text.to_owned(),
        None => layout(&format!("{number:e}"), 6),
    }
}

const fn special(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        Some("NaN")
    } else if number.is_infinite() {
        Some(if number > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        None
    }
}

/// Converts `1.5e3` into `1500`; exponents below -4 and from `digits` on stay, as `1e+20`.
fn layout(text: &str, digits: i32) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    if exponent < -4 || exponent >= digits {
        let sign_of_exponent = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{mantissa}e{sign_of_exponent}{:02}", exponent.unsigned_abs());
    }
    let all: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if exponent < 0 {
        return format!("{sign}0.{}{all}", zeros(-exponent - 1));
    }
    let whole = usize::try_from(exponent).unwrap_or(0) + 1;
    match all.len() {
        length if length <= whole => {
            let missing = i32::try_from(whole - length).unwrap_or(0);
            format!("{sign}{all}{}", zeros(missing))
        }
        _ => format!("{sign}{}.{}", &all[..whole], &all[whole..]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_as_in_postgres() {
        for (number, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (-1234.5, "-1234.5"),
            (100.0, "100"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (1.25e-4, "0.000125"),
            (1.25e-5, "1.25e-05"),
            (1e300, "1e+300"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
            (0.1 + 0.2, "0.30000000000000004"),
        ] {
            assert_eq!(double(number), expected);
        }
        assert_eq!(single(0.1), "0.1");
        assert_eq!(single(1e6), "1e+06");
        assert_eq!(single(123_456.0), "123456");
    }

    proptest! {
        #[test]
        fn texts_are_read_back(number in any::<f64>()) {
            let read: f64 = double(number).parse().unwrap();
            prop_assert!(read == number || number.is_nan());
        }
    }
}
