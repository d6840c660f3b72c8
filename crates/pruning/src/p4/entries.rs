//! What the control plane installs: table entries, initial registers, hash polynomials.

use std::fmt::Write as _;

use super::{Names, identifier, is_ethernet_crc};
use crate::switch::{Cell, Entry, Index, MatchKind, Operand, Table, mask as all_ones};

/// Commands of `simple_switch_CLI`.
pub(super) fn simple_switch(names: &Names<'_>) -> String {
    let mut out = String::new();
    for (number, (polynomial, initial)) in custom_hashes(names).into_iter().enumerate() {
        let _ = writeln!(
            out,
            "set_crc32_parameters calc_{number} {polynomial:#010x} {initial:#010x} 0xffffffff true true"
        );
    }
    for register in &names.program.registers {
        let [lo, hi] = register.initial;
        if (lo, hi) != (0, 0) {
            let value = match register.cell {
                Cell::Pair32 => u64::from(hi) << 32 | u64::from(lo),
                _ => lo.into(),
            };
            let name = identifier(&register.name);
            for cell in 0..register.size {
                let _ = writeln!(out, "register_write SwitchIngress.{name} {cell} {value}");
            }
        }
    }
    for (_, table) in names.program.tables() {
        for (priority, entry) in table.entries.iter().enumerate() {
            let mut line = format!(
                "table_add SwitchIngress.{}_table SwitchIngress.{}",
                identifier(&table.name),
                Names::action(table, entry.call.action)
            );
            for (key, pattern) in table.keys.iter().zip(&entry.patterns) {
                let _ = match key.kind {
                    MatchKind::Exact => write!(line, " {}", pattern.value),
                    MatchKind::Ternary => {
                        let mask = pattern.mask & all_ones(names.bits(key.field));
                        write!(line, " {:#x}&&&{mask:#x}", pattern.value & mask)
                    }
                };
            }
            line.push_str(" =>");
            for arg in &entry.call.args {
                let _ = write!(line, " {arg}");
            }
            if table.is_ternary() {
                let _ = write!(line, " {}", priority + 1);
            }
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

/// The polynomials of the `crc32_custom` calls, in the order of the calls in the program's text,
/// which is the order in which the compiler numbers them after the calls of other algorithms.
fn custom_hashes(names: &Names<'_>) -> Vec<(u32, u32)> {
    let program = names.program;
    let actions = program.tables().flat_map(|(_, table)| &table.actions);
    let calls = actions.flat_map(|action| {
        let index = action.stateful.as_ref().and_then(|s| match s.index {
            Index::Hash(hash) => Some(hash),
            _ => None,
        });
        let ops = action.ops.iter().flat_map(|op| [op.a, op.b]).filter_map(|o| match o {
            Operand::Hash(hash) => Some(hash),
            _ => None,
        });
        index.into_iter().chain(ops)
    });
    let custom = calls.filter(|&hash| !is_ethernet_crc(program, hash));
    custom
        .filter_map(|hash| program.hashes.get(usize::from(hash)))
        .map(|hash| (hash.polynomial, hash.initial))
        .collect()
}

/// Python for the `bfrt_python` command of `bfshell`. Registers and polynomials are in the program.
pub(super) fn bfrt(names: &Names<'_>) -> String {
    let mut out = format!("p4 = bfrt.{}.pipe.SwitchIngress\n", names.program.name);
    for (_, table) in names.program.tables() {
        for (priority, entry) in table.entries.iter().enumerate() {
            let arguments = bfrt_arguments(names, table, entry, priority);
            let _ = writeln!(
                out,
                "p4.{}_table.add_with_{}({})",
                identifier(&table.name),
                Names::action(table, entry.call.action),
                arguments.join(", ")
            );
        }
    }
    out
}

fn bfrt_arguments(names: &Names<'_>, table: &Table, entry: &Entry, priority: usize) -> Vec<String> {
    let mut arguments = Vec::new();
    for (key, pattern) in table.keys.iter().zip(&entry.patterns) {
        let path = names.field(key.field);
        let name = path
            .strip_prefix("hdr.")
            .or(path.strip_prefix("meta."))
            .unwrap_or(path)
            .replace('.', "_");
        match key.kind {
            MatchKind::Exact => arguments.push(format!("{name}={}", pattern.value)),
            MatchKind::Ternary => {
                let mask = pattern.mask & all_ones(names.bits(key.field));
                arguments.push(format!("{name}={:#x}", pattern.value & mask));
                arguments.push(format!("{name}_mask={mask:#x}"));
            }
        }
    }
    if table.is_ternary() {
        arguments.push(format!("MATCH_PRIORITY={}", priority + 1));
    }
    arguments.extend(entry.call.args.iter().enumerate().map(|(n, arg)| format!("arg{n}={arg}")));
    arguments
}
