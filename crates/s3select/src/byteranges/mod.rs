//! Several ranges of an object in one GET: the request's `Range` header and the answer in parts
//! (`multipart/byteranges`, RFC 9110, section 14).
//!
//! S3 answers such a request with the whole object. A store that sends only the ranges announces
//! [`Extension::ManyRanges`](crate::capabilities::Extension::ManyRanges).

mod multipart;
mod range_header;

pub use multipart::{MalformedMultipart, MultipartBody, boundary_of, found};
pub use range_header::{MAX_RANGES, RangeHeader, header, header_bytes};
