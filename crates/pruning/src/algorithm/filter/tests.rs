use proptest::prelude::*;

use super::*;
use crate::experiment::conformance::{
    assert_mutants_are_caught, assert_sound, forwarded, random_stream, stream,
};
use crate::switch::{Packet, Target, fit};

const fn gt(value: u8, constant: u32) -> Formula {
    Formula::compare(value, Relation::Gt, constant)
}

/// Returns the paper's example, `(taste > 5) OR (texture > 4 AND name LIKE 'e%')`.
fn paper_example() -> Formula {
    Formula::Or(vec![gt(0, 5), Formula::And(vec![gt(1, 4), Formula::Leaf(Leaf::Opaque)])])
}

#[test]
fn opaque_parts_become_true() {
    let config = Config::new(&paper_example(), 2, None).unwrap();
    assert_eq!(config.truth_table(), [false, true, true, true], "(taste > 5) OR (texture > 4)");
    let negated = Config::new(&Formula::Not(Box::new(paper_example())), 2, None).unwrap();
    // In NOT(a OR (b AND y)) only a decides, because y may be FALSE.
    assert_eq!(negated.truth_table(), [true, false, true, false]);
}

#[test]
fn unknown_is_not_true() {
    let nullable = Formula::Leaf(Leaf::Compare {
        value: 0,
        relation: Relation::Gt,
        constant: 5,
        exact: true,
        null: Some(3),
    });
    for formula in [nullable.clone(), Formula::Not(Box::new(nullable))] {
        let config = Config::new(&formula, 2, Some(1)).unwrap();
        let keep = forwarded(
            &config.program(),
            &[Packet::new(0, 0, [9, 0b1000]), Packet::new(0, 1, [2, 0b1000])],
        );
        assert_eq!(keep, [false, false], "a NULL operand is never TRUE");
    }
}

#[test]
fn a_worker_computes_the_rest() {
    let like = Formula::Leaf(Leaf::Worker { bit: 0, null: Some(1) });
    let formula = Formula::And(vec![gt(0, 4), like]);
    let config = Config::new(&formula, 2, Some(1)).unwrap();
    let packets: Vec<Packet> =
        (0..8).map(|n| Packet::new(0, n, [if n & 4 == 0 { 9 } else { 1 }, n & 3])).collect();
    assert_eq!(
        forwarded(&config.program(), &packets),
        [false, true, false, false, false, false, false, false]
    );
}

#[test]
fn an_inexact_code_is_weakened() {
    let leaf = |relation| {
        Formula::Leaf(Leaf::Compare { value: 0, relation, constant: 5, exact: false, null: None })
    };
    let run = |formula: &Formula| {
        let packets: Vec<Packet> = [4, 5, 6].map(|v| Packet::new(0, v, [v])).into();
        forwarded(&Config::new(formula, 1, None).unwrap().program(), &packets)
    };
    assert_eq!(run(&leaf(Relation::Gt)), [false, true, true]);
    assert_eq!(run(&leaf(Relation::Eq)), [false, true, false]);
    assert_eq!(run(&leaf(Relation::Ne)), [true, true, true], "equal codes may differ in value");
}

#[test]
fn two_stages() {
    let config = Config::new(&paper_example(), 2, None).unwrap();
    let placement = fit(&config.program(), &Target::tofino1()).unwrap();
    assert_eq!((placement.stages.len(), placement.stateful_alus()), (2, 2));
}

#[test]
fn refused_parameters() {
    assert!(Config::new(&gt(2, 0), 2, None).is_err());
    assert!(Config::new(&gt(0, 0), 0, None).is_err());
    assert!(Config::new(&Formula::Leaf(Leaf::Worker { bit: 0, null: None }), 2, None).is_err());
    assert!(Config::new(&Formula::And(vec![Formula::Leaf(Leaf::Opaque); 9]), 1, None).is_err());
}

#[test]
fn mutants_are_caught() {
    let relations = [Relation::Eq, Relation::Lt, Relation::Ge];
    let parts = relations.map(|relation| Formula::compare(0, relation, 5));
    for formula in parts.into_iter().chain([paper_example()]) {
        let config = Config::new(&formula, 2, None).unwrap();
        let streams = [random_stream(1, 2, 300, 12)];
        assert_mutants_are_caught(&config.program(), &mut config.pruner(), &streams, &[]);
    }
}

