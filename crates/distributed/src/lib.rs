//! The engine's plans on several machines.
//!
//! A coordinator plans as ever; then [`Cluster`] cuts the plan into stages, by datafusion-distributed, and
//! each [`Worker`] runs its share of a stage: of the files and parts of files of a scan, about as many bytes
//! as the others. What workers ask of the stores counts as the query's, and their errors read as they do on
//! one machine. Plans carry names of endpoints and no credentials: workers have their own.
//!
//! Nothing of a cluster is ours but what stages cannot know: how a scan is divided (`leaves.rs`), where rows of
//! all workers have to meet (`gather.rs`), that rows which a switch drops do so in one process (`switch.rs`), that keys of joins do not cross from one stage to
//! another (`keys.rs`), and who may send plans (`token.rs`).

mod channels;
mod cluster;
mod coordinator;
mod counts;
mod draining;
mod gather;
mod identity;
mod keys;
mod leaves;
mod planner;
mod settings;
mod subqueries;
mod switch;
mod token;
mod uncarried;
mod worker;

pub use self::cluster::{Cluster, ClusterError};
pub use self::token::Token;
pub use self::worker::{Worker, WorkerError};

/// What a coordinator and its workers must agree on: plans of another version may mean something else.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};

/// A node over other inputs.
fn over(
    node: Arc<dyn ExecutionPlan>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    node.replace_children(inputs, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}
