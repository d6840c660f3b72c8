//! Hash units: cyclic redundancy checks over packet fields, as switch hardware computes them.
//!
//! A CRC is affine over the bits of its input, so the contribution of each input byte is a table lookup, and the
//! contributions are XOR-ed. The hardware's hash matrix works this way, and so does [`HashTable`].
//!
//! Rows that must be independent use *different polynomials* ([`POLYNOMIALS`]). One polynomial over `key + offset` is
//! not a family of hashes: if the addition carries nothing, the offset only XORs a constant into the result, and keys
//! that collide once collide in every row.

use serde::{Deserialize, Serialize};

use super::program::{FieldId, mask};

/// Degree-32 polynomials for hash units, in normal notation without the leading term. Each has a constant term, so
/// that the CRC of a 32-bit key is a bijection.
///
/// The first is the one of Ethernet and zlib. The others were found by search, because a polynomial that detects
/// errors well is not necessarily a good hash: a table keeps only the *low* bits of the CRC, and keys are often small
/// numbers or strides. With CRC-32C the low 2 bits depend on too few low key bits, with CRC-32Q the low 9 to 14; with
/// the sparse XFER polynomial none of the low 12 bits depends on the last byte at all. Whole rows of a matrix would
/// stay empty. With the polynomials here, the low `k` bits (`k` up to 24) have full rank over the low `k + 3` key
/// bits, and any two polynomials jointly over the low `2k + 4`, so that they are independent as rows. A test checks
/// it.
pub const POLYNOMIALS: [u32; 16] = [
    0x04C1_1DB7,
    0xF192_2815,
    0xE145_4C41,
    0x19FC_FC65,
    0x1A6E_72B9,
    0x6D68_3CF9,
    0xCE3A_D2B3,
    0xB4AE_3DD3,
    0x4B21_6F91,
    0x92E6_2E73,
    0x1970_860B,
    0xC2B3_5455,
    0x5A80_B3D5,
    0xFE77_5173,
    0xBAFA_5523,
    0xA934_D44D,
];

/// The polynomials of the first of two rounds with seed 0, from which other seeds derive theirs: CRC-32C, and CRC-32K
/// of Koopman. See [`Hashing`](crate::algorithm::hashing::Hashing).
pub const MIXING_POLYNOMIALS: [u32; 2] = [0x1EDC_6F41, 0x741B_8CD7];

/// A hash unit: a CRC over some fields, of which the low bits are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hash {
    /// The unit's name, a P4 identifier, unique in the program.
    pub name: String,
    /// The polynomial of degree 32, in normal notation.
    pub polynomial: u32,
    /// The CRC register before the first bit, in normal notation; Ethernet's is all ones. The result is inverted.
    pub initial: u32,
    /// The fields, most significant byte first, each padded to whole bytes.
    pub inputs: Vec<FieldId>,
    /// The number of low bits of the CRC that are the result, 1 to 32.
    pub bits: u8,
}

/// Returns the reflected CRC of `bytes` with any polynomial of degree 32 (normal notation). The initial value and the
/// final XOR are all ones, as in Ethernet and zlib.
#[must_use]
pub fn crc32(polynomial: u32, bytes: &[u8]) -> u32 {
    crc32_from(u32::MAX, polynomial, bytes)
}

/// Like [`crc32`], but with another initial value (normal notation).
#[must_use]
pub fn crc32_from(initial: u32, polynomial: u32, bytes: &[u8]) -> u32 {
    let reflected = polynomial.reverse_bits();
    let mut crc = initial.reverse_bits();
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ reflected } else { crc >> 1 };
        }
    }
    !crc
}

/// A hash unit compiled to one lookup per input byte.
#[derive(Debug, Clone)]
pub struct HashTable {
    /// The CRC of an all-zero input, under the mask.
    base: u32,
    /// For each input byte, the CRC bits that each of its values flips.
    bytes: Vec<[u32; 256]>,
}

impl HashTable {
    /// Compiles the CRC with `polynomial` and the initial value `initial` over `length` bytes,
    /// keeping the low `bits` bits.
    #[must_use]
    pub fn new(polynomial: u32, initial: u32, length: usize, bits: u8) -> Self {
        let mut input = vec![0; length];
        let base = crc32_from(initial, polynomial, &input);
        let bytes = (0..length)
            .map(|position| {
                // A CRC is affine: the bits that a value flips are the XOR of what its bits flip.
                let of_bits: [u32; 8] = std::array::from_fn(|bit| {
                    input[position] = 1 << bit;
                    (crc32_from(initial, polynomial, &input) ^ base) & mask(bits)
                });
                input[position] = 0;
                let mut flips = [0; 256];
                for value in 1..256_usize {
                    let rest = value & (value - 1);
                    flips[value] = flips[rest] ^ of_bits[value.trailing_zeros() as usize];
                }
                flips
            })
            .collect();
        Self { base: base & mask(bits), bytes }
    }

