//! Test helpers of all algorithms: adversarial streams, and mutants that must be detected.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::experiment::check::check;
use crate::switch::{
    Comparand, ComparePredicate, Interpreter, Operand, Operation, Packet, Program, Relation,
    Target, Update, fit,
};
use crate::{Entries, Pruner, Selection, Verdict};

/// Returns the values of one column of a stream: uniform, few, skewed, sorted, reversed, constant or extreme.
pub(crate) fn column(len: usize) -> impl Strategy<Value = Vec<u32>> {
    let extremes = prop_oneof![
        Just(0),
        Just(1),
        Just(u32::MAX),
        Just(u32::MAX - 1),
        Just(1 << 31),
        any::<u32>()
    ];
    let of = |value: BoxedStrategy<u32>| prop::collection::vec(value, len);
    prop_oneof![
        of(any::<u32>().boxed()),
        of((0..8_u32).boxed()),
        of((0..200_u32).boxed()),
        of((any::<u32>(), 0..32_u32).prop_map(|(value, shift)| value >> shift).boxed()),
        of(extremes.boxed()),
        of((0..1000_u32).boxed()).prop_map(|mut values| {
            values.sort_unstable();
            values
        }),
        of((0..1000_u32).boxed()).prop_map(|mut values| {
            values.sort_unstable_by(|a, b| b.cmp(a));
            values
        }),
        any::<u32>().prop_map(move |value| vec![value; len]),
        // Strides of powers of two, which a CRC over an offset key cannot distinguish.
        (any::<u32>(), 0..24_u32).prop_map(move |(start, shift)| {
            (0..len as u32).map(|i| start.wrapping_add(i << shift)).collect()
        }),
    ]
}

/// Returns a stream of one flow with `columns` values.
pub(crate) fn stream(columns: usize, len: usize) -> impl Strategy<Value = Vec<Packet>> {
    (prop::collection::vec(column(len), columns), any::<u32>()).prop_map(move |(columns, first)| {
        (0..len)
            .map(|i| {
                let values: Vec<u32> = columns.iter().map(|c| c[i]).collect();
                Packet::new(0, first.wrapping_add(i as u32), values)
            })
            .collect()
    })
}

/// Runs the program alone and returns, for each packet, true if it is forwarded.
pub(crate) fn forwarded(program: &Program, stream: &[Packet]) -> Vec<bool> {
    let mut interpreter = Interpreter::new(program.clone()).unwrap();
    stream.iter().map(|packet| interpreter.run(packet).unwrap() == Verdict::Forward).collect()
}

/// Checks the properties of a deterministic algorithm on one stream: the fast path equals the program, the answer
/// survives pruning and any superset, and no register is touched twice.
pub(crate) fn assert_sound<A: PartialEq + std::fmt::Debug>(
    program: &Program,
    pruner: &mut dyn Pruner,
    stream: &[Packet],
    answer: impl Fn(&[Packet]) -> A,
) {
    check(program, pruner, stream).unwrap();
    let keep = forwarded(program, stream);
    let expected = answer(stream);
    for add_back in [0, 2, 3] {
        let superset: Vec<Packet> = (0..stream.len())
            .filter(|&i| keep[i] || (add_back > 0 && i % add_back == 0))
            .map(|i| stream[i].clone())
            .collect();
        assert_eq!(answer(&superset), expected, "pruning changed the answer");
    }
    // A reboot loses the state and costs only pruning.
    let mut interpreter = Interpreter::new(program.clone()).unwrap();
    for at in [stream.len() / 3, 2 * stream.len() / 3] {
        interpreter.reset();
        let mut left = Vec::new();
        for (position, packet) in stream.iter().enumerate() {
            if position == at {
                interpreter.reset();
            }
            if interpreter.run(packet).unwrap() == Verdict::Forward {
                left.push(packet.clone());
            }
        }
        assert_eq!(answer(&left), expected, "a reboot changed the answer");
    }
    assert_touches_what_fits(program, stream);
}

