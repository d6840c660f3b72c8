//! Keys as words of the switch. Keys are only compared for equality.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::physical_expr::PhysicalExpr;
use serde::{Deserialize, Serialize};
use sluicegate_pruning::encoding::{combine, nonzero_bits};

use super::lanes::{Floats, Text, codes, exact_bits, has_key_code, values};
use super::words::Words;
use crate::context::choice::Reason;
use sluicegate_guards::sql_types::sql_type;

/// The value that stands for a NULL in a fingerprint.
const NULL: u64 = 0x5D58_8B65_6C07_8965;

/// A key of one or more columns.
#[derive(Debug, Clone)]
pub struct Key {
    columns: Vec<Arc<dyn PhysicalExpr>>,
    form: Form,
}

/// The way in which columns become a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Form {
    /// The one-to-one codes of the columns side by side, 64 bits at most.
    Packed(Vec<Field>),
    /// Whole numbers near a base for each column, side by side in one word that is not 0. Rows with other values
    /// bypass the switch.
    Near(Vec<u64>),
    /// A fingerprint of 64 bits.
    Fingerprint { seed: u64, floats: Floats, row: bool },
}

/// The bits of a column in a packed key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Field {
    bits: u32,
    null: Null,
}

/// The representation of NULL in a packed key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Null {
    /// The column has no NULLs.
    Never,
    /// One more bit marks NULLs.
    Bit,
    /// There is no room for a bit, so rows with NULL bypass the switch.
    Unseen,
}

impl Key {
    /// Returns a one-to-one key, or `None` if the columns do not fit 64 bits.
    pub(crate) fn exact(
        columns: &[Arc<dyn PhysicalExpr>],
        schema: &Schema,
    ) -> Result<Option<Self>> {
        let mut fields = Vec::new();
        for column in columns {
            let Some(bits) = exact_bits(&column.data_type(schema)?) else { return Ok(None) };
            let null = if column.nullable(schema)? { Null::Bit } else { Null::Never };
            fields.push(Field { bits, null });
        }
        if let [Field { bits: 64, null: null @ Null::Bit }] = fields.as_mut_slice() {
            *null = Null::Unseen;
        }
        let fits = width(&fields) <= 64;
        Ok(fits.then(|| Self { columns: columns.to_vec(), form: Form::Packed(fields) }))
    }

    /// Returns a fingerprint, which separates all values except for collisions. With `row`, an independent hash
    /// follows it in one more word.
    pub(crate) fn fingerprint(columns: &[Arc<dyn PhysicalExpr>], seed: u64, row: bool) -> Self {
        let form = Form::Fingerprint { seed, floats: Floats::Raw, row };
        Self { columns: columns.to_vec(), form }
    }

    /// Returns a one-to-one key of one word, never 0, that can be decoded, or the reason why there is none. The
    /// columns share the word's bits equally, and each holds the whole numbers around zero that fit its bits. Rows
    /// with other numbers or with a NULL bypass the switch.
    pub(crate) fn near(
        columns: &[Arc<dyn PhysicalExpr>],
        schema: &Schema,
    ) -> Result<Result<Self, Reason>> {
        let bits = near_bits(columns.len());
        if bits < LEAST_NEAR_BITS {
            return Ok(Err(format!(
                "{} columns do not share a key of 32 bits that can be decoded",
                columns.len()
            )
            .into()));
        }
        let mut bases = Vec::new();
        for column in columns {
            let data_type = column.data_type(schema)?;
            let Some(width) = whole_bits(&data_type) else {
                return Ok(Err(format!(
                    "{column} is {data_type}, and a switch that holds groups holds keys of whole numbers and dates"
                )
                .into()));
            };
            // The code of zero maps to the middle of the range, or to 1 for types without negative values.
            let signed = !(data_type.is_unsigned_integer() || data_type == DataType::Boolean);
            let (zero, middle) = if signed { (1 << (width - 1), 1 << (bits - 1)) } else { (0, 1) };
            bases.push(u64::wrapping_sub(zero, middle));
        }
        Ok(Ok(Self { columns: columns.to_vec(), form: Form::Near(bases) }))
    }

    /// Returns a code that is equal for values that compare as equal, for algorithms that tolerate collisions. All
    /// `sides` get the same code; their columns have the same types.
    pub(crate) fn conflating<const N: usize>(
        sides: [(&[Arc<dyn PhysicalExpr>], &Schema); N],
        seed: u64,
    ) -> Result<[Self; N]> {
        let mut fields = Vec::new();
        for number in 0..sides.iter().map(|(columns, _)| columns.len()).min().unwrap_or(0) {
            let mut nullable = false;
            for (columns, schema) in &sides {
                nullable |= columns[number].nullable(schema)?;
            }
            let (columns, schema) = sides[0];
            let data_type = columns[number].data_type(schema)?;
            let null = if nullable { Null::Bit } else { Null::Never };
            let whole = !data_type.is_floating();
            fields.push(exact_bits(&data_type).filter(|_| whole).map(|bits| Field { bits, null }));
        }
        let form = match fields.into_iter().collect::<Option<Vec<Field>>>() {
            Some(fields) if width(&fields) <= 64 => Form::Packed(fields),
            _ => Form::Fingerprint { seed, floats: Floats::Conflated, row: false },
        };
        Ok(sides.map(|(columns, _)| Self { columns: columns.to_vec(), form: form.clone() }))
    }

