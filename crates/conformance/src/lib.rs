//! Questions to a store that speaks S3 Select, with the right answers.
//!
//! [`table`] holds what S3 Select documents, case by case; it shows where a store deviates.
//! [`probe`] finds out what a store supports, and turns the answers into an
//! [`EndpointProfile`](sluicegate_s3select::profile::EndpointProfile).
//!
//! Both are plain data with code that judges answers. Nothing here sends a request: a client, the
//! server's tests and the evaluator's tests each ask in their own way, and pass on a [`RawAnswer`] or
//! the reason why there is [`NoAnswer`].

mod answer;
pub mod probe;
pub mod table;

pub use self::answer::{NoAnswer, RawAnswer};
