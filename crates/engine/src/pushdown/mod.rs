//! From DataFusion's expressions to S3 Select: what a store can evaluate, and the statement that requests it.
//!
//! Reading order:
//!
//! 1. [`format`](mod@format): the format of a table's files, as requests describe it.
//! 2. [`predicate`]: physical expressions as S3 Select expressions, exact or as a superset.
//! 3. [`statement`]: the SELECT of a scan and the schema of its answer.
//! 4. [`terms`]: the operations that a statement causes in the store, for the cost model.
//! 5. [`dynamic_filters`] and [`float_bounds`]: filters whose values arrive at run time, and bounds of floats that no
//!    scan may rely on.
//!
//! This folder must not send requests. It must not use endpoints, indexes or scans.

pub(crate) mod dynamic_filters;
pub(crate) mod float_bounds;
pub(crate) mod format;
pub mod predicate;
pub(crate) mod statement;
pub(crate) mod terms;
