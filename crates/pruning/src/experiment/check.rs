//! The fourth reading of a program: is the fast path the same machine?

use thiserror::Error;

use crate::switch::{Interpreter, Packet, Program, ProgramError, WrongValues};
use crate::{Entries, Pruner, Selection, Verdict};

/// Where a fast path and its program differ.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// The program is invalid.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// Program, fast path and packets do not agree on the number of values.
    #[error(transparent)]
    Values(#[from] WrongValues),
    /// They decide differently on a packet.
    #[error("packet {position}: the program says {program:?}, the fast path {fast_path:?}")]
    Verdict {
        /// Position in the stream.
        position: usize,
        /// What the program decides.
        program: Verdict,
        /// What the fast path decides.
        fast_path: Verdict,
    },
    /// Their registers differ.
    #[error(
        "after packet {position}: register `{register}`, cell {cell}: {program:?} in the program, {fast_path:?} in the fast path"
    )]
    Register {
        /// Packets seen.
        position: usize,
        /// The register array.
        register: String,
        /// The cell.
        cell: usize,
        /// What the program holds.
        program: [u32; 2],
        /// What the fast path holds.
        fast_path: Option<[u32; 2]>,
    },
}

/// Runs `stream` through the program and the fast path, both fresh, and compares every verdict, and
/// every register after each run of consecutive entries of one flow.
///
/// # Errors
///
/// The first difference.
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
            return Err(WrongValues { expected: width, actual: odd.values.len() }.into());
        }
        let columns: Vec<Vec<u32>> =
            (0..width).map(|value| run.iter().map(|p| p.values[value]).collect()).collect();
        let columns: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
        // The columns are of one length by construction.
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
