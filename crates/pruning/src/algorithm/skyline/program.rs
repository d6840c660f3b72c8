//! The switch program of SKYLINE.

use super::logarithm::INDEX_BITS;
use super::{Config, Logarithm, Score, scale_for};
use crate::Ties;
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, Entry, FieldId, Half, Index, Key,
    Op, Operand, Operation, Pattern, Program, Relation, Source, Stateful, Table, Test, Update,
};

impl Config {
    /// Returns the program; its packets carry the coordinates.
    #[must_use]
    pub fn program(&self) -> Program {
        let mut b = Builder::new("skyline", self.dimensions as u8);
        let prune = b.verdict("prune");
        let score = self.score_stages(&mut b);
        let marked = b.field("marked", 1);
        // The field is zero until the packet's point has found a place; then it is the travelling score plus one.
        let pushed = b.field("pushed_score", 32);
        let travelling: Vec<FieldId> =
            (0..self.dimensions).map(|d| b.field(format!("travelling{d}"), 32)).collect();
        let mut order: Vec<FieldId> = Vec::new();
        for point in 0..self.points {
            b.stage();
            let place = self.score_table(&mut b, point, score, pushed);
            b.table(place);
            if point == 0 {
                let copies = (0..)
                    .zip(&travelling)
                    .map(|(d, &to)| Op::set(to, Operand::Field(FieldId::value(d))));
                b.table(Table::always(
                    "copy_point",
                    Action::compute("copy", copies.collect::<Vec<_>>()),
                ));
            } else {
                let mark = Action::compute("mark", [Op::set(marked, Operand::Const(1))]);
                let (keys, entries) = self.dominated(&order);
                b.table(Table::matching(format!("mark{}", point - 1), keys, vec![mark], entries));
            }
            b.stage();
            order = (0..self.dimensions).map(|d| b.field(format!("order{point}_{d}"), 4)).collect();
            for (d, (&travelling, &order)) in travelling.iter().zip(&order).enumerate() {
                let table = self.coordinate_table(&mut b, (point, d), pushed, travelling, order);
                b.table(table);
            }
        }
        // The last point marks and drops at once.
        let (mut keys, mut entries) = self.dominated(&order);
        keys.push(Key::ternary(marked));
        entries.iter_mut().for_each(|entry| entry.patterns.push(Pattern::any()));
        let mut earlier = vec![Pattern::any(); order.len()];
        earlier.push(Pattern::exactly(1));
        entries.push(Entry::new(earlier, 0));
        let drop = Action::compute("drop", [Op::set(prune, Operand::Const(1))]);
        b.stage();
        b.table(
            Table::matching("drop_dominated", keys, vec![drop], entries)
                .when([Test::is(pushed, 0)]),
        );
        b.finish()
    }

    /// Adds the stages that compute the score, and returns the field that holds it.
    fn score_stages(&self, b: &mut Builder) -> FieldId {
        let coordinates: Vec<FieldId> = (0..self.dimensions as u8).map(FieldId::value).collect();
        match self.score {
            Score::Sum => sum(b, coordinates, "sum"),
            // Every score is 1: no field needs to hold it.
            Score::First => FieldId::ID,
            Score::Product => {
                let logarithm = Logarithm::new(scale_for(self.dimensions));
                let indexes: Vec<(FieldId, FieldId)> = (0..self.dimensions)
                    .map(|d| {
                        (
                            b.field(format!("index{d}"), INDEX_BITS as u8),
                            b.field(format!("offset{d}"), 32),
                        )
                    })
                    .collect();
                let logs: Vec<FieldId> =
                    (0..self.dimensions).map(|d| b.field(format!("log{d}"), 32)).collect();
                b.stage();
                for (d, (&x, &index)) in coordinates.iter().zip(&indexes).enumerate() {
                    b.table(highest_bit(d, x, index, logarithm.scale()));
                }
                b.stage();
                for (d, (&(index, _), &log)) in indexes.iter().zip(&logs).enumerate() {
                    let set = Action::compute("set", [Op::set(log, Operand::Arg(0))]);
                    let entries = (0..).zip(logarithm.table()).skip(1).map(|(index, &value)| {
                        Entry::new([Pattern::exactly(index)], 0).with([value])
                    });
                    let name = format!("logarithm{d}");
                    b.table(Table::matching(
                        name,
                        vec![Key::exact(index)],
                        vec![set],
                        entries.collect(),
                    ));
                }
                b.stage();
                let scaled: Vec<FieldId> =
                    (0..self.dimensions).map(|d| b.field(format!("scaled{d}"), 32)).collect();
                for (d, (&(_, offset), &log)) in indexes.iter().zip(&logs).enumerate() {
                    let (log, offset) = (Operand::Field(log), Operand::Field(offset));
                    let add = Op::new(scaled[d], Operation::Add, log, offset);
                    b.table(Table::always(format!("scale{d}"), Action::compute("add", [add])));
                }
                sum(b, scaled, "sum")
            }
        }
    }

