//! JSON objects: values one after the other, a row for each, or for each value that the path of
//! FROM leads to in them.
//!
//! A statement mostly wants some fields of rows that are objects. Then no values are made: brackets
//! and commas outside of strings are found 64 bytes at a time ([`structure`], [`simd`]), fields
//! among them by their names ([`objects`]), and a column is parsed when an expression asks for it,
//! as integers, decimals or texts in the block if all its values are ([`batch`]). Rows that are no
//! objects, repeat a wanted name, have large wanted fields or look wrong are parsed ([`parser`]), and
//! so are all rows where the statement wants them whole (`*`, `SELECT s`), or the path of FROM leads
//! on from a line.
//!
//! Values take many times as much memory as their text: a batch has as few rows as they need, and
//! what one row may take is bounded ([`reader`]).
//!
//! # What is an error
//!
//! What is parsed must be JSON (RFC 8259) in UTF-8; an error comes after the rows before it.
//!
//! Of what is not parsed less is looked at, so that it need not be read byte by byte:
//!
//! * always: that every string ends, in its line where values are lines, that no backslash stands
//!   outside of one, that brackets close each other, nest at most 128 levels and hold all of the
//!   value, and the length of a line or value;
//! * if the statement names any field: also each name of the row itself, with the colon behind it,
//!   and that something is between that and the next comma;
//! * when an expression asks for a field in a row: its value.
//!
//! So `{"a":1,"b":01}` is an error in `SELECT s.b`, and in `SELECT s.a` it is not. Whether a row's
//! field is asked for is as SQL says: not on the right of an AND that is false on the left.

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
use reader::Room;

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod tests;
