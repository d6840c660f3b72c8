//! Computes families of aggregates over groups with one look-up per row.
//!
//! Clients express a group-by as a family of aggregates, one per group: `SUM(CASE WHEN g = 'a' THEN x END), SUM(CASE
//! WHEN g = 'b' THEN x END), …`. Computed one by one, these compare every row with every group. Here the rows of a
//! batch are first partitioned by their key, and each aggregate processes only its own rows.

use std::collections::HashMap;

use super::batch::Columns;
use super::execute::Failure;
use super::program::{Machine, NodeId, Program};
use super::selection::{Rows, Selection};
use super::states::States;
use super::vector::{Data, Tag, Vector};
use sluicegate_s3select::dialect::ast::Aggregate;
use sluicegate_s3select::value::Value;

/// Aggregates whose groups are distinguished by the same expressions.
#[derive(Debug)]
pub(super) struct Family {
    keys: Vec<NodeId>,
    groups: HashMap<Box<[u8]>, usize>,
    /// The aggregated values.
    values: Vec<Grouped>,
}

/// A value that some of the groups aggregate.
#[derive(Debug)]
struct Grouped {
    value: NodeId,
    members: Vec<Member>,
}

/// One aggregate over one group.
#[derive(Debug)]
struct Member {
    /// The position of the aggregate among the calls.
    call: usize,
    group: usize,
    zero_elsewhere: bool,
}

/// Finds the families among the calls, and the calls that belong to none.
pub(super) fn families(
    program: &Program,
    calls: &[(Aggregate, Option<NodeId>)],
) -> (Vec<Family>, Vec<usize>) {
    let mut families: Vec<Family> = Vec::new();
    let mut single = Vec::new();
    for (call, (function, arg)) in calls.iter().enumerate() {
        let grouped = arg.and_then(|arg| program.grouped(arg));
        // The zeros of other rows change every aggregate but SUM.
        let grouped = grouped.filter(|g| !g.zero_elsewhere || *function == Aggregate::Sum);
        let Some(grouped) = grouped else {
            single.push(call);
            continue;
        };
        let keys: Vec<_> = grouped.key.iter().map(|(node, _)| *node).collect();
        let family = match families.iter().position(|family| family.keys == keys) {
            Some(family) => &mut families[family],
            None => {
                families.push(Family { keys, groups: HashMap::new(), values: Vec::new() });
                let last = families.len() - 1;
                &mut families[last]
            }
        };
        let mut key = Vec::new();
        for (_, part) in &grouped.key {
            match part {
                Value::Int(int) => push_part(&int.to_le_bytes(), &mut key),
                Value::String(text) => push_part(text.as_bytes(), &mut key),
                _ => {}
            }
        }
        let next = family.groups.len();
        let group = *family.groups.entry(key.into()).or_insert(next);
        let member = Member { call, group, zero_elsewhere: grouped.zero_elsewhere };
        match family.values.iter_mut().find(|known| known.value == grouped.value) {
            Some(known) => known.members.push(member),
            None => family.values.push(Grouped { value: grouped.value, members: vec![member] }),
        }
    }
    // A single aggregate is faster as a plain CASE.
    families.retain(|family| {
        let keep = family.calls().nth(1).is_some();
        if !keep {
            single.extend(family.calls());
        }
        keep
    });
    (families, single)
}

fn push_part(part: &[u8], key: &mut Vec<u8>) {
    key.extend_from_slice(&(part.len() as u32).to_le_bytes());
    key.extend_from_slice(part);
}

impl Family {
    /// Returns whether one look-up per row is equivalent to the comparisons. With several keys, all of them are read
    /// for every row, and must not fail on invalid UTF-8 that no comparison would reach.
    pub(super) fn applies(&self, batch: &dyn Columns) -> bool {
        self.keys.len() == 1 || batch.is_utf8()
    }

    /// Returns the positions of the aggregates among the calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = usize> {
        self.values.iter().flat_map(|grouped| grouped.members.iter().map(|member| member.call))
    }

    /// Adds the rows of a batch to the states.
    pub(super) fn update(
        &self,
        program: &Program,
        machine: &mut Machine,
        selection: &Selection,
        batch: &dyn Columns,
        states: &mut States,
    ) -> Result<(), Failure> {
        let keys = machine.eval_all(program, self.keys.iter().copied(), selection, batch)?;
        let (block, all) = (batch.block(), selection.rows());
        let mut rows_of = vec![Vec::new(); self.groups.len()];
        let mut group_of: Vec<(u32, usize)> = Vec::with_capacity(all.len());
        let mut key = Vec::new();
        all.for_each(|row| {
            key.clear();
            let complete = self.keys.iter().all(|node| part(keys.get(*node), row, block, &mut key));
            if complete && let Some(group) = self.groups.get(&key[..]) {
                rows_of[*group].push(row as u32);
                group_of.push((row as u32, *group));
            }
        });
        for Grouped { value, members } in &self.values {
            // Each value is computed once for the rows of all groups that aggregate it, and used before the next one
            // is computed: they may share subexpressions, whose values are then replaced.
            let mut wants = vec![false; self.groups.len()];
            for member in members {
                wants[member.group] = true;
            }
            let rows = group_of.iter().filter(|(_, group)| wants[*group]).map(|(row, _)| *row);
            let wanted = machine.pick(selection, rows.collect());
            machine.make_room();
            let vector = machine.eval(program, *value, &wanted, batch)?;
            for member in members {
                let rows = &rows_of[member.group];
                states.update(member.call, vector, Rows::List(rows), block)?;
                states.check().map_err(Failure::Writing)?;
                if member.zero_elsewhere && rows.len() < all.len() {
                    states.add_zero(member.call);
                }
            }
        }
        Ok(())
    }
}

/// Appends a row's value of one key expression to its key. Returns `false` if the value is NULL or MISSING.
#[inline]
fn part(vector: &Vector, row: usize, block: &[u8], key: &mut Vec<u8>) -> bool {
    match &vector.data {
        Data::Text(spans, heap) if !spans[row].is_absent() => {
            push_part(spans[row].slice(heap.bytes(block)), key);
            true
        }
        Data::Int(ints) if vector.tags.get(row) == Tag::Present => {
            push_part(&ints[row].to_le_bytes(), key);
            true
        }
        _ => false,
    }
}
