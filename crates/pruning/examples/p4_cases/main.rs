//! Prints programs, packets for them, and the interpreter's results, so that a compiler and a software switch can be
//! compared with the interpreter. `tests/p4/run` does so.
//!
//! ```text
//! cargo run -p sluicegate-pruning --example p4_cases -- FOLDER [PACKETS [SEED [NAME…]]]
//! ```
//!
//! It writes a folder for each program:
//!
//! * `v1model.p4`, `v1model.entries` (commands of `simple_switch_CLI`), and `tna.p4` or, for programs
//!   that only Tofino 2 can run, `t2na.p4`;
//! * `in.pcap`, the packets that enter at port 0, `out.pcap`, those that leave at port 1, and
//!   `back.pcap`, the acknowledgements, which leave through the port of their packet;
//! * `registers`, the register contents after the last packet: one line with all cells for each array of at most
//!   65,536 cells, and one line for each cell of a larger array that a packet touched. A line holds the name, the
//!   cell or `*`, and the values.

mod capture;
mod configurations;

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use sluicegate_pruning::p4::{self, Arch, P4Error};
use sluicegate_pruning::protocol::{BOOT_REGISTER, SEQUENCE_REGISTER};
use sluicegate_pruning::rng::Rng;
use sluicegate_pruning::switch::{Cell, Interpreter, Outcome, Packet, Program, Register};

/// Arrays of up to this many cells are compared whole.
const WHOLE: u32 = 1 << 16;

/// The boot number of programs with the protocol; on a real switch the control plane counts boots.
const BOOT: u32 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let folder = arguments.next().ok_or("usage: p4_cases FOLDER [PACKETS [SEED [NAME…]]]")?;
    let packets: u32 = arguments.next().map_or(Ok(2000), |n| n.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(1), |n| n.parse())?;
    let chosen: Vec<String> = arguments.collect();
    let mut all = configurations::configurations()?;
    if let Some(odd) = chosen.iter().find(|odd| all.iter().all(|(name, _)| name != *odd)) {
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        return Err(format!("there is no program `{odd}`; there are {}", names.join(", ")).into());
    }
    all.retain(|(name, _)| chosen.is_empty() || chosen.contains(name));
    for (name, program) in all {
        write(&Path::new(&folder).join(&name), program, packets, seed)?;
    }
    Ok(())
}

fn write(folder: &Path, program: Program, packets: u32, seed: u64) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let mut v1model = p4::print(&program, Arch::V1Model)?;
    if program.acknowledges {
        writeln!(v1model.entries, "register_write SwitchIngress.{BOOT_REGISTER} 0 {BOOT}")?;
    }
    fs::write(folder.join("v1model.p4"), v1model.program)?;
    fs::write(folder.join("v1model.entries"), v1model.entries)?;
    let (arch, tofino) = match p4::print(&program, Arch::Tna) {
        Err(P4Error::Outputs { .. }) => (Arch::T2na, p4::print(&program, Arch::T2na)?),
        printed => (Arch::Tna, printed?),
    };
    fs::write(folder.join(format!("{arch}.p4")), tofino.program)?;
    let mut drive = Drive::new(program)?;
    let mut rng = Rng::new(seed);
    for number in 0..packets {
        drive.packet(number, &mut rng)?;
    }
    // The last packet always passes; its arrival shows that all earlier packets were processed.
    drive.passes(capture::frame(17, 53, b"end"));
    fs::write(folder.join("in.pcap"), capture::pcap(&drive.entered))?;
    fs::write(folder.join("out.pcap"), capture::pcap(&drive.left))?;
    fs::write(folder.join("back.pcap"), capture::pcap(&drive.back))?;
    fs::write(folder.join("registers"), drive.registers())?;
    Ok(())
}

/// The interpreter with the packets that entered and left it.
struct Drive {
    interpreter: Interpreter,
    entered: Vec<Vec<u8>>,
    left: Vec<Vec<u8>>,
    back: Vec<Vec<u8>>,
    touched: BTreeSet<(u16, u32)>,
}

