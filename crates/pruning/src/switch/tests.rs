use super::*;
use crate::Verdict;

/// Builds a program of one value with a verdict; `build` adds the rest.
fn program(build: impl FnOnce(&mut Builder, FieldId)) -> Program {
    let mut b = Builder::new("test", 1);
    let prune = b.verdict("prune");
    build(&mut b, prune);
    b.finish()
}

fn set(field: FieldId, value: Operand) -> Action {
    Action::compute("set", [Op::set(field, value)])
}

#[test]
fn rules_of_every_target() {
    let value = Operand::Field(FieldId::value(0));
    let twice = program(|b, _| {
        let register = b.register("r", Cell::Bit32, 4);
        for name in ["first", "second"] {
            b.stage();
            b.table(Table::always(
                name,
                Action::access("touch", Stateful::on(register, Index::Zero)),
            ));
        }
    });
    assert_eq!(twice.validate(), Err(ProgramError::SharedRegister("r".into())));
    let within = program(|b, prune| {
        let field = b.field("f", 32);
        b.table(Table::always("write", set(field, value)));
        b.table(Table::always("read", set(prune, Operand::Field(field))));
    });
    assert_eq!(
        within.validate(),
        Err(ProgramError::Dependency { table: "read".into(), field: "f".into() })
    );
    let header = program(|b, _| b.table(Table::always("write", set(FieldId::ID, value))));
    assert_eq!(
        header.validate(),
        Err(ProgramError::HeaderWrite { table: "write".into(), field: "id".into() })
    );
    let far = program(|b, _| {
        let register = b.register("r", Cell::Bit32, 4);
        let hash = b.hash("h", POLYNOMIALS[0], [FieldId::ID], 3);
        b.table(Table::always(
            "t",
            Action::access("touch", Stateful::on(register, Index::Hash(hash))),
        ));
    });
    assert!(matches!(far.validate(), Err(ProgramError::Index { bits: 3, .. })));
    let names = program(|b, _| {
        b.field("prune", 1);
    });
    assert_eq!(names.validate(), Err(ProgramError::Name("prune".into())));
    let missing = program(|b, _| b.table(Table::always("t", set(FieldId(99), value))));
    assert_eq!(missing.validate(), Err(ProgramError::Missing { table: "t".into(), what: "field" }));
    let argument = program(|b, prune| b.table(Table::always("t", set(prune, Operand::Arg(0)))));
    assert_eq!(
        argument.validate(),
        Err(ProgramError::Missing { table: "t".into(), what: "argument" })
    );
    let large = program(|b, _| {
        b.register("r", Cell::Bit8, u32::MAX);
    });
    assert_eq!(large.validate(), Err(ProgramError::TooLarge(u32::MAX.into())));
    assert_eq!(Builder::new("none", 1).finish().validate(), Err(ProgramError::Verdict));
}

/// Runs one access on a cell that holds `old` and returns the cell and the output.
fn access(
    cell: Cell,
    old: [u32; 2],
    value: u32,
    build: impl FnOnce(Stateful, FieldId) -> Stateful,
) -> ([u32; 2], u32) {
    let mut b = Builder::new("test", 1);
    b.verdict("prune");
    let out = b.field("out", 32);
    let register = b.register_of("r", cell, 1, old);
    let stateful = build(Stateful::on(register, Index::Zero), out);
    b.table(Table::always("t", Action::access("a", stateful)));
    let mut run = Interpreter::new(b.finish()).unwrap();
    run.process(0, 0, &[value]).unwrap();
    (run.registers()[0][0], run.field(out).unwrap())
}

