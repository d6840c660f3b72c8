//! Keys of a join's build side, sent to the store: the answers stay those of DataFusion, and what
//! is sent is what was meant.

mod answers;
mod bloom_sql;
mod by_part;
mod compared;
mod faults;
mod grouped;
mod namesakes;
mod sent;
mod tpch;
mod transfer;
