//! Keys of a join's build side are sent to the store: the answers equal those of DataFusion, and the statements are
//! as planned.

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
