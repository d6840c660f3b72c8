//! The ways in which a store evaluates a Bloom filter, and the room that each needs.

use datafusion::common::ScalarValue;
use sluicegate_s3select::dialect::ast::Expr;
use sluicegate_s3select::value::{BloomFilter, Decimal};

use super::bloom::{Bloom, Shape, capacity, fit, overhead};
use crate::pushdown::predicate::day_number;

/// The seed of the hash functions: the same keys always make the same statement.
const SEED: u64 = 0x51_1c_e6_a7_e5;

/// A way in which a store evaluates a Bloom filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hashing {
    /// By our server's `BLOOM_CONTAINS`, an extension, for whole numbers, text, decimals and dates, with six bits per
    /// character.
    Binary,
    /// By a `SUBSTRING` of zeros and ones for each hash function, as PushdownDB does, for whole numbers.
    Substring,
}

impl Hashing {
    /// Returns the false-positive rate of a filter that fits into `room` bytes, for a key with this expression:
    /// `wanted`, or the least rate above it that fits. Returns `None` if only a filter would fit that every key
    /// passes.
    pub(super) fn fit(self, keys: usize, wanted: f64, room: usize, key: &Expr) -> Option<f64> {
        match self {
            Self::Binary => fit(keys, wanted, bits(room, key), 0),
            Self::Substring => fit(keys, wanted, room, overhead(key)),
        }
    }

    /// Returns the maximum number of keys for which a filter with a false-positive rate of `p` fits into `room`
    /// bytes.
    pub(super) fn capacity(self, p: f64, room: usize, key: &Expr) -> usize {
        match self {
            Self::Binary => capacity(p, bits(room, key), 0),
            Self::Substring => capacity(p, room, overhead(key)),
        }
    }

    /// Returns the bits of a filter of some shape.
    pub(super) fn bits(self, shape: Shape) -> u64 {
        match self {
            Self::Binary => 8 * bytes(shape) as u64,
            Self::Substring => shape.total(),
        }
    }

    /// Returns the condition that a key is in a filter of some keys. NULL does not pass. Returns `None` if the keys
    /// are of a type that is not hashed this way.
    #[must_use]
    pub fn condition(self, values: &[ScalarValue], shape: Shape, key: &Expr) -> Option<Expr> {
        match self {
            Self::Binary => {
                let mut filter = BloomFilter::empty(bytes(shape), shape.slices, SEED as i64);
                for value in values {
                    filter.insert(hash(&filter, value)?);
                }
                Some(filter.call(key.clone()))
            }
            Self::Substring => {
                let ints = values.iter().map(as_int).collect::<Option<Vec<_>>>()?;
                Bloom::new(&ints, shape, SEED).condition(key)
            }
        }
    }

    /// Returns true if it hashes values of the type of `value`.
    pub(super) fn takes(self, value: &ScalarValue) -> bool {
        match self {
            Self::Binary => hash(&BloomFilter::empty(1, 1, 0), value).is_some(),
            Self::Substring => as_int(value).is_some(),
        }
    }
}

/// Returns the bytes of the filter of `BLOOM_CONTAINS`.
fn bytes(shape: Shape) -> usize {
    usize::try_from(shape.total().div_ceil(8)).unwrap_or(usize::MAX).max(1)
}

/// Returns the bits for which a call of `BLOOM_CONTAINS` of this many bytes has room.
fn bits(room: usize, key: &Expr) -> usize {
    /// The length of a call without its bits and the key.
    const AROUND: usize = "BLOOM_CONTAINS('', 32, -9223372036854775808, )".len();
    // Four characters of base64 are three bytes.
    room.saturating_sub(AROUND + key.to_string().len()) / 4 * 3 * 8
}

/// Returns the hash of a key, equal to the store's hash of the expression that [`Translator::filterable`] returns for
/// the column.
///
/// [`Translator::filterable`]: crate::pushdown::predicate::Translator::filterable
fn hash(filter: &BloomFilter, value: &ScalarValue) -> Option<u64> {
    Some(match value {
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)) => filter.hash_text(text.as_bytes()),
        ScalarValue::Decimal128(Some(unscaled), _, scale) => {
            filter.hash_decimal(Decimal::new(*unscaled, *scale)?)
        }
        ScalarValue::Date32(Some(days)) => filter.hash_int(day_number(*days)),
        other => filter.hash_int(as_int(other)?),
    })
}

/// Returns a whole number of at most 64 bits.
fn as_int(value: &ScalarValue) -> Option<i64> {
    match *value {
        ScalarValue::Int8(x) => x.map(i64::from),
        ScalarValue::Int16(x) => x.map(i64::from),
        ScalarValue::Int32(x) => x.map(i64::from),
        ScalarValue::Int64(x) => x,
        ScalarValue::UInt8(x) => x.map(i64::from),
        ScalarValue::UInt16(x) => x.map(i64::from),
        ScalarValue::UInt32(x) => x.map(i64::from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(count: i64) -> Vec<ScalarValue> {
        (0..count).map(ScalarValue::from).collect()
    }

    #[test]
    fn six_times_as_many_keys_fit() {
        let key = Expr::column(1);
        let room = 256 * 1024;
        let most = |hashing: Hashing| hashing.capacity(0.01, room, &key);
        assert_eq!(most(Hashing::Substring) / 1_000, 27);
        assert_eq!(most(Hashing::Binary) / 1_000, 164);
        // TPC-H's query 3 at scale factor 10.
        let p = |keys| Hashing::Binary.fit(keys, 0.01, room, &key).map(|p| format!("{p:.3}"));
        assert_eq!(p(300_000).as_deref(), Some("0.081"));
        assert_eq!(p(1_460_000).as_deref(), Some("0.605"));
    }

    #[test]
    fn what_is_said_to_fit_fits() {
        let key = Expr::column(1).null_if(Expr::string(""));
        for hashing in [Hashing::Binary, Hashing::Substring] {
            for (keys, room) in [(10, 300), (900, 1_000), (900, 4_000), (5_000, 60_000), (9, 3_000)]
            {
                let Some(p) = hashing.fit(keys, 0.01, room, &key) else { continue };
                let shape = Shape::new(keys, p);
                let condition = hashing.condition(&ints(keys as i64), shape, &key).unwrap();
                let bytes = condition.to_string().len();
                assert!(bytes <= room, "{bytes} of {room} for {keys} keys {hashing:?}");
            }
        }
    }

    #[test]
    fn only_types_that_it_hashes_are_taken() {
        let takes = |value: ScalarValue| {
            [Hashing::Binary, Hashing::Substring].map(|hashing| hashing.takes(&value))
        };
        assert_eq!(takes(7_i32.into()), [true, true]);
        assert_eq!(takes("a".into()), [true, false]);
        assert_eq!(takes(ScalarValue::Date32(Some(-1))), [true, false]);
        assert_eq!(takes(ScalarValue::Decimal128(Some(150), 12, 2)), [true, false]);
        assert_eq!(takes(ScalarValue::UInt64(Some(1))), [false, false]);
        assert_eq!(takes(1.5.into()), [false, false]);
        assert_eq!(takes(ScalarValue::Int64(None)), [false, false]);
    }
}
