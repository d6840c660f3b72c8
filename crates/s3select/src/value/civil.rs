//! The proleptic Gregorian calendar.

/// A day in the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Civil {
    /// 1 to 9999
    pub year: u32,
    /// 1 to 12
    pub month: u32,
    /// 1 to 31
    pub day: u32,
}

const DAYS_PER_ERA: i64 = 146_097;
const EPOCH_FROM_MARCH_OF_YEAR_0: i64 = 719_468;

impl Civil {
    /// 0001-01-01 as days since 1970-01-01.
    pub(super) const MIN_DAYS: i64 = -719_162;
    /// 9999-12-31 as days since 1970-01-01.
    pub(super) const MAX_DAYS: i64 = 2_932_896;

    /// Days since 1970-01-01; `None` if there is no such day in the years 1 to 9999.
    #[must_use]
    #[inline]
    pub fn to_days(self) -> Option<i64> {
        let Self { year, month, day } = self;
        if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || day == 0 {
            return None;
        }
        if day > 28 && day > days_in_month(year, month) {
            return None;
        }
        // Years are counted from March, so that the leap day is the last of its year and the
        // lengths of the months before it follow one line.
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let (era, year_of_era) = (year / 400, year % 400);
        let day_of_year = (153 * month + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        Some(i64::from(era) * DAYS_PER_ERA + i64::from(day_of_era) - EPOCH_FROM_MARCH_OF_YEAR_0)
    }

    /// The day `days` after 1970-01-01, which must be in the years 1 to 9999.
    #[must_use]
    pub fn from_days(days: i64) -> Self {
        let days = days.clamp(Self::MIN_DAYS, Self::MAX_DAYS) + EPOCH_FROM_MARCH_OF_YEAR_0;
        let era = days / DAYS_PER_ERA;
        let day_of_era = days % DAYS_PER_ERA;
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * month + 2) / 5 + 1) as u32;
        let year = (year_of_era + era * 400 + i64::from(month >= 10)) as u32;
        let month = if month < 10 { month + 3 } else { month - 9 } as u32;
        Self { year, month, day }
    }
}

/// How many days the month has; 0 for a month beyond 1 to 12.
pub(super) fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(if year.is_multiple_of(100) { 400 } else { 4 }) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_survives() {
        let mut previous = Civil { year: 0, month: 12, day: 31 };
        for days in Civil::MIN_DAYS..=Civil::MAX_DAYS {
            let civil = Civil::from_days(days);
            assert_eq!(civil.to_days(), Some(days));
            assert!(civil > previous);
            previous = civil;
        }
        assert_eq!(previous, Civil { year: 9999, month: 12, day: 31 });
        assert_eq!(Civil { year: 1970, month: 1, day: 1 }.to_days(), Some(0));
    }

    #[test]
    fn days_that_are_not_are_refused() {
        for (year, month, day) in [
            (0, 1, 1),
            (10_000, 1, 1),
            (2023, 2, 29),
            (1900, 2, 29),
            (2000, 4, 31),
            (2000, 0, 1),
            (2000, 13, 1),
            (2000, 1, 0),
        ] {
            assert_eq!(Civil { year, month, day }.to_days(), None, "{year}-{month}-{day}");
        }
    }
}
