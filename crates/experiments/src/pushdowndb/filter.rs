//! The three filters of §IV, as the paper runs them over lineitem.

use sluicegate_costmodel::{Bytes, Phase, Requests, Resource, ResourceUse, Rows, Steps, Terms};

use super::names;
use super::paper::{LINEITEM, LINEITEM_ROWS, OBJECTS, PARTS, ROW_BYTES};

/// A filter of Figure 1 and Table II.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    /// Fetches all objects.
    Server,
    /// Filters in S3 Select.
    S3,
    /// Selects the places of rows from an index, and fetches each row by a GET.
    Index,
}

/// The bytes of an entry of the index: value, first and last byte. The paper does not print them.
pub(super) const ENTRY_BYTES: u64 = 26;
/// The values of a row of lineitem in an answer; its end counts as one.
const ROW_VALUES: f64 = 17.0;

impl Filter {
    pub(super) const ALL: [Self; 3] = [Self::Server, Self::S3, Self::Index];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Server => names::SERVER,
            Self::S3 => names::S3,
            Self::Index => names::INDEX,
        }
    }

    /// Returns the plan if this number of rows passes.
    pub(super) fn steps(self, rows: Rows) -> Steps {
        let returned = Bytes(rows.0 * ROW_BYTES);
        // Few rows pass the first comparison and reach the second.
        let scan = Phase {
            selects: Requests(OBJECTS),
            scanned: LINEITEM,
            scanned_rows: LINEITEM_ROWS,
            terms: Terms::from(1),
            ..Phase::default()
        };
        match self {
            Self::Server => {
                Phase { gets: Requests(PARTS), got: LINEITEM, ..Phase::default() }.into()
            }
            Self::S3 => {
                let answered = rows.as_f64() * ROW_VALUES;
                Phase { returned, answered, ..scan }.into()
            }
            Self::Index => {
                let entries = Phase {
                    name: "index",
                    scanned: Bytes(LINEITEM_ROWS.0 * ENTRY_BYTES),
                    returned: Bytes(rows.0 * ENTRY_BYTES),
                    // Two places, and the end of the row.
                    answered: rows.as_f64() * 3.0,
                    ..scan
                };
                let fetched = Phase {
                    name: "rows",
                    gets: Requests(rows.0),
                    got: returned,
                    ..Phase::default()
                };
                Steps::InTurn(vec![entries.into(), fetched.into()])
            }
        }
    }
}

/// Returns a phase that takes so many seconds of a resource.
pub(super) fn used(name: &'static str, seconds: f64) -> Steps {
    let of = ResourceUse { resource: Resource::new(name), amount: seconds, per_second: 1.0 };
    Phase { name, uses: vec![of], ..Phase::default() }.into()
}
