//! Extensions of the language beyond S3 Select's.

use super::ast::{Expr, Function, Projection, Query};

/// The extensions of this project that a statement may use. The service has none of them, so a request must enable
/// each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extras {
    /// GROUP BY, which may return a group in several rows
    /// ([`Extension::PartialGroups`](crate::capabilities::Extension::PartialGroups)).
    pub groups: bool,
    /// The function `BLOOM_CONTAINS` ([`Extension::Bloom`](crate::capabilities::Extension::Bloom)).
    pub bloom: bool,
}

impl Extras {
    /// The language of the service, without extensions.
    pub const NONE: Self = Self { groups: false, bloom: false };

    /// All extensions that this project's server supports.
    pub const ALL: Self = Self { groups: true, bloom: true };

    /// The extensions that a statement uses.
    #[must_use]
    pub fn from_query(query: &Query) -> Self {
        let mut pending: Vec<&Expr> = query.filter.iter().chain(&query.group_by).collect();
        if let Projection::Items(items) = &query.projection {
            pending.extend(items.iter().map(|item| &item.expr));
        }
        let mut bloom = false;
        // No recursion, because a chain of ORs can be thousands deep.
        while let Some(expr) = pending.pop() {
            bloom |= matches!(expr, Expr::Call { function: Function::BloomContains, .. });
            pending.extend(expr.children());
        }
        Self { groups: !query.group_by.is_empty(), bloom }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::parse_with;

    #[test]
    fn a_statement_tells_what_it_uses() {
        let bloom = "BLOOM_CONTAINS('AA==', 1, 0, s._1)";
        for (sql, groups, bloom) in [
            ("SELECT s._1 FROM S3Object s WHERE s._1 = 'a'".to_owned(), false, false),
            (format!("SELECT s._1 FROM S3Object s WHERE s._1 = 'a' OR NOT {bloom}"), false, true),
            (format!("SELECT {bloom} FROM S3Object s"), false, true),
            (format!("SELECT COUNT(*) FROM S3Object s GROUP BY {bloom}"), true, true),
            ("SELECT s._1 FROM S3Object s GROUP BY s._1".to_owned(), true, false),
        ] {
            let used = Extras::from_query(&parse_with(&sql, Extras::ALL).unwrap());
            assert_eq!(used, Extras { groups, bloom }, "{sql}");
            assert!(parse_with(&sql, used).is_ok(), "{sql}");
            assert_eq!(parse_with(&sql, Extras::NONE).is_err(), groups || bloom, "{sql}");
        }
    }
}
