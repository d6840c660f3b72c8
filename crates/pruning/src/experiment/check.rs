//! The comparison of a fast path with its program: both must be the same machine.

use thiserror::Error;

use crate::switch::{Interpreter, Packet, Program, ProgramError, RejectedPacket};
use crate::{Entries, Pruner, Selection, Verdict};

/// The first difference between a fast path and its program.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// The program is invalid.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// Program, fast path and packets do not agree on the number of values.
    #[error(transparent)]
    Values(#[from] RejectedPacket),
    /// Program and fast path decide differently on a packet.
    #[error("packet {position}: the program says {program:?}, the fast path {fast_path:?}")]
    Verdict {
        /// The position of the packet in the stream.
        position: usize,
        /// The program's verdict on the packet.
        program: Verdict,
        /// The fast path's verdict on the packet.
        fast_path: Verdict,
    },
    /// A register of the program differs from the fast path's.
    #[error(
        "after packet {position}: register `{register}`, cell {cell}: {program:?} in the program, {fast_path:?} in the fast path"
    )]
    Register {
        /// The number of packets before the comparison.
        position: usize,
        /// The name of the register array.
        register: String,
        /// The number of the cell.
        cell: usize,
        /// The cell's content in the program.
        program: [u32; 2],
        /// The cell's content in the fast path, if it has the cell.
        fast_path: Option<[u32; 2]>,
    },
}

/// Runs `stream` through the program and the fast path, both in their initial state. Compares every verdict, and
/// every register after each run of consecutive entries of one flow.
///
/// # Errors
///
/// Returns the first difference.
pub fn check(
    program: &Program,
    pruner: &mut dyn Pruner,
    stream: &[Packet],
) -> Result<(), Mismatch> {
    let mut interpreter = Interpreter::new(program.clone())?;
    pruner.reset();
    let mut selection = Selection::new();
    let mut position = 0;
    for run in stream.chunk_by(|a, b| a.fid == b.fid && a.id.wrapping_add(1) == b.id) {
        let (fid, id, width) = (run[0].fid, run[0].id, run[0].values.len());
        if let Some(odd) = run.iter().find(|p| p.values.len() != width) {
            return Err(RejectedPacket { expected: width, actual: odd.values.len() }.into());
        }
        let columns: Vec<Vec<u32>> =
            (0..width).map(|value| run.iter().map(|p| p.values[value]).collect()).collect();
        let columns: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
        // The columns have the same length by construction.
        let Ok(entries) = Entries::new(fid, id, &columns) else { continue };
        pruner.prune(&entries, &mut selection)?;
        for (offset, packet) in run.iter().enumerate() {
            let program = interpreter.run(packet)?;
            let fast_path = if selection.get(offset) { Verdict::Forward } else { Verdict::Prune };
            if program != fast_path {
                return Err(Mismatch::Verdict { position: position + offset, program, fast_path });
            }
        }
        position += run.len();
        compare_registers(&interpreter, pruner, position)?;
    }
    Ok(())
}

fn compare_registers(
    interpreter: &Interpreter,
    pruner: &dyn Pruner,
    position: usize,
) -> Result<(), Mismatch> {
    let fast = pruner.registers();
    for (number, cells) in interpreter.registers().iter().enumerate() {
        for (cell, &program) in cells.iter().enumerate() {
            let fast_path = fast.get(number).and_then(|cells| cells.get(cell)).copied();
            if fast_path != Some(program) {
                let register = interpreter.program().registers[number].name.clone();
                return Err(Mismatch::Register { position, register, cell, program, fast_path });
            }
        }
    }
    Ok(())
}
