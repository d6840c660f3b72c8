//! Experiments with the algorithms: comparisons, measurements and resources.
//!
//! * [`check`](mod@check) compares a fast path with its program, register for register.
//! * [`master`] has the operators that complete a query at the master.
//! * [`route`] sends a stream in packets of several entries, or through a DISTINCT behind HAVING.
//! * [`sweep`] measures an algorithm along an axis, over several seeds.
//! * [`tree`] sends a stream through several switches.
//! * [`trial`] measures an algorithm on one stream, beside the optimum ([`opt`]).
//! * [`table2`] lists the paper's table of resources beside the needs of the programs, and the queries that fit
//!   together.

mod axis;
pub mod check;
#[cfg(test)]
pub(crate) mod conformance;
pub mod master;
#[cfg(test)]
mod measured;
pub mod opt;
pub(crate) mod question;
#[cfg(test)]
mod rates;
pub mod route;
pub mod sweep;
pub mod table2;
pub mod tree;
pub mod trial;
