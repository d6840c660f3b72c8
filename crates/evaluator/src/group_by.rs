//! Keeps the states of the aggregates of each GROUP BY group, in bounded memory.
//!
//! The key of a group consists of the bytes of its expressions' values. Values of different representations, such as
//! 0.0 and -0.0, or NULL and MISSING, are in different groups. The key of a row is written to reused memory and
//! looked up in a hash table with open addressing. A row of a known group allocates nothing. If all keys are columns
//! with dictionaries, the group of each combination of codes is looked up once.
//!
//! When a row of a new group finds the table full, the groups so far are sent and dropped. A group may therefore come
//! in several rows, each for some of its input rows; the client combines them.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use ahash::RandomState;

use super::aggregate::State;
use super::batch::Codes;
use super::output::invalid_text;
use super::program::{NodeId, Values};
use super::vector::{Data, Tag, Truth, Vector};
use sluicegate_s3select::dialect::ast::Aggregate;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::value::timestamp::Precision;
use sluicegate_s3select::value::{Decimal, Timestamp, Value};

/// The default for the most groups in memory.
pub(super) const MAX_GROUPS: usize = 1 << 16;
/// The most bytes of the states of groups and the values of their keys. The texts of least and greatest values may
/// take as much again, and the texts of keys twice as much.
const MAX_BYTES: usize = 32 << 20;

/// The most combinations of dictionary codes whose groups are remembered.
const MAX_CODED: usize = 1 << 16;

/// An aggregate function over the rows of each group, and its argument.
pub(super) type Call = (Aggregate, Option<NodeId>);

/// The groups of the rows so far.
#[derive(Debug)]
pub(super) struct Groups {
    /// The numbers of groups at the slots of their hashes. The length is a power of two, and half of the slots are
    /// free.
    table: Vec<u32>,
    hasher: RandomState,
    /// The groups in the order of their first rows.
    groups: Vec<Group>,
    /// The keys of all groups, concatenated.
    keys: Vec<u8>,
    /// The values of the keys, group by group.
    values: Vec<Value>,
    /// The states of all groups, for each call.
    states: Vec<Vec<State>>,
    /// The bytes of text copied into states.
    text_bytes: usize,
    most: usize,
    /// The key of the current row.
    key: Vec<u8>,
    /// Rows of the batch that are not yet in the states, with the numbers of their groups.
    placed: Vec<(u32, u32)>,
    coded: CodedGroups,
}

/// The groups of the combinations of dictionary codes.
#[derive(Debug, Default)]
struct CodedGroups {
    dictionaries: Vec<Arc<Vector>>,
    /// The number of the group of each combination, or [`FREE`]. The codes of the first key are adjacent.
    groups: Vec<u32>,
}

