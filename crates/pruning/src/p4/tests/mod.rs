use super::*;
use crate::Ties;
use crate::algorithm::catalog::PacketContents;
use crate::algorithm::group_by;
use crate::algorithm::hashing::Hashing;
use crate::algorithm::having::extreme;
use crate::algorithm::top_n::randomized;
use crate::protocol::{Copies, Flow, reliable};
use crate::switch::{Action, Builder, Index, Op, Operand, Operation, Relation};

#[path = "../../../examples/p4_cases/configurations.rs"]
mod configurations;
mod structure;

use structure::Structure;

/// Returns every algorithm at its defaults and at small sizes, alone and combined, with a name for each.
fn programs() -> Vec<(String, Program)> {
    let programs = configurations::configurations().unwrap();
    assert!(programs.len() >= 40, "{}", programs.len());
    programs
}

fn program(name: &str) -> Program {
    let (_, program) = programs().into_iter().find(|(n, _)| n == name).unwrap();
    program
}

/// Returns the text for Tofino 1, or for Tofino 2 if only that can run the program.
fn tofino(program: &Program) -> (Arch, P4Source) {
    match print(program, Arch::Tna) {
        Ok(source) => (Arch::Tna, source),
        Err(_) => (Arch::T2na, print(program, Arch::T2na).unwrap()),
    }
}

/// Returns the hash unit of a call, by the action and the local that it is in.
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

