//! Resolves names and paths.

use super::ast::{From, Name, PathStep};

impl Name {
    /// Returns true if the name refers to `other`: exactly if it was quoted, otherwise in any (ASCII) case.
    #[must_use]
    pub fn matches(&self, other: &str) -> bool {
        if self.quoted { self.text == other } else { self.text.eq_ignore_ascii_case(other) }
    }

    /// The position of a column named `_1`, `_2`, …, counted from 1; `None` for other names. `_0` gives `Some(0)`.
    #[must_use]
    pub fn position(&self) -> Option<usize> {
        let digits = self.text.strip_prefix('_')?;
        let canonical = digits == "0" || !digits.starts_with('0');
        let plain = canonical && digits.bytes().all(|byte| byte.is_ascii_digit());
        if plain { digits.parse().ok() } else { None }
    }
}

impl From {
    /// The name of the row: the alias, or else the last name of the path, or else `S3Object`. A row whose path ends
    /// in a wildcard or an index has only the name `_1`.
    #[must_use]
    pub fn row_name(&self) -> &str {
        if let Some(alias) = &self.alias {
            return alias;
        }
        match self.path.last() {
            None => "S3Object",
            Some(PathStep::AnyIndex) if self.path.len() == 1 => "S3Object",
            Some(PathStep::Field(name)) => &name.text,
            Some(PathStep::Index(_) | PathStep::AnyIndex | PathStep::AnyField) => "_1",
        }
    }

    /// Returns true if the name is the row's name.
    #[must_use]
    pub fn is_row_name(&self, name: &Name) -> bool {
        // An alias matches in any case, because the tree does not record whether FROM quoted it.
        name.text.eq_ignore_ascii_case(self.row_name())
    }

    /// The path within the row: without the row's name, if it begins with it. The result is empty if the path is only
    /// the row's name.
    #[must_use]
    pub fn within_row<'a>(&self, path: &'a [PathStep]) -> &'a [PathStep] {
        match path {
            [PathStep::Field(name), rest @ ..] if self.is_row_name(name) => rest,
            _ => path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str, quoted: bool) -> Name {
        Name { text: text.into(), quoted }
    }

    #[test]
    fn case_matters_only_in_quotes() {
        assert!(name("Price", false).matches("PRICE"));
        assert!(!name("Price", true).matches("PRICE"));
    }

    #[test]
    fn positions() {
        for (text, expected) in [
            ("_1", Some(1)),
            ("_0", Some(0)),
            ("_12", Some(12)),
            ("_01", None),
            ("_", None),
            ("_x", None),
            ("a", None),
            ("_99999999999999999999", None),
        ] {
            assert_eq!(name(text, false).position(), expected, "{text}");
        }
    }

    #[test]
    fn rows_have_names() {
        let from = |path: &[PathStep], alias: Option<&str>| From {
            path: path.to_vec(),
            alias: alias.map(str::to_owned),
        };
        assert_eq!(from(&[], None).row_name(), "S3Object");
        assert_eq!(from(&[], Some("s")).row_name(), "s");
        let rules = PathStep::Field(name("Rules", false));
        assert_eq!(from(&[PathStep::AnyIndex, rules.clone()], None).row_name(), "Rules");
        assert_eq!(from(&[PathStep::AnyIndex, rules, PathStep::AnyIndex], None).row_name(), "_1");
    }
}
