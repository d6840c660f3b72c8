//! Errors and hints for a URL or a path without an object or file.

use std::path::Path;

use datafusion::common::DataFusionError;

use crate::context::error::{ErrorKind, UserError, are_similar};
use crate::context::file_names::ENDS;

/// Returns the error for a URL, path or pattern without any object or file.
pub(crate) fn nothing_at(url: &str) -> DataFusionError {
    if let Some(told) = broken_link(url) {
        return told.into();
    }
    let what = if is_local(url) { "file" } else { "object" };
    let pattern = if url.contains(GLOB) { ": nothing matches the pattern" } else { "" };
    UserError {
        kind: ErrorKind::NotFound,
        message: format!("there is no {what} at {url}{pattern}"),
        hint: Some(hint(url)),
    }
    .into()
}

/// Returns the error for a local path that is a broken symbolic link, or contains one.
pub(crate) fn broken_link(path: &str) -> Option<UserError> {
    if !is_local(path) {
        return None;
    }
    let path = path.strip_prefix("file://").unwrap_or(path);
    let links = Path::new(path).ancestors().filter(|it| it.is_symlink());
    // The outermost link is broken.
    let (link, error) = links.filter_map(|it| Some((it, it.metadata().err()?))).last()?;
    let target = link.read_link().ok()?;
    let behind = match error.kind() {
        std::io::ErrorKind::NotFound => "which is not there",
        std::io::ErrorKind::PermissionDenied => "which may not be read",
        _ => "and so in a circle",
    };
    Some(UserError {
        kind: ErrorKind::NotFound,
        message: format!(
            "`{}` is a symbolic link to `{}`, {behind}",
            link.display(),
            target.display()
        ),
        hint: Some("Make the link anew, or name the file itself.".to_owned()),
    })
}

/// Returns the error for a file or object whose name does not imply a format.
pub(crate) fn unknown_format(name: &str) -> UserError {
    let end = name.rsplit('/').next().and_then(|last| Some(last.rsplit_once('.')?.1));
    let end = end.map(str::to_ascii_lowercase).unwrap_or_default();
    let meant = ENDS.iter().find(|known| !end.is_empty() && are_similar(known, &end));
    let said = match (end.as_str(), meant) {
        ("xlsx" | "xls" | "ods", _) => {
            return unreadable(
                name,
                "a workbook",
                "Save its sheets as CSV: \"Save as\" of the spreadsheet program.",
            );
        }
        ("orc" | "xml" | "db" | "sqlite" | "duckdb" | "zip" | "7z" | "tar", _) => {
            return unreadable(
                name,
                &format!("of the format {end}"),
                "Convert it to CSV, JSON or Parquet.",
            );
        }
        (_, Some(known)) => format!("Did you mean .{known}? "),
        _ => String::new(),
    };
    UserError {
        kind: ErrorKind::Plan,
        message: format!("the name of '{name}' does not say its format"),
        hint: Some(format!(
            "{said}Known ends are .csv, .tsv, .json, .jsonl, .ndjson, .parquet, .arrow, .feather, .ipc and .avro, and \
             .gz, .bz2, .xz or .zst behind those of text. Or say the format: read_csv('{name}'), read_json('{name}'), \
             read_parquet('{name}')."
        )),
    }
}

fn unreadable(name: &str, what: &str, hint: &str) -> UserError {
    UserError {
        kind: ErrorKind::Unsupported,
        message: format!("'{name}' is {what}, which is not read"),
        hint: Some(hint.to_owned()),
    }
}

/// The characters that make a name a pattern.
const GLOB: [char; 3] = ['*', '?', '['];

/// Returns whether a URL or a path is local.
fn is_local(url: &str) -> bool {
    !url.contains("://") || url.starts_with("file://")
}

/// Returns a hint for a URL or path without an object or file.
pub(crate) fn hint(url: &str) -> String {
    if let Some((open, close)) = url.find('{').zip(url.rfind('}'))
        && open < close
    {
        return "Braces stand for themselves: name the files by `*`, `?` and `[ab]`, or each by itself, with UNION ALL \
                between."
            .to_owned();
    }
    if let Some(at) = url.find(GLOB) {
        let folder = url[..at].rfind('/').map_or("", |slash| &url[..=slash]);
        return match is_local(url) {
            true => {
                format!("{} `*` stops at a slash, `**` is any folders.", base_folder_hint(folder))
            }
            false => format!(
                "SELECT url FROM glob('{folder}**') lists what is there; `*` stops at a slash, `**` is any folders, and \
                 keys are case-sensitive."
            ),
        };
    }
    match is_local(url) {
        true => of_file(url),
        false => "Check the key; keys are case-sensitive.".to_owned(),
    }
}

/// Suggests an existing file for a missing one.
fn of_file(path: &str) -> String {
    let meant = with_slash(path).or_else(|| neighbour(path));
    match meant {
        Some(meant) => format!("Did you mean '{meant}'?"),
        None => format!("{} Name an object as 's3://bucket/key'.", base_folder_hint(path)),
    }
}

/// Names the folder at which a relative path begins.
fn base_folder_hint(path: &str) -> String {
    match std::env::current_dir() {
        Ok(folder) if !path.starts_with('/') => {
            format!("A path begins in the folder {}.", folder.display())
        }
        _ => "Check the path.".to_owned(),
    }
}

/// Returns the path with a leading slash, if that exists.
fn with_slash(path: &str) -> Option<String> {
    let rooted = format!("/{path}");
    (!path.starts_with('/') && path.contains('/') && Path::new(&rooted).exists()).then_some(rooted)
}

/// Returns a file in the same folder with a similar name.
fn neighbour(path: &str) -> Option<String> {
    let (folder, name) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
    let looked_at = if folder.is_empty() { "." } else { folder };
    let wanted = name.to_lowercase();
    let mut found: Vec<String> = std::fs::read_dir(looked_at)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|other| other != name && are_similar(&other.to_lowercase(), &wanted))
        .collect();
    found.sort_unstable();
    found.into_iter().next().map(|name| format!("{folder}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_about_what_was_written() {
        for (url, part) in [
            ("s3://b/{a,b}.csv", "Braces stand for themselves"),
            ("x/{1..3}.csv", "Braces stand for themselves"),
            ("s3://b/data/*.cvs", "glob('s3://b/data/**')"),
            ("no/such/*.csv", "`**` is any folders"),
            ("s3://b/a.csv", "case-sensitive"),
            ("no-such.csv", "A path begins in the folder /"),
            ("/no/such.csv", "Check the path."),
        ] {
            let hint = hint(url);
            assert!(hint.contains(part), "{url}: {hint}");
        }
    }

    #[test]
    fn files_that_may_be_meant_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        std::fs::write(folder.path().join("Fruit.csv"), "x").unwrap();
        assert_eq!(hint(&format!("{path}/friut.csv")), format!("Did you mean '{path}/Fruit.csv'?"));
        let without = path.trim_start_matches('/');
        let whole = format!("/{without}/Fruit.csv");
        assert_eq!(hint(&format!("{without}/Fruit.csv")), format!("Did you mean '{whole}'?"));
    }
}
