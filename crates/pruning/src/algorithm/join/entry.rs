//! The catalog entries of JOIN.

use super::plan::{self, Filter, Size};
use super::question::Matches;
use super::{Kind, Passes, Shape, bloom, register_bloom};
use crate::algorithm::catalog::{
    Configured, Entry, Guarantee, PacketContents, Paper, ParameterSpec, Parameters, QuerySize,
    Released, Sizes, Table2,
};
use crate::algorithm::config::power_of_two;
use crate::algorithm::{Pruning, published};
use crate::deployment::Goal;
use crate::experiment::trial::Question;
use crate::switch::Program;
use crate::theory::{Footprint, PruningEstimate, RowStatistics, bloom as rates};
use crate::{ConfigError, Pruner};

/// JOIN with a Bloom filter.
pub(crate) const BLOOM: Entry = Entry {
    name: "join-bloom",
    query: "join",
    sql: "JOIN",
    guarantee: Guarantee::Deterministic,
    parameters: &[
        ParameterSpec::rows("bits of each of the H arrays, of which M is made", 2, "8388608"),
        ParameterSpec::FILTER_BITS,
        ParameterSpec::numbers("hashes", "hashes of a key, H", 1, 16, "3"),
        ParameterSpec::key_bits("32"),
        ParameterSpec::HASH_SEED,
        ParameterSpec::LINEAR_HASH,
    ],
    carries: PacketContents::KeyOfEither,
    configure: |given| {
        let (shape, hashes) = (shape(given)?, given.hashes());
        let config = match (given.rows, given.filter_bits) {
            (Some(_), Some(_)) => {
                return Err(ConfigError::Conflict(
                    "rows are the bits of one of several equal arrays, filter-bits those of all arrays: give one of them",
                ));
            }
            (None, Some(bits)) => {
                bloom::Config::of_bits(shape, power_of_two("filter bits", bits)?, hashes)?
            }
            (rows, None) => bloom::Config::new(shape, rows.unwrap_or(1 << 23), hashes)?,
        };
        Ok(Configured::JoinBloom(config.with_hashing(given.hashing()?)))
    },
    goal,
    sizes: Sizes::RowBits { least: 10, greatest: 23 },
    paper: Paper {
        defaults: DEFAULTS,
        table_2: Some(Table2 {
            formulas: ["2", "H", "M", "0"],
            at: |limits| Size { filter: Filter::Bloom, ..PAPER }.demand(limits),
        }),
        reason: "3 arrays of 1 MiB, since the size of an array is a power of two and equal arrays use memory best; filter-bits 33554432 is 4 MB in arrays of 2, 1 and 1 MiB, of which the largest exceeds a stage's share of the paper's 100 MB. An array of Tofino has at most 32 blocks, 0.5 MiB, and a stage 48 with their map RAMs: table 2's 4 MB fit no pipeline that must keep each array in one stage.",
    },
    released: Some(Released {
        parameters: &["rows"],
        program: |given| Ok(published::join(given.row_bits_or(17)?)),
    }),
};

/// JOIN with a register Bloom filter.
pub(crate) const REGISTER_BLOOM: Entry = Entry {
    name: "join-register-bloom",
    query: "join",
    sql: "JOIN",
    guarantee: Guarantee::Deterministic,
    parameters: &[
        ParameterSpec::rows("words of 64 bits, of which M is made", 2, "524288"),
        ParameterSpec::numbers("hashes", "bits of a key in its word, H", 1, 8, "3"),
        ParameterSpec::key_bits("32"),
        ParameterSpec::HASH_SEED,
        ParameterSpec::LINEAR_HASH,
    ],
    carries: PacketContents::KeyOfEither,
    configure: |given| {
        let words = given.rows_or(1 << 19);
        let config = register_bloom::Config::new(shape(given)?, words, given.hashes(), 16)?;
        Ok(Configured::JoinRegisterBloom(config.with_hashing(given.hashing()?)))
    },
    goal,
    sizes: Sizes::RowBits { least: 8, greatest: 19 },
    paper: Paper {
        defaults: DEFAULTS,
        table_2: Some(Table2 {
            formulas: ["1", "1", "M + C(64,H)×64b", "0"],
            at: |limits| Size { filter: Filter::RegisterBloom, ..PAPER }.demand(limits),
        }),
        reason: "Mixing the hash, choosing the mask, the word, comparing and dropping are stages; a stateful ALU cannot test (word & mask) == mask, Tofino 2's neither, whose masks are constants. A word is two arrays of 32 bits. 0.5 MiB to an array, as for the Bloom filter.",
    },
    released: None,
};

const DEFAULTS: &str = "M = 4 MB, H = 3";

const PAPER: Size = Size { filter: Filter::Bloom, bits: 4 << 23, hashes: 3 };

fn goal(wanted: &QuerySize) -> Box<dyn Goal> {
    Box::new(plan::Goal { keys: wanted.keys, matching: wanted.matching })
}

fn shape(given: &Parameters) -> Result<Shape, ConfigError> {
    Ok(Shape::new(Kind::Inner, Passes::SmallFirst, given.wide_or(false)?))
}

impl Pruning for bloom::Config {
    fn entry(&self) -> &'static Entry {
        &BLOOM
    }

    fn program(&self) -> Program {
        self.program()
    }

    fn pruner(&self) -> Box<dyn Pruner> {
        Box::new(self.pruner())
    }

    fn question(&self) -> Box<dyn Question> {
        Box::new(Matches)
    }

    fn expected(&self, rows: &mut dyn RowStatistics) -> PruningEstimate {
        // The entries of the build side are all forwarded.
        PruningEstimate { unpruned: 1.0, reduced: rows.rows(), reduces: false }
    }

    fn false_positives(&self, keys: u64) -> f64 {
        rates::arrays_rate(&self.arrays(), keys)
    }
}

impl Pruning for register_bloom::Config {
    fn entry(&self) -> &'static Entry {
        &REGISTER_BLOOM
    }

    fn program(&self) -> Program {
        self.program()
    }

    fn pruner(&self) -> Box<dyn Pruner> {
        Box::new(self.pruner())
    }

    fn question(&self) -> Box<dyn Question> {
        Box::new(Matches)
    }

    fn expected(&self, rows: &mut dyn RowStatistics) -> PruningEstimate {
        // The entries of the build side are all forwarded.
        PruningEstimate { unpruned: 1.0, reduced: rows.rows(), reduces: false }
    }

    fn false_positives(&self, keys: u64) -> f64 {
        let bits = u64::from(self.words()) * u64::from(rates::REGISTER_BITS);
        rates::register_bloom_rate(bits.max(1), self.hashes(), keys)
    }
}
