//! Objects that exist where a COPY is to write.

use datafusion::common::config::ConfigOptions;
use datafusion::common::{DataFusionError, Result, config_err, plan_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::execution::SessionState;
use datafusion::logical_expr::dml::CopyTo;
use datafusion::sql::sqlparser::ast::Value;
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectMeta;
use sluicegate_delta::LOG_FOLDER;

use crate::context::config_extension::carried;
use crate::context::listing::{is_hidden, with_subfolders};
use crate::context::notes::some_of;
use crate::{ErrorKind, UserError};

/// The treatment of existing objects by COPY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum OverwriteMode {
    /// COPY fails if there are any.
    #[default]
    Refused,
    /// COPY adds to them: `OPTIONS (append true)`.
    Kept,
    /// They are removed once the new ones are visible: `OPTIONS (overwrite true)`.
    Replaced,
}

impl OverwriteMode {
    /// Removes the options about existing objects from those of a statement, and returns their meaning.
    pub(crate) fn take(options: &mut Vec<(String, Value)>) -> Result<Self> {
        let mut existing = Self::default();
        let mut error = None;
        options.retain(|(name, value)| {
            let name = name.to_ascii_lowercase();
            let asked = match name.strip_prefix("format.").unwrap_or(&name) {
                "overwrite" => Self::Replaced,
                "append" => Self::Kept,
                _ => return true,
            };
            match value.to_string().trim_matches('\'').to_ascii_lowercase().as_str() {
                "true" if existing == Self::Refused || existing == asked => existing = asked,
                "true" => error = Some("COPY either overwrites or appends".to_owned()),
                "false" => {}
                other => error = Some(format!("{name} is true or false, not `{other}`")),
            }
            false
        });
        match error {
            Some(error) => config_err!("{error}"),
            None => Ok(existing),
        }
    }

    /// Lists the place that a COPY is to write to, and returns the objects to remove. A single object needs none,
    /// because its PUT replaces the existing one.
    ///
    /// # Errors
    ///
    /// If there are objects and the treatment is `Refused`, if all objects of a bucket would be removed, if a single
    /// object cannot be appended to, or if the place cannot be listed.
    pub(crate) async fn at(self, copy: &CopyTo, state: &SessionState) -> Result<Overwrites> {
        let place = ListingTableUrl::parse(&copy.output_url)?;
        let is_single = !place.is_collection() && place.file_extension().is_some();
        if is_single && self == Self::Kept {
            return plan_err!("{} is an object, to which nothing can be appended", copy.output_url);
        }
        if self == Self::Kept && !is_single {
            let store = state.runtime_env().object_store(&place)?;
            let log = place.prefix().clone().join(LOG_FOLDER);
            if store.list(Some(&log)).next().await.transpose()?.is_some() {
                return Err(is_delta_table(copy));
            }
        }
        let leaves_columns = self != Self::Kept;
        let mut new = Overwrites { urls: Vec::new(), leaves_columns, may_replace: false };
        if self == Self::Kept || (is_single && self == Self::Replaced) {
            new.may_replace = is_single;
            return Ok(new);
        }
        let store = state.runtime_env().object_store(&place)?;
        let everything = with_subfolders(state);
        let there = place.list_all_files(&everything, store.as_ref(), "").await?;
        let mut there: Vec<ObjectMeta> = there.try_collect().await?;
        let log = place.prefix().clone().join(LOG_FOLDER);
        if !is_single && there.iter().any(|object| object.location.prefix_matches(&log)) {
            return Err(is_delta_table(copy));
        }
        there.retain(|object| is_single || !is_hidden(&object.location));
        let has_data = there.iter().any(|object| object.size > 0);
        if is_single && has_data {
            return plan_err!(
                "there is an object at {} already; OPTIONS (overwrite true) replaces it",
                copy.output_url
            );
        }
        // An empty object has no data to lose.
        new.may_replace = is_single && !there.is_empty();
        if self == Self::Replaced && place.prefix().as_ref().is_empty() && !there.is_empty() {
            return plan_err!(
                "overwriting {} would remove every object in it; name a folder, as in {}out/",
                copy.output_url,
                place.object_store().as_str()
            );
        }
        if self == Self::Refused && has_data {
            let names: Vec<_> = there.iter().map(|object| &object.location).collect();
            return plan_err!(
                "there are objects at {} already: {}; OPTIONS (overwrite true) replaces them, OPTIONS \
                 (append true) adds to them",
                copy.output_url,
                some_of(&names)
            );
        }
        let root = place.object_store();
        let url = |object: &ObjectMeta| format!("{}{}", root.as_str(), object.location);
        Ok(match self {
            Self::Replaced => Overwrites { urls: there.iter().map(url).collect(), ..new },
            _ => new,
        })
    }
}

/// Returns the error for a write into the folder of a Delta table, whose log would be lost or not have the new files.
fn is_delta_table(copy: &CopyTo) -> DataFusionError {
    UserError {
        kind: ErrorKind::Unsupported,
        message: format!("there is a Delta table at {}, which is only read", copy.output_url),
        hint: Some(
            "Name another folder; other programs can add its files to the table.".to_owned(),
        ),
    }
    .into()
}

/// The objects that are removed once the statement's objects are visible, with related settings. Rules find this
/// value among the options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Overwrites {
    /// The URLs of the objects, with unescaped paths.
    pub(crate) urls: Vec<String>,
    /// True if a file with the columns is written even without rows, because the columns would be lost otherwise.
    pub(crate) leaves_columns: bool,
    /// True if the object may replace an existing one of its name.
    pub(crate) may_replace: bool,
}

impl Overwrites {
    /// Returns the objects that the statement of these options replaces.
    pub(crate) fn from_options(options: &ConfigOptions) -> Self {
        options.extensions.get::<Self>().cloned().unwrap_or_default()
    }
}

carried!(Overwrites, "sluice_replaced", "what is replaced has no option `{}`");

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(options: &[(&str, &str)], expected: Option<OverwriteMode>) {
        let text = |text: &str| Value::SingleQuotedString(text.to_owned());
        let mut options: Vec<(String, Value)> =
            options.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect();
        options.push(("format.delimiter".to_owned(), text(";")));
        assert_eq!(OverwriteMode::take(&mut options).ok(), expected);
        assert_eq!(options.len(), 1);
    }

    #[test]
    fn options_say_what_becomes_of_what_is_there() {
        check(&[], Some(OverwriteMode::Refused));
        check(&[("OVERWRITE", "true")], Some(OverwriteMode::Replaced));
        check(&[("format.append", "TRUE")], Some(OverwriteMode::Kept));
        check(&[("append", "false")], Some(OverwriteMode::Refused));
        check(&[("append", "true"), ("overwrite", "true")], None);
        check(&[("append", "maybe")], None);
    }
}
