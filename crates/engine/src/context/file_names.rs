//! Extensions of the names of files that are tables.

/// Suffixes of compressed objects, and the matching values of the format's option.
pub(crate) const COMPRESSIONS: [(&str, &str); 4] =
    [(".gz", "gzip"), (".bz2", "bzip2"), (".xz", "xz"), (".zst", "zstd")];

/// The extension of tab-separated values.
pub(crate) const TABS: &str = "tsv";

/// The extensions of Arrow files, the usual one first.
pub(crate) const ARROW: [&str; 4] = ["arrow", "feather", "ipc", ARROW_STREAM];

/// The extension of streams of Arrow.
pub(crate) const ARROW_STREAM: &str = "arrows";

/// The extensions of the formats that are read.
pub(crate) const ENDS: [&str; 11] = [
    "csv", TABS, "json", "jsonl", "ndjson", "parquet", "arrow", "arrows", "feather", "ipc", "avro",
];
