//! Our own operators, one per file.

mod explicit_nulls;
mod forgetful;
mod one_batch;
mod partitioned_sink;
pub mod s3_aggregate;
pub mod s3_group_by;
mod staged_write;
pub mod switch;
mod switch_crossing;
pub mod switch_drain;
pub mod switch_prune;
mod switch_run;
mod switch_snapshot;
mod top_k_run;
pub mod top_k_sample;
mod without_expressions;

pub use self::forgetful::ForgetfulExec;
pub use self::staged_write::StagedWriteExec;
pub(crate) use self::without_expressions::without_expressions;
