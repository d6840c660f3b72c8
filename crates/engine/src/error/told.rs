//! Errors in a form that crosses process boundaries.

use std::error::Error as StdError;
use std::fmt;

use datafusion::common::DataFusionError;
use serde::{Deserialize, Serialize};

use super::{Error, ErrorKind};

/// The mark before an error in a text.
const MARK: &str = "sluice error: ";

/// The user-visible part of an error, without its cause. It can be sent to another process as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The message, one sentence.
    pub message: String,
    /// A hint on what to do, if there is one.
    pub hint: Option<String>,
}

impl Told {
    /// Returns the user-visible part of an error.
    #[must_use]
    pub fn of(error: DataFusionError) -> Self {
        let Error { kind, message, hint, .. } = error.into();
        Self { kind, message, hint }
    }

    /// Returns a text that [`Told::find`] parses.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Strings and enum names always have a JSON form.
        format!("{MARK}{}", serde_json::to_string(self).unwrap_or_default())
    }

    /// Finds an error in a text, which may have more before and after it.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        let (_, told) = text.split_once(MARK)?;
        serde_json::Deserializer::from_str(told).into_iter().next()?.ok()
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Told {}

impl From<Told> for DataFusionError {
    fn from(told: Told) -> Self {
        Self::External(Box::new(told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_arrives() {
        let told = Told {
            kind: ErrorKind::NotFound,
            message: "there is no bucket `\"b\n`".to_owned(),
            hint: Some("Make it.".to_owned()),
        };
        let text = format!("External error: {} and more", told.to_text());
        assert_eq!(Told::find(&text), Some(told.clone()));
        assert_eq!(Told::find("something else"), None);
        let error = Error::from(DataFusionError::from(told.clone()));
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.hint(), Some("Make it."));
        assert_eq!(Told::of(told.clone().into()), told);
    }
}
