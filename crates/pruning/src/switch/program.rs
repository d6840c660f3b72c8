//! A switch program as plain data: headers, metadata, registers, hash units and staged tables.
//!
//! The model is PISA, the pipeline behind P4: a parsed packet header and scratch metadata travel
//! through stages; the tables of one stage see the packet as the previous stage left it; state
//! lives in register arrays that a packet may touch once. See [`crate::switch`] for the readings.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::hash::Hash;
use super::stateful::Stateful;

/// A header or metadata field of a [`Program`], by position in [`Program::fields`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FieldId(pub u16);

impl FieldId {
    /// The flow identifier, 16 bits: which query, side or worker the packet belongs to.
    pub const FID: Self = Self(0);
    /// The entry identifier, 32 bits: the row's position in its flow.
    pub const ID: Self = Self(1);

    /// The `n`-th 32-bit value that the packet carries, from 0.
    #[must_use]
    pub const fn value(n: u8) -> Self {
        Self(2 + n as u16)
    }

    /// The position in [`Program::fields`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A header or metadata field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name, a P4 identifier, unique in the program.
    pub name: String,
    /// Its width, 1 to 32 bits.
    pub bits: u8,
}

impl Field {
    /// All ones in the field's width.
    #[must_use]
    pub const fn mask(&self) -> u32 {
        mask(self.bits)
    }
}

/// The lowest `bits` bits set.
#[must_use]
pub const fn mask(bits: u8) -> u32 {
    if bits >= 32 { u32::MAX } else { (1 << bits) - 1 }
}

/// A register array of a [`Program`], by position in [`Program::registers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RegisterId(pub u16);

/// What one cell of a register array holds. All numbers are unsigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cell {
    /// One bit, for Bloom filters.
    Bit1,
    /// One 8-bit number.
    Bit8,
    /// One 16-bit number.
    Bit16,
    /// One 32-bit number.
    Bit32,
    /// Two 32-bit numbers, read and written together: the widest cell of a Tofino.
    Pair32,
}

impl Cell {
    /// The width of one number.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::Bit1 => 1,
            Self::Bit8 => 8,
            Self::Bit16 => 16,
            Self::Bit32 | Self::Pair32 => 32,
        }
    }

    /// The width of the whole cell.
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
    /// Its name, a P4 identifier, unique in the program.
    pub name: String,
    /// What a cell holds.
    pub cell: Cell,
    /// How many cells.
    pub size: u32,
    /// What every cell holds at first: low (or only) number, high number.
    pub initial: [u32; 2],
}

/// A whole program for one pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its name, a P4 identifier.
    pub name: String,
    /// How many 32-bit values a packet carries, at most.
    pub values: u8,
    /// Smaller numbers of values that packets may carry instead, ascending. A table that reads a value
    /// which the packet lacks is skipped.
    #[serde(default)]
    pub shorter: Vec<u8>,
    /// `fid`, `id`, the values, then the metadata. Metadata is zero when a packet enters.
    pub fields: Vec<Field>,
    /// The register arrays.
    pub registers: Vec<Register>,
    /// The hash units.
    pub hashes: Vec<Hash>,
    /// The stages, in order.
    pub stages: Vec<Stage>,
    /// One-bit metadata fields, one per entry of the packet: 1 drops the entry at the end.
    pub verdicts: Vec<FieldId>,
    /// What the deparser writes into the header of a packet that leaves: a header field, and the
    /// metadata that it takes.
    #[serde(default)]
    pub rewrites: Vec<(FieldId, FieldId)>,
    /// Whether a packet whose entries are all dropped goes back to its sender, as an acknowledgement,
    /// rather than nowhere.
    #[serde(default)]
    pub acknowledges: bool,
    /// One-bit metadata: a packet for which it is 1 goes nowhere, whatever the verdicts say.
    #[serde(default)]
    pub discards: Option<FieldId>,
}

impl Program {
    /// How many fields belong to the packet header: `fid`, `id` and the values.
    #[must_use]
    pub const fn header_fields(&self) -> usize {
        2 + self.values as usize
    }

    /// Whether a packet of so many values is one of the program's. Others pass untouched.
    #[must_use]
    pub fn parses(&self, values: usize) -> bool {
        values == usize::from(self.values) || self.shorter.iter().any(|n| usize::from(*n) == values)
    }

    /// The values in groups that packets carry or lack together. Where there is a verdict for each of
    /// several entries, the last groups are one for each; the values in front belong to all.
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

