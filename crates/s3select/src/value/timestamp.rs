//! Points in time in the dialect: Ion timestamps, with a precision and an offset.

use std::cmp::Ordering;
use std::fmt;

use super::civil::{Civil, days_in_month};
use crate::dialect::ast::DatePart;

const SECONDS_PER_DAY: i64 = 86_400;
const UNKNOWN_OFFSET: i16 = i16::MIN;

/// A point in time between the years 1 and 9999, to the nanosecond. Further digits of a text are cut off.
///
/// The timestamp keeps the precision and the offset from UTC of its source, and prints with them. `==` compares the
/// representation; use [`Timestamp::compare`] for the point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timestamp {
    // Invariants: the year, in the offset, is 1..=9999; nanos < 10^9; |offset| < 24 h or unknown,
    // and an offset of 0 or unknown if the precision is a day or coarser.
    seconds: i64,
    nanos: u32,
    offset: i16,
    precision: Precision,
}

/// The precision of a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Precision {
    /// A year, as in `2010T`.
    Year,
    /// A month, as in `2010-02T`.
    Month,
    /// A day, as in `2010-02-03`.
    Day,
    /// A minute, as in `2010-02-03T04:05Z`.
    Minute,
    /// A second, as in `2010-02-03T04:05:06Z`.
    Second,
    /// The given number of digits after the seconds, 1 to 9.
    Fraction(u8),
}

impl Timestamp {
    /// The day 1970-01-01.
    pub const EPOCH: Self =
        Self { seconds: 0, nanos: 0, offset: UNKNOWN_OFFSET, precision: Precision::Day };

    /// The day `days` after 1970-01-01, which begins at midnight UTC; `None` beyond the years 1 to 9999.
    #[must_use]
    pub fn from_days(days: i64) -> Option<Self> {
        Self::from_seconds(days.checked_mul(SECONDS_PER_DAY)?, 0, None, Precision::Day)
    }

    /// A point in time in nanoseconds since 1970-01-01T00:00Z, in UTC, printed with `digits` (0 to 9) digits after
    /// the seconds. `None` beyond the years 1 to 9999.
    #[must_use]
    pub fn from_nanos(nanos: i128, digits: u8) -> Option<Self> {
        let seconds = i64::try_from(nanos.div_euclid(1_000_000_000)).ok()?;
        let nanos = nanos.rem_euclid(1_000_000_000) as u32;
        let precision =
            if digits == 0 { Precision::Second } else { Precision::Fraction(digits.min(9)) };
        Self::from_seconds(seconds, nanos, Some(0), precision)
    }

    fn from_seconds(
        seconds: i64,
        nanos: u32,
        offset: Option<i16>,
        precision: Precision,
    ) -> Option<Self> {
        let offset = offset.unwrap_or(UNKNOWN_OFFSET);
        let timestamp = Self { seconds, nanos, offset, precision };
        let days = timestamp.local_seconds().div_euclid(SECONDS_PER_DAY);
        (Civil::MIN_DAYS..=Civil::MAX_DAYS).contains(&days).then_some(timestamp)
    }

    /// Parses a date `YYYY-MM-DD`, an Ion timestamp, or an Ion timestamp with a space instead of the `T`, without
    /// surrounding whitespace. A time needs an offset. Returns `None` for any other text.
    #[must_use]
    #[inline]
    pub fn parse(text: &[u8]) -> Option<Self> {
        if let Ok(date) = <&[u8; 10]>::try_from(text) {
            return Self::parse_date(date);
        }
        Self::parse_long(text, false)
    }

    /// Parses the text between backticks in a statement: the text that [`Timestamp::parse`] accepts, or a time
    /// without an offset, whose offset is then unknown.
    #[must_use]
    pub fn parse_literal(text: &[u8]) -> Option<Self> {
        Self::parse(text).or_else(|| Self::parse_long(text, true))
    }

