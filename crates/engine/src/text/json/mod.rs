//! JSON as text.
//!
//! [`layout`] detects whether records are lines. [`columns`] infers the columns, in the [`order`] of the file, and
//! [`rows`] parses them. [`records`] finds the records of a file for indexes. [`bom`] and [`surrogate_pairs`] change
//! bytes before they are parsed. [`integers`] and [`undeclared_keys`] detect values and keys that the inferred
//! columns lack.

pub(crate) mod bom;
pub(crate) mod columns;
pub(crate) mod integers;
pub(crate) mod layout;
pub(crate) mod order;
pub(crate) mod records;
pub(crate) mod rows;
pub(crate) mod surrogate_pairs;
pub(crate) mod undeclared_keys;
