//! Extensions to S3 Select that a store announces.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that a store does beyond S3 Select as AWS documents it.
///
/// A store announces it in the head of each answer ([`Extension::HEADER`]). A profile that relies on
/// extensions ([`EndpointProfile::relies_on`](super::EndpointProfile::relies_on)) holds for an
/// answer only if its head names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extension {
    /// `CAST(x AS DECIMAL(p, s))` takes `p` and `s` into account.
    DecimalPrecision,
    /// `MIN` and `MAX` of strings, floats, timestamps and booleans.
    MinMaxAny,
    /// Sums of integers and decimals are exact or fail.
    ExactSum,
    /// An answer is computed from one version of the object, which its head names.
    Snapshot,
    /// A request with the header [`Extension::STRICT_LINES_HEADER`] fails where a CSV object holds
    /// a carriage return that no line feed follows.
    StrictLines,
    /// A request with the header [`Extension::STRICT_FIELDS_HEADER`] fails where a record of a CSV object, or its
    /// header, has more or fewer fields than that says.
    StrictFields,
    /// A request with the header [`Extension::PARTIAL_GROUPS_HEADER`] may have a GROUP BY. A group
    /// may come in several rows, each about some of its rows: who asks adds up their counts and
    /// sums and takes the least and greatest of them.
    PartialGroups,
    /// A request with the header [`Extension::BLOOM_HEADER`] may use `BLOOM_CONTAINS`, as
    /// [`BloomFilter`](crate::value::BloomFilter) documents it.
    Bloom,
    /// A GET that asks for several ranges is answered in parts, as
    /// [`byteranges`](crate::byteranges) documents it, instead of with the whole object.
    ManyRanges,
    /// Where index objects say which records of a CSV object a statement wants, those and the indexes are
    /// read instead of the object. The answer is the same; `BytesScanned` is what was read. The crate
    /// `sluicegate-index` documents the objects and the statements.
    Indexes,
}

impl Extension {
    /// The header that lists extensions, separated by commas.
    pub const HEADER: &'static str = "x-sluice-extensions";
    /// The header of a request that asks for [`Extension::StrictLines`]; its value is `true`.
    pub const STRICT_LINES_HEADER: &'static str = "x-sluice-strict-lines";

    /// The header of a request that asks for [`Extension::StrictFields`]; its value is how many fields a record
    /// has.
    pub const STRICT_FIELDS_HEADER: &'static str = "x-sluice-strict-fields";

    /// The header of a request that asks for [`Extension::PartialGroups`]; its value is `true`.
    pub const PARTIAL_GROUPS_HEADER: &'static str = "x-sluice-partial-groups";

    /// The header of a request that asks for [`Extension::Bloom`]; its value is `true`.
    pub const BLOOM_HEADER: &'static str = "x-sluice-bloom";

    /// All extensions.
    pub const ALL: [Self; 10] = [
        Self::DecimalPrecision,
        Self::MinMaxAny,
        Self::ExactSum,
        Self::Snapshot,
        Self::StrictLines,
        Self::StrictFields,
        Self::PartialGroups,
        Self::Bloom,
        Self::ManyRanges,
        Self::Indexes,
    ];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DecimalPrecision => "decimal-precision",
            Self::MinMaxAny => "min-max-any",
            Self::ExactSum => "exact-sum",
            Self::Snapshot => "snapshot",
            Self::StrictLines => "strict-lines",
            Self::StrictFields => "strict-fields",
            Self::PartialGroups => "partial-groups",
            Self::Bloom => "bloom",
            Self::ManyRanges => "many-ranges",
            Self::Indexes => "indexes",
        }
    }

    /// The extensions in a header's value; unknown names are ignored.
    pub fn parse_header(value: &str) -> BTreeSet<Self> {
        let named = |name: &str| Self::ALL.into_iter().find(|known| known.as_str() == name.trim());
        value.split(',').filter_map(named).collect()
    }

    /// A header's value for some extensions.
    pub fn header_value(extensions: &BTreeSet<Self>) -> String {
        let names: Vec<&str> = extensions.iter().map(|extension| extension.as_str()).collect();
        names.join(", ")
    }
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_is_written() {
        let all: BTreeSet<_> = Extension::ALL.into();
        let value = Extension::header_value(&all);
        assert_eq!(
            value,
            "decimal-precision, min-max-any, exact-sum, snapshot, strict-lines, strict-fields, \
             partial-groups, bloom, many-ranges, indexes"
        );
        assert_eq!(Extension::parse_header(&value), all);
        let some = Extension::parse_header("exact-sum,teleportation");
        assert_eq!(some, BTreeSet::from([Extension::ExactSum]));
        assert!(Extension::parse_header("").is_empty());
    }
}
