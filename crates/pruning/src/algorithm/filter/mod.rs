//! `WHERE`: drop an entry that the predicate cannot keep (paper §4.1).
//!
//! A predicate φ(x, y) mixes comparisons x that the switch computes with parts y that it cannot compute (`LIKE`,
//! functions). The switch drops an entry iff *no* value of y makes φ true. It thus evaluates ∃y.φ(x, y), the tightest
//! sound pruner. For a monotone φ this is the paper's rule, φ(x, true). The query's own filter decides about the
//! forwarded rows.
//!
//! # NULL
//!
//! SQL's logic has three values, and a row is kept only if φ is TRUE. A comparison over a NULL is UNKNOWN, and so is
//! its negation: `NOT (a > 5)` must not keep a NULL `a`. Workers ship one *flag word* with a bit for each nullable
//! operand; a set bit makes the comparison UNKNOWN.
//!
//! # On the switch
//!
//! Each comparison is one stateful ALU against a one-cell register that holds the constant, so the constant can be
//! set at run time. The next stage matches the resulting bits, and the flag word, in a truth table. The program takes
//! two stages in all.

mod entry;
pub mod plan;
mod question;

pub(crate) use entry::FILTER;

use std::fmt;

use serde::Serialize;

use crate::algorithm::config::in_range;
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, Entry, FieldId, Half, Index, Key,
    Op, Operand, Pattern, Program, RejectedPacket, Relation, Source, Stateful, Table, Update,
};
use crate::{ConfigError, Entries, Pruner, Selection};

/// A part of a predicate that is true, false or unknown for an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf {
    /// A comparison `value relation constant`, computed by the switch.
    Compare {
        /// The position of the value in the packet.
        value: u8,
        /// The relation of the value to the constant.
        relation: Relation,
        /// The constant, in the value's encoding.
        constant: u32,
        /// True if the encoding is one-to-one. If not, equal codes decide nothing, and the switch weakens the
        /// comparison.
        exact: bool,
        /// The flag bit that is set if the operand is NULL.
        null: Option<u8>,
    },
    /// A condition that the worker computes and ships as a flag bit.
    Worker {
        /// The flag bit that is set if the condition is TRUE.
        bit: u8,
        /// The flag bit that is set if the condition is UNKNOWN.
        null: Option<u8>,
    },
    /// A condition that only the query's own filter can decide.
    Opaque,
}

/// A predicate built from leaves by `NOT`, `AND` and `OR`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Formula {
    /// A leaf. Every occurrence is a leaf of its own.
    Leaf(Leaf),
    /// The negation of a predicate, by SQL's `NOT`.
    Not(Box<Formula>),
    /// SQL's `AND`, which is TRUE if empty.
    And(Vec<Formula>),
    /// SQL's `OR`, which is FALSE if empty.
    Or(Vec<Formula>),
}

impl Formula {
    /// Creates the comparison `value relation constant` over a one-to-one encoding of a column without NULLs.
    #[must_use]
    pub const fn compare(value: u8, relation: Relation, constant: u32) -> Self {
        Self::Leaf(Leaf::Compare { value, relation, constant, exact: true, null: None })
    }

    fn leaves(&self, out: &mut Vec<Leaf>) {
        match self {
            Self::Leaf(leaf) => out.push(*leaf),
            Self::Not(inner) => inner.leaves(out),
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.leaves(out)),
        }
    }

    /// Moves every negation down to the leaves, and for comparisons of codes that values share into the relation:
    /// `NOT (x > c)` becomes `x ≤ c`, for NULLs too. The switch detects only when such a comparison is false, so a
    /// negated one would decide nothing.
    fn with_negations_in_leaves(&self, negate: bool) -> Self {
        let each = |parts: &[Self]| -> Vec<Self> {
            parts.iter().map(|part| part.with_negations_in_leaves(negate)).collect()
        };
        match self {
            Self::Leaf(Leaf::Compare { value, relation, constant, exact: false, null })
                if negate =>
            {
                let (value, constant, null) = (*value, *constant, *null);
                let relation = negated(*relation);
                Self::Leaf(Leaf::Compare { value, relation, constant, exact: false, null })
            }
            Self::Leaf(leaf) if negate => Self::Not(Box::new(Self::Leaf(*leaf))),
            Self::Leaf(leaf) => Self::Leaf(*leaf),
            Self::Not(inner) => inner.with_negations_in_leaves(!negate),
            Self::And(parts) if negate => Self::Or(each(parts)),
            Self::Or(parts) if negate => Self::And(each(parts)),
            Self::And(parts) => Self::And(each(parts)),
            Self::Or(parts) => Self::Or(each(parts)),
        }
    }

    /// Evaluates the formula in Kleene's logic; `leaves` yields the leaves' values in order of occurrence.
    fn evaluate(&self, leaves: &mut impl Iterator<Item = Option<bool>>) -> Option<bool> {
        // There is no short circuit, because every leaf must be taken from the iterator.
        let fold = |parts: &[Self], leaves: &mut _, decides: bool| {
            let values: Vec<_> = parts.iter().map(|part| part.evaluate(leaves)).collect();
            if values.contains(&Some(decides)) {
                Some(decides)
            } else if values.contains(&None) {
                None
            } else {
                Some(!decides)
            }
        };
        match self {
            Self::Leaf(_) => leaves.next().flatten(),
            Self::Not(inner) => inner.evaluate(leaves).map(|value| !value),
            Self::And(parts) => fold(parts, leaves, false),
            Self::Or(parts) => fold(parts, leaves, true),
        }
    }
}

