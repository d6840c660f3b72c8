//! `\ls ./`: lists a folder of this machine.

use std::fs::{self, DirEntry};
use std::path::Path;

use sluicegate_engine::browse::Entry;

/// Returns a file, the entries of a folder, or the entries whose path begins with `path`, sorted by name; at most
/// `most`.
pub(super) fn entries(path: &str, most: usize) -> Vec<Entry> {
    let (folder, start) = match Path::new(path).is_dir() {
        true if path.ends_with('/') => (path.to_owned(), ""),
        true => (format!("{path}/"), ""),
        false => {
            let (folder, start) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
            (folder.to_owned(), start)
        }
    };
    let looked_at = if folder.is_empty() { "." } else { folder.as_str() };
    let Ok(there) = fs::read_dir(looked_at) else { return Vec::new() };
    let mut entries: Vec<Entry> = there
        .flatten()
        .filter(|it| it.file_name().to_str().is_some_and(|name| name.starts_with(start)))
        .filter_map(|it| entry(&folder, &it))
        .collect();
    entries.sort_by(|a, b| a.url().cmp(b.url()));
    entries.truncate(most);
    entries
}

/// Returns a file or a folder by its path; `None` if it no longer exists.
fn entry(folder: &str, there: &DirEntry) -> Option<Entry> {
    let path = format!("{folder}{}", there.file_name().to_str()?);
    let known = fs::metadata(there.path()).ok()?;
    if known.is_dir() {
        return Some(Entry::Folder(format!("{path}/")));
    }
    let modified = known.modified().ok()?.into();
    Some(Entry::Object { url: path, bytes: known.len(), modified })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        fs::write(folder.path().join("t.csv"), "a\n").unwrap();
        fs::create_dir(folder.path().join("d")).unwrap();
        let urls = |path: &str| {
            let urls = entries(path, 9).into_iter().map(|it| it.url().to_owned());
            urls.collect::<Vec<_>>()
        };
        let all = [format!("{path}/d/"), format!("{path}/t.csv")];
        assert_eq!(urls(path), all);
        assert_eq!(urls(&format!("{path}/")), all);
        assert_eq!(urls(&format!("{path}/t")), all[1..]);
        assert_eq!(urls(&format!("{path}/t.csv")), all[1..]);
        assert_eq!(urls(&format!("{path}/d")), [] as [String; 0]);
        assert_eq!(entries(path, 1).len(), 1);
    }
}
