//! A switch program as plain data: headers, metadata, registers, hash units and staged tables.
//!
//! The model is PISA, the pipeline behind P4. A parsed packet header and scratch metadata travel through stages. The
//! tables of a stage see the packet as the previous stage left it. State lives in register arrays, each of which a
//! packet may touch once. See [`crate::switch`] for what a program is used for.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::hash::Hash;
use super::stateful::Stateful;

/// A header or metadata field of a [`Program`], by position in [`Program::fields`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FieldId(pub u16);

impl FieldId {
    /// The flow identifier, 16 bits: the query, side or worker that the packet belongs to.
    pub const FID: Self = Self(0);
    /// The entry identifier, 32 bits: the row's position in its flow.
    pub const ID: Self = Self(1);

    /// Returns the `n`-th 32-bit value that the packet carries, counted from 0.
    #[must_use]
    pub const fn value(n: u8) -> Self {
        Self(2 + n as u16)
    }

    /// Returns the position in [`Program::fields`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A header or metadata field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// The field's name, a P4 identifier, unique in the program.
    pub name: String,
    /// The field's width, 1 to 32 bits.
    pub bits: u8,
}

impl Field {
    /// Returns a number with all bits of the field set.
    #[must_use]
    pub const fn mask(&self) -> u32 {
        mask(self.bits)
    }
}

/// Returns a number with the lowest `bits` bits set.
#[must_use]
pub const fn mask(bits: u8) -> u32 {
    if bits >= 32 { u32::MAX } else { (1 << bits) - 1 }
}

/// A register array of a [`Program`], by position in [`Program::registers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RegisterId(pub u16);

/// The type of one cell of a register array. All numbers are unsigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cell {
    /// One bit, for Bloom filters.
    Bit1,
    /// One unsigned 8-bit number.
    Bit8,
    /// One unsigned 16-bit number.
    Bit16,
    /// One unsigned 32-bit number.
    Bit32,
    /// Two 32-bit numbers, read and written together: the widest cell of a Tofino.
    Pair32,
}

impl Cell {
    /// Returns the width of one number of the cell.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::Bit1 => 1,
            Self::Bit8 => 8,
            Self::Bit16 => 16,
            Self::Bit32 | Self::Pair32 => 32,
        }
    }

    /// Returns the width of the whole cell.
    #[must_use]
    pub const fn total_bits(self) -> u64 {
        match self {
            Self::Pair32 => 64,
            single => single.bits() as u64,
        }
    }
}

/// A register array: state that outlives the packet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Register {
    /// The array's name, a P4 identifier, unique in the program.
    pub name: String,
    /// The type of its cells.
    pub cell: Cell,
    /// The number of cells.
    pub size: u32,
    /// The initial value of every cell: the low (or only) number, then the high number.
    pub initial: [u32; 2],
}

/// A whole program for one pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The program's name, a P4 identifier.
    pub name: String,
    /// The greatest number of 32-bit values that a packet carries.
    pub values: u8,
    /// Smaller numbers of values that packets may carry instead, ascending. A table that reads a value which the
    /// packet lacks is skipped.
    #[serde(default)]
    pub shorter: Vec<u8>,
    /// `fid`, `id`, the values, then the metadata. Metadata is zero when a packet enters.
    pub fields: Vec<Field>,
    /// The register arrays, numbered by [`RegisterId`].
    pub registers: Vec<Register>,
    /// The hash units, numbered by [`Operand::Hash`].
    pub hashes: Vec<Hash>,
    /// The stages, in order.
    pub stages: Vec<Stage>,
    /// One-bit metadata fields, one per entry of the packet: 1 drops the entry at the end.
    pub verdicts: Vec<FieldId>,
    /// Header fields that the deparser rewrites when a packet leaves, each with the metadata field that replaces it.
    #[serde(default)]
    pub rewrites: Vec<(FieldId, FieldId)>,
    /// True if a packet whose entries are all dropped returns to its sender as an acknowledgement; otherwise it is
    /// dropped.
    #[serde(default)]
    pub acknowledges: bool,
    /// A one-bit metadata field that, if it is 1, drops the packet whatever the verdicts are.
    #[serde(default)]
    pub discards: Option<FieldId>,
}

