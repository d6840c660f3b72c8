//! The v1model architecture, for BMv2.

use std::fmt::Write as _;

use super::body::Body;
use super::expression::{constant, when};
use super::{Names, identifier, is_ethernet_crc};
use crate::switch::{
    Action, Cell, ComparePredicate, FieldId, Index, Operand, Register, Source, Stateful, Table,
};

/// Returns the text, and the hash unit of each call of `hash` in it, in the order of the text.
pub(super) fn print(names: &Names<'_>) -> (String, Vec<u16>) {
    let program = names.program;
    let mut calls = Vec::new();
    let mut out = format!(
        "// {}: printed for v1model.\n#include <core.p4>\n#include <v1model.p4>\n\n",
        program.name
    );
    out.push_str(&names.headers());
    out.push_str(
        "parser SwitchParser(packet_in packet, out headers_t hdr, inout metadata_t meta,\n                    \
         inout standard_metadata_t standard_metadata) {\n    state start { transition parse_ethernet; }\n",
    );
    out.push_str(&names.parser_states());
    out.push_str(
        "}\n\ncontrol SwitchVerifyChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }\n\n",
    );
    out.push_str(
        "control SwitchIngress(inout headers_t hdr, inout metadata_t meta,\n                      \
         inout standard_metadata_t standard_metadata) {\n",
    );
    for register in &program.registers {
        let bits = register.cell.total_bits();
        let _ = writeln!(
            out,
            "    register<bit<{bits}>>({}) {};",
            register.size,
            identifier(&register.name)
        );
    }
    out.push_str("\n    action set_port(bit<9> port) { standard_metadata.egress_spec = port; }\n");
    out.push_str(
        "    table forward {\n        key = { hdr.ipv4.dst: exact; }\n        actions = { set_port; }\n        \
         default_action = set_port(1);\n    }\n",
    );
    for (_, table) in program.tables() {
        out.push('\n');
        for (number, action) in table.actions.iter().enumerate() {
            out.push_str(&print_action(names, table, number, action, &mut calls));
        }
        out.push_str(&names.table(table));
    }
    out.push_str("\n    apply {\n        forward.apply();\n        if (hdr.entry0.isValid()) {\n");
    out.push_str(&names.clear_metadata("            "));
    out.push_str(&names.apply(
        "mark_to_drop(standard_metadata);",
        "standard_metadata.egress_spec = standard_metadata.ingress_port;",
    ));
    out.push_str("        }\n    }\n}\n\n");
    out.push_str(
        "control SwitchEgress(inout headers_t hdr, inout metadata_t meta,\n                     \
         inout standard_metadata_t standard_metadata) { apply { } }\n\n\
         control SwitchComputeChecksum(inout headers_t hdr, inout metadata_t meta) {\n    apply {\n        \
         update_checksum(hdr.ipv4.isValid(),\n            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, \
         hdr.ipv4.length_, hdr.ipv4.id, hdr.ipv4.flags,\n              hdr.ipv4.fragment, hdr.ipv4.ttl, \
         hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },\n            hdr.ipv4.checksum, \
         HashAlgorithm.csum16);\n    }\n}\n\n\
         control SwitchDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }\n\n\
         V1Switch(SwitchParser(), SwitchVerifyChecksum(), SwitchIngress(), SwitchEgress(),\n         \
         SwitchComputeChecksum(), SwitchDeparser()) main;\n",
    );
    (out, calls)
}

fn print_action(
    names: &Names<'_>,
    table: &Table,
    number: usize,
    action: &Action,
    calls: &mut Vec<u16>,
) -> String {
    let mut body = Body::default();
    // As on the switch, everything is computed before anything is written.
    let mut writes = Vec::new();
    if let Some(stateful) = &action.stateful
        && let Some(register) = names.program.registers.get(usize::from(stateful.register.0))
    {
        access(names, stateful, register, calls, &mut body, &mut writes);
    }
    let mut hashed = Vec::new();
    let ops = names.ops(action, |hash| format!("hash{hash}"));
    for op in &action.ops {
        for operand in [op.a, op.b] {
            if let Operand::Hash(hash) = operand
                && !hashed.contains(&hash)
            {
                hashed.push(hash);
                let unit = names.program.hashes.get(usize::from(hash));
                let bits = unit.map_or(32, |unit| unit.bits);
                body.push(format!("bit<{bits}> hash{hash};"));
                body.push(hash_call(names, hash, &format!("hash{hash}"), bits, calls));
            }
        }
    }
    for (n, (to, bits, value)) in ops.into_iter().enumerate() {
        body.push(format!("bit<{bits}> result{n} = {value};"));
        writes.push((to, format!("result{n}")));
    }
    for (to, value) in writes {
        body.push(format!("{to} = {value};"));
    }
    let (name, parameters) = (Names::action(table, number), Names::parameters(action));
    format!("    action {name}({parameters}) {{\n{}    }}\n", body.text("        "))
}

