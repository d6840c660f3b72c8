//! What a command runs in: signals, and what must be gone when it ends.

pub(crate) mod interrupt;
pub(crate) mod scratch;
