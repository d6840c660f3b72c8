//! Expressions that both architectures write alike: field operations, comparisons and updates.

use super::Names;
use crate::switch::{
    Action, AluOperand, Compare, ComparePredicate, Half, Operand, Operation, Relation, Sign, Update,
};

/// A width in which three terms of 32 bits add up without wrapping.
const WIDE: u8 = 40;

/// Writes `a operation b`; the operands are printed in the width of the result already.
pub(super) fn operation(operation: Operation, a: &str, b: &str) -> String {
    match operation {
        Operation::Set => a.to_owned(),
        Operation::Add => format!("{a} + {b}"),
        Operation::AddSaturating => format!("{a} |+| {b}"),
        Operation::Sub => format!("{a} - {b}"),
        Operation::SubSaturating => format!("{a} |-| {b}"),
        Operation::And => format!("{a} & {b}"),
        Operation::Or => format!("{a} | {b}"),
        Operation::Xor => format!("{a} ^ {b}"),
        Operation::Min => format!("({a} < {b} ? {a} : {b})"),
        Operation::Max => format!("({a} > {b} ? {a} : {b})"),
        Operation::ShiftRight => format!("{a} >> {b}"),
    }
}

/// Writes a constant of `bits` bits; negative ones wrap.
pub(super) fn constant(value: i64, bits: u8) -> String {
    let value = if bits >= 64 { value as u64 } else { value as u64 & ((1 << bits) - 1) };
    format!("{bits}w{value}")
}