impl Drive {
    fn new(program: Program) -> Result<Self, Box<dyn Error>> {
        let mut interpreter = Interpreter::new(program)?;
        interpreter.write(BOOT_REGISTER, 0, [BOOT, 0]);
        let (entered, left, back) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { interpreter, entered, left, back, touched: BTreeSet::new() })
    }

    /// Sends one packet; one in twenty is not for the program and passes unchanged.
    fn packet(&mut self, number: u32, rng: &mut Rng) -> Result<(), Box<dyn Error>> {
        let program = self.interpreter.program();
        let acknowledges = program.acknowledges;
        let rewrites = !program.rewrites.is_empty();
        let fid = if rng.chance(0.95) { rng.below(4) as u16 } else { rng.next_u64() as u16 };
        let id = match rng.chance(0.95) {
            // Packets that are not next in their flow are dropped.
            _ if program.discards.is_some() => {
                let last = self.last(fid);
                match rng.below(10) {
                    0 => rng.below(u64::from(last) + 1) as u32,
                    1 => last + 2 + rng.below(3) as u32,
                    _ => last + 1,
                }
            }
            true => number,
            // This is a retransmission: an identifier that is too great would end its flow.
            false if acknowledges => rng.below(u64::from(number) + 1) as u32,
            false => rng.next_u64() as u32,
        };
        let lengths: Vec<u8> = program.shorter.iter().copied().chain([program.values]).collect();
        let (most, length) = (program.values, lengths[rng.below(lengths.len() as u64) as usize]);
        let mut values: Vec<u32> = (0..length).map(|_| value(number, rng)).collect();
        if acknowledges
            && rng.chance(0.95)
            && let Some(epoch) = values.first_mut()
        {
            *epoch = BOOT;
        }
        let packet = Packet::new(fid, id, values);
        let payload = packet.encode()?;
        let frame = capture::cheetah(&payload);
        let other = match rng.below(100) {
            0 | 1 => Some(capture::frame(17, 53, &payload)),
            2 => Some(capture::frame(6, p4::UDP_PORT, &payload)),
            3 | 4 => {
                let longer = Packet::new(fid, id, vec![7; usize::from(most) + 1]);
                Some(capture::cheetah(&longer.encode()?))
            }
            _ => None,
        };
        if let Some(other) = other {
            self.passes(other);
            return Ok(());
        }
        self.entered.push(frame.clone());
        let trace = self.interpreter.trace(&packet)?;
        let accesses = trace.steps.iter().filter_map(|step| step.access);
        self.touched.extend(accesses.map(|access| (access.register.0, access.index)));
        match trace.outcome {
            Outcome::Forward(same) if same == packet && !rewrites => self.left.push(frame),
            Outcome::Forward(other) => self.left.push(capture::changed(&other.encode()?)),
            Outcome::Acknowledge(answer) => {
                self.back.push(capture::turned(&capture::changed(&answer.encode()?)));
            }
            Outcome::Drop => {}
        }
        Ok(())
    }

    /// Returns the last processed identifier of a flow; the cell of flow `fid` is number `fid`.
    fn last(&self, fid: u16) -> u32 {
        let registers = &self.interpreter.program().registers;
        let last = registers.iter().position(|register| register.name == SEQUENCE_REGISTER);
        let cells = last.and_then(|last| self.interpreter.registers().get(last));
        cells.and_then(|cells| cells.get(usize::from(fid))).map_or(0, |cell| cell[0])
    }

    fn passes(&mut self, frame: Vec<u8>) {
        self.entered.push(frame.clone());
        self.left.push(frame);
    }

    fn registers(&self) -> String {
        let mut out = String::new();
        for (number, register) in (0_u16..).zip(&self.interpreter.program().registers) {
            let cells = &self.interpreter.registers()[usize::from(number)];
            let mut line = |at: &str, cells: &mut dyn Iterator<Item = &[u32; 2]>| {
                let _ = write!(out, "{} {at}", register.name);
                cells.for_each(|cell| {
                    let _ = write!(out, " {}", stored(register, *cell));
                });
                out.push('\n');
            };
            if register.size <= WHOLE {
                line("*", &mut cells.iter());
                continue;
            }
            for (_, at) in self.touched.iter().filter(|(touched, _)| *touched == number) {
                line(&at.to_string(), &mut cells.iter().skip(*at as usize).take(1));
            }
        }
        out
    }
}

/// Returns a cell as BMv2 stores it: the high number above the low one, XOR-ed with the initial value.
fn stored(register: &Register, cell: [u32; 2]) -> u64 {
    let whole = |[lo, hi]: [u32; 2]| match register.cell {
        Cell::Pair32 => u64::from(hi) << 32 | u64::from(lo),
        _ => lo.into(),
    };
    whole(cell) ^ whole(register.initial)
}

/// Returns values that repeat, values that grow, and sometimes arbitrary ones.
fn value(number: u32, rng: &mut Rng) -> u32 {
    match rng.below(20) {
        0 => rng.next_u64() as u32,
        1 => [0, 1, u32::MAX, 1 << 31][rng.below(4) as usize],
        2..=4 => number,
        5..=7 => (rng.below(64) << 13) as u32,
        _ => rng.below(200) as u32,
    }
}
