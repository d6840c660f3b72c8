//! Packets per second and bits per second of minimum-size Ethernet frames.
//!
//! One entry fills one packet, and a frame has at least 64 bytes (header 14, payload at least 46, checksum 4). On the
//! wire it also takes 8 bytes of preamble and a gap of 12.

/// The shortest Ethernet frame, bytes.
pub const MIN_FRAME_BYTES: u64 = 64;
/// Preamble, start delimiter and gap between frames, bytes.
pub const FRAMING_BYTES: u64 = 20;
/// Ethernet header and checksum (18), IPv4 (20) and UDP (8), bytes.
pub const HEADER_BYTES: u64 = 46;

/// Returns the bits per second of `packets_per_second` frames of `frame_bytes`, without framing.
///
/// # Example
/// Ten million packets per second of 64 bytes: 5.1 Gbps; 6.7 with preamble and gap.
/// ```
/// use sluicegate_pruning::theory::line_rate::{FRAMING_BYTES, MIN_FRAME_BYTES, throughput};
/// assert_eq!(throughput(10e6, MIN_FRAME_BYTES), 5.12e9);
/// assert_eq!(throughput(10e6, MIN_FRAME_BYTES + FRAMING_BYTES), 6.72e9);
/// ```
pub fn throughput(packets_per_second: f64, frame_bytes: u64) -> f64 {
    packets_per_second * frame_bytes as f64 * 8.0
}

/// Returns the greatest number of frames of `frame_bytes` per second on a link of `bits_per_second`.
///
/// # Example
/// 14.88 million minimum-size frames per second fill 10 Gbps.
/// ```
/// use sluicegate_pruning::theory::line_rate::{MIN_FRAME_BYTES, packet_rate};
/// assert_eq!(format!("{:.2}", packet_rate(10e9, MIN_FRAME_BYTES) / 1e6), "14.88");
/// ```
pub fn packet_rate(bits_per_second: f64, frame_bytes: u64) -> f64 {
    bits_per_second / (8 * (frame_bytes + FRAMING_BYTES)) as f64
}

/// Returns the bytes of the frame around a UDP payload of `payload_bytes`, padded to the minimum.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::line_rate::frame_bytes;
/// assert_eq!((frame_bytes(10), frame_bytes(18), frame_bytes(19)), (64, 64, 65));
/// ```
pub fn frame_bytes(payload_bytes: u64) -> u64 {
    (HEADER_BYTES + payload_bytes).max(MIN_FRAME_BYTES)
}

/// Returns the seconds that `workers` need to send `entries`, `per_packet` to a packet, each at `packets_per_second`,
/// `passes` times.
///
/// # Example
/// 31.7 million rows from five workers of 10 Mpps, one entry per packet: 0.63 s, and twice that for a JOIN.
/// ```
/// use sluicegate_pruning::theory::line_rate::send_seconds;
/// assert_eq!(format!("{:.3}", send_seconds(31_700_000, 1, 5, 10e6, 1)), "0.634");
/// assert_eq!(format!("{:.3}", send_seconds(31_700_000, 1, 5, 10e6, 2)), "1.268");
/// ```
pub fn send_seconds(
    entries: u64,
    per_packet: u64,
    workers: u64,
    packets_per_second: f64,
    passes: u64,
) -> f64 {
    let packets = entries.div_ceil(per_packet.max(1)) * passes;
    packets as f64 / (workers.max(1) as f64 * packets_per_second)
}
