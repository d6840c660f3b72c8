//! The planner's filters and sizes for JOIN.

use std::fmt;

use super::{Kind, Passes, Shape, bloom, register_bloom};
use crate::ConfigError;
use crate::switch::Program;
use crate::theory::{
    Arrays, Demand, Footprint, Limits, PlanError, Planning, bloom as rates, fraction, narrow,
    positive,
};

/// The goal of planning an inner or semi join.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// The number of distinct keys inserted into the filters.
    pub keys: u64,
    /// The fraction of probing rows that have a match.
    pub matching: f64,
}

/// The two kinds of Bloom filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// H bits anywhere, with one array and one ALU for each.
    Bloom,
    /// H bits of one register, with one array, one ALU and a table of masks.
    RegisterBloom,
}

/// A filter of `bits` bits in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The kind of filter.
    pub filter: Filter,
    /// The number of bits M.
    pub bits: u64,
    /// The number of hashes H.
    pub hashes: u32,
}

impl Size {
    /// Returns the number of hash bits that select a mask of a register Bloom filter.
    #[must_use]
    pub fn mask_bits(&self) -> u8 {
        rates::masks(self.hashes).log2().ceil().clamp(4.0, 16.0) as u8
    }
}

impl Footprint for Size {
    fn demand(&self, limits: &Limits) -> Demand {
        let hashes = u64::from(self.hashes.max(1));
        match self.filter {
            Filter::Bloom => {
                let arrays = Arrays::side_by_side(hashes, self.bits.div_ceil(hashes));
                arrays.split(limits).demand(limits, 1, 2)
            }
            Filter::RegisterBloom => {
                let masks = rates::masks(self.hashes) as u64 * u64::from(rates::REGISTER_BITS);
                let arrays = Arrays::side_by_side(1, self.bits).split(limits);
                let demand = arrays.demand(limits, rates::REGISTER_BITS, 1);
                Demand { sram_bits: demand.sram_bits + masks, ..demand }
            }
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let filter = match self.filter {
            Filter::Bloom => "join-bloom",
            Filter::RegisterBloom => "join-register-bloom",
        };
        write!(f, "{filter}, M = {} KiB, H = {}", self.bits / 8 / 1024, self.hashes)
    }
}

impl Planning for Goal {
    type Size = Size;

    fn check(&self) -> Result<(), PlanError> {
        positive(&[self.keys])?;
        fraction(self.matching)
    }

    fn candidates(&self, _: &Limits) -> Vec<Size> {
        let of = |bits: u64| {
            // Each hash has one array of 2^k bits. Unequal arrays reach further sizes with few hashes, such as 4 MB
            // with 3. But 4 equal arrays are 4 MB too, and have fewer false positives as long as a filter is worth
            // its memory.
            let bloom = (1..=8).map(move |hashes| Size {
                filter: Filter::Bloom,
                bits: bits * u64::from(hashes),
                hashes,
            });
            // With four bits out of 64 the masks already take 40 MB.
            let register_bloom =
                (1..=3).map(move |hashes| Size { filter: Filter::RegisterBloom, bits, hashes });
            bloom.chain(register_bloom)
        };
        (10..=34).map(|exponent| 1 << exponent).flat_map(of).collect()
    }

    fn pruned(&self, size: &Size) -> Option<f64> {
        let rate = match size.filter {
            Filter::Bloom => rates::bloom_rate(size.bits, size.hashes, self.keys),
            Filter::RegisterBloom => rates::register_bloom_rate(size.bits, size.hashes, self.keys),
        };
        Some(rates::pruned(self.matching, rate))
    }

    /// The program is an inner join of narrow keys whose small table comes first.
    fn program(&self, size: &Size) -> Result<Program, ConfigError> {
        let shape = Shape::new(Kind::Inner, Passes::SmallFirst, false);
        match size.filter {
            Filter::Bloom => {
                let cells = narrow(size.bits / u64::from(size.hashes.max(1)));
                Ok(bloom::Config::new(shape, cells, size.hashes)?.program())
            }
            Filter::RegisterBloom => {
                let words = narrow(size.bits / u64::from(rates::REGISTER_BITS));
                let bits = size.mask_bits();
                Ok(register_bloom::Config::new(shape, words, size.hashes, bits)?.program())
            }
        }
    }
}
