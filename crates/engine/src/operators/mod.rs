//! Physical operators of Sluicegate, one per file.
//!
//! | operator | work |
//! |---|---|
//! | [`s3_aggregate`] | aggregates that the store computes |
//! | [`s3_group_by`] | aggregates by group that the store computes |
//! | [`top_k_sample`] | ORDER BY … LIMIT that bounds its scan by a sample |
//! | [`switch_exec`] | the switch of a query, above all operators that cross it |
//! | [`switch_prune`], [`switch_drain`] | the rows that cross the switch, and the groups that it holds |
//! | [`StagedWriteExec`] | writes that become visible only if all of them succeed |
//!
//! [`sampling`] plans and runs samples, and `top_k_run` searches within their bounds. [`switch`] configures the
//! switch; `switch_crossing`, `switch_run` and `switch_snapshot` run it. [`partial_state`] converts the answers of a
//! store to states of aggregates. `explicit_nulls`, `one_batch` and `partitioned_sink` change what the sinks below a
//! [`StagedWriteExec`] write. [`skyline`] is the SQL function of SKYLINE OF.
//!
//! An operator must not decide whether it is used: the folder `optimizer` does, and this folder must not use it.

pub(crate) mod arrow_sink;
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
