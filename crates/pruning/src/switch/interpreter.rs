//! Runs a program packet by packet, bit by bit.

use std::ops::Range;
use std::sync::Arc;

use thiserror::Error;

use super::decoded::Decoded;
use super::packet::Packet;
use super::program::{FieldId, Program, RegisterId};
use super::validate::ProgramError;
use crate::Verdict;

/// One access to a register, as a trace shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The number of the stage, from 0.
    pub stage: usize,
    /// The register array that was accessed.
    pub register: RegisterId,
    /// The index of the cell.
    pub index: u32,
    /// The cell before the access: low and high number.
    pub before: [u32; 2],
    /// The cell after the access: low and high number.
    pub after: [u32; 2],
}

/// One table that ran, as a trace shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The number of the stage, from 0.
    pub stage: usize,
    /// The name of the table.
    pub table: String,
    /// The name of the action.
    pub action: String,
    /// The fields written, by name.
    pub writes: Vec<(String, u32)>,
    /// The register access, if any.
    pub access: Option<Access>,
}

/// Everything that happened to one packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The tables that ran, in order.
    pub steps: Vec<Step>,
    /// The verdict on each entry of the packet.
    pub verdicts: Vec<Verdict>,
    /// The packet that leaves the switch, if any.
    pub outcome: Outcome,
}

/// The fate of a packet at the end of the pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The packet is forwarded, without the entries that were dropped.
    Forward(Packet),
    /// The packet returns to its sender as an acknowledgement.
    Acknowledge(Packet),
    /// The packet is dropped.
    Drop,
}

/// A packet whose number of values the program's parser rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the program parses {expected} values, the packet has {actual}")]
pub struct RejectedPacket {
    /// The number of values that the program parses.
    pub expected: usize,
    /// The number of values in the packet.
    pub actual: usize,
}

/// A program with its registers. Clones share the program, not the registers.
#[derive(Debug, Clone)]
pub struct Interpreter {
    program: Arc<Program>,
    decoded: Arc<Decoded>,
    registers: Vec<Vec<[u32; 2]>>,
    words: Vec<u32>,
    results: Vec<u32>,
}

impl Interpreter {
    /// Loads a program; its registers hold their initial values.
    ///
    /// # Errors
    ///
    /// If the program breaks a rule of [`Program::validate`], or has more fields and constants than
    /// the interpreter can number.
    pub fn new(program: Program) -> Result<Self, ProgramError> {
        program.validate()?;
        let decoded = Decoded::decode(&program)?;
        let (words, registers) = (decoded.words.clone(), initial_registers(&program));
        let most = decoded.tables.iter().flat_map(|table| &table.actions).map(|a| a.to.len()).max();
        let results = vec![0; most.unwrap_or(0)];
        Ok(Self {
            program: Arc::new(program),
            decoded: Arc::new(decoded),
            registers,
            words,
            results,
        })
    }

    /// Returns the program that this interpreter runs.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the register arrays: the low (or only) and high number of each cell.
    #[must_use]
    pub fn registers(&self) -> &[Vec<[u32; 2]>] {
        &self.registers
    }

    /// Reboots the switch: every register gets its initial value again.
    pub fn reset(&mut self) {
        self.registers = initial_registers(&self.program);
    }

    /// Runs one packet and returns the verdict on its first entry.
    ///
    /// # Errors
    ///
    /// If the packet does not carry the number of values that the program parses.
    pub fn run(&mut self, packet: &Packet) -> Result<Verdict, RejectedPacket> {
        self.process(packet.fid, packet.id, &packet.values)
    }

    /// Like [`Interpreter::run`], but takes the parts of a packet.
    ///
    /// # Errors
    ///
    /// If the number of `values` is not what the program parses.
    pub fn process(
        &mut self,
        fid: u16,
        id: u32,
        values: &[u32],
    ) -> Result<Verdict, RejectedPacket> {
        self.execute::<false>(fid, id, values, &mut Vec::new())?;
        Ok(self.verdict(self.program.verdicts[0]))
    }

    /// Runs one packet and returns the verdict on each of its entries.
    ///
    /// # Errors
    ///
    /// As [`Interpreter::run`].
    pub fn run_entries(&mut self, packet: &Packet) -> Result<Vec<Verdict>, RejectedPacket> {
        self.execute::<false>(packet.fid, packet.id, &packet.values, &mut Vec::new())?;
        Ok(self.program.verdicts.iter().map(|v| self.verdict(*v)).collect())
    }

    /// Runs one packet and returns its outcome. [`Program::rewrites`] are applied, a pruned packet is an
    /// acknowledgement if [`Program::acknowledges`] is set, and a packet is dropped if the field
    /// [`Program::discards`] is 1.
    ///
    /// # Errors
    ///
    /// As [`Interpreter::run`].
    pub fn outcome(&mut self, packet: &Packet) -> Result<Outcome, RejectedPacket> {
        let verdicts = self.run_entries(packet)?;
        Ok(self.outcome_of(packet, &verdicts))
    }

