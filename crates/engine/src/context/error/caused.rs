//! Errors whose cause stays behind them.

use std::error::Error as StdError;
use std::fmt;

use datafusion::common::DataFusionError;

use super::UserError;

/// An error of a store with the message for the user.
#[derive(Debug)]
pub(crate) struct Caused {
    pub(crate) error: UserError,
    pub(crate) cause: object_store::Error,
}

impl fmt::Display for Caused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl StdError for Caused {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.cause)
    }
}

impl From<Caused> for DataFusionError {
    fn from(error: Caused) -> Self {
        Self::External(Box::new(error))
    }
}
