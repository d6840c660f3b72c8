//! Dates and times as PostgreSQL prints them.

use std::fmt::Write;

/// Microseconds of a day.
pub const DAY: i64 = 86_400_000_000;
/// Days from 1970-01-01 to 2000-01-01, from which PostgreSQL's binary forms count.
pub const EPOCH_DAYS: i64 = 10_957;

/// Returns year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
#[must_use]
pub fn civil(days: i64) -> (i64, u32, u32) {
    // Years begin in March here, so that the leap day is the last one. 400 years have 146,097 days.
    let days = days.saturating_add(719_468);
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, u32::try_from(month).unwrap_or(1), u32::try_from(day).unwrap_or(1))
}

/// Appends a date, such as `1998-09-02` and `0044-03-15 BC`.
pub fn date(out: &mut String, days: i64) {
    let (year, month, day) = civil(days);
    let _ = date_without_era(out, year, month, day);
    out.push_str(era(year));
}

/// Appends a time of day, such as `12:30:00.25`.
pub fn time(out: &mut String, micros: i64) {
    let (seconds, fraction) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let _ = write!(out, "{hours:02}:{minutes:02}:{:02}", seconds % 60);
    push_fraction(out, fraction);
}

/// Appends a timestamp, such as `1998-09-02 12:30:00`; with `zone`, followed by `+00`.
pub fn timestamp(out: &mut String, micros: i64, zone: bool) {
    let (year, month, day) = civil(micros.div_euclid(DAY));
    let _ = date_without_era(out, year, month, day);
    out.push(' ');
    time(out, micros.rem_euclid(DAY));
    if zone {
        out.push_str("+00");
    }
    out.push_str(era(year));
}

/// Appends an interval, such as `1 year 2 mons -3 days +04:05:06`.
pub fn interval(out: &mut String, months: i32, days: i32, micros: i64) {
    let start = out.len();
    let mut negative_before = false;
    for (amount, unit) in [(months / 12, "year"), (months % 12, "mon"), (days, "day")] {
        if amount == 0 {
            continue;
        }
        if out.len() > start {
            out.push(' ');
        }
        let plus = if negative_before && amount > 0 { "+" } else { "" };
        let plural = if amount == 1 { "" } else { "s" };
        let _ = write!(out, "{plus}{amount} {unit}{plural}");
        negative_before = amount < 0;
    }
    if micros != 0 || out.len() == start {
        if out.len() > start {
            out.push(' ');
        }
        if micros < 0 {
            out.push('-');
        } else if negative_before {
            out.push('+');
        }
        let micros = micros.unsigned_abs();
        let seconds = micros / 1_000_000;
        let _ = write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        push_fraction(out, i64::try_from(micros % 1_000_000).unwrap_or(0));
    }
}

fn date_without_era(out: &mut String, year: i64, month: u32, day: u32) -> std::fmt::Result {
    // The year 0 is 1 BC.
    let shown = if year > 0 { year } else { 1 - year };
    write!(out, "{shown:04}-{month:02}-{day:02}")
}

const fn era(year: i64) -> &'static str {
    if year > 0 { "" } else { " BC" }
}

/// Appends a fraction of a second without trailing zeros.
fn push_fraction(out: &mut String, micros: i64) {
    if micros > 0 {
        let digits = format!("{micros:06}");
        let _ = write!(out, ".{}", digits.trim_end_matches('0'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn dates_are_those_of_the_gregorian_calendar() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (10_957, "2000-01-01"),
            (11_016, "2000-02-29"),
            (-719_162, "0001-01-01"),
            (-719_163, "0001-12-31 BC"),
            (2_932_897, "10000-01-01"),
        ] {
            assert_eq!(text(|out| date(out, days)), expected);
        }
        // Any number has a date.
        text(|out| date(out, i64::MAX / 2));
        text(|out| date(out, i64::MIN / 2));
    }

    #[test]
    fn times_have_microseconds_if_needed() {
        assert_eq!(text(|out| time(out, 0)), "00:00:00");
        assert_eq!(text(|out| time(out, DAY - 1)), "23:59:59.999999");
        assert_eq!(text(|out| timestamp(out, -1, false)), "1969-12-31 23:59:59.999999");
        assert_eq!(text(|out| timestamp(out, 1_500_000, true)), "1970-01-01 00:00:01.5+00");
        assert_eq!(text(|out| timestamp(out, -719_163 * DAY, true)), "0001-12-31 00:00:00+00 BC");
        text(|out| timestamp(out, i64::MIN, true));
    }

    #[test]
    fn intervals_are_in_the_style_of_postgres() {
        for ((months, days, micros), expected) in [
            ((0, 0, 0), "00:00:00"),
            ((14, 3, 3_723_000_000), "1 year 2 mons 3 days 01:02:03"),
            ((-1, 1, 0), "-1 mons +1 day"),
            ((0, -1, 1_000_000), "-1 days +00:00:01"),
            ((0, 0, -1_500_000), "-00:00:01.5"),
            ((24, 0, 0), "2 years"),
        ] {
            assert_eq!(text(|out| interval(out, months, days, micros)), expected);
        }
    }
}
