//! Physical operators of Sluicegate, one per file.
//!
//! | operator | work |
//! |---|---|
//! | [`s3_aggregate`] | aggregates that the store computes |
//! | [`s3_group_by`] | aggregates by group that the store computes |
//! | [`top_k_sample`] | ORDER BY … LIMIT that bounds its scan by a sample |
//! | [`switch`], [`switch_prune`], [`switch_drain`] | the switch of a query, the rows that cross it, and the groups that it holds |
//! | [`StagedWriteExec`] | writes that become visible only if all of them succeed |
//! | [`ForgetfulExec`] | hides properties that DataFusion derives wrongly |
//!
//! `explicit_nulls`, `one_batch` and `partitioned_sink` change what the sinks below a [`StagedWriteExec`] write.
//! `switch_crossing`, `switch_run` and `switch_snapshot` run the switch, `top_k_run` the sample.

mod explicit_nulls;
mod one_batch;
pub mod partial_state;
mod partitioned_sink;
pub mod s3_aggregate;
pub mod s3_group_by;
#[doc(hidden)]
pub mod sampling;
#[doc(hidden)]
pub mod skyline;
mod staged_write;
#[doc(hidden)]
pub mod switch;
mod switch_crossing;
pub mod switch_drain;
pub mod switch_exec;
pub mod switch_prune;
mod switch_run;
mod switch_snapshot;
mod top_k_run;
pub mod top_k_sample;

pub use self::staged_write::StagedWriteExec;
