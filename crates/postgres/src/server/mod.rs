//! Connections and sessions.
//!
//! [`listener`] accepts connections, `handshake` begins their sessions, and `session` answers their messages.
//! `local` recognises the statements that the protocol itself answers: transactions, settings, cursors and COPY.
//! [`backend`] has the traits that an engine implements.

pub mod backend;
pub(crate) mod cancel;
pub(crate) mod copy;
pub(crate) mod handshake;
pub mod limits;
pub mod listener;
pub(crate) mod local;
pub(crate) mod portal;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod socket;
pub mod tls;

pub use self::settings::default_settings;
