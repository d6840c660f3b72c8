//! Packets of the protocol as datagrams, big-endian.
//!
//! Every datagram begins with the packet of Figure 4 ([`crate::switch::Packet`]). An entry's has the epoch and the
//! values that the program parses. All others have no values, and the switch lets them pass. The switch ignores the
//! bytes behind it:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | kind |
//! | 2, 2, 1 | query, worker, pass |
//! | entry: 4, 1, 8, 8 | epoch in which it was first sent, table, key, value |
//! | ACK of the master: 4, 4 | epoch, newest boot; the header has the identifier |
//! | FIN, RESTART: 4 | attempt |
//! | GO: 4, 4, 4, 2, 8 each | attempt, part, parts, number of keys, keys |
//!
//! The switch acknowledges by sending the entry back, so a worker reads an entry as an ACK; the epoch in its header
//! was replaced by the number of the boot. A GO with 0 parts requests all keys.

use super::fast_path::packet;
use super::packet::{Entry, Name, Packet};
use super::query::Query;
use crate::algorithm::catalog::PacketContents;
use crate::switch;

const ENTRY: u8 = 1;
const ACK: u8 = 2;
const FIN: u8 = 3;
const GO: u8 = 4;
const RESTART: u8 = 5;

/// The flow of entries that no program processes.
const UNSERVED: u16 = u16::MAX;

/// The number of keys in a part of a GO, which keeps a datagram below the 1,472 bytes of an Ethernet frame.
const KEYS: usize = 128;

/// The layout of a query's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wire {
    query: Query,
    /// The number of values that the program parses, without the epoch.
    values: usize,
}

/// The content of a datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Datagram {
    /// A whole packet.
    Whole(Packet),
    /// Part `part` (from 0) of the `parts` parts of a GO.
    Part { query: u16, worker: u16, pass: u8, attempt: u32, part: u32, parts: u32, keys: Vec<u64> },
}

impl Wire {
    /// Creates the layout for a query whose program parses `values` values.
    pub(super) const fn new(query: Query, values: usize) -> Self {
        Self { query, values }
    }

    /// Returns the values that packets carry, which determine the flows of a worker.
    pub(super) const fn packet_contents(self) -> PacketContents {
        self.query.packet_contents()
    }

    /// Adds the datagrams of a packet to `out`: one, or several for a GO with many keys.
    pub(super) fn write(self, packet: &Packet, out: &mut Vec<Vec<u8>>) {
        match packet {
            Packet::Entry { name, entry, stamp: _ } => out.push(self.entry(name, entry)),
            Packet::Ack { name, stamp } => {
                let mut bytes = head(name.id, ACK, name.query, name.fid, name.pass);
                bytes.extend(name.epoch.to_be_bytes());
                bytes.extend(stamp.to_be_bytes());
                out.push(bytes);
            }
            Packet::Fin { query, fid, pass, attempt } => {
                let mut bytes = head(0, FIN, *query, *fid, *pass);
                bytes.extend(attempt.to_be_bytes());
                out.push(bytes);
            }
            Packet::Restart { query, fid, attempt } => {
                let mut bytes = head(0, RESTART, *query, *fid, 0);
                bytes.extend(attempt.to_be_bytes());
                out.push(bytes);
            }
            Packet::Go { query, fid, pass, attempt, keys } => {
                let keys: Option<Vec<u64>> = keys.as_ref().map(|k| k.iter().copied().collect());
                let mut parts: Vec<&[u64]> = match &keys {
                    None => Vec::new(),
                    Some(keys) => keys.chunks(KEYS).collect(),
                };
                let count = match &keys {
                    None => 0,
                    Some(_) => parts.len().max(1),
                };
                // No key is requested, or all are; either is a single datagram.
                if parts.is_empty() {
                    parts.push(&[]);
                }
                for (part, keys) in (0u32..).zip(parts) {
                    let mut bytes = head(0, GO, *query, *fid, *pass);
                    bytes.extend(attempt.to_be_bytes());
                    bytes.extend(part.to_be_bytes());
                    bytes.extend((count as u32).to_be_bytes());
                    bytes.extend((keys.len() as u16).to_be_bytes());
                    bytes.extend(keys.iter().flat_map(|key| key.to_be_bytes()));
                    out.push(bytes);
                }
            }
        }
    }

