//! Names that other systems have for the options of COPY and of formats.

use std::collections::HashMap;

use datafusion::common::Result;

use crate::context::error::{ErrorKind, UserError};

/// The names of an option, and its name in OPTIONS.
pub(crate) const OPTIONS: [(&[&str], &str); 11] = [
    (&["header", "has_header"], "format.has_header"),
    (&["delimiter", "delim", "sep"], "format.delimiter"),
    (&["quote"], "format.quote"),
    (&["escape"], "format.escape"),
    (&["compression", "codec"], "format.compression"),
    (&["nullstr", "null", "null_value"], "format.null_value"),
    (&["dateformat", "date_format"], "format.date_format"),
    (&["timestampformat", "timestamp_format"], "format.timestamp_format"),
    (&["row_group_size"], "format.max_row_group_size"),
    (&["overwrite"], "overwrite"),
    (&["append"], "append"),
];

/// Returns the name in OPTIONS of an option, by any of its names in lower case.
pub(crate) fn in_options(name: &str) -> Option<&'static str> {
    OPTIONS.iter().find(|(names, _)| names.contains(&name)).map(|(_, option)| *option)
}

/// Returns the name in OPTIONS of COPY that an option has, by any of its names.
pub(crate) fn written(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    in_options(name.strip_prefix("format.").unwrap_or(&name))
}

/// Returns a name to compare options by: that of OPTIONS without `format.`, in lower case.
pub(crate) fn canonical(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    name.strip_prefix("format.").unwrap_or(&name).to_owned()
}

/// Checks that each name of an option or a column occurs once. Names are equal if `canonical` converts them to one text.
///
/// # Errors
///
/// If a name occurs twice.
pub(crate) fn once<'a>(
    what: &str,
    names: impl IntoIterator<Item = &'a str>,
    canonical: impl Fn(&str) -> String,
) -> Result<()> {
    let mut before: HashMap<String, &str> = HashMap::new();
    for typed in names {
        let Some(first) = before.insert(canonical(typed), typed) else { continue };
        let message = match first.eq_ignore_ascii_case(typed) {
            true => format!("the {what} `{typed}` is given twice"),
            false => format!("`{first}` and `{typed}` are one {what}, which is given twice"),
        };
        let hint = Some("Leave one of the two out.".to_owned());
        return Err(UserError { kind: ErrorKind::Plan, message, hint }.into());
    }
    Ok(())
}
