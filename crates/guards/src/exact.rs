//! Numbers and instants as they are written, and exact comparisons with them.

use arrow::datatypes::{DataType, TimeUnit, i256};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, Operator, binary_expr, lit};

/// A number: `mantissa` · 10^-`scale`. For an instant, its seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    mantissa: i256,
    scale: i32,
}

/// Number of digits that are kept, more than any column has. Digits beyond only decide whether the number is greater
/// or less.
const DIGITS: usize = 74;
/// Greatest exponent that matters.
const EXPONENTS: i32 = 1_000;

impl Number {
    /// Parses digits with an optional point and exponent.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let places = i32::try_from(fraction.len()).ok()?;
        let (ten, mut mantissa, mut count, mut dropped, mut more) =
            (i256::from_i128(10), i256::ZERO, 0, 0, false);
        for byte in whole.bytes().chain(fraction.bytes()).filter(|byte| *byte != b'_') {
            let digit = byte.is_ascii_digit().then(|| i128::from(byte - b'0'))?;
            if count < DIGITS {
                mantissa = mantissa.checked_mul(ten)?.checked_add(i256::from_i128(digit))?;
                count += usize::from(mantissa != i256::ZERO);
            } else {
                dropped += 1;
                more |= digit != 0;
            }
        }
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        if more {
            // A last digit of 1 represents the remaining digits, which are not all zero.
            mantissa = mantissa.checked_mul(ten)?.checked_add(i256::ONE)?;
            dropped -= 1;
        }
        let scale = places.checked_sub(exponent)?.checked_sub(dropped)?;
        let mantissa = if negative { mantissa.checked_neg()? } else { mantissa };
        Some(Self { mantissa, scale }.normal())
    }

    /// Returns the shortest decimal number that parses as this double.
    pub(super) fn of_double(value: f64) -> Option<Self> {
        value.is_finite().then(|| Self::parse(&format!("{value:e}")))?
    }

    pub(super) fn of_decimal(unscaled: i128, scale: i8) -> Self {
        Self { mantissa: i256::from_i128(unscaled), scale: i32::from(scale) }.normal()
    }

    /// Returns an instant from whole seconds and additional nanoseconds.
    pub(super) fn of_instant(seconds: i64, nanoseconds: u32) -> Self {
        let whole = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        Self::of_decimal(whole, 9)
    }

    /// Returns the value of a literal that is a number, a date or a timestamp.
    pub(super) fn of_literal(value: &ScalarValue) -> Option<Self> {
        use ScalarValue as S;
        let whole = |value: i128| Some(Self::of_decimal(value, 0));
        match value {
            S::Int8(Some(x)) => whole(i128::from(*x)),
            S::Int16(Some(x)) => whole(i128::from(*x)),
            S::Int32(Some(x)) => whole(i128::from(*x)),
            S::Int64(Some(x)) => whole(i128::from(*x)),
            S::UInt8(Some(x)) => whole(i128::from(*x)),
            S::UInt16(Some(x)) => whole(i128::from(*x)),
            S::UInt32(Some(x)) => whole(i128::from(*x)),
            S::UInt64(Some(x)) => whole(i128::from(*x)),
            S::Float64(Some(x)) => Self::of_double(*x),
            S::Decimal32(Some(x), _, scale) => Some(Self::of_decimal(i128::from(*x), *scale)),
            S::Decimal64(Some(x), _, scale) => Some(Self::of_decimal(i128::from(*x), *scale)),
            S::Decimal128(Some(x), _, scale) => Some(Self::of_decimal(*x, *scale)),
            S::Date32(Some(days)) => Some(Self::of_instant(i64::from(*days) * DAY, 0)),
            S::TimestampSecond(Some(x), _) => Some(Self::of_decimal(i128::from(*x), 0)),
            S::TimestampMillisecond(Some(x), _) => Some(Self::of_decimal(i128::from(*x), 3)),
            S::TimestampMicrosecond(Some(x), _) => Some(Self::of_decimal(i128::from(*x), 6)),
            S::TimestampNanosecond(Some(x), _) => Some(Self::of_decimal(i128::from(*x), 9)),
            _ => None,
        }
    }

    /// Removes trailing zeros, so that equal numbers are equal structs.
    fn normal(mut self) -> Self {
        let ten = i256::from_i128(10);
        if self.mantissa == i256::ZERO {
            self.scale = 0;
            return self;
        }
        while self.mantissa.wrapping_rem(ten) == i256::ZERO {
            self.mantissa = self.mantissa.wrapping_div(ten);
            self.scale -= 1;
        }
        self
    }

    pub(super) fn is_whole(&self) -> bool {
        self.scale <= 0
    }

    pub(super) fn negated(self) -> Option<Self> {
        Some(Self { mantissa: self.mantissa.checked_neg()?, ..self })
    }

    pub(super) fn plus(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let sum = self.at(scale)?.checked_add(other.at(scale)?)?;
        Some(Self { mantissa: sum, scale }.normal())
    }

    pub(super) fn times(self, other: Self) -> Option<Self> {
        let mantissa = self.mantissa.checked_mul(other.mantissa)?;
        Some(Self { mantissa, scale: self.scale.checked_add(other.scale)? }.normal())
    }

    /// Returns the mantissa for a scale that is not smaller, or `None` if it overflows.
    fn at(self, scale: i32) -> Option<i256> {
        self.mantissa.checked_mul(ten_to(scale.checked_sub(self.scale)?)?)
    }

    /// Returns the number as a decimal of so many digits and places, rounded half away from zero; `None` if it does
    /// not fit.
    pub(super) fn to_decimal(self, precision: u8, scale: i8) -> Option<i128> {
        let doubled = Self { mantissa: self.mantissa.checked_mul(i256::from_i128(2))?, ..self };
        let FlooredValue { floor, exact } = doubled.within(Unit::Places(i32::from(scale)))?;
        // Halves and more are rounded away from zero.
        let two = i256::from_i128(2);
        let nearest = match (floor >= i256::ZERO, exact) {
            (true, _) => floor.checked_add(i256::ONE)?.wrapping_div(two),
            (false, true) => floor.checked_sub(i256::ONE)?.wrapping_div(two),
            (false, false) => floor.wrapping_div(two),
        };
        let most = ten_to(i32::from(precision))?;
        (nearest < most && nearest > most.checked_neg()?).then(|| nearest.to_i128())?
    }

    /// Returns the number as a literal of its own decimal type, if it has at most 38 digits.
    pub(super) fn to_literal(self) -> Option<ScalarValue> {
        let scale = i8::try_from(self.scale.max(0)).ok()?;
        let unscaled = self.at(i32::from(scale))?.to_i128()?;
        let digits = unscaled.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1);
        let precision = u8::try_from(digits).ok()?.max(u8::try_from(scale).ok()?).max(1);
        (precision <= 38).then_some(ScalarValue::Decimal128(Some(unscaled), precision, scale))
    }

    /// Returns the number in whole units, or `None` if there are too many to count.
    fn within(&self, unit: Unit) -> Option<FlooredValue> {
        let (factor, divisor) = match unit {
            Unit::Places(places) => (places.checked_sub(self.scale)?, i256::ONE),
            Unit::Days => (self.scale.checked_neg()?, i256::from_i128(i128::from(DAY))),
        };
        let (dividend, divisor) = if factor >= 0 {
            (self.mantissa.checked_mul(ten_to(factor)?)?, divisor)
        } else {
            match ten_to(factor.checked_neg()?).and_then(|ten| ten.checked_mul(divisor)) {
                Some(divisor) => (self.mantissa, divisor),
                // The quotient is nearly zero.
                None => {
                    let negative = self.mantissa < i256::ZERO;
                    let floor = if negative { i256::MINUS_ONE } else { i256::ZERO };
                    return Some(FlooredValue { floor, exact: self.mantissa == i256::ZERO });
                }
            }
        };
        let quotient = dividend.checked_div(divisor)?;
        let exact = dividend.checked_rem(divisor)? == i256::ZERO;
        let below = !exact && dividend < i256::ZERO;
        let floor = if below { quotient.checked_sub(i256::ONE)? } else { quotient };
        Some(FlooredValue { floor, exact })
    }
}

