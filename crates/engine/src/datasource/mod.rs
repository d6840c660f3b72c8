//! How tables are read: through S3 Select, or with GET by DataFusion's own sources.

pub(crate) mod again;
pub mod arriving;
pub mod borders;
pub mod float_bounds;
pub mod footer_statistics;
pub mod format;
pub mod get;
pub mod indexed;
pub mod keys;
pub mod many_ranges;
pub mod named;
pub mod one_file;
pub mod opener;
pub mod partial_state;
pub mod pinned;
pub mod predicate;
pub mod record_ranges;
pub mod s3_scan;
pub mod s3_select;
pub mod snapshot;
pub mod statement;
pub mod stored_types;
pub mod turning;
