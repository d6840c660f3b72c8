//! The environment of a command: threads, signals, temporary files and the terminal.

pub(crate) mod cleanup;
pub(crate) mod compute;
pub(crate) mod cpu;
pub(crate) mod disk_space;
pub(crate) mod file_size;
pub(crate) mod folders;
pub(crate) mod hangup;
pub(crate) mod input;
pub(crate) mod interrupt;
pub(crate) mod scratch;
pub(crate) mod signals;
pub(crate) mod terminal;
