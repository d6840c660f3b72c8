//! Names of columns.

/// Returns whether two names are equal, ignoring case.
pub fn is_same(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}
