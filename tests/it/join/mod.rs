//! Keys of a join's build side are sent to the store: the answers equal those of DataFusion, and the statements are
//! as planned.

mod answers;
mod bloom_sql;
mod by_range;
mod compared;
mod faults;
mod grouped;
mod namesakes;
mod pushed_keys;
mod tpch;
mod transferred_keys;
