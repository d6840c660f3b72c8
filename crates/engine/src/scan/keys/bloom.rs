//! Bloom filters in standard SQL: a text of zeros and ones for each hash function.
//!
//! The hash functions come from PushdownDB: `h(x) = ((a·x + b) mod n) mod m`, where `m` is the number of bits of a
//! slice and `n` a prime of at least `m`. The authors take a prime between `m` and `2·m`, which fills some bits twice
//! as often as others. The more regular the keys, the stronger the effect: with equidistant keys, 7 % of the others
//! pass a filter of 1 %. Here `n` is 2^31 - 1.
//!
//! SQL's `%` takes the sign of its left operand, and `a·x` may not fit 64 bits. Therefore the statement computes
//! `(a * (x % n) + c) % n % m` with `c = b + a·n`. This is the same number for every `x` of 64 bits, and no
//! intermediate value is negative.

use std::f64::consts::LN_2;

use sluicegate_s3select::dialect::ast::{BinaryOp, Expr, Function};

/// The size of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The number of hash functions, each with a slice of its own.
    pub slices: u32,
    /// Bits of a slice, at least 1.
    pub bits: u32,
}

impl Shape {
    /// Creates the shape of a filter with a false-positive rate of `p`, above 0 and below 1.
    #[must_use]
    pub fn new(keys: usize, p: f64) -> Self {
        let p = p.clamp(1e-9, 0.999);
        let slices = (1.0 / p).log2().ceil().max(1.0);
        let bits = (keys as f64 * -p.ln() / (slices * LN_2 * LN_2)).ceil().max(1.0);
        Self { slices: slices as u32, bits: bits.min(f64::from(u32::MAX)) as u32 }
    }

    /// Returns the number of all bits.
    #[must_use]
    pub fn total(self) -> u64 {
        u64::from(self.slices) * u64::from(self.bits)
    }
}

/// Returns the least false-positive rate for which this many bits are enough; 1 if they are too few for any filter.
#[must_use]
pub fn least_p(keys: usize, bits: usize) -> f64 {
    let bits_per_key = bits as f64 / keys.max(1) as f64;
    let slices = (bits_per_key * LN_2).round();
    (1.0 - (-slices / bits_per_key.max(f64::MIN_POSITIVE)).exp()).powf(slices)
}

/// Returns the false-positive rate of a filter that fits into `room` bytes, of which each slice takes `overhead`
/// beside its bits: `wanted`, or the least rate above it that fits. Returns `None` if only a filter would fit that
/// every key passes.
#[must_use]
pub fn fit(keys: usize, wanted: f64, room: usize, overhead: usize) -> Option<f64> {
    let mut p = wanted;
    while p < 1.0 {
        let shape = Shape::new(keys, p);
        let around = shape.slices as usize * overhead;
        if shape.total() + around as u64 <= room as u64 {
            return Some(p);
        }
        p = least_p(keys, room.saturating_sub(around)).max(p * 1.01);
    }
    None
}

/// Returns the maximum number of keys for which a filter with a false-positive rate of `p` fits into `room` bytes, of
/// which each slice takes `overhead` beside its bits.
#[must_use]
pub fn capacity(p: f64, room: usize, overhead: usize) -> usize {
    const MANY: usize = 1 << 20;
    let of_many = Shape::new(MANY, p);
    let bits = room.saturating_sub(of_many.slices as usize * (overhead + 1));
    (bits as f64 * MANY as f64 / of_many.total() as f64) as usize
}

/// A hash function: `((a·x + b) mod n) mod m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hash {
    a: i64,
    b: i64,
    n: i64,
    m: i64,
}

impl Hash {
    /// Returns a random function with values below `m`.
    fn random(m: u32, random: &mut SplitMix) -> Self {
        Self {
            a: 1 + random.below(PRIME - 1),
            b: random.below(PRIME),
            n: PRIME,
            m: i64::from(m.max(1)),
        }
    }

    /// Returns the hash of `x`, from 0 to `m - 1`, as the store computes it.
    #[must_use]
    pub fn hash(self, x: i64) -> i64 {
        (self.a * (x % self.n) + self.shift()) % self.n % self.m
    }

