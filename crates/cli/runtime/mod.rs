//! What a command runs in: threads, signals, and what must be gone when it ends.

pub(crate) mod compute;
pub(crate) mod interrupt;
pub(crate) mod scratch;
pub(crate) mod terminal;
