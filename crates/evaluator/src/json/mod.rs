//! Reads JSON objects: a sequence of values. Each value is a row, or contains the rows that the path of FROM leads
//! to.
//!
//! Most statements read a few fields of rows that are objects, and need no parsed values. Brackets and commas outside
//! of strings are found 64 bytes at a time ([`structure`], [`simd`]), and the fields among them by their names
//! ([`objects`]). A column is parsed when an expression reads it: as integers, decimals or texts in the block, if all
//! its values have that type ([`batch`]).
//!
//! A row is parsed as a whole ([`parser`]) if it is not an object, repeats a requested name, has large requested
//! fields or looks malformed. All rows are parsed if the statement reads them whole (`*`, `SELECT s`), or if the path
//! of FROM continues within a line.
//!
//! Values take a multiple of the memory of their text, so a batch has only as many rows as fit, and the memory of one
//! row is limited ([`reader`]).
//!
//! # Errors
//!
//! Bytes that are parsed must be JSON (RFC 8259) in UTF-8. An error comes after the rows before it. Other bytes are
//! checked less, so that they need not be read one by one:
//!
//! * always: every string ends (within its line, if values are lines), no backslash is outside of a string, brackets
//!   match, nest at most 128 levels and enclose the whole value, and the line or value is not too long;
//! * if the statement names any field: also each name in the row itself, the colon after it, and that something
//!   follows before the next comma;
//! * if an expression reads a field of a row: its value.
//!
//! For example, `{"a":1,"b":01}` is an error for `SELECT s.b`, but not for `SELECT s.a`. SQL determines which rows'
//! fields are read: the right side of an AND is not evaluated if the left side is false.

mod batch;
mod descent;
mod names;
mod objects;
mod parser;
mod path;
mod reader;
mod schema;
mod simd;
mod structure;

pub(super) use reader::JsonReader;
#[cfg(test)]
use reader::ValueBudget;

#[cfg(test)]
mod consistency;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod tests;
