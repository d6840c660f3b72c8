//! The Tofino Native Architecture, of Tofino 1 and 2.

use std::fmt::Write as _;

use super::body::Body;
use super::expression::when;
use super::{Arch, Names, identifier};
use crate::switch::{
    Action, Cell, ComparePredicate, Index, Operand, Register, Source, Stateful, Table, Update,
};

pub(super) fn print(names: &Names<'_>, arch: Arch) -> String {
    let program = names.program;
    let mut out = format!(
        "// {}: printed for {arch}.\n#include <core.p4>\n#include <{arch}.p4>\n\n",
        program.name
    );
    out.push_str(&names.headers());
    out.push_str("struct pair_t { bit<32> lo; bit<32> hi; }\n\nstruct empty_t { }\n\n");
    out.push_str(
        "parser SwitchIngressParser(packet_in packet, out headers_t hdr, out metadata_t meta,\n                           \
         out ingress_intrinsic_metadata_t ig_intr_md) {\n    state start {\n        packet.extract(ig_intr_md);\n        \
         packet.advance(PORT_METADATA_SIZE);\n        transition init_metadata;\n    }\n    state init_metadata {\n",
    );
    out.push_str(&names.clear_metadata("        "));
    out.push_str("        transition parse_ethernet;\n    }\n");
    out.push_str(&names.parser_states());
    out.push_str(
        "}\n\ncontrol SwitchIngress(inout headers_t hdr, inout metadata_t meta,\n                      \
         in ingress_intrinsic_metadata_t ig_intr_md,\n                      \
         in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,\n                      \
         inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,\n                      \
         inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {\n",
    );
    for hash in &program.hashes {
        let (name, bits) = (identifier(&hash.name), hash.bits);
        let _ = writeln!(
            out,
            "    CRCPolynomial<bit<32>>(32w{:#010x}, true, false, false, 32w{:#010x}, 32w0xffffffff) {name}_polynomial;\n    \
             Hash<bit<{bits}>>(HashAlgorithm_t.CUSTOM, {name}_polynomial) {name}_hash;",
            hash.polynomial, hash.initial
        );
    }
    for register in &program.registers {
        let (kind, initial) = cell(register);
        let _ = writeln!(
            out,
            "    Register<{kind}, bit<32>>({}, {initial}) {};",
            register.size,
            identifier(&register.name)
        );
    }
    out.push_str("\n    action set_port(PortId_t port) { ig_tm_md.ucast_egress_port = port; }\n");
    out.push_str(
        "    table forward {\n        key = { hdr.ipv4.dst: exact; }\n        actions = { set_port; }\n        \
         default_action = set_port(1);\n    }\n",
    );
    for (_, table) in program.tables() {
        out.push('\n');
        for (number, action) in table.actions.iter().enumerate() {
            out.push_str(&print_action(names, table, number, action));
        }
        out.push_str(&names.table(table));
    }
    out.push_str("\n    apply {\n        forward.apply();\n        if (hdr.entry0.isValid()) {\n");
    out.push_str(&names.apply(
        "ig_dprsr_md.drop_ctl = 1;",
        "ig_tm_md.ucast_egress_port = ig_intr_md.ingress_port;",
    ));
    out.push_str("        }\n    }\n}\n\n");
    out.push_str(ENDING);
    out
}

/// The text after the ingress control: deparser, an empty egress, the pipeline.
const ENDING: &str = "\
control SwitchIngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta,
                              in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Checksum() ipv4_checksum;
    apply {
        hdr.ipv4.checksum = ipv4_checksum.update({
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.length_, hdr.ipv4.id, hdr.ipv4.flags,
            hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst });
        packet.emit(hdr);
    }
}

parser SwitchEgressParser(packet_in packet, out empty_t hdr, out empty_t meta,
                          out egress_intrinsic_metadata_t eg_intr_md) {
    state start { packet.extract(eg_intr_md); transition accept; }
}

control SwitchEgress(inout empty_t hdr, inout empty_t meta, in egress_intrinsic_metadata_t eg_intr_md,
                     in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                     inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                     inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) { apply { } }

control SwitchEgressDeparser(packet_out packet, inout empty_t hdr, in empty_t meta,
                             in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) { apply { } }

Pipeline(SwitchIngressParser(), SwitchIngress(), SwitchIngressDeparser(),
         SwitchEgressParser(), SwitchEgress(), SwitchEgressDeparser()) pipe;

Switch(pipe) main;
";

/// Returns the type of a cell, and its initial value.
fn cell(register: &Register) -> (String, String) {
    let [lo, hi] = register.initial;
    match register.cell {
        Cell::Pair32 => ("pair_t".to_owned(), format!("{{ {lo}, {hi} }}")),
        single => (format!("bit<{}>", single.bits()), lo.to_string()),
    }
}

