//! The bytes on the wire: packets, messages and the exchange of SCRAM.
//!
//! [`startup`] reads the first packet of a connection, and [`frontend`] the messages after it. [`backend`] writes
//! answers. [`scram`] checks passwords. Nothing here reads from a socket or allocates more than a message needs.

pub mod backend;
pub mod fields;
pub mod frontend;
pub mod scram;
pub mod startup;
