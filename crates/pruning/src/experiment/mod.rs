//! What the algorithms do, measured and compared.
//!
//! * [`check`](mod@check): whether a fast path is its program, register for register.
//! * [`sweep`]: an algorithm along an axis, over several seeds.
//! * [`trial`]: what one stream shows of an algorithm, beside the optimum ([`opt`]).
//! * [`table2`]: the paper's table of resources beside what the programs take, and what fits
//!   together.

mod axis;
pub mod check;
#[cfg(test)]
pub(crate) mod conformance;
#[cfg(test)]
mod measured;
pub mod opt;
pub(crate) mod question;
#[cfg(test)]
mod rates;
pub mod sweep;
pub mod table2;
pub mod trial;
