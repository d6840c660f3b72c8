//! Frames and captures: Ethernet, IPv4, UDP, and the file format of libpcap.

use sluicegate_pruning::p4::UDP_PORT;

/// Builds an Ethernet frame with an IPv4 packet of `protocol` to UDP port `port`. The UDP checksum is valid.
pub(crate) fn frame(protocol: u8, port: u16, payload: &[u8]) -> Vec<u8> {
    let mut udp = Vec::new();
    udp.extend(40_000_u16.to_be_bytes());
    udp.extend(port.to_be_bytes());
    udp.extend((8 + payload.len() as u16).to_be_bytes());
    udp.extend([0; 2]);
    udp.extend(payload);
    let addresses = [10, 0, 0, 1, 10, 0, 0, 2];
    let mut pseudo = addresses.to_vec();
    pseudo.extend([0, protocol]);
    pseudo.extend((udp.len() as u16).to_be_bytes());
    pseudo.extend(&udp);
    // An all-zero UDP checksum means none, and is sent as all ones.
    let sum = checksum(&pseudo);
    udp[6..8].copy_from_slice(&if sum == 0 { u16::MAX } else { sum }.to_be_bytes());
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    let mut ip = vec![0x45, 0];
    ip.extend((20 + udp.len() as u16).to_be_bytes());
    ip.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
    ip.extend(addresses);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(ip);
    frame.extend(udp);
    frame
}

/// Wraps a packet of the switch in a frame with a valid UDP checksum.
pub(crate) fn cheetah(payload: &[u8]) -> Vec<u8> {
    frame(17, UDP_PORT, payload)
}

/// Wraps a packet whose entries were popped or values rewritten; its UDP checksum is zero, which means none.
pub(crate) fn changed(payload: &[u8]) -> Vec<u8> {
    let mut frame = cheetah(payload);
    frame[14 + 20 + 6..14 + 20 + 8].fill(0);
    frame
}

/// Swaps sender and receiver of a frame; the checksums stay valid.
pub(crate) fn turned(frame: &[u8]) -> Vec<u8> {
    let mut back = frame.to_vec();
    for (at, width) in [(0, 6), (14 + 12, 4), (14 + 20, 2)] {
        back[at..at + 2 * width].rotate_left(width);
    }
    back
}

/// Returns the Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |b| u32::from(*b));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !sum as u16
}

/// Returns a capture of frames, one every 200 microseconds.
pub(crate) fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1_u32] {
        out.extend(word.to_le_bytes());
    }
    for (number, frame) in (0_u32..).zip(frames) {
        let micros = 200 * number;
        let length = frame.len() as u32;
        for word in [micros / 1_000_000, micros % 1_000_000, length, length] {
            out.extend(word.to_le_bytes());
        }
        out.extend(frame);
    }
    out
}
