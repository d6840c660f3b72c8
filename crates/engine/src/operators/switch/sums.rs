//! Contents of a switch at the end of a run, as partial states of the aggregates.

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::{Result, internal_err, plan_err};
use sluicegate_pruning::algorithm::group_sum::GroupSums;

use super::addend::Role;
use super::key::Key;
use super::plan::SwitchPlan;
use super::words::Field;

/// The sums of a group that make up the state of an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    adds: usize,
    subtracts: Option<usize>,
}

impl SwitchPlan {
    /// Returns the key and the states of a program that adds up, in the order of its fields.
    ///
    /// # Errors
    ///
    /// If its groups cannot be decoded, or its sums are not those of aggregates.
    pub(super) fn states(&self) -> Result<(&Key, Vec<State>)> {
        let Some((Field::Key(key), amounts)) = self.fields.split_first() else {
            return plan_err!("{} has no key", self.algorithm);
        };
        let mut states: Vec<State> = Vec::new();
        for (number, field) in amounts.iter().enumerate() {
            let Field::Amount(amount) = field else {
                return plan_err!("{} adds up what is no amount", self.algorithm);
            };
            match (amount.role(), states.last_mut()) {
                (Some(Role::Adds), _) => states.push(State { adds: number, subtracts: None }),
                (Some(Role::Subtracts), Some(state)) if state.subtracts.is_none() => {
                    state.subtracts = Some(number);
                }
                _ => return plan_err!("{amount} is no part of a sum"),
            }
        }
        if key.is_near() { Ok((key, states)) } else { plan_err!("{key} cannot be decoded") }
    }

    /// Checks that rows of `schema` can be made from the sums of the program: the columns of its key, then a state
    /// for each aggregate.
    ///
    /// # Errors
    ///
    /// If they cannot.
    pub(crate) fn check_states(&self, input: &SchemaRef, schema: &SchemaRef) -> Result<()> {
        let (key, states) = self.states()?;
        let columns = key.columns().len();
        if schema.fields().len() != columns + states.len() {
            return plan_err!("{} has no states of {schema}", self.algorithm);
        }
        let (keys, sums) = schema.fields().split_at(columns);
        for (field, column) in keys.iter().zip(key.columns()) {
            if *field.data_type() != column.data_type(input)? {
                return plan_err!("{column} is no key of type {}", field.data_type());
            }
        }
        sums.iter().try_for_each(|field| column(field.data_type(), &[]).map(|_| ()))
    }

    /// Returns the states of the groups that the program holds, as rows of `schema`.
    ///
    /// # Errors
    ///
    /// If the groups have no such states, see [`SwitchPlan::check_states`].
    pub(crate) fn state_rows(&self, held: &[GroupSums], schema: &SchemaRef) -> Result<RecordBatch> {
        let (key, states) = self.states()?;
        let words: Vec<u64> = held.iter().map(|held| held.key).collect();
        let (keys, sums) = schema.fields().split_at(key.columns().len());
        let types: Vec<&DataType> = keys.iter().map(|field| field.data_type()).collect();
        let mut columns = key.decode(&words, &types)?;
        for (state, field) in states.iter().zip(sums) {
            let sum = |held: &GroupSums| {
                let at = |number: usize| held.sums.get(number).copied().unwrap_or(0);
                (at(state.adds), state.subtracts.map_or(0, at))
            };
            let sums: Vec<(u64, u64)> = held.iter().map(sum).collect();
            columns.push(column(field.data_type(), &sums)?);
        }
        Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
    }
}

/// Returns a column of differences. Those of counts wrap at 64 bits; the states of sums have 128.
fn column(data_type: &DataType, sums: &[(u64, u64)]) -> Result<ArrayRef> {
    let whole = || sums.iter().map(|(adds, subtracts)| adds.wrapping_sub(*subtracts));
    Ok(match data_type {
        DataType::Int64 => Arc::new(Int64Array::from_iter_values(whole().map(|sum| sum as i64))),
        DataType::UInt64 => Arc::new(UInt64Array::from_iter_values(whole())),
        DataType::Decimal128(..) => {
            let of = |(adds, subtracts): &(u64, u64)| i128::from(*adds) - i128::from(*subtracts);
            let sums = Decimal128Array::from_iter_values(sums.iter().map(of));
            Arc::new(sums.with_data_type(data_type.clone()))
        }
        other => return internal_err!("no sums of type {other}"),
    })
}
