//! Statements and the answers that DuckDB gives, which shares no code with this engine.

mod compare;
mod driver;
mod inputs;
mod replay;
mod sessions;