    /// `b + a·n`, which keeps the sum from being negative. Both terms are below 2^62, and so is `a` times a
    /// remainder.
    fn shift(self) -> i64 {
        self.b + self.a * self.n
    }

    /// Returns the hash of `x` in SQL.
    fn sql(self, x: Expr) -> Expr {
        use BinaryOp::{Add, Modulo, Multiply};
        let reduced = x.binary(Modulo, Expr::int(self.n));
        Expr::int(self.a)
            .binary(Multiply, reduced)
            .binary(Add, Expr::int(self.shift()))
            .binary(Modulo, Expr::int(self.n))
            .binary(Modulo, Expr::int(self.m))
    }
}

/// A Bloom filter with its keys.
#[derive(Debug, Clone)]
pub struct Bloom {
    slices: Vec<(Hash, Vec<u8>)>,
}

/// The prime of all hash functions.
const PRIME: i64 = (1 << 31) - 1;

/// The greatest number of bits in a slice: far less than the prime, and more than a statement holds.
const MOST_BITS: u32 = 1 << 29;

impl Bloom {
    /// Creates a filter of some keys. The same seed gives the same hash functions.
    #[must_use]
    pub fn new(keys: &[i64], shape: Shape, seed: u64) -> Self {
        let mut random = SplitMix(seed);
        let bits = shape.bits.min(MOST_BITS);
        let slice = |_| {
            let hash = Hash::random(bits, &mut random);
            let mut text = vec![b'0'; bits as usize];
            for key in keys {
                if let Some(bit) =
                    usize::try_from(hash.hash(*key)).ok().and_then(|at| text.get_mut(at))
                {
                    *bit = b'1';
                }
            }
            (hash, text)
        };
        Self { slices: (0..shape.slices).map(slice).collect() }
    }

    /// Returns true if the filter may contain a key.
    #[must_use]
    pub fn contains(&self, key: i64) -> bool {
        self.slices.iter().all(|(hash, text)| {
            let at = usize::try_from(hash.hash(key)).unwrap_or(usize::MAX);
            text.get(at) == Some(&b'1')
        })
    }

    /// Returns the condition that a whole number passes the filter. NULL does not pass.
    #[must_use]
    pub fn condition(&self, key: &Expr) -> Option<Expr> {
        let terms = self.slices.iter().map(|(hash, text)| {
            let at = hash.sql(key.clone()).binary(BinaryOp::Add, Expr::int(1));
            let text = Expr::string(String::from_utf8_lossy(text));
            let args = vec![text, at, Expr::int(1)];
            Expr::Call { function: Function::Substring, args }.eq(Expr::string("1"))
        });
        Expr::all(terms.collect())
    }
}

/// Returns the maximum number of bytes of a statement around the bits of each slice.
#[must_use]
pub fn overhead(key: &Expr) -> usize {
    /// The length of a term with numbers of 10 digits and a sum of 19.
    const AROUND: usize = 150;
    AROUND + key.to_string().len()
}

