//! Questions to a store that supports S3 Select, with the right answers.
//!
//! [`table`] holds what S3 Select documents, case by case. It shows where a store deviates. [`probe`] finds out what
//! a store supports, and converts the answers into a
//! [`StoreCapabilities`](sluicegate_s3select::capabilities::StoreCapabilities).
//!
//! Both are plain data with code that judges answers. This crate sends no requests: a client, the server's tests and
//! the evaluator's tests each send them in their own way, and pass on a [`RawAnswer`] or the reason why there is
//! [`NoAnswer`].

mod answer;
pub mod probe;
pub mod table;

pub use self::answer::{NoAnswer, RawAnswer};
