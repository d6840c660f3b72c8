//! From the keys of a join's build side to what a scan of its other side asks the store.
//!
//! DataFusion's joins tell their probe side what they found on the build side, in a filter that
//! arrives while the query runs. It has bounds, and as long as the build side is small enough the
//! keys themselves (our sessions raise what is small enough). [`Keys::of`] reads them off the filter,
//! `ask` makes of them the cheapest condition that the store takes. Either may only be weaker
//! than the filter: the join sees the rows again.

mod ask;
mod at_open;
pub mod bloom;
mod decide;
mod extract;
mod lossless;

pub use self::ask::{Asking, Form, Likely, Sent, ask};
pub use self::at_open::KeysAtOpen;
pub use self::decide::{Decided, decide};
pub use self::extract::{ColumnKeys, Keys};
