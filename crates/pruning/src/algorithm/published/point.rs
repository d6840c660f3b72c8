//! `cheetah_skyline.p4`: one point, two dimensions, ordered by the sum.

use super::drop_table;
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, Entry, FieldId, Half, Index, Key,
    Op, Operand, Operation, Pattern, Program, Relation, Source, Stateful, Table, Test, Update,
};

/// The compiler whose interpretation of `register_lo - sum < 0` is modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compiler {
    /// The authors' intention: the register is less than the sum.
    Intended,
    /// p4c's open backend: an unsigned difference is never negative, so the condition is false and no point is ever
    /// stored.
    Folding,
}

/// Returns the released SKYLINE. Packets carry x and y.
#[must_use]
pub fn skyline(compiler: Compiler) -> Program {
    let mut b = Builder::new("released_skyline", 2);
    let prune = b.verdict("prune");
    let (sum, replace) = (b.field("sum", 32), b.field("replace", 1));
    b.stage();
    let (x, y) = (Operand::Field(FieldId::value(0)), Operand::Field(FieldId::value(1)));
    b.table(Table::always("add", Action::compute("add", [Op::new(sum, Operation::Add, x, y)])));
    let score = b.register("score", Cell::Bit32, 1);
    let mut compare =
        Stateful::on(score, Index::Zero).output(replace, Source::AluHi, ComparePredicate::ALWAYS);
    // The compiler removes everything that the folded condition guards.
    if compiler == Compiler::Intended {
        compare = compare
            .compare_lo(Compare::mem(Half::Lo, Relation::Lt, sum))
            .set_lo(Update::set(ComparePredicate::LO, AluOperand::Field(sum)))
            .set_hi(Update::set(ComparePredicate::LO, AluOperand::Const(1)));
    }
    b.stage();
    b.table(Table::always("compare_score", Action::access("compare", compare)));
    b.stage();
    let mut drop = drop_table(prune);
    for (n, name) in ["x", "y"].into_iter().enumerate() {
        let own = FieldId::value(n as u8);
        let (register, greater) =
            (b.register(name, Cell::Bit32, 1), b.field(format!("{name}_greater"), 1));
        let store = Stateful::on(register, Index::Zero)
            .set_lo(Update::set(ComparePredicate::ALWAYS, AluOperand::Field(own)));
        let check = Stateful::on(register, Index::Zero)
            .compare_lo(Compare::mem(Half::Lo, Relation::Gt, own))
            .set_hi(Update::set(ComparePredicate::LO, AluOperand::Const(1)))
            .output(greater, Source::AluHi, ComparePredicate::ALWAYS);
        let actions = vec![Action::access("store", store), Action::access("check", check)];
        let entries = vec![Entry::new([Pattern::exactly(1)], 0)];
        let keys = vec![Key::exact(replace)];
        b.table(Table::matching(format!("point_{name}"), keys, actions, entries).otherwise(1));
        drop = drop.when([Test::is(greater, 1)]);
    }
    b.stage();
    b.table(drop);
    b.finish()
}
