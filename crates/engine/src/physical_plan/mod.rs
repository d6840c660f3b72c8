//! Our own operators, one per file.

pub mod s3_aggregate;