/// Returns the relation that holds iff this one does not.
const fn negated(relation: Relation) -> Relation {
    match relation {
        Relation::Eq => Relation::Ne,
        Relation::Ne => Relation::Eq,
        Relation::Lt => Relation::Ge,
        Relation::Le => Relation::Gt,
        Relation::Gt => Relation::Le,
        Relation::Ge => Relation::Lt,
    }
}

/// Returns the relation that two codes must have if their values may have this one, or none if any codes will do.
const fn weakened(relation: Relation) -> Option<Relation> {
    match relation {
        Relation::Lt | Relation::Le => Some(Relation::Le),
        Relation::Gt | Relation::Ge => Some(Relation::Ge),
        Relation::Eq => Some(Relation::Eq),
        Relation::Ne => None,
    }
}

/// A predicate compiled to comparisons and a truth table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Config {
    values: u8,
    flags: Option<u8>,
    comparisons: Vec<(u8, Relation, u32)>,
    flag_bits: Vec<u8>,
    /// The truth table. The index is made of the comparison bits and, above them, the flag bits; true keeps the
    /// entry.
    keep: Vec<bool>,
}

impl Config {
    /// Compiles `formula` over packets of `values` values. `flags` is the value that holds the flag
    /// word, if the formula uses flag bits.
    ///
    /// # Errors
    ///
    /// If a value or flag bit does not exist, if there are more than 14 distinct comparisons and
    /// flag bits (16,384 rows of the truth table), or more than 8 undecidable leaves.
    pub fn new(formula: &Formula, values: u8, flags: Option<u8>) -> Result<Self, ConfigError> {
        let formula = &formula.with_negations_in_leaves(false);
        let mut leaves = Vec::new();
        formula.leaves(&mut leaves);
        let (mut comparisons, mut flag_bits) = (Vec::new(), Vec::new());
        let mut open = 0;
        for leaf in &leaves {
            let mut bits = Vec::new();
            match *leaf {
                Leaf::Compare { value, relation, constant, exact, null } => {
                    check_value("compared value", value, values)?;
                    let asked = if exact { Some(relation) } else { weakened(relation) };
                    open += u32::from(!exact);
                    let comparison = asked.map(|relation| (value, relation, constant));
                    comparisons.extend(comparison.filter(|c| !comparisons.contains(c)));
                    bits.extend(null);
                }
                Leaf::Worker { bit, null } => bits.extend([Some(bit), null].into_iter().flatten()),
                Leaf::Opaque => open += 1,
            }
            for bit in bits {
                if !flag_bits.contains(&bit) {
                    flag_bits.push(bit);
                }
            }
        }
        in_range("undecidable leaves", open, 0, 8)?;
        if let Some(flags) = flags {
            check_value("flag word", flags, values)?;
        }
        let flags = flags.filter(|_| !flag_bits.is_empty());
        let mut config = Self { values, flags, comparisons, flag_bits, keep: Vec::new() };
        let rows = config.check()?;
        config.keep = (0..rows).map(|row| config.may_hold(formula, &leaves, open, row)).collect();
        Ok(config)
    }

    /// Checks everything but the truth table, and returns the number of rows that it must have.
    fn check(&self) -> Result<u32, ConfigError> {
        for (value, _, _) in &self.comparisons {
            check_value("compared value", *value, self.values)?;
        }
        for bit in &self.flag_bits {
            in_range("flag bit", (*bit).into(), 0, 31)?;
        }
        if let Some(flags) = self.flags {
            check_value("flag word", flags, self.values)?;
        }
        if self.flags.is_some() == self.flag_bits.is_empty() {
            return Err(ConfigError::Conflict(
                "the formula uses flag bits, but no value holds them, or the other way round",
            ));
        }
        let bits = (self.comparisons.len() + self.flag_bits.len()) as u32;
        in_range("distinct comparisons and flag bits", bits, 0, 14)?;
        Ok(1 << bits)
    }