    /// Creates the table that takes the place if the packet's score is greater, or moves the travelling score down.
    fn score_table(&self, b: &mut Builder, point: u32, score: FieldId, pushed: FieldId) -> Table {
        let register = b.register(format!("score{point}"), Cell::Bit32, 1);
        let plus_one = |when| {
            Update::new(when, Operation::AddSaturating, AluOperand::MemLo, AluOperand::Const(1))
        };
        let (compare, score) = match self.score {
            Score::First => (Compare::mem_const(Half::Lo, Relation::Eq, 0), AluOperand::Const(1)),
            _ => (Compare::mem(Half::Lo, Relation::Lt, score), AluOperand::Field(score)),
        };
        let search = Stateful::on(register, Index::Zero)
            .compare_lo(compare)
            .set_lo(Update::set(ComparePredicate::LO, score))
            .set_hi(plus_one(ComparePredicate::LO))
            .output(pushed, Source::AluHi, ComparePredicate::ALWAYS);
        let search = Action::access("search", search);
        if point == 0 {
            return Table::always("place0", search);
        }
        let (field, minus_one) = (AluOperand::Field(pushed), AluOperand::Const(-1));
        let mut shift = Stateful::on(register, Index::Zero).set_lo(Update::new(
            ComparePredicate::ALWAYS,
            Operation::Add,
            field,
            minus_one,
        ));
        if point + 1 < self.points {
            shift = shift.set_hi(plus_one(ComparePredicate::ALWAYS)).output(
                pushed,
                Source::AluHi,
                ComparePredicate::ALWAYS,
            );
        }
        let actions = vec![search, Action::access("shift", shift)];
        let entries = vec![Entry::new([Pattern::exactly(0)], 0)];
        Table::matching(format!("place{point}"), vec![Key::exact(pushed)], actions, entries)
            .otherwise(1)
    }

    /// Creates the table that compares one coordinate, or swaps it where a point was placed or moved down.
    fn coordinate_table(
        &self,
        b: &mut Builder,
        (point, d): (u32, usize),
        pushed: FieldId,
        travelling: FieldId,
        order: FieldId,
    ) -> Table {
        let register = b.register(format!("point{point}_{d}"), Cell::Bit32, 1);
        // The travelling point is the packet's own until it finds a place.
        let mut compare = Stateful::on(register, Index::Zero)
            .compare_lo(Compare::mem(Half::Lo, Relation::Gt, travelling))
            .output(order, Source::Predicate, ComparePredicate::ALWAYS);
        if self.ties == Ties::Prune {
            compare = compare.compare_hi(Compare::mem(Half::Lo, Relation::Ge, travelling));
        }
        let mut swap = Stateful::on(register, Index::Zero)
            .set_lo(Update::set(ComparePredicate::ALWAYS, AluOperand::Field(travelling)));
        if point + 1 < self.points {
            swap = swap.output(travelling, Source::MemLo, ComparePredicate::ALWAYS);
        }
        let actions = vec![Action::access("compare", compare), Action::access("swap", swap)];
        let entries = vec![Entry::new([Pattern::exactly(0)], 0)];
        Table::matching(
            format!("coordinate{point}_{d}"),
            vec![Key::exact(pushed)],
            actions,
            entries,
        )
        .otherwise(1)
    }

    /// Returns keys and entries that match a packet if the stored point dominates it. Each `order` is one-hot: 1 if
    /// the stored coordinate is less. If it is greater, it is 2 with [`Ties::Keep`] and 8 with [`Ties::Prune`], where
    /// 4 means equal. It is 0 if the coordinate was swapped.
    fn dominated(&self, order: &[FieldId]) -> (Vec<Key>, Vec<Entry>) {
        let keys = order.iter().copied().map(Key::ternary).collect();
        let all = |pattern| vec![pattern; order.len()];
        let entries = match self.ties {
            Ties::Keep => vec![Entry::new(all(Pattern::exactly(2)), 0)],
            // One greater, the others not less.
            Ties::Prune => (0..order.len())
                .map(|greater| {
                    let mut patterns = all(Pattern::masked(0, 1));
                    patterns[greater] = Pattern::exactly(8);
                    Entry::new(patterns, 0)
                })
                .collect(),
        };
        (keys, entries)
    }
}

/// Adds fields pairwise, stage by stage, saturating.
fn sum(b: &mut Builder, mut terms: Vec<FieldId>, name: &str) -> FieldId {
    let mut level = 0;
    while terms.len() > 1 {
        b.stage();
        terms = terms
            .chunks(2)
            .enumerate()
            .map(|(n, pair)| match *pair {
                [left, right] => {
                    let to = b.field(format!("{name}{level}_{n}"), 32);
                    let (left, right) = (Operand::Field(left), Operand::Field(right));
                    let add = Op::new(to, Operation::AddSaturating, left, right);
                    b.table(Table::always(
                        format!("add{level}_{n}"),
                        Action::compute("add", [add]),
                    ));
                    to
                }
                ref single => single[0],
            })
            .collect();
        level += 1;
    }
    terms[0]
}

/// Creates the table that finds the highest set bit of a coordinate: its 16 leading bits index the logarithms, and
/// the logarithm of the shift is added later.
fn highest_bit(d: usize, x: FieldId, (index, offset): (FieldId, FieldId), scale: u32) -> Table {
    let shifts = 0..=(u32::BITS - INDEX_BITS);
    let actions = shifts.clone().map(|shift| {
        let narrow =
            Op::new(index, Operation::ShiftRight, Operand::Field(x), Operand::Const(shift));
        let narrow = if shift == 0 { Op::set(index, Operand::Field(x)) } else { narrow };
        let base = Op::set(offset, Operand::Const(scale * shift));
        Action::compute(format!("shift{shift}"), [narrow, base])
    });
    let entries = shifts.clone().skip(1).map(|shift| {
        let top = 1 << (INDEX_BITS + shift - 1);
        Entry::new([Pattern::masked(top, !(top - 1))], shift as usize)
    });
    Table::matching(
        format!("highest_bit{d}"),
        vec![Key::ternary(x)],
        actions.collect(),
        entries.collect(),
    )
    .otherwise(0)
}
