//! Running the engine's plans on several machines.
//!
//! The coordinator plans a query as usual. Then [`Cluster`] cuts the plan into stages, using datafusion-distributed,
//! and each [`Worker`] runs its share of a stage. A scan's files, and parts of large files, are divided so that each
//! worker reads about the same number of bytes. The requests of workers to stores are added to the query's counts,
//! and errors read as they do on one machine. A plan contains the names of endpoints and no credentials: each worker
//! has its own.
//!
//! datafusion-distributed runs the stages. This crate adds what it does not cover:
//!
//! - `planner.rs` decides whether a query runs in stages; start reading here.
//! - `cluster.rs` and `coordinator.rs` are the coordinator's side, `worker.rs` is the worker's.
//! - `leaves.rs` divides scans.
//! - `coalesce.rs` inserts nodes where the rows of all workers must meet.
//! - `switch.rs` runs a switch and the rows that it drops in one process.
//! - `keys.rs` removes join filters that would cross stages.
//! - `unserializable.rs` and `subqueries.rs` find the plans that cannot be sent to workers unchanged.
//! - `worker_counts.rs` and `settings.rs` carry request counts to the coordinator, and options to the workers.
//! - `channels.rs` opens connections, and `token.rs` checks who may send plans. `identity.rs` holds what a worker
//!   reports about itself.
//! - `draining.rs` lets running queries finish when a worker stops.

mod channels;
mod cluster;
mod coalesce;
mod coordinator;
mod draining;
mod identity;
mod keys;
mod leaves;
mod planner;
mod settings;
mod subqueries;
mod switch;
mod token;
mod unserializable;
mod worker;
mod worker_counts;

pub use self::cluster::{Cluster, ClusterError};
pub use self::token::Token;
pub use self::worker::{Worker, WorkerError};

/// The version that a coordinator and its workers must share. Another version may read the same plan differently.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};

/// Returns the node with other inputs.
fn over(
    node: Arc<dyn ExecutionPlan>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    node.replace_children(inputs, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}
