//! Names of columns.

/// Whether two names are the same but for capitals.
pub fn is_same(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}
