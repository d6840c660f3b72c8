//! The environment of a command: threads, signals, temporary files and the terminal.
//!
//! - `compute` runs queries on their own threads. `cpu` measures the CPU time.
//! - `signals` receives signals, and `interrupt` and `hangup` react to them. `stdin` waits for the end of the input.
//! - `folders`, `scratch` and `cleanup` manage the program's folders. `disk_space` and `file_size` check limits
//!   before a command writes, and `input` opens files that the user names.
//! - `program` is the executable, which some commands start again.
//! - [`terminal`] has the terminal's width and settings.

pub(crate) mod cleanup;
pub(crate) mod compute;
pub(crate) mod cpu;
pub(crate) mod disk_space;
pub(crate) mod file_size;
pub(crate) mod folders;
pub(crate) mod hangup;
pub(crate) mod input;
pub(crate) mod interrupt;
pub(crate) mod program;
pub(crate) mod scratch;
pub(crate) mod signals;
pub(crate) mod stdin;
pub(crate) mod terminal;
