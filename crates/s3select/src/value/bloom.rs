//! Bloom filters over values, which `BLOOM_CONTAINS` probes and a client builds.
//!
//! `BLOOM_CONTAINS('bits', hashes, seed, x)` is TRUE if the filter may hold `x`, FALSE if it does not, and NULL if
//! `x` is NULL or MISSING. The first three arguments are literals. With 6 bits per character, the filter is denser
//! than the zeros and ones that S3 Select's own `SUBSTRING` can probe.
//!
//! * `bits` is base64 (RFC 4648, with its padding) of at least one byte. Bit `n` of the filter is bit `n % 8`, from
//!   the lowest, of byte `n / 8`; `m` is the number of bits.
//! * `hashes` is the number of bits per value, 1 to 32.
//! * A value is hashed once: `h` is XXH64 of its bytes with the seed as an unsigned number. With `a` the upper and
//!   `b` the lower 32 bits of `h`, the bits of the value are `((a + i·b) mod 2^32) · m / 2^32`, rounded down, for `i`
//!   from 0 to `hashes - 1`.
//!
//! Equal values of one class have the same bytes:
//!
//! | value | bytes |
//! |---|---|
//! | `string` | UTF-8 |
//! | `int`, and a `decimal` that is one | 8, two's complement, the lowest first |
//! | any other `decimal` | without trailing zeros: 16 bytes of its digits as a number, then 1 byte: the number of digits after the point |
//! | `float` | 8, IEEE 754, the lowest first; -0 as 0, and one NaN of either sign |
//! | `timestamp` | 16, nanoseconds since 1970 in UTC, the lowest first |
//! | `bool` | 1: 1 or 0 |
//!
//! Lists and structs have no bytes and are an error.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use twox_hash::XxHash64;

use super::{Decimal, Value};
use crate::dialect::ast::{
    Expr, Function,
    Literal::{Int, String as Text},
};
use crate::error::{Result, SelectError, SelectErrorCode as Code};

/// The largest number of bits per value.
pub const MAX_HASHES: u32 = 32;

/// A Bloom filter over values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BloomFilter {
    bytes: Box<[u8]>,
    hashes: u32,
    seed: u64,
}

impl BloomFilter {
    /// An empty filter of this many bytes, at least 1 and less than 2^29, with `hashes` bits per value, 1 to
    /// [`MAX_HASHES`].
    #[must_use]
    pub fn empty(bytes: usize, hashes: u32, seed: i64) -> Self {
        let bytes = vec![0; bytes.clamp(1, (1 << 29) - 1)].into();
        Self { bytes, hashes: hashes.clamp(1, MAX_HASHES), seed: seed.cast_unsigned() }
    }

    /// Decodes the filter of a statement.
    ///
    /// # Errors
    ///
    /// `IllegalSqlFunctionArgument` if the text is not base64 of at least one byte, or the number of bits is not 1 to
    /// [`MAX_HASHES`].
    pub fn read(bits: &str, hashes: i64, seed: i64) -> Result<Self> {
        let illegal = |what: String| SelectError::new(Code::IllegalSqlFunctionArgument, what);
        let bytes = BASE64.decode(bits).map_err(|error| {
            illegal(format!("the bits of BLOOM_CONTAINS are not base64: {error}"))
        })?;
        if bytes.is_empty() || bytes.len() >= 1 << 29 {
            let what = "BLOOM_CONTAINS needs at least one byte of bits, and less than 2^29";
            return Err(illegal(what.to_owned()));
        }
        let hashes = u32::try_from(hashes).ok().filter(|it| (1..=MAX_HASHES).contains(it));
        let hashes = hashes.ok_or_else(|| {
            illegal(format!("BLOOM_CONTAINS takes 1 to {MAX_HASHES} hash functions"))
        })?;
        Ok(Self { bytes: bytes.into(), hashes, seed: seed.cast_unsigned() })
    }

    /// Decodes the filter of a call of `BLOOM_CONTAINS` with these arguments.
    ///
    /// # Errors
    ///
    /// In the cases of [`BloomFilter::read`], and `EvaluatorInvalidArguments` if the first three arguments are not
    /// literals.
    pub fn of_call(args: &[Expr]) -> Result<Self> {
        use Expr::Literal;
        match args {
            [Literal(Text(bits)), Literal(Int(hashes)), Literal(Int(seed)), _] => {
                Self::read(bits, *hashes, *seed)
            }
            _ => {
                let what = "BLOOM_CONTAINS takes four arguments, the first three of them literals: \
                            bits in base64, the number of hash functions, a seed";
                Err(SelectError::new(Code::EvaluatorInvalidArguments, what))
            }
        }
    }

    /// Builds the call `BLOOM_CONTAINS(…, x)`.
    #[must_use]
    pub fn call(&self, x: Expr) -> Expr {
        let args = vec![
            Expr::string(self.bits()),
            Expr::int(i64::from(self.hashes)),
            Expr::int(self.seed.cast_signed()),
            x,
        ];
        Expr::Call { function: Function::BloomContains, args }
    }

