//! The stateful ALU: one atomic read-modify-write of one register cell.
//!
//! Semantics as in the open Tofino backend of p4c: two comparators without wrap-around, up to two
//! updates for each half that run if their predicate holds and are OR-ed if both do, and an output
//! that is 0 unless its predicate holds. A single-width register leaves the high half free as a
//! scratch result that starts at 0.

use serde::{Deserialize, Serialize};

use super::program::{FieldId, Operation, RegisterId};

/// One access to one cell of a register array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stateful {
    /// Which array.
    pub register: RegisterId,
    /// Which cell.
    pub index: Index,
    /// The comparator `lo`; absent: false.
    pub lo: Option<Compare>,
    /// The comparator `hi`; absent: false.
    pub hi: Option<Compare>,
    /// Updates of the low (or only) number, at most two.
    pub update_lo: Vec<Update>,
    /// Updates of the high number (a scratch result for single-width cells), at most two.
    pub update_hi: Vec<Update>,
    /// The outputs.
    pub outputs: Vec<Output>,
}

impl Stateful {
    /// An access that does nothing yet.
    #[must_use]
    pub const fn on(register: RegisterId, index: Index) -> Self {
        Self {
            register,
            index,
            lo: None,
            hi: None,
            update_lo: Vec::new(),
            update_hi: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// Sets the comparator `lo`.
    #[must_use]
    pub const fn compare_lo(mut self, compare: Compare) -> Self {
        self.lo = Some(compare);
        self
    }

    /// Sets the comparator `hi`.
    #[must_use]
    pub const fn compare_hi(mut self, compare: Compare) -> Self {
        self.hi = Some(compare);
        self
    }

    /// Adds an update of the low number.
    #[must_use]
    pub fn set_lo(mut self, update: Update) -> Self {
        self.update_lo.push(update);
        self
    }

    /// Adds an update of the high number.
    #[must_use]
    pub fn set_hi(mut self, update: Update) -> Self {
        self.update_hi.push(update);
        self
    }

    /// Adds an output.
    #[must_use]
    pub fn output(mut self, to: FieldId, source: Source, when: When) -> Self {
        self.outputs.push(Output { to, source, when });
        self
    }

    /// The fields that the ALU computes with, each once, in order of first use.
    #[must_use]
    pub fn inputs(&self) -> Vec<FieldId> {
        let compares = [self.lo, self.hi]
            .into_iter()
            .flatten()
            .filter_map(|c| c.field.map(|(field, _)| field));
        let updates =
            self.update_lo.iter().chain(&self.update_hi).flat_map(|u| [u.a, u.b]).filter_map(|o| {
                match o {
                    AluOperand::Field(field) => Some(field),
                    _ => None,
                }
            });
        let mut fields = Vec::new();
        for field in compares.chain(updates) {
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        fields
    }

    /// The constants that the ALU computes with, each once.
    #[must_use]
    pub fn constants(&self) -> Vec<i64> {
        let compares = [self.lo, self.hi].into_iter().flatten().map(|c| c.constant);
        let updates =
            self.update_lo.iter().chain(&self.update_hi).flat_map(|u| [u.a, u.b]).filter_map(|o| {
                match o {
                    AluOperand::Const(constant) => Some(i64::from(constant)),
                    _ => None,
                }
            });
        let mut constants: Vec<i64> = compares.chain(updates).collect();
        constants.sort_unstable();
        constants.dedup();
        constants
    }
}

/// Where the cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Index {
    /// The first cell.
    Zero,
    /// The cell that a field names.
    Field(FieldId),
    /// The cell that a hash unit names, by position in [`super::Program::hashes`].
    Hash(u16),
}

/// One half of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Half {
    /// The low, or only, number.
    Lo,
    /// The high number of a pair.
    Hi,
}

/// Whether a term is added or subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sign {
    /// Added.
    Plus,
    /// Subtracted.
    Minus,
}

/// A comparison with zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// `=`.
    Eq,
    /// `≠`.
    Ne,
    /// `<`.
    Lt,
    /// `≤`.
    Le,
    /// `>`.
    Gt,
    /// `≥`.
    Ge,
}

