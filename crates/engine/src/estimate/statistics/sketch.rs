//! A sketch that counts distinct values in some hundred bytes: HyperLogLog.

use std::fmt;

use datafusion::common::Result;
use datafusion::common::exec_datafusion_err;
use datasketches::hll::{HllSketch, HllType, HllUnion};

/// Number of registers as a power of 2: 1024 of 4 bits, for an error of some 3 %.
const LOG_REGISTERS: u8 = 10;

/// A set of hashes of values that only estimates its size.
#[derive(Clone, PartialEq)]
pub struct Sketch(HllSketch);

impl Sketch {
    /// Returns the empty set.
    ///
    /// # Errors
    ///
    /// Never, because the number of registers is valid.
    pub fn new() -> Result<Self> {
        HllSketch::new(LOG_REGISTERS, HllType::Hll4).map(Self).map_err(damaged)
    }

    /// Adds the hash of a value.
    pub fn insert(&mut self, hash: u64) {
        self.0.update(hash);
    }

    /// Returns the approximate number of distinct values.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.0.estimate()
    }

    /// Returns the approximate number of distinct values in the union of several sets.
    #[must_use]
    pub fn count_of<'a>(sketches: impl IntoIterator<Item = &'a Self>) -> f64 {
        let Ok(mut union) = HllUnion::new(LOG_REGISTERS) else { return 0.0 };
        for sketch in sketches {
            union.update(&sketch.0);
        }
        union.estimate()
    }

    /// Returns the bytes that [`Sketch::from_bytes`] reads.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.serialize()
    }

    /// Reads a set from its bytes.
    ///
    /// # Errors
    ///
    /// If the bytes are no valid sketch.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let sketch = HllSketch::deserialize(bytes).map_err(damaged)?;
        match sketch.lg_config_k() {
            LOG_REGISTERS => Ok(Self(sketch)),
            other => Err(exec_datafusion_err!("a set of 2^{other} registers")),
        }
    }
}

fn damaged(error: impl fmt::Display) -> datafusion::common::DataFusionError {
    exec_datafusion_err!("the distinct values cannot be counted: {error}")
}

impl fmt::Debug for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sketch({:.0})", self.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_counted_alone_and_together() {
        for (count, most) in [(0_u64, 0.0), (10, 0.01), (1000, 0.1), (100_000, 0.1)] {
            let (mut even, mut all) = (Sketch::new().unwrap(), Sketch::new().unwrap());
            for number in 0..count {
                all.insert(number);
                if number % 2 == 0 {
                    even.insert(number);
                }
            }
            let check = |estimate: f64, exact: u64| {
                let off = (estimate - exact as f64).abs();
                assert!(off <= exact as f64 * most, "{estimate} of {exact}");
            };
            check(all.count(), count);
            check(even.count(), count / 2);
            check(Sketch::count_of([&all, &even]), count);
            let back = Sketch::from_bytes(&all.to_bytes()).unwrap();
            assert_eq!(back, all);
            assert!(all.to_bytes().len() < 1500, "{}", all.to_bytes().len());
        }
        for cut in 0..20 {
            let mut sketch = Sketch::new().unwrap();
            (0..100).for_each(|number| sketch.insert(number));
            assert!(Sketch::from_bytes(&sketch.to_bytes()[..cut]).is_err());
        }
    }
}
