//! What only researchers need of the engine; no SQL query uses it.
//!
//! - [`stages`] measures the stages of a plan, for models of computational storage (ICPE'20).
//! - [`model_tables`] runs a query over tables that those models describe.
//! - `operators` names the kinds of operators, which both count.

pub mod model_tables;
mod operators;
pub mod stages;
