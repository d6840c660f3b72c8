//! Indexes: objects beside the data that contain the places of records by value (PushdownDB, section IV-A, "Indexing
//! with S3 Select").
//!
//! An index object covers one column of one data object. For every record it contains the value (or NULL), the
//! record's first byte and its length; for Parquet, the number of the row. The entries are sorted by value in small
//! blocks, with a sparse top at the end. A look-up reads the top, the blocks that it points to, and then the records,
//! all by ranged GETs. Thus it works with stores that have no S3 Select.
//!
//! | file | content |
//! |---|---|
//! | [`key`] | values as bytes that sort as the values do |
//! | [`filter`] | a filter on a column, as ranges of such bytes |
//! | [`name`] | the names and locations of index objects |
//! | [`format`](mod@format) | the formats of indexed objects: records and their places |
//! | [`csv_text`] | the options of a CSV table that determine its records |
//! | [`records`], [`json_records`] | the beginnings and ends of the records of a text |
//! | [`lines`] | the check that each record of a CSV object is a line to any reader |
//! | [`rows`] | the rows of a Parquet object, and the cost of reading some of them |
//! | [`sort`] | sorting more entries than memory holds |
//! | [`cover`] | the check that records follow each other without a gap |
//! | [`create`] | an index object from a data object, in one pass |
//! | [`found`] | the indexes of a table, from one listing |
//! | [`estimate`] | the share of an object that a filter selects, from the top of an index |
//! | [`inside`] | the reads of a store that answers a statement by indexes itself |
//! | [`scale`] | keys as numbers, to interpolate between them |
//! | [`reading`] | the requests for the records that an index leads to |
//! | [`lookup`] | reading the part of an index object that a filter needs |
//! | [`manage`] | creating, listing, verifying and dropping the indexes of a table |
//!
//! The layout of index objects is a crate of its own, `sluicegate-index`.
//!
//! An index is used only if all of these hold:
//!
//! - Its name contains the entity tag of the data object and the format of the table, and its own top has the same.
//! - The checksums of the parts that are read are right.
//! - The ranges that it leads to begin and end where records do, as far as their borders show.
//!
//! Otherwise the data object is read without an index. Rows that an index finds are filtered again.

pub mod cover;
pub mod create;
pub mod discovery;
pub mod estimate;
pub mod filter;
pub mod key;
pub mod location;
pub mod lookup;
pub mod one_file;
pub mod read_plan;
pub mod record_boundaries;
pub mod record_ranges;
pub mod rows;
pub mod scale;
pub mod scan;
pub mod sort;
