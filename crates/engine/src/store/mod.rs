//! Endpoints and objects: connections, object-store layers, staged writes, and counters per query.
//!
//! Reading order:
//!
//! 1. [`endpoint`], [`endpoint_builder`], [`endpoints`]: a connected store, and the buckets that each store serves.
//! 2. [`registry`]: object stores for S3 buckets, created on first use, with every request counted
//!    ([`query_counters`], [`metrics`]).
//! 3. Layers around an object store: [`version_pinned_store`], [`checksum_store`] with [`checksum`],
//!    [`stall_timeout`], [`conditional_reads`] and [`conditional_writes`].
//! 4. Special requests and answers: [`ranges`], [`multi_range_get`], [`invalid_response`], [`no_redirects`],
//!    [`refusal_probe`], [`unnameable_keys`].
//! 5. [`staging`]: objects that become visible together when a statement succeeds. [`local`]: files of this machine.
//! 6. [`chooser`]: predicts the strategies of an operator over an endpoint and picks the best.
//!
//! This folder must not use indexes, scans or statistics. Callers pass plain numbers to the chooser.

pub(crate) mod checksum;
pub(crate) mod checksum_store;
pub(crate) mod chooser;
pub(crate) mod conditional_reads;
pub(crate) mod conditional_writes;
pub(crate) mod endpoint;
pub(crate) mod endpoint_builder;
pub mod endpoints;
pub(crate) mod invalid_response;
pub(crate) mod local;
pub(crate) mod metrics;
pub(crate) mod multi_range_get;
pub(crate) mod no_redirects;
pub(crate) mod query_counters;
pub(crate) mod ranges;
pub(crate) mod refusal_probe;
pub(crate) mod registry;
pub mod staging;
pub(crate) mod stall_timeout;
pub(crate) mod unnameable_keys;
pub(crate) mod version_pinned_store;
