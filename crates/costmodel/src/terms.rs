//! The terms of a statement: counts of operations per row.

use std::iter::Sum;
use std::ops::{Add, Sub};

/// The operations that a statement needs per row, by kind. Operations that run for some rows only, such as the right
/// side of AND, count in proportion.
///
/// ```
/// use sluicegate_costmodel::Terms;
///
/// let filter = Terms::from(2); // two comparisons
/// let bloom = Terms { probes: 7.0, ..Terms::NONE };
/// assert_eq!((filter + bloom).comparisons, 2.0);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Terms {
    /// Comparisons, arithmetic operations on columns, and branches of CASE.
    pub comparisons: f64,
    /// Aggregates of one group each, `SUM(CASE WHEN g = 'a' THEN x END)`: the condition only. Looking up the row's
    /// group, computing the value and updating the aggregate are counted once for all groups.
    pub cases: f64,
    /// Probes of slices of a Bloom filter, each with its hash function.
    pub probes: f64,
    /// Updates of aggregates, of all rows or of groups, without computing their arguments.
    pub updates: f64,
    /// Conversions of values, each made once, except those in [`Self::long_casts`].
    pub casts: f64,
    /// Slower conversions, to decimals and timestamps.
    pub long_casts: f64,
    /// Keys by which the group of a row is looked up.
    pub keys: f64,
}

impl Terms {
    /// No operations.
    pub const NONE: Self = Self {
        comparisons: 0.0,
        cases: 0.0,
        probes: 0.0,
        updates: 0.0,
        casts: 0.0,
        long_casts: 0.0,
        keys: 0.0,
    };

    /// Multiplies all counts by `factor`.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        self.each(Self::NONE, |terms, _| terms * factor)
    }

    /// Combines two sets of terms kind by kind.
    fn each(self, rhs: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            comparisons: of(self.comparisons, rhs.comparisons),
            cases: of(self.cases, rhs.cases),
            probes: of(self.probes, rhs.probes),
            updates: of(self.updates, rhs.updates),
            casts: of(self.casts, rhs.casts),
            long_casts: of(self.long_casts, rhs.long_casts),
            keys: of(self.keys, rhs.keys),
        }
    }
}

/// Converts a number of comparisons.
impl From<u32> for Terms {
    fn from(comparisons: u32) -> Self {
        Self { comparisons: f64::from(comparisons), ..Self::NONE }
    }
}

impl Add for Terms {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        self.each(rhs, Add::add)
    }
}

/// Saturates at zero.
impl Sub for Terms {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        self.each(rhs, |this, other| (this - other).max(0.0))
    }
}

impl Sum for Terms {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::NONE, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_add_up_by_kind() {
        let one = Terms {
            comparisons: 1.0,
            cases: 2.0,
            probes: 3.0,
            updates: 4.0,
            casts: 5.0,
            long_casts: 6.0,
            keys: 7.0,
        };
        assert_eq!([one, one].into_iter().sum::<Terms>(), one.times(2.0));
        assert_eq!(one.times(2.0) - one, one);
        assert_eq!(one - one.times(2.0), Terms::NONE);
        assert_eq!(one.times(0.5).keys, 3.5);
        assert_eq!(Terms::from(4), Terms { comparisons: 4.0, ..Terms::NONE });
    }
}