    /// Parses a date `YYYY-MM-DD`.
    #[must_use]
    #[inline]
    pub fn parse_date(text: &[u8; 10]) -> Option<Self> {
        let days = parse_days(text)?;
        let seconds = days * SECONDS_PER_DAY;
        Some(Self { seconds, nanos: 0, offset: UNKNOWN_OFFSET, precision: Precision::Day })
    }

    fn parse_long(text: &[u8], without_offset: bool) -> Option<Self> {
        let coarse = |month, precision| {
            let civil = Civil { year: digits(text.get(..4)?)?, month, day: 1 };
            Self::from_seconds(civil.to_days()? * SECONDS_PER_DAY, 0, None, precision)
        };
        match text {
            [_, _, _, _, b'T'] => return coarse(1, Precision::Year),
            [_, _, _, _, b'-', m1, m2, b'T'] => {
                return coarse(digits(&[*m1, *m2])?, Precision::Month);
            }
            _ => {}
        }
        let (date, rest) = text.split_first_chunk::<10>()?;
        let days = parse_days(date)?;
        let (separator, rest) = rest.split_first()?;
        if rest.is_empty() {
            return if *separator == b'T' { Self::parse_date(date) } else { None };
        }
        if !matches!(separator, b'T' | b' ') {
            return None;
        }
        let (minute_of_day, rest) = parse_clock(rest)?;
        let mut seconds = days * SECONDS_PER_DAY + i64::from(minute_of_day) * 60;
        let mut nanos = 0;
        let mut precision = Precision::Minute;
        let mut rest = rest;
        if let [b':', s1, s2, tail @ ..] = rest {
            let second = digits(&[*s1, *s2]).filter(|s| *s < 60)?;
            seconds += i64::from(second);
            (precision, rest) = (Precision::Second, tail);
            if let [b'.', tail @ ..] = rest {
                let length = tail.iter().take_while(|b| b.is_ascii_digit()).count();
                let (fraction, tail) = tail.split_at(length);
                nanos = parse_fraction(fraction)?;
                (precision, rest) = (Precision::Fraction(length.min(9) as u8), tail);
            }
        }
        let offset = match rest {
            b"Z" => Some(0),
            b"-00:00" => None,
            b"" if without_offset => None,
            [sign @ (b'+' | b'-'), clock @ ..] => match parse_clock(clock)? {
                (minutes, []) if *sign == b'-' => Some(-minutes),
                (minutes, []) => Some(minutes),
                _ => return None,
            },
            _ => return None,
        };
        seconds -= i64::from(offset.unwrap_or(0)) * 60;
        Self::from_seconds(seconds, nanos, offset, precision)
    }

