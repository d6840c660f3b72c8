//! Options of CSV that DataFusion does not have: `skip`, `encoding`, `union_by_name`, `decimal_separator`,
//! `thousands`, `dateformat`, `timestampformat`, `nullstr` and `types`.
//!
//! The first three change the bytes (`transcoding`, `encoding`, [`by_name`](super::by_name)): such objects are decoded locally, so they
//! are read whole and with GET. The others apply to values ([`Values`]). DataFusion's reader and the store return the columns
//! as text, and the text is parsed afterwards (`typed_columns`), so that every way of scanning gives the same values.
//! `type_inference` prepares samples in these formats for Arrow's inference.

mod encoding;
mod transcoding;
mod type_inference;
mod typed_columns;
mod values;

use std::collections::{BTreeMap, HashMap};

use datafusion::catalog::Session;
use datafusion::common::{DataFusionError, Result};

use self::encoding::Encoding;
pub(crate) use self::transcoding::Recoding;
pub(crate) use self::typed_columns::{reads_text, table};
pub(crate) use self::values::Values;
use crate::context::error::{ErrorKind, UserError};

/// The prefix of the options' names in CREATE EXTERNAL TABLE.
const PREFIX: &str = "format.";

/// The names of the options.
pub(crate) const NAMES: [&str; 9] = [
    "skip",
    "encoding",
    BY_NAME,
    "decimal_separator",
    "thousands",
    "dateformat",
    "timestampformat",
    "nullstr",
    "types",
];

/// The option for columns that are found by name in each file. Other formats accept it, too.
pub(crate) const BY_NAME: &str = "union_by_name";

/// The option for the character between fields.
const DELIMITER: &str = "format.delimiter";

/// The options of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CsvOptions {
    /// The changes to the bytes.
    pub(crate) recoding: Recoding,
    /// The parsing of values.
    pub(crate) values: Values,
}

/// Returns the name of an option without its prefix, if it is one of ours.
fn ours(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let bare = lower.strip_prefix(PREFIX).unwrap_or(&lower);
    NAMES.into_iter().find(|known| *known == bare)
}

/// Returns true if an option is one of ours.
pub(crate) fn is_ours(name: &str) -> bool {
    ours(name).is_some()
}

impl CsvOptions {
    /// Reads our options among others.
    ///
    /// # Errors
    ///
    /// If the value of one is invalid.
    pub(crate) fn parse<'a>(
        state: &dyn Session,
        options: impl IntoIterator<Item = (&'a String, &'a String)>,
    ) -> Result<Self> {
        let mut read = Self::default();
        let mut delimiter = None;
        for (name, value) in options {
            if let Some(name) = ours(name) {
                read.set(state, name, value)?;
            }
            if name.eq_ignore_ascii_case(DELIMITER) {
                delimiter = Some(value.as_str());
            }
        }
        read.check_separators(delimiter)?;
        Ok(read)
    }

    /// Checks that no character separates both fields and the parts of numbers.
    fn check_separators(&self, delimiter: Option<&str>) -> Result<()> {
        let Values { decimal_separator, thousands, .. } = &self.values;
        let point = decimal_separator.unwrap_or('.');
        let refused = |message: String, hint: &str| {
            let hint = Some(hint.to_owned());
            Err(UserError { kind: ErrorKind::Setting, message, hint }.into())
        };
        if *thousands == Some(point) {
            return refused(
                format!("`{point}` cannot separate both decimals and thousands"),
                "With thousands => '.', write decimal_separator => ','.",
            );
        }
        let is_both = |separator: char| delimiter.is_some_and(|it| it.chars().eq([separator]));
        if decimal_separator.is_some_and(is_both) {
            return refused(
                format!("`{point}` cannot separate both fields and decimals"),
                "Files with decimal commas mostly have delim => ';'. Leave the delimiter out to detect it.",
            );
        }
        Ok(())
    }

    fn set(&mut self, state: &dyn Session, name: &str, value: &str) -> Result<()> {
        match name {
            "skip" => {
                let lines = value.trim().parse();
                self.recoding.skip =
                    lines.map_err(|_| wrong(name, value, "a whole number of lines"))?;
            }
            "encoding" => {
                let named = Encoding::by_name(value);
                let names = || format!("one of {}", Encoding::names());
                self.recoding.encoding = named.ok_or_else(|| wrong(name, value, &names()))?;
            }
            BY_NAME => self.recoding.by_name = flag(name, value)?,
            _ => self.values.set(state, name, value)?,
        }
        Ok(())
    }
}

/// Checks the value of an option, as far as that is possible without a session. Returns `None` if the option is not
/// one of ours.
pub(crate) fn check(name: &str, value: &str) -> Option<Result<()>> {
    let name = ours(name)?;
    let checked = match name {
        "skip" if value.trim().parse::<u64>().is_err() => {
            Err(wrong(name, value, "a whole number of lines"))
        }
        "encoding" if Encoding::by_name(value).is_none() => {
            Err(wrong(name, value, &format!("one of {}", Encoding::names())))
        }
        BY_NAME => flag(name, value).map(drop),
        _ => values::check(name, value),
    };
    Some(checked)
}

/// Parses `true` or `false`.
///
/// # Errors
///
/// If the value is another one.
pub(crate) fn flag(name: &str, value: &str) -> Result<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(wrong(name, value, "true or false")),
    }
}

/// Returns the options that are not ours.
pub(crate) fn others(options: &HashMap<String, String>) -> HashMap<String, String> {
    let others = options.iter().filter(|(name, _)| !is_ours(name));
    others.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns the options without the one for columns that are found by name.
pub(crate) fn without_by_name(options: &HashMap<String, String>) -> HashMap<String, String> {
    let others = options.iter().filter(|(name, _)| ours(name) != Some(BY_NAME));
    others.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Divides options into ours and others.
pub(crate) fn apart(
    options: &BTreeMap<String, String>,
) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let all = options.iter().map(|(name, value)| (name.clone(), value.clone()));
    all.partition(|(name, _)| is_ours(name))
}

fn wrong(name: &str, value: &str, allowed: &str) -> DataFusionError {
    UserError {
        kind: ErrorKind::Setting,
        message: format!("option `{name}` is '{}', but must be {allowed}", value.escape_debug()),
        hint: None,
    }
    .into()
}