/// A generator of random numbers, by Steele, Lea and Flood.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to `end - 1`.
    fn below(&mut self, end: i64) -> i64 {
        (self.next() >> 1) as i64 % end.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// PushdownDB's Figure 2: the room left of 256 KiB for a filter on orders, which the authors reserve, and the
    /// false-positive rates that fit instead of the 0.01 that they request.
    #[test]
    fn the_papers_filters_degrade_as_published() {
        let statement = 150;
        let room = 256 * 1024 - 13 * 92 - statement;
        let seen = [6_816, 20_453, 34_089, 47_725, 61_362, 74_998].map(|keys| {
            let p = fit(keys, 0.01, room, 0).unwrap();
            (format!("{p:.4}"), Shape::new(keys, p).slices)
        });
        let expected = [(".0100", 7), (".0100", 7), (".0254", 6), (".0726", 4)];
        for ((p, slices), (published, of)) in seen.iter().zip(expected) {
            assert_eq!((p.trim_start_matches('0'), *slices), (published, of));
        }
        assert_eq!((seen[4].0.as_str(), seen[4].1), ("0.1298", 3));
        assert_eq!((seen[5].0.as_str(), seen[5].1), ("0.1913", 3));
    }

    #[test]
    fn so_many_keys_fit_a_statement_at_one_percent() {
        let bits = |keys| Shape::new(keys, 0.01).total();
        assert_eq!(Shape::new(27_200, 0.01), Shape { slices: 7, bits: 37_245 });
        assert!(bits(27_200) + 7 * 150 < 256 * 1024);
        assert!(bits(27_400) > 256 * 1024);
        assert_eq!(fit(27_200, 0.01, 256 * 1024 - 100, 150), Some(0.01));
        // TPC-H's query 3 at scale factor 10: customers fit only at a high rate, orders not at all.
        assert_eq!(format!("{:.2}", fit(300_000, 0.01, 260_798, 0).unwrap()), "0.68");
        assert_eq!(fit(1_460_000, 0.01, 260_798, 0), None);
    }

    #[test]
    fn as_many_keys_fit_as_fit() {
        for (p, room) in [(0.01, 256 * 1024), (0.1, 8 * 1024), (0.001, 60_000), (0.5, 700)] {
            let most = capacity(p, room, 150);
            assert_eq!(fit(most, p, room, 150), Some(p), "{most} keys");
            assert_ne!(fit(most + most / 50 + 20, p, room, 150), Some(p), "{most} keys");
        }
        assert_eq!(capacity(0.01, 1_000, 150), 0);
    }

    #[test]
    fn wrong_yeses_are_as_many_as_asked_for() {
        let mut random = SplitMix(7);
        let mut keys = |count| (0..count).map(|_| random.next() as i64).collect::<Vec<_>>();
        let (keys, others) = (keys(5_000), keys(200_000));
        for p in [0.001, 0.01, 0.1] {
            let bloom = Bloom::new(&keys, Shape::new(keys.len(), p), 1);
            assert!(keys.iter().all(|key| bloom.contains(*key)));
            let wrong =
                others.iter().filter(|key| bloom.contains(**key)).count() as f64 / 200_000.0;
            assert!(wrong < 1.5 * p, "{wrong} instead of {p}");
        }
    }

    #[test]
    fn nothing_fits_into_nothing() {
        assert_eq!(fit(10, 0.01, 0, 0), None);
        assert_eq!(fit(10, 0.01, 100, 150), None);
        assert!(fit(1, 0.01, 200, 20).is_some());
        assert!(Bloom::new(&[], Shape::new(0, 0.01), 1).condition(&Expr::column(1)).is_some());
    }

    fn is_prime(n: i64) -> bool {
        n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| n % d != 0)
    }

    fn any_key() -> impl Strategy<Value = i64> {
        prop_oneof![any::<i64>(), -100..100_i64, Just(i64::MIN), Just(i64::MIN + 1), Just(i64::MAX)]
    }

    proptest! {
        #[test]
        fn a_hash_is_that_of_the_paper(key in any_key(), m in 1..MOST_BITS, seed in any::<u64>()) {
            let hash = Hash::random(m, &mut SplitMix(seed));
            let Hash { a, b, n, m } = hash;
            prop_assert!(n >= m && is_prime(n) && (1..n).contains(&a) && (0..n).contains(&b));
            let wide = (i128::from(a) * i128::from(key) + i128::from(b)).rem_euclid(i128::from(n));
            prop_assert_eq!(i128::from(hash.hash(key)), wide % i128::from(m));
        }

        #[test]
        fn a_key_that_was_put_in_is_found(
            keys in prop::collection::vec(any_key(), 0..50), p in 0.0001..0.9, seed in any::<u64>(),
        ) {
            let bloom = Bloom::new(&keys, Shape::new(keys.len(), p), seed);
            prop_assert!(keys.iter().all(|key| bloom.contains(*key)));
        }

        #[test]
        fn what_fits_fits(keys in 1..200_000_usize, p in 0.0001..0.5, room in 0..300_000_usize) {
            let Some(fitted) = fit(keys, p, room, 150) else { return Ok(()) };
            let shape = Shape::new(keys, fitted);
            prop_assert!(fitted >= p && fitted < 1.0);
            prop_assert!(shape.total() + u64::from(shape.slices) * 150 <= room as u64);
        }
    }
}
