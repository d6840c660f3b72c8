//! Predicts the time and the dollars that a plan will take, from plain numbers.
//!
//! The crate has no plans, no I/O and no clock, and nothing fails except parsing a data file. You can check every
//! result with pencil and paper. The engine walks its plan and fills in the numbers.
//!
//! Read in this order:
//!
//! * [`Work`] counts what was done or will be done: requests by kind, bytes, time. Works add up, and a
//!   [`PriceBook`] turns a work into a [`Cost`], term by term.
//! * A [`Phase`] is one step of a strategy. [`Steps`] order phases: one after the other, or at the same time. A
//!   [`HardwareProfile`] turns steps into a [`Prediction`] of time, and they add up to the [`Work`] that they
//!   predict. The [`Resource`]s that phases keep busy are an open set.
//! * [`choose`] compares strategies by an [`Objective`] and keeps the rejected ones for EXPLAIN. [`ScanDemand`]
//!   describes a scan with its two strategies, GET and S3 Select. [`TopKDemand`] describes a top-K, for which a
//!   sample may pay. [`SwitchDemand`] describes rows that workers send to a master, for which a switch may pay.
//! * [`simulation`] follows each request of the same steps, with latency jitter, refused requests, stragglers, and a
//!   master behind a switch.
//! * A [`Scenario`] holds hardware and prices with every constant under a name, so that a prediction can be repeated
//!   with one of them changed. [`what_if`] parses such changes and axes of them. [`pareto`] keeps the strategies
//!   that are fast or cheap. [`uncertainty`] turns intervals of the constants into intervals of predictions, and
//!   finds the constants that matter.
//! * [`calibration`] fits the constants of a hardware profile to experiments.
//! * [`completion`] predicts the completion time of a query through Cheetah's switch (its figures 5 to 9).
//! * [`storage`] estimates what computational storage would save a query that has run.
//! * [`validation`] compares predictions with measurements.
//! * [`break_even`] has closed formulas for when a strategy starts to pay, without any of the above.
//!
//! Units are in the types ([`Bytes`], [`Rows`], [`Requests`], [`Dollars`], [`BytesPerSecond`],
//! [`std::time::Duration`]); the source of a number is its [`Provenance`].
//!
//! ```
//! use sluicegate_costmodel::{
//!     AnswerFormat, Bytes, Format, HardwareProfile, Objective, PriceBook, Rows, ScanDemand,
//!     ScanStrategy, Terms,
//! };
//!
//! // A selective filter over TPC-H's lineitem at scale factor 10.
//! let scan = ScanDemand {
//!     objects: 96,
//!     format: Format::Csv,
//!     answer: AnswerFormat::Csv,
//!     needed: Bytes(7_775_727_688),
//!     gaps: Bytes::ZERO,
//!     rows: Rows(59_986_052),
//!     looked_up: None,
//!     terms: 2.into(), // two comparisons per row
//!     passing: 0.01,
//!     items: Terms::NONE,
//!     constants: 0,
//!     selectivity: 1e-5,
//!     columns: 16,
//!     filter_columns: 0,
//!     bytes_per_returned_row: 130.0,
//!     footers: 0.into(),
//!     get_requests: 960.into(),
//!     gets_at_once: None,
//!     select_requests: Some(96.into()),
//!     selects_at_once: None,
//! };
//! let (hardware, prices) = (HardwareProfile::paper(), PriceBook::paper());
//!
//! let fastest = scan.choose(hardware, prices, Objective::Time);
//! assert_eq!(fastest.chosen.strategy, ScanStrategy::Select);
//!
//! let cheapest = scan.choose(hardware, prices, Objective::Dollars);
//! assert_eq!(cheapest.chosen.strategy, ScanStrategy::Get);
//! assert!(cheapest.chosen.cost.total() < fastest.chosen.cost.total());
//! ```

pub mod break_even;
pub mod calibration;
mod choice;
pub mod completion;
mod constants;
mod cost;
mod data;
mod gap;
mod hardware;
mod hardware_text;
mod objective;
mod pareto;
mod phase;
mod prices;
mod provenance;
mod quantity;
mod random;
mod rate;
mod resource;
mod scan;
mod scan_work;
mod scenario;
pub mod simulation;
mod steps;
pub mod storage;
mod switch;
mod terms;
mod top_k;
pub mod uncertainty;
pub mod validation;
pub mod what_if;
mod work;

pub use choice::{ALIKE, Alternative, Candidate, Choice, choose, rechoose};
pub use cost::Cost;
pub use data::DataError;
pub use gap::{RANGE_BYTES, gap, gap_among};
pub use hardware::{ClientRates, HardwareProfile, Link, RequestLimits, SelectRates};
pub use hardware_text::Constant;
pub use objective::{Objective, ParseObjectiveError};
pub use pareto::pareto;
pub use phase::{AnswerFormat, Format, Phase, PhaseTime};
pub use prices::{ComputePrice, PriceBook, RequestPrices, SelectPrices, TransferPrices};
pub use provenance::{Provenance, Sourced};
pub use quantity::{Bytes, Dollars, ParseQuantityError, Requests, Rows};
pub use rate::BytesPerSecond;
pub use resource::{Resource, ResourceUse};
pub use scan::{IndexedShare, ScanDemand, ScanStrategy, answered};
pub use scan_work::ScanWork;
pub use scenario::{ConstantError, Scenario};
pub use steps::{Prediction, Steps, predict};
pub use switch::{Crossing, Flow, SwitchDemand};
pub use terms::Terms;
pub use top_k::TopKDemand;
pub use work::{RequestCounts, Work};
