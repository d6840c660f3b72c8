//! Errors for invalid values of format options and session settings: the name, and the allowed values.

use std::collections::HashMap;

use arrow::array::timezone::Tz;
use datafusion::common::config::{ConfigFileType, TableOptions};
use datafusion::common::{DataFusionError, Result};

use crate::catalog::option_names::{OPTIONS, in_options};
use crate::context::error::are_similar;
use crate::context::file_names::ARROW;
use crate::context::setting_suggestions;
use crate::text::csv::options;
use crate::{ErrorKind, UserError};

/// The prefix of a format's options when a table is created or written.
const PREFIX: &str = "format.";

/// Returns the format whose options a table's format has, or `None` if it has no options.
fn file_type(format: &str) -> Option<ConfigFileType> {
    match format {
        "csv" => Some(ConfigFileType::CSV),
        "json" | "ndjson" | "jsonl" => Some(ConfigFileType::JSON),
        "parquet" => Some(ConfigFileType::PARQUET),
        _ => None,
    }
}

/// Checks that a format accepts the value of an option, which the user wrote as `typed`.
///
/// # Errors
///
/// If it does not, or there is no such option. The error names the option and the allowed values.
pub(crate) fn check(format: &str, (option, value): (&str, &str), typed: &str) -> Result<()> {
    let format = if ARROW.contains(&format) { ARROW[0] } else { format };
    if let Some(checked) = options::check(option, value).filter(|_| format == "csv") {
        return checked;
    }
    if is_by_name(option) && options::flag(typed, value)? {
        return Ok(());
    }
    if is_by_name(option) {
        let message = format!(
            "option `{typed}` is 'false', but columns of {} are always read by name",
            format.to_ascii_uppercase()
        );
        return Err(refused(message, Some("Leave it out.".to_owned())));
    }
    if [ARROW[0], "avro"].contains(&format) && option.starts_with(PREFIX) {
        let message = format!("{} has no option `{typed}`", format.to_ascii_uppercase());
        let hint = match option.ends_with(".compression") {
            true => "These files are compressed within, which a reader detects.",
            false => "Its only option is union_by_name.",
        };
        return Err(refused(message, Some(hint.to_owned())));
    }
    let Some(file_type) = file_type(format) else { return Ok(()) };
    let mut options = TableOptions::new();
    options.set_config_format(file_type);
    let Err(error) = options.set(option, value) else { return Ok(()) };
    let words = words(&error);
    if is_unknown(&words) {
        let mut names: Vec<String> = options.entries().into_iter().map(|entry| entry.key).collect();
        if format == "csv" {
            names.extend(options::NAMES.iter().map(|name| format!("{PREFIX}{name}")));
        }
        names.sort_unstable();
        let message = format!("{} has no option `{typed}`", format.to_ascii_uppercase());
        let hint = match closest_value(typed, &names) {
            Some(name) => format!("Did you mean {name}?"),
            None => format!("Its options are {}.", names.join(", ")),
        };
        return Err(refused(message, Some(hint)));
    }
    Err(refused(wrong(&format!("option `{typed}`"), value, &words), None))
}

/// Returns whether an option is that for columns that are found by name.
fn is_by_name(option: &str) -> bool {
    option.strip_prefix(PREFIX).unwrap_or(option).eq_ignore_ascii_case(options::BY_NAME)
}

/// Checks the option for columns that are found by name, of a format that always reads them so.
///
/// # Errors
///
/// If it is set to anything but true.
pub(crate) fn check_by_name(format: &str, options: &HashMap<String, String>) -> Result<()> {
    let mut given = options.iter().filter(|(name, _)| is_by_name(name));
    given.try_for_each(|(name, value)| check(format, (name, value), options::BY_NAME))
}

/// Returns the option that corresponds to a name from COPY of other systems, or a similar name.
fn closest_value(typed: &str, names: &[String]) -> Option<String> {
    let typed = typed.to_ascii_lowercase();
    let short = typed.strip_prefix(PREFIX).unwrap_or(&typed);
    let is_there = |name: &&str| names.iter().any(|known| known == name);
    if let Some(name) = in_options(short).filter(|name| is_there(name)) {
        return Some(name.to_owned());
    }
    let similar = names.iter().find(|name| are_similar(name.trim_start_matches(PREFIX), short));
    let synonym = || {
        let mut others = OPTIONS.iter().flat_map(|(names, _)| *names);
        let found = others.find(|name| are_similar(name, short))?;
        in_options(found).filter(|name| is_there(name)).map(|_| (*found).to_owned())
    };
    similar.cloned().or_else(synonym)
}

