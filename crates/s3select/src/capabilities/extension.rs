//! Extensions to S3 Select that a store announces in its answers.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// An ability of a store beyond S3 Select as AWS documents it.
///
/// A store lists its extensions in a header of each answer ([`Extension::HEADER`]). If a profile relies on extensions
/// ([`StoreCapabilities::relies_on`](super::StoreCapabilities::relies_on)), it holds only for answers that list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extension {
    /// `CAST(x AS DECIMAL(p, s))` respects `p` and `s`.
    DecimalPrecision,
    /// `MIN` and `MAX` also take strings, floats, timestamps and booleans.
    MinMaxAny,
    /// Sums of integers and decimals are exact, or the statement fails.
    ExactSum,
    /// An answer is computed from one version of the object, which a header names.
    Snapshot,
    /// A request with the header [`Extension::STRICT_LINES_HEADER`] fails if a CSV object contains a carriage return
    /// without a line feed.
    StrictLines,
    /// A request with the header [`Extension::STRICT_FIELDS_HEADER`] fails if a record of a CSV object, or its
    /// header, has another number of fields than the given one.
    StrictFields,
    /// A request with the header [`Extension::PARTIAL_GROUPS_HEADER`] may have a GROUP BY. A group may come in
    /// several rows, each for some of its rows. The client adds up their counts and sums, and takes the smallest and
    /// largest of their minima and maxima.
    PartialGroups,
    /// A request with the header [`Extension::BLOOM_HEADER`] may use `BLOOM_CONTAINS`, which
    /// [`BloomFilter`](crate::value::BloomFilter) documents.
    Bloom,
    /// A GET with several ranges is answered in parts, as [`byteranges`](crate::byteranges) documents, instead of
    /// with the whole object.
    ManyRanges,
    /// If index objects list the records of a CSV object that a statement needs, the store reads only these records
    /// and the indexes. The answer is the same, and `BytesScanned` counts the bytes that were read. The crate
    /// `sluicegate-index` documents the index objects and the statements that can use them.
    Indexes,
    /// A request with the header [`Extension::ARROW_HEADER`] is answered with an Arrow IPC stream, as
    /// [`ArrowOutput`](crate::request::ArrowOutput) documents. The header replaces the request's
    /// OutputSerialization, which is still required.
    Arrow,
}

impl Extension {
    /// The header of an answer that lists extensions, separated by commas.
    pub const HEADER: &'static str = "x-sluice-extensions";
    /// The header of a request that enables [`Extension::StrictLines`]; its value is `true`.
    pub const STRICT_LINES_HEADER: &'static str = "x-sluice-strict-lines";

    /// The header of a request that enables [`Extension::StrictFields`]; its value is the number of fields in a
    /// record.
    pub const STRICT_FIELDS_HEADER: &'static str = "x-sluice-strict-fields";

    /// The header of a request that enables [`Extension::PartialGroups`]; its value is `true`.
    pub const PARTIAL_GROUPS_HEADER: &'static str = "x-sluice-partial-groups";

    /// The header of a request that enables [`Extension::Bloom`]; its value is `true`.
    pub const BLOOM_HEADER: &'static str = "x-sluice-bloom";

    /// The header of a request that enables [`Extension::Arrow`]; its value is the text of an
    /// [`ArrowOutput`](crate::request::ArrowOutput): `int64;utf8;compression=lz4`.
    pub const ARROW_HEADER: &'static str = "x-sluice-arrow";

    /// All extensions of the enum.
    pub const ALL: [Self; 11] = [
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
        Self::Arrow,
    ];

    /// The extension's name in headers.
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
            Self::Arrow => "arrow",
        }
    }

    /// Parses the value of a header; unknown names are ignored.
    pub fn parse_header(value: &str) -> BTreeSet<Self> {
        let named = |name: &str| Self::ALL.into_iter().find(|known| known.as_str() == name.trim());
        value.split(',').filter_map(named).collect()
    }

    /// Formats the value of a header that lists these extensions.
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
             partial-groups, bloom, many-ranges, indexes, arrow"
        );
        assert_eq!(Extension::parse_header(&value), all);
        let some = Extension::parse_header("exact-sum,teleportation");
        assert_eq!(some, BTreeSet::from([Extension::ExactSum]));
        assert!(Extension::parse_header("").is_empty());
    }
}