impl Names<'_> {
    /// Writes a field in `bits` bits.
    pub(super) fn cast(&self, field: crate::switch::FieldId, bits: u8) -> String {
        if self.bits(field) == bits {
            self.field(field).to_owned()
        } else {
            format!("(bit<{bits}>){}", self.field(field))
        }
    }

    /// Returns the right side of each field operation of an action. `hash` prints a hash unit's result, in the unit's
    /// width.
    pub(super) fn ops(
        &self,
        action: &Action,
        hash: impl Fn(u16) -> String,
    ) -> Vec<(String, u8, String)> {
        let results = action.ops.iter().map(|op| {
            let bits = self.bits(op.to);
            let shift = op.operation == Operation::ShiftRight;
            let print = |operand| match operand {
                Operand::Field(field) if shift => self.field(field).to_owned(),
                Operand::Field(field) => self.cast(field, bits),
                Operand::Const(value) if shift => value.to_string(),
                Operand::Const(value) => constant(value.into(), bits),
                Operand::Arg(n) if bits == 32 => format!("arg{n}"),
                Operand::Arg(n) => format!("(bit<{bits}>)arg{n}"),
                Operand::Hash(number) => {
                    let unit = self.program.hashes.get(usize::from(number));
                    if unit.is_none_or(|unit| unit.bits == bits) {
                        hash(number)
                    } else {
                        format!("(bit<{bits}>){}", hash(number))
                    }
                }
            };
            let value = operation(op.operation, &print(op.a), &print(op.b));
            let value = if shift { format!("(bit<{bits}>)({value})") } else { value };
            (self.field(op.to).to_owned(), bits, value)
        });
        results.collect()
    }

    /// Returns the number of arguments that an action takes.
    pub(super) fn arguments(action: &Action) -> usize {
        let numbers =
            action.ops.iter().flat_map(|op| [op.a, op.b]).filter_map(|operand| match operand {
                Operand::Arg(n) => Some(usize::from(n) + 1),
                _ => None,
            });
        numbers.max().unwrap_or(0)
    }

    /// Writes the parameter list of an action.
    pub(super) fn parameters(action: &Action) -> String {
        let parameters: Vec<String> =
            (0..Self::arguments(action)).map(|n| format!("bit<32> arg{n}")).collect();
        parameters.join(", ")
    }

    /// Writes a comparison with a cell of `mem_bits` bits. Negative terms stand on the right, and all have the width
    /// of the widest. With `wide`, the width is one in which no sum wraps, for an architecture whose own comparison
    /// would wrap.
    pub(super) fn compare(
        &self,
        compare: &Compare,
        mem: [&str; 2],
        mem_bits: u8,
        wide: bool,
    ) -> String {
        let constant_bits = (u64::BITS - compare.constant.unsigned_abs().leading_zeros()) as u8;
        let bits = if wide {
            WIDE
        } else {
            let mem = compare.mem.map_or(0, |_| mem_bits);
            let field = compare.field.map_or(0, |(field, _)| self.bits(field));
            mem.max(field).max(constant_bits)
        };
        let (mut left, mut right) = (Vec::new(), Vec::new());
        if let Some((half, sign)) = compare.mem {
            let term = mem[usize::from(half == Half::Hi)].to_owned();
            let term = if mem_bits == bits { term } else { format!("(bit<{bits}>){term}") };
            if sign == Sign::Plus { left.push(term) } else { right.push(term) }
        }
        if let Some((field, sign)) = compare.field {
            let term = self.cast(field, bits);
            if sign == Sign::Plus { left.push(term) } else { right.push(term) }
        }
        if compare.constant > 0 {
            right.push(constant(compare.constant, bits));
        } else if compare.constant < 0 {
            left.push(constant(-compare.constant, bits));
        }
        let side = |terms: Vec<String>| {
            if terms.is_empty() { constant(0, bits) } else { terms.join(" + ") }
        };
        let relation = match compare.relation {
            Relation::Eq => "==",
            Relation::Ne => "!=",
            Relation::Lt => "<",
            Relation::Le => "<=",
            Relation::Gt => ">",
            Relation::Ge => ">=",
        };
        format!("{} {relation} {}", side(left), side(right))
    }

    /// Writes the right side of one update.
    pub(super) fn update(&self, update: &Update, mem: [&str; 2], bits: u8) -> String {
        let print = |operand| match operand {
            AluOperand::MemLo => mem[0].to_owned(),
            AluOperand::MemHi => mem[1].to_owned(),
            AluOperand::Field(field) => self.cast(field, bits),
            AluOperand::Const(value) => constant(value.into(), bits),
        };
        operation(update.operation, &print(update.a), &print(update.b))
    }

    /// Writes a half's new value as one expression, `keep` if no update's predicate holds.
    pub(super) fn new_value(
        &self,
        updates: &[Update],
        mem: [&str; 2],
        keep: &str,
        bits: u8,
    ) -> String {
        match updates {
            [] => keep.to_owned(),
            [only] if only.when == ComparePredicate::ALWAYS => self.update(only, mem, bits),
            [only] => format!("({} ? {} : {keep})", when(only.when), self.update(only, mem, bits)),
            several => {
                let zero = constant(0, bits);
                let terms: Vec<String> = several
                    .iter()
                    .map(|u| format!("({} ? {} : {zero})", when(u.when), self.update(u, mem, bits)))
                    .collect();
                let any = several
                    .iter()
                    .fold(ComparePredicate(0), |all, u| ComparePredicate(all.0 | u.when.0));
                format!("({} ? {} : {keep})", when(any), terms.join(" | "))
            }
        }
    }
}

/// Writes a predicate over the booleans `lo` and `hi`.
pub(super) fn when(when: ComparePredicate) -> String {
    let name = match when {
        ComparePredicate::ALWAYS => "true",
        ComparePredicate::LO => "lo",
        ComparePredicate::HI => "hi",
        ComparePredicate::BOTH => "lo && hi",
        ComparePredicate::EITHER => "lo || hi",
        ComparePredicate::NEITHER => "!lo && !hi",
        ComparePredicate::NOT_LO => "!lo",
        ComparePredicate::NOT_HI => "!hi",
        ComparePredicate::NOT_BOTH => "!(lo && hi)",
        ComparePredicate(mask) => {
            let cases =
                [(1, "(!lo && !hi)"), (2, "(lo && !hi)"), (4, "(!lo && hi)"), (8, "(lo && hi)")];
            let cases: Vec<&str> = cases
                .into_iter()
                .filter(|(bit, _)| mask & bit != 0)
                .map(|(_, text)| text)
                .collect();
            return if cases.is_empty() { "false".to_owned() } else { cases.join(" || ") };
        }
    };
    name.to_owned()
}
