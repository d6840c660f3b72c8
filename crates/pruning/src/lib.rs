//! Bit-exact models of a programmable switch that drops rows a query does not need.

pub mod rng;
