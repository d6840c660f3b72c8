//! The S3 Select dialect: one `SELECT` over one object.

pub mod ast;