    /// Compares the points in time; precision and offset do not matter.
    #[must_use]
    #[inline]
    pub fn compare(self, other: Self) -> Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }

    /// The nanoseconds since 1970-01-01T00:00Z.
    #[must_use]
    pub fn nanos(self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos)
    }

    /// The seconds since 1970-01-01T00:00Z, rounded down, and the nanoseconds after them.
    #[must_use]
    #[inline]
    pub fn seconds_and_nanos(self) -> (i64, u32) {
        (self.seconds, self.nanos)
    }

    /// The offset from UTC in minutes, if it is known.
    #[must_use]
    pub fn offset(self) -> Option<i16> {
        (self.offset != UNKNOWN_OFFSET).then_some(self.offset)
    }

    /// The precision with which the timestamp was given.
    #[must_use]
    pub fn precision(self) -> Precision {
        self.precision
    }

    fn local_seconds(self) -> i64 {
        self.seconds + i64::from(self.offset().unwrap_or(0)) * 60
    }

    /// The parts of the timestamp in its own offset.
    #[must_use]
    pub fn fields(self) -> Fields {
        let local = self.local_seconds();
        let date = Civil::from_days(local.div_euclid(SECONDS_PER_DAY));
        let second_of_day = local.rem_euclid(SECONDS_PER_DAY) as u32;
        Fields {
            date,
            hour: second_of_day / 3600,
            minute: second_of_day / 60 % 60,
            second: second_of_day % 60,
            nanos: self.nanos,
        }
    }

    /// EXTRACT: one part, in the timestamp's own offset. The parts of an unknown offset are 0.
    #[must_use]
    pub fn extract(self, part: DatePart) -> i64 {
        let fields = self.fields();
        let offset = i64::from(self.offset().unwrap_or(0));
        match part {
            DatePart::Year => i64::from(fields.date.year),
            DatePart::Month => i64::from(fields.date.month),
            DatePart::Day => i64::from(fields.date.day),
            DatePart::Hour => i64::from(fields.hour),
            DatePart::Minute => i64::from(fields.minute),
            DatePart::Second => i64::from(fields.second),
            DatePart::TimezoneHour => offset / 60,
            DatePart::TimezoneMinute => offset % 60,
        }
    }

    /// DATE_ADD: the timestamp plus `quantity` of `part`.
    ///
    /// If the month is too short for the day, the result is its last day. The result is at least as precise as the
    /// part. Returns `None` for a part that cannot be added, and beyond the years 1 to 9999.
    #[must_use]
    pub fn add(self, part: DatePart, quantity: i64) -> Option<Self> {
        let (unit, precision) = match part {
            DatePart::Year => return self.add_months(quantity.checked_mul(12)?, Precision::Year),
            DatePart::Month => return self.add_months(quantity, Precision::Month),
            DatePart::Day => (SECONDS_PER_DAY, Precision::Day),
            DatePart::Hour => (3600, Precision::Minute),
            DatePart::Minute => (60, Precision::Minute),
            DatePart::Second => (1, Precision::Second),
            DatePart::TimezoneHour | DatePart::TimezoneMinute => return None,
        };
        let seconds = self.seconds.checked_add(quantity.checked_mul(unit)?)?;
        // This is far beyond the years 1 to 9999. The check also excludes overflow in the following computation.
        if seconds.unsigned_abs() > 1 << 40 {
            return None;
        }
        Self::from_seconds(seconds, self.nanos, self.offset(), self.precision.max(precision))
    }

    fn add_months(self, months: i64, precision: Precision) -> Option<Self> {
        let local = self.local_seconds();
        let (days, second_of_day) =
            (local.div_euclid(SECONDS_PER_DAY), local.rem_euclid(SECONDS_PER_DAY));
        let date = Civil::from_days(days);
        let index = (i64::from(date.year) * 12 + i64::from(date.month) - 1).checked_add(months)?;
        let year = u32::try_from(index.div_euclid(12)).ok()?;
        let month = index.rem_euclid(12) as u32 + 1;
        let day = date.day.min(days_in_month(year, month));
        let days = Civil { year, month, day }.to_days()?;
        let seconds = days * SECONDS_PER_DAY + second_of_day + (self.seconds - local);
        Self::from_seconds(seconds, self.nanos, self.offset(), self.precision.max(precision))
    }

    /// DATE_DIFF: the number of whole `part`s between `self` and `later`, negative if `later` is earlier.
    ///
    /// Years and months are counted by the calendar dates in each timestamp's own offset; a day is 24 hours. Returns
    /// `None` for the parts of an offset.
    #[must_use]
    pub fn difference(self, later: Self, part: DatePart) -> Option<i64> {
        let unit = match part {
            DatePart::Year => return Some(self.months_until(later) / 12),
            DatePart::Month => return Some(self.months_until(later)),
            DatePart::Day => SECONDS_PER_DAY,
            DatePart::Hour => 3600,
            DatePart::Minute => 60,
            DatePart::Second => 1,
            DatePart::TimezoneHour | DatePart::TimezoneMinute => return None,
        };
        i64::try_from((later.nanos() - self.nanos()) / (i128::from(unit) * 1_000_000_000)).ok()
    }

    fn months_until(self, later: Self) -> i64 {
        let (from, to) = (self.fields().date, later.fields().date);
        let index = |date: Civil| i64::from(date.year) * 12 + i64::from(date.month);
        let months = index(to) - index(from);
        if months > 0 && to.day < from.day {
            months - 1
        } else if months < 0 && to.day > from.day {
            months + 1
        } else {
            months
        }
    }

    /// Appends the timestamp as Ion text, with its precision and in its offset.
    pub fn write(self, out: &mut Vec<u8>) {
        if self.precision == Precision::Day {
            let date = Civil::from_days(self.seconds.div_euclid(SECONDS_PER_DAY));
            let digit = |number: u32| b'0' + (number % 10) as u8;
            let Civil { year: y, month: m, day: d } = date;
            let [y1, y2, y3, y4] = [y / 1000, y / 100, y / 10, y].map(digit);
            let [m1, m2, d1, d2] = [m / 10, m, d / 10, d].map(digit);
            return out.extend_from_slice(&[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2]);
        }
        let fields = self.fields();
        push_padded(out, fields.date.year, 4);
        if self.precision == Precision::Year {
            return out.push(b'T');
        }
        out.push(b'-');
        push_padded(out, fields.date.month, 2);
        if self.precision == Precision::Month {
            return out.push(b'T');
        }
        out.push(b'-');
        push_padded(out, fields.date.day, 2);
        out.push(b'T');
        push_padded(out, fields.hour, 2);
        out.push(b':');
        push_padded(out, fields.minute, 2);
        if self.precision >= Precision::Second {
            out.push(b':');
            push_padded(out, fields.second, 2);
        }
        if let Precision::Fraction(digits) = self.precision {
            out.push(b'.');
            push_padded(out, self.nanos / 10_u32.pow(9 - u32::from(digits)), usize::from(digits));
        }
        match self.offset() {
            None => out.extend_from_slice(b"-00:00"),
            Some(0) => out.push(b'Z'),
            Some(offset) => {
                out.push(if offset < 0 { b'-' } else { b'+' });
                push_padded(out, u32::from(offset.unsigned_abs()) / 60, 2);
                out.push(b':');
                push_padded(out, u32::from(offset.unsigned_abs()) % 60, 2);
            }
        }
    }
}

