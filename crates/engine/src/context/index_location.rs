//! The option for the location of indexes.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use datafusion::common::config::{ConfigField, Visit};
use datafusion::common::{DataFusionError, Result};

use crate::context::bucket_names::check_bucket;

/// The location of index objects: a URL, or empty for the bucket of the data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexLocation(String);

impl FromStr for IndexLocation {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self> {
        if let Some((_, rest)) = text.split_once("://") {
            check_bucket(rest.split('/').next().unwrap_or_default())?;
        }
        Ok(Self(text.to_owned()))
    }
}

impl Deref for IndexLocation {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IndexLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ConfigField for IndexLocation {
    fn visit<V: Visit>(&self, v: &mut V, key: &str, description: &'static str) {
        v.some(key, self, description);
    }

    fn set(&mut self, _key: &str, value: &str) -> Result<()> {
        *self = value.parse()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_with_a_password_is_refused_and_not_shown() {
        let error = "s3://user:secret@b/x/".parse::<IndexLocation>().unwrap_err().to_string();
        assert!(error.contains("no password") && !error.contains("secret"), "{error}");
        assert_eq!(&*"s3://b/x/".parse::<IndexLocation>().unwrap(), "s3://b/x/");
        assert!("".parse::<IndexLocation>().unwrap().is_empty());
    }
}
