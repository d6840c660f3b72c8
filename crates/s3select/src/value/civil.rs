//! The proleptic Gregorian calendar.

/// A day in the proleptic Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Civil {
    /// The year, 1 to 9999.
    pub year: u32,
    /// The month, 1 to 12.
    pub month: u32,
    /// The day of the month, 1 to 31.
    pub day: u32,
}

const EPOCH_FROM_MARCH_OF_YEAR_0: i64 = 719_468;

impl Civil {
    /// 0001-01-01 as days since 1970-01-01.
    pub(super) const MIN_DAYS: i64 = -719_162;
    /// 9999-12-31 as days since 1970-01-01.
    pub(super) const MAX_DAYS: i64 = 2_932_896;

    /// The days since 1970-01-01. `None` if the day does not exist or is not in the years 1 to 9999.
    #[must_use]
    #[inline]
    pub fn to_days(self) -> Option<i64> {
        let Self { year, month, day } = self;
        let (leap, month) = (usize::from(is_leap(year)), month as usize);
        // Evaluating both conditions is cheaper than a branch on the day, which is hard to predict.
        let exists =
            (1..=9999).contains(&year) & (day.wrapping_sub(1) < *LENGTHS[leap].get(month)?);
        if !exists {
            return None;
        }
        let years = year - 1;
        let before = years * 365 + years / 4 - years / 100 + years / 400;
        Some(i64::from(before + BEFORE[leap][month] + day - 1) + Self::MIN_DAYS)
    }

    /// The day `days` after 1970-01-01. Numbers outside the years 1 to 9999 are clamped.
    #[must_use]
    #[inline]
    pub fn from_days(days: i64) -> Self {
        // C. Neri and L. Schneider, "Euclidean affine functions and their application to calendar algorithms", 2022:
        // years begin in March, and divisions of 32 bits are multiplications.
        let days = days.clamp(Self::MIN_DAYS, Self::MAX_DAYS) + EPOCH_FROM_MARCH_OF_YEAR_0;
        let quarters = 4 * days as u32 + 3;
        let (century, day_of_century) = (quarters / 146_097, quarters % 146_097 / 4);
        let product = u64::from(4 * day_of_century + 3) * 2_939_745;
        let year = 100 * century + (product >> 32) as u32;
        let day_of_year = product as u32 / 2_939_745 / 4;
        let month_and_day = 2141 * day_of_year + 197_913;
        let (month, day) = (month_and_day >> 16, (month_and_day & 0xffff) / 2141 + 1);
        let next = day_of_year >= 306;
        Self { year: year + u32::from(next), month: if next { month - 12 } else { month }, day }
    }
}

fn is_leap(year: u32) -> bool {
    (year & 3 == 0) & ((!year.is_multiple_of(25)) | (year & 15 == 0))
}

/// The number of days of each month, in common and in leap years; month 0 has none.
const LENGTHS: [[u32; 13]; 2] = [
    [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31],
    [0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31],
];

/// The number of days of the year before each month.
const BEFORE: [[u32; 13]; 2] = {
    let mut before = [[0; 13]; 2];
    let mut month = 1;
    while month < 12 {
        before[0][month + 1] = before[0][month] + LENGTHS[0][month];
        before[1][month + 1] = before[1][month] + LENGTHS[1][month];
        month += 1;
    }
    before
};

/// The number of days of a month; 0 for months outside 1 to 12.
pub(super) fn days_in_month(year: u32, month: u32) -> u32 {
    LENGTHS[usize::from(is_leap(year))].get(month as usize).copied().unwrap_or_default()
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