fn formula() -> impl Strategy<Value = Formula> {
    let relation = prop::sample::select(vec![
        Relation::Eq,
        Relation::Ne,
        Relation::Lt,
        Relation::Le,
        Relation::Gt,
        Relation::Ge,
    ]);
    let leaf = prop_oneof![
        4 => (0..2_u8, relation, prop_oneof![0..4_u32, any::<u32>()], prop::option::of(0..3_u8)).prop_map(
            |(value, relation, constant, null)| Formula::Leaf(Leaf::Compare { value, relation, constant, exact: true, null })
        ),
        1 => (3..5_u8).prop_map(|bit| Formula::Leaf(Leaf::Worker { bit, null: Some(bit + 2) })),
        1 => Just(Formula::Leaf(Leaf::Opaque)),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|f| Formula::Not(Box::new(f))),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Formula::And),
            prop::collection::vec(inner, 0..3).prop_map(Formula::Or),
        ]
    })
}

/// Returns SQL's answer for one entry, with pseudo-random values for opaque leaves.
fn keeps(formula: &Formula, packet: &Packet) -> bool {
    let mut leaves = Vec::new();
    formula.leaves(&mut leaves);
    let flag = |bit: u8| packet.values[2] >> bit & 1 == 1;
    let mut values = leaves.iter().enumerate().map(|(n, leaf)| match *leaf {
        Leaf::Compare { null: Some(bit), .. } if flag(bit) => None,
        Leaf::Compare { value, relation, constant, .. } => {
            let v = packet.values[usize::from(value)];
            Some(match relation {
                Relation::Eq => v == constant,
                Relation::Ne => v != constant,
                Relation::Lt => v < constant,
                Relation::Le => v <= constant,
                Relation::Gt => v > constant,
                Relation::Ge => v >= constant,
            })
        }
        Leaf::Worker { bit, null } => (!null.is_some_and(flag)).then(|| flag(bit)),
        Leaf::Opaque => [Some(true), Some(false), None][(packet.id as usize + n) % 3],
    });
    formula.evaluate(&mut values) == Some(true)
}

/// Wider values may share a worker's 32-bit code. Then only comparisons that include equality can be decided, and a
/// negation must not hide them.
#[test]
fn a_negated_comparison_of_shared_codes_prunes_as_its_opposite() {
    let compare = |relation, null| {
        let (value, constant, exact) = (0, 100, false);
        Formula::Leaf(Leaf::Compare { value, relation, constant, exact, null })
    };
    let not = |formula| Formula::Not(Box::new(formula));
    let kept = |formula: &Formula| -> Vec<u32> {
        let program = Config::new(formula, 1, None).unwrap().program();
        let packets: Vec<Packet> =
            [0, 99, 100, 101, 500].into_iter().map(|v| Packet::new(0, v, [v])).collect();
        let keep = forwarded(&program, &packets);
        packets.iter().zip(keep).filter(|(_, keep)| *keep).map(|(p, _)| p.values[0]).collect()
    };
    let greater = || compare(Relation::Gt, None);
    assert_eq!(kept(&not(greater())), [0, 99, 100]);
    assert_eq!(kept(&not(not(greater()))), [100, 101, 500]);
    assert_eq!(kept(&not(compare(Relation::Ne, None))), [100]);
    let outside = Formula::Or(vec![greater(), compare(Relation::Lt, None)]);
    assert_eq!(kept(&not(outside)), [100]);
    let both = Formula::And(vec![greater(), Formula::Leaf(Leaf::Opaque)]);
    assert_eq!(kept(&not(both)), [0, 99, 100, 101, 500]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn answer_is_unchanged(formula in formula(), packets in stream(3, 120)) {
        let config = match Config::new(&formula, 3, Some(2)) {
            Ok(config) => config,
            Err(_) => return Ok(()),
        };
        assert_sound(&config.program(), &mut config.pruner(), &packets, |packets| {
            packets.iter().filter(|p| keeps(&formula, p)).cloned().collect::<Vec<_>>()
        });
    }
}