/// The parts of a timestamp in its own offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Fields {
    pub date: Civil,
    pub hour: u32,
    pub minute: u32,
    pub second: u32,
    pub nanos: u32,
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(35);
        self.write(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

/// Appends `number` with zeros in front up to `width` digits (at most 10).
pub(super) fn push_padded(out: &mut Vec<u8>, number: u32, width: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    out.extend_from_slice(&b"0000000000"[..width.saturating_sub(digits.len()).min(10)]);
    out.extend_from_slice(digits);
}

/// The days since 1970-01-01 of `YYYY-MM-DD`, computed from all digits at once.
#[inline]
fn parse_days(text: &[u8; 10]) -> Option<i64> {
    const DASHES: u64 = 0xff00_00ff_0000_0000;
    let [y1, y2, y3, y4, dash1, m1, m2, dash2, d1, d2] = *text;
    let head = u64::from_le_bytes([y1, y2, y3, y4, dash1, m1, m2, dash2]);
    if head & DASHES != u64::from_le_bytes(*b"\0\0\0\0-\0\0-") {
        return None;
    }
    let digits = u64::from_le_bytes([y1, y2, y3, y4, m1, m2, d1, d2]) ^ 0x3030_3030_3030_3030;
    // A byte above 9 sets its highest bit, and no smaller byte carries into the next.
    let beyond = digits | digits.wrapping_add(0x7676_7676_7676_7676);
    if beyond & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let pair = |at: u32| (pairs >> (8 * at)) as u32 & 0xff;
    Civil { year: pair(0) * 100 + pair(2), month: pair(4), day: pair(6) }.to_days()
}

#[inline]
fn digits(text: &[u8]) -> Option<u32> {
    let mut number = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u32::from(digit);
    }
    Some(number)
}

