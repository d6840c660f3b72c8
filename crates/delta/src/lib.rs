//! Reads the log of Delta tables.
