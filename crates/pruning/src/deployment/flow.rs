//! The flows whose packets a program processes.

use crate::algorithm::catalog::PacketContents;

/// A flow that a program serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// The flow identifier in packets, unique among the queries on the switch.
    pub fid: u16,
    /// The flow identifier by which the algorithm's program distinguishes its flows: a side and pass of a join.
    pub role: u16,
}

impl Flow {
    /// Returns the flows of `workers` workers, numbered from 0: one for each, or for a join one for each side and
    /// pass.
    #[must_use]
    pub fn of_workers(carries: PacketContents, workers: u16) -> Vec<Self> {
        let roles = if carries == PacketContents::KeyOfEither { 4 } else { 1 };
        let of = |worker: u16| {
            (0..roles)
                .map(move |role| Self { fid: worker.wrapping_mul(roles).wrapping_add(role), role })
        };
        (0..workers).flat_map(of).collect()
    }
}

/// Creates a flow whose role is its identifier.
impl From<u16> for Flow {
    fn from(fid: u16) -> Self {
        Self { fid, role: fid }
    }
}
