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
//! | [`location`] | the names and locations of index objects |
//! | [`discovery`] | the indexes of a table, from one listing |
//! | [`key`] | values as bytes that sort as the values do |
//! | [`filter`] | a filter on a column, as ranges of such bytes |
//! | [`scale`] | keys as numbers, to interpolate between them |
//! | [`lookup`] | reading the part of an index object that a filter needs |
//! | [`estimate`] | the share of an object that a filter selects, from the top of an index |
//! | [`read_plan`] | the requests for the records that an index leads to |
//! | [`scan`] | the scan that reads only these records; [`one_file`] reads a single file |
//! | [`record_ranges`] | some records of an object, presented as an object |
//! | [`record_boundaries`] | the check that ranges are whole records |
//! | [`rows`] | the rows of a Parquet object, and the cost of reading some of them |
//! | [`create`] | an index object from a data object, in one pass |
//! | [`sort`] | sorting more entries than memory holds |
//! | [`table`] | the index table of PushdownDB, as CSV that S3 Select reads |
//! | [`cover`] | the check that records follow each other without a gap |
//!
//! The layout of index objects is a crate of its own, `sluicegate-index`. The folder `text` finds the records of CSV
//! and JSON. Statements about indexes are in `engine/index_statements.rs`, and the strategy is in
//! `optimizer/index.rs`: this folder must not use scans with S3 Select, statistics or the catalog.
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
pub mod table;
