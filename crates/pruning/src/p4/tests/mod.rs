use super::*;
use crate::Ties;
use crate::algorithm::group_by;
use crate::algorithm::having::extreme;
use crate::algorithm::top_n::randomized;
use crate::switch::{Index, Relation};

#[path = "../../../examples/p4_cases/configurations.rs"]
mod configurations;
mod structure;

use structure::Structure;

/// Every algorithm at its defaults and at small sizes, alone and combined, with a name for each.
fn programs() -> Vec<(String, Program)> {
    let programs = configurations::configurations().unwrap();
    assert!(programs.len() >= 40, "{}", programs.len());
    programs
}

fn program(name: &str) -> Program {
    let (_, program) = programs().into_iter().find(|(n, _)| n == name).unwrap();
    program
}

/// The text for Tofino 1, or for Tofino 2 where only that can run the program.
fn tofino(program: &Program) -> (Arch, P4Source) {
    match print(program, Arch::Tna) {
        Ok(source) => (Arch::Tna, source),
        Err(_) => (Arch::T2na, print(program, Arch::T2na).unwrap()),
    }
}

/// The hash unit of a call, by the action and the local that it is in.
fn unit(program: &Program, call: &structure::HashCall) -> Option<u16> {
    let actions = program.tables().flat_map(|(_, table)| {
        let named = |(n, action)| (Names::action(table, n), action);
        table.actions.iter().enumerate().map(named)
    });
    let (_, action) = actions.into_iter().find(|(name, _)| *name == call.action)?;
    match (call.to.as_str(), action.stateful.as_ref().map(|s| s.index)) {
        ("index", Some(Index::Hash(hash))) => Some(hash),
        (to, _) => to.strip_prefix("hash")?.parse().ok(),
    }
}

/// Holds the commands of BMv2's control plane against the program that they are for.
fn check_entries(program: &Program, read: &Structure, entries: &str) -> Result<(), String> {
    let mut polynomials = Vec::new();
    for (number, call) in read.hash_calls.iter().enumerate() {
        let unit = unit(program, call).ok_or_else(|| format!("{call:?} is of no hash unit"))?;
        let polynomial = program.hashes[usize::from(unit)].polynomial;
        // p4c's names, in the order of the text, whatever the algorithm.
        let name = if number == 0 { "calc".into() } else { format!("calc_{}", number - 1) };
        match call.algorithm.as_str() {
            "crc32" if polynomial == POLYNOMIALS[0] => {}
            "crc32_custom" => polynomials.push(format!("{name} {polynomial:#010x}")),
            other => return Err(format!("{other} of {polynomial:#010x}")),
        }
    }
    let mut added = 0;
    for line in entries.lines() {
        let mut words = line.split(' ');
        match words.next() {
            Some("set_crc32_parameters") => {
                let given: Vec<&str> = words.collect();
                if polynomials.is_empty() || polynomials.remove(0) != given[..2].join(" ") {
                    return Err(format!("not the next polynomial: {line}"));
                }
            }
            Some("table_add") => {
                added += 1;
                check_entry(read, line)?;
            }
            _ => {
                // Numbers are signed in the interface of BMv2's control plane.
                if let Some(odd) = words.skip(1).find(|word| word.parse::<i64>().is_err()) {
                    return Err(format!("{odd} is no signed number: {line}"));
                }
                return Err(format!("every cell starts at zero: {line}"));
            }
        }
    }
    let installed = program.tables().map(|(_, table)| table.entries.len()).sum::<usize>();
    if added != installed || !polynomials.is_empty() {
        return Err(format!("{added} of {installed} entries, without {polynomials:?}"));
    }
    Ok(())
}

/// Keys and arguments are as many and as wide as the table's and the action's.
fn check_entry(read: &Structure, line: &str) -> Result<(), String> {
    let (left, right) = line.split_once(" =>").ok_or("no arrow")?;
    let mut words = left.split(' ').skip(1).map(|w| w.trim_start_matches("SwitchIngress."));
    let table = words.next().and_then(|table| read.tables.get(table)).ok_or("no such table")?;
    let action =
        words.next().and_then(|action| read.actions.get(action)).ok_or("no such action")?;
    let keys: Vec<&str> = words.collect();
    let ternary = usize::from(left.contains("&&&"));
    if keys.len() != table.len() || right.split_whitespace().count() != action.len() + ternary {
        return Err(format!("other keys or arguments: {line}"));
    }
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    for (key, bits) in keys.iter().zip(table) {
        for part in key.split("&&&") {
            let value = number(part).map_err(|error| format!("{part}: {error}"))?;
            if value < 0 || value >> bits != 0 {
                return Err(format!("{part} does not fit bit<{bits}>: {line}"));
            }
        }
    }
    right.split_whitespace().try_for_each(|argument| {
        let value = number(argument).map_err(|error| format!("{argument}: {error}"))?;
        u32::try_from(value).map(drop).map_err(|_| format!("{argument} is no bit<32>: {line}"))
    })
}