impl Relation {
    /// Whether `left relation right`.
    #[must_use]
    pub const fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Self::Eq => left == right,
            Self::Ne => left != right,
            Self::Lt => left < right,
            Self::Le => left <= right,
            Self::Gt => left > right,
            Self::Ge => left >= right,
        }
    }
}

/// `±mem ± field − constant relation 0`, computed without wrap-around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compare {
    /// The register's term.
    pub mem: Option<(Half, Sign)>,
    /// The packet's term.
    pub field: Option<(FieldId, Sign)>,
    /// What is subtracted.
    pub constant: i64,
    /// The relation to zero.
    pub relation: Relation,
}

impl Compare {
    /// `mem relation field`.
    #[must_use]
    pub const fn mem(half: Half, relation: Relation, field: FieldId) -> Self {
        Self {
            mem: Some((half, Sign::Plus)),
            field: Some((field, Sign::Minus)),
            constant: 0,
            relation,
        }
    }

    /// `mem relation constant`.
    #[must_use]
    pub const fn mem_const(half: Half, relation: Relation, constant: u32) -> Self {
        Self { mem: Some((half, Sign::Plus)), field: None, constant: constant as i64, relation }
    }

    /// `field relation constant`.
    #[must_use]
    pub const fn field_const(field: FieldId, relation: Relation, constant: u32) -> Self {
        Self { mem: None, field: Some((field, Sign::Plus)), constant: constant as i64, relation }
    }

    /// `mem + field relation constant`.
    #[must_use]
    pub const fn sum(half: Half, field: FieldId, relation: Relation, constant: u32) -> Self {
        Self {
            mem: Some((half, Sign::Plus)),
            field: Some((field, Sign::Plus)),
            constant: constant as i64,
            relation,
        }
    }
}

/// A predicate over the two comparators: bit `lo + 2·hi` says whether that case holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct When(pub u8);

impl When {
    /// In every case.
    pub const ALWAYS: Self = Self(0b1111);
    /// If `lo` holds.
    pub const LO: Self = Self(0b1010);
    /// If `hi` holds.
    pub const HI: Self = Self(0b1100);
    /// If both hold.
    pub const BOTH: Self = Self(0b1000);
    /// If at least one holds.
    pub const EITHER: Self = Self(0b1110);
    /// If none holds.
    pub const NEITHER: Self = Self(0b0001);
    /// If `lo` does not hold.
    pub const NOT_LO: Self = Self(0b0101);
    /// If `hi` does not hold.
    pub const NOT_HI: Self = Self(0b0011);
    /// Unless both hold.
    pub const NOT_BOTH: Self = Self(0b0111);

    /// Whether the predicate holds in `case` = `lo + 2·hi`.
    #[must_use]
    pub const fn holds(self, case: u8) -> bool {
        self.0 >> case & 1 == 1
    }
}

/// What a stateful ALU computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AluOperand {
    /// The low number as it was.
    MemLo,
    /// The high number as it was.
    MemHi,
    /// A field of the packet.
    Field(FieldId),
    /// A constant; negative ones wrap.
    Const(i32),
}

/// `half = operation(a, b)` if `when` holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// The predicate.
    pub when: When,
    /// The operation.
    pub operation: Operation,
    /// First operand.
    pub a: AluOperand,
    /// Second operand; [`Operation::Set`] ignores it.
    pub b: AluOperand,
}

impl Update {
    /// `half = a`.
    #[must_use]
    pub const fn set(when: When, a: AluOperand) -> Self {
        Self { when, operation: Operation::Set, a, b: AluOperand::Const(0) }
    }

    /// `half = operation(a, b)`.
    #[must_use]
    pub const fn new(when: When, operation: Operation, a: AluOperand, b: AluOperand) -> Self {
        Self { when, operation, a, b }
    }
}

/// One output word: `source` if `when` holds, else 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Where it goes.
    pub to: FieldId,
    /// What it is.
    pub source: Source,
    /// When it is not 0.
    pub when: When,
}

/// What an ALU can output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The low number as it was.
    MemLo,
    /// The high number as it was.
    MemHi,
    /// The low number as it is now.
    AluLo,
    /// The high number, or the scratch result of a single-width cell, as it is now.
    AluHi,
    /// The comparators' case as a one-hot number: `1 << (lo + 2·hi)`.
    Predicate,
    /// The complement of a one-bit cell as it was.
    NotMemLo,
}