    /// Checks a deserialized configuration: [`Config::new`] must be able to produce it from some formula.
    fn checked(self) -> Result<Self, ConfigError> {
        let rows = self.check()?;
        in_range("rows of the truth table", self.keep.len() as u32, rows, rows)?;
        if has_duplicates(&self.comparisons) || has_duplicates(&self.flag_bits) {
            return Err(ConfigError::Conflict("comparisons and flag bits must be distinct"));
        }
        Ok(self)
    }

    /// Returns true if some value of the leaves that the switch cannot decide makes the formula TRUE.
    fn may_hold(&self, formula: &Formula, leaves: &[Leaf], open: u32, row: u32) -> bool {
        let compared = |c: (u8, Relation, u32)| {
            self.comparisons.iter().position(|known| *known == c).is_some_and(|n| row >> n & 1 == 1)
        };
        let flag = |bit: u8| {
            let known = self.flag_bits.iter().position(|known| *known == bit);
            known.is_some_and(|n| row >> (self.comparisons.len() + n) & 1 == 1)
        };
        // An unknown leaf is TRUE, FALSE or UNKNOWN: one base-3 digit of `guess` each.
        (0..3_u32.pow(open)).any(|guess| {
            let mut guess = guess;
            let mut next_guess = || {
                let digit = guess % 3;
                guess /= 3;
                [Some(true), Some(false), None][digit as usize]
            };
            let mut values = leaves.iter().map(|leaf| match *leaf {
                Leaf::Opaque => next_guess(),
                Leaf::Worker { bit, null } => (!null.is_some_and(flag)).then(|| flag(bit)),
                Leaf::Compare { value, relation, constant, exact, null } => {
                    let guess = if exact { None } else { next_guess() };
                    if null.is_some_and(flag) {
                        None
                    } else if exact {
                        Some(compared((value, relation, constant)))
                    } else if weakened(relation)
                        .is_none_or(|weak| compared((value, weak, constant)))
                    {
                        guess
                    } else {
                        Some(false)
                    }
                }
            });
            formula.evaluate(&mut values) == Some(true)
        })
    }

    /// Returns the truth table: for each number made of the comparison bits (lowest first, in order of first
    /// occurrence) and then the flag bits, true if the entry is kept.
    #[must_use]
    pub fn truth_table(&self) -> &[bool] {
        &self.keep
    }

    /// Returns true if the truth table keeps an entry of these values.
    fn keeps(&self, values: &[u32]) -> bool {
        let value = |number: u8| values.get(usize::from(number)).copied().unwrap_or_default();
        let compared = self.comparisons.iter().map(|&(number, relation, constant)| {
            relation.holds(value(number).into(), constant.into())
        });
        let flags = self.flags.map_or(0, value);
        let flags = self.flag_bits.iter().map(|bit| flags >> bit & 1 == 1);
        let row =
            (0..).zip(compared.chain(flags)).fold(0, |row, (n, is)| row | usize::from(is) << n);
        self.keep.get(row).copied().unwrap_or(true)
    }

    /// Returns the constant if the filter keeps exactly the entries whose first value is at least a constant.
    fn at_least(&self) -> Option<u32> {
        match self.comparisons.as_slice() {
            &[(0, Relation::Ge, constant)] if self.keep == [false, true] => Some(constant),
            _ => None,
        }
    }

    /// Returns the program; its packets carry the values and the flag word.
    #[must_use]
    pub fn program(&self) -> Program {
        let mut b = Builder::new("filter", self.values);
        let prune = b.verdict("prune");
        b.stage();
        let mut keys = Vec::new();
        for (number, &(value, relation, constant)) in self.comparisons.iter().enumerate() {
            let register =
                b.register_of(format!("constant{number}"), Cell::Bit32, 1, [constant, 0]);
            let bit = b.field(format!("holds{number}"), 1);
            let compare = Compare::mem(Half::Lo, mirrored(relation), FieldId::value(value));
            let access = Stateful::on(register, Index::Zero)
                .compare_lo(compare)
                .set_hi(Update::set(ComparePredicate::LO, AluOperand::Const(1)))
                .output(bit, Source::AluHi, ComparePredicate::ALWAYS);
            b.table(Table::always(format!("compare{number}"), Action::access("compare", access)));
            keys.push(if self.flags.is_some() { Key::ternary(bit) } else { Key::exact(bit) });
        }
        keys.extend(self.flags.map(|value| Key::ternary(FieldId::value(value))));
        b.stage();
        // The entries list the rarer rows; the others take the default.
        let kept = self.keep.iter().filter(|keep| **keep).count();
        let list_kept = kept * 2 <= self.keep.len();
        let entries =
            self.keep.iter().enumerate().filter(|(_, keep)| **keep == list_kept).map(|(row, _)| {
                let mut patterns: Vec<Pattern> = (0..self.comparisons.len())
                    .map(|n| Pattern::exactly(row as u32 >> n & 1))
                    .collect();
                patterns.extend(self.flags.map(|_| {
                    let set = self.flag_bits.iter().enumerate().map(|(n, bit)| {
                        let is_set = row as u32 >> (self.comparisons.len() + n) & 1;
                        (is_set << bit, 1 << bit)
                    });
                    let (value, mask) =
                        set.fold((0, 0), |(v, m), (value, mask)| (v | value, m | mask));
                    Pattern::masked(value, mask)
                }));
                Entry::new(patterns, usize::from(!list_kept))
            });
        let actions = vec![
            Action::compute("keep", []),
            Action::compute("drop", [Op::set(prune, Operand::Const(1))]),
        ];
        let entries = if keys.is_empty() { Vec::new() } else { entries.collect() };
        let default = if keys.is_empty() { usize::from(kept == 0) } else { usize::from(list_kept) };
        b.table(Table::matching("truth_table", keys, actions, entries).otherwise(default));
        b.finish()
    }

