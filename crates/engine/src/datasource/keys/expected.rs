//! What asking about the keys of a join is expected to take, before they are known.

use sluicegate_costmodel::{Phase, Resource, ScanDemand, Steps, Terms, Use};

use crate::datasource::s3_select::S3SelectSource;
use crate::profile::{BLOOM_CONTAINS, keys_demand};
use crate::session::LISTED_KEYS;

/// Of rows that lie between keys that are wanted, if nothing else is known.
const BETWEEN: f64 = 0.9;
/// What the store evaluates per row for a list, or for bounds.
const COMPARED: u32 = 2;
/// What the paper asks for.
const WRONG_YES: f64 = 0.01;
/// What the store evaluates per row for such a filter without `BLOOM_CONTAINS`: seven slices.
const TERMS: Terms = Terms { probes: 7.0, ..Terms::NONE };

/// What a scan is expected to ask about keys: the paper's filter of one percent, where the store has
/// Bloom filters (PushdownDB §V-A). What it asks is known with the keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedKeys {
    /// The share of the rows that passes, 0 to 1.
    pub share: f64,
    terms: Terms,
    constants: u64,
    /// How many keys there are, if that can be estimated.
    keys: Option<f64>,
    /// How many there would be without a filter on the build side, likewise.
    domain: Option<f64>,
}

impl ExpectedKeys {
    /// So many keys, if that can be estimated, which this share of the rows has. `bloom` says whether the
    /// store can look them up in a Bloom filter.
    #[must_use]
    pub fn new(source: &S3SelectSource, share: f64, keys: Option<f64>, bloom: bool) -> Self {
        let mut constants = 0;
        let (share, terms) = match bloom {
            true if source.profile().syntax.bloom => {
                (with_wrong_yeses(share), BLOOM_CONTAINS.into())
            }
            true => (with_wrong_yeses(share), TERMS),
            false if lists(source, keys) => {
                constants = keys.map_or(0, |keys| keys as u64);
                (share, COMPARED.into())
            }
            false => (share.max(BETWEEN), COMPARED.into()),
        };
        Self { share, terms, constants, keys, domain: source.domain() }
    }

    /// What is asked of the store with it.
    #[must_use]
    pub fn of(&self, demand: ScanDemand) -> ScanDemand {
        keys_demand(demand, self.share, (self.terms, self.constants))
    }

    /// Steps that wait for the keys to be read from the join and written into statements.
    #[must_use]
    pub fn after(&self, steps: Steps) -> Steps {
        /// Keys of a list in a second, measured on two cores.
        const PER_SECOND: f64 = 5e5;
        let keys = self.keys.unwrap_or(0.0);
        match keys <= LISTED_KEYS as f64 {
            true => making(keys, PER_SECOND, steps),
            // There are as many values between their bounds as keys without a filter, or more.
            false => counted(keys, self.domain.unwrap_or(keys).max(keys), steps),
        }
    }
}

/// Steps that wait for so many keys to be counted out among so many values.
pub(super) fn counted(keys: f64, values: f64, steps: Steps) -> Steps {
    /// Values that are asked about in a second, measured on one core.
    const PER_SECOND: f64 = 3e7;
    /// How many are in the time that a key takes to be kept, ordered and hashed.
    const KEY: f64 = 10.0;
    making(values + KEY * keys, PER_SECOND, steps)
}

/// Steps after what has to be made for them.
fn making(amount: f64, per_second: f64, steps: Steps) -> Steps {
    let making = Use { resource: Resource::new("keys of joins"), amount, per_second };
    let made = Phase { name: "keys", uses: vec![making], ..Phase::default() };
    Steps::InTurn(vec![made.into(), steps])
}

/// Whether a statement of a scan has room for a list of so many keys, about.
fn lists(source: &S3SelectSource, keys: Option<f64>) -> bool {
    /// Of a number and a comma.
    const BYTES: f64 = 10.0;
    keys.is_some_and(|keys| keys * BYTES <= source.profile().max_expression_bytes as f64)
}

/// The share of the rows that a Bloom filter lets pass.
fn with_wrong_yeses(share: f64) -> f64 {
    share + (1.0 - share) * WRONG_YES
}
