//! Our own operators, one per file.

pub mod s3_aggregate;
mod staged_write;
pub mod switch_note;
pub mod switch_prune;
mod switch_run;

pub use self::staged_write::StagedWriteExec;
