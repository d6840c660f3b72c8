//! `JOIN`: drop an entry whose key the other side does not have (paper §4.3).
//!
//! Pass 1 streams both sides' keys through the switch, which enters them into a filter for each side and drops them.
//! Pass 2 streams them again; an entry is forwarded only if the *other* side's filter contains its key. If one side
//! is small, [`Passes::SmallFirst`] streams side A once, forwarding it while it enters A's filter, and then side B
//! once, pruned.
//!
//! Filters have false positives, which the join removes, and no false negatives. The algorithm is therefore
//! deterministic, as long as pass 1 is lossless and *the state survives*: a switch that reboots before pass 2 has
//! empty filters, which would drop every match. The protocol must restart pass 1.
//!
//! A side whose unmatched rows the query keeps (outer and anti joins) is never pruned. NULL keys match nothing: a
//! worker may drop them itself where the side may be pruned.
//!
//! # Filters
//!
//! [`bloom`] has one bit array for each hash. In [`register_bloom`] one hash chooses a 64-bit word and another one of
//! the masks with `hashes` bits set, so that a key costs one cell.

use serde::{Deserialize, Serialize};

use crate::algorithm::config::{in_range, power_of_two};
use crate::algorithm::pruner::columns;
use crate::switch::{
    Action, Builder, Entry, FieldId, Key, Op, Operand, Pattern, Program, RejectedPacket, Table,
};
use crate::{ConfigError, Entries, Pruner, Selection};

pub mod bloom;
mod entry;
pub mod plan;
mod question;
pub mod register_bloom;

pub(crate) use entry::{BLOOM, REGISTER_BLOOM};

/// The kind of join, by the rows that it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Keeps only matches.
    Inner,
    /// Keeps matches and unmatched rows of A.
    LeftOuter,
    /// Keeps matches and unmatched rows of B.
    RightOuter,
    /// Keeps matches and unmatched rows of both sides.
    FullOuter,
    /// Keeps rows of A with a match.
    LeftSemi,
    /// Keeps rows of B with a match.
    RightSemi,
    /// Keeps rows of A without a match.
    LeftAnti,
    /// Keeps rows of B without a match.
    RightAnti,
}

impl Kind {
    /// Returns, for side A and side B, true if unmatched rows may be pruned.
    #[must_use]
    pub const fn prunable(self) -> [bool; 2] {
        match self {
            Self::Inner | Self::LeftSemi | Self::RightSemi => [true, true],
            Self::LeftOuter | Self::LeftAnti => [false, true],
            Self::RightOuter | Self::RightAnti => [true, false],
            Self::FullOuter => [false, false],
        }
    }
}

/// The number of times that the sides are streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Passes {
    /// Both sides are streamed twice.
    Two,
    /// A is streamed once, unpruned, then B once, pruned.
    SmallFirst,
}

/// The flow identifier of side A's entries while its filter is built.
pub const BUILD_A: u16 = 0;
/// The flow identifier of side B's entries while its filter is built.
pub const BUILD_B: u16 = 1;
/// The flow identifier of side A's entries in pass 2.
pub const PROBE_A: u16 = 2;
/// The flow identifier of side B's entries in pass 2, and in the only pass of
/// [`Passes::SmallFirst`].
pub const PROBE_B: u16 = 3;

/// The properties that both kinds of filter share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    kind: Kind,
    passes: Passes,
    wide: bool,
}

impl Shape {
    /// Creates a join of this kind; `wide` keys have 64 bits, in two values, high half first.
    #[must_use]
    pub const fn new(kind: Kind, passes: Passes, wide: bool) -> Self {
        Self { kind, passes, wide }
    }

    const fn values(self) -> u8 {
        if self.wide { 2 } else { 1 }
    }

    fn keys(self) -> Vec<FieldId> {
        (0..self.values()).map(FieldId::value).collect()
    }

    /// Returns, for side A and side B, true if its filter exists. A filter serves to prune the other side.
    const fn filters(self) -> [bool; 2] {
        let [a, b] = self.kind.prunable();
        match self.passes {
            Passes::Two => [b, a],
            Passes::SmallFirst => [b, false],
        }
    }

    /// Returns the treatment of a flow's entries: kept, dropped, entered into the filter of a side, or looked up
    /// there.
    const fn role(self, fid: u16) -> Role {
        let [filter_a, filter_b] = self.filters();
        match fid {
            BUILD_A if filter_a => {
                Role::Build { side: 0, keep: matches!(self.passes, Passes::SmallFirst) }
            }
            BUILD_B if filter_b => Role::Build { side: 1, keep: false },
            PROBE_A if filter_b => Role::Probe { side: 1 },
            PROBE_B if filter_a => Role::Probe { side: 0 },
            BUILD_A | BUILD_B if matches!(self.passes, Passes::Two) => Role::Absorb,
            _ => Role::Forward,
        }
    }

