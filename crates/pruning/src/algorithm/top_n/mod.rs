//! `ORDER BY value DESC LIMIT n`: drop an entry once `n` greater ones were forwarded.
//!
//! [`deterministic`] always keeps the answer, with doubling cutoffs. [`randomized`] keeps it with probability at
//! least 1 − δ, with a matrix of rolling maxima, and prunes far more. For `ORDER BY … ASC`, workers send complemented
//! codes.

pub mod deterministic;
mod entry;
pub mod plan;
mod question;
pub mod randomized;

pub(crate) use entry::{DETERMINISTIC, RANDOMIZED};
