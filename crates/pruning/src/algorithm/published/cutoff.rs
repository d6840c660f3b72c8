//! `cheetah_topn.p4`: TOP N with one cutoff.

use super::drop_table;
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, Entry, FieldId, Half, Index, Key,
    Op, Operand, Operation, Pattern, Program, Relation, Source, Stateful, Table, Test, Update,
};

/// The initial value of the least value in the release.
const PRESET: u32 = 10_000;

/// Returns the released TOP N.
///
/// It counts values *above* twice the least of the first `n`. Once `n` were counted, it prunes such values, which are
/// the largest. Values below the least are never pruned, because "less than the least" is computed only during the
/// first `n` entries.
#[must_use]
pub fn top_n(n: u32) -> Program {
    let mut b = Builder::new("released_top_n", 1);
    let value = FieldId::value(0);
    let (full, prune) = (b.field("more_than_n", 1), b.verdict("prune"));
    let (least, double) = (b.field("least", 32), b.field("double", 32));
    let (difference, above) = (b.field("difference", 32), b.field("less_than_min_two", 1));
    let increment =
        |when| Update::new(when, Operation::Add, AluOperand::MemLo, AluOperand::Const(1));

    let seen = b.register("seen", Cell::Bit32, 1);
    let count = Stateful::on(seen, Index::Zero)
        .compare_lo(Compare::mem_const(Half::Lo, Relation::Lt, n))
        .set_lo(increment(ComparePredicate::LO))
        .set_hi(Update::set(ComparePredicate::NOT_LO, AluOperand::Const(1)))
        .output(full, Source::AluHi, ComparePredicate::ALWAYS);
    b.stage();
    b.table(Table::always("count", Action::access("count", count)));

    let minimum = b.register_of("minimum", Cell::Bit32, 1, [PRESET, 0]);
    let lower = Stateful::on(minimum, Index::Zero).set_lo(Update::new(
        ComparePredicate::ALWAYS,
        Operation::Min,
        AluOperand::MemLo,
        AluOperand::Field(value),
    ));
    let read =
        Stateful::on(minimum, Index::Zero).output(least, Source::MemLo, ComparePredicate::ALWAYS);
    let actions = vec![Action::access("lower", lower), Action::access("read", read)];
    let entries = vec![Entry::new([Pattern::exactly(0)], 0)];
    b.stage();
    b.table(
        Table::matching("minimum_of_first", vec![Key::exact(full)], actions, entries).otherwise(1),
    );

    let least = Operand::Field(least);
    b.stage();
    let twice = Op::new(double, Operation::Add, least, least);
    b.table(Table::always("double_minimum", Action::compute("double", [twice])));
    b.stage();
    let minus = Op::new(difference, Operation::Sub, Operand::Field(double), Operand::Field(value));
    b.table(Table::always("subtract_value", Action::compute("subtract", [minus])));

    let counted = b.register("counted", Cell::Bit32, 1);
    let one = Stateful::on(counted, Index::Zero)
        .compare_lo(Compare::field_const(difference, Relation::Gt, i32::MAX as u32))
        .compare_hi(Compare::mem_const(Half::Lo, Relation::Gt, n))
        .set_lo(increment(ComparePredicate(ComparePredicate::LO.0 & ComparePredicate::NOT_HI.0)))
        .set_hi(Update::set(ComparePredicate::BOTH, AluOperand::Const(1)))
        .output(above, Source::AluHi, ComparePredicate::ALWAYS);
    b.stage();
    b.table(Table::always("first_cutoff", Action::access("count", one)).when([Test::is(full, 1)]));
    b.stage();
    b.table(drop_table(prune).when([Test::is(above, 1)]).when([Test::is(full, 1)]));
    b.finish()
}