    /// The bits in base64, as a statement contains them.
    #[must_use]
    pub fn bits(&self) -> String {
        BASE64.encode(&self.bytes)
    }

    /// The hash of a value. `None` for NULL, MISSING, lists and structs.
    #[must_use]
    pub fn hash(&self, value: &Value) -> Option<u64> {
        Some(match value {
            Value::String(text) => self.hash_text(text.as_bytes()),
            Value::Int(int) => self.hash_int(*int),
            Value::Decimal(decimal) => self.hash_decimal(*decimal),
            Value::Float(float) => {
                let same = match *float {
                    // This arm also matches -0.
                    0.0 => 0.0,
                    nan if nan.is_nan() => f64::NAN.copysign(nan),
                    float => float,
                };
                self.hash_bytes(&same.to_le_bytes())
            }
            Value::Timestamp(time) => self.hash_bytes(&time.nanos().to_le_bytes()),
            Value::Bool(truth) => self.hash_bytes(&[u8::from(*truth)]),
            Value::Missing | Value::Null | Value::List(_) | Value::Struct(_) => return None,
        })
    }

    /// The hash of a text.
    #[must_use]
    #[inline]
    pub fn hash_text(&self, text: &[u8]) -> u64 {
        self.hash_bytes(text)
    }

    /// The hash of a whole number.
    #[must_use]
    #[inline]
    pub fn hash_int(&self, int: i64) -> u64 {
        self.hash_bytes(&int.to_le_bytes())
    }