/// Checks that a run touches only registers that the placement counts, each at most once a packet.
pub(crate) fn assert_touches_what_fits(program: &Program, stream: &[Packet]) {
    let target = Target { stages: 1000, ..Target::paper() };
    let placement = fit(program, &target).unwrap();
    let placed: BTreeMap<&str, usize> = placement
        .stages
        .iter()
        .enumerate()
        .flat_map(|(stage, s)| s.tables.iter().map(move |t| (t.as_str(), stage)))
        .collect();
    let mut interpreter = Interpreter::new(program.clone()).unwrap();
    for packet in stream.iter().take(50) {
        let trace = interpreter.trace(packet).unwrap();
        let mut touched: Vec<u16> =
            trace.steps.iter().filter_map(|s| s.access.map(|a| a.register.0)).collect();
        let accesses = touched.len();
        touched.sort_unstable();
        touched.dedup();
        assert_eq!(touched.len(), accesses, "a register was touched twice");
        assert!(accesses <= placement.stateful_alus());
        for step in &trace.steps {
            assert!(
                placed.contains_key(step.table.as_str()),
                "`{}` ran but was not placed",
                step.table
            );
        }
    }
}

/// Sends a stream through a fast path in batches of `batch`. Returns, for each packet, true if it is forwarded.
pub(crate) fn fast_forwarded(
    pruner: &mut dyn Pruner,
    stream: &[Packet],
    batch: usize,
) -> Vec<bool> {
    let mut selection = Selection::new();
    let mut keep = Vec::new();
    for run in stream.chunks(batch) {
        let columns: Vec<Vec<u32>> =
            (0..run[0].values.len()).map(|v| run.iter().map(|p| p.values[v]).collect()).collect();
        let columns: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
        pruner
            .prune(&Entries::new(run[0].fid, run[0].id, &columns).unwrap(), &mut selection)
            .unwrap();
        keep.extend((0..run.len()).map(|i| selection.get(i)));
    }
    keep
}

/// Returns every program that differs from `program` by one dropped predicate or one inverted comparison.
pub(crate) fn mutants(program: &Program) -> Vec<(String, Program)> {
    let mut out = Vec::new();
    let mut push = |what: String, change: &dyn Fn(&mut Program)| {
        let mut mutant = program.clone();
        change(&mut mutant);
        if mutant != *program && mutant.validate().is_ok() {
            out.push((what, mutant));
        }
    };
    for (s, stage) in program.stages.iter().enumerate() {
        for (t, table) in stage.tables.iter().enumerate() {
            let name = &table.name;
            for clause in 0..table.gateway.all_of.len() {
                push(format!("{name}: gateway clause {clause} dropped"), &|p| {
                    p.stages[s].tables[t].gateway.all_of.remove(clause);
                });
                for test in 0..table.gateway.all_of[clause].len() {
                    push(format!("{name}: gateway test {clause}.{test} turned"), &|p| {
                        let test = &mut p.stages[s].tables[t].gateway.all_of[clause][test];
                        test.equal = !test.equal;
                    });
                    if let Comparand::Const(_) = table.gateway.all_of[clause][test].with {
                        push(format!("{name}: gateway constant {clause}.{test} off"), &|p| {
                            if let Comparand::Const(c) =
                                &mut p.stages[s].tables[t].gateway.all_of[clause][test].with
                            {
                                *c ^= 1;
                            }
                        });
                    }
                }
            }
            for a in 0..table.actions.len() {
                mutate_action(program, s, t, a, &mut push);
            }
            if let Some(default) = &table.default
                && table.actions.len() > 1
            {
                let other = (default.action + 1) % table.actions.len();
                push(format!("{name}: other default"), &|p| {
                    if let Some(call) = &mut p.stages[s].tables[t].default {
                        call.action = other;
                    }
                });
            }
        }
    }
    out
}