impl Program {
    /// Returns the number of header fields: `fid`, `id` and the values.
    #[must_use]
    pub const fn header_fields(&self) -> usize {
        2 + self.values as usize
    }

    /// Returns true if the program parses packets with this many values. Other packets pass unchanged.
    #[must_use]
    pub fn parses(&self, values: usize) -> bool {
        values == usize::from(self.values) || self.shorter.iter().any(|n| usize::from(*n) == values)
    }

    /// Returns the ranges of values that a packet carries or lacks together. If each of several entries has a
    /// verdict, the last ranges belong to one entry each and the values in front to all entries.
    #[must_use]
    pub fn sections(&self) -> Vec<Range<u8>> {
        let entries = self.verdicts.len().clamp(1, 255) as u8;
        let ends: Vec<u8> = if entries > 1 {
            let front = self.values % entries;
            let each = self.values / entries;
            (0..=entries).map(|entry| front + entry * each).filter(|end| *end > 0).collect()
        } else {
            self.shorter.iter().copied().chain([self.values]).collect()
        };
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(ends.iter().copied()).map(|(start, end)| start..end).collect()
    }

    /// Returns the number of values that a packet must carry for a table to run.
    #[must_use]
    pub fn needs(&self, table: &Table) -> u8 {
        let fields = self.reads(table).into_iter().map(FieldId::index);
        let values = fields.filter(|field| (2..self.header_fields()).contains(field));
        values.max().map_or(0, |last| last as u8 - 1)
    }

    /// Iterates over all tables with the number of their stage, in order.
    pub fn tables(&self) -> impl Iterator<Item = (usize, &Table)> {
        self.stages
            .iter()
            .enumerate()
            .flat_map(|(stage, s)| s.tables.iter().map(move |t| (stage, t)))
    }

    /// Returns the bits of metadata, that is, of all fields outside the packet header.
    #[must_use]
    pub fn metadata_bits(&self) -> usize {
        self.fields.iter().skip(self.header_fields()).map(|field| usize::from(field.bits)).sum()
    }

    /// Returns the register memory in bits, without rounding up to the blocks of a target.
    #[must_use]
    pub fn register_bits(&self) -> u64 {
        self.registers.iter().map(|r| u64::from(r.size) * r.cell.total_bits()).sum()
    }
}

/// Tables that run in parallel: no table sees what another table of its stage writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// The tables of the stage.
    pub tables: Vec<Table>,
}

/// A match-action table with its control-plane entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The table's name, a P4 identifier, unique in the program.
    pub name: String,
    /// The condition without which the table is skipped.
    pub gateway: Gateway,
    /// The fields that the entries match. Without keys, only the default action runs.
    pub keys: Vec<Key>,
    /// The actions that entries choose from.
    pub actions: Vec<Action>,
    /// The entries; the first one that matches wins.
    pub entries: Vec<Entry>,
    /// The action that runs if no entry matches; none means that nothing runs.
    pub default: Option<Call>,
}

impl Table {
    /// Creates a table without keys that always runs `action`.
    #[must_use]
    pub fn always(name: impl Into<String>, action: Action) -> Self {
        Self {
            name: name.into(),
            gateway: Gateway::default(),
            keys: Vec::new(),
            actions: vec![action],
            entries: Vec::new(),
            default: Some(Call { action: 0, args: Vec::new() }),
        }
    }

    /// Creates a table that matches `keys` and does nothing on a miss.
    #[must_use]
    pub fn matching(
        name: impl Into<String>,
        keys: Vec<Key>,
        actions: Vec<Action>,
        entries: Vec<Entry>,
    ) -> Self {
        Self {
            name: name.into(),
            gateway: Gateway::default(),
            keys,
            actions,
            entries,
            default: None,
        }
    }

    /// Adds a clause to the gateway: one of `tests` must hold.
    #[must_use]
    pub fn when(mut self, tests: impl Into<Vec<Test>>) -> Self {
        self.gateway.all_of.push(tests.into());
        self
    }

    /// Sets the action that runs if no entry matches.
    #[must_use]
    pub fn otherwise(mut self, action: usize) -> Self {
        self.default = Some(Call { action, args: Vec::new() });
        self
    }