    /// Returns the key of this form.
    ///
    /// # Errors
    ///
    /// If the columns do not support the form.
    pub(super) fn try_new(
        form: Form,
        columns: Vec<Arc<dyn PhysicalExpr>>,
        schema: &Schema,
    ) -> Result<Self> {
        if columns.is_empty() {
            return plan_err!("a key has no columns");
        }
        match &form {
            Form::Packed(fields) => {
                if fields.len() != columns.len() {
                    return plan_err!("a key of {} columns has {}", fields.len(), columns.len());
                }
                for (field, column) in fields.iter().zip(&columns) {
                    let data_type = column.data_type(schema)?;
                    let tells_nulls = field.null != Null::Never || !column.nullable(schema)?;
                    if exact_bits(&data_type) != Some(field.bits) || !tells_nulls {
                        return plan_err!("{column} of type {data_type} is packed as {field:?}");
                    }
                }
                if width(fields) > 64 {
                    return plan_err!("a packed key has {} bits", width(fields));
                }
            }
            Form::Near(bases) => {
                if bases.len() != columns.len() || near_bits(columns.len()) < LEAST_NEAR_BITS {
                    return plan_err!("a key of {} columns has {}", bases.len(), columns.len());
                }
                for column in &columns {
                    let data_type = column.data_type(schema)?;
                    if whole_bits(&data_type).is_none() {
                        return plan_err!("{column} of type {data_type} is no whole number");
                    }
                }
            }
            Form::Fingerprint { .. } => {
                if let Err(why) = Self::with_code(&columns, schema)? {
                    return plan_err!("{why}");
                }
            }
        }
        Ok(Self { columns, form })
    }

    pub(super) fn form(&self) -> &Form {
        &self.form
    }

    /// Checks that all columns have a code. The inner error is the reason why one has none.
    pub(crate) fn with_code(
        columns: &[Arc<dyn PhysicalExpr>],
        schema: &Schema,
    ) -> Result<Result<(), Reason>> {
        for column in columns {
            let data_type = column.data_type(schema)?;
            if !has_key_code(&data_type) {
                let of = sql_type(&data_type);
                return Ok(Err(format!("keys of type {of} have no code").into()));
            }
        }
        Ok(Ok(()))
    }

    /// Returns true if the key takes two words.
    pub(crate) fn is_wide(&self) -> bool {
        match &self.form {
            Form::Packed(fields) => width(fields) > 32,
            Form::Near(_) => false,
            Form::Fingerprint { .. } => true,
        }
    }

    /// Returns true if [`Key::decode`] restores the columns from the word.
    pub(crate) fn is_near(&self) -> bool {
        matches!(self.form, Form::Near(_))
    }

    /// Restores the columns of type `types` from the words of a key that [is near](Self::is_near).
    pub(crate) fn decode(&self, words: &[u64], types: &[&DataType]) -> Result<Vec<ArrayRef>> {
        let Form::Near(bases) = &self.form else {
            return internal_err!("{self} cannot be decoded");
        };
        let bits = near_bits(bases.len());
        let last = bases.len().saturating_sub(1);
        let column = |(number, (base, data_type)): (usize, (&u64, &&DataType))| {
            let shift = bits * (last - number) as u32;
            let codes = words.iter().map(|word| (word >> shift & mask(bits)).wrapping_add(*base));
            values(&codes.collect::<Vec<u64>>(), data_type)
        };
        bases.iter().zip(types).enumerate().map(column).collect()
    }

    /// Returns the number of words of the key itself, 1 or 2.
    pub(crate) fn key_words(&self) -> usize {
        1 + usize::from(self.is_wide())
    }

    /// Returns true if different values may have the same key.
    pub(crate) fn is_fingerprint(&self) -> bool {
        matches!(self.form, Form::Fingerprint { .. })
    }

    pub(crate) fn columns(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.columns
    }

    pub(crate) fn words(&self) -> usize {
        let row = matches!(self.form, Form::Fingerprint { row: true, .. });
        self.key_words() + usize::from(row)
    }

