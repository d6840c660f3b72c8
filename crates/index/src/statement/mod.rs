//! Which statements of S3 Select a store answers by the indexes of an object: the rules that a server
//! follows, and that an engine predicts it by.
//!
//! | file | holds |
//! |---|---|
//! | [`input`] | which indexes are about the object as a request reads it |
//! | [`condition`] | from WHERE to ranges of keys |
//! | [`budget`] | how much may be read before it is better to read the whole object |

pub mod budget;
pub mod condition;
pub mod input;