fn print_action(names: &Names<'_>, table: &Table, number: usize, action: &Action) -> String {
    let name = Names::action(table, number);
    let mut out = String::new();
    let hash = |number: u16| {
        let Some(hash) = names.program.hashes.get(usize::from(number)) else {
            return String::new();
        };
        let inputs: Vec<String> =
            hash.inputs.iter().map(|f| names.cast(*f, names.bits(*f).div_ceil(8) * 8)).collect();
        format!("{}_hash.get({{ {} }})", identifier(&hash.name), inputs.join(", "))
    };
    let mut body = Vec::new();
    if let Some(stateful) = &action.stateful
        && let Some(register) = names.program.registers.get(usize::from(stateful.register.0))
    {
        out.push_str(&register_action(names, &name, stateful, register));
        let index = match stateful.index {
            Index::Zero => "0".to_owned(),
            Index::Field(field) => names.cast(field, 32),
            Index::Hash(number) => format!("(bit<32>){}", hash(number)),
        };
        let outputs: Vec<&str> = stateful.outputs.iter().map(|o| names.field(o.to)).collect();
        body.push(match outputs.as_slice() {
            [] => format!("{name}_alu.execute({index});"),
            [first, rest @ ..] => {
                let rest: String = rest.iter().map(|field| format!(", {field}")).collect();
                format!("{first} = {name}_alu.execute({index}{rest});")
            }
        });
    }
    // The operations of one action run in parallel, but the compiler reads a field as it came in only if no earlier
    // statement wrote it. Results pass through temporaries where it matters.
    let ops = names.ops(action, hash);
    let reads_written = ops.iter().enumerate().any(|(n, _)| {
        action.ops[n + 1..].iter().any(|later| {
            [later.a, later.b]
                .iter()
                .any(|o| matches!(o, Operand::Field(f) if *f == action.ops[n].to))
        })
    });
    if reads_written {
        for (n, (_, bits, value)) in ops.iter().enumerate() {
            body.push(format!("bit<{bits}> result{n} = {value};"));
        }
        body.extend(ops.iter().enumerate().map(|(n, (to, _, _))| format!("{to} = result{n};")));
    } else {
        body.extend(ops.into_iter().map(|(to, _, value)| format!("{to} = {value};")));
    }
    let _ = writeln!(out, "    action {name}({}) {{", Names::parameters(action));
    for line in body {
        let _ = writeln!(out, "        {line}");
    }
    out.push_str("    }\n");
    out
}

fn register_action(
    names: &Names<'_>,
    name: &str,
    stateful: &Stateful,
    register: &Register,
) -> String {
    let (kind, _) = cell(register);
    let bits = register.cell.bits();
    let pair = register.cell == Cell::Pair32;
    let outputs: Vec<u8> = stateful.outputs.iter().map(|o| names.bits(o.to)).collect();
    let types: String = if outputs.is_empty() {
        format!("bit<{bits}>")
    } else {
        outputs.iter().map(|b| format!("bit<{b}>")).collect::<Vec<_>>().join(", ")
    };
    let suffix = if outputs.len() > 1 { outputs.len().to_string() } else { String::new() };
    let mut out = format!(
        "    RegisterAction{suffix}<{kind}, bit<32>, {types}>({}) {name}_alu = {{\n",
        identifier(&register.name)
    );
    let parameters: String =
        outputs.iter().enumerate().map(|(n, b)| format!(", out bit<{b}> rv{n}")).collect();
    let parameters = if outputs.is_empty() { format!(", out bit<{bits}> rv0") } else { parameters };
    let _ = writeln!(out, "        void apply(inout {kind} mem{parameters}) {{");
    let mut body = Body::default();
    body.declare(&kind, "old", "mem");
    let old = if pair { ["old.lo", "old.hi"] } else { ["old", "old"] };
    for (flag, compare) in [("lo", &stateful.lo), ("hi", &stateful.hi)] {
        let holds = compare.as_ref().map(|c| names.compare(c, old, bits, false));
        body.declare("bool", flag, holds.as_deref().unwrap_or("false"));
    }
    let conditional = |predicate: ComparePredicate, text: String| {
        if predicate == ComparePredicate::ALWAYS {
            text
        } else {
            format!("if ({}) {{ {text} }}", when(predicate))
        }
    };
    if outputs.is_empty() {
        body.push("rv0 = 0;");
    }
    for (n, output) in stateful.outputs.iter().enumerate() {
        let to_bits = names.bits(output.to);
        body.push(format!("rv{n} = 0;"));
        let mut emit = |predicate: u8, value: String| {
            if predicate != 0 {
                let set = format!("rv{n} = (bit<{to_bits}>)({value});");
                body.push(conditional(ComparePredicate(predicate), set));
            }
        };
        // A computed half is output under the predicate of the output and of its update together.
        let mut computed = |updates: &[Update], kept: Option<&str>| {
            let mut rest = output.when.0;
            for update in updates {
                emit(output.when.0 & update.when.0, names.update(update, old, bits));
                rest &= !update.when.0;
            }
            if let Some(kept) = kept {
                emit(rest, kept.to_owned());
            }
        };
        match output.source {
            Source::MemLo => emit(output.when.0, old[0].to_owned()),
            Source::MemHi => emit(output.when.0, old[1].to_owned()),
            Source::AluLo => computed(&stateful.update_lo, Some(old[0])),
            Source::AluHi => computed(&stateful.update_hi, pair.then_some(old[1])),
            Source::Predicate => emit(output.when.0, "this.predicate(lo, hi)".to_owned()),
            Source::NotMemLo => emit(output.when.0, format!("~{}", old[0])),
        }
    }
    let halves: &[(&str, &[Update])] = if pair {
        &[("mem.lo", &stateful.update_lo), ("mem.hi", &stateful.update_hi)]
    } else {
        &[("mem", &stateful.update_lo)]
    };
    for (target, updates) in halves {
        for update in *updates {
            let set = format!("{target} = {};", names.update(update, old, bits));
            body.push(conditional(update.when, set));
        }
    }
    out.push_str(&body.text("            "));
    out.push_str("        }\n    };\n");
    out
}