#[test]
fn the_stateful_alu_is_tofinos() {
    let value = FieldId::value(0);
    let field = AluOperand::Field(value);
    // Both updates hold: their results are OR-ed. None holds: the cell keeps its value.
    let both = |when| {
        access(Cell::Bit32, [1, 0], 4, |s, out| {
            s.set_lo(Update::set(when, field))
                .set_lo(Update::set(when, AluOperand::Const(3)))
                .output(out, Source::AluLo, ComparePredicate::ALWAYS)
        })
    };
    assert_eq!(both(ComparePredicate::ALWAYS), ([7, 0], 7));
    assert_eq!(both(ComparePredicate::LO), ([1, 0], 1));
    // Comparisons do not wrap: 1 - 4 > 0 is false.
    let greater = access(Cell::Bit32, [1, 0], 4, |s, out| {
        s.compare_lo(Compare::mem(Half::Lo, Relation::Gt, value)).output(
            out,
            Source::Predicate,
            ComparePredicate::ALWAYS,
        )
    });
    assert_eq!(greater, ([1, 0], 1));
    // mem + field against a constant beyond 32 bits of sum.
    let sum = access(Cell::Bit32, [u32::MAX, 0], 4, |s, out| {
        s.compare_lo(Compare::sum(Half::Lo, value, Relation::Gt, u32::MAX)).output(
            out,
            Source::Predicate,
            ComparePredicate::ALWAYS,
        )
    });
    assert_eq!(sum.1, 2);
    // The high half of a single cell is scratch that starts at 0; that of a pair is kept.
    let scratch = |cell| {
        access(cell, [5, 6], 4, |s, out| s.output(out, Source::AluHi, ComparePredicate::ALWAYS))
    };
    assert_eq!(scratch(Cell::Bit32), ([5, 6], 0));
    assert_eq!(scratch(Cell::Pair32), ([5, 6], 6));
    // An output is 0 unless its predicate holds.
    let silent =
        access(Cell::Bit32, [5, 0], 4, |s, out| s.output(out, Source::MemLo, ComparePredicate::LO));
    assert_eq!(silent.1, 0);
    // Narrow cells wrap and saturate at their own width.
    for (operation, expected) in [(Operation::Add, 0x03), (Operation::AddSaturating, 0xFF)] {
        let narrow = access(Cell::Bit8, [0xFF, 0], 4, |s, _| {
            s.set_lo(Update::new(ComparePredicate::ALWAYS, operation, AluOperand::MemLo, field))
        });
        assert_eq!(narrow.0, [expected, 0]);
    }
    // set_bitc: sets, and outputs the complement of what was there.
    let set_bitc = |old| {
        access(Cell::Bit1, [old, 0], 0, |s, out| {
            s.set_lo(Update::set(ComparePredicate::ALWAYS, AluOperand::Const(1))).output(
                out,
                Source::NotMemLo,
                ComparePredicate::ALWAYS,
            )
        })
    };
    assert_eq!((set_bitc(0), set_bitc(1)), (([1, 0], 1), ([1, 0], 0)));
}

#[test]
fn tables_match_the_first_entry() {
    let program = program(|b, prune| {
        let keys = vec![Key::ternary(FieldId::value(0))];
        let actions = vec![set(prune, Operand::Const(1)), set(prune, Operand::Arg(0))];
        let entries = vec![
            Entry::new([Pattern::masked(0x10, 0xF0)], 1).with([0]),
            Entry::new([Pattern::any()], 0),
        ];
        b.table(Table::matching("t", keys, actions, entries));
    });
    let mut run = Interpreter::new(program).unwrap();
    assert_eq!(run.process(0, 0, &[0x1F]), Ok(Verdict::Forward));
    assert_eq!(run.process(0, 0, &[0x2F]), Ok(Verdict::Prune));
    assert_eq!(run.process(0, 0, &[]), Err(RejectedPacket { expected: 1, actual: 0 }));
}

#[test]
fn a_trace_tells_what_was_touched() {
    let config = crate::algorithm::distinct::Config::new(
        4,
        1,
        crate::algorithm::distinct::Width::Bits32,
        crate::algorithm::distinct::Policy::Lru,
    );
    let mut run = Interpreter::new(config.unwrap().program()).unwrap();
    let trace = run.trace(&Packet::new(0, 0, [9])).unwrap();
    assert_eq!(trace.verdicts, [Verdict::Forward]);
    let access = trace.steps.iter().find_map(|step| step.access).unwrap();
    assert_eq!((access.stage, access.before, access.after), (1, [0, 0], [9, 0]));
    let again = run.trace(&Packet::new(0, 1, [9])).unwrap();
    assert_eq!(again.verdicts, [Verdict::Prune]);
    assert_eq!(again.steps.last().map(|step| step.table.as_str()), Some("drop_duplicate"));
    run.reset();
    assert_eq!(run.run(&Packet::new(0, 2, [9])), Ok(Verdict::Forward));
}

