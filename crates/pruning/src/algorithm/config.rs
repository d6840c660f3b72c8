//! Range checks for the parameters of algorithms.

use thiserror::Error;

/// The reason why no program can be built from some parameters. For valid programs,
/// [`crate::switch::fit`](crate::switch::fit()) checks that they fit a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The size of a register array is not a power of two, so hash bits cannot index it.
    #[error("{what} must be a power of two, not {value}")]
    NotPowerOfTwo {
        /// The name of the parameter.
        what: &'static str,
        /// The value that was given.
        value: u64,
    },
    /// A parameter is outside its range.
    #[error("{what} must be {least} to {greatest}, not {value}")]
    OutOfRange {
        /// The name of the parameter.
        what: &'static str,
        /// The value that was given.
        value: u64,
        /// The least allowed value.
        least: u64,
        /// The greatest allowed value.
        greatest: u64,
    },
    /// A threshold that no sum in a counter exceeds.
    #[error(
        "the greatest threshold is {greatest}, not {value}: a counter of 32 bits stops at {value}, which must still exceed the threshold"
    )]
    Unreachable {
        /// The greatest number in a counter, which was given as the threshold.
        value: u32,
        /// The greatest threshold that is allowed.
        greatest: u32,
    },
    /// Two parameters exclude each other.
    #[error("{0}")]
    Conflict(&'static str),
}

/// The greatest number of rows of any register array.
pub(crate) const MAX_ROWS: u32 = 1 << 26;

/// Checks `least <= value <= greatest`.
pub(crate) fn in_range(
    what: &'static str,
    value: u32,
    least: u32,
    greatest: u32,
) -> Result<u32, ConfigError> {
    if (least..=greatest).contains(&value) {
        return Ok(value);
    }
    let (value, least, greatest) = (value.into(), least.into(), greatest.into());
    Err(ConfigError::OutOfRange { what, value, least, greatest })
}

/// Checks that `rows` is a power of two of at least 2.
pub(crate) fn power_of_two(what: &'static str, rows: u32) -> Result<u32, ConfigError> {
    if !rows.is_power_of_two() {
        return Err(ConfigError::NotPowerOfTwo { what, value: rows.into() });
    }
    in_range(what, rows, 2, MAX_ROWS)
}

/// The greatest number of cells of all register arrays of a program together: 1 GiB of 32-bit numbers, ten times the
/// memory of any switch.
pub(crate) const MAX_CELLS: u64 = 1 << 28;

/// Checks that `arrays` arrays of `cells` cells have no more than [`MAX_CELLS`] in all.
pub(crate) fn cells_in_range(
    what: &'static str,
    cells: u32,
    arrays: u32,
) -> Result<(), ConfigError> {
    let value = u64::from(cells) * u64::from(arrays);
    if value <= MAX_CELLS {
        return Ok(());
    }
    Err(ConfigError::OutOfRange { what, value, least: 1, greatest: MAX_CELLS })
}

/// Returns the number of bits that index `rows` rows, a power of two.
pub(crate) const fn index_bits(rows: u32) -> u8 {
    rows.trailing_zeros() as u8
}
