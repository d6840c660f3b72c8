//! Predicts the time and the dollars a plan will take, from plain numbers.
//!
//! Nothing here sees a plan, does I/O, reads a clock or fails (reading a price file excepted), so
//! every result can be checked with pencil and paper. The engine walks its plan and fills in the numbers:
//!
//! * [`Work`] is what was done, or will be: requests by kind, bytes, time. It adds up, and a
//!   [`PriceBook`] turns it into a [`Cost`], term by term.
//! * [`Phase`]s are what a strategy asks for; [`Steps`] say which of them follow each other and
//!   which overlap. A [`HardwareProfile`] turns them into a [`Prediction`] of time, and they add up
//!   to the [`Work`] they predict. The [`Resource`]s that they keep busy are an open set.
//! * [`choose`] compares strategies by an [`Objective`] and keeps what it rejected, for EXPLAIN.
//!   [`ScanDemand`] describes a scan and offers its two strategies, GET and S3 Select;
//!   [`TopKDemand`] its best rows, for which a sample may pay; [`SwitchDemand`] rows that workers send
//!   to a master, for which a switch may pay.
//! * [`simulation`] follows each request of the same steps instead: latencies that scatter, requests that
//!   are refused, stragglers, a master behind a switch.
//! * A [`Scenario`] has hardware and prices with every constant under its name, to change one and ask again.
//!   [`what_if`] reads such changes from text, and axes of them; [`pareto`] keeps what is fast or cheap;
//!   [`uncertainty`] turns what is known of the constants into intervals of predictions, and says which of
//!   them matter.
//! * [`calibration`] finds the constants of a hardware profile from experiments.
//! * [`completion`] says when a query through Cheetah's switch is complete, as its figures 5 to 9 show.
//! * [`break_even`] answers "when does it pay at all" without any of the above.
//!
//! Units are in the types ([`Bytes`], [`Rows`], [`Requests`], [`Dollars`], [`BytesPerSecond`],
//! [`std::time::Duration`]); what a number rests on is its [`Provenance`].
//!
//! ```
//! use sluicegate_costmodel::{
//!     Bytes, Format, HardwareProfile, Objective, PriceBook, Rows, ScanDemand, ScanStrategy, Terms,
//! };
//!
//! // A selective filter over TPC-H's lineitem at scale factor 10.
//! let scan = ScanDemand {
//!     objects: 96,
//!     format: Format::Csv,
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
mod scanned;
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
pub use phase::{Format, Phase, PhaseTime};
pub use prices::{ComputePrice, PriceBook, RequestPrices, SelectPrices, TransferPrices};
pub use provenance::{Provenance, Sourced};
pub use quantity::{Bytes, Dollars, ParseQuantityError, Requests, Rows};
pub use rate::BytesPerSecond;
pub use resource::{Resource, Use};
pub use scan::{LookedUp, ScanDemand, ScanStrategy, answered};
pub use scanned::Scanned;
pub use scenario::{ConstantError, Scenario};
pub use steps::{Prediction, Steps, predict};
pub use switch::{Crossing, Flow, SwitchDemand};
pub use terms::Terms;
pub use top_k::TopKDemand;
pub use work::{RequestCounts, Work};