impl CodedGroups {
    /// Returns the combination of a row's codes.
    #[inline(always)]
    fn combination(columns: &[Codes<'_>], row: usize) -> usize {
        columns.iter().rev().fold(0, |all, it| all * it.distinct + it.codes[row] as usize)
    }
}

/// The keys of the rows of a batch.
#[derive(Debug)]
pub(super) enum Keys<'a> {
    /// The values of each row.
    Values(Vec<&'a Vector>),
    /// The dictionaries of columns, and the codes of each row. They have at most [`MAX_CODED`] combinations.
    Codes(Vec<Codes<'a>>),
}

impl<'a> Keys<'a> {
    /// Returns the keys of columns with dictionaries if they are small enough.
    pub(super) fn of_codes(columns: Vec<Codes<'a>>) -> Option<Self> {
        let combinations = columns
            .iter()
            .try_fold(1_usize, |all, it| all.checked_mul(it.distinct))
            .filter(|all| *all <= MAX_CODED);
        combinations.map(|_| Self::Codes(columns))
    }

    /// Iterates over the keys of a row: vectors, and the position of its value in each.
    #[inline]
    fn of_row(&self, row: usize) -> impl Iterator<Item = (&'a Vector, usize)> {
        let keys = match self {
            Self::Values(vectors) => vectors.len(),
            Self::Codes(columns) => columns.len(),
        };
        (0..keys).map(move |key| match self {
            Self::Values(vectors) => (vectors[key], row),
            Self::Codes(columns) => {
                let Codes { values, codes, .. } = columns[key];
                (values.as_ref(), codes[row] as usize)
            }
        })
    }
}

#[derive(Debug, Clone, Copy)]
struct Group {
    hash: u64,
    /// The end of the group's key, which begins where the previous group's key ends.
    end: usize,
}

const FREE: u32 = u32::MAX;

/// The group of a row: a known one, or the table slot for a new one.
enum TableSlot {
    Known(u32),
    Free(usize),
}

impl Groups {
    /// Creates an empty set of groups with the given number of keys and calls.
    pub(super) fn new(keys: usize, calls: usize) -> Self {
        let bytes = size_of::<Group>() + keys * size_of::<Value>() + calls * size_of::<State>();
        Self {
            table: vec![FREE; 64],
            hasher: RandomState::new(),
            groups: Vec::new(),
            keys: Vec::new(),
            values: Vec::new(),
            states: vec![Vec::new(); calls],
            text_bytes: 0,
            most: MAX_GROUPS.min(MAX_BYTES / bytes).max(1),
            key: Vec::new(),
            placed: Vec::new(),
            coded: CodedGroups::default(),
        }
    }

    /// Begins a batch with these keys.
    pub(super) fn begin(&mut self, keys: &Keys<'_>) {
        let Keys::Codes(columns) = keys else {
            self.coded = CodedGroups::default();
            return;
        };
        let known = &self.coded.dictionaries;
        let are_known = known.len() == columns.len()
            && known.iter().zip(columns).all(|(known, it)| Arc::ptr_eq(known, it.values));
        let combinations = columns.iter().map(|it| it.distinct).product();
        if !are_known || self.coded.groups.len() != combinations {
            self.coded.dictionaries = columns.iter().map(|it| Arc::clone(it.values)).collect();
            self.coded.groups.clear();
            self.coded.groups.resize(combinations, FREE);
        }
    }

    /// Limits the number of groups to `most`, and at least 1.
    pub(super) fn limit(&mut self, most: usize) {
        self.most = self.most.min(most.max(1));
    }

    /// Returns the number of groups.
    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// Finds the group of a row by its keys, with which the batch began, or adds it. Returns `false` if the group is
    /// new and there is no room.
    #[inline]
    pub(super) fn find_slot(
        &mut self,
        row: usize,
        keys: &Keys<'_>,
        calls: &[Call],
        block: &[u8],
    ) -> Result<bool, SelectError> {
        let Keys::Codes(columns) = keys else {
            return self.find_slot_of_values(row, keys, calls, block);
        };
        let combination = CodedGroups::combination(columns, row);
        let group = self.coded.groups[combination];
        if group != FREE {
            self.placed.push((row as u32, group));
            return Ok(true);
        }
        let is_placed = self.find_slot_of_values(row, keys, calls, block)?;
        if let Some((_, group)) = self.placed.last().filter(|_| is_placed) {
            self.coded.groups[combination] = *group;
        }
        Ok(is_placed)
    }

    fn find_slot_of_values(
        &mut self,
        row: usize,
        keys: &Keys<'_>,
        calls: &[Call],
        block: &[u8],
    ) -> Result<bool, SelectError> {
        self.key.clear();
        for (vector, at) in keys.of_row(row) {
            write_key(vector, at, block, &mut self.key)?;
            if self.key.len() > MAX_BYTES {
                return Err(too_long("A group's key is longer than 32 MiB."));
            }
        }
        let key = std::mem::take(&mut self.key);
        let placed = self.find_key_slot(row, &key, keys, calls, block);
        self.key = key;
        placed
    }

    fn find_key_slot(
        &mut self,
        row: usize,
        key: &[u8],
        keys: &Keys<'_>,
        calls: &[Call],
        block: &[u8],
    ) -> Result<bool, SelectError> {
        let hash = self.hash(key);
        let group = match self.find(hash, key) {
            TableSlot::Known(group) => group,
            TableSlot::Free(slot) => {
                let bytes = self.keys.len() + key.len();
                let full = self.groups.len() >= self.most || bytes > MAX_BYTES;
                // A single group has room for a key of any length.
                if full && !self.groups.is_empty() {
                    return Ok(false);
                }
                for (vector, at) in keys.of_row(row) {
                    self.values.push(vector.value(at, block).ok_or_else(invalid_text)?);
                }
                for (states, (function, _)) in self.states.iter_mut().zip(calls) {
                    states.push(State::new(*function));
                }
                self.insert(slot, hash, key)
            }
        };
        self.placed.push((row as u32, group));
        Ok(true)
    }

    fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key);
        hasher.finish()
    }

    /// Returns the key of a group.
    fn key(&self, group: usize) -> &[u8] {
        let start = group.checked_sub(1).map_or(0, |before| self.groups[before].end);
        &self.keys[start..self.groups[group].end]
    }

