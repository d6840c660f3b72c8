//! Several ranges of an object by one GET: what is asked for, and the answer in parts
//! (`multipart/byteranges`, RFC 9110, section 14).
//!
//! S3 answers such a request with the whole object; a store that does better announces
//! [`Extension::ManyRanges`](crate::profile::Extension::ManyRanges).

mod asked;
mod parts;

pub use asked::{Asked, MAX_RANGES, header, header_bytes};
pub use parts::{Malformed, Parts, boundary_of, found};
