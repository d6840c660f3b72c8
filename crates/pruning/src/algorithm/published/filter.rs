//! `cheetah_filtering.p4`: keeps `value < constant`.

use super::drop_table;
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, FieldId, Index, Program,
    Relation, Source, Stateful, Table, Test, Update,
};

/// Returns the released filter: one comparison with a compile-time constant. Its register is unused.
#[must_use]
pub fn filter(constant: u32) -> Program {
    let mut b = Builder::new("released_filter", 1);
    let (large, prune) = (b.field("large", 1), b.verdict("prune"));
    let register = b.register("unused", Cell::Bit32, 1);
    let compare = Stateful::on(register, Index::Zero)
        .compare_lo(Compare::field_const(FieldId::value(0), Relation::Lt, constant))
        .set_hi(Update::set(ComparePredicate::NOT_LO, AluOperand::Const(1)))
        .output(large, Source::AluHi, ComparePredicate::ALWAYS);
    b.stage();
    b.table(Table::always("compare", Action::access("compare", compare)));
    b.stage();
    b.table(drop_table(prune).when([Test::is(large, 1)]));
    b.finish()
}