    fn find(&self, hash: u64, key: &[u8]) -> TableSlot {
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let number = self.table[slot];
            if number == FREE {
                return TableSlot::Free(slot);
            }
            let group = number as usize;
            if self.groups[group].hash == hash && self.key(group) == key {
                return TableSlot::Known(number);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn insert(&mut self, slot: usize, hash: u64, key: &[u8]) -> u32 {
        let number = self.groups.len() as u32;
        self.keys.extend_from_slice(key);
        self.groups.push(Group { hash, end: self.keys.len() });
        self.table[slot] = number;
        if self.groups.len() * 2 > self.table.len() {
            let mask = self.table.len() * 2 - 1;
            self.table.clear();
            self.table.resize(mask + 1, FREE);
            for (number, group) in (0..).zip(&self.groups) {
                let mut slot = group.hash as usize & mask;
                while self.table[slot] != FREE {
                    slot = (slot + 1) & mask;
                }
                self.table[slot] = number;
            }
        }
        number
    }

    /// Adds the placed rows to the states of their groups. An error comes with its row.
    pub(super) fn update(
        &mut self,
        values: Values<'_>,
        calls: &[Call],
        block: &[u8],
    ) -> Result<(), (usize, SelectError)> {
        for (states, (function, arg)) in self.states.iter_mut().zip(calls) {
            match arg {
                None => {
                    self.placed.iter().for_each(|(_, group)| states[*group as usize].count_rows(1));
                }
                Some(arg) => {
                    let vector = values.get(*arg);
                    self.text_bytes +=
                        State::update_each(*function, states, vector, &self.placed, block)?;
                    // Check after each call, not only after a batch: each of many calls may copy text.
                    if self.text_bytes > 2 * MAX_BYTES {
                        let row = self.placed.first().map_or(0, |(row, _)| *row as usize);
                        let message =
                            "The least and greatest texts of groups are longer than 64 MiB.";
                        return Err((row, too_long(message)));
                    }
                }
            }
        }
        self.placed.clear();
        Ok(())
    }

    /// Returns whether there is room for all groups of `more`, whose rows follow.
    pub(super) fn fits(&self, more: &Self) -> bool {
        let (mut groups, mut bytes) = (self.groups.len(), self.keys.len());
        for key in (0..more.groups.len()).map(|group| more.key(group)) {
            if matches!(self.find(self.hash(key), key), TableSlot::Free(_)) {
                groups += 1;
                bytes += key.len();
            }
        }
        groups <= self.most && bytes <= MAX_BYTES
    }

    /// Merges the groups of the rows that follow. There must be room for all of them.
    pub(super) fn merge(&mut self, more: &Self) {
        let keys = more.values.len() / more.groups.len().max(1);
        for group in 0..more.groups.len() {
            let key = more.key(group);
            let hash = self.hash(key);
            let place = self.find(hash, key);
            for (states, others) in self.states.iter_mut().zip(&more.states) {
                match place {
                    TableSlot::Known(known) => states[known as usize].merge(others[group].clone()),
                    TableSlot::Free(_) => states.push(others[group].clone()),
                }
            }
            if let TableSlot::Free(slot) = place {
                self.values.extend_from_slice(&more.values[group * keys..][..keys]);
                self.insert(slot, hash, key);
            }
        }
    }

    /// Returns whether the states hold so much text that they must be sent now.
    pub(super) fn is_full_of_text(&self) -> bool {
        self.text_bytes > MAX_BYTES
    }

    /// Returns the results of all calls and the values of all keys for some groups, one column for each.
    pub(super) fn results(
        &self,
        groups: std::ops::Range<usize>,
    ) -> Result<Vec<Vec<Value>>, SelectError> {
        let results = self.states.iter().map(|states| {
            states[groups.clone()].iter().map(State::finish).collect::<Result<Vec<_>, _>>()
        });
        let mut columns = results.collect::<Result<Vec<_>, _>>()?;
        let keys = self.values.len() / self.groups.len().max(1);
        columns.extend((0..keys).map(|key| {
            groups.clone().map(|group| self.values[group * keys + key].clone()).collect()
        }));
        Ok(columns)
    }

    /// Removes all groups.
    pub(super) fn clear(&mut self) {
        self.table.fill(FREE);
        self.groups.clear();
        self.keys.clear();
        self.values.clear();
        self.states.iter_mut().for_each(Vec::clear);
        self.text_bytes = 0;
        self.placed.clear();
        self.coded.groups.fill(FREE);
    }
}

#[cold]
fn too_long(message: &'static str) -> SelectError {
    SelectError::new(SelectErrorCode::OverMaxRecordSize, message)
}

/// Appends a row's value of a key expression to its key. Different values have different bytes, none of which is a
/// prefix of another.
#[inline]
fn write_key(
    vector: &Vector,
    row: usize,
    block: &[u8],
    key: &mut Vec<u8>,
) -> Result<(), SelectError> {
    let tag = vector.tag(row);
    if tag != Tag::Present {
        key.push(if tag == Tag::Null { b'n' } else { b'm' });
        return Ok(());
    }
    match &vector.data {
        Data::Text(spans, heap) => write_text(spans[row].slice(heap.bytes(block)), key),
        Data::Int(ints) => write_bytes(b'i', &ints[row].to_le_bytes(), key),
        Data::Float(floats) => write_bytes(b'f', &floats[row].to_bits().to_le_bytes(), key),
        Data::Decimal(decimals) => write_decimal(decimals[row], key),
        Data::Timestamp(times) => write_time(times[row], key),
        Data::Constant(value) => return write_value(value, key),
        Data::Dynamic(values) => return write_value(&values[row], key),
        Data::Bool(truths) => key.push(if truths[row] == Truth::True { b'1' } else { b'0' }),
    }
    Ok(())
}

fn write_value(value: &Value, key: &mut Vec<u8>) -> Result<(), SelectError> {
    match value {
        Value::Null => key.push(b'n'),
        Value::Missing => key.push(b'm'),
        Value::Bool(truth) => key.push(if *truth { b'1' } else { b'0' }),
        Value::Int(int) => write_bytes(b'i', &int.to_le_bytes(), key),
        Value::Float(float) => write_bytes(b'f', &float.to_bits().to_le_bytes(), key),
        Value::Decimal(decimal) => write_decimal(*decimal, key),
        Value::Timestamp(time) => write_time(*time, key),
        Value::String(text) => write_text(text.as_bytes(), key),
        Value::List(_) | Value::Struct(_) => {
            let message = format!("GROUP BY takes no {}.", value.type_name());
            return Err(SelectError::new(SelectErrorCode::InvalidDataType, message));
        }
    }
    Ok(())
}

#[inline]
fn write_bytes(tag: u8, bytes: &[u8], key: &mut Vec<u8>) {
    key.push(tag);
    key.extend_from_slice(bytes);
}

#[inline]
fn write_text(text: &[u8], key: &mut Vec<u8>) {
    write_bytes(b's', &(text.len() as u32).to_le_bytes(), key);
    key.extend_from_slice(text);
}

fn write_decimal(decimal: Decimal, key: &mut Vec<u8>) {
    write_bytes(b'd', &decimal.unscaled().to_le_bytes(), key);
    key.extend_from_slice(&decimal.scale().to_le_bytes());
}

fn write_time(time: Timestamp, key: &mut Vec<u8>) {
    write_bytes(b't', &time.nanos().to_le_bytes(), key);
    key.extend_from_slice(&time.offset().unwrap_or(i16::MIN).to_le_bytes());
    key.push(match time.precision() {
        Precision::Year => 10,
        Precision::Month => 11,
        Precision::Day => 12,
        Precision::Minute => 13,
        Precision::Second => 14,
        Precision::Fraction(digits) => digits,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(value: &Value) -> Vec<u8> {
        let mut key = Vec::new();
        write_value(value, &mut key).unwrap();
        key
    }

    #[test]
    fn values_of_keys_are_bounded_as_states_are() {
        let bytes = |keys, calls| {
            let groups = Groups::new(keys, calls);
            groups.most * (keys * size_of::<Value>() + calls * size_of::<State>())
        };
        for (keys, calls) in [(1, 1), (12_000, 1), (1, 12_000), (12_000, 12_000)] {
            assert!(bytes(keys, calls) <= MAX_BYTES, "{keys} keys, {calls} calls");
        }
        assert_eq!(Groups::new(1, 1).most, MAX_GROUPS);
    }

    #[test]
    fn keys_differ_where_values_do() {
        let time = |text: &str| Value::Timestamp(Timestamp::parse(text.as_bytes()).unwrap());
        let decimal = |unscaled, scale| Value::Decimal(Decimal::new(unscaled, scale).unwrap());
        let values = [
            Value::Null,
            Value::Missing,
            Value::Bool(false),
            Value::Bool(true),
            Value::Int(0),
            Value::Int(110),
            Value::Float(0.0),
            Value::Float(-0.0),
            Value::Float(f64::NAN),
            Value::Float(-f64::NAN),
            decimal(10, 1),
            decimal(100, 2),
            decimal(100, 1),
            Value::String(String::new()),
            Value::String("n".to_owned()),
            Value::String("0".to_owned()),
            time("2020T"),
            time("2020-01T"),
            time("2020-01-01"),
            time("2020-01-01T00:00Z"),
            time("2020-01-01T01:00+01:00"),
            time("2020-01-01T00:00:00Z"),
            time("2020-01-01T00:00:00.0Z"),
            time("2020-01-01T00:00:00.00Z"),
        ];
        for (at, a) in values.iter().enumerate() {
            for (other, b) in values.iter().enumerate() {
                assert_eq!(key(a) == key(b), at == other, "{a:?} {b:?}");
                assert!(at == other || !key(a).starts_with(&key(b)), "{a:?} {b:?}");
            }
        }
        let list = Value::List([].into());
        assert!(write_value(&list, &mut Vec::new()).is_err());
    }
}
