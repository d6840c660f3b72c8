//! What a store evaluates for each row.

use std::iter::Sum;
use std::ops::{Add, Sub};

/// What a statement has the store evaluate for each row, by what each takes.
///
/// ```
/// use sluicegate_costmodel::Terms;
///
/// let filter = Terms::from(2); // two comparisons
/// let bloom = Terms { probes: 7, ..Terms::NONE };
/// assert_eq!((filter + bloom).comparisons, 2);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms {
    /// Comparisons and arithmetic operations on columns.
    pub comparisons: u32,
    /// Branches of CASE, without the conditions and values in them.
    pub cases: u32,
    /// Looks into slices of a Bloom filter, each with its hash function.
    pub probes: u32,
    /// Updates of aggregates of all rows, without their arguments.
    pub updates: u32,
    /// Conversions of values, each of which is made once.
    pub casts: u32,
    /// Keys by which the group of a row is looked up, and updates of the group's aggregates.
    pub keys: u32,
}

impl Terms {
    /// Nothing at all.
    pub const NONE: Self =
        Self { comparisons: 0, cases: 0, probes: 0, updates: 0, casts: 0, keys: 0 };

    /// So many times the same.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        let times = |terms: u32| {
            let product = u64::from(terms).saturating_mul(count);
            u32::try_from(product).unwrap_or(u32::MAX)
        };
        Self {
            comparisons: times(self.comparisons),
            cases: times(self.cases),
            probes: times(self.probes),
            updates: times(self.updates),
            casts: times(self.casts),
            keys: times(self.keys),
        }
    }
}

/// So many comparisons.
impl From<u32> for Terms {
    fn from(comparisons: u32) -> Self {
        Self { comparisons, ..Self::NONE }
    }
}

impl Add for Terms {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self {
            comparisons: self.comparisons.saturating_add(rhs.comparisons),
            cases: self.cases.saturating_add(rhs.cases),
            probes: self.probes.saturating_add(rhs.probes),
            updates: self.updates.saturating_add(rhs.updates),
            casts: self.casts.saturating_add(rhs.casts),
            keys: self.keys.saturating_add(rhs.keys),
        }
    }
}

/// Stops at none.
impl Sub for Terms {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        Self {
            comparisons: self.comparisons.saturating_sub(rhs.comparisons),
            cases: self.cases.saturating_sub(rhs.cases),
            probes: self.probes.saturating_sub(rhs.probes),
            updates: self.updates.saturating_sub(rhs.updates),
            casts: self.casts.saturating_sub(rhs.casts),
            keys: self.keys.saturating_sub(rhs.keys),
        }
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
    fn terms_add_up_by_kind_and_do_not_overflow() {
        let one = Terms { comparisons: 1, cases: 2, probes: 3, updates: 4, casts: 5, keys: 6 };
        assert_eq!([one, one].into_iter().sum::<Terms>(), one.times(2));
        assert_eq!(one.times(2) - one, one);
        assert_eq!(one - one.times(2), Terms::NONE);
        assert_eq!(one.times(u64::MAX).cases, u32::MAX);
        assert_eq!((one.times(u64::MAX) + one).probes, u32::MAX);
        assert_eq!(Terms::from(4), Terms { comparisons: 4, ..Terms::NONE });
    }
}