    /// How many values a packet must carry for a table to run.
    #[must_use]
    pub fn needs(&self, table: &Table) -> u8 {
        let fields = self.reads(table).into_iter().map(FieldId::index);
        let values = fields.filter(|field| (2..self.header_fields()).contains(field));
        values.max().map_or(0, |last| last as u8 - 1)
    }

    /// All tables with their stage, in order.
    pub fn tables(&self) -> impl Iterator<Item = (usize, &Table)> {
        self.stages
            .iter()
            .enumerate()
            .flat_map(|(stage, s)| s.tables.iter().map(move |t| (stage, t)))
    }

    /// Bits of metadata: of the fields that no packet carries.
    #[must_use]
    pub fn metadata_bits(&self) -> usize {
        self.fields.iter().skip(self.header_fields()).map(|field| usize::from(field.bits)).sum()
    }

    /// Register memory in bits, without the blocks that a target rounds up to.
    #[must_use]
    pub fn register_bits(&self) -> u64 {
        self.registers.iter().map(|r| u64::from(r.size) * r.cell.total_bits()).sum()
    }
}

/// Tables that run side by side: none sees what another of the same stage writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// The tables.
    pub tables: Vec<Table>,
}

/// A match-action table, its control-plane entries included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its name, a P4 identifier, unique in the program.
    pub name: String,
    /// The table is skipped unless this holds.
    pub gateway: Gateway,
    /// What the entries match on. No key: only the default action runs.
    pub keys: Vec<Key>,
    /// The actions to choose from.
    pub actions: Vec<Action>,
    /// The entries; of several that match, the first one wins.
    pub entries: Vec<Entry>,
    /// What runs if no entry matches.
    pub default: Option<Call>,
}

impl Table {
    /// A table without keys that always runs `action`.
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

    /// A table that matches `keys` and does nothing on a miss.
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

    /// Sets what runs if no entry matches.
    #[must_use]
    pub fn otherwise(mut self, action: usize) -> Self {
        self.default = Some(Call { action, args: Vec::new() });
        self
    }

    /// Whether the entries must live in TCAM.
    #[must_use]
    pub fn is_ternary(&self) -> bool {
        self.keys.iter().any(|key| key.kind == MatchKind::Ternary)
    }

    /// The register array that the table's actions access, if any.
    #[must_use]
    pub fn register(&self) -> Option<RegisterId> {
        self.actions.iter().find_map(|action| action.stateful.as_ref().map(|s| s.register))
    }
}

/// A conjunction of clauses, each a disjunction of tests. Empty: always true.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gateway {
    /// Every clause must have a test that holds.
    pub all_of: Vec<Vec<Test>>,
}

/// Whether two numbers are equal: all that a gateway can ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    /// The field.
    pub field: FieldId,
    /// `true` asks for equality, `false` for inequality.
    pub equal: bool,
    /// What the field is compared with.
    pub with: Comparand,
    /// The bits that count.
    pub mask: u32,
}

impl Test {
    /// `field == constant`.
    #[must_use]
    pub const fn is(field: FieldId, constant: u32) -> Self {
        Self { field, equal: true, with: Comparand::Const(constant), mask: u32::MAX }
    }

    /// `field != constant`.
    #[must_use]
    pub const fn is_not(field: FieldId, constant: u32) -> Self {
        Self { field, equal: false, with: Comparand::Const(constant), mask: u32::MAX }
    }

    /// Whether the packet carries the value `field`, or, if not `carried`, lacks it.
    #[must_use]
    pub const fn carries(field: FieldId, carried: bool) -> Self {
        Self { field, equal: carried, with: Comparand::Const(0), mask: 0 }
    }

    /// Whether it is a test of [`Test::carries`]: it reads no bit of the field.
    #[must_use]
    pub const fn is_of_presence(&self) -> bool {
        self.mask == 0
    }

    /// The same test of the bits of `mask` only.
    #[must_use]
    pub const fn masked(self, mask: u32) -> Self {
        Self { mask, ..self }
    }

    /// `a == b`.
    #[must_use]
    pub const fn same(a: FieldId, b: FieldId) -> Self {
        Self { field: a, equal: true, with: Comparand::Field(b), mask: u32::MAX }
    }

    /// `a != b`.
    #[must_use]
    pub const fn differ(a: FieldId, b: FieldId) -> Self {
        Self { field: a, equal: false, with: Comparand::Field(b), mask: u32::MAX }
    }
}

