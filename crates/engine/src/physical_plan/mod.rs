//! Our own operators, one per file.

pub mod s3_aggregate;
pub mod switch_note;
pub mod switch_prune;
mod switch_run;
