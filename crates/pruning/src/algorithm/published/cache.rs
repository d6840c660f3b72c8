//! `cheetah_distinct.p4`: an LRU of four columns for 64-bit values.

use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, Entry, FieldId, Half, Index, Key,
    Op, Operand, Operation, POLYNOMIALS, Pattern, Program, Relation, Source, Stateful, Table, Test,
    Update,
};

/// The quirks to repair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repairs {
    /// True to give column 4 the output of column 3; the release gives it the input of column 3.
    pub fourth_column: bool,
}

const FLAG: u32 = 1 << 31;

/// Returns the released DISTINCT with 2^`row_bits` rows (16 in the release). Packets carry the value's high and low
/// half.
///
/// Each column is two arrays, one for each half. A half that equals the cell is output with its bit 31 set; if both
/// halves have it, the value was found. But bit 31 also belongs to the values:
///
/// 1. A stored value with both top bits set makes the next value of its row count as found.
/// 2. Cells start as zero, so the value zero is found at first sight.
/// 3. A match of one half alone writes the flag into the next column, where it may complete another.
///
/// Column 4 reads the field that column 3 read, so it repeats column 3 and finds nothing.
#[must_use]
pub fn distinct(row_bits: u8, repairs: Repairs) -> Program {
    let mut b = Builder::new("released_distinct", 2);
    // Each pair is low half, high half, in the order of the release's hash.
    let value = [FieldId::value(1), FieldId::value(0)];
    let fields = |b: &mut Builder, name: &str| {
        ["lo", "hi"].map(|half| b.field(format!("{name}_{half}"), 32))
    };
    let md = fields(&mut b, "md");
    let out = [0, 1, 2, 3].map(|column| fields(&mut b, &format!("out{column}")));
    let prune = b.verdict("prune");
    let row = b.hash("row", POLYNOMIALS[0], value, row_bits);

    b.stage();
    let copy = [0, 1].map(|half| Op::set(md[half], Operand::Field(value[half])));
    b.table(Table::always("copy_value", Action::compute("copy", copy)));
    for column in 0..4 {
        b.stage();
        // The release passes two fields back and forth; here each column has its own.
        let incoming = match column {
            0 => md,
            3 if !repairs.fourth_column => out[1],
            _ => out[column - 1],
        };
        for half in 0..2 {
            let name = format!("column{column}_{}", ["lo", "hi"][half]);
            let register = b.register(name.clone(), Cell::Bit32, 1 << row_bits);
            let flagged = Update::new(
                ComparePredicate::LO,
                Operation::Or,
                AluOperand::MemLo,
                AluOperand::Const(i32::MIN),
            );
            let import = Stateful::on(register, Index::Hash(row))
                .compare_lo(Compare::mem(Half::Lo, Relation::Eq, value[half]))
                .set_lo(Update::set(ComparePredicate::ALWAYS, AluOperand::Field(incoming[half])))
                .set_hi(flagged)
                .set_hi(Update::set(ComparePredicate::NOT_LO, AluOperand::MemLo))
                .output(out[column][half], Source::AluHi, ComparePredicate::ALWAYS);
            let mut table =
                Table::always(format!("import_{name}"), Action::access("import", import));
            for earlier in &out[..column] {
                table = table.when(earlier.map(|f| Test::is_not(f, FLAG).masked(FLAG)));
            }
            b.table(table);
        }
    }
    b.stage();
    let keys = out.iter().flatten().copied().map(Key::ternary).collect();
    let entries = (0..4).map(|column| {
        let mut patterns = [Pattern::any(); 8];
        patterns[2 * column..2 * column + 2].fill(Pattern::masked(FLAG, FLAG));
        Entry::new(patterns, 0)
    });
    let drop = Action::compute("drop", [Op::set(prune, Operand::Const(1))]);
    b.table(Table::matching("prune_packet", keys, vec![drop], entries.collect()));
    b.finish()
}
