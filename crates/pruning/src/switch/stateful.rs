//! The stateful ALU: one atomic read-modify-write of one register cell.
//!
//! The semantics are those of the open Tofino backend of p4c. There are two comparators, which do not wrap. Each half
//! has up to two updates that run if their predicate holds; if both run, their results are OR-ed. An output is 0
//! unless its predicate holds. In a single-width register the high half is a scratch result that starts at 0.

use serde::{Deserialize, Serialize};

use super::program::{FieldId, Operation, RegisterId};

/// One access to one cell of a register array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stateful {
    /// The register array that is accessed.
    pub register: RegisterId,
    /// The cell that is accessed, counted from `first`.
    pub index: Index,
    /// The first cell of the part of the array that the access uses: the control plane's rules add it to the index.
    #[serde(default)]
    pub first: u32,
    /// The comparator `lo`, false if absent.
    pub lo: Option<Compare>,
    /// The comparator `hi`, false if absent.
    pub hi: Option<Compare>,
    /// Updates of the low (or only) number, at most two.
    pub update_lo: Vec<Update>,
    /// Updates of the high number (a scratch result for single-width cells), at most two.
    pub update_hi: Vec<Update>,
    /// The outputs, each with its own predicate.
    pub outputs: Vec<Output>,
}

impl Stateful {
    /// Creates an access that neither updates nor outputs anything.
    #[must_use]
    pub const fn on(register: RegisterId, index: Index) -> Self {
        Self {
            register,
            index,
            first: 0,
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

    /// Adds an output word.
    #[must_use]
    pub fn output(mut self, to: FieldId, source: Source, when: ComparePredicate) -> Self {
        self.outputs.push(Output { to, source, when });
        self
    }

    /// Returns the fields that the ALU computes with, each once, in order of first use.
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

    /// Returns the constants that the ALU computes with, each once.
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

/// The source of the cell's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Index {
    /// Always the first cell.
    Zero,
    /// The cell whose number a field holds.
    Field(FieldId),
    /// The cell whose number a hash unit computes, by position in [`super::Program::hashes`].
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

/// The sign of a term in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sign {
    /// The term is added.
    Plus,
    /// The term is subtracted.
    Minus,
}

/// The relation of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// Equal: `left = right`.
    Eq,
    /// Not equal: `left ≠ right`.
    Ne,
    /// Less: `left < right`.
    Lt,
    /// Less or equal: `left ≤ right`.
    Le,
    /// Greater: `left > right`.
    Gt,
    /// Greater or equal: `left ≥ right`.
    Ge,
}

impl Relation {
    /// Returns true if `left relation right` holds.
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

/// Compares `±mem ± field − constant` with 0, without wrap-around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compare {
    /// The register's term, if any.
    pub mem: Option<(Half, Sign)>,
    /// The packet's term, if any.
    pub field: Option<(FieldId, Sign)>,
    /// The constant that is subtracted.
    pub constant: i64,
    /// The relation to zero that must hold.
    pub relation: Relation,
}

impl Compare {
    /// Compares the cell with a field: `mem relation field`.
    #[must_use]
    pub const fn mem(half: Half, relation: Relation, field: FieldId) -> Self {
        Self {
            mem: Some((half, Sign::Plus)),
            field: Some((field, Sign::Minus)),
            constant: 0,
            relation,
        }
    }

    /// Compares the cell with a constant: `mem relation constant`.
    #[must_use]
    pub const fn mem_const(half: Half, relation: Relation, constant: u32) -> Self {
        Self { mem: Some((half, Sign::Plus)), field: None, constant: constant as i64, relation }
    }

    /// Compares a field with a constant: `field relation constant`.
    #[must_use]
    pub const fn field_const(field: FieldId, relation: Relation, constant: u32) -> Self {
        Self { mem: None, field: Some((field, Sign::Plus)), constant: constant as i64, relation }
    }

    /// Compares a sum with a constant: `mem + field relation constant`.
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

/// A predicate over the two comparators: bit `lo + 2·hi` is set if the predicate holds in that case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparePredicate(pub u8);

impl ComparePredicate {
    /// Holds in every case.
    pub const ALWAYS: Self = Self(0b1111);
    /// Holds if `lo` holds.
    pub const LO: Self = Self(0b1010);
    /// Holds if `hi` holds.
    pub const HI: Self = Self(0b1100);
    /// Holds if both comparators hold.
    pub const BOTH: Self = Self(0b1000);
    /// Holds if at least one comparator holds.
    pub const EITHER: Self = Self(0b1110);
    /// Holds if no comparator holds.
    pub const NEITHER: Self = Self(0b0001);
    /// Holds if `lo` does not hold.
    pub const NOT_LO: Self = Self(0b0101);
    /// Holds if `hi` does not hold.
    pub const NOT_HI: Self = Self(0b0011);
    /// Holds unless both comparators hold.
    pub const NOT_BOTH: Self = Self(0b0111);

    /// Returns true if the predicate holds in `case` = `lo + 2·hi`.
    #[must_use]
    pub const fn holds(self, case: u8) -> bool {
        self.0 >> case & 1 == 1
    }
}

/// An operand of a stateful ALU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AluOperand {
    /// The low number before the access.
    MemLo,
    /// The high number before the access.
    MemHi,
    /// A field of the packet.
    Field(FieldId),
    /// A constant; negative ones wrap.
    Const(i32),
}

/// Computes `half = operation(a, b)` if `when` holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// The predicate under which the update runs.
    pub when: ComparePredicate,
    /// The operation to compute.
    pub operation: Operation,
    /// The first operand of the operation.
    pub a: AluOperand,
    /// The second operand; [`Operation::Set`] ignores it.
    pub b: AluOperand,
}

impl Update {
    /// Sets the half to `a`.
    #[must_use]
    pub const fn set(when: ComparePredicate, a: AluOperand) -> Self {
        Self { when, operation: Operation::Set, a, b: AluOperand::Const(0) }
    }

    /// Sets the half to `operation(a, b)`.
    #[must_use]
    pub const fn new(
        when: ComparePredicate,
        operation: Operation,
        a: AluOperand,
        b: AluOperand,
    ) -> Self {
        Self { when, operation, a, b }
    }
}

/// One output word: `source` if `when` holds, else 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The field that takes the word.
    pub to: FieldId,
    /// The number that is output.
    pub source: Source,
    /// The predicate without which the output is 0.
    pub when: ComparePredicate,
}

/// The number that an ALU outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The low number before the access.
    MemLo,
    /// The high number before the access.
    MemHi,
    /// The low number after the access.
    AluLo,
    /// The high number after the access, or the scratch result of a single-width cell.
    AluHi,
    /// The comparators' case as a one-hot number: `1 << (lo + 2·hi)`.
    Predicate,
    /// The complement of a one-bit cell before the access.
    NotMemLo,
}