    /// Returns the fast path of the filter.
    #[must_use]
    pub fn pruner(&self) -> Filter {
        Filter { config: self.clone() }
    }
}

checked_when_read!(Config {
    values: u8,
    flags: Option<u8>,
    comparisons: Vec<(u8, Relation, u32)>,
    flag_bits: Vec<u8>,
    keep: Vec<bool>
} => Self { values, flags, comparisons, flag_bits, keep }.checked());

/// Checks that packets of `values` values have value number `value`.
fn check_value(what: &'static str, value: u8, values: u8) -> Result<(), ConfigError> {
    let Some(last) = values.checked_sub(1) else {
        return Err(ConfigError::Conflict("a packet without values has none to look at"));
    };
    in_range(what, value.into(), 0, last.into()).map(|_| ())
}

fn has_duplicates<T: PartialEq>(items: &[T]) -> bool {
    items.iter().enumerate().any(|(number, item)| items[..number].contains(item))
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.keep.iter().filter(|keep| **keep).count();
        write!(f, "filter(truth_table={kept}/{})", self.keep.len())
    }
}

/// Returns the relation with its sides exchanged: `constant relation value`.
const fn mirrored(relation: Relation) -> Relation {
    match relation {
        Relation::Lt => Relation::Gt,
        Relation::Le => Relation::Ge,
        Relation::Gt => Relation::Lt,
        Relation::Ge => Relation::Le,
        same => same,
    }
}

/// The fast path of `WHERE`. Its only state is the constants.
#[derive(Debug, Clone)]
pub struct Filter {
    config: Config,
}

/// Sets bit `number` of `rows[i]` if `holds(values[i])`.
#[inline]
fn mark(rows: &mut [u16; 64], values: &[u32], number: usize, holds: impl Fn(u32) -> bool) {
    for (row, &value) in rows.iter_mut().zip(values) {
        *row |= u16::from(holds(value)) << number;
    }
}

impl Pruner for Filter {
    fn values(&self) -> usize {
        usize::from(self.config.values)
    }

    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), RejectedPacket> {
        let (config, columns) = (&self.config, entries.columns());
        if columns.len() != self.values() {
            return Err(RejectedPacket { expected: self.values(), actual: columns.len() });
        }
        selection.clear();
        selection.extend_words(entries.len(), |start, count| {
            let mut rows = [0_u16; 64];
            let block = |value: u8| &columns[usize::from(value)][start..start + count];
            for (number, &(value, relation, c)) in config.comparisons.iter().enumerate() {
                let values = block(value);
                match relation {
                    Relation::Eq => mark(&mut rows, values, number, |v| v == c),
                    Relation::Ne => mark(&mut rows, values, number, |v| v != c),
                    Relation::Lt => mark(&mut rows, values, number, |v| v < c),
                    Relation::Le => mark(&mut rows, values, number, |v| v <= c),
                    Relation::Gt => mark(&mut rows, values, number, |v| v > c),
                    Relation::Ge => mark(&mut rows, values, number, |v| v >= c),
                }
            }
            if let Some(flags) = config.flags {
                for (number, &bit) in config.flag_bits.iter().enumerate() {
                    mark(&mut rows, block(flags), config.comparisons.len() + number, |v| {
                        v >> bit & 1 == 1
                    });
                }
            }
            let kept = rows[..count].iter().map(|&row| config.keep[usize::from(row)]);
            kept.enumerate().fold(0, |word, (bit, keep)| word | u64::from(keep) << bit)
        });
        Ok(())
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        self.config.comparisons.iter().map(|&(_, _, constant)| vec![[constant, 0]]).collect()
    }

    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests;
