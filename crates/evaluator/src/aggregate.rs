//! The five aggregate functions, exact for integers and decimals.

use std::cmp::Ordering;

use super::output::invalid_text;
use super::selection::Rows;
use super::vector::{Data, Kind, Tag, Vector, text_bytes_of};
use sluicegate_s3select::dialect::ast::Aggregate;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::value::{self, Decimal, DecimalSum, Value, arithmetic};

/// The state of an aggregate function. NULL and MISSING do not count.
#[derive(Debug, Clone)]
pub(super) struct State {
    function: Aggregate,
    count: i64,
    sum: Sum,
    extreme: Option<Value>,
}

/// A sum, by the types of its numbers. Only floats are rounded before the end.
#[derive(Debug, Clone, Default)]
struct Sum {
    ints: i128,
    any_int: bool,
    decimals: Option<DecimalSum>,
    floats: Option<f64>,
}

impl Sum {
    fn add_int(&mut self, int: i64) {
        // Even 2^63 rows of the greatest integer do not overflow.
        self.ints += i128::from(int);
        self.any_int = true;
    }

    fn add_float(&mut self, float: f64) {
        self.floats = Some(self.floats.unwrap_or(0.0) + float);
    }

    /// Returns the sum of all numbers but floats.
    fn exact(&self) -> Result<DecimalSum, SelectError> {
        let mut sum = self.decimals.clone().unwrap_or_default();
        sum.add(Decimal::new(self.ints, 0).ok_or_else(arithmetic::overflow)?);
        Ok(sum)
    }

    fn total(&self) -> Result<Decimal, SelectError> {
        self.exact()?.total().ok_or_else(arithmetic::overflow)
    }

    fn value(&self) -> Result<Value, SelectError> {
        Ok(if let Some(floats) = self.floats {
            Value::Float(floats + self.total()?.to_f64())
        } else if self.decimals.is_some() {
            Value::Decimal(self.total()?)
        } else if self.any_int {
            Value::Int(i64::try_from(self.ints).map_err(|_| arithmetic::overflow())?)
        } else {
            Value::Null
        })
    }
}

impl State {
    pub(super) fn new(function: Aggregate) -> Self {
        Self { function, count: 0, sum: Sum::default(), extreme: None }
    }

    /// Returns the length of the minimum or maximum so far in bytes, if it is text.
    pub(super) fn text_bytes(&self) -> usize {
        self.extreme.as_ref().map_or(0, text_bytes_of)
    }

    /// Counts rows without reading them: `COUNT(*)`.
    pub(super) fn count_rows(&mut self, rows: usize) {
        self.count += rows as i64;
    }

    /// Adds a zero to a sum.
    pub(super) fn add_zero(&mut self) {
        self.sum.add_int(0);
    }

    /// Adds the values of `rows`.
    pub(super) fn update(
        &mut self,
        vector: &Vector,
        rows: Rows<'_>,
        block: &[u8],
    ) -> Result<(), SelectError> {
        match self.function {
            Aggregate::Count => {
                rows.for_each(|row| self.count += i64::from(vector.tag(row) == Tag::Present));
                Ok(())
            }
            Aggregate::Sum | Aggregate::Avg => self.add(vector, rows, block),
            Aggregate::Min => self.find(vector, rows, block, Ordering::Less),
            Aggregate::Max => self.find(vector, rows, block, Ordering::Greater),
        }
    }

    fn add(&mut self, vector: &Vector, rows: Rows<'_>, block: &[u8]) -> Result<(), SelectError> {
        match &vector.data {
            Data::Int(ints) => rows.for_each(|row| {
                if vector.tags.get(row) == Tag::Present {
                    self.sum_int(ints[row]);
                }
            }),
            Data::Float(floats) => rows.for_each(|row| {
                if vector.tags.get(row) == Tag::Present {
                    self.sum_float(floats[row]);
                }
            }),
            Data::Decimal(decimals) => rows.for_each(|row| {
                if vector.tags.get(row) == Tag::Present {
                    self.sum_decimal(decimals[row]);
                }
            }),
            _ => {
                return rows.try_for_each(|row| {
                    let value = vector.value(row, block).ok_or_else(invalid_text)?;
                    self.add_value(&value)
                });
            }
        }
        Ok(())
    }

    fn add_value(&mut self, value: &Value) -> Result<(), SelectError> {
        match value {
            Value::Null | Value::Missing => return Ok(()),
            Value::Int(int) => self.sum.add_int(*int),
            Value::Float(float) => self.sum.add_float(*float),
            Value::Decimal(decimal) => self.sum.decimals.get_or_insert_default().add(*decimal),
            other => {
                let message =
                    format!("A sum needs numbers, not a {}: use CAST.", other.type_name());
                return Err(SelectError::new(SelectErrorCode::InvalidDataType, message));
            }
        }
        self.count += 1;
        Ok(())
    }

