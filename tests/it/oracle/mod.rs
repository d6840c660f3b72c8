//! Statements and the answers of DuckDB, which shares no code with this engine.

mod compare;
mod driver;
mod inputs;
mod replay;
mod sessions;
