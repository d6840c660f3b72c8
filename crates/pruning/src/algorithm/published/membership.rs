//! `cheetah_join.p4`: a Bloom filter of six arrays.

use super::drop_table;
use crate::switch::{
    Action, AluOperand, Builder, Cell, ComparePredicate, Entry, FieldId, Index, Key, Op, Operand,
    Operation, POLYNOMIALS, Pattern, Program, Source, Stateful, Table, Test, Update,
};

/// Returns the released JOIN with arrays of 2^`bits` bits (17 in the release). Flow 1 builds, flow 2 probes; packets
/// carry key and value.
///
/// A probe packet is pruned as soon as one of its bits is *set*, so matches are pruned and others pass. A build
/// packet stops at the first bit that was not set. For a new key, only the first of six bits is thus set, and the
/// packet is pruned though the master needs it. The hashes are one CRC over the key plus 0, 3, 5, 7, 11 and 13, and
/// their collisions coincide.
#[must_use]
pub fn join(bits: u8) -> Program {
    let mut b = Builder::new("released_join", 2);
    let key = FieldId::value(0);
    let (not_in, prune) = (b.field("not_in_bloom", 1), b.verdict("prune"));
    b.stage();
    let mut keys = Vec::new();
    for offset in [0, 3, 5, 7, 11, 13] {
        let to = b.field(format!("key{offset}"), 32);
        let add = Op::new(to, Operation::Add, Operand::Field(key), Operand::Const(offset));
        b.table(Table::always(format!("offset{offset}"), Action::compute("add", [add])));
        keys.push(to);
    }
    for (block, hashed) in keys.into_iter().enumerate() {
        let index = Index::Hash(b.hash(format!("bit{block}"), POLYNOMIALS[0], [hashed], bits));
        let register = b.register(format!("bloom{block}"), Cell::Bit1, 1 << bits);
        let access = Stateful::on(register, index);
        // set_bitc outputs the complement of the bit as it was; read_bit the bit itself.
        let set = access
            .clone()
            .set_lo(Update::set(ComparePredicate::ALWAYS, AluOperand::Const(1)))
            .output(not_in, Source::NotMemLo, ComparePredicate::ALWAYS);
        let read = access.output(not_in, Source::MemLo, ComparePredicate::ALWAYS);
        let actions = vec![Action::access("set", set), Action::access("read", read)];
        let entries =
            [1, 2].map(|flow| Entry::new([Pattern::exactly(flow)], flow as usize - 1)).into();
        let table = Table::matching(
            format!("block{block}"),
            vec![Key::exact(FieldId::FID)],
            actions,
            entries,
        );
        b.stage();
        b.table(if block == 0 { table } else { table.when([Test::is(not_in, 0)]) });
    }
    b.stage();
    b.table(drop_table(prune).when([Test::is(not_in, 1)]));
    b.finish()
}