    fn find(
        &mut self,
        vector: &Vector,
        rows: Rows<'_>,
        block: &[u8],
        wanted: Ordering,
    ) -> Result<(), SelectError> {
        let is_less = wanted == Ordering::Less;
        // Text compares with numbers as text, so the order of the rows matters from then on.
        let data = (!matches!(self.extreme, Some(Value::String(_)))).then_some(&vector.data);
        let best = match data {
            Some(Data::Int(ints)) if vector.tags.all_present() && rows.len() > 0 => {
                let mut best = if is_less { i64::MAX } else { i64::MIN };
                match is_less {
                    true => rows.for_each(|row| best = best.min(ints[row])),
                    false => rows.for_each(|row| best = best.max(ints[row])),
                }
                return self.offer(Value::Int(best), wanted).map(drop);
            }
            Some(Data::Int(ints)) if is_less => {
                best(vector, rows, |row, best| ints[row] < ints[best])
            }
            Some(Data::Int(ints)) => best(vector, rows, |row, best| ints[row] > ints[best]),
            Some(Data::Float(floats)) => best(vector, rows, |row, best| {
                value::compare_floats(floats[row], floats[best]) == wanted
            }),
            Some(Data::Decimal(decimals)) => {
                best(vector, rows, |row, best| decimals[row].compare(decimals[best]) == wanted)
            }
            _ => {
                return rows
                    .try_for_each(|row| self.find_one(vector, row, block, wanted).map(drop));
            }
        };
        best.map_or(Ok(()), |row| self.find_one(vector, row, block, wanted).map(drop))
    }

    /// Returns whether the minimum or maximum so far stays, without building a value or copying text; most rows take
    /// this path. An element of a row without a value may be arbitrary, because such a row changes nothing.
    #[inline(always)]
    fn stays(&self, vector: &Vector, row: usize, block: &[u8], wanted: Ordering) -> bool {
        wanted
            != match (&vector.data, &self.extreme) {
                (Data::Int(ints), Some(Value::Int(best))) => ints[row].cmp(best),
                (Data::Float(floats), Some(Value::Float(best))) => {
                    value::compare_floats(floats[row], *best)
                }
                (Data::Decimal(decimals), Some(Value::Decimal(best))) => {
                    decimals[row].compare(*best)
                }
                (Data::Timestamp(times), Some(Value::Timestamp(best))) => times[row].compare(*best),
                (Data::Text(spans, heap), Some(Value::String(best))) if !spans[row].is_absent() => {
                    spans[row].slice(heap.bytes(block)).cmp(best.as_bytes())
                }
                _ => wanted,
            }
    }

    /// Takes the value of a row if it is the new minimum or maximum. Returns the number of bytes of text copied.
    fn find_one(
        &mut self,
        vector: &Vector,
        row: usize,
        block: &[u8],
        wanted: Ordering,
    ) -> Result<usize, SelectError> {
        if self.stays(vector, row, block, wanted) {
            return Ok(0);
        }
        self.offer(vector.value(row, block).ok_or_else(invalid_text)?, wanted)
    }

    /// Takes a value if it is the new minimum or maximum. Returns the number of bytes of text copied.
    fn offer(&mut self, value: Value, wanted: Ordering) -> Result<usize, SelectError> {
        if value.is_null() {
            return Ok(0);
        }
        if let Some(best) = &self.extreme {
            match value::compare(&value, best) {
                Some(ordering) if ordering == wanted => {}
                Some(_) => return Ok(0),
                None => return Err(incomparable(&value, best)),
            }
        } else if value::compare(&value, &value).is_none() {
            return Err(incomparable(&value, &value));
        }
        let bytes = text_bytes_of(&value);
        self.extreme = Some(value);
        Ok(bytes)
    }

    /// Adds each row's value to one of several states of the same function. `rows` holds rows with the numbers of
    /// their states. Returns the number of bytes of text copied; an error comes with its row.
    pub(super) fn update_each(
        function: Aggregate,
        states: &mut [Self],
        vector: &Vector,
        rows: &[(u32, u32)],
        block: &[u8],
    ) -> Result<usize, (usize, SelectError)> {
        let mut bytes = 0;
        let pairs = rows.iter().map(|(row, state)| (*row as usize, *state as usize));
        // The tags of numbers.
        let present = pairs.clone().filter(|(row, _)| vector.tags.get(*row) == Tag::Present);
        match (function, &vector.data) {
            (Aggregate::Count, _) => pairs
                .filter(|(row, _)| vector.tag(*row) == Tag::Present)
                .for_each(|(_, state)| states[state].count += 1),
            (Aggregate::Sum | Aggregate::Avg, Data::Int(ints)) => {
                present.for_each(|(row, state)| states[state].sum_int(ints[row]));
            }
            (Aggregate::Sum | Aggregate::Avg, Data::Float(floats)) => {
                present.for_each(|(row, state)| states[state].sum_float(floats[row]));
            }
            (Aggregate::Sum | Aggregate::Avg, Data::Decimal(decimals)) => {
                present.for_each(|(row, state)| states[state].sum_decimal(decimals[row]));
            }
            (Aggregate::Sum | Aggregate::Avg, _) => {
                for (row, state) in pairs {
                    let value = vector.value(row, block).ok_or_else(|| (row, invalid_text()))?;
                    states[state].add_value(&value).map_err(|error| (row, error))?;
                }
            }
            (Aggregate::Min | Aggregate::Max, _) => {
                let wanted =
                    if function == Aggregate::Min { Ordering::Less } else { Ordering::Greater };
                for (row, state) in pairs {
                    let found = states[state].find_one(vector, row, block, wanted);
                    bytes += found.map_err(|error| (row, error))?;
                }
            }
        }
        Ok(bytes)
    }