    /// Returns true if the entries must be in TCAM.
    #[must_use]
    pub fn is_ternary(&self) -> bool {
        self.keys.iter().any(|key| key.kind == MatchKind::Ternary)
    }

    /// Returns the register array that the table's actions access, if any.
    #[must_use]
    pub fn register(&self) -> Option<RegisterId> {
        self.actions.iter().find_map(|action| action.stateful.as_ref().map(|s| s.register))
    }
}

/// A conjunction of clauses, each a disjunction of tests. An empty gateway always holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gateway {
    /// The clauses, each of which must have a test that holds.
    pub all_of: Vec<Vec<Test>>,
}

/// A test for equality or inequality, the only test that a gateway offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    /// The field that is compared.
    pub field: FieldId,
    /// True for a test of equality, false for inequality.
    pub equal: bool,
    /// The other side of the comparison.
    pub with: Comparand,
    /// The bits that are compared.
    pub mask: u32,
}

impl Test {
    /// Tests `field == constant`.
    #[must_use]
    pub const fn is(field: FieldId, constant: u32) -> Self {
        Self { field, equal: true, with: Comparand::Const(constant), mask: u32::MAX }
    }

    /// Tests `field != constant`.
    #[must_use]
    pub const fn is_not(field: FieldId, constant: u32) -> Self {
        Self { field, equal: false, with: Comparand::Const(constant), mask: u32::MAX }
    }

    /// Tests whether the packet carries the value `field`, or lacks it if `carried` is false.
    #[must_use]
    pub const fn carries(field: FieldId, carried: bool) -> Self {
        Self { field, equal: carried, with: Comparand::Const(0), mask: 0 }
    }

    /// Returns true for a test made by [`Test::carries`], which reads no bit of the field.
    #[must_use]
    pub const fn is_of_presence(&self) -> bool {
        self.mask == 0
    }

    /// Restricts the test to the bits of `mask`.
    #[must_use]
    pub const fn masked(self, mask: u32) -> Self {
        Self { mask, ..self }
    }

    /// Tests `a == b` for two fields.
    #[must_use]
    pub const fn same(a: FieldId, b: FieldId) -> Self {
        Self { field: a, equal: true, with: Comparand::Field(b), mask: u32::MAX }
    }

    /// Tests `a != b` for two fields.
    #[must_use]
    pub const fn differ(a: FieldId, b: FieldId) -> Self {
        Self { field: a, equal: false, with: Comparand::Field(b), mask: u32::MAX }
    }
}

/// The right side of a [`Test`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparand {
    /// The value of another field.
    Field(FieldId),
    /// A constant 32-bit number.
    Const(u32),
}

/// A field that a table matches, and the kind of match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The field that is matched.
    pub field: FieldId,
    /// The kind of match.
    pub kind: MatchKind,
}

impl Key {
    /// Creates a key that matches the whole field.
    #[must_use]
    pub const fn exact(field: FieldId) -> Self {
        Self { field, kind: MatchKind::Exact }
    }

    /// Creates a key that matches the field under a mask.
    #[must_use]
    pub const fn ternary(field: FieldId) -> Self {
        Self { field, kind: MatchKind::Ternary }
    }
}

/// The kind of match of a key, which decides where its entries are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MatchKind {
    /// Matches all bits; entries are in SRAM.
    Exact,
    /// Matches the bits under a mask; entries are in TCAM.
    Ternary,
}

/// One control-plane entry of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// One pattern for each key.
    pub patterns: Vec<Pattern>,
    /// The action that runs if all patterns match.
    pub call: Call,
}

impl Entry {
    /// Creates an entry that runs `action` without arguments.
    #[must_use]
    pub fn new(patterns: impl Into<Vec<Pattern>>, action: usize) -> Self {
        Self { patterns: patterns.into(), call: Call { action, args: Vec::new() } }
    }

    /// Sets the action data.
    #[must_use]
    pub fn with(mut self, args: impl Into<Vec<u32>>) -> Self {
        self.call.args = args.into();
        self
    }
}

/// The bits that a key must have to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// The required bits, already masked.
    pub value: u32,
    /// The bits that are compared; exact keys ignore the mask.
    pub mask: u32,
}