#[test]
fn every_program_reads_as_a_compiler_reads_it() {
    for (name, program) in programs() {
        let source = print(&program, Arch::V1Model).unwrap();
        let read = structure::read(&source.program, Arch::V1Model);
        let read = read.unwrap_or_else(|error| panic!("{name}: {error}\n{}", source.program));
        check_entries(&program, &read, &source.entries).unwrap_or_else(|e| panic!("{name}: {e}"));
        for (_, table) in program.tables() {
            let table = format!("{}_table", identifier(&table.name));
            assert!(read.tables.contains_key(&table), "{name}");
            assert!(source.program.contains(&format!("{table}.apply();")), "{name}");
        }
        let (arch, source) = tofino(&program);
        if let Err(error) = structure::read(&source.program, arch) {
            panic!("{name}: {error}\n{}", source.program);
        }
        let installed = program.tables().map(|(_, t)| t.entries.len()).sum::<usize>();
        assert_eq!(source.entries.matches("add_with_").count(), installed, "{name}");
    }
}

/// What the compilers taught: each of these was printed once.
#[test]
fn what_compilers_refuse_is_refused() {
    let check = |name: &str, arch, change: [&str; 2], complaint: &str| {
        let text = match arch {
            Arch::V1Model => print(&program(name), arch).unwrap().program,
            _ => tofino(&program(name)).1.program,
        };
        assert!(text.contains(change[0]), "{} in {text}", change[0]);
        let error = structure::read(&text.replace(change[0], change[1]), arch).unwrap_err();
        assert!(error.contains(complaint), "{name}: {error}");
    };
    let v1 = Arch::V1Model;
    check(
        "filter",
        v1,
        ["SwitchVerifyChecksum", "VerifyChecksum"],
        "`VerifyChecksum` is declared again",
    );
    check("filter", v1, ["SwitchComputeChecksum", "ComputeChecksum"], "is declared again");
    // `RegisterAction2` is Tofino 2's.
    check("distinct-fifo-four", Arch::Tna, ["<t2na.p4>", "<tna.p4>"], "`RegisterAction2`");
    // Widths of both sides.
    check(
        "group-by-wide",
        Arch::Tna,
        ["meta.case == 4w8", "meta.case == 32w8"],
        "Bits(4) is not Bits(32)",
    );
    check("packed", v1, ["meta.active0 == 1", "meta.active0 == 32w1"], "Bits(1) is not Bits(32)");
    check("packed", v1, ["meta.active0 == 1", "meta.active0 == 2"], "2 does not fit");
    // Locals that nothing reads.
    check("group-by", v1, ["bit<64> cell;", "bit<64> cell; bool odd = true;"], "`odd` of line");
    check("filter", v1, ["forward.apply()", "backward.apply()"], "`backward` is not declared");
}

#[test]
fn entries_of_another_program_are_refused() {
    let check = |name: &str, change: &dyn Fn(&str) -> String, complaint: &str| {
        let program = program(name);
        let source = print(&program, Arch::V1Model).unwrap();
        let read = structure::read(&source.program, Arch::V1Model).unwrap();
        let error = check_entries(&program, &read, &change(&source.entries)).unwrap_err();
        assert!(error.contains(complaint), "{name}: {error}");
    };
    // Numbered among the custom ones only, as if the compiler did not name the others.
    let among_custom = |entries: &str| {
        let mut number = 0;
        let renumber = |line: &str| match line.strip_prefix("set_crc32_parameters ") {
            Some(rest) => {
                let (_, rest) = rest.split_once(' ').unwrap();
                number += 1;
                format!("set_crc32_parameters calc_{} {rest}\n", number - 1)
            }
            None => format!("{line}\n"),
        };
        entries.lines().map(renumber).collect()
    };
    for name in ["join-bloom-inner", "group-by-wide", "packed", "distinct-by-four"] {
        check(name, &among_custom, "not the next polynomial");
    }
    let unset = |entries: &str| entries.lines().skip(1).map(|line| format!("{line}\n")).collect();
    check("group-by-small", &unset, "without");
    let write = |value: u64| {
        move |entries: &str| format!("{entries}register_write SwitchIngress.groups0 0 {value}\n")
    };
    check("group-by-min", &write(0xffff_ffff_0000_0000), "is no signed number");
    check("group-by-min", &write(1), "every cell starts at zero");
    let wider = |entries: &str| entries.replace("activate 3 =>", "activate 65536 =>");
    check("packed", &wider, "65536 does not fit bit<16>");
}

