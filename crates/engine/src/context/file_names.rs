//! Extensions of the names of files that are tables.

/// Suffixes of compressed objects, and the matching values of the format's option.
pub(crate) const COMPRESSIONS: [(&str, &str); 4] =
    [(".gz", "gzip"), (".bz2", "bzip2"), (".xz", "xz"), (".zst", "zstd")];

/// The extension of tab-separated values.
pub(crate) const TABS: &str = "tsv";

/// The extensions of the formats that are read.
pub(crate) const ENDS: [&str; 7] = ["csv", TABS, "json", "jsonl", "ndjson", "parquet", "arrow"];
