//! The packet of the paper's Figure 4: flow, entry identifier, number of values, values.

use thiserror::Error;

/// Number of bytes before the values: `fid` (2), `id` (4), `n` (1).
pub const HEADER_BYTES: usize = 7;

/// One packet as the switch parses it, after Ethernet, IP and UDP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Packet {
    /// The flow: the query, side or worker that the packet belongs to.
    pub fid: u16,
    /// The entry's position in its flow; also the sequence number of the transport.
    pub id: u32,
    /// The values, at most 255.
    pub values: Vec<u32>,
}

/// The reason why bytes are not a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PacketError {
    /// The bytes end within the header or the values.
    #[error("packet has {actual} bytes, needs {needed}")]
    Truncated {
        /// The number of bytes given.
        actual: usize,
        /// The number of bytes that the header announces.
        needed: usize,
    },
    /// More values than `n` can count.
    #[error("a packet carries at most 255 values, not {0}")]
    TooManyValues(usize),
}

impl Packet {
    /// Creates a packet from its parts.
    #[must_use]
    pub fn new(fid: u16, id: u32, values: impl Into<Vec<u32>>) -> Self {
        Self { fid, id, values: values.into() }
    }

    /// Writes the packet, big-endian.
    ///
    /// # Errors
    ///
    /// If it carries more than 255 values.
    pub fn encode(&self) -> Result<Vec<u8>, PacketError> {
        let n = u8::try_from(self.values.len())
            .map_err(|_| PacketError::TooManyValues(self.values.len()))?;
        let mut bytes = Vec::with_capacity(HEADER_BYTES + 4 * self.values.len());
        bytes.extend(self.fid.to_be_bytes());
        bytes.extend(self.id.to_be_bytes());
        bytes.push(n);
        bytes.extend(self.values.iter().flat_map(|value| value.to_be_bytes()));
        Ok(bytes)
    }

    /// Reads one packet from the front of `bytes`; bytes behind its values are payload and ignored.
    ///
    /// # Errors
    ///
    /// If the bytes end too early.
    pub fn parse(bytes: &[u8]) -> Result<Self, PacketError> {
        let truncated = |needed| PacketError::Truncated { actual: bytes.len(), needed };
        let Some((&[f0, f1, i0, i1, i2, i3, n], rest)) = bytes.split_first_chunk::<HEADER_BYTES>()
        else {
            return Err(truncated(HEADER_BYTES));
        };
        let length = 4 * usize::from(n);
        let values = rest.get(..length).ok_or_else(|| truncated(HEADER_BYTES + length))?;
        let values =
            values.as_chunks::<4>().0.iter().map(|chunk| u32::from_be_bytes(*chunk)).collect();
        Ok(Self {
            fid: u16::from_be_bytes([f0, f1]),
            id: u32::from_be_bytes([i0, i1, i2, i3]),
            values,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn layout_is_figure_4() {
        let packet = Packet::new(0x0102, 0x0304_0506, [7, 0x0809_0A0B]);
        assert_eq!(packet.encode().unwrap(), [1, 2, 3, 4, 5, 6, 2, 0, 0, 0, 7, 8, 9, 10, 11]);
    }

    #[test]
    fn truncation_is_told() {
        let bytes = Packet::new(1, 2, [3, 4]).encode().unwrap();
        for length in 0..bytes.len() {
            let needed = if length < HEADER_BYTES { HEADER_BYTES } else { bytes.len() };
            assert_eq!(
                Packet::parse(&bytes[..length]),
                Err(PacketError::Truncated { actual: length, needed })
            );
        }
        assert_eq!(Packet::new(0, 0, vec![0; 256]).encode(), Err(PacketError::TooManyValues(256)));
    }

    proptest! {
        #[test]
        fn parse_inverts_encode(fid: u16, id: u32, values in prop::collection::vec(any::<u32>(), 0..256)) {
            let packet = Packet::new(fid, id, values);
            prop_assert_eq!(Packet::parse(&packet.encode().unwrap()), Ok(packet));
        }

        #[test]
        fn hostile_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Packet::parse(&bytes);
        }
    }
}
