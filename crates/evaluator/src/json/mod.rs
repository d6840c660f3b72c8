//! JSON objects: values one after the other, a row for each, or for each value that the path of
//! FROM leads to in them.

mod descent;
mod parser;
mod path;
mod reader;
mod schema;

pub(super) use reader::JsonReader;

#[cfg(test)]
mod tests;
