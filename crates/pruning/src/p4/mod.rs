//! Programs printed as P4_16, with their control-plane entries.
//!
//! [`Arch::V1Model`] is the architecture of BMv2: registers are read, computed on and written in an action. BMv2 does
//! not enforce one access per register and packet; [`crate::switch::Program::validate`] does. [`Arch::Tna`] and
//! [`Arch::T2na`] are Tofino's: each access is a `RegisterAction`.
//!
//! The text is complete: Ethernet, IPv4, UDP (port 4242) and the packet of Figure 4. The values are one header for
//! each entry, so that pruned entries of a packet with several can be popped. A packet with another number of values
//! than the program parses passes unchanged. If packets may have different numbers of values, each number ends a
//! header, and a table that reads a value tests that its header is valid. Comparisons are written `mem > x`, never
//! `mem - x > 0`, which would wrap. Hashes take the low bits of a CRC-32; on BMv2 polynomials other than Ethernet's
//! are `crc32_custom` and are set by the entries.
//!
//! # Requirements of the compilers
//!
//! * No name of the architecture is declared again, not even that of a type of its controls.
//! * `p4c-bm2-ss` names every `hash` call, whatever its algorithm, in the order of the text: `calc`,
//!   `calc_0`, `calc_1`, …; the one of `update_checksum` comes last. The entries that set polynomial and initial
//!   value, in normal notation, are numbered from the list of the calls as they were printed.
//! * BMv2's control plane takes numbers as signed 64-bit integers, and one command for each cell, so the entries set
//!   no register. A register that does not start at zero stores its cells XOR-ed with the initial
//!   value, and zero stands for that value. Tofino's registers declare their initial value.
//! * Both sides of a comparison have one width.
//! * A second output word of a register access is a `RegisterAction2`, which only Tofino 2 has.
//! * A local that nothing reads is not declared.
//! * Popping an entry changes the UDP length, and sets the UDP checksum to 0, which means none. So does rewriting
//!   a header. If a program acknowledges, a pruned packet leaves where it came in, with sender and
//!   receiver exchanged. A discarded packet does not leave.
//!
//! ```
//! use sluicegate_pruning::algorithm::distinct;
//! use sluicegate_pruning::p4;
//!
//! let source = p4::print(&distinct::Config::paper().program(), p4::Arch::V1Model)?;
//! assert!(source.program.contains("V1Switch("));
//! # Ok::<(), p4::P4Error>(())
//! ```

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::ops::Range;

use thiserror::Error;

use crate::switch::{Comparand, FieldId, Gateway, MatchKind, POLYNOMIALS, Program, Table, Test};

mod body;
mod entries;
mod expression;
mod identifier;
mod tna;
mod v1model;

use identifier::identifier;

/// The UDP port that carries the switch's packets, as in the authors' release.
pub const UDP_PORT: u16 = 4242;

/// The architecture for which a program is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// The reference architecture, run by BMv2 (`simple_switch`).
    V1Model,
    /// The Tofino Native Architecture, of Tofino 1.
    Tna,
    /// The Tofino Native Architecture of Tofino 2, whose register accesses have up to four output words.
    T2na,
}

impl Arch {
    /// Returns the name of its include file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1Model => "v1model",
            Self::Tna => "tna",
            Self::T2na => "t2na",
        }
    }

    /// Returns the greatest number of output words of one register access.
    const fn outputs(self) -> usize {
        match self {
            Self::V1Model => usize::MAX,
            Self::Tna => 1,
            Self::T2na => 4,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The reason why a program cannot be printed for an architecture.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum P4Error {
    /// A register access with more output words than the architecture can express.
    #[error(
        "table `{table}` outputs {outputs} words of one register access, {arch} has at most {most}"
    )]
    Outputs {
        /// The name of the table.
        table: String,
        /// The number of words that it outputs.
        outputs: usize,
        /// The architecture that was given.
        arch: Arch,
        /// The greatest number of words that the architecture allows.
        most: usize,
    },
    /// A register array that the tables of several queries share, which only [`Arch::V1Model`] expresses.
    #[error(
        "queries share register `{register}`, which is printed for v1model only: {arch} has no tables that exclude each other by their flow"
    )]
    Shared {
        /// The name of the register array.
        register: String,
        /// The architecture that was given.
        arch: Arch,
    },
}

/// A printed program with its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct P4Source {
    /// The text of the P4_16 program.
    pub program: String,
    /// The control plane's input: commands of `simple_switch_CLI`, or Python for `bfshell`.
    pub entries: String,
}