    fn entry(self, name: &Name, entry: &Entry) -> Vec<u8> {
        let parsed = packet(self.query, name, entry, self.values);
        let (fid, words) = match parsed {
            Some((role, words)) if self.query == Query::Join => (4 * name.fid + role, words),
            Some((_, words)) => (name.fid, words),
            // The entry must have its turn like all others; key 0 is never held.
            None if self.query.holds() && entry.pass == 0 => (name.fid, [0; 3]),
            None => (UNSERVED, [0; 3]),
        };
        let mut values = vec![name.epoch];
        values.extend_from_slice(words.get(..self.values).unwrap_or_default());
        // There are at most four values.
        let header = switch::Packet::new(fid, name.id, values).encode();
        let mut bytes = header.unwrap_or_default();
        tail(&mut bytes, ENTRY, name.query, name.fid, name.pass);
        bytes.extend(name.epoch.to_be_bytes());
        bytes.push(entry.table);
        bytes.extend(entry.key.to_be_bytes());
        bytes.extend(entry.value.to_be_bytes());
        bytes
    }

    /// Reads a datagram to a worker, where an entry is an acknowledgement.
    pub(super) fn to_worker(self, bytes: &[u8]) -> Option<Datagram> {
        match self.read(bytes)? {
            Datagram::Whole(Packet::Entry { name, stamp, .. }) => {
                Some(Datagram::Whole(Packet::Ack { name, stamp }))
            }
            other => Some(other),
        }
    }

    /// Reads a datagram. Returns `None` if it does not belong to this protocol.
    pub(super) fn read(self, bytes: &[u8]) -> Option<Datagram> {
        let header = switch::Packet::parse(bytes).ok()?;
        let mut rest = Reader(bytes.get(switch::HEADER_BYTES + 4 * header.values.len()..)?);
        let kind = rest.number::<1>()? as u8;
        let (query, fid) = (rest.number::<2>()? as u16, rest.number::<2>()? as u16);
        let pass = rest.number::<1>()? as u8;
        let name = |epoch| Name { query, fid, pass, id: header.id, epoch };
        let packet = match kind {
            ENTRY => {
                let stamp = *header.values.first()?;
                let epoch = rest.number::<4>()? as u32;
                let table = rest.number::<1>()? as u8;
                let (key, value) = (rest.number::<8>()?, rest.number::<8>()?);
                let entry = Entry { pass, table, key, value };
                Packet::Entry { name: name(epoch), entry, stamp }
            }
            ACK => {
                let (epoch, stamp) = (rest.number::<4>()? as u32, rest.number::<4>()? as u32);
                Packet::Ack { name: name(epoch), stamp }
            }
            FIN => Packet::Fin { query, fid, pass, attempt: rest.number::<4>()? as u32 },
            RESTART => Packet::Restart { query, fid, attempt: rest.number::<4>()? as u32 },
            GO => {
                let attempt = rest.number::<4>()? as u32;
                let (part, parts) = (rest.number::<4>()? as u32, rest.number::<4>()? as u32);
                let count = rest.number::<2>()?;
                let keys = (0..count).map(|_| rest.number::<8>()).collect::<Option<Vec<_>>>()?;
                if parts == 0 {
                    return Some(Datagram::Whole(Packet::Go {
                        query,
                        fid,
                        pass,
                        attempt,
                        keys: None,
                    }));
                }
                if part >= parts {
                    return None;
                }
                return Some(Datagram::Part {
                    query,
                    worker: fid,
                    pass,
                    attempt,
                    part,
                    parts,
                    keys,
                });
            }
            _ => return None,
        };
        Some(Datagram::Whole(packet))
    }
}

/// Returns the worker that a datagram comes from or goes to.
pub(super) fn worker(bytes: &[u8]) -> Option<u16> {
    let values = usize::from(*bytes.get(switch::HEADER_BYTES - 1)?);
    let mut rest = Reader(bytes.get(switch::HEADER_BYTES + 4 * values + 3..)?);
    Some(rest.number::<2>()? as u16)
}

/// Returns the bytes behind the header.
pub(super) fn payload(bytes: &[u8]) -> &[u8] {
    let values = bytes.get(switch::HEADER_BYTES - 1).map_or(0, |n| usize::from(*n));
    bytes.get(switch::HEADER_BYTES + 4 * values..).unwrap_or_default()
}

fn head(id: u32, kind: u8, query: u16, worker: u16, pass: u8) -> Vec<u8> {
    let mut bytes = switch::Packet::new(UNSERVED, id, []).encode().unwrap_or_default();
    tail(&mut bytes, kind, query, worker, pass);
    bytes
}

