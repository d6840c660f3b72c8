//! The names of strategies, which name the series of all charts.

pub(super) const SERVER: &str = "server-side";
pub(super) const S3: &str = "S3-side";
pub(super) const INDEX: &str = "index";
pub(super) const BASELINE: &str = "baseline";
pub(super) const FILTERED: &str = "filtered";
pub(super) const BLOOM: &str = "Bloom";
pub(super) const HYBRID: &str = "hybrid";
pub(super) const SAMPLING: &str = "sampling";
pub(super) const PUSHDOWN: &str = "pushdown";
