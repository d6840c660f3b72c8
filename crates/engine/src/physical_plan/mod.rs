//! Our own operators, one per file.

pub mod s3_aggregate;
mod staged_write;
pub mod switch;
mod switch_crossing;
pub mod switch_prune;
mod switch_run;
mod switch_snapshot;

pub use self::staged_write::StagedWriteExec;