/// Reads the cell, computes, and writes it back; outputs go to `writes`.
fn access(
    names: &Names<'_>,
    stateful: &Stateful,
    register: &Register,
    calls: &mut Vec<u16>,
    body: &mut Body,
    writes: &mut Vec<(String, String)>,
) {
    let (name, bits) = (identifier(&register.name), register.cell.bits());
    match stateful.index {
        Index::Zero => body.push("bit<32> index = 0;"),
        Index::Field(field) => body.push(format!("bit<32> index = {};", names.cast(field, 32))),
        Index::Hash(hash) => {
            body.push("bit<32> index;");
            body.push(hash_call(names, hash, "index", 32, calls));
        }
    }
    if stateful.first > 0 {
        body.push(format!("index = index + {};", stateful.first));
    }
    let pair = register.cell == Cell::Pair32;
    let initial = initial(register);
    let read = [
        format!("bit<{}> cell;", register.cell.total_bits()),
        format!("{name}.read(cell, index);"),
    ];
    let flip = initial.iter().map(|initial| format!("cell = cell ^ {initial};"));
    body.declare_by("cell", read.into_iter().chain(flip));
    let mem = if pair {
        body.declare("bit<32>", "mem_lo", "cell[31:0]");
        body.declare("bit<32>", "mem_hi", "cell[63:32]");
        ["mem_lo", "mem_hi"]
    } else {
        ["cell", "cell"]
    };
    for (flag, compare) in [("lo", &stateful.lo), ("hi", &stateful.hi)] {
        let holds = compare.as_ref().map(|c| names.compare(c, mem, bits, true));
        body.declare("bool", flag, holds.as_deref().unwrap_or("false"));
    }
    let kind = format!("bit<{bits}>");
    let new_lo = names.new_value(&stateful.update_lo, mem, mem[0], bits);
    body.declare(&kind, "new_lo", &new_lo);
    let zero = constant(0, bits);
    let new_hi = names.new_value(&stateful.update_hi, mem, if pair { mem[1] } else { &zero }, bits);
    body.declare(&kind, "new_hi", &new_hi);
    for (n, output) in stateful.outputs.iter().enumerate() {
        let to_bits = names.bits(output.to);
        let source = match output.source {
            Source::MemLo => mem[0].to_owned(),
            Source::MemHi => mem[1].to_owned(),
            Source::AluLo => "new_lo".to_owned(),
            Source::AluHi => "new_hi".to_owned(),
            Source::Predicate => "(hi ? (lo ? 4w8 : 4w4) : (lo ? 4w2 : 4w1))".to_owned(),
            Source::NotMemLo => format!("(cell == {zero} ? 1w1 : 1w0)"),
        };
        let value = format!("(bit<{to_bits}>){source}");
        let value = if output.when == ComparePredicate::ALWAYS {
            value
        } else {
            format!("({} ? {value} : {})", when(output.when), constant(0, to_bits))
        };
        body.push(format!("bit<{to_bits}> output{n} = {value};"));
        writes.push((names.field(output.to).to_owned(), format!("output{n}")));
    }
    let new = if pair { "new_hi ++ new_lo" } else { "new_lo" };
    body.push(match initial {
        None => format!("{name}.write(index, {new});"),
        Some(initial) => format!("{name}.write(index, ({new}) ^ {initial});"),
    });
}

/// Returns the initial value of a register's cells, if it is not zero. The cells are stored XOR-ed with it, so that
/// zero stands for it and the control plane need not write every cell.
fn initial(register: &Register) -> Option<String> {
    let [lo, hi] = register.initial.map(u64::from);
    let value = if register.cell == Cell::Pair32 { hi << 32 | lo } else { lo };
    (value != 0).then(|| format!("{}w{value}", register.cell.total_bits()))
}

/// Writes a call of `hash`, and adds it to the list of calls.
fn hash_call(names: &Names<'_>, number: u16, to: &str, bits: u8, calls: &mut Vec<u16>) -> String {
    calls.push(number);
    let Some(hash) = names.program.hashes.get(usize::from(number)) else { return String::new() };
    let algorithm = if is_ethernet_crc(names.program, number) { "crc32" } else { "crc32_custom" };
    let inputs: Vec<String> = hash.inputs.iter().map(|f| hash_input(names, *f)).collect();
    let modulus = 1_u64 << hash.bits;
    format!(
        "hash({to}, HashAlgorithm.{algorithm}, {bits}w0, {{ {} }}, 64w{modulus});",
        inputs.join(", ")
    )
}

/// Writes a hash input, padded to whole bytes.
fn hash_input(names: &Names<'_>, field: FieldId) -> String {
    names.cast(field, names.bits(field).div_ceil(8) * 8)
}