/// Parses `hh:mm` as minutes, and returns the rest of the text.
fn parse_clock(text: &[u8]) -> Option<(i16, &[u8])> {
    let [h1, h2, b':', m1, m2, rest @ ..] = text else { return None };
    let hour = digits(&[*h1, *h2]).filter(|h| *h < 24)?;
    let minute = digits(&[*m1, *m2]).filter(|m| *m < 60)?;
    Some(((hour * 60 + minute) as i16, rest))
}

/// Parses the digits after the seconds as nanoseconds; further digits are cut off.
fn parse_fraction(text: &[u8]) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    let kept = &text[..text.len().min(9)];
    Some(digits(kept)? * 10_u32.pow(9 - kept.len() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::Datelike;
    use proptest::prelude::*;

    fn t(text: &str) -> Timestamp {
        Timestamp::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text} is no timestamp"))
    }

    #[test]
    fn ion_text_survives() {
        for text in [
            "2010T",
            "2010-02T",
            "2010-02-03",
            "2010-02-03T04:05Z",
            "2010-02-03T04:05:06-00:00",
            "2010-02-03T04:05:06.700+07:30",
            "0001-01-01T00:00Z",
            "9999-12-31T23:59:59.999999999Z",
            "2024-02-29T00:00-23:59",
        ] {
            assert_eq!(t(text).to_string(), text);
        }
        assert_eq!(t("2010-02-03T").to_string(), "2010-02-03");
        assert_eq!(t("2010-02-03 04:05:06Z").to_string(), "2010-02-03T04:05:06Z");
    }

    #[test]
    fn digits_behind_the_ninth_are_cut_off() {
        for (text, kept) in [
            ("2010-02-03T04:05:06.1234567891Z", "2010-02-03T04:05:06.123456789Z"),
            ("2010-02-03T04:05:06.9999999999999+01:00", "2010-02-03T04:05:06.999999999+01:00"),
            ("2010-02-03T04:05:06.000000000001Z", "2010-02-03T04:05:06.000000000Z"),
        ] {
            assert_eq!(t(text).to_string(), kept);
        }
        let long = format!("2010-02-03T04:05:06.{}Z", "7".repeat(1000));
        assert_eq!(t(&long).to_string(), "2010-02-03T04:05:06.777777777Z");
    }

    #[test]
    fn only_a_literal_may_lack_its_offset() {
        for (text, printed) in [
            ("2010-02-03T04:05", "2010-02-03T04:05-00:00"),
            ("2010-02-03T04:05:06.7", "2010-02-03T04:05:06.7-00:00"),
            ("2010-02-03T04:05Z", "2010-02-03T04:05Z"),
            ("2010T", "2010T"),
        ] {
            let literal = Timestamp::parse_literal(text.as_bytes()).unwrap();
            assert_eq!(literal.to_string(), printed);
            assert_eq!(Timestamp::parse(text.as_bytes()).is_some(), !printed.ends_with("-00:00"));
        }
        for text in ["2010-02-03T04", "2010-02-03T", "2010-02-03Tx", "2010-02-03T04:05+08:00Z"] {
            let date = text == "2010-02-03T";
            assert_eq!(Timestamp::parse_literal(text.as_bytes()).is_some(), date, "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "2010",
            "2010-02",
            "2010-13T",
            "2010-02-30",
            "2023-02-29",
            "2010-02-03 ",
            "2010-02-03T04:05",
            "2010-02-03T24:00Z",
            "2010-02-03T04:60Z",
            "2010-02-03T04:05:60Z",
            "2010-02-03T04:05:06.Z",
            "2010-02-03T04:05+24:00",
            "2010-02-03T04:05Zx",
            "0000-01-01",
            "0001-01-01T00:00+01:00x",
            "20100203",
            "2010/02/03",
        ] {
            assert_eq!(Timestamp::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn offsets_do_not_change_the_point_in_time() {
        let a = t("2010-02-03T04:05:06Z");
        assert_eq!(a.compare(t("2010-02-03T05:05:06+01:00")), Ordering::Equal);
        assert_eq!(a.compare(t("2010-02-03T04:05:06+01:00")), Ordering::Greater);
        assert_eq!(t("2010T").compare(t("2010-01-01T00:00Z")), Ordering::Equal);
    }

    #[track_caller]
    fn check_add(part: DatePart, quantity: i64, text: &str, expected: &str) {
        let sum = t(text).add(part, quantity);
        assert_eq!(sum.map_or_else(|| "none".to_owned(), |t| t.to_string()), expected);
    }

    #[test]
    fn date_add_as_the_service_documents_it() {
        use DatePart::*;
        check_add(Year, 5, "2010-01-01T", "2015-01-01");
        check_add(Month, 1, "2010T", "2010-02T");
        check_add(Month, 13, "2010T", "2011-02T");
        check_add(Day, -1, "2017-01-10T", "2017-01-09");
        check_add(Hour, 1, "2017T", "2017-01-01T01:00-00:00");
        check_add(Hour, 1, "2017-01-02T03:04Z", "2017-01-02T04:04Z");
        check_add(Minute, 1, "2017-01-02T03:04:05.006Z", "2017-01-02T03:05:05.006Z");
        check_add(Second, 1, "2017-01-02T03:04:05.006Z", "2017-01-02T03:04:06.006Z");
        check_add(Month, 1, "2024-01-31", "2024-02-29");
        check_add(Month, -3, "2024-01-31T23:00-05:00", "2023-10-31T23:00-05:00");
        check_add(Year, -1, "2024-02-29", "2023-02-28");
        check_add(Year, 8000, "2024-02-29", "none");
        check_add(Second, i64::MAX, "2024-02-29", "none");
        check_add(Month, i64::MIN, "2024-02-29", "none");
        check_add(TimezoneHour, 1, "2024-02-29", "none");
    }

    #[track_caller]
    fn check_diff(part: DatePart, from: &str, to: &str, expected: i64) {
        assert_eq!(t(from).difference(t(to), part), Some(expected));
    }

    #[test]
    fn date_diff_counts_whole_parts() {
        use DatePart::*;
        check_diff(Year, "2010-01-01T", "2011-01-01T", 1);
        check_diff(Year, "2010-12-31T", "2011-01-01T", 0);
        check_diff(Month, "2010T", "2010-05T", 4);
        check_diff(Month, "2010T", "2011T", 12);
        check_diff(Month, "2011T", "2010T", -12);
        check_diff(Month, "2010-01-31T", "2010-02-28T", 0);
        check_diff(Day, "2010-01-01T23:00Z", "2010-01-02T01:00Z", 0);
        check_diff(Year, "2010T", "2010-05T", 0);
        check_diff(Day, "2010-01-03T", "2010-01-01T", -2);
        check_diff(Second, "0001T", "9999T", 315_506_361_600);
    }

    #[test]
    fn extract_sees_the_local_time() {
        use DatePart::*;
        let time = t("2010-01-01T01:30:15.5-05:30");
        let parts = [Year, Month, Day, Hour, Minute, Second, TimezoneHour, TimezoneMinute];
        let values: Vec<_> = parts.into_iter().map(|part| time.extract(part)).collect();
        assert_eq!(values, [2010, 1, 1, 1, 30, 15, -5, -30]);
    }

    proptest! {
        #[test]
        fn print_then_parse(seconds in -62_135_596_800i64..=253_402_300_799, nanos in 0i128..1_000_000_000) {
            let time = Timestamp::from_nanos(i128::from(seconds) * 1_000_000_000 + nanos, 9).unwrap();
            prop_assert_eq!(t(&time.to_string()), time);
        }

        #[test]
        fn adding_days_then_diffing(days in -700_000i64..2_900_000, more in -10_000i64..10_000) {
            let time = Timestamp::from_days(days).unwrap();
            if let Some(later) = time.add(DatePart::Day, more) {
                prop_assert_eq!(time.difference(later, DatePart::Day), Some(more));
            }
        }

        #[test]
        fn parts_are_added_and_counted_as_chrono_does(
            seconds in -62_000_000_000i64..253_000_000_000,
            span in -400_000_000i64..400_000_000,
            millis in (0u32..1000, 0u32..1000),
            offsets in (-1439i32..=1439, -1439i32..=1439),
            quantity in -5_000i64..5_000,
        ) {
            let [(time, ours), (later, theirs)] = [
                (seconds, millis.0, offsets.0),
                (seconds.saturating_add(span).clamp(-62_000_000_000, 253_000_000_000), millis.1, offsets.1),
            ].map(|(seconds, millis, offset)| {
                let zone = chrono::FixedOffset::east_opt(offset * 60).unwrap();
                let utc = chrono::DateTime::from_timestamp(seconds, millis * 1_000_000).unwrap();
                let time = utc.with_timezone(&zone);
                (t(&time.format("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()), time)
            });
            let plus = |duration: Option<chrono::TimeDelta>| {
                duration.and_then(|duration| ours.checked_add_signed(duration))
            };
            let months = |n: i64| {
                let months = chrono::Months::new(n.unsigned_abs() as u32);
                if n < 0 { ours.checked_sub_months(months) } else { ours.checked_add_months(months) }
            };
            let whole_months = |from: chrono::NaiveDate, to: chrono::NaiveDate| {
                let (early, late) = if from <= to { (from, to) } else { (to, from) };
                let index = |date: chrono::NaiveDate| i64::from(date.year()) * 12 + i64::from(date.month0());
                let all = index(late) - index(early);
                let count = all - i64::from(late.day() < early.day());
                if from <= to { count } else { -count }
            };
            let between = theirs - ours;
            let count = whole_months(ours.date_naive(), theirs.date_naive());
            for (part, sum, difference) in [
                (DatePart::Year, months(quantity * 12), count / 12),
                (DatePart::Month, months(quantity), count),
                (DatePart::Day, plus(chrono::TimeDelta::try_days(quantity)), between.num_days()),
                (DatePart::Hour, plus(chrono::TimeDelta::try_hours(quantity)), between.num_hours()),
                (DatePart::Minute, plus(chrono::TimeDelta::try_minutes(quantity)), between.num_minutes()),
                (DatePart::Second, plus(chrono::TimeDelta::try_seconds(quantity)), between.num_seconds()),
            ] {
                let in_range = |sum: &chrono::DateTime<chrono::FixedOffset>| (1..=9999).contains(&sum.year());
                let expected = sum.filter(in_range).map(|sum| {
                    (sum.timestamp_nanos_opt().map(i128::from), sum.naive_local().to_string(), sum.offset().local_minus_utc() / 60)
                });
                let found = time.add(part, quantity).map(|sum| {
                    let Fields { date: Civil { year, month, day }, hour, minute, second, nanos } = sum.fields();
                    let local = chrono::NaiveDate::from_ymd_opt(year as i32, month, day).unwrap()
                        .and_hms_nano_opt(hour, minute, second, nanos).unwrap();
                    (i64::try_from(sum.nanos()).ok().map(i128::from), local.to_string(), i32::from(sum.offset().unwrap()))
                });
                prop_assert_eq!(found, expected, "{:?} {} to {}", part, quantity, ours);
                prop_assert_eq!(time.difference(later, part), Some(difference), "{:?} from {} to {}", part, ours, theirs);
            }
        }

        #[test]
        fn no_text_panics(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Timestamp::parse(&text);
        }
    }
}
