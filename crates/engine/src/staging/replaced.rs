//! What a COPY finds where it is to write, and what becomes of it.

use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, config_err, plan_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::execution::SessionState;
use datafusion::logical_expr::dml::CopyTo;
use datafusion::sql::sqlparser::ast::Value;
use futures::TryStreamExt;
use object_store::ObjectMeta;

use crate::carried::carried;
use crate::listing::{is_hidden, with_subfolders};
use crate::notes::some_of;

/// What COPY does about objects that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Existing {
    /// It refuses to write among them.
    #[default]
    Refused,
    /// It adds to them: `OPTIONS (append true)`.
    Kept,
    /// They are removed once the new ones are there: `OPTIONS (overwrite true)`.
    Replaced,
}

impl Existing {
    /// Takes what a statement says about it out of its options.
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

    /// Looks at the place that a COPY is to write to, and returns what it is to remove: nothing where it
    /// writes a single object, whose PUT replaces the one that is there.
    ///
    /// # Errors
    ///
    /// If there are objects that it is neither to replace nor to write beside, if it would remove all
    /// objects of a bucket, or if the place cannot be listed.
    pub(crate) async fn at(self, copy: &CopyTo, state: &SessionState) -> Result<Replaced> {
        let place = ListingTableUrl::parse(&copy.output_url)?;
        let is_single = !place.is_collection() && place.file_extension().is_some();
        if is_single && self == Self::Kept {
            return plan_err!("{} is an object, to which nothing can be appended", copy.output_url);
        }
        let leaves_columns = self != Self::Kept;
        let mut new = Replaced { urls: Vec::new(), leaves_columns, may_replace: false };
        if self == Self::Kept || (is_single && self == Self::Replaced) {
            new.may_replace = is_single;
            return Ok(new);
        }
        let store = state.runtime_env().object_store(&place)?;
        let everything = with_subfolders(state);
        let there = place.list_all_files(&everything, store.as_ref(), "").await?;
        let mut there: Vec<ObjectMeta> = there.try_collect().await?;
        there.retain(|object| is_single || !is_hidden(&object.location));
        let has_data = there.iter().any(|object| object.size > 0);
        if is_single && has_data {
            return plan_err!(
                "there is an object at {} already; OPTIONS (overwrite true) replaces it",
                copy.output_url
            );
        }
        // An empty one has nothing to lose.
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
            Self::Replaced => Replaced { urls: there.iter().map(url).collect(), ..new },
            _ => new,
        })
    }
}

/// Objects that are removed once those of the statement are there, and what is there at least. The rules of its plan find it among the
/// options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Replaced {
    /// Their URLs, with the paths as they are.
    pub(crate) urls: Vec<String>,
    /// Whether a file with the columns is written although there are no rows: nothing else would say which
    /// columns there are.
    pub(crate) leaves_columns: bool,
    /// Whether an object may take the place of one of its name.
    pub(crate) may_replace: bool,
}

impl Replaced {
    /// What the statement of these options replaces.
    pub(crate) fn of(options: &ConfigOptions) -> Self {
        options.extensions.get::<Self>().cloned().unwrap_or_default()
    }
}

carried!(Replaced, "sluice_replaced", "what is replaced has no option `{}`");

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(options: &[(&str, &str)], expected: Option<Existing>) {
        let text = |text: &str| Value::SingleQuotedString(text.to_owned());
        let mut options: Vec<(String, Value)> =
            options.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect();
        options.push(("format.delimiter".to_owned(), text(";")));
        assert_eq!(Existing::take(&mut options).ok(), expected);
        assert_eq!(options.len(), 1);
    }

    #[test]
    fn options_say_what_becomes_of_what_is_there() {
        check(&[], Some(Existing::Refused));
        check(&[("OVERWRITE", "true")], Some(Existing::Replaced));
        check(&[("format.append", "TRUE")], Some(Existing::Kept));
        check(&[("append", "false")], Some(Existing::Refused));
        check(&[("append", "true"), ("overwrite", "true")], None);
        check(&[("append", "maybe")], None);
    }
}