/// The right side of a [`Test`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparand {
    /// Another field.
    Field(FieldId),
    /// A number.
    Const(u32),
}

/// A field to match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The field.
    pub field: FieldId,
    /// How it matches.
    pub kind: MatchKind,
}

impl Key {
    /// Matches the whole field.
    #[must_use]
    pub const fn exact(field: FieldId) -> Self {
        Self { field, kind: MatchKind::Exact }
    }

    /// Matches the field under a mask.
    #[must_use]
    pub const fn ternary(field: FieldId) -> Self {
        Self { field, kind: MatchKind::Ternary }
    }
}

/// How a key matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MatchKind {
    /// All bits, from SRAM.
    Exact,
    /// The bits under a mask, from TCAM.
    Ternary,
}

/// One control-plane entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// One pattern for each key.
    pub patterns: Vec<Pattern>,
    /// What runs.
    pub call: Call,
}

impl Entry {
    /// An entry that runs `action` without arguments.
    #[must_use]
    pub fn new(patterns: impl Into<Vec<Pattern>>, action: usize) -> Self {
        Self { patterns: patterns.into(), call: Call { action, args: Vec::new() } }
    }

    /// Adds action data.
    #[must_use]
    pub fn with(mut self, args: impl Into<Vec<u32>>) -> Self {
        self.call.args = args.into();
        self
    }
}

/// The bits that a key must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// The value under the mask.
    pub value: u32,
    /// The bits that count; exact keys ignore it.
    pub mask: u32,
}

impl Pattern {
    /// All bits count.
    #[must_use]
    pub const fn exactly(value: u32) -> Self {
        Self { value, mask: u32::MAX }
    }

    /// No bit counts.
    #[must_use]
    pub const fn any() -> Self {
        Self { value: 0, mask: 0 }
    }

    /// The bits of `mask` count.
    #[must_use]
    pub const fn masked(value: u32, mask: u32) -> Self {
        Self { value, mask }
    }
}

/// An action chosen, with its data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Position in [`Table::actions`].
    pub action: usize,
    /// The action data that [`Operand::Arg`] refers to.
    pub args: Vec<u32>,
}

/// What a table does to a packet: field operations and at most one register access. All read the
/// packet as it came into the stage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// Its name, a P4 identifier, unique in the table.
    pub name: String,
    /// Operations on fields.
    pub ops: Vec<Op>,
    /// The register access.
    pub stateful: Option<Stateful>,
}

impl Action {
    /// An action that only computes on fields.
    #[must_use]
    pub fn compute(name: impl Into<String>, ops: impl Into<Vec<Op>>) -> Self {
        Self { name: name.into(), ops: ops.into(), stateful: None }
    }

    /// An action that accesses a register.
    #[must_use]
    pub fn access(name: impl Into<String>, stateful: Stateful) -> Self {
        Self { name: name.into(), ops: Vec::new(), stateful: Some(stateful) }
    }
}

/// `to = operation(a, b)` in the width of `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Op {
    /// Where the result goes.
    pub to: FieldId,
    /// The operation.
    pub operation: Operation,
    /// First operand.
    pub a: Operand,
    /// Second operand; [`Operation::Set`] ignores it.
    pub b: Operand,
}

impl Op {
    /// `to = a`.
    #[must_use]
    pub const fn set(to: FieldId, a: Operand) -> Self {
        Self { to, operation: Operation::Set, a, b: Operand::Const(0) }
    }

    /// `to = operation(a, b)`.
    #[must_use]
    pub const fn new(to: FieldId, operation: Operation, a: Operand, b: Operand) -> Self {
        Self { to, operation, a, b }
    }
}

/// What an [`Op`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operand {
    /// A field.
    Field(FieldId),
    /// A number.
    Const(u32),
    /// Action data of the entry that matched.
    Arg(u8),
    /// The result of a hash unit, by position in [`Program::hashes`].
    Hash(u16),
}

/// What an ALU computes; unsigned, in the width of its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// `a`.
    Set,
    /// `a + b`, wrapping.
    Add,
    /// `a + b`, stopping at the greatest number.
    AddSaturating,
    /// `a - b`, wrapping.
    Sub,
    /// `a - b`, stopping at zero.
    SubSaturating,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The smaller.
    Min,
    /// The greater.
    Max,
    /// `a` shifted right by the constant `b`.
    ShiftRight,
}

impl Operation {
    /// Computes in `bits` bits.
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