fn mutate_action(
    program: &Program,
    s: usize,
    t: usize,
    a: usize,
    push: &mut impl FnMut(String, &dyn Fn(&mut Program)),
) {
    let table = &program.stages[s].tables[t];
    let action = &table.actions[a];
    let name = format!("{}.{}", table.name, action.name);
    for (o, op) in action.ops.iter().enumerate() {
        push(format!("{name}: op {o} dropped"), &|p| {
            p.stages[s].tables[t].actions[a].ops.remove(o);
        });
        if op.operation == Operation::SubSaturating {
            push(format!("{name}: op {o} turned"), &|p| {
                let op = &mut p.stages[s].tables[t].actions[a].ops[o];
                std::mem::swap(&mut op.a, &mut op.b);
            });
        }
        if let Operand::Const(_) = op.a {
            push(format!("{name}: constant of op {o} off"), &|p| {
                if let Operand::Const(c) = &mut p.stages[s].tables[t].actions[a].ops[o].a {
                    *c ^= 1;
                }
            });
        }
    }
    let Some(stateful) = &action.stateful else { return };
    for (half, compare) in [(0, stateful.lo), (1, stateful.hi)] {
        let Some(compare) = compare else { continue };
        for relation in
            [Relation::Eq, Relation::Ne, Relation::Lt, Relation::Le, Relation::Gt, Relation::Ge]
        {
            push(
                format!("{name}: comparator {half} {:?} -> {relation:?}", compare.relation),
                &|p| {
                    let Some(st) = p.stages[s].tables[t].actions[a].stateful.as_mut() else {
                        return;
                    };
                    let target = if half == 0 { &mut st.lo } else { &mut st.hi };
                    *target = Some(crate::switch::Compare { relation, ..compare });
                },
            );
        }
    }
    let updates = |half: usize| -> &Vec<Update> {
        if half == 0 { &stateful.update_lo } else { &stateful.update_hi }
    };
    for half in 0..2 {
        for u in 0..updates(half).len() {
            for when in [ComparePredicate::ALWAYS, ComparePredicate(!updates(half)[u].when.0 & 0xF)]
            {
                push(format!("{name}: update {half}.{u} when {:04b}", when.0), &|p| {
                    let Some(st) = p.stages[s].tables[t].actions[a].stateful.as_mut() else {
                        return;
                    };
                    let list = if half == 0 { &mut st.update_lo } else { &mut st.update_hi };
                    list[u].when = when;
                });
            }
        }
    }
    for o in 0..stateful.outputs.len() {
        push(format!("{name}: output {o} dropped"), &|p| {
            let Some(st) = p.stages[s].tables[t].actions[a].stateful.as_mut() else { return };
            st.outputs.remove(o);
        });
        push(format!("{name}: predicate of output {o} turned"), &|p| {
            let Some(st) = p.stages[s].tables[t].actions[a].stateful.as_mut() else { return };
            st.outputs[o].when = ComparePredicate(!st.outputs[o].when.0 & 0xF);
        });
    }
}

/// Checks that every mutant of the program differs from the fast path on one of `streams`. Exceptions are listed in
/// `equivalent`, with a reason: `(part of the mutant's name, reason)`.
pub(crate) fn assert_mutants_are_caught(
    program: &Program,
    pruner: &mut dyn Pruner,
    streams: &[Vec<Packet>],
    equivalent: &[(&str, &str)],
) {
    for stream in streams {
        check(program, pruner, stream).unwrap();
    }
    let mutants = mutants(program);
    assert!(!mutants.is_empty(), "nothing to mutate");
    let mut survivors = Vec::new();
    for (what, mutant) in &mutants {
        let caught = streams.iter().any(|stream| check(mutant, pruner, stream).is_err());
        let excused = equivalent.iter().any(|(part, _)| what.contains(part));
        if !caught && !excused {
            survivors.push(what.as_str());
        }
    }
    assert!(
        survivors.is_empty(),
        "{} of {} mutants survive: {survivors:#?}",
        survivors.len(),
        mutants.len()
    );
}

/// Returns a stream of `len` packets from a linear congruential generator, with values below `range`.
pub(crate) fn random_stream(seed: u64, columns: usize, len: usize, range: u32) -> Vec<Packet> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    (0..len as u32)
        .map(|id| Packet::new(0, id, (0..columns).map(|_| next() % range).collect::<Vec<_>>()))
        .collect()
}
