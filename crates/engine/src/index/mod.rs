//! Indexes: objects beside the data that say where the records with a value are (PushdownDB,
//! section IV-A, "Indexing with S3 Select").
//!
//! An index object is about one column of one data object: for every record, its value there (or that
//! it is NULL), the record's first byte and its length, sorted by value in small blocks, with a
//! sparse top at the end. Of Parquet, it has the number of the row. A look-up reads the top and the blocks that it points to, then the
//! records themselves, all by ranged GETs, so it works with stores that have no S3 Select.
//!
//! | file | holds |
//! |---|---|
//! | [`key`] | values as bytes that sort as the values do |
//! | [`filter`] | what a filter says about a column, as ranges of such bytes |
//! | [`name`] | where index objects are, and what their names say |
//! | [`format`](mod@format) | how the objects of a table are read: what is a record, and where |
//! | [`csv_text`] | the options of a CSV table that decide where records begin and what they hold |
//! | [`records`], [`json_records`] | where the records of a text begin and end |
//! | [`lines`] | whether each record of a CSV object is a line, whoever reads it |
//! | [`rows`] | the rows of a Parquet object, and what reading some of them takes |
//! | [`sort`] | sorting more entries than memory holds |
//! | [`cover`] | whether records follow each other without a gap |
//! | [`create`] | an index object from a data object, in one pass |
//! | [`found`] | which indexes a table has, from one listing |
//! | [`estimate`] | how much of an object a filter selects, from the top of an index |
//! | [`inside`] | what a store reads that answers a statement by indexes itself |
//! | [`scale`] | where keys lie among others |
//! | [`reading`] | how the records that an index leads to are asked for |
//! | [`lookup`] | reading the part of an index object that a filter is about |
//! | [`manage`] | creating, listing, verifying and dropping the indexes of a table |
//!
//! The layout of index objects is a crate of its own, `sluicegate-index`.
//!
//! An index is trusted only if all of this is so: its name says the entity tag of the data object
//! and how the table reads it, its own top says the same, and the checksums of what is read are
//! right, and what it leads to begins and ends where records do, as far as their borders tell. Otherwise
//! the data object is read as if there were none. Rows that an index finds are filtered again.

pub mod cover;
pub mod create;
pub mod csv_text;
pub mod estimate;
pub mod filter;
pub mod format;
pub mod found;
pub mod inside;
pub mod json_records;
pub mod key;
pub mod lines;
pub mod location;
pub mod lookup;
pub mod manage;
pub mod name;
pub mod reading;
pub mod records;
pub mod rows;
pub mod scale;
pub mod sort;
