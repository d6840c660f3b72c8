//! Questions to a store that speaks S3 Select, with the right answers.
//!
//! [`table`] is what S3 Select documents, case by case: it finds where a store deviates.
//! [`probe`] asks what a store can do at all, and turns the answers into an
//! [`EndpointProfile`](sluicegate_s3select::profile::EndpointProfile).
//!
//! Both are plain data with a judge beside them. Nothing here sends a request: a client, a
//! server's tests and the evaluator's tests each ask in their own way and hand in a
//! [`RawAnswer`] or the reason why there is [`NoAnswer`].

mod answer;
pub mod probe;
pub mod table;

pub use self::answer::{NoAnswer, RawAnswer};
