//! `cheetah_groupby.p4`: GROUP BY MAX over five tables.

use super::drop_table;
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, FieldId, Half, Index, Op,
    Operand, Operation, POLYNOMIALS, Program, Relation, Source, Stateful, Table, Test, Update,
};

/// Returns the released GROUP BY with 2^`row_bits` cells in a table (17 in the release). Packets carry key and value.
///
/// All hashes are one CRC, over the key plus 0, 3, 5, 7 and 9. Key and value lie in two arrays, so a table takes two
/// stages.
#[must_use]
pub fn group_by(row_bits: u8) -> Program {
    let mut b = Builder::new("released_group_by", 2);
    let (key, value) = (FieldId::value(0), FieldId::value(1));
    let (same, found, prune) = (b.field("same", 1), b.field("found", 1), b.verdict("prune"));
    b.stage();
    let mut keys = Vec::new();
    for offset in [0, 3, 5, 7, 9] {
        let to = b.field(format!("key{offset}"), 32);
        let add = Op::new(to, Operation::Add, Operand::Field(key), Operand::Const(offset));
        b.table(Table::always(format!("offset{offset}"), Action::compute("add", [add])));
        keys.push(to);
    }
    for (row, hashed) in keys.into_iter().enumerate() {
        let guard = |table: Table| if row == 0 { table } else { table.when([Test::is(found, 0)]) };
        let index = Index::Hash(b.hash(format!("row{row}"), POLYNOMIALS[0], [hashed], row_bits));
        let keys = b.register(format!("keys{row}"), Cell::Bit32, 1 << row_bits);
        let values = b.register(format!("values{row}"), Cell::Bit32, 1 << row_bits);
        let swap = Stateful::on(keys, index)
            .compare_lo(Compare::mem(Half::Lo, Relation::Eq, key))
            .set_lo(Update::set(ComparePredicate::NOT_LO, AluOperand::Field(key)))
            .set_hi(Update::set(ComparePredicate::LO, AluOperand::Const(1)))
            .output(same, Source::AluHi, ComparePredicate::ALWAYS);
        b.stage();
        b.table(guard(Table::always(format!("key_row{row}"), Action::access("swap", swap))));
        // This is the compiled form: store if `same` is not 1 or the register is not greater, else output 1.
        let store = Stateful::on(values, index)
            .compare_lo(Compare::field_const(same, Relation::Ne, 1))
            .compare_hi(Compare::mem(Half::Lo, Relation::Le, value))
            .set_lo(Update::set(ComparePredicate::EITHER, AluOperand::Field(value)))
            .set_hi(Update::set(ComparePredicate::NEITHER, AluOperand::Const(1)))
            .output(found, Source::AluHi, ComparePredicate::ALWAYS);
        b.stage();
        b.table(guard(Table::always(format!("value_row{row}"), Action::access("store", store))));
    }
    b.stage();
    b.table(drop_table(prune).when([Test::is(found, 1)]));
    b.finish()
}
