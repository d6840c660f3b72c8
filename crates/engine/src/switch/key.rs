//! Keys, which are only compared for equality, as the switch's words.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use sluicegate_pruning::encoding::{combine, nonzero_bits};

use super::lanes::{Floats, Text, codes, exact_bits, has_key_code};
use super::words::Words;
use crate::choice::Why;

/// What a NULL adds to a fingerprint.
const NULL: u64 = 0x5D58_8B65_6C07_8965;

/// A key of one or more columns.
#[derive(Debug, Clone)]
pub struct Key {
    columns: Vec<Arc<dyn PhysicalExpr>>,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// The columns' one-to-one codes side by side.
    Packed { fields: Vec<Field>, wide: bool },
    /// A fingerprint of 64 bits.
    Fingerprint { seed: u64, floats: Floats, row: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    bits: u32,
    null: Null,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Null {
    /// There is none.
    Never,
    /// One more bit says so.
    Bit,
    /// There is no room for a bit: the row bypasses the switch.
    Unseen,
}

impl Key {
    /// A one-to-one key, if the columns have one of 64 bits or less.
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
        let bits = width(&fields);
        let form = Form::Packed { fields, wide: bits > 32 };
        Ok((bits <= 64).then(|| Self { columns: columns.to_vec(), form }))
    }

    /// A fingerprint, which tells all values apart except for collisions. With `row`, an independent
    /// hash follows it in one more word.
    pub(crate) fn fingerprint(columns: &[Arc<dyn PhysicalExpr>], seed: u64, row: bool) -> Self {
        let form = Form::Fingerprint { seed, floats: Floats::Raw, row };
        Self { columns: columns.to_vec(), form }
    }

    /// A code that is equal for values that compare as equal, for algorithms that tolerate collisions.
    /// It is the same for all of `sides`, whose columns have the same types.
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
            Some(fields) if width(&fields) <= 64 => {
                let wide = width(&fields) > 32;
                Form::Packed { fields, wide }
            }
            _ => Form::Fingerprint { seed, floats: Floats::Conflated, row: false },
        };
        Ok(sides.map(|(columns, _)| Self { columns: columns.to_vec(), form: form.clone() }))
    }

    /// Whether all columns have a code, or why not.
    pub(crate) fn with_code(
        columns: &[Arc<dyn PhysicalExpr>],
        schema: &Schema,
    ) -> Result<Result<(), Why>> {
        for column in columns {
            let data_type = column.data_type(schema)?;
            if !has_key_code(&data_type) {
                return Ok(Err(format!("keys of type {data_type} have no code").into()));
            }
        }
        Ok(Ok(()))
    }

    /// Whether it takes two words.
    pub(crate) fn is_wide(&self) -> bool {
        match &self.form {
            Form::Packed { wide, .. } => *wide,
            Form::Fingerprint { .. } => true,
        }
    }

    /// Words of the key itself.
    pub(crate) fn key_words(&self) -> usize {
        1 + usize::from(self.is_wide())
    }

    /// Whether it can confuse values.
    pub(crate) fn is_fingerprint(&self) -> bool {
        matches!(self.form, Form::Fingerprint { .. })
    }

    pub(crate) fn columns(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.columns
    }

    pub(crate) fn words(&self) -> usize {
        match self.form {
            Form::Packed { wide, .. } => 1 + usize::from(wide),
            Form::Fingerprint { row, .. } => 2 + usize::from(row),
        }
    }

    /// Writes the key's words.
    pub(crate) fn encode(&self, batch: &RecordBatch, at: usize, out: &mut Words) -> Result<()> {
        let evaluate =
            |column: &Arc<dyn PhysicalExpr>| column.evaluate(batch)?.into_array(batch.num_rows());
        let arrays = self.columns.iter().map(evaluate).collect::<Result<Vec<ArrayRef>>>()?;
        match &self.form {
            Form::Packed { fields, wide } => {
                pack(&arrays, fields, out)?;
                if *wide {
                    split(out, at);
                } else {
                    out.columns[at].clear();
                    out.columns[at].extend(out.key.iter().map(|code| *code as u32));
                }
            }
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

/// Bits of a packed key.
fn width(fields: &[Field]) -> u32 {
    fields.iter().map(|field| field.bits + u32::from(field.null == Null::Bit)).sum()
}

/// The high and the low half of the keys.
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
