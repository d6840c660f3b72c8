//! Removes objects that cannot be named from the pages of a listing.
//!
//! S3 allows keys that `object_store` cannot express as a path, such as `.`, `a//b` and `/a`, which make its listing
//! fail as a whole. It takes others for different keys, such as `a/` for `a`. Such objects are removed from a page
//! before it is parsed, so that one of them does not break queries about others.

use bytes::Bytes;
use object_store::path::Path;

use crate::context::xml_text::unescaped;

/// Returns a page without objects and folders that cannot be named, and their keys.
pub(crate) fn nameable(page: Bytes) -> (Bytes, Vec<String>) {
    let Ok(text) = std::str::from_utf8(&page) else { return (page, Vec::new()) };
    let (mut kept, mut skipped) = (String::new(), Vec::new());
    let mut done = 0;
    let mut rest = 0;
    while let Some(entry) = next_entry(text, rest) {
        rest = entry.end;
        let key = unescaped(entry.key);
        if !is_nameable(&key) || (key.ends_with('/') && entry.has_data) {
            kept.push_str(&text[done..entry.start]);
            done = entry.end;
            skipped.push(key.into_owned());
        }
    }
    if skipped.is_empty() {
        return (page, skipped);
    }
    kept.push_str(&text[done..]);
    (Bytes::from(kept), skipped)
}

/// Returns whether a path can name a key. A `/` at the end is that of a folder, or of its marker, which is empty; the
/// path without it is another object's.
fn is_nameable(key: &str) -> bool {
    let key = key.strip_suffix('/').unwrap_or(key);
    !key.is_empty() && Path::parse(key).is_ok_and(|path| path.as_ref() == key)
}

/// An element of a page, with its key or prefix as it is written there.
struct Entry<'a> {
    start: usize,
    end: usize,
    key: &'a str,
    /// True if it is an object that is not empty.
    has_data: bool,
}

fn next_entry(text: &str, from: usize) -> Option<Entry<'_>> {
    // Both elements are searched for together. In a page without folders, a separate search for folders would scan
    // the rest of the page for each object.
    let mut start = from;
    let (close, name) = loop {
        start += text[start..].find("<Co")?;
        if text[start..].starts_with("<Contents>") {
            break ("</Contents>", "Key");
        }
        if text[start..].starts_with("<CommonPrefixes>") {
            break ("</CommonPrefixes>", "Prefix");
        }
        start += "<Co".len();
    };
    let end = start + text[start..].find(close)? + close.len();
    let element = &text[start..end];
    let (_, value) = element.split_once(&format!("<{name}>"))?;
    let (key, _) = value.split_once(&format!("</{name}>"))?;
    let has_data = name == "Key" && !element.contains("<Size>0</Size>");
    Some(Entry { start, end, key, has_data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(keys: &[&str], prefixes: &[&str]) -> String {
        let keys: String = keys
            .iter()
            .map(|k| {
                let (key, size) = k.split_once('=').unwrap_or((k, "1"));
                format!("<Contents><Key>{key}</Key><Size>{size}</Size></Contents>")
            })
            .collect();
        let prefixes: String = prefixes
            .iter()
            .map(|p| format!("<CommonPrefixes><Prefix>{p}</Prefix></CommonPrefixes>"))
            .collect();
        format!("<ListBucketResult><Prefix>a/</Prefix>{keys}{prefixes}</ListBucketResult>")
    }

    #[track_caller]
    fn check(keys: &[&str], prefixes: &[&str], left: (&[&str], &[&str]), skipped: &[&str]) {
        let (rest, names) = nameable(Bytes::from(page(keys, prefixes)));
        assert_eq!(rest, page(left.0, left.1));
        assert_eq!(names, skipped);
    }

    #[test]
    fn only_unnameable_objects_are_taken_out() {
        check(&[], &[], (&[], &[]), &[]);
        check(
            &["a", "b c/ü", "x/=0", "1&lt;2"],
            &["d/"],
            (&["a", "b c/ü", "x/=0", "1&lt;2"], &["d/"]),
            &[],
        );
        check(&["a", "x/=0", "y/=1", "y/z"], &["d/"], (&["a", "x/=0", "y/z"], &["d/"]), &["y/"]);
        check(&[".", "a", "x/../y"], &[], (&["a"], &[]), &[".", "x/../y"]);
        check(
            &["a//b", "/c", "d"],
            &["/", "e//", "f/"],
            (&["d"], &["f/"]),
            &["a//b", "/c", "/", "e//"],
        );
        check(&["a&amp;/&#x2e;/b", "a&#46;b"], &[], (&["a&#46;b"], &[]), &["a&/./b"]);
        // Elements that begin with the same letters are not entries.
        let page = "<Code/><Contents><Key>.</Key><Size>1</Size></Contents><Comment/>";
        let (rest, names) = nameable(Bytes::from(page));
        assert_eq!((&rest[..], names), (&b"<Code/><Comment/>"[..], vec![".".to_owned()]));
    }

    #[test]
    fn what_is_no_page_is_left_alone() {
        for text in ["", "<Contents>", "<Contents><Key>.</Key>", "{}"] {
            assert_eq!(nameable(Bytes::from(text)), (Bytes::from(text), vec![]), "{text}");
        }
    }
}
