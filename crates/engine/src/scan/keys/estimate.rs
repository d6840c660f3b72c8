//! Predicts the work of sending the keys of a join, before the keys are known.

use sluicegate_costmodel::{
    Bytes, Phase, Requests, Resource, ResourceUse, ScanDemand, Steps, Terms,
};

use super::bloom::Shape;
use crate::estimate::demand::BLOOM_CONTAINS;
use crate::scan::s3_select::S3SelectSource;

/// The maximum number of distinct keys that a join lists.
pub(crate) const LISTED_KEYS: usize = 8_192;

/// The share of rows between the bounds of the keys, if nothing else is known.
const BETWEEN: f64 = 0.9;
/// The terms that the store evaluates per row for a list or for bounds.
const COMPARED: u32 = 2;
/// The false-positive rate of PushdownDB, which is expected unless another one is set.
pub(crate) const PAPER_P: f64 = 0.01;

/// The conditions on keys that a scan is expected to send: a Bloom filter if the store has them (PushdownDB §V-A). The
/// actual conditions are decided when the keys are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeyEstimate {
    /// The share of the rows that passes, 0 to 1.
    pub share: f64,
    terms: Terms,
    constants: u64,
    /// The number of keys, or `None` if there is no estimate.
    keys: Option<f64>,
    /// The number of keys if the build side had no filter, or `None` if there is no estimate.
    domain: Option<f64>,
    /// The bytes of a statement for the keys.
    bytes: f64,
}

impl KeyEstimate {
    /// Expects `keys` keys, if there is an estimate, which the share `share` of the rows match. `bloom` is the
    /// false-positive rate of a Bloom filter, or `None` if the store cannot evaluate one.
    #[must_use]
    pub fn new(source: &S3SelectSource, share: f64, keys: Option<f64>, bloom: Option<f64>) -> Self {
        let mut constants = 0;
        let known = keys.unwrap_or(0.0);
        let (share, terms, bytes) = match bloom {
            Some(p) => {
                let (shape, share) = (Shape::new(known as usize, p), share + (1.0 - share) * p);
                let bits = shape.total() as f64;
                // The filter is sent as base64, or with a digit per bit and a probe of each slice.
                match source.profile().syntax.bloom {
                    true => (share, BLOOM_CONTAINS.into(), bits / 6.0),
                    false => {
                        let probes = f64::from(shape.slices);
                        (share, Terms { probes, ..Terms::NONE }, bits)
                    }
                }
            }
            None if lists(source, keys) => {
                constants = known as u64;
                (share, COMPARED.into(), known * KEY_BYTES)
            }
            None => (share.max(BETWEEN), COMPARED.into(), 2.0 * KEY_BYTES),
        };
        let bytes = bytes.min(source.profile().max_expression_bytes as f64);
        Self { share, terms, constants, keys, domain: source.domain(), bytes }
    }

    /// Sets the number of keys without a filter on the build side; none keeps the present one.
    #[must_use]
    pub fn among(self, all: Option<f64>) -> Self {
        Self { domain: all.or(self.domain), ..self }
    }

    /// Returns the bytes of the keys in this many statements.
    #[must_use]
    pub fn statement_bytes(&self, statements: Requests) -> Bytes {
        Bytes::from_f64(self.bytes * statements.as_f64())
    }

    /// Returns the demand of a scan with these keys.
    #[must_use]
    pub fn apply_to(&self, demand: ScanDemand) -> ScanDemand {
        demand.with_keys(self.share, self.terms, self.constants)
    }

    /// Adds the time for reading the keys from the join and writing them into statements, each of which carries all
    /// of them, before the given steps.
    #[must_use]
    pub fn after(&self, steps: Steps) -> Steps {
        /// Keys of a list per second, measured on two cores.
        const PER_SECOND: f64 = 5e5;
        let keys = self.keys.unwrap_or(0.0);
        match keys <= LISTED_KEYS as f64 {
            true => self.making(keys, PER_SECOND, steps),
            // Between the bounds of the keys there are at least as many values as keys without a filter.
            false => self.counted(keys, self.domain.unwrap_or(keys).max(keys), steps),
        }
    }

    /// Adds the time for counting out so many keys among so many values before the given steps.
    #[must_use]
    pub fn counted(&self, keys: f64, values: f64, steps: Steps) -> Steps {
        /// Values that are tested per second, measured on two cores.
        const PER_SECOND: f64 = 6e7;
        /// The time of keeping, sorting and hashing a key, in tests of values.
        const KEY: f64 = 15.0;
        self.making(values + KEY * keys, PER_SECOND, steps)
    }

    /// Adds a phase that makes the keys before the given steps.
    fn making(&self, amount: f64, per_second: f64, steps: Steps) -> Steps {
        let making = ResourceUse { resource: Resource::new("keys of joins"), amount, per_second };
        let asked = self.statement_bytes(steps.work().requests.select);
        let made = Phase { name: "keys", uses: vec![making], asked, ..Phase::default() };
        Steps::InTurn(vec![made.into(), steps])
    }
}

/// Bytes of a number in a list, with its comma.
const KEY_BYTES: f64 = 10.0;

/// Returns true if a statement of a scan has room for a list of about so many keys.
fn lists(source: &S3SelectSource, keys: Option<f64>) -> bool {
    let room = source.profile().max_expression_bytes as f64 / KEY_BYTES;
    let most = source.profile().max_in_list.map_or(room, |most| room.min(most as f64));
    keys.is_some_and(|keys| keys <= most)
}