    fn sum_int(&mut self, int: i64) {
        self.count += 1;
        self.sum.add_int(int);
    }

    fn sum_float(&mut self, float: f64) {
        self.count += 1;
        self.sum.add_float(float);
    }

    fn sum_decimal(&mut self, decimal: Decimal) {
        self.count += 1;
        self.sum.decimals.get_or_insert_default().add(decimal);
    }

    /// Returns whether merging states over parts of the rows gives the same result as one state over all of them. It
    /// does not if the order of additions matters, or the order of comparisons that may fail.
    pub(super) fn is_mergeable(function: Aggregate, kind: Kind) -> bool {
        match function {
            Aggregate::Count => true,
            Aggregate::Sum | Aggregate::Avg => matches!(kind, Kind::Int | Kind::Decimal),
            Aggregate::Min | Aggregate::Max => kind != Kind::Dynamic,
        }
    }

    /// Merges the state over the rows that follow.
    pub(super) fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sum.ints += other.sum.ints;
        self.sum.any_int |= other.sum.any_int;
        if let Some(decimals) = &other.sum.decimals {
            self.sum.decimals.get_or_insert_default().merge(decimals);
        }
        let wanted =
            if self.function == Aggregate::Min { Ordering::Less } else { Ordering::Greater };
        match (&self.extreme, other.extreme) {
            (_, None) => {}
            (Some(best), Some(value)) if value::compare(&value, best) != Some(wanted) => {}
            (_, extreme) => self.extreme = extreme,
        }
    }

    /// Returns the result. Without any value, a count is 0 and everything else is NULL.
    pub(super) fn finish(&self) -> Result<Value, SelectError> {
        match self.function {
            Aggregate::Count => Ok(Value::Int(self.count)),
            Aggregate::Sum => self.sum.value(),
            Aggregate::Min | Aggregate::Max => Ok(self.extreme.clone().unwrap_or(Value::Null)),
            Aggregate::Avg if self.count == 0 => Ok(Value::Null),
            Aggregate::Avg if self.sum.floats.is_some() => arithmetic::arithmetic(
                sluicegate_s3select::dialect::ast::BinaryOp::Divide,
                &self.sum.value()?,
                &Value::Int(self.count),
            ),
            Aggregate::Avg => {
                let average = self.sum.exact()?.average(self.count.unsigned_abs());
                average.map(Value::Decimal).ok_or_else(arithmetic::overflow)
            }
        }
    }
}

/// Returns the first row whose value no other row's value beats; `None` if no row has a value.
#[inline(always)]
fn best(vector: &Vector, rows: Rows<'_>, better: impl Fn(usize, usize) -> bool) -> Option<usize> {
    let mut best = None;
    rows.for_each(|row| {
        if vector.tags.get(row) == Tag::Present && best.is_none_or(|best| better(row, best)) {
            best = Some(row);
        }
    });
    best
}

#[cold]
fn incomparable(a: &Value, b: &Value) -> SelectError {
    SelectError::new(
        SelectErrorCode::InvalidDataType,
        format!("MIN and MAX cannot compare a {} with a {}.", a.type_name(), b.type_name()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values are compared in the order of the rows, whatever batches they come in.
    #[test]
    fn numbers_after_a_text_are_compared_in_their_order() {
        let ints = |values: &[i64]| {
            let mut vector = Vector::default();
            vector.ints(values.len()).0.copy_from_slice(values);
            vector
        };
        let text = Vector::constant(Value::String("5".to_owned()));
        let mut state = State::new(Aggregate::Min);
        state.update(&text, Rows::All(1), &[]).unwrap();
        // 10 sorts before 5 as text, and 9 before 10 as numbers.
        state.update(&ints(&[10, 9]), Rows::All(2), &[]).unwrap();
        assert_eq!(state.finish().unwrap(), Value::Int(9));
        state.update(&ints(&[12, 8, 11]), Rows::All(3), &[]).unwrap();
        assert_eq!(state.finish().unwrap(), Value::Int(8));
    }
}