/// Prints `program`, which must keep the rules of [`Program::validate`].
///
/// # Errors
///
/// If a register access outputs more words than the architecture can express, or queries share a register array and
/// the architecture is not [`Arch::V1Model`].
pub fn print(program: &Program, arch: Arch) -> Result<P4Source, P4Error> {
    let most = arch.outputs();
    for (_, table) in program.tables() {
        let stateful = table.actions.iter().filter_map(|action| action.stateful.as_ref());
        if let Some(outputs) = stateful.map(|s| s.outputs.len()).find(|outputs| *outputs > most) {
            return Err(P4Error::Outputs { table: table.name.clone(), outputs, arch, most });
        }
    }
    let mut used = BTreeSet::new();
    let registers = program.tables().filter_map(|(_, table)| table.register());
    let twice = registers.map(|id| usize::from(id.0)).find(|id| !used.insert(*id));
    if let Some(register) = twice.and_then(|id| program.registers.get(id))
        && arch != Arch::V1Model
    {
        return Err(P4Error::Shared { register: register.name.clone(), arch });
    }
    let names = Names::new(program, arch);
    Ok(match arch {
        Arch::V1Model => {
            let (program, calls) = v1model::print(&names);
            P4Source { program, entries: entries::simple_switch(&names, &calls) }
        }
        Arch::Tna | Arch::T2na => {
            P4Source { program: tna::print(&names, arch), entries: entries::bfrt(&names) }
        }
    })
}

/// A program with the names that its parts have in P4.
struct Names<'a> {
    program: &'a Program,
    fields: Vec<String>,
    /// The ranges of values that make up one header each.
    sections: Vec<Range<u8>>,
    /// The verdict, if it is the architecture's own drop bit.
    drop: Option<FieldId>,
}

impl<'a> Names<'a> {
    fn new(program: &'a Program, arch: Arch) -> Self {
        let sections = program.sections();
        let drop = match *program.verdicts {
            [verdict]
                if arch != Arch::V1Model && !program.acknowledges && program.discards.is_none() =>
            {
                let read =
                    program.tables().any(|(_, table)| program.reads(table).contains(&verdict));
                (!read).then_some(verdict)
            }
            _ => None,
        };
        let fields = program.fields.iter().enumerate().map(|(n, field)| match n {
            n if drop.is_some_and(|drop| drop.index() == n) => "ig_dprsr_md.drop_ctl".to_owned(),
            0 => "hdr.cheetah.fid".to_owned(),
            1 => "hdr.cheetah.id".to_owned(),
            n if n < program.header_fields() => {
                let value = (n - 2) as u8;
                let entry = sections.iter().position(|values| values.contains(&value)).unwrap_or(0);
                let first = sections.get(entry).map_or(0, |values| values.start);
                format!("hdr.entry{entry}.v{}", value - first)
            }
            _ => format!("meta.{}", identifier(&field.name)),
        });
        let fields = fields.collect();
        Self { program, fields, sections, drop }
    }

    fn field(&self, field: FieldId) -> &str {
        self.fields.get(field.index()).map_or("0", String::as_str)
    }

    fn bits(&self, field: FieldId) -> u8 {
        if self.drop == Some(field) {
            return 3;
        }
        self.program.fields.get(field.index()).map_or(32, |f| f.bits)
    }

    fn action(table: &Table, number: usize) -> String {
        let name = table.actions.get(number).map_or("none", |action| &action.name);
        format!("{}__{name}", identifier(&table.name))
    }

    /// Writes headers, metadata and the parser's states; `start` comes from the architecture.
    fn headers(&self) -> String {
        let mut out = String::new();
        out.push_str(
            "header ethernet_t { bit<48> dst; bit<48> src; bit<16> type_; }\n\
             header ipv4_t {\n    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length_; bit<16> id; bit<3> flags;\n    \
             bit<13> fragment; bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst;\n}\n\
             header udp_t { bit<16> src; bit<16> dst; bit<16> length_; bit<16> checksum; }\n\
             header cheetah_t { bit<16> fid; bit<32> id; bit<8> n; }\n",
        );
        for length in self.sections.iter().map(Range::len).collect::<BTreeSet<_>>() {
            let values: String = (0..length).map(|n| format!(" bit<32> v{n};")).collect();
            let _ = writeln!(out, "header entry{length}_t {{{values} }}");
        }
        out.push_str("\nstruct headers_t {\n    ethernet_t ethernet; ipv4_t ipv4; udp_t udp; cheetah_t cheetah;\n");
        for (entry, values) in self.sections.iter().enumerate() {
            let _ = writeln!(out, "    entry{}_t entry{entry};", values.len());
        }
        out.push_str("}\n\nstruct metadata_t {\n");
        for (number, field) in
            self.program.fields.iter().enumerate().skip(self.program.header_fields())
        {
            if self.drop.is_none_or(|drop| drop.index() != number) {
                let _ = writeln!(out, "    bit<{}> {};", field.bits, identifier(&field.name));
            }
        }
        out.push_str("}\n\n");
        out
    }

