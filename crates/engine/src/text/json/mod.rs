//! json.

pub(crate) mod bom;
pub(crate) mod columns;
pub(crate) mod integers;
pub(crate) mod layout;
pub(crate) mod order;
pub(crate) mod records;
pub(crate) mod rows;
pub(crate) mod surrogate_pairs;
pub(crate) mod undeclared_keys;