/// Checks that a format accepts all options of a statement.
///
/// # Errors
///
/// Those of [`check`], for the first such option in the order of names.
pub(crate) fn check_all(format: &str, options: &HashMap<String, String>) -> Result<()> {
    let mut sorted: Vec<(&String, &String)> = options.iter().collect();
    sorted.sort_unstable();
    sorted.into_iter().try_for_each(|(name, value)| {
        check(format, (name, value), name.strip_prefix(PREFIX).unwrap_or(name))
    })
}

/// Converts an error of SET into one that names the setting and the value.
pub(crate) fn of_setting(name: &str, value: &str, error: DataFusionError) -> DataFusionError {
    let words = words(&error);
    if is_unknown(&words) {
        let hint = setting_suggestions::hint(name, "SET");
        return refused(format!("there is no setting `{name}`"), Some(hint));
    }
    // Our own errors already do so, or must not repeat the value.
    let is_told =
        matches!(error.find_root(), DataFusionError::External(error) if error.is::<UserError>());
    if is_told || words.starts_with(name) {
        return error;
    }
    refused(wrong(name, value, &words), None)
}

/// Refuses a value of a setting that DataFusion accepts, and fails with later.
///
/// # Errors
///
/// If the setting cannot have the value. The error contains the allowed values.
pub(crate) fn check_setting(name: &str, value: &str) -> Result<()> {
    const TIME_ZONE: &str = "datafusion.execution.time_zone";
    const PIECEWISE: &str = "datafusion.optimizer.enable_piecewise_merge_join";
    if name.eq_ignore_ascii_case(PIECEWISE) && value.eq_ignore_ascii_case("true") {
        let message = format!("{name} cannot be true: such joins lose rows whose key is NULL");
        let hint = "Joins with one condition such as a < b are nested-loop joins without it.";
        return Err(refused(message, Some(hint.to_owned())));
    }
    if name.to_ascii_lowercase().starts_with("datafusion.format.") {
        let message = format!("{name} changes nothing here");
        let hint = "Choose a format with --format or `.mode`; in a query, to_char(t, '%d.%m.%Y') and coalesce write a text.";
        return Err(refused(message, Some(hint.to_owned())));
    }
    if !name.eq_ignore_ascii_case(TIME_ZONE) || value.parse::<Tz>().is_ok() {
        return Ok(());
    }
    let message = format!("{name} is '{}', which is no time zone", value.escape_debug());
    let hint = "Write a name such as 'Europe/Berlin' or 'UTC', or an offset such as '+02:00'.";
    Err(refused(message, Some(hint.to_owned())))
}

fn refused(message: String, hint: Option<String>) -> DataFusionError {
    UserError { kind: ErrorKind::Setting, message, hint }.into()
}

/// Returns the message of the library that refuses a value, the last cause first.
fn words(error: &DataFusionError) -> String {
    match error {
        // The caller adds this context itself.
        DataFusionError::Context(context, inner)
            if context.starts_with("Error setting config ") =>
        {
            words(inner)
        }
        DataFusionError::Context(context, inner) => format!("{context}: {}", words(inner)),
        DataFusionError::Configuration(text)
        | DataFusionError::Plan(text)
        | DataFusionError::Execution(text)
        | DataFusionError::NotImplemented(text) => text.clone(),
        other => other.strip_backtrace(),
    }
}

/// Returns whether a message is about an unknown option or setting.
fn is_unknown(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    words.starts_with("there is no option ")
        || words.contains("could not find config ")
        || (words.contains("config value \"") && words.contains("\" not found on "))
        || words.contains("does not have nested field")
}

fn wrong(what: &str, value: &str, words: &str) -> String {
    let value = value.escape_debug();
    match allowed(words) {
        Some(allowed) => format!("{what} is '{value}', but must be {allowed}"),
        None => format!("{what} cannot be '{value}': {words}"),
    }
}

/// Returns the allowed values, from the message of the library that refuses one.
fn allowed(words: &str) -> Option<String> {
    const TYPES: [(&str, &str); 8] = [
        (" as bool", "true or false"),
        (" as usize", "a whole number from 0"),
        (" as u64", "a whole number from 0"),
        (" as u32", "a whole number from 0"),
        (" as i32", "a whole number"),
        (" as f64", "a number"),
        // Characters are parsed as bytes.
        (" as u8", ONE_CHARACTER),
        ("key is empty", ONE_CHARACTER),
    ];
    const ONE_CHARACTER: &str = "one ASCII character, such as ';', or '\\t' for a tab";
    if let Some(more) = words.strip_prefix("value must be ") {
        return Some(more.to_owned());
    }
    if words.contains("file compression type") || words.contains("FileCompressionType") {
        return Some("gzip, bzip2, xz, zstd or uncompressed".to_owned());
    }
    let of_type = TYPES.iter().find(|(end, _)| words.contains(end));
    of_type.map(|(_, allowed)| (*allowed).to_owned())
}

