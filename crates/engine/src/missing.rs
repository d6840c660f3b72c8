//! What is said where a URL or a path leads to nothing.

use std::path::Path;

use datafusion::common::DataFusionError;

use crate::error::{ErrorKind, Told, are_similar};

/// There is no object, or no file, at a URL, a path or a pattern of them.
pub(crate) fn nothing_at(url: &str) -> DataFusionError {
    let what = if is_here(url) { "file" } else { "object" };
    let pattern = if url.contains(GLOB) { ": nothing matches the pattern" } else { "" };
    Told {
        kind: ErrorKind::NotFound,
        message: format!("there is no {what} at {url}{pattern}"),
        hint: Some(hint(url)),
    }
    .into()
}

/// What makes a name a pattern.
const GLOB: [char; 3] = ['*', '?', '['];

/// Whether a URL or a path is of this machine.
fn is_here(url: &str) -> bool {
    !url.contains("://") || url.starts_with("file://")
}

/// What to check or to write instead of a URL, or a path, with nothing at it.
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
        return match is_here(url) {
            true => format!("{} `*` stops at a slash, `**` is any folders.", place(folder)),
            false => format!(
                "SELECT url FROM glob('{folder}**') lists what is there; `*` stops at a slash, `**` is any folders, and \
                 keys are case-sensitive."
            ),
        };
    }
    match is_here(url) {
        true => of_file(url),
        false => "Check the key; keys are case-sensitive.".to_owned(),
    }
}

/// Which file may be meant by a path that leads nowhere.
fn of_file(path: &str) -> String {
    let meant = with_slash(path).or_else(|| neighbour(path));
    match meant {
        Some(meant) => format!("Did you mean '{meant}'?"),
        None => format!("{} Name an object as 's3://bucket/key'.", place(path)),
    }
}

/// Where a path begins, if that is not the root.
fn place(path: &str) -> String {
    match std::env::current_dir() {
        Ok(folder) if !path.starts_with('/') => {
            format!("A path begins in the folder {}.", folder.display())
        }
        _ => "Check the path.".to_owned(),
    }
}

/// The same path from the root, if that is there.
fn with_slash(path: &str) -> Option<String> {
    let rooted = format!("/{path}");
    (!path.starts_with('/') && path.contains('/') && Path::new(&rooted).exists()).then_some(rooted)
}

/// A file of the same folder whose name is nearly the same.
fn neighbour(path: &str) -> Option<String> {
    let (folder, name) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
    let looked_at = if folder.is_empty() { "." } else { folder };
    let wanted = name.to_lowercase();
    let mut found: Vec<String> = std::fs::read_dir(looked_at)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|other| are_similar(&other.to_lowercase(), &wanted))
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
