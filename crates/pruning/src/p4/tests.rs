use std::collections::HashSet;

use super::*;
use crate::Ties;
use crate::algorithm::catalog::{Algorithm, Parameters};
use crate::algorithm::distinct::{self, Policy, Width};
use crate::algorithm::filter::{self, Formula};
use crate::algorithm::group_by;
use crate::algorithm::hashing::Hashing;
use crate::algorithm::having::{extreme, sum};
use crate::algorithm::join::{self, Kind, Passes, Shape};
use crate::algorithm::released;
use crate::algorithm::skyline::{self, Score};
use crate::algorithm::top_n::randomized;
use crate::deployment::multi_entry::{LaneBy, multi_entry};
use crate::deployment::pack::{Query, pack};
use crate::switch::Relation;

/// Every algorithm at its defaults, and what those leave out.
fn programs() -> Vec<Program> {
    let default = Parameters::default();
    let defaults = Algorithm::ALL.iter().map(|a| a.configure(&default).unwrap().program());
    defaults.chain(others()).collect()
}

fn others() -> Vec<Program> {
    let shape = Shape::new(Kind::Inner, Passes::Two, false);
    let filter =
        filter::Config::new(&Formula::compare(0, Relation::Lt, 10), 1, None).unwrap().program();
    let packed = pack("packed", &[Query { program: &filter, flows: &[1, 2] }]).unwrap();
    let fifo = distinct::Config::new(64, 4, Width::Bits32, Policy::Fifo).unwrap();
    vec![
        multi_entry(&filter, 4, LaneBy::Values(1)).unwrap(),
        filter,
        packed,
        released::distinct(4, released::Repairs::default()),
        released::join(4),
        fifo.program(),
        randomized::Config::new(64, 2, Ties::Prune, 1).unwrap().program(),
        group_by::Config::new(64, 2, group_by::Extreme::Min, Ties::Prune, true).unwrap().program(),
        join::bloom::Config::new(shape, 1 << 10, 3).unwrap().program(),
        join::register_bloom::Config::new(shape, 64, 3, 6).unwrap().program(),
        sum::Config::paper(1000).program(),
        extreme::Config::new(Relation::Gt, 9, 64, 2).unwrap().program(),
        skyline::Config::new(2, 3, Score::Sum, Ties::Prune).unwrap().program(),
        skyline::Config::new(3, 2, Score::Product, Ties::Keep).unwrap().program(),
    ]
}

/// The words of a text that follow `prefix`.
fn words<'a>(text: &'a str, prefix: &str) -> HashSet<&'a str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(prefix)
        .map(|(at, _)| &text[at + prefix.len()..])
        .map(|rest| &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())])
        .collect()
}

#[test]
fn every_program_is_complete_on_both_architectures() {
    for program in programs() {
        for arch in [Arch::V1Model, Arch::Tna] {
            let source = print(&program, arch);
            let text = &source.program;
            for (open, close) in [('{', '}'), ('(', ')')] {
                assert_eq!(
                    text.matches(open).count(),
                    text.matches(close).count(),
                    "{open} in {}",
                    program.name
                );
            }
            let parts = [
                "struct headers_t",
                "state start",
                "control SwitchIngress(",
                "packet.emit(hdr)",
                " main;",
            ];
            assert!(parts.iter().all(|part| text.contains(part)), "{}", program.name);
            // Everything used is declared.
            let metadata = &text[text.find("struct metadata_t").unwrap()..];
            let metadata = &metadata[..metadata.find('}').unwrap()];
            for field in words(text, "meta.") {
                assert!(
                    metadata.contains(&format!("> {field};")),
                    "meta.{field} in {}",
                    program.name
                );
            }
            for (_, table) in program.tables() {
                let name = format!("{}_table", identifier(&table.name));
                assert!(
                    text.contains(&format!("table {name} {{"))
                        && text.contains(&format!("{name}.apply()"))
                );
            }
            let actions: HashSet<&str> = words(text, "action ");
            for (_, table) in program.tables() {
                assert!(
                    (0..table.actions.len())
                        .all(|n| actions.contains(Names::action(table, n).as_str()))
                );
            }
            let installed = program.tables().map(|(_, t)| t.entries.len()).sum::<usize>();
            let adds = source
                .entries
                .matches(if arch == Arch::Tna { "add_with_" } else { "table_add" })
                .count();
            assert_eq!(adds, installed, "{}", program.name);
        }
    }
}

#[test]
fn the_last_table_drops() {
    // The prune bit is Tofino's own drop bit, so that dropping costs no stage of its own ...
    let text = print(&group_by::Config::paper().program(), Arch::Tna).program;
    assert!(text.contains("ig_dprsr_md.drop_ctl = 3w1;") && !text.contains("meta.prune"), "{text}");
    // ... unless the program reads it.
    let chained = extreme::Config::new(Relation::Gt, 9, 64, 2).unwrap().program();
    let text = print(&chained, Arch::Tna).program;
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
    let source = print(&config.with_hashing(Hashing::Linear).program(), Arch::V1Model);
    let expected = "\
    action roll0__search() {
        bit<32> index = 0;
        hash(index, HashAlgorithm.crc32, 32w0, { hdr.cheetah.fid, hdr.cheetah.id }, 64w16);
        bit<32> cell;
        column0.read(cell, index);
        bool lo = (bit<40>)cell <= (bit<40>)hdr.entry0.v0;
        bool hi = false;
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
    let entries = print(&program, Arch::V1Model).entries;
    let text = print(&program, Arch::Tna).program;
    for (polynomial, initial) in units {
        let parameters = format!(" {polynomial:#010x} {initial:#010x} 0xffffffff true true\n");
        assert!(entries.contains(&parameters), "{entries}");
        let unit = format!(
            "(32w{polynomial:#010x}, true, false, false, 32w{initial:#010x}, 32w0xffffffff)"
        );
        assert!(text.contains(&unit), "{text}");
    }
}

/// What is pruned goes back to the worker, with the number of the boot; else it would be sent for ever.
#[test]
fn acknowledgements_are_turned_around() {
    let program = randomized::Config::new(16, 2, Ties::Keep, 1).unwrap().program();
    let flows = crate::protocol::Flow::of_workers(crate::algorithm::catalog::Carries::Value, 2);
    let program =
        crate::protocol::reliable(&program, &flows, crate::protocol::Copies::Once).unwrap();
    for (arch, bounce, drop) in [
        (
            Arch::V1Model,
            "standard_metadata.egress_spec = standard_metadata.ingress_port;",
            "mark_to",
        ),
        (Arch::Tna, "ig_tm_md.ucast_egress_port = ig_intr_md.ingress_port;", "drop_ctl"),
    ] {
        let source = print(&program, arch);
        assert!(source.program.contains("hdr.entry0.v1 = meta.stamp;\n"), "{}", source.program);
        assert!(source.program.contains(bounce) && !source.program.contains(drop));
        assert!(source.entries.contains("flow"), "{}", source.entries);
    }
}