/// Checks the commands of BMv2's control plane against their program.
fn check_entries(program: &Program, read: &Structure, entries: &str) -> Result<(), String> {
    let mut units = Vec::new();
    for (number, call) in read.hash_calls.iter().enumerate() {
        let unit = unit(program, call).ok_or_else(|| format!("{call:?} is of no hash unit"))?;
        let hash = &program.hashes[usize::from(unit)];
        let crc = (hash.polynomial, hash.initial);
        // p4c names hash calls in the order of the text, whatever the algorithm.
        let name = if number == 0 { "calc".into() } else { format!("calc_{}", number - 1) };
        match call.algorithm.as_str() {
            "crc32" if crc == (POLYNOMIALS[0], u32::MAX) => {}
            "crc32_custom" => units.push(format!("{name} {:#010x} {:#010x}", crc.0, crc.1)),
            other => return Err(format!("{other} of {crc:#010x?}")),
        }
    }
    let mut added = 0;
    for line in entries.lines() {
        let mut words = line.split(' ');
        match words.next() {
            Some("set_crc32_parameters") => {
                let given: Vec<&str> = words.collect();
                if units.is_empty() || units.remove(0) != given[..3].join(" ") {
                    return Err(format!("not the next hash unit: {line}"));
                }
                if given[3..] != ["0xffffffff", "true", "true"] {
                    return Err(format!("not reflected and inverted: {line}"));
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
    if added != installed || !units.is_empty() {
        return Err(format!("{added} of {installed} entries, without {units:?}"));
    }
    Ok(())
}

/// Checks that keys and arguments have the number and the widths of the table's and the action's.
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

/// The compilers refused each of these, and each was printed once.
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
    // Both sides must have the same width.
    check(
        "group-by-wide",
        Arch::Tna,
        ["meta.case == 4w8", "meta.case == 32w8"],
        "Bits(4) is not Bits(32)",
    );
    check("packed", v1, ["meta.active0 == 1", "meta.active0 == 32w1"], "Bits(1) is not Bits(32)");
    check("packed", v1, ["meta.active0 == 1", "meta.active0 == 2"], "2 does not fit");
    // These locals are never read.
    check("group-by", v1, ["bit<64> cell;", "bit<64> cell; bool odd = true;"], "`odd` of line");
    check("filter", v1, ["forward.apply()", "backward.apply()"], "`backward` is not declared");
    // The protocol's text: the exchanged addresses, and the port where the packet came in.
    let wide = ["bit<32> ip =", "bit<48> ip ="];
    check("distinct-reliable", v1, wide, "Bits(48) is not Bits(32)");
    check("distinct-reliable", Arch::Tna, wide, "Bits(48) is not Bits(32)");
    let port = ["= ig_intr_md.ingress_port", "= ig_tm_md.ingress_port"];
    check("distinct-reliable", Arch::Tna, port, "has no field `ingress_port`");
    check("distinct-reliable", v1, ["= meta.stamp;", "= meta.served;"], "Bits(1)");
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
    // The calls are numbered among the custom ones only, as if the compiler did not name the others.
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
        check(name, &among_custom, "not the next hash unit");
    }
    // Each has the polynomial alone, as if all CRCs started with ones.
    let unseeded = |entries: &str| {
        let parameters = |line: &str| match line.rsplit_once(" 0xffffffff true") {
            Some((hash, _)) => {
                let (hash, _) = hash.rsplit_once(' ').unwrap();
                format!("{hash} 0xffffffff 0xffffffff true true\n")
            }
            None => format!("{line}\n"),
        };
        entries.lines().map(parameters).collect()
    };
    for name in ["distinct-seeded", "group-by-seeded", "join-bloom-reliable", "having-reliable"] {
        check(name, &unseeded, "not the next hash unit");
    }
    let unset = |entries: &str| {
        let others = entries.lines().filter(|line| !line.starts_with("set_crc32"));
        others.map(|line| format!("{line}\n")).collect()
    };
    check("group-by-small", &unset, "without");
    let write = |value: u64| {
        move |entries: &str| format!("{entries}register_write SwitchIngress.groups0 0 {value}\n")
    };
    check("group-by-min", &write(0xffff_ffff_0000_0000), "is no signed number");
    check("group-by-min", &write(1), "every cell starts at zero");
    let wider = |entries: &str| entries.replace("activate 3 =>", "activate 65536 =>");
    check("packed", &wider, "65536 does not fit bit<16>");
}

/// GROUP BY MIN starts at the greatest value, which would take 32,768 commands at the defaults.
#[test]
fn cells_start_at_zero_on_bmv2() {
    let min = group_by::Config::new(4096, 8, group_by::Extreme::Min, Ties::Keep, false).unwrap();
    let source = print(&min.program(), Arch::V1Model).unwrap();
    assert_eq!(source.entries.lines().count(), 9, "nine polynomials: {}", source.entries);
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
    // If one output suffices, the two architectures have the same text.
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
            .with_hashing(Hashing::Linear)
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
    let config = randomized::Config::new(16, 2, Ties::Keep, 1).unwrap();
    let source = print(&config.with_hashing(Hashing::Linear).program(), Arch::V1Model).unwrap();
    let expected = "\
    action roll0__search() {
        bit<32> index;
        hash(index, HashAlgorithm.crc32, 32w0, { hdr.cheetah.fid, hdr.cheetah.id }, 64w16);
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
            .contains("table_add SwitchIngress.roll1_table SwitchIngress.roll1__search 0 =>\n")
    );
}

/// The seed is in the polynomials and the initial values of the CRCs of the first round.
#[test]
fn seeds_are_printed() {
    let seed = 0xABCD_0000_0001;
    let program = randomized::Config::new(16, 2, Ties::Keep, seed).unwrap().program();
    let units = Hashing::Mixed { seed }.first_round().unwrap();
    assert_eq!(units.map(|(_, initial)| initial), [0xFFFF_FFFE, 0xFFFF_5432]);
    let entries = print(&program, Arch::V1Model).unwrap().entries;
    let text = print(&program, Arch::Tna).unwrap().program;
    let mut lines = entries.lines();
    for ((polynomial, initial), call) in units.into_iter().zip(["calc", "calc_0"]) {
        let parameters = format!(
            "set_crc32_parameters {call} {polynomial:#010x} {initial:#010x} 0xffffffff true true"
        );
        assert_eq!(lines.next(), Some(parameters.as_str()), "{entries}");
        let unit = format!(
            "(32w{polynomial:#010x}, true, false, false, 32w{initial:#010x}, 32w0xffffffff)"
        );
        assert!(text.contains(&unit), "{text}");
    }
}

/// A hash unit's result is cast to the field that takes it, whichever is wider, and is called once if an action uses
/// it twice.
#[test]
fn a_hash_has_the_width_of_its_unit() {
    let mut b = Builder::new("widths", 1);
    let (prune, byte, long) = (b.verdict("prune"), b.field("byte", 8), b.field("long", 32));
    let hash = b.hash("h", POLYNOMIALS[1], [FieldId::value(0)], 16);
    let op = |to| Op::new(to, Operation::Add, Operand::Hash(hash), Operand::Const(1));
    let ops = [op(byte), op(long), Op::set(prune, Operand::Const(1))];
    b.table(Table::always("t", Action::compute("sum", ops)));
    let program = b.finish();
    program.validate().unwrap();
    for arch in [Arch::V1Model, Arch::Tna] {
        let source = print(&program, arch).unwrap();
        let read = structure::read(&source.program, arch).unwrap();
        assert_eq!(read.hash_calls.len(), usize::from(arch == Arch::V1Model));
        if arch == Arch::V1Model {
            check_entries(&program, &read, &source.entries).unwrap();
            assert!(source.program.contains("bit<16> hash0;"), "{}", source.program);
        }
    }
}

/// A pruned packet returns to the worker with the number of the boot; otherwise it would be sent for ever.
#[test]
fn acknowledgements_are_turned_around() {
    let with_protocol: Vec<_> =
        programs().into_iter().filter(|(_, program)| program.acknowledges).collect();
    assert!(with_protocol.len() >= 15, "{}", with_protocol.len());
    assert!(with_protocol.iter().any(|(_, program)| program.discards.is_some()));
    for (name, program) in with_protocol {
        for (arch, bounce) in [
            (Arch::V1Model, "standard_metadata.egress_spec = standard_metadata.ingress_port;"),
            (Arch::Tna, "ig_tm_md.ucast_egress_port = ig_intr_md.ingress_port;"),
        ] {
            let text = print(&program, arch).unwrap().program;
            let stamp = "hdr.entry0.v0 = meta.stamp;\n";
            let after = text.split_once(stamp).map(|(_, after)| after).unwrap_or_default();
            // The checksum is invalid after a change, and the packet returns only if all of it is pruned.
            let pruned = program.verdicts.iter().map(|verdict| {
                format!("meta.{} == 1", identifier(&program.fields[verdict.index()].name))
            });
            let pruned = format!("if ({}) {{", pruned.collect::<Vec<_>>().join(" && "));
            let (mut sum, turn) = after.split_once(&pruned).unwrap_or_default();
            // A packet that comes too early is dropped.
            let drop = match arch {
                Arch::V1Model => "mark_to_drop(standard_metadata)",
                _ => "ig_dprsr_md.drop_ctl = 1",
            };
            if program.discards.is_some() {
                let early = format!("if (meta.early == 1) {{ {drop}; }} else");
                sum = sum.trim().strip_suffix(&early).unwrap_or_default();
            }
            let drops = usize::from(program.discards.is_some());
            assert_eq!(text.matches(drop).count(), drops, "{name}: {text}");
            assert!(sum.trim().ends_with("hdr.udp.checksum = 0;"), "{name}: {text}");
            let (turn, _) = turn.split_once('}').unwrap_or_default();
            for part in ["hdr.ethernet", "hdr.ipv4", "hdr.udp"] {
                assert!(turn.contains(&format!("{part}.dst = {part}.src;")), "{name}: {turn}");
            }
            assert!(turn.trim_end().ends_with(bounce), "{name}: {turn}");
        }
    }
}

/// A header that was not parsed has undefined content, so a table that reads a value which packets may lack tests its
/// header.
#[test]
fn values_that_packets_may_lack_are_asked_for() {
    let of_several_lengths: Vec<_> =
        programs().into_iter().filter(|(_, program)| !program.shorter.is_empty()).collect();
    assert!(of_several_lengths.len() >= 6, "{}", of_several_lengths.len());
    for (name, program) in of_several_lengths {
        let sections = program.sections();
        assert_eq!(sections.len(), program.shorter.len() + 1, "{name}");
        for arch in [Arch::V1Model, Arch::Tna] {
            let text = print(&program, arch).unwrap().program;
            let mut asked = 0;
            for (_, table) in
                program.tables().filter(|(_, t)| program.needs(t) > program.shorter[0])
            {
                let apply = format!(" {}_table.apply();", identifier(&table.name));
                let line = text.lines().find(|line| line.contains(&apply)).unwrap();
                let last = program.needs(table) - 1;
                let entry = sections.iter().position(|values| values.contains(&last)).unwrap();
                assert!(line.contains(&format!("hdr.entry{entry}.isValid()")), "{name}: {line}");
                asked += 1;
            }
            assert!(asked > 0, "{name}: every packet has all values");
            assert!(text.contains("state parse_entry1 {"), "{name}: {text}");
        }
    }
}

/// The control plane installs the flows that are served, and the role of each in the program.
#[test]
fn flows_are_entries() {
    let program = randomized::Config::new(16, 2, Ties::Keep, 1).unwrap().program();
    let flows = Flow::of_workers(PacketContents::Value, 2);
    let program = reliable(&program, &flows, Copies::Once).unwrap();
    let of = |arch| print(&program, arch).unwrap().entries;
    let entries = of(Arch::V1Model);
    let serve = "table_add SwitchIngress.flow_table SwitchIngress.flow__serve 1 => 0 1\n";
    assert!(entries.contains(serve), "{entries}");
    assert!(of(Arch::Tna).contains("p4.flow_table.add_with_flow__serve("));
}
