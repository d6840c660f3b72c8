//! Indexes: objects beside the data that say where the records with a value are (PushdownDB,
//! section IV-A, "Indexing with S3 Select").
//!
//! An index object is about one column of one data object: for every record with a value there,
//! the value, the record's first byte and its length, sorted by value in small blocks, with a
//! sparse top at the end. A look-up reads the top and the blocks that it points to, then the
//! records themselves, all by ranged GETs, so it works with stores that have no S3 Select.
//!
//! | file | holds |
//! |---|---|
//! | [`key`] | values as bytes that sort as the values do |
//! | [`span`] | what a filter says about a column, as ranges of such bytes |
//! | [`layout`] | an index object, byte by byte |
//! | [`name`] | where index objects are, and what their names say |
//! | [`format`](mod@format) | the options of a table that decide where records begin and what they hold |
//! | [`records`] | where the records of a CSV object begin and end |
//! | [`sort`] | sorting more entries than memory holds |
//! | [`create`] | an index object from a data object, in one pass |
//! | [`found`] | which indexes a table has, from one listing |
//! | [`estimate`] | how much of an object a filter selects, from the top of an index |
//! | [`lookup`] | reading the part of an index object that a filter is about |
//! | [`manage`] | creating, listing, verifying and dropping the indexes of a table |
//!
//! An index is trusted only if all of this is so: its name says the entity tag of the data object
//! and how the table reads it, its own top says the same, and the checksums of what is read are
//! right. Otherwise the data object is read as if there were none. Rows that an index finds are
//! filtered again.

pub mod create;
pub mod estimate;
pub mod format;
pub mod found;
pub mod key;
pub mod layout;
pub mod lookup;
pub mod manage;
pub mod name;
pub mod records;
pub mod sort;
pub mod span;