fn tail(bytes: &mut Vec<u8>, kind: u8, query: u16, worker: u16, pass: u8) {
    bytes.push(kind);
    bytes.extend(query.to_be_bytes());
    bytes.extend(worker.to_be_bytes());
    bytes.push(pass);
}

/// A reader of big-endian numbers.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number<const N: usize>(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    const NAME: Name = Name { query: 3, fid: 2, pass: 1, id: 77, epoch: 5 };

    fn written(wire: Wire, packet: &Packet) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        wire.write(packet, &mut out);
        out
    }

    #[test]
    fn what_is_written_is_read() {
        let wire = Wire::new(Query::GroupByMax, 2);
        let entry = Entry { pass: 1, table: 1, key: 1 << 40, value: 9 };
        let keys = |count: u64| Some(Arc::new((0..count).collect::<BTreeSet<u64>>()));
        for packet in [
            Packet::Entry { name: NAME, entry, stamp: 5 },
            Packet::Ack { name: NAME, stamp: 6 },
            Packet::Fin { query: 3, fid: 2, pass: 1, attempt: 4 },
            Packet::Restart { query: 3, fid: 2, attempt: 4 },
            Packet::Go { query: 3, fid: 2, pass: 1, attempt: 4, keys: None },
        ] {
            let bytes = written(wire, &packet);
            assert_eq!(bytes.len(), 1);
            assert_eq!(worker(&bytes[0]), Some(2));
            assert_eq!(wire.read(&bytes[0]), Some(Datagram::Whole(packet)));
        }
        for (count, parts) in [(0, 1), (1, 1), (128, 1), (129, 2), (1000, 8)] {
            let go = Packet::Go { query: 3, fid: 2, pass: 1, attempt: 4, keys: keys(count) };
            let mut found = BTreeSet::new();
            let bytes = written(wire, &go);
            assert_eq!(bytes.len(), parts);
            for bytes in bytes {
                assert!(bytes.len() <= 1472);
                let Some(Datagram::Part { parts: all, keys, .. }) = wire.read(&bytes) else {
                    panic!("no part");
                };
                assert_eq!(all as usize, parts);
                found.extend(keys);
            }
            assert_eq!(found.len() as u64, count);
        }
    }

    /// The header is what the program parses: epoch, key, value. A worker reads it as an acknowledgement.
    #[test]
    fn an_entry_begins_with_the_packet_of_figure_4() {
        let wire = Wire::new(Query::GroupByMax, 2);
        let entry = Entry { pass: 0, table: 0, key: 7, value: 8 };
        let name = Name { pass: 0, ..NAME };
        let bytes = written(wire, &Packet::Entry { name, entry, stamp: 0 }).remove(0);
        assert_eq!(switch::Packet::parse(&bytes), Ok(switch::Packet::new(2, 77, [5, 7, 8])));
        let ack = Datagram::Whole(Packet::Ack { name, stamp: 5 });
        assert_eq!(wire.to_worker(&bytes), Some(ack));
        let join = Wire::new(Query::Join, 1);
        let entry = Entry { pass: 1, table: 1, ..entry };
        let bytes = written(join, &Packet::Entry { name: NAME, entry, stamp: 0 }).remove(0);
        assert_eq!(switch::Packet::parse(&bytes), Ok(switch::Packet::new(11, 77, [5, 7])));
        // The second pass of HAVING is not processed by any program.
        let having = Wire::new(Query::HavingSum { above: 3 }, 2);
        let bytes = written(having, &Packet::Entry { name: NAME, entry, stamp: 0 }).remove(0);
        assert_eq!(switch::Packet::parse(&bytes).unwrap().fid, UNSERVED);
        // An entry that cannot be summed still has its turn.
        let sums = Wire::new(Query::GroupSum { cells: 3 }, 2);
        let entry = Entry { pass: 0, key: 1 << 40, ..entry };
        let bytes = written(sums, &Packet::Entry { name, entry, stamp: 0 }).remove(0);
        assert_eq!(switch::Packet::parse(&bytes), Ok(switch::Packet::new(2, 77, [5, 0, 0])));
    }

    proptest! {
        #[test]
        fn hostile_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let wire = Wire::new(Query::Distinct, 1);
            let _ = (wire.read(&bytes), wire.to_worker(&bytes), worker(&bytes), payload(&bytes));
        }
    }
}
