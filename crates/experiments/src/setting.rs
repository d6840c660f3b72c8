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

    /// Returns the options of `sluice reproduce` for this size, each after a space.
    #[must_use]
    pub fn options(&self) -> String {
        let (quick, default) = match self.is_quick {
            true => (" --quick", Self::QUICK),
            false => ("", Self::FULL),
        };
        match self.scale == default.scale {
            true => quick.to_owned(),
            false => format!("{quick} --scale {}", self.scale),
        }
    }

    /// Returns the first value for a quick evaluation, else the second.
    #[must_use]
    pub fn either<T>(&self, quick: T, full: T) -> T {
        if self.is_quick { quick } else { full }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_repeat_the_evaluation() {
        assert_eq!(
            (Setting::FULL.options(), Setting::QUICK.options()),
            (String::new(), " --quick".to_owned())
        );
        let larger = Setting { scale: 0.2, ..Setting::QUICK };
        assert_eq!(larger.options(), " --quick --scale 0.2");
    }
}
