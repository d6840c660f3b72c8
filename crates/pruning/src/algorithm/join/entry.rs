//! What the catalog knows of JOIN.

use super::{Kind, Passes, Shape, bloom, register_bloom};
use crate::ConfigError;
use crate::algorithm::catalog::{
    Carries, Configured, Entry, Paper, Parameters, Released, Sizes, Table2,
};
use crate::algorithm::released;
use crate::theory::{Configuration, JoinFilter};

/// JOIN with a Bloom filter.
pub(crate) const BLOOM: Entry = Entry {
    name: "join-bloom",
    parameters: &["rows", "hashes", "key_bits", "hash_seed", "linear_hash"],
    carries: Carries::KeyOfEither,
    configure: |given| {
        let cells = given.rows_or(1 << 23);
        let config = bloom::Config::new(shape(given)?, cells, given.hashes())?;
        Ok(Configured::JoinBloom(config.with_hashing(given.hashing()?)))
    },
    sizes: Sizes::RowBits { least: 10, greatest: 23 },
    paper: Paper {
        defaults: DEFAULTS,
        table_2: Some(Table2 {
            formulas: ["2", "H", "M", "0"],
            at: Configuration::Join { filter: JoinFilter::Bloom, bits: 4 << 23, hashes: 3 },
        }),
        reason: "3 arrays of 1 MiB, since array sizes are powers of two. An array of Tofino has at most 32 blocks, 0.5 MiB, and a stage 48 with their map RAMs: table 2's 4 MB fit no pipeline that must keep each array in one stage.",
    },
    released: Some(Released {
        parameters: &["rows"],
        program: |given| Ok(released::join(given.row_bits_or(17)?)),
    }),
};

/// JOIN with a register Bloom filter.
pub(crate) const REGISTER_BLOOM: Entry = Entry {
    name: "join-register-bloom",
    parameters: &["rows", "hashes", "key_bits", "hash_seed", "linear_hash"],
    carries: Carries::KeyOfEither,
    configure: |given| {
        let words = given.rows_or(1 << 19);
        let config = register_bloom::Config::new(shape(given)?, words, given.hashes(), 16)?;
        Ok(Configured::JoinRegisterBloom(config.with_hashing(given.hashing()?)))
    },
    sizes: Sizes::RowBits { least: 8, greatest: 19 },
    paper: Paper {
        defaults: DEFAULTS,
        table_2: Some(Table2 {
            formulas: ["1", "1", "M + C(64,H)×64b", "0"],
            at: Configuration::Join { filter: JoinFilter::RegisterBloom, bits: 4 << 23, hashes: 3 },
        }),
        reason: "Mixing the hash, choosing the mask, the word, comparing and dropping are stages; a stateful ALU cannot test (word & mask) == mask. A word is two arrays of 32 bits. 0.5 MiB to an array, as for the Bloom filter.",
    },
    released: None,
};

const DEFAULTS: &str = "M = 4 MB, H = 3";

fn shape(given: &Parameters) -> Result<Shape, ConfigError> {
    Ok(Shape::new(Kind::Inner, Passes::SmallFirst, given.wide_or(false)?))
}