/// Returns the reasons why a program does not fit Tofino 1, as text.
fn reasons(program: &Program) -> String {
    let misfits = fit(program, &Target::tofino1()).unwrap_err();
    misfits.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn misfits_tell_why() {
    let with_alu = |build: &dyn Fn(Stateful, &mut Builder) -> Stateful| {
        program(|b, _| {
            let register = b.register("r", Cell::Bit32, 4);
            let stateful = build(Stateful::on(register, Index::Zero), b);
            b.table(Table::always("t", Action::access("a", stateful)));
        })
    };
    let outputs = with_alu(&|s, b| {
        let (x, y) = (b.field("x", 32), b.field("y", 32));
        s.output(x, Source::MemLo, ComparePredicate::ALWAYS).output(
            y,
            Source::AluHi,
            ComparePredicate::ALWAYS,
        )
    });
    assert_eq!(reasons(&outputs), "table `t`: its stateful ALU outputs 2 words, the target's 1");
    assert!(fit(&outputs, &Target::tofino2()).is_ok());
    let inputs = with_alu(&|s, _| {
        s.compare_lo(Compare::mem(Half::Lo, Relation::Eq, FieldId::FID))
            .compare_hi(Compare::mem(Half::Lo, Relation::Eq, FieldId::ID))
            .set_lo(Update::set(ComparePredicate::LO, AluOperand::Field(FieldId::value(0))))
    });
    assert_eq!(reasons(&inputs), "table `t`: its stateful ALU reads 3 fields, the target's 2");
    let large = program(|b, _| {
        let register = b.register("r", Cell::Bit32, 147_456);
        b.table(Table::always("t", Action::access("a", Stateful::on(register, Index::Zero))));
    });
    assert_eq!(
        reasons(&large),
        "table `t`: register `r` takes 36 SRAM blocks, an array may take 32"
    );
    let wide = program(|b, prune| {
        let (x, y) = (b.field("x", 32), b.field("y", 32));
        let test = Table::always("t", set(prune, Operand::Const(1)));
        b.table(test.when([Test::same(x, FieldId::value(0))]).when([Test::same(y, FieldId::ID)]));
    });
    assert_eq!(reasons(&wide), "table `t`: its gateway compares 64 + 0 bits, the target 32 + 12");
    let phv = program(|b, _| {
        for n in 0..130 {
            b.field(format!("f{n}"), 32);
        }
    });
    assert!(reasons(&phv).contains("bits of header vector containers"));
    // Headers: n, twice 32 + 16 and the type, five words of IPv4, four numbers of UDP; then fid, id, a
    // value and the verdict.
    let least = program(|b, prune| {
        b.table(Table::always("t", set(prune, Operand::Const(1))));
    });
    let bits = fit(&least, &Target::tofino1()).unwrap().phv_bits;
    assert_eq!(bits, 8 + 2 * 48 + 16 + 5 * 32 + 4 * 16 + 16 + 32 + 32 + 8);
    let five = program(|b, _| {
        for n in 0..5 {
            let register = b.register(format!("r{n}"), Cell::Bit32, 4);
            b.table(Table::always(
                format!("t{n}"),
                Action::access("a", Stateful::on(register, Index::Zero)),
            ));
        }
    });
    assert_eq!(
        fit(&five, &Target::tofino1()).unwrap().stages.len(),
        2,
        "four stateful ALUs a stage"
    );
    assert_eq!(fit(&five, &Target::paper()).unwrap().stages.len(), 1);
}

#[test]
fn targets_round_trip_through_files() {
    for target in [Target::tofino1(), Target::tofino2(), Target::paper()] {
        assert_eq!(Target::from_toml(&format!("base = '{}'", target.name)).unwrap(), target);
    }
    assert_eq!(Target::from_toml("base = 'x'"), Err(TargetError::UnknownBase("x".into())));
    assert!(matches!(Target::from_toml("stages = 'many'"), Err(TargetError::Syntax(_))));
    assert!(matches!(Target::from_toml("= 1"), Err(TargetError::Syntax(_))));
}

/// Programs are plain data that survives serialization.
#[test]
fn programs_are_data() {
    let program = crate::algorithm::group_by::Config::paper().program();
    let table = toml::Table::try_from(&program).unwrap();
    assert_eq!(table.try_into::<Program>().unwrap(), program);
}
