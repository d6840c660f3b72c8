//! The row of a matrix that a hash chooses.
//!
//! If the number of rows is a power of two, the low bits of a hash are the row. Otherwise, as with the paper's d =
//! 1000, 600 and 481, a table maps each of 2¹⁶ hashes h to row ⌊h·d / 2¹⁶⌋; that costs two stages and 65,536 exact
//! entries. A row then gets ⌊2¹⁶/d⌋ hashes or one more, so with at most 1024 rows none is chosen more than 1.6 % more
//! often than by chance. For a theorem, such a matrix has [`even_rows`] rows.

use crate::ConfigError;
use crate::algorithm::config::{MAX_ROWS, in_range, index_bits, power_of_two};
use crate::switch::{
    Action, Builder, Entry, FieldId, Index, Key, Op, Operand, POLYNOMIALS, Pattern, Table,
};

/// Bits of a hash that a table maps to a row.
const MAPPED_BITS: u8 = 16;
/// The greatest number of rows that is not a power of two.
pub(crate) const MOST_MAPPED: u32 = 1024;

/// Checks that `rows` is a power of two, or at most [`MOST_MAPPED`].
pub(crate) fn rows_in_range(rows: u32) -> Result<u32, ConfigError> {
    let mapped = (2..=MOST_MAPPED).contains(&rows);
    match rows {
        _ if mapped => Ok(rows),
        0 | 1 => in_range("rows", rows, 2, MAX_ROWS),
        _ => power_of_two("rows, if more than 1024,", rows),
    }
}

/// Returns the number of bits of the hash that chooses a row.
pub(crate) const fn hash_bits(rows: u32) -> u8 {
    if rows.is_power_of_two() { index_bits(rows) } else { MAPPED_BITS }
}

/// Returns the row of a hash of [`hash_bits`] bits.
#[inline]
pub(crate) const fn row_of(hash: u32, rows: u32) -> usize {
    ((hash as u64 * rows as u64) >> hash_bits(rows)) as usize
}

/// Returns the number of rows for which the theorems hold, which assume rows chosen evenly. In an even matrix of that
/// size, no row is likelier than the likeliest of these.
///
/// ```
/// use sluicegate_pruning::algorithm::rows::even_rows;
///
/// assert_eq!([4096, 1000, 600, 481].map(even_rows), [4096, 992, 595, 478]);
/// ```
#[must_use]
pub const fn even_rows(rows: u32) -> u32 {
    if rows.is_power_of_two() || rows == 0 {
        return rows;
    }
    let hashes = 1_u32 << MAPPED_BITS;
    hashes / hashes.div_ceil(rows)
}

/// Adds the tables that choose a row by a hash over `inputs`, and returns the row as an index.
pub(crate) fn choose(b: &mut Builder, rows: u32, inputs: Vec<FieldId>) -> Index {
    let hash = b.hash("row", POLYNOMIALS[0], inputs, hash_bits(rows));
    if rows.is_power_of_two() {
        return Index::Hash(hash);
    }
    let hashed = b.field("row_hash", MAPPED_BITS);
    let row = b.field("row_number", (u32::BITS - (rows - 1).leading_zeros()) as u8);
    b.stage();
    let set = [Op::set(hashed, Operand::Hash(hash))];
    b.table(Table::always("hash_row", Action::compute("hash", set)));
    b.stage();
    let entries = (0..1_u32 << MAPPED_BITS)
        .map(|hash| Entry::new([Pattern::exactly(hash)], 0).with([row_of(hash, rows) as u32]));
    let set = vec![Action::compute("set", [Op::set(row, Operand::Arg(0))])];
    b.table(Table::matching("map_row", vec![Key::exact(hashed)], set, entries.collect()));
    Index::Field(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ties;
    use crate::algorithm::distinct::{self, Policy, Width};
    use crate::algorithm::top_n::randomized;
    use crate::experiment::check::check;
    use crate::rng::Rng;
    use crate::switch::{Packet, Target, fit};

    #[test]
    fn rows_are_as_even_as_they_get() {
        for rows in [3, 481, 600, 1000, 1023] {
            let mut hashes = vec![0_u32; rows as usize];
            (0..1 << MAPPED_BITS).for_each(|hash| hashes[row_of(hash, rows)] += 1);
            let (least, most) = (hashes.iter().min().unwrap(), hashes.iter().max().unwrap());
            assert!(most - least <= 1, "{rows}: {least} {most}");
            assert!(f64::from(*most) * f64::from(rows) / 65536.0 < 1.016);
            assert!(f64::from(even_rows(rows)) <= 65536.0 / f64::from(*most));
        }
        assert!((0..64).all(|hash| row_of(hash, 64) == hash as usize));
        for refused in [0, 1, 1025, 4095, 1 << 27] {
            assert!(rows_in_range(refused).is_err(), "{refused}");
        }
    }

    /// In the matrices of the paper's examples, program and fast path agree.
    #[test]
    fn the_papers_matrices_run_and_fit() {
        let mut rng = Rng::new(7);
        let packets: Vec<Packet> =
            (0..20_000).map(|id| Packet::new(3, id, [rng.below(9_000) as u32])).collect();
        for (rows, columns) in [(600, 16), (481, 19), (1000, 24)] {
            let roomy = Target { stages: 40, ..Target::tofino2() };
            let top_n = randomized::Config::new(rows, columns, Ties::Keep, 5).unwrap();
            check(&top_n.program(), &mut top_n.pruner(), &packets).unwrap();
            let distinct =
                distinct::Config::new(rows, columns, Width::Bits32, Policy::Lru).unwrap();
            check(&distinct.program(), &mut distinct.pruner(), &packets).unwrap();
            // Two stages more than a power of two.
            let even = distinct::Config::new(1024, columns, Width::Bits32, Policy::Lru).unwrap();
            let stages = |config: &distinct::Config| {
                fit(&config.program(), &roomy).map(|placed| placed.stages.len())
            };
            assert_eq!(stages(&distinct), stages(&even).map(|stages| stages + 2));
        }
    }
}
