//! Objects whose bytes are not those of their checksum.

use std::error::Error as StdError;
use std::fmt;

use datafusion::common::DataFusionError;
use object_store::path::Path;

use super::description::find;
use super::{ErrorKind, UserError};

/// The hint for a damaged object.
const HINT: &str = "Run the query again: what was damaged on the way is not damaged every time. If it \
     is, the store has the object damaged.";

/// An object's bytes do not match its checksum.
#[derive(Debug)]
pub(crate) struct Damaged(UserError);

impl Damaged {
    /// `algorithm` names the checksum.
    pub(crate) fn new(object: &Path, algorithm: &str) -> Self {
        Self(UserError {
            kind: ErrorKind::Data,
            message: format!(
                "`{object}` was damaged: its bytes are not those of the store's {algorithm}"
            ),
            hint: Some(HINT.to_owned()),
        })
    }
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for Damaged {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

/// Returns whether an error is that an object's bytes do not match its checksum.
pub(crate) fn is_damage(error: &DataFusionError) -> bool {
    find::<Damaged>(error).is_some()
}
