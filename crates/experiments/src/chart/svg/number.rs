//! Numbers as text.

/// Returns a number with three significant digits: `0.0123`, `12.3`, `12,300`, `1.23×10⁷`.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "–".to_owned() };
    }
    // Rounding to three digits can change the power: 9.996 is 10.0.
    let exponent = format!("{value:.2e}");
    let power: i32 =
        exponent.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or_default();
    if !(-3..6).contains(&power) {
        return scientific(value, power);
    }
    let decimals = usize::try_from(2 - power).unwrap_or(0);
    let rounded = if power > 2 {
        let unit = 10_f64.powi(power - 2);
        (value / unit).round() * unit
    } else {
        value
    };
    grouped(&trimmed(&format!("{rounded:.decimals$}")))
}

/// Returns the label of a tick: as few digits as tell it from its neighbours.
pub(super) fn tick(value: f64, step: f64) -> String {
    let most = value.abs().max(step.abs());
    if value == 0.0 || !(1e-3..1e6).contains(&most) {
        return number(value);
    }
    let decimals = (0..6).find(|it| {
        let scaled = step * 10_f64.powi(*it);
        (scaled - scaled.round()).abs() < 1e-6
    });
    let decimals = usize::try_from(decimals.unwrap_or(6)).unwrap_or(6);
    grouped(&format!("{value:.decimals$}"))
}

/// Returns the label of a power of ten.
pub(super) fn power(value: f64) -> String {
    match value {
        0.05..5e3 => number(value),
        _ => scientific(value, (value.log10() + 0.5).floor() as i32),
    }
}

fn scientific(value: f64, power: i32) -> String {
    let mantissa = trimmed(&format!("{:.2}", value / 10_f64.powi(power)));
    let power: String = power.to_string().chars().map(superscript).collect();
    match mantissa.as_str() {
        "1" => format!("10{power}"),
        mantissa => format!("{}×10{power}", mantissa.replace('-', "−")),
    }
}

fn superscript(digit: char) -> char {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digit.to_digit(10).and_then(|it| DIGITS.get(it as usize)).copied().unwrap_or('⁻')
}

fn trimmed(text: &str) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    }
}

/// Adds commas between thousands from 10,000 on, and writes a minus sign.
fn grouped(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("−", digits),
        None => ("", text),
    };
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if whole.len() < 5 {
        return format!("{sign}{digits}");
    }
    let mut spaced = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            spaced.push(',');
        }
        spaced.push(digit);
    }
    format!("{sign}{spaced}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (value, expected) in [
            (0.0, "0"),
            (0.012_345, "0.0123"),
            (1.0, "1"),
            (9.996, "10"),
            (-12.34, "−12.3"),
            (1234.0, "1230"),
            (123_456.0, "123,000"),
            (1e7, "10⁷"),
            (1.5e-5, "1.5×10⁻⁵"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn ticks_have_as_many_decimals_as_their_step() {
        assert_eq!(tick(0.5, 0.25), "0.50");
        assert_eq!(tick(20_000.0, 5_000.0), "20,000");
        assert_eq!(tick(0.0, 0.5), "0");
        assert_eq!(tick(2e6, 1e6), "2×10⁶");
    }
}
