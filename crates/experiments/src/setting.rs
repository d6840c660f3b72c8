//! How large an evaluation is.

use serde::{Deserialize, Serialize};

/// The size of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// True for an evaluation that takes minutes: fewer points, smaller data.
    pub is_quick: bool,
    /// The scale factor of TPC-H. Other data sets are larger or smaller with it.
    pub scale: f64,
}

impl Setting {
    /// The whole evaluation.
    pub const FULL: Self = Self { is_quick: false, scale: 1.0 };
    /// An evaluation that takes minutes.
    pub const QUICK: Self = Self { is_quick: true, scale: 0.05 };

    /// Returns how often a query runs, so that its median can be taken.
    #[must_use]
    pub const fn rounds(&self) -> usize {
        3
    }

    /// Returns the first value for a quick evaluation, else the second.
    #[must_use]
    pub fn either<T>(&self, quick: T, full: T) -> T {
        if self.is_quick { quick } else { full }
    }
}
