//! Values of partition columns in the names of folders.

use std::fmt::Write;

/// The folder name for NULL, as in Hive and Spark.
pub(crate) const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// Encodes a name or a value for the name of a folder. Separators, and characters that stores treat specially, are
/// percent-encoded, as in Hive and Spark.
pub(crate) fn encoded(text: &str) -> String {
    const SPECIAL: &str = "\"#%'*/:=?\\{[]^";
    let mut encoded = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_ascii_control() || SPECIAL.contains(c) {
            // The character is ASCII.
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
