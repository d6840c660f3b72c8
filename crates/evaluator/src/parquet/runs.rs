//! Reads small numbers in Parquet's hybrid encoding: runs of one repeated number, and bit-packed runs.

use bytes::Bytes;

/// The numbers of a page, in order.
pub(super) struct Runs {
    bytes: Bytes,
    /// The byte position of the next run.
    next: usize,
    /// The number of bits of a number, at most 32.
    width: u32,
    run: Run,
    /// The number of values left in the run.
    left: usize,
}

enum Run {
    /// A repeated number.
    Same(u32),
    /// Bit-packed numbers from this bit on.
    Packed(usize),
}

impl Runs {
    /// Reads numbers of `width` bits; returns `None` if that is more than 32.
    pub(super) fn new(bytes: Bytes, width: u32) -> Option<Self> {
        (width <= u32::BITS).then_some(Self { bytes, next: 0, width, run: Run::Same(0), left: 0 })
    }

    /// Fills `out` with numbers; returns `None` if there are too few.
    pub(super) fn read(&mut self, mut out: &mut [u32]) -> Option<()> {
        while !out.is_empty() {
            if self.left == 0 {
                self.begin_run()?;
            }
            let (now, later) = out.split_at_mut(self.left.min(out.len()));
            match &mut self.run {
                Run::Same(number) => now.fill(*number),
                Run::Packed(bit) => {
                    unpack(&self.bytes, *bit, self.width, now)?;
                    *bit += now.len() * self.width as usize;
                }
            }
            self.left -= now.len();
            out = later;
        }
        Some(())
    }

    /// Returns the number of values left in the current run, and the value if all are the same. Returns `None` if
    /// there are no more runs.
    pub(super) fn peek(&mut self) -> Option<(usize, Option<u32>)> {
        if self.left == 0 {
            self.begin_run()?;
        }
        let same = match self.run {
            Run::Same(number) => Some(number),
            Run::Packed(_) => None,
        };
        Some((self.left, same))
    }

    /// Skips numbers of the current run.
    pub(super) fn pass(&mut self, numbers: usize) {
        let numbers = numbers.min(self.left);
        self.left -= numbers;
        if let Run::Packed(bit) = &mut self.run {
            *bit += numbers * self.width as usize;
        }
    }

    fn begin_run(&mut self) -> Option<()> {
        // Skip empty runs.
        while self.left == 0 {
            let head = self.number()?;
            let count = usize::try_from(head >> 1).ok()?;
            if head & 1 == 1 {
                self.left = count.checked_mul(8)?;
                self.run = Run::Packed(self.next.checked_mul(8)?);
                // The last run of a page may be cut after its last number.
                let bytes = count.checked_mul(self.width as usize)?;
                self.next = self.next.saturating_add(bytes);
            } else {
                let length = self.width.div_ceil(8) as usize;
                let bytes = self.bytes.get(self.next..self.next.checked_add(length)?)?;
                let number =
                    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
                self.next += length;
                (self.run, self.left) = (Run::Same(number), count);
            }
        }
        Some(())
    }

    /// Reads a number in groups of seven bits, lowest group first.
    fn number(&mut self) -> Option<u64> {
        let mut rest = self.bytes.get(self.next..)?;
        let before = rest.len();
        let number = super::delta::number(&mut rest)?;
        self.next += before - rest.len();
        Some(number)
    }
}

/// Unpacks numbers of `width` bits each, at most 32, lowest bit first.
fn unpack(bytes: &[u8], bit: usize, width: u32, out: &mut [u32]) -> Option<()> {
    let bits = width as usize;
    let end = bit.checked_add(out.len().checked_mul(bits)?)?;
    if end.div_ceil(8) > bytes.len() {
        return None;
    }
    // Eight numbers take as many bytes as each has bits. Numbers before a group that begins at a byte, and those
    // after the last group, are read one by one.
    let first = (0..out.len().min(7)).find(|number| (bit + number * bits).is_multiple_of(8));
    let (before, groups) = out.split_at_mut(first.unwrap_or(out.len().min(7)));
    unpack_each(bytes, bit, width, before);
    let bit = bit + before.len() * bits;
    let read = if bit.is_multiple_of(8) {
        unpack_groups(bytes.get(bit / 8..).unwrap_or_default(), width, groups)
    } else {
        0
    };
    unpack_each(bytes, bit + read * bits, width, &mut groups[read..]);
    Some(())
}

