//! Completion of local paths in a statement.

use std::fs;
use std::path::Path;

use rustyline::completion::Pair;

/// Returns folders and files whose path begins with `begun`, sorted by name; hidden ones only if a point is typed.
/// After a file, the quote is closed if `close` is set.
pub(super) fn like(begun: &str, close: bool, most: usize) -> Vec<Pair> {
    let (folder, name) = begun.split_at(begun.rfind('/').map_or(0, |slash| slash + 1));
    let looked_at = if folder.is_empty() { Path::new(".") } else { Path::new(folder) };
    let Ok(entries) = fs::read_dir(looked_at) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let Ok(file) = entry.file_name().into_string() else { continue };
        let is_meant = file.starts_with(name) && (name.starts_with('.') || !file.starts_with('.'));
        // A quote in a name would end the text.
        if !is_meant || file.contains('\'') {
            continue;
        }
        // `is_dir` follows links.
        let is_folder = entry.path().is_dir();
        let slash = if is_folder { "/" } else { "" };
        let quote = if close && !is_folder { "'" } else { "" };
        found.push(Pair {
            display: format!("{file}{slash}"),
            replacement: format!("{folder}{file}{slash}{quote}"),
        });
    }
    found.sort_unstable_by(|one, other| one.replacement.cmp(&other.replacement));
    found.truncate(most);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_go_on_from_what_is_typed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.csv", "ab.csv", ".hidden", "it's"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        fs::create_dir(folder.path().join("aside")).unwrap();
        let path = folder.path().to_str().unwrap();
        let found = |name: &str| -> Vec<String> {
            let found = like(&format!("{path}/{name}"), true, 9).into_iter();
            found.map(|pair| pair.replacement.replace(path, "")).collect()
        };
        assert_eq!(found("a"), ["/a.csv'", "/ab.csv'", "/aside/"]);
        assert_eq!(found(""), ["/a.csv'", "/ab.csv'", "/aside/"]);
        assert_eq!(found(".h"), ["/.hidden'"]);
        assert!(like("/no/such/folder/", true, 9).is_empty());
    }
}
