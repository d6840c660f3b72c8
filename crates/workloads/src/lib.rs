//! The papers' data sets and queries, generated.
//!
//! [`tpch`] streams the eight tables of TPC-H into any [`object_store::ObjectStore`], at any scale,
//! and has the 22 queries and the published answers.
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

mod error;
pub mod tpch;
mod upload;

pub use error::Error;