#[cfg(test)]
mod tests {
    use datafusion::common::config::ConfigOptions;

    use super::*;
    use crate::Error;

    #[track_caller]
    fn said(format: &str, option: &str, value: &str) -> (String, String) {
        let options = HashMap::from([(option.to_owned(), value.to_owned())]);
        let error = Error::from(check_all(format, &options).unwrap_err());
        assert_eq!(error.kind(), ErrorKind::Setting);
        (error.to_string(), error.hint().unwrap_or_default().to_owned())
    }

    #[test]
    fn an_option_says_what_it_may_be() {
        for (format, option, value, message) in [
            (
                "csv",
                "format.has_header",
                "maybe",
                "option `has_header` is 'maybe', but must be true or false",
            ),
            (
                "csv",
                "format.quote",
                "",
                "option `quote` is '', but must be one ASCII character, such as ';', or '\\t' for a tab",
            ),
            (
                "csv",
                "format.delimiter",
                ";;",
                "option `delimiter` is ';;', but must be one ASCII character, such as ';', or '\\t' for a tab",
            ),
            (
                "jsonl",
                "format.compression",
                "lzma",
                "option `compression` is 'lzma', but must be gzip, bzip2, xz, zstd or uncompressed",
            ),
            (
                "json",
                "format.schema_infer_max_rec",
                "-1",
                "option `schema_infer_max_rec` is '-1', but must be a whole number from 0",
            ),
            (
                "parquet",
                "format.bloom_filter_fpp",
                "x",
                "option `bloom_filter_fpp` is 'x', but must be a number",
            ),
        ] {
            assert_eq!(said(format, option, value), (message.to_owned(), String::new()));
        }
        let (message, hint) = said("csv", "format.header", "true");
        assert_eq!(message, "CSV has no option `header`");
        assert_eq!(hint, "Did you mean format.has_header?");
        assert_eq!(said("csv", "format.hedaer", "true").1, "Did you mean header?");
        let (_, hint) = said("csv", "format.delim", ";");
        assert!(hint.starts_with("Did you mean format.delimiter?"), "{hint}");
        let (_, hint) = said("csv", "format.delimeter", ";");
        assert!(hint.starts_with("Did you mean format.delimiter?"), "{hint}");
        assert_eq!(said("csv", "else.header", "true").0, "CSV has no option `else.header`");
        let fine = HashMap::from([("format.has_header".to_owned(), "TRUE".to_owned())]);
        check_all("csv", &fine).unwrap();
    }

    #[test]
    fn time_zones_are_those_that_there_are() {
        let name = "datafusion.execution.time_zone";
        for zone in ["UTC", "Europe/Berlin", "+02:00", "-0930"] {
            check_setting(name, zone).unwrap();
        }
        for zone in ["Mars", "", "+2", "Europe/Berlin'"] {
            let error = Error::from(check_setting(name, zone).unwrap_err());
            assert!(error.to_string().ends_with("which is no time zone"), "{error}");
            assert!(error.hint().unwrap().contains("Europe/Berlin"));
        }
        check_setting("datafusion.execution.batch_size", "Mars").unwrap();
    }

    #[test]
    fn settings_that_nothing_reads_are_refused() {
        let error = Error::from(check_setting("datafusion.format.null", "NIL").unwrap_err());
        assert!(error.to_string().ends_with("changes nothing here"), "{error}");
    }

    #[test]
    fn joins_that_are_wrong_stay_off() {
        let name = "datafusion.optimizer.enable_piecewise_merge_join";
        check_setting(name, "false").unwrap();
        let error = Error::from(check_setting(name, "TRUE").unwrap_err());
        assert!(error.to_string().contains("lose rows"), "{error}");
        assert!(error.hint().unwrap().contains("nested-loop"));
    }

    #[test]
    fn a_setting_says_what_it_may_be() {
        for (name, value, message) in [
            (
                "datafusion.execution.batch_size",
                "x",
                "datafusion.execution.batch_size is 'x', but must be a whole number from 0",
            ),
            (
                "datafusion.execution.batch_size",
                "0",
                "datafusion.execution.batch_size is '0', but must be greater than 0",
            ),
            (
                "datafusion.execution.parquet.pruning",
                "maybe",
                "datafusion.execution.parquet.pruning is 'maybe', but must be true or false",
            ),
            ("datafusion.nosuch", "1", "there is no setting `datafusion.nosuch`"),
            ("nosuch", "1", "there is no setting `nosuch`"),
            ("no.such", "1", "there is no setting `no.such`"),
        ] {
            let error = ConfigOptions::new().set(name, value).unwrap_err();
            let error = Error::from(of_setting(name, value, error));
            assert_eq!(error.to_string(), message);
        }
    }
}
