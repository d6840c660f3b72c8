//! Generates the data sets and queries of the papers.
//!
//! * [`tpch`]: the eight tables of TPC-H, the 22 queries and the published answers.
//! * [`tpcds`]: the 24 tables of TPC-DS and the 99 queries.
//! * [`bigdata`]: the two tables of the Big Data benchmark and Cheetah's seven queries over them.
//! * [`pushdowndb`]: the ten items of PushdownDB's Figure 10, and the tables of its micro-benchmarks.
//!
//! [`generate()`] streams a data set into any [`object_store::ObjectStore`], at any scale.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use object_store::{ObjectStoreExt, memory::InMemory};
//! use sluicegate_workloads::tpch;
//!
//! let store = InMemory::new();
//! let request = tpch::Generate {
//!     scale: 0.001,
//!     tables: vec![tpch::Table::Nation, tpch::Table::Region],
//!     ..tpch::Generate::default()
//! };
//! let written = tpch::generate(&request, &store, &|_| ()).await.unwrap();
//! assert_eq!(written[0].path.as_ref(), "tpch/sf0.001/csv/nation/nation.00.csv");
//! assert_eq!(written[0].rows, 25);
//! assert_eq!(store.head(&written[0].path).await.unwrap().size, written[0].bytes);
//! # });
//! ```

pub mod bigdata;
mod error;
mod generate;
mod numbered;
pub mod pushdowndb;
mod random;
mod table;
pub mod tpcds;
pub mod tpch;
mod upload;

pub use error::Error;
pub use generate::{Compression, Format, Generate, PartProgress, WrittenObject, generate};
pub use table::{DataTable, Share};
pub use upload::{PartWriter, aborted};