    /// Writes the key's words.
    pub(crate) fn encode(&self, batch: &RecordBatch, at: usize, out: &mut Words) -> Result<()> {
        let evaluate =
            |column: &Arc<dyn PhysicalExpr>| column.evaluate(batch)?.into_array(batch.num_rows());
        let arrays = self.columns.iter().map(evaluate).collect::<Result<Vec<ArrayRef>>>()?;
        match &self.form {
            Form::Packed(fields) => {
                pack(&arrays, fields, out)?;
                if self.is_wide() {
                    split(out, at);
                } else {
                    out.columns[at].clear();
                    out.columns[at].extend(out.key.iter().map(|code| *code as u32));
                }
            }
            Form::Near(bases) => near(&arrays, bases, at, out)?,
            Form::Fingerprint { seed, floats, row } => {
                digest(&arrays, *floats, *seed, out)?;
                out.key.iter_mut().for_each(|code| *code = nonzero_bits(*code, 64));
                split(out, at);
                if *row {
                    digest(&arrays, *floats, combine(*seed, NULL), out)?;
                    out.columns[at + 2].clear();
                    out.columns[at + 2].extend(out.key.iter().map(|code| (*code >> 32) as u32));
                }
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, column) in self.columns.iter().enumerate() {
            write!(f, "{}{column}", if number == 0 { "" } else { ", " })?;
        }
        if self.is_fingerprint() { f.write_str(" as fingerprint") } else { Ok(()) }
    }
}

/// Returns the number of bits of a packed key.
fn width(fields: &[Field]) -> u32 {
    fields.iter().map(|field| field.bits + u32::from(field.null == Null::Bit)).sum()
}

/// Returns the number of bits per column if so many columns share one word.
const fn near_bits(columns: usize) -> u32 {
    if columns == 0 { 0 } else { 32 / columns as u32 }
}

/// Least number of bits per column; with fewer, nearly all rows would bypass the switch.
const LEAST_NEAR_BITS: u32 = 8;

const fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Returns the number of bits of a type whose codes are whole numbers, or `None` for other types.
fn whole_bits(data_type: &DataType) -> Option<u32> {
    exact_bits(data_type).filter(|_| !data_type.is_floating())
}

fn near(arrays: &[ArrayRef], bases: &[u64], at: usize, out: &mut Words) -> Result<()> {
    let bits = near_bits(bases.len());
    let mut codes_of = std::mem::take(&mut out.codes);
    for (number, (array, base)) in arrays.iter().zip(bases).enumerate() {
        codes(array, Floats::Raw, Text::Prefix, &mut codes_of)?;
        if number == 0 {
            out.key.clear();
            out.key.resize(codes_of.len(), 0);
        }
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        for (row, code) in codes_of.iter().enumerate() {
            let near = code.wrapping_sub(*base);
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            if is_null || near == 0 || near > mask(bits) {
                out.pass(row);
            }
            out.key[row] = out.key[row] << bits | near & mask(bits);
        }
    }
    out.codes = codes_of;
    let Words { columns, key, .. } = out;
    columns[at].clear();
    columns[at].extend(key.iter().map(|key| *key as u32));
    Ok(())
}

/// Writes the high and the low half of the keys as two columns.
fn split(out: &mut Words, at: usize) {
    let Words { columns, key, .. } = out;
    columns[at].clear();
    columns[at].extend(key.iter().map(|code| (*code >> 32) as u32));
    columns[at + 1].clear();
    columns[at + 1].extend(key.iter().map(|code| *code as u32));
}

fn pack(arrays: &[ArrayRef], fields: &[Field], out: &mut Words) -> Result<()> {
    let mut codes_of = std::mem::take(&mut out.codes);
    for (number, (array, field)) in arrays.iter().zip(fields).enumerate() {
        codes(array, Floats::Raw, Text::Prefix, &mut codes_of)?;
        if let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) {
            for (row, code) in codes_of.iter_mut().enumerate() {
                if nulls.is_null(row) {
                    *code = 0;
                    if field.null == Null::Unseen {
                        out.pass(row);
                    }
                } else if field.null == Null::Bit {
                    *code |= 1 << field.bits;
                }
            }
        } else if field.null == Null::Bit {
            codes_of.iter_mut().for_each(|code| *code |= 1 << field.bits);
        }
        let width = field.bits + u32::from(field.null == Null::Bit);
        if number == 0 {
            std::mem::swap(&mut out.key, &mut codes_of);
        } else {
            let pairs = out.key.iter_mut().zip(&codes_of);
            pairs.for_each(|(key, code)| *key = *key << width | code);
        }
    }
    out.codes = codes_of;
    Ok(())
}

fn digest(arrays: &[ArrayRef], floats: Floats, seed: u64, out: &mut Words) -> Result<()> {
    let mut codes_of = std::mem::take(&mut out.codes);
    for (number, array) in arrays.iter().enumerate() {
        codes(array, floats, Text::Fingerprint(seed), &mut codes_of)?;
        if let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) {
            for (row, code) in codes_of.iter_mut().enumerate() {
                if nulls.is_null(row) {
                    *code = NULL;
                }
            }
        }
        if number == 0 {
            out.key.clear();
            out.key.extend(codes_of.iter().map(|code| combine(seed, *code)));
        } else {
            let pairs = out.key.iter_mut().zip(&codes_of);
            pairs.for_each(|(key, code)| *key = combine(*key, *code));
        }
    }
    out.codes = codes_of;
    Ok(())
}