fn ten_to(exponent: i32) -> Option<i256> {
    let exponent = u32::try_from(exponent).ok().filter(|it| *it <= EXPONENTS as u32)?;
    i256::from_i128(10).checked_pow(exponent)
}

/// Seconds of a day.
const DAY: i64 = 86_400;

/// The unit that a type counts.
#[derive(Debug, Clone, Copy)]
enum Unit {
    /// Numbers, or seconds, with so many decimal places.
    Places(i32),
    Days,
}

/// Whole units, rounded down, and whether they are exact.
#[derive(Debug, Clone, Copy)]
struct FlooredValue {
    floor: i256,
    exact: bool,
}

/// A type whose values are whole numbers of a unit.
#[derive(Debug, Clone)]
pub(super) struct UnitType {
    data_type: DataType,
    unit: Unit,
    least: i256,
    greatest: i256,
}

impl UnitType {
    /// Returns the unit of whole numbers, decimals of up to 38 digits, dates and timestamps.
    pub(super) fn from_type(data_type: &DataType) -> Option<Self> {
        use DataType as D;
        let whole = |least: i128, greatest: i128| (Unit::Places(0), least, greatest);
        let (unit, least, greatest) = match data_type {
            D::Int8 => whole(i128::from(i8::MIN), i128::from(i8::MAX)),
            D::Int16 => whole(i128::from(i16::MIN), i128::from(i16::MAX)),
            D::Int32 => whole(i128::from(i32::MIN), i128::from(i32::MAX)),
            D::Int64 => whole(i128::from(i64::MIN), i128::from(i64::MAX)),
            D::UInt8 => whole(0, i128::from(u8::MAX)),
            D::UInt16 => whole(0, i128::from(u16::MAX)),
            D::UInt32 => whole(0, i128::from(u32::MAX)),
            D::UInt64 => whole(0, i128::from(u64::MAX)),
            D::Decimal32(digits, places)
            | D::Decimal64(digits, places)
            | D::Decimal128(digits, places) => {
                let most = 10_i128.checked_pow(u32::from(*digits))?.checked_sub(1)?;
                (Unit::Places(i32::from(*places)), -most, most)
            }
            D::Date32 => (Unit::Days, i128::from(i32::MIN), i128::from(i32::MAX)),
            D::Timestamp(unit, _) => {
                (Unit::Places(places(*unit)), i128::from(i64::MIN), i128::from(i64::MAX))
            }
            _ => return None,
        };
        let (least, greatest) = (i256::from_i128(least), i256::from_i128(greatest));
        Some(Self { data_type: data_type.clone(), unit, least, greatest })
    }

