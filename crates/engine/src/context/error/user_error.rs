//! Errors as users read them, which other processes can receive as text.

use std::error::Error as StdError;
use std::fmt;

use datafusion::common::DataFusionError;
use serde::{Deserialize, Serialize};

use super::ErrorKind;

/// The mark before an error in a text.
const MARK: &str = "sluice error: ";

/// An error as the user sees it, without its cause. It can be sent to another process as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserError {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The message, one sentence.
    pub message: String,
    /// A hint on what to do, if there is one.
    pub hint: Option<String>,
}

impl UserError {
    /// Returns a text that [`Self::find`] parses.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Strings and enum names always have a JSON form.
        format!("{MARK}{}", serde_json::to_string(self).unwrap_or_default())
    }

    /// Returns the error in a text, which may have more before and after it.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        let (_, json) = text.split_once(MARK)?;
        serde_json::Deserializer::from_str(json).into_iter().next()?.ok()
    }
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for UserError {}

impl From<UserError> for DataFusionError {
    fn from(error: UserError) -> Self {
        Self::External(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Error;
    use super::*;

    #[test]
    fn a_user_error_arrives() {
        let told = UserError {
            kind: ErrorKind::NotFound,
            message: "there is no bucket `\"b\n`".to_owned(),
            hint: Some("Make it.".to_owned()),
        };
        let text = format!("External error: {} and more", told.to_text());
        assert_eq!(UserError::find(&text), Some(told.clone()));
        assert_eq!(UserError::find("something else"), None);
        let error = Error::from(DataFusionError::from(told.clone()));
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.hint(), Some("Make it."));
        assert_eq!(UserError::from_error(told.clone().into()), told);
    }
}
