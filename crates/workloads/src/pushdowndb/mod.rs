//! The ten items of Figure 10 of PushdownDB (ICDE 2020), and the tables of its micro-benchmarks.
//!
//! Nine are over TPC-H, six of them queries of TPC-H with the authors' parameters. The group-by is over
//! [`Table::Skewed`], whose scale factor is that of TPC-H: the paper's 64 million rows are scale 10, about 10 GB,
//! like its lineitem. Numbers to be added are decimals, so that sums do not depend on the order of rows.

mod item;
mod table;

pub use self::item::{ITEMS, Item, Operator, TPCH_TABLES};
pub use self::table::{Table, UnknownTable};
pub use crate::bigdata::Seed;

/// A request to generate tables.
pub type Generate = crate::Generate<Table>;
/// A part of an object that has arrived in the store.
pub type ProgressFn = crate::PartProgress<Table>;
/// An object that was written.
pub type WrittenObject = crate::WrittenObject<Table>;