    /// Adds the last table, which drops entries according to the flow and to the flags `present`, which are set if a
    /// key is in a filter.
    fn decide(self, b: &mut Builder, prune: FieldId, present: [&[FieldId]; 2]) {
        let flags: Vec<FieldId> = present.into_iter().flatten().copied().collect();
        let keys =
            std::iter::once(FieldId::FID).chain(flags.iter().copied()).map(Key::ternary).collect();
        let row = |fid: u16, wanted: &[FieldId], action| {
            let pattern =
                |f: &FieldId| if wanted.contains(f) { Pattern::exactly(1) } else { Pattern::any() };
            let fid = Pattern::exactly(fid.into());
            Entry::new(
                std::iter::once(fid).chain(flags.iter().map(pattern)).collect::<Vec<_>>(),
                action,
            )
        };
        let mut entries = Vec::new();
        for fid in [BUILD_A, BUILD_B, PROBE_A, PROBE_B] {
            match self.role(fid) {
                Role::Build { keep: false, .. } | Role::Absorb => entries.push(row(fid, &[], 1)),
                Role::Probe { side } => {
                    entries.push(row(fid, present[side], 0));
                    entries.push(row(fid, &[], 1));
                }
                Role::Build { keep: true, .. } | Role::Forward => {}
            }
        }
        let actions = vec![
            Action::compute("keep", []),
            Action::compute("drop", [Op::set(prune, Operand::Const(1))]),
        ];
        b.stage();
        b.table(Table::matching("decide", keys, actions, entries).otherwise(0));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Enters the key into a side's filter.
    Build { side: usize, keep: bool },
    /// Looks the key up in a side's filter.
    Probe { side: usize },
    /// Drops an entry of a first pass that no filter needs.
    Absorb,
    /// Forwards an entry that must not be pruned.
    Forward,
}

/// Creates the table of one register array of a side's filter: build packets write, probe packets read.
fn filter_table(shape: Shape, side: usize, name: String, write: Action, read: Action) -> Table {
    let entries = [BUILD_A, BUILD_B, PROBE_A, PROBE_B].into_iter().filter_map(|fid| {
        let fid_pattern = [Pattern::exactly(fid.into())];
        match shape.role(fid) {
            Role::Build { side: s, .. } if s == side => Some(Entry::new(fid_pattern, 0)),
            Role::Probe { side: s } if s == side => Some(Entry::new(fid_pattern, 1)),
            _ => None,
        }
    });
    Table::matching(name, vec![Key::exact(FieldId::FID)], vec![write, read], entries.collect())
}

const SIDES: [&str; 2] = ["a", "b"];

fn check_filter(cells: u32, hashes: u32, most: u32) -> Result<(), ConfigError> {
    power_of_two("cells", cells)?;
    in_range("hashes", hashes, 1, most).map(|_| ())
}

/// Starts a join's program, for either kind of filter.
fn start(shape: Shape) -> (Builder, FieldId) {
    let mut b = Builder::new("join", shape.values());
    let prune = b.verdict("prune");
    (b, prune)
}

fn finish(shape: Shape, mut b: Builder, prune: FieldId, present: &[Vec<FieldId>; 2]) -> Program {
    shape.decide(&mut b, prune, [&present[0], &present[1]]);
    b.finish()
}

/// One side's filter in the fast path. Its state is as large as the modelled registers.
pub trait Filter: Clone + std::fmt::Debug + Send {
    /// Enters keys into the filter.
    fn enter<const N: usize>(&mut self, len: usize, key: impl Fn(usize) -> [u32; N]);

    /// Selects the keys that the filter contains.
    fn look_up<const N: usize>(
        &mut self,
        len: usize,
        key: impl Fn(usize) -> [u32; N],
        selection: &mut Selection,
    );

    /// Returns the state as the program's register arrays.
    fn registers(&self) -> Vec<Vec<[u32; 2]>>;

    /// Removes all keys from the filter.
    fn reset(&mut self);
}

/// The fast path of JOIN with either kind of filter.
#[derive(Debug, Clone)]
pub struct Join<F> {
    shape: Shape,
    filters: [Option<F>; 2],
}

impl<F: Filter> Join<F> {
    fn new(shape: Shape, empty: &F) -> Self {
        Self { shape, filters: shape.filters().map(|exists| exists.then(|| empty.clone())) }
    }

    #[inline]
    fn run<const N: usize>(
        &mut self,
        flow: u16,
        len: usize,
        key: impl Fn(usize) -> [u32; N],
        selection: &mut Selection,
    ) {
        match self.shape.role(flow) {
            Role::Build { side, keep } => {
                if let Some(filter) = &mut self.filters[side] {
                    filter.enter(len, key);
                }
                selection.fill(len, |_| keep);
            }
            Role::Probe { side } => {
                if let Some(filter) = &mut self.filters[side] {
                    filter.look_up(len, key, selection);
                }
            }
            Role::Absorb => selection.fill(len, |_| false),
            Role::Forward => selection.fill(len, |_| true),
        }
    }
}

impl<F: Filter> Pruner for Join<F> {
    fn values(&self) -> usize {
        self.shape.values().into()
    }

    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), RejectedPacket> {
        let (flow, len) = (entries.flow(), entries.len());
        if self.shape.wide {
            let [high, low] = columns(entries)?;
            self.run(flow, len, |i| [high[i], low[i]], selection);
        } else {
            let [keys] = columns(entries)?;
            self.run(flow, len, |i| [keys[i]], selection);
        }
        Ok(())
    }

    fn needs_every_entry(&self) -> bool {
        true
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        self.filters.iter().flatten().flat_map(Filter::registers).collect()
    }

    fn reset(&mut self) {
        self.filters.iter_mut().flatten().for_each(Filter::reset);
    }
}

#[cfg(test)]
mod tests;
