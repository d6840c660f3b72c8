//! json.

pub(crate) mod byte_order_mark;
pub(crate) mod columns;
pub(crate) mod layout;
pub(crate) mod order;
pub mod records;
pub(crate) mod rows;
pub(crate) mod surrogate_pairs;
pub(crate) mod undeclared_keys;
pub mod whole_numbers;