/// GROUP BY MIN starts at the greatest value: at the defaults that were 32,768 commands.
#[test]
fn cells_start_at_zero_on_bmv2() {
    let min = group_by::Config::new(4096, 8, group_by::Extreme::Min, Ties::Keep, false).unwrap();
    let source = print(&min.program(), Arch::V1Model).unwrap();
    assert_eq!(source.entries.lines().count(), 7, "seven polynomials: {}", source.entries);
    let flipped = "\
        groups0.read(cell, index);
        cell = cell ^ 64w18446744069414584320;
";
    assert!(source.program.contains(flipped), "{}", source.program);
    let back = "groups0.write(index, (new_hi ++ new_lo) ^ 64w18446744069414584320);";
    assert!(source.program.contains(back), "{}", source.program);
}

#[test]
fn a_second_output_needs_tofino_2() {
    let program = program("distinct-fifo-four");
    assert_eq!(
        print(&program, Arch::Tna).unwrap_err().to_string(),
        "table `shift0` outputs 2 words of one register access, tna has at most 1"
    );
    let text = print(&program, Arch::T2na).unwrap().program;
    assert!(text.contains("#include <t2na.p4>\n") && text.contains("RegisterAction2<"));
    // Where one suffices, the two architectures have one text.
    let single = self::program("distinct-fifo");
    let [one, two] = [Arch::Tna, Arch::T2na].map(|arch| print(&single, arch).unwrap().program);
    assert_eq!(one.replace("tna", "t2na"), two);
}

#[test]
fn popping_an_entry_leaves_no_checksum() {
    let program = program("filter-by-four");
    for arch in [Arch::V1Model, Arch::Tna] {
        let text = print(&program, arch).unwrap().program;
        assert_eq!(text.matches("hdr.udp.checksum = 0;").count(), 4, "{text}");
    }
}

#[test]
fn words_of_p4_are_no_names() {
    for (name, printed) in [
        ("apply", "apply_"),
        ("hash", "hash_"),
        ("result7", "result7_"),
        ("resulting", "resulting"),
    ] {
        assert_eq!(identifier(name), printed);
    }
}

#[test]
fn the_last_table_drops() {
    // The prune bit is Tofino's own drop bit, so that dropping costs no stage of its own ...
    let text = print(&group_by::Config::paper().program(), Arch::Tna).unwrap().program;
    assert!(text.contains("ig_dprsr_md.drop_ctl = 3w1;") && !text.contains("meta.prune"), "{text}");
    // ... unless the program reads it.
    let chained = extreme::Config::new(Relation::Gt, 9, 64, 2).unwrap().program();
    let text = print(&chained, Arch::Tna).unwrap().program;
    assert!(text.contains("if (meta.prune == 1) { ig_dprsr_md.drop_ctl = 1; }"));
}

/// A golden excerpt: what Tofino runs for one column, and for GROUP BY's pair of registers.
#[test]
fn tofino_register_actions() {
    let text = print(
        &group_by::Config::new(4096, 1, group_by::Extreme::Max, Ties::Keep, false)
            .unwrap()
            .program(),
        Arch::Tna,
    )
    .unwrap()
    .program;
    let expected = "\
    RegisterAction<pair_t, bit<32>, bit<4>>(groups0) look0__look_alu = {
        void apply(inout pair_t mem, out bit<4> rv0) {
            pair_t old = mem;
            bool lo = old.lo == hdr.entry0.v0;
            bool hi = old.hi > hdr.entry0.v1;
            rv0 = 0;
            rv0 = (bit<4>)(this.predicate(lo, hi));
            mem.lo = hdr.entry0.v0;
            if (!(lo && hi)) { mem.hi = hdr.entry0.v1; }
        }
    };
    action look0__look() {
        meta.case = look0__look_alu.execute((bit<32>)cell0_hash.get({ hdr.entry0.v0 }));
    }
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn bmv2_actions_and_entries() {
    let source =
        print(&randomized::Config::new(16, 2, Ties::Keep, 1).unwrap().program(), Arch::V1Model)
            .unwrap();
    let expected = "\
    action roll0__search() {
        bit<32> index;
        hash(index, HashAlgorithm.crc32_custom, 32w0, { hdr.cheetah.fid, hdr.cheetah.id }, 64w16);
        bit<32> cell;
        column0.read(cell, index);
        bool lo = (bit<40>)cell <= (bit<40>)hdr.entry0.v0;
        bit<32> new_lo = (lo ? hdr.entry0.v0 : cell);
        bit<32> new_hi = (lo ? cell |+| 32w1 : 32w0);
        bit<32> output0 = (bit<32>)new_hi;
        column0.write(index, new_lo);
        meta.travelling = output0;
    }
";
    assert!(source.program.contains(expected), "{}", source.program);
    assert!(
        source
            .entries
            .contains("set_crc32_parameters calc 0xf1922815 0xffffffff 0xffffffff true true\n")
    );
    assert!(
        source
            .entries
            .contains("table_add SwitchIngress.roll1_table SwitchIngress.roll1__search 0 =>\n")
    );
}
