//! Endpoints and objects: connections, object-store layers, staged writes, and counters per query.
//!
//! 1. [`endpoint`], [`endpoint_builder`], [`endpoints`]: a connected store and the buckets that each store serves.
//! 2. [`registry`]: DataFusion's object stores for S3 buckets, created on first use, with every request counted.
//! 3. Layers around an object store: [`version_pinned_store`], [`checksum_store`], [`stall_timeout`], [`misanswer`].
//! 4. [`staging`]: objects that become visible together when a statement succeeds; [`local`]: files of this machine.
//!
//! This folder knows bytes and requests, not scans or plans.

pub(crate) mod checked;
pub(crate) mod checksum;
pub mod chooser;
pub(crate) mod conditional_writes;
pub(crate) mod direct;
pub(crate) mod endpoint;
pub(crate) mod endpoint_builder;
pub mod endpoints;
pub(crate) mod local;
pub mod many_ranges;
#[doc(hidden)]
pub mod metrics;
pub(crate) mod misanswer;
pub(crate) mod object_names;
pub(crate) mod one_version;
pub mod pinned;
pub(crate) mod query_counters;
pub(crate) mod ranges;
pub mod registry;
pub(crate) mod silence;
pub mod staging;
pub(crate) mod why_refused;
