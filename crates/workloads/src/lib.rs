//! The papers' data sets and queries, generated.
