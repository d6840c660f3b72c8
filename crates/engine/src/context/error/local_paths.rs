//! Paths of local files as users write them.

use std::borrow::Cow;
use std::path::Path;

/// Adds the leading slash to paths of local files. Object stores write the path of a file like a key, `tmp/a.csv`,
/// and errors from lower layers do not contain the kind of store.
pub(crate) fn rooted(text: &str) -> Cow<'_, str> {
    if !text.split('`').skip(1).step_by(2).any(is_file) {
        return Cow::Borrowed(text);
    }
    let parts = text.split('`').enumerate().map(|(at, part)| match at % 2 == 1 && is_file(part) {
        true => format!("/{part}"),
        false => part.to_owned(),
    });
    Cow::Owned(parts.collect::<Vec<_>>().join("`"))
}

/// Returns whether a name without a leading slash is the absolute path of a local file.
fn is_file(name: &str) -> bool {
    let may_be = name.contains('/') && !name.starts_with(['/', '.']) && !name.contains("://");
    may_be && Path::new("/").join(name).is_file() && !Path::new(name).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_files_begin_with_a_slash() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "").unwrap();
        let path = path.to_str().unwrap();
        let without = path.trim_start_matches('/');
        let text = format!("`{without}` and `t/a.csv` of `s3://{without}`");
        assert_eq!(rooted(&text), format!("`{path}` and `t/a.csv` of `s3://{without}`"));
        for text in ["no name", "`", "`t/none.csv`", &format!("`{path}`")] {
            assert_eq!(rooted(text), text);
        }
    }
}
