//! Computational storage: what drives that scan, filter and project would save a query that has run.
//!
//! The model of "Modeling Analytics for Computational Storage" (ICPE 2020): a query is a graph of
//! stages, each of which starts when those before it are over. A [`Device`] takes scan, filter and
//! project (S/F/P) off the stages that read tables; the query then takes as long as the graph of what is
//! left.
//!
//! * A [`StageGraph`] is what was measured. Its [Scan Ratio](StageGraph::scan_ratio) ranks queries; it
//!   is no bound, so it stands beside numbers that are.
//! * A [`Formula`] says what is left of a stage: as the authors meant it, or as it is printed.
//! * A [`Schedule`] is the graph in time, with as many stages at once as there are slots; its critical
//!   path is the shortest that any number of slots allows.
//! * [`estimate`] puts these together: before, after, and the speed-up within its bounds.
//! * [`roofline`] (of stages: [`roofline_of`]) and [`Quadrant`] say which of a set of queries are worth a closer look.

mod device;
mod estimate;
mod graph;
mod roofline;
mod schedule;

pub use device::{Device, Setup};
pub use estimate::{Estimate, EstimatedStage, Formula, estimate};
pub use graph::{Stage, StageError, StageGraph};
pub use roofline::{Quadrant, Roofline, roofline, roofline_of};
pub use schedule::{Schedule, Slots, schedule};