    /// Returns the value of the type that equals this number, if there is one.
    pub(super) fn value(&self, number: &Number) -> Option<ScalarValue> {
        let FlooredValue { floor, exact } = number.within(self.unit)?;
        (exact && floor >= self.least && floor <= self.greatest).then(|| self.literal(floor))?
    }

    /// Returns `expr op number` for an expression of this type. NULL stays NULL.
    pub(super) fn compare(&self, expr: Expr, op: Operator, number: &Number) -> Option<Expr> {
        use Operator as O;
        let negative = number.mantissa < i256::ZERO;
        // A number with too many units is beyond all values.
        let place = number.within(self.unit).unwrap_or(FlooredValue {
            floor: if negative { i256::MIN } else { i256::MAX },
            exact: false,
        });
        let FlooredValue { floor, exact } = place;
        let reached = exact && floor >= self.least && floor <= self.greatest;
        if reached {
            return Some(binary_expr(expr, op, lit(self.literal(floor)?)));
        }
        let (least, greatest) = (lit(self.literal(self.least)?), lit(self.literal(self.greatest)?));
        Some(match op {
            O::Eq => expr.lt(least),
            O::NotEq => expr.gt_eq(least),
            O::IsDistinctFrom => lit(true),
            O::IsNotDistinctFrom => lit(false),
            O::Lt | O::LtEq if floor < self.least => expr.lt(least),
            O::Lt | O::LtEq if floor > self.greatest => expr.lt_eq(greatest),
            O::Lt | O::LtEq => expr.lt_eq(lit(self.literal(floor)?)),
            O::Gt | O::GtEq if floor < self.least => expr.gt_eq(least),
            O::Gt | O::GtEq if floor >= self.greatest => expr.gt(greatest),
            O::Gt | O::GtEq => expr.gt_eq(lit(self.literal(floor.checked_add(i256::ONE)?)?)),
            _ => return None,
        })
    }

    /// Returns the condition that an expression of this type equals a number of a list; it is NULL where the
    /// expression is.
    pub(super) fn one_of(&self, expr: Expr, values: Vec<Expr>, negated: bool) -> Option<Expr> {
        if !values.is_empty() {
            return Some(expr.in_list(values, negated));
        }
        let least = lit(self.literal(self.least)?);
        Some(if negated { expr.gt_eq(least) } else { expr.lt(least) })
    }

    fn literal(&self, count: i256) -> Option<ScalarValue> {
        use DataType as D;
        use ScalarValue as S;
        let count = count.to_i128()?;
        let long = || i64::try_from(count).ok();
        Some(match &self.data_type {
            D::Int8 => S::Int8(Some(i8::try_from(count).ok()?)),
            D::Int16 => S::Int16(Some(i16::try_from(count).ok()?)),
            D::Int32 => S::Int32(Some(i32::try_from(count).ok()?)),
            D::Int64 => S::Int64(Some(long()?)),
            D::UInt8 => S::UInt8(Some(u8::try_from(count).ok()?)),
            D::UInt16 => S::UInt16(Some(u16::try_from(count).ok()?)),
            D::UInt32 => S::UInt32(Some(u32::try_from(count).ok()?)),
            D::UInt64 => S::UInt64(Some(u64::try_from(count).ok()?)),
            D::Decimal32(p, s) => S::Decimal32(Some(i32::try_from(count).ok()?), *p, *s),
            D::Decimal64(p, s) => S::Decimal64(Some(long()?), *p, *s),
            D::Decimal128(p, s) => S::Decimal128(Some(count), *p, *s),
            D::Date32 => S::Date32(Some(i32::try_from(count).ok()?)),
            D::Timestamp(TimeUnit::Second, tz) => S::TimestampSecond(Some(long()?), tz.clone()),
            D::Timestamp(TimeUnit::Millisecond, tz) => {
                S::TimestampMillisecond(Some(long()?), tz.clone())
            }
            D::Timestamp(TimeUnit::Microsecond, tz) => {
                S::TimestampMicrosecond(Some(long()?), tz.clone())
            }
            D::Timestamp(TimeUnit::Nanosecond, tz) => {
                S::TimestampNanosecond(Some(long()?), tz.clone())
            }
            _ => return None,
        })
    }
}