    /// Returns the outcome of the packet that was just executed.
    fn outcome_of(&self, packet: &Packet, verdicts: &[Verdict]) -> Outcome {
        if self.program.discards.is_some_and(|field| self.words[field.index()] == 1) {
            return Outcome::Drop;
        }
        let mut out = packet.clone();
        for &(to, from) in &self.program.rewrites {
            let value = self.words[from.index()];
            match to {
                FieldId::FID => out.fid = value as u16,
                FieldId::ID => out.id = value,
                field => {
                    if let Some(place) = out.values.get_mut(field.index() - 2) {
                        *place = value;
                    }
                }
            }
        }
        if verdicts.iter().all(|verdict| *verdict == Verdict::Prune) {
            return if self.program.acknowledges {
                Outcome::Acknowledge(out)
            } else {
                Outcome::Drop
            };
        }
        if verdicts.len() > 1 {
            let sections = self.program.sections();
            let (front, entries) = sections.split_at(sections.len() - verdicts.len());
            let kept = entries.iter().zip(verdicts);
            let kept = kept.filter(|(_, verdict)| **verdict == Verdict::Forward).map(|(e, _)| e);
            let values = |range: &Range<u8>| &out.values[range.start.into()..range.end.into()];
            out.values = front.iter().chain(kept).flat_map(values).copied().collect();
        }
        Outcome::Forward(out)
    }

    /// Writes a cell of the named register array, like the control plane. Returns false if there is no such cell.
    pub fn write(&mut self, register: &str, cell: usize, value: [u32; 2]) -> bool {
        let number = self.program.registers.iter().position(|r| r.name == register);
        let cells = number.and_then(|number| self.registers.get_mut(number));
        match cells.and_then(|cells| cells.get_mut(cell)) {
            Some(place) => {
                *place = value;
                true
            }
            None => false,
        }
    }

    /// Runs one packet and returns everything that it did.
    ///
    /// # Errors
    ///
    /// As [`Interpreter::run`].
    pub fn trace(&mut self, packet: &Packet) -> Result<Trace, RejectedPacket> {
        let mut steps = Vec::new();
        self.execute::<true>(packet.fid, packet.id, &packet.values, &mut steps)?;
        let verdicts: Vec<Verdict> =
            self.program.verdicts.iter().map(|v| self.verdict(*v)).collect();
        let outcome = self.outcome_of(packet, &verdicts);
        Ok(Trace { steps, verdicts, outcome })
    }

    /// Returns the value of a field after the last packet.
    #[must_use]
    pub fn field(&self, field: FieldId) -> Option<u32> {
        self.words[..self.program.fields.len()].get(field.index()).copied()
    }

    fn verdict(&self, field: FieldId) -> Verdict {
        if self.words[field.index()] == 1 { Verdict::Prune } else { Verdict::Forward }
    }

    fn execute<const TRACE: bool>(
        &mut self,
        fid: u16,
        id: u32,
        values: &[u32],
        steps: &mut Vec<Step>,
    ) -> Result<(), RejectedPacket> {
        let Self { program, decoded, registers, words, results } = self;
        let count = values.len();
        if !program.parses(count) {
            return Err(RejectedPacket { expected: program.values.into(), actual: count });
        }
        words[0] = u32::from(fid);
        words[1] = id;
        words[2..2 + count].copy_from_slice(values);
        words[2 + count..program.fields.len()].fill(0);
        // `validate` checked that within a stage no table reads or writes what an earlier one wrote. Running the
        // tables one after the other is therefore the same as running them in parallel.
        for (number, table) in decoded.tables.iter().enumerate() {
            let [least, most] = table.carried.map(usize::from);
            if count < least || count > most {
                continue;
            }
            let Some((chosen, action)) = decoded.choose(table, words) else { continue };
            let accessed = decoded.run(action, words, registers, results);
            for (to, value) in action.to.iter().zip(results.iter()) {
                words[to.index()] = value & decoded.masks[to.index()];
            }
            if TRACE && let Some((stage, source)) = program.tables().nth(number) {
                let write =
                    |to: &FieldId| (program.fields[to.index()].name.clone(), words[to.index()]);
                steps.push(Step {
                    stage,
                    table: source.name.clone(),
                    action: source.actions[chosen].name.clone(),
                    writes: action.to.iter().map(write).collect(),
                    access: action.access.as_ref().zip(accessed).map(|(access, accessed)| Access {
                        stage,
                        register: access.register,
                        index: accessed.index,
                        before: accessed.before,
                        after: accessed.after,
                    }),
                });
            }
        }
        Ok(())
    }
}

fn initial_registers(program: &Program) -> Vec<Vec<[u32; 2]>> {
    program.registers.iter().map(|r| vec![r.initial; r.size as usize]).collect()
}
