//! Computational storage: estimates what drives that scan, filter and project would save a query that has run.
//! Drives that also aggregate or drop rows without a match are a what-if.
//!
//! This is the model of "Modeling Analytics for Computational Storage" (ICPE 2020). A query is a graph of stages,
//! each of which starts when those before it are finished. A [`Device`] takes scan, filter and project (S/F/P) off
//! the stages that read tables; the query then takes as long as the graph of the remaining work.
//!
//! * A [`StageGraph`] holds the measurements. Its [Scan Ratio](StageGraph::scan_ratio) ranks queries; it is not a
//!   bound, so it is shown beside numbers that are.
//! * [`Offloads`] are the operations that a device takes from the host.
//! * A [`Formula`] gives the remaining time of a stage: as the authors intended it, or as it is printed.
//! * A [`Schedule`] is the graph in time, with a limited number of stages at once. Its critical path is the shortest
//!   time that any number of slots allows.
//! * [`estimate`] combines these: before, after, and the speed-up with its bounds.
//! * [`roofline`] (of stages: [`roofline_of`]) and [`Quadrant`] select the queries that are worth a closer look.

mod device;
mod estimate;
mod graph;
mod offload;
mod operators;
mod roofline;
mod schedule;
mod stage;

pub use device::{Device, Setup};
pub use estimate::{Estimate, EstimatedStage, Formula, estimate};
pub use graph::StageGraph;
pub use offload::{Offloads, Operation, SemiJoin};
pub use operators::{OperatorCounts, OperatorKind};
pub use roofline::{Quadrant, Roofline, roofline, roofline_of};
pub use schedule::{Schedule, Slots, schedule};
pub use stage::{ScannedTable, Stage, StageError};
