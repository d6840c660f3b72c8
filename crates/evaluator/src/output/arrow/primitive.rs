//! Columns of numbers and points in time.

use std::sync::Arc;

use arrow::array::{ArrayRef, NullBufferBuilder, PrimitiveArray};
use arrow::datatypes::DataType;

use super::super::Item;
use super::column::{Column, Taken, put_absent, put_decoded, put_vector};
use super::conversion::{Conversion, Native};
use crate::batch::Codes;
use crate::vector::{Data, Tag, Tags, Vector};
use sluicegate_s3select::value::Value;

/// Collects values of a type of fixed width.
pub(super) struct PrimitiveColumn<C: Conversion> {
    conversion: C,
    data_type: DataType,
    values: Vec<Native<C>>,
    nulls: NullBufferBuilder,
    /// The last dictionary that values were taken from.
    dictionary: Option<Dictionary<Native<C>>>,
    /// The most bytes that the values of the dictionary may take.
    budget: usize,
}

/// A dictionary, with its converted values if all of them could be converted.
type Dictionary<T> = (Arc<Vector>, Option<Converted<T>>);

/// The values of a dictionary.
struct Converted<T> {
    values: Vec<T>,
    /// False for NULL and MISSING; empty if there are none.
    valid: Vec<bool>,
}

impl<C: Conversion> PrimitiveColumn<C> {
    pub(super) fn new(conversion: C, data_type: DataType, budget: usize) -> Self {
        let (values, nulls) = (Vec::new(), NullBufferBuilder::new(0));
        Self { conversion, data_type, values, nulls, dictionary: None, budget }
    }

    fn put_value(&mut self, value: Option<Native<C>>) -> Option<()> {
        self.values.push(value?);
        self.nulls.append_non_null();
        Some(())
    }

    fn put_null(&mut self) {
        self.values.push(Native::<C>::default());
        self.nulls.append_null();
    }

    /// Appends the values of rows. The type of the values is examined only once, by the caller.
    #[inline(always)]
    fn extend<T: Copy>(
        &mut self,
        data: &[T],
        tags: &Tags,
        rows: Taken<'_>,
        convert: impl Fn(&C, T) -> Option<Native<C>>,
    ) -> Option<()> {
        let Self { conversion, values, nulls, .. } = self;
        if !tags.all_present() {
            values.reserve(rows.len());
            for row in rows.iter() {
                let is_present = tags.get(row) == Tag::Present;
                values.push(if is_present {
                    convert(conversion, data[row])?
                } else {
                    Native::<C>::default()
                });
                nulls.append(is_present);
            }
            return Some(());
        }
        let mut fits = true;
        let mut convert = |value| {
            let converted = convert(conversion, value);
            fits &= converted.is_some();
            converted.unwrap_or_default()
        };
        match rows.slice(data) {
            Some(data) => values.extend(data.iter().map(|value| convert(*value))),
            None => values.extend(rows.iter().map(|row| convert(data[row]))),
        }
        nulls.append_n_non_nulls(rows.len());
        fits.then_some(())
    }

    /// Converts all values of a dictionary, in the place of the collected values. Returns `None` if the type cannot
    /// hold one of them, or they take too much memory.
    fn convert(&mut self, codes: Codes<'_>) -> Option<Converted<Native<C>>> {
        if codes.distinct.saturating_mul(size_of::<Native<C>>() + 1) > self.budget {
            return None;
        }
        let collected = std::mem::take(&mut self.values);
        let nulls = std::mem::replace(&mut self.nulls, NullBufferBuilder::new(0));
        let all: Vec<u32> = (0..codes.distinct as u32).collect();
        let done = put_vector(self, codes.values, Taken::ascending(&all), &[], usize::MAX);
        let values = std::mem::replace(&mut self.values, collected);
        let valid = std::mem::replace(&mut self.nulls, nulls).finish();
        done?;
        Some(Converted {
            values,
            valid: valid.map(|valid| valid.iter().collect()).unwrap_or_default(),
        })
    }
}

impl<C: Conversion> Column for PrimitiveColumn<C> {
    fn put(&mut self, item: Item<'_>) -> Option<()> {
        let value = match item {
            Item::Value(Value::Null | Value::Missing) => {
                self.put_null();
                return Some(());
            }
            Item::Int(int) | Item::Value(&Value::Int(int)) => self.conversion.int(int),
            Item::Decimal(decimal) | Item::Value(&Value::Decimal(decimal)) => {
                self.conversion.decimal(decimal)
            }
            Item::Timestamp(time) | Item::Value(&Value::Timestamp(time)) => {
                self.conversion.timestamp(time)
            }
            Item::Value(&Value::Float(float)) => self.conversion.float(float),
            Item::Text(_) | Item::Value(_) => None,
        };
        self.put_value(value)
    }

    fn put_typed(&mut self, vector: &Vector, rows: Taken<'_>, _: &[u8], _: usize) -> Option<()> {
        let tags = &vector.tags;
        match &vector.data {
            Data::Int(ints) => self.extend(ints, tags, rows, |to, int| to.int(int)),
            Data::Float(floats) => self.extend(floats, tags, rows, |to, float| to.float(float)),
            Data::Decimal(decimals) => {
                self.extend(decimals, tags, rows, |to, decimal| to.decimal(decimal))
            }
            Data::Timestamp(times) => self.extend(times, tags, rows, |to, time| to.timestamp(time)),
            // These may be absent in all rows.
            Data::Bool(_) | Data::Text(..) | Data::Constant(_) | Data::Dynamic(_) => {
                put_absent(vector, rows, || self.put_null())
            }
        }
    }

    fn put_codes(&mut self, codes: Codes<'_>, rows: Taken<'_>, most: usize) -> Option<()> {
        let known = self.dictionary.take().filter(|(known, _)| Arc::ptr_eq(known, codes.values));
        let converted = match known {
            Some((_, converted)) => converted,
            None => self.convert(codes),
        };
        let done = match &converted {
            Some(Converted { values, valid }) => {
                let at = |row: usize| codes.codes[row] as usize;
                self.values.extend(rows.iter().map(|row| values[at(row)]));
                if valid.is_empty() {
                    self.nulls.append_n_non_nulls(rows.len());
                } else {
                    rows.iter().for_each(|row| self.nulls.append(valid[at(row)]));
                }
                Some(())
            }
            // The rows may have none of the values that cannot be converted.
            None => put_decoded(self, codes, rows, most),
        };
        self.dictionary = Some((Arc::clone(codes.values), converted));
        done
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.nulls.truncate(rows);
    }

    fn finish(&mut self) -> ArrayRef {
        let next = Vec::with_capacity(self.values.len());
        let values = std::mem::replace(&mut self.values, next);
        let array = PrimitiveArray::<C::Arrow>::new(values.into(), self.nulls.finish());
        Arc::new(array.with_data_type(self.data_type.clone()))
    }
}