fn unpack_each(bytes: &[u8], mut bit: usize, width: u32, out: &mut [u32]) {
    let mask = (1_u64 << width) - 1;
    for number in out {
        let from = bytes.get(bit / 8..).unwrap_or_default();
        let word = match from.first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => from.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        *number = (word >> (bit % 8) & mask) as u32;
        bit += width as usize;
    }
}

/// Reads eight numbers at a time, and returns how many it read.
fn unpack_groups(bytes: &[u8], width: u32, out: &mut [u32]) -> usize {
    macro_rules! of_width {
        ($($width:literal)*) => {
            match width {
                $($width => groups_of::<$width>(bytes, out),)*
                _ => 0,
            }
        };
    }
    of_width!(
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    )
}

fn groups_of<const WIDTH: usize>(mut bytes: &[u8], out: &mut [u32]) -> usize {
    /// Every number lies in the eight bytes from the byte that it begins in.
    const WINDOW: usize = 32 + 8;
    let mask = ((1_u64 << WIDTH) - 1) as u32;
    let mut read = 0;
    for group in out.as_chunks_mut::<8>().0 {
        let Some(window) = bytes.first_chunk::<WINDOW>() else { break };
        for (place, number) in group.iter_mut().enumerate() {
            let bit = place * WIDTH;
            let mut word = [0; 8];
            word.copy_from_slice(&window[bit / 8..bit / 8 + 8]);
            *number = (u64::from_le_bytes(word) >> (bit % 8)) as u32 & mask;
        }
        bytes = &bytes[WIDTH..];
        read += 8;
    }
    read
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn head(number: usize, out: &mut Vec<u8>) {
        let mut number = number;
        while number >= 0x80 {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }

    /// Encodes runs and returns their numbers. The numbers of a pair are repeated, or bit-packed with zeros up to a
    /// multiple of eight.
    fn encode(runs: &[(Vec<u32>, usize)], width: u32) -> (Vec<u8>, Vec<u32>) {
        let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
        for (run, times) in runs {
            if let ([number], 1..) = (&run[..], times) {
                head(times << 1, &mut bytes);
                bytes.extend(&number.to_le_bytes()[..width.div_ceil(8) as usize]);
                numbers.extend(std::iter::repeat_n(*number, *times));
                continue;
            }
            let mut run = run.clone();
            run.resize(run.len().next_multiple_of(8), 0);
            head(((run.len() / 8) << 1) | 1, &mut bytes);
            let mut bits = Vec::new();
            for number in &run {
                bits.extend((0..width).map(|bit| (number >> bit & 1) as u8));
            }
            bytes.extend(
                bits.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit)),
            );
            numbers.extend(run);
        }
        (bytes, numbers)
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(
            width in 0_u32..=32,
            runs in prop::collection::vec((prop::collection::vec(any::<u32>(), 1..40), 0_usize..300), 0..8),
            steps in prop::collection::vec(1_usize..70, 1..20),
        ) {
            let mask = ((1_u64 << width) - 1) as u32;
            let runs: Vec<_> = runs
                .into_iter()
                .map(|(run, times)| (run.into_iter().map(|number| number & mask).collect(), times))
                .collect();
            let (bytes, numbers) = encode(&runs, width);
            let mut read = Runs::new(bytes.into(), width).unwrap();
            let (mut left, mut steps) = (&numbers[..], steps.iter().cycle());
            while !left.is_empty() {
                let (now, later) = left.split_at((*steps.next().unwrap()).min(left.len()));
                let (length, same) = read.peek().unwrap();
                if let Some(number) = same {
                    prop_assert!(left[..length].iter().all(|other| *other == number));
                }
                let mut out = vec![0; now.len()];
                prop_assert!(read.read(&mut out).is_some());
                prop_assert_eq!(&out, now);
                left = later;
            }
            prop_assert!(read.read(&mut [0]).is_none());
        }

        #[test]
        fn no_bytes_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            width in 0_u32..=32,
            count in 0_usize..2000,
        ) {
            let mut runs = Runs::new(bytes.into(), width).unwrap();
            let _ = runs.peek();
            let _ = runs.read(&mut vec![0; count]);
        }
    }

    #[test]
    fn numbers_have_32_bits_at_most() {
        assert!(Runs::new(Bytes::new(), 33).is_none());
    }
}