/// Returns the decimal places of seconds that a unit has.
pub(super) fn places(unit: TimeUnit) -> i32 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::col;

    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn equal_numbers_look_alike() {
        for (one, other) in [
            ("33353.20", "33353.2"),
            ("1e3", "1000"),
            ("-0.00", "0"),
            ("1.50E-2", "0.015"),
            ("1_000.5", "1000.5"),
            (".5", "0.5"),
            ("5.", "5"),
        ] {
            assert_eq!(number(one), number(other), "{one}");
        }
        assert_eq!(Number::of_double(33353.2), Some(number("33353.20")));
        assert_eq!(Number::of_double(1e300), Some(number("1e300")));
        assert_eq!(Number::of_double(f64::NAN), None);
        for bad in ["", ".", "e1", "1e", "x", "1.2.3"] {
            assert_eq!(Number::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn digits_beyond_all_columns_still_tell_greater_from_less() {
        let long = number(&format!("1{}1", "0".repeat(200)));
        assert_ne!(long, number(&format!("1{}", "0".repeat(201))));
        let tiny = number(&format!("0.5{}1", "0".repeat(200)));
        let cents = UnitType::from_type(&DataType::Decimal128(5, 1)).unwrap();
        let compared = cents.compare(col("a"), Operator::GtEq, &tiny).unwrap();
        assert_eq!(compared.to_string(), r#"a >= Decimal128(0.6,5,1)"#);
    }

    #[test]
    fn decimals_are_rounded_half_away_from_zero() {
        for (text, scale, expected) in [
            ("1.25", 1, 13),
            ("-1.25", 1, -13),
            ("1.249", 1, 12),
            ("-1.249", 1, -12),
            ("-1.251", 1, -13),
            ("7", 2, 700),
            ("1e-30", 2, 0),
            ("-1e-30", 2, 0),
        ] {
            assert_eq!(number(text).to_decimal(10, scale), Some(expected), "{text}");
        }
        assert_eq!(number("99.95").to_decimal(3, 1), None);
        assert_eq!(number("1e300").to_decimal(38, 0), None);
    }

    #[test]
    fn comparisons_keep_their_meaning() {
        let int = DataType::Int8;
        let decimal = DataType::Decimal128(4, 1);
        let second = DataType::Timestamp(TimeUnit::Second, None);
        for (data_type, op, text, expected) in [
            (&int, Operator::Lt, "1.5", "a <= Int8(1)"),
            (&int, Operator::Gt, "-1.5", "a >= Int8(-1)"),
            (&int, Operator::Eq, "1.5", "a < Int8(-128)"),
            (&int, Operator::NotEq, "1.5", "a >= Int8(-128)"),
            (&int, Operator::Eq, "2.0", "a = Int8(2)"),
            (&int, Operator::Lt, "1000", "a <= Int8(127)"),
            (&int, Operator::Gt, "127.5", "a > Int8(127)"),
            (&int, Operator::GtEq, "-128.5", "a >= Int8(-128)"),
            (&int, Operator::LtEq, "-1e300", "a < Int8(-128)"),
            (&int, Operator::IsDistinctFrom, "1e300", "Boolean(true)"),
            (&decimal, Operator::LtEq, "67.35", "a <= Decimal128(67.3,4,1)"),
            (&decimal, Operator::Eq, "67.3", "a = Decimal128(67.3,4,1)"),
            (&second, Operator::Lt, "0.5", "a <= TimestampSecond(0, None)"),
        ] {
            let counted = UnitType::from_type(data_type).unwrap();
            let compared = counted.compare(col("a"), op, &number(text)).unwrap();
            assert_eq!(compared.to_string(), expected, "{data_type} {op} {text}");
        }
        let day = UnitType::from_type(&DataType::Date32).unwrap();
        let noon = Number::of_instant(-DAY / 2, 0);
        let compared = day.compare(col("a"), Operator::Lt, &noon).unwrap();
        assert_eq!(compared.to_string(), r#"a <= Date32("1969-12-31")"#);
    }
}
