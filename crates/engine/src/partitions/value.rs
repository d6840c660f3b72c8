//! Values of columns as names of folders.

use std::fmt::Write;

/// What a folder is named by where a value is NULL, as of Hive and Spark.
pub(crate) const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// A name or a value in the name of a folder: what separates, and what stores treat specially, is percent-encoded, as
/// Hive and Spark do it.
pub(crate) fn encoded(text: &str) -> String {
    const SPECIAL: &str = "\"#%'*/:=?\\{[]^";
    let mut encoded = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_ascii_control() || SPECIAL.contains(c) {
            // It is ASCII.
            true => drop(write!(encoded, "%{:02X}", u32::from(c))),
            false => encoded.push(c),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_separates_is_encoded() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a b", "a b"),
            ("a=b/c:d%e", "a%3Db%2Fc%3Ad%25e"),
            ("\t\u{7f}\"'\\", "%09%7F%22%27%5C"),
            ("größe", "größe"),
            ("", ""),
        ] {
            assert_eq!(encoded(text), expected);
            let decoded = percent_encoding::percent_decode_str(expected).decode_utf8().unwrap();
            assert_eq!(decoded, text);
        }
    }
}
