//! What asking about the keys of a join is expected to take, before they are known.

use sluicegate_costmodel::{Bytes, Phase, Requests, Resource, ScanDemand, Steps, Terms, Use};

use super::bloom::Shape;
use crate::datasource::s3_select::S3SelectSource;
use crate::profile::BLOOM_CONTAINS;

/// The most distinct keys that a join lists.
pub(crate) const LISTED_KEYS: usize = 8_192;

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
    /// The bytes that a statement has for them.
    bytes: f64,
}

impl ExpectedKeys {
    /// So many keys, if that can be estimated, which this share of the rows has. `bloom` says whether the
    /// store can look them up in a Bloom filter.
    #[must_use]
    pub fn new(source: &S3SelectSource, share: f64, keys: Option<f64>, bloom: bool) -> Self {
        let mut constants = 0;
        let known = keys.unwrap_or(0.0);
        let bits = Shape::new(known as usize, WRONG_YES).total() as f64;
        let (share, terms, bytes) = match bloom {
            // As base64, and as a digit for each.
            true if source.profile().syntax.bloom => {
                (with_wrong_yeses(share), BLOOM_CONTAINS.into(), bits / 6.0)
            }
            true => (with_wrong_yeses(share), TERMS, bits),
            false if lists(source, keys) => {
                constants = known as u64;
                (share, COMPARED.into(), known * KEY_BYTES)
            }
            false => (share.max(BETWEEN), COMPARED.into(), 2.0 * KEY_BYTES),
        };
        let bytes = bytes.min(source.profile().max_expression_bytes as f64);
        Self { share, terms, constants, keys, domain: source.domain(), bytes }
    }

    /// The same where there would be so many keys without a filter on the build side, if that can be
    /// estimated.
    #[must_use]
    pub fn among(self, all: Option<f64>) -> Self {
        Self { domain: all.or(self.domain), ..self }
    }

    /// The bytes that the keys take in so many statements.
    #[must_use]
    pub fn asked(&self, statements: Requests) -> Bytes {
        Bytes::from_f64(self.bytes * statements.as_f64())
    }

    /// What is asked of the store with it.
    #[must_use]
    pub fn of(&self, demand: ScanDemand) -> ScanDemand {
        demand.with_keys(self.share, self.terms, self.constants)
    }

    /// Steps that wait for the keys to be read from the join and written into statements, each of which
    /// carries them.
    #[must_use]
    pub fn after(&self, steps: Steps) -> Steps {
        /// Keys of a list in a second, measured on two cores.
        const PER_SECOND: f64 = 5e5;
        let keys = self.keys.unwrap_or(0.0);
        match keys <= LISTED_KEYS as f64 {
            true => self.making(keys, PER_SECOND, steps),
            // There are as many values between their bounds as keys without a filter, or more.
            false => self.counted(keys, self.domain.unwrap_or(keys).max(keys), steps),
        }
    }

    /// Steps that wait for so many keys to be counted out among so many values.
    #[must_use]
    pub fn counted(&self, keys: f64, values: f64, steps: Steps) -> Steps {
        /// Values that are asked about in a second, measured on two cores.
        const PER_SECOND: f64 = 6e7;
        /// How many are in the time that a key takes to be kept, ordered and hashed.
        const KEY: f64 = 15.0;
        self.making(values + KEY * keys, PER_SECOND, steps)
    }

    /// Steps after what has to be made for them.
    fn making(&self, amount: f64, per_second: f64, steps: Steps) -> Steps {
        let making = Use { resource: Resource::new("keys of joins"), amount, per_second };
        let asked = self.asked(steps.work().requests.select);
        let made = Phase { name: "keys", uses: vec![making], asked, ..Phase::default() };
        Steps::InTurn(vec![made.into(), steps])
    }
}

/// Bytes of a number in a list, and its comma.
const KEY_BYTES: f64 = 10.0;

/// Whether a statement of a scan has room for a list of so many keys, about.
fn lists(source: &S3SelectSource, keys: Option<f64>) -> bool {
    let room = source.profile().max_expression_bytes as f64 / KEY_BYTES;
    let most = source.profile().max_in_list.map_or(room, |most| room.min(most as f64));
    keys.is_some_and(|keys| keys <= most)
}

/// The share of the rows that a Bloom filter lets pass.
fn with_wrong_yeses(share: f64) -> f64 {
    share + (1.0 - share) * WRONG_YES
}
