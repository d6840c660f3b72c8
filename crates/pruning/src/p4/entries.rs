//! The control plane's part: table entries and hash polynomials.

use std::fmt::Write as _;

use super::{Names, identifier, is_ethernet_crc};
use crate::switch::{Entry, MatchKind, Table, mask as all_ones};

/// Returns commands of `simple_switch_CLI`. `calls` are the hash units of the program's calls of `hash`, as printed:
/// the compiler names them `calc`, `calc_0`, `calc_1` and so on, whatever their algorithm.
pub(super) fn simple_switch(names: &Names<'_>, calls: &[u16]) -> String {
    let mut out = String::new();
    for (number, &hash) in calls.iter().enumerate() {
        let Some(unit) = names.program.hashes.get(usize::from(hash)) else { continue };
        if is_ethernet_crc(names.program, hash) {
            continue;
        }
        let name = number.checked_sub(1).map_or("calc".to_owned(), |n| format!("calc_{n}"));
        let _ = writeln!(
            out,
            "set_crc32_parameters {name} {:#010x} {:#010x} 0xffffffff true true",
            unit.polynomial, unit.initial
        );
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

/// Returns Python for the `bfrt_python` command of `bfshell`. Registers and polynomials are in the program.
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