impl Pattern {
    /// Matches exactly this value.
    #[must_use]
    pub const fn exactly(value: u32) -> Self {
        Self { value, mask: u32::MAX }
    }

    /// Creates a pattern that matches every value.
    #[must_use]
    pub const fn any() -> Self {
        Self { value: 0, mask: 0 }
    }

    /// Matches the value under `mask`.
    #[must_use]
    pub const fn masked(value: u32, mask: u32) -> Self {
        Self { value, mask }
    }
}

/// A chosen action with its data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The position of the action in [`Table::actions`].
    pub action: usize,
    /// The action data that [`Operand::Arg`] refers to.
    pub args: Vec<u32>,
}

/// The effect of a table on a packet: field operations and at most one register access. All of them read the packet
/// as it entered the stage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// The action's name, a P4 identifier, unique in the table.
    pub name: String,
    /// The operations on fields.
    pub ops: Vec<Op>,
    /// The register access, if any.
    pub stateful: Option<Stateful>,
}

impl Action {
    /// Creates an action that only computes on fields.
    #[must_use]
    pub fn compute(name: impl Into<String>, ops: impl Into<Vec<Op>>) -> Self {
        Self { name: name.into(), ops: ops.into(), stateful: None }
    }

    /// Creates an action that accesses a register.
    #[must_use]
    pub fn access(name: impl Into<String>, stateful: Stateful) -> Self {
        Self { name: name.into(), ops: Vec::new(), stateful: Some(stateful) }
    }
}

/// Computes `to = operation(a, b)` in the width of `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Op {
    /// The field that takes the result.
    pub to: FieldId,
    /// The operation to compute.
    pub operation: Operation,
    /// The first operand of the operation.
    pub a: Operand,
    /// The second operand; [`Operation::Set`] ignores it.
    pub b: Operand,
}

impl Op {
    /// Copies `a` to `to`.
    #[must_use]
    pub const fn set(to: FieldId, a: Operand) -> Self {
        Self { to, operation: Operation::Set, a, b: Operand::Const(0) }
    }

    /// Computes `to = operation(a, b)`.
    #[must_use]
    pub const fn new(to: FieldId, operation: Operation, a: Operand, b: Operand) -> Self {
        Self { to, operation, a, b }
    }
}

/// An operand of an [`Op`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operand {
    /// The value of a field.
    Field(FieldId),
    /// A constant 32-bit number.
    Const(u32),
    /// Action data of the matching entry, by position in [`Call::args`].
    Arg(u8),
    /// The result of a hash unit, by position in [`Program::hashes`].
    Hash(u16),
}

/// The operations of an ALU: unsigned, in the width of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// `a`, without a second operand.
    Set,
    /// `a + b`, wrapping.
    Add,
    /// `a + b`, saturating at the greatest number.
    AddSaturating,
    /// `a - b`, wrapping.
    Sub,
    /// `a - b`, saturating at zero.
    SubSaturating,
    /// Bitwise AND of both operands.
    And,
    /// Bitwise OR of both operands.
    Or,
    /// Bitwise exclusive OR of both operands.
    Xor,
    /// The smaller of both operands.
    Min,
    /// The greater of both operands.
    Max,
    /// `a` shifted right by the constant `b`.
    ShiftRight,
}

impl Operation {
    /// Computes the result in `bits` bits.
    #[must_use]
    pub const fn apply(self, a: u32, b: u32, bits: u8) -> u32 {
        let top = mask(bits);
        if let Self::ShiftRight = self {
            // Only what remains after the shift must fit.
            return if b >= 32 { 0 } else { a >> b & top };
        }
        let (a, b) = (a & top, b & top);
        match self {
            Self::Set | Self::ShiftRight => a,
            Self::Add => a.wrapping_add(b) & top,
            Self::AddSaturating => {
                let sum = a as u64 + b as u64;
                if sum > top as u64 { top } else { sum as u32 }
            }
            Self::Sub => a.wrapping_sub(b) & top,
            Self::SubSaturating => a.saturating_sub(b),
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::Min => {
                if a < b {
                    a
                } else {
                    b
                }
            }
            Self::Max => {
                if a > b {
                    a
                } else {
                    b
                }
            }
        }
    }
}
