//! From DataFusion's expressions to S3 Select: what a store can evaluate, and the statement that asks for it.
//!
//! 1. [`format`]: a table's files as S3 Select sees them.
//! 2. [`predicate`]: physical expressions as S3 Select expressions, exact or as a superset.
//! 3. [`statement`]: the SELECT of a scan and the schema of its answer.
//! 4. [`terms`]: the operations that a statement makes the store evaluate, for the cost model.
//!
//! Nothing here sends a request.

pub(crate) mod dynamic_filters;
pub(crate) mod float_bounds;
pub(crate) mod format;
pub mod predicate;
pub(crate) mod statement;
pub(crate) mod terms;
