//! Reads lists of numbers in Parquet's encoding DELTA_BINARY_PACKED: blocks of bit-packed differences.

/// The header of a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeltaList {
    miniblocks: usize,
    values_per_miniblock: u64,
    count: u64,
    first: u64,
}

impl DeltaList {
    /// Reads the header of a list.
    pub(super) fn read(bytes: &mut &[u8]) -> Option<Self> {
        let [block, miniblocks, count, first] = [(); 4].map(|()| number(bytes));
        let miniblocks = miniblocks.filter(|n| *n > 0)?;
        Some(Self {
            miniblocks: usize::try_from(miniblocks).ok()?,
            values_per_miniblock: block? / miniblocks,
            count: count?,
            first: first?,
        })
    }

    /// Returns the number of values that the header declares.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Moves past the list. Returns `None` if it does not end in its page.
    pub(super) fn pass(&self, bytes: &mut &[u8]) -> Option<()> {
        // The first value is in the header.
        let mut left = self.count.saturating_sub(1);
        while left > 0 {
            let _least = number(bytes)?;
            let (widths, rest) = bytes.split_at_checked(self.miniblocks)?;
            let mut length = 0_u64;
            for width in widths {
                // A miniblock without values has only a width.
                if left > 0 {
                    let bits = u64::from(*width).checked_mul(self.values_per_miniblock)?;
                    length = length.checked_add(bits / 8)?;
                }
                left = left.saturating_sub(self.values_per_miniblock);
            }
            *bytes = rest.get(usize::try_from(length).ok()?..)?;
        }
        Some(())
    }

    /// Returns the numbers of the list, whose blocks are at the start of `bytes`. The iterator ends early if bytes
    /// are missing.
    pub(super) fn numbers(self, bytes: &[u8]) -> Numbers<'_> {
        Numbers {
            next: (self.count > 0).then_some(unzigzag(self.first)),
            left: self.count.saturating_sub(1),
            passed: self.values_per_miniblock,
            list: self,
            bytes,
            least: 0,
            widths: &[],
            miniblock: &[],
            width: 0,
        }
    }
}

/// An iterator over the numbers of a list; see [`DeltaList::numbers`].
pub(super) struct Numbers<'a> {
    list: DeltaList,
    /// The bytes after the current miniblock.
    bytes: &'a [u8],
    next: Option<i64>,
    /// The number of values after `next`.
    left: u64,
    least: i64,
    /// The bit widths of the remaining miniblocks of the block.
    widths: &'a [u8],
    miniblock: &'a [u8],
    width: u8,
    /// The number of values read from the miniblock, or all of them before the first miniblock.
    passed: u64,
}

impl Iterator for Numbers<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        let given = self.next.take()?;
        if self.left > 0 {
            self.left -= 1;
            self.next = self.difference().map(|difference| given.wrapping_add(difference));
        }
        Some(given)
    }
}

impl Numbers<'_> {
    fn difference(&mut self) -> Option<i64> {
        if self.passed == self.list.values_per_miniblock {
            self.begin_miniblock()?;
        }
        let bit = self.passed.checked_mul(self.width.into())?;
        self.passed += 1;
        let packed = bits(self.miniblock, bit, self.width.into())?;
        Some(self.least.wrapping_add(packed as i64))
    }

    fn begin_miniblock(&mut self) -> Option<()> {
        if self.list.values_per_miniblock == 0 {
            return None;
        }
        if self.widths.is_empty() {
            self.least = unzigzag(number(&mut self.bytes)?);
            (self.widths, self.bytes) = self.bytes.split_at_checked(self.list.miniblocks)?;
        }
        let (width, widths) = self.widths.split_first()?;
        (self.width, self.widths) = (*width, widths);
        let bits = u64::from(*width).checked_mul(self.list.values_per_miniblock)?;
        // The last miniblock may be cut after its last number.
        let length = usize::try_from(bits / 8).ok()?.min(self.bytes.len());
        (self.miniblock, self.bytes) = self.bytes.split_at(length);
        self.passed = 0;
        Some(())
    }
}

/// Reads a number of at most 64 bits, lowest bit first.
fn bits(bytes: &[u8], bit: u64, width: u64) -> Option<u64> {
    if width == 0 {
        return Some(0);
    }
    let from = bytes.get(usize::try_from(bit / 8).ok()?..)?;
    let shift = bit % 8;
    if width > 64 || (from.len() as u64) < (shift + width).div_ceil(8) {
        return None;
    }
    let word = match from.first_chunk() {
        Some(word) => u128::from_le_bytes(*word),
        None => from.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte)),
    };
    let mask = u64::MAX >> (64 - width);
    Some((word >> shift) as u64 & mask)
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Reads a number in groups of seven bits, lowest group first.
pub(super) fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use parquet::basic::Encoding;
    use parquet::file::properties::WriterProperties;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use proptest::prelude::*;

    use super::*;
    use crate::tests::write_parquet;

    proptest! {
        #[test]
        fn numbers_are_those_that_the_library_wrote(
            numbers in prop_oneof![
                prop::collection::vec(any::<i64>(), 1..400),
                prop::collection::vec(-5_i64..1000, 1..400),
                (any::<i64>(), 1_usize..400).prop_map(|(number, count)| vec![number; count]),
            ],
        ) {
            let array: ArrayRef = Arc::new(Int64Array::from(numbers.clone()));
            let batch = RecordBatch::try_from_iter([("n", array)]).unwrap();
            let properties = WriterProperties::builder()
                .set_dictionary_enabled(false)
                .set_encoding(Encoding::DELTA_BINARY_PACKED);
            let object = bytes::Bytes::from(write_parquet(&batch, properties.build()));
            let group = SerializedFileReader::new(object).unwrap().get_row_group(0).map(|group| {
                group.get_column_page_reader(0).unwrap().get_next_page().unwrap().unwrap()
            });
            let page = group.unwrap();
            let mut bytes = super::super::lengths::values(&page, [0, 0]).unwrap();
            let list = DeltaList::read(&mut bytes).unwrap();
            prop_assert_eq!(list.count(), numbers.len() as u64);
            prop_assert_eq!(list.numbers(bytes).collect::<Vec<_>>(), numbers);
            let mut rest = bytes;
            list.pass(&mut rest).unwrap();
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn no_bytes_panic(
            heads in prop::collection::vec(prop_oneof![0_u64..300, any::<u64>()], 4),
            bytes in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut head = heads.into_iter();
            let [block, miniblocks, count, first] = [(); 4].map(|()| head.next().unwrap());
            let list = DeltaList {
                miniblocks: (miniblocks as usize).max(1),
                values_per_miniblock: block / miniblocks.max(1),
                count,
                first,
            };
            list.numbers(&bytes).take(10_000).for_each(drop);
            let _ = list.pass(&mut &bytes[..]);
        }
    }
}