    /// The hash of a decimal; trailing zeros do not change it.
    #[must_use]
    #[inline]
    pub fn hash_decimal(&self, decimal: Decimal) -> u64 {
        let (digits, places) = decimal.without_zeros();
        if places == 0
            && let Ok(int) = i64::try_from(digits)
        {
            return self.hash_int(int);
        }
        let mut bytes = [0; 17];
        bytes[..16].copy_from_slice(&digits.to_le_bytes());
        bytes[16] = places;
        self.hash_bytes(&bytes)
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> u64 {
        XxHash64::oneshot(self.seed, bytes)
    }

    /// Adds the value with this hash to the filter.
    pub fn insert(&mut self, hash: u64) {
        for (byte, bit) in positions(hash, self.hashes, self.bytes.len()) {
            self.bytes[byte] |= bit;
        }
    }

    /// Returns true if the value with this hash may be in the filter, which includes false positives.
    #[must_use]
    #[inline]
    pub fn contains(&self, hash: u64) -> bool {
        positions(hash, self.hashes, self.bytes.len())
            .all(|(byte, bit)| self.bytes[byte] & bit != 0)
    }
}

/// The bits of a hash in a filter of this many bytes: the index of each byte, and a mask for the bit in it.
#[inline]
fn positions(hash: u64, hashes: u32, bytes: usize) -> impl Iterator<Item = (usize, u8)> {
    let (first, step) = ((hash >> 32) as u32, hash as u32);
    let bits = 8 * bytes as u64;
    (0..hashes).map(move |i| {
        let at = (u64::from(first.wrapping_add(i.wrapping_mul(step))) * bits) >> 32;
        ((at / 8) as usize, 1 << (at % 8))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Timestamp, compare};
    use proptest::prelude::*;

    fn dec(text: &str) -> Value {
        Value::Decimal(Decimal::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn a_literal_is_read_as_it_is_written() {
        let mut filter = BloomFilter::empty(5, 3, -7);
        filter.insert(filter.hash_text(b"a"));
        let read = BloomFilter::read(&filter.bits(), 3, -7).unwrap();
        assert_eq!(read, filter);
        let Expr::Call { args, .. } = filter.call(Expr::column(1)) else { panic!("no call") };
        assert_eq!(BloomFilter::of_call(&args).unwrap(), filter);
        let error = BloomFilter::of_call(&args[..3]).unwrap_err();
        assert_eq!(error.code, Code::EvaluatorInvalidArguments);
        assert!(read.contains(read.hash_text(b"a")));
        assert!(!read.contains(read.hash_text(b"b")));
    }

    /// Other implementations must compute these hashes as well.
    #[test]
    fn the_hash_is_the_documented_one() {
        // From XXH64's own test vectors.
        let plain = BloomFilter::empty(1, 1, 0);
        assert_eq!(plain.hash_text(b""), 0xef46_db37_51d8_e999);
        assert_eq!(plain.hash_text(b"a"), 0xd24e_c4f1_a98c_6e5b);
        assert_eq!(plain.hash_text(b"abc"), 0x44bc_2cf5_ad77_0999);
        let filter = |hash, hashes| {
            let mut filter = BloomFilter::empty(3, hashes, 0);
            filter.insert(hash);
            filter.bits()
        };
        let mut filter_of_three = BloomFilter::empty(6, 3, 1);
        for value in [Value::String("2".to_owned()), Value::Int(3), dec("-1.50")] {
            filter_of_three.insert(filter_of_three.hash(&value).unwrap());
        }
        assert_eq!(filter_of_three.bits(), "ICIBCQAo");
        // Bits 0, 12 and, around 2^32, 0 again; then the highest of 24.
        assert_eq!(filter(0x0000_0000_8000_0000, 3), "ARAA");
        assert_eq!(filter(0xffff_ffff_0000_0000, 2), "AACA");
    }

    #[test]
    fn equal_values_have_one_hash() {
        let filter = BloomFilter::empty(1, 1, 9);
        let nines = "99999999999999999999999999999999999999";
        let time = |text: &str| Value::Timestamp(Timestamp::parse(text.as_bytes()).unwrap());
        let classes: [&[Value]; 8] = [
            &[Value::Int(100), dec("100"), dec("100.000"), dec("1e2")],
            &[Value::Int(0), dec("0.00"), dec("-0")],
            &[dec("-1.5"), dec("-1.50")],
            &[dec(nines), dec(nines)],
            &[Value::Int(i64::MIN), dec("-9223372036854775808.0")],
            &[Value::Float(1.5), Value::Float(1.5)],
            &[time("2020-01-01"), time("2020-01-01T01:00:00+01:00")],
            &[Value::Bool(true), Value::Bool(true)],
        ];
        let mut seen = std::collections::HashSet::new();
        for class in classes {
            let hashes: Vec<_> = class.iter().map(|value| filter.hash(value).unwrap()).collect();
            assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{class:?}: {hashes:?}");
            assert!(seen.insert(hashes[0]), "{class:?} as another one");
        }
        let float = |float| filter.hash(&Value::Float(float));
        assert_eq!(float(0.0), float(-0.0));
        assert_eq!(float(f64::NAN), float(f64::from_bits(f64::NAN.to_bits() | 1)));
        assert_ne!(float(f64::NAN), float(-f64::NAN));
        for none in [Value::Null, Value::Missing, Value::List([].into()), Value::Struct([].into())]
        {
            assert_eq!(filter.hash(&none), None);
        }
    }

    #[test]
    fn malformed_literals_are_refused() {
        for (bits, hashes) in [
            ("", 1),
            ("AA", 1),
            ("AB==", 1),
            ("A A=", 1),
            ("é", 1),
            ("AA==", 0),
            ("AA==", 33),
            ("AA==", -1),
        ] {
            let error = BloomFilter::read(bits, hashes, 0).unwrap_err();
            assert_eq!(error.code, Code::IllegalSqlFunctionArgument, "{bits} {hashes}");
        }
        assert!(BloomFilter::read("AA==", 32, i64::MIN).is_ok());
    }

    #[test]
    fn wrong_yeses_are_as_many_as_theory_says() {
        for (bits_per_key, hashes, p) in [(9.585, 7, 0.01), (14.378, 10, 0.001), (4.793, 3, 0.1)] {
            const KEYS: i64 = 20_000;
            let mut filter =
                BloomFilter::empty((bits_per_key * KEYS as f64 / 8.0) as usize, hashes, 1);
            (0..KEYS).for_each(|key| filter.insert(filter.hash_int(7 * key)));
            assert!((0..KEYS).all(|key| filter.contains(filter.hash_int(7 * key))));
            let wrong = (0..400_000_i64).filter(|n| filter.contains(filter.hash_int(7 * n + 3)));
            let wrong = wrong.count() as f64 / 400_000.0;
            assert!(wrong < 1.25 * p, "{wrong} instead of {p}");
        }
    }

    fn number() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<i64>().prop_map(Value::Int),
            (-30..30_i64).prop_map(Value::Int),
            (-300..300_i128, 0..4_i8)
                .prop_map(|(digits, scale)| Value::Decimal(Decimal::new(digits, scale).unwrap())),
            (any::<i64>(), 0..38_i8, 0..19_u32).prop_filter_map("too long", |(n, scale, zeros)| {
                Decimal::new(i128::from(n) * 10_i128.pow(zeros), scale).map(Value::Decimal)
            }),
        ]
    }

    proptest! {
        #[test]
        fn numbers_hash_alike_exactly_if_they_are_equal(a in number(), b in number(), seed: i64) {
            let filter = BloomFilter::empty(1, 1, seed);
            let equal = compare(&a, &b) == Some(std::cmp::Ordering::Equal);
            prop_assert_eq!(filter.hash(&a) == filter.hash(&b), equal, "{:?} {:?}", a, b);
        }

        #[test]
        fn a_value_that_was_put_in_is_found(
            texts in prop::collection::vec(".{0,40}", 0..30), bytes in 1..80_usize, hashes in 1..=32_u32,
            seed: i64,
        ) {
            let mut filter = BloomFilter::empty(bytes, hashes, seed);
            for text in &texts {
                filter.insert(filter.hash_text(text.as_bytes()));
            }
            let read = BloomFilter::read(&filter.bits(), i64::from(hashes), seed).unwrap();
            for text in texts {
                prop_assert!(read.contains(read.hash(&Value::String(text)).unwrap()));
            }
        }
    }
}