    /// Returns the CRC bits that each value of the input byte at `position` flips.
    #[must_use]
    pub fn byte(&self, position: usize) -> &[u32; 256] {
        &self.bytes[position]
    }

    /// Returns the hash of an all-zero input.
    #[must_use]
    pub const fn base(&self) -> u32 {
        self.base
    }

    /// Hashes `words`, each given with its width in bytes, most significant byte first.
    pub(crate) fn hash(&self, words: impl Iterator<Item = (u32, usize)>) -> u32 {
        let mut result = self.base;
        let mut tables = self.bytes.iter();
        for (word, width) in words {
            for byte in &word.to_be_bytes()[4 - width..] {
                if let Some(flips) = tables.next() {
                    result ^= flips[usize::from(*byte)];
                }
            }
        }
        result
    }
}

/// Returns the number of bytes that a field of `bits` bits takes as a hash input.
#[must_use]
pub const fn input_bytes(bits: u8) -> usize {
    bits.div_ceil(8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values_of_the_crc_catalogue() {
        for (polynomial, expected) in [
            (0x04C1_1DB7, 0xCBF4_3926),
            (0x1EDC_6F41, 0xE306_9283),
            (0xA833_982B, 0x8731_5576),
            (0xF4AC_FB13, 0x1697_D06A),
        ] {
            assert_eq!(crc32(polynomial, b"123456789"), expected, "{polynomial:08x}");
        }
    }

    #[test]
    fn tables_equal_the_bitwise_form() {
        for polynomial in POLYNOMIALS {
            let initial = polynomial.rotate_left(9);
            let table = HashTable::new(polynomial, initial, 6, 17);
            for i in 0..50_u32 {
                let (fid, id) = ((i * 77) & 0xFFFF, i.wrapping_mul(0x9E37_79B9));
                let mut bytes = fid.to_be_bytes()[2..].to_vec();
                bytes.extend(id.to_be_bytes());
                assert_eq!(
                    table.hash([(fid, 2), (id, 4)].into_iter()),
                    crc32_from(initial, polynomial, &bytes) & 0x1FFFF
                );
            }
        }
    }

    /// Returns the rank over GF(2) of rows of bits.
    fn rank(mut rows: Vec<u64>) -> usize {
        let mut rank = 0;
        while let Some(pivot) = rows.pop() {
            if pivot != 0 {
                rank += 1;
                let lowest = pivot & pivot.wrapping_neg();
                rows.iter_mut().filter(|row| **row & lowest != 0).for_each(|row| *row ^= pivot);
            }
        }
        rank
    }

    /// Returns the CRC bits that each key bit flips.
    fn flips(polynomial: u32) -> Vec<u64> {
        let base = crc32(polynomial, &[0; 4]);
        (0..32)
            .map(|bit| u64::from(crc32(polynomial, &(1_u32 << bit).to_be_bytes()) ^ base))
            .collect()
    }

    #[test]
    fn low_bits_of_every_polynomial_spread_small_keys() {
        for polynomial in POLYNOMIALS {
            let flips = flips(polynomial);
            for k in 1..=24 {
                let rows = flips.iter().take(k + 3).map(|f| f & ((1 << k) - 1)).collect();
                assert_eq!(rank(rows), k, "{polynomial:08x}");
            }
        }
        let sparse = flips(0x0000_00AF);
        assert_eq!(
            rank(sparse.iter().take(8).map(|f| f & 0xFFF).collect()),
            0,
            "XFER wastes the last byte"
        );
    }

    #[test]
    fn polynomials_are_independent_in_pairs() {
        for (i, &p) in POLYNOMIALS.iter().enumerate() {
            for &q in &POLYNOMIALS[..i] {
                for k in [4, 8, 10, 12, 13] {
                    let low = (1 << k) - 1;
                    let joint = flips(p)
                        .iter()
                        .zip(flips(q))
                        .map(|(a, b)| a & low | (b & low) << k)
                        .collect::<Vec<_>>();
                    assert_eq!(
                        rank(joint[..(2 * k + 4).min(32)].to_vec()),
                        2 * k,
                        "{p:08x} {q:08x}"
                    );
                }
            }
        }
    }
}