    fn parser_states(&self) -> String {
        let counts = self.program.shorter.iter().chain([&self.program.values]);
        let ours: String = counts.map(|n| format!("{n}: parse_entries; ")).collect();
        let mut out = format!(
            "    state parse_ethernet {{
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type_) {{ 0x0800: parse_ipv4; default: accept; }}
    }}
    state parse_ipv4 {{
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.protocol) {{ (5, 17): parse_udp; default: accept; }}
    }}
    state parse_udp {{
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst) {{ {UDP_PORT}: parse_cheetah; default: accept; }}
    }}
    state parse_cheetah {{
        packet.extract(hdr.cheetah);
        transition select(hdr.cheetah.n) {{ {ours}default: accept; }}
    }}
    state parse_entries {{
"
        );
        for entry in 0..self.sections.len() {
            let _ = writeln!(out, "        packet.extract(hdr.entry{entry});");
            if let Some(count) = self.program.shorter.get(entry) {
                let next = entry + 1;
                let _ = writeln!(
                    out,
                    "        transition select(hdr.cheetah.n) {{ {count}: accept; default: parse_entry{next}; }}\n    }}\n    \
                     state parse_entry{next} {{"
                );
            }
        }
        out.push_str("        transition accept;\n    }\n");
        out
    }

    /// Returns the test that the header of a value is valid, if packets may lack it.
    fn is_carried(&self, field: FieldId) -> Option<String> {
        let value = u8::try_from(field.index().checked_sub(2)?).ok()?;
        let entry = self.sections.iter().position(|values| values.contains(&value))?;
        let optional = entry > 0 && !self.program.shorter.is_empty();
        optional.then(|| format!("hdr.entry{entry}.isValid()"))
    }

    /// Returns the condition under which a table is looked up: the packet carries its values, and its gateway holds.
    fn condition(&self, table: &Table) -> Option<String> {
        let last = self.program.needs(table).checked_sub(1).map(FieldId::value);
        let carried = last.and_then(|last| self.is_carried(last));
        let gateway = self.gateway(&table.gateway);
        let all: Vec<String> = carried.into_iter().chain(gateway).collect();
        (!all.is_empty()).then(|| all.join(" && "))
    }

    /// Metadata starts at zero, by an explicit assignment for each field.
    fn clear_metadata(&self, indent: &str) -> String {
        let fields = &self.fields[self.program.header_fields()..];
        let metadata = fields.iter().filter(|field| field.starts_with("meta."));
        metadata.map(|field| format!("{indent}{field} = 0;\n")).collect()
    }

    /// Writes the body of `apply`: the stages, the rewrites, then the verdicts. `drop` is the architecture's
    /// statement, and `bounce` the one that sends a packet out where it came in.
    fn apply(&self, drop: &str, bounce: &str) -> String {
        let mut out = String::new();
        for (number, stage) in self.program.stages.iter().enumerate() {
            let _ = writeln!(out, "            // stage {number}");
            for table in &stage.tables {
                let name = identifier(&table.name);
                let apply = format!("{name}_table.apply();");
                match self.condition(table) {
                    None => writeln!(out, "            {apply}"),
                    Some(condition) => writeln!(out, "            if ({condition}) {{ {apply} }}"),
                }
                .unwrap_or_default();
            }
        }
        for &(to, from) in &self.program.rewrites {
            let set = format!("{} = {};", self.field(to), self.cast(from, self.bits(to)));
            let _ = match self.is_carried(to) {
                None => writeln!(out, "            {set}"),
                Some(carried) => writeln!(out, "            if ({carried}) {{ {set} }}"),
            };
        }
        if !self.program.rewrites.is_empty() {
            // A checksum of zero means that none was computed.
            out.push_str("            hdr.udp.checksum = 0;\n");
        }
        if self.drop.is_some() {
            return out;
        }
        let verdicts: Vec<&str> = self.program.verdicts.iter().map(|v| self.field(*v)).collect();
        let all: Vec<String> = verdicts.iter().map(|v| format!("{v} == 1")).collect();
        let all = all.join(" && ");
        out.push_str("            ");
        if let Some(discards) = self.program.discards {
            let _ = write!(out, "if ({} == 1) {{ {drop} }} else ", self.field(discards));
        }
        if self.program.acknowledges {
            let _ = writeln!(out, "if ({all}) {{\n{}", turned());
            let _ = write!(out, "                {bounce}\n            }}");
        } else {
            let _ = write!(out, "if ({all}) {{ {drop} }}");
        }
        if verdicts.len() > 1 {
            // An acknowledgement leaves with all of its entries.
            out.push_str(" else {\n");
            let front = self.sections.len().saturating_sub(verdicts.len());
            for (entry, verdict) in (front..).zip(&verdicts) {
                let values = self.sections.get(entry).map_or(0, Range::len);
                let bytes = 4 * values;
                let _ = writeln!(
                    out,
                    "            if ({verdict} == 1) {{\n                hdr.entry{entry}.setInvalid();\n                \
                     hdr.cheetah.n = hdr.cheetah.n - {};\n                hdr.udp.length_ = hdr.udp.length_ - {bytes};\n                \
                     hdr.udp.checksum = 0;\n                hdr.ipv4.length_ = hdr.ipv4.length_ - {bytes};\n            }}",
                    values
                );
            }
            out.push_str("            }");
        }
        out.push('\n');
        out
    }

    fn gateway(&self, gateway: &Gateway) -> Option<String> {
        let clause = |tests: &Vec<Test>| {
            let tests: Vec<String> = tests.iter().map(|test| self.test(test)).collect();
            if tests.len() == 1 { tests.join("") } else { format!("({})", tests.join(" || ")) }
        };
        let clauses: Vec<String> = gateway.all_of.iter().map(clause).collect();
        (!clauses.is_empty()).then(|| clauses.join(" && "))
    }

    /// Writes a test, in the width of its wider side.
    fn test(&self, test: &Test) -> String {
        if test.is_of_presence() {
            let carried = self.is_carried(test.field).unwrap_or_else(|| "true".to_owned());
            return if test.equal { carried } else { format!("!{carried}") };
        }
        let operator = if test.equal { "==" } else { "!=" };
        let other = match test.with {
            Comparand::Field(field) => self.bits(field),
            Comparand::Const(constant) => (u32::BITS - constant.leading_zeros()) as u8,
        };
        let bits = self.bits(test.field).max(other);
        let left = self.cast(test.field, bits);
        let right = match test.with {
            Comparand::Field(field) => self.cast(field, bits),
            Comparand::Const(constant) => constant.to_string(),
        };
        let all = crate::switch::mask(bits);
        if test.mask & all == all {
            format!("{left} {operator} {right}")
        } else {
            format!("({left} & {0}) {operator} ({right} & {0})", test.mask & all)
        }
    }

    /// Writes a table's declaration; its actions are printed before it.
    fn table(&self, table: &Table) -> String {
        let mut out = format!("    table {}_table {{\n", identifier(&table.name));
        if !table.keys.is_empty() {
            out.push_str("        key = {\n");
            for key in &table.keys {
                let kind = match key.kind {
                    MatchKind::Exact => "exact",
                    MatchKind::Ternary => "ternary",
                };
                let _ = writeln!(out, "            {}: {kind};", self.field(key.field));
            }
            out.push_str("        }\n");
        }
        let actions: String =
            (0..table.actions.len()).map(|n| format!(" {};", Self::action(table, n))).collect();
        let _ = writeln!(out, "        actions = {{{actions} NoAction; }}");
        let default = table.default.as_ref().map_or_else(
            || "NoAction()".to_owned(),
            |call| {
                let args: Vec<String> = call.args.iter().map(u32::to_string).collect();
                format!("{}({})", Self::action(table, call.action), args.join(", "))
            },
        );
        let _ = writeln!(out, "        const default_action = {default};");
        let _ = writeln!(out, "        size = {};\n    }}", table.entries.len().max(1));
        out
    }
}

/// Returns statements that exchange sender and receiver.
fn turned() -> String {
    let pairs = [("mac", 48, "ethernet"), ("ip", 32, "ipv4"), ("port", 16, "udp")];
    let lines = pairs.map(|(local, bits, header)| {
        let [to, from] = ["dst", "src"].map(|end| format!("hdr.{header}.{end}"));
        format!("                bit<{bits}> {local} = {to}; {to} = {from}; {from} = {local};")
    });
    lines.join("\n")
}

/// Returns true if the program's hash `number` is Ethernet's CRC, which every architecture has.
fn is_ethernet_crc(program: &Program, number: u16) -> bool {
    program
        .hashes
        .get(usize::from(number))
        .is_some_and(|hash| hash.polynomial == POLYNOMIALS[0] && hash.initial == u32::MAX)
}

#[cfg(test)]
mod tests;
