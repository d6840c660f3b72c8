//! From the keys of a join's build side to what a scan of its other side asks the store.
//!
//! DataFusion's joins tell their probe side what they found on the build side, in a filter that
//! arrives while the query runs. It has bounds, and as long as the build side is small enough the
//! keys themselves (our sessions raise what is small enough). [`Keys::of`] reads them off the filter,
//! or they are counted out ([`Countable`]) if that is expected to pay ([`ExpectedKeys`]), and `ask` makes
//! of them the cheapest condition that the store takes. Either may only be weaker than the filter: the
//! join sees the rows again. Keys that are too many for one statement may still be few enough for each
//! part of a file: `by_part`.

use datafusion::common::DataFusionError;
use tokio::task::JoinError;

mod ask;
mod asked_column;
mod at_open;
pub mod bloom;
mod by_part;
mod counted;
mod decide;
mod expected;
mod extract;
mod hashing;
mod look;
mod lossless;
mod ordered;
mod said;
mod sent;

pub use self::ask::{Asking, Form, KeysByColumn, Spans, ask};
pub use self::at_open::{KeysAtOpen, Opening};
pub use self::by_part::{ByPart, Expected};
pub use self::counted::Countable;
pub use self::decide::{Decided, decide};
pub use self::expected::ExpectedKeys;
pub(crate) use self::expected::LISTED_KEYS;
pub use self::extract::{ColumnKeys, Keys};
pub use self::hashing::Hashing;
pub use self::look::{Looking, look_bytes};
pub use self::ordered::{OrderedKeys, Span, Split};
pub use self::said::{KeysSaid, asked_about_keys};
pub use self::sent::{Likely, Sent};

/// A task that was stopped with its runtime.
fn gone(error: JoinError) -> DataFusionError {
    DataFusionError::ExecutionJoin(Box::new(error))
}
