//! Names that other systems have for the options of COPY and of formats.

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
    (&["overwrite", "overwrite_or_ignore"], "overwrite"),
    (&["append"], "append"),
];

/// Returns the name in OPTIONS of an option, by any of its names in lower case.
pub(crate) fn in_options(name: &str) -> Option<&'static str> {
    OPTIONS.iter().find(|(names, _)| names.contains(&name)).map(|(_, option)| *option)
}
