//! json.

pub(crate) mod bom;
pub(crate) mod columns;
pub mod integers;
pub(crate) mod layout;
pub(crate) mod order;
pub mod records;
pub(crate) mod rows;
pub(crate) mod surrogate_pairs;
pub(crate) mod undeclared_keys;
