//! Decides which S3 Select statements a store answers with the indexes of an object. A server follows these rules,
//! and an engine uses them to predict its answers.
//!
//! | file | contents |
//! |---|---|
//! | [`input`] | the indexes that apply to the object as a request reads it |
//! | [`condition`] | from WHERE to ranges of keys |
//! | [`budget`] | when a scan of the whole object is cheaper |

pub mod budget;
pub mod condition;
pub mod input;
