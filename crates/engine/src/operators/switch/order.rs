//! Values that are compared by order, as one word each.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Schema};
use datafusion::common::{ColumnStatistics, Result, ScalarValue, plan_err};
use datafusion::physical_expr::PhysicalExpr;
use serde::{Deserialize, Serialize};
use sluicegate_pruning::encoding::{Range, reverse, squeeze};

use super::lanes::{Floats, Text, codes, is_text, order_bits};
use super::words::Words;
use crate::context::choice::Reason;
use sluicegate_guards::sql_types::sql_type;

/// A column whose values become words of the same order or of the reverse order.
#[derive(Debug, Clone)]
pub struct Order {
    column: Arc<dyn PhysicalExpr>,
    code: Code,
    /// True if equal codes of the column's type, before they become words, mean equal values.
    one_to_one: bool,
}

/// The way in which values become words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Code {
    form: Form,
    reversed: bool,
    /// The word of NULLs.
    null: u32,
    /// The word of rows that bypass the switch.
    neutral: u32,
    nan: Nan,
    null_passes: bool,
}

/// The treatment of NaNs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Nan {
    /// NaNs have a code like other values.
    Coded,
    /// NaNs bypass the switch.
    Pass,
    /// After the first NaN, all rows bypass the switch.
    Stop,
}

/// The way in which 64 bits become 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Form {
    /// The code has at most 32 bits.
    Whole,
    /// The code is encoded within a range known from statistics.
    Within(Range),
    /// The code is squeezed into a short float.
    Squeezed,
    /// The leading 32 bits.
    Prefix,
    /// The distance above zero, in 31 bits.
    Above,
}

impl Order {
    /// Returns the order of a column's values, or the reason why there is none.
    pub(crate) fn new(
        column: &Arc<dyn PhysicalExpr>,
        schema: &Schema,
        statistics: Option<&ColumnStatistics>,
    ) -> Result<Result<Self, Reason>> {
        let data_type = column.data_type(schema)?;
        let Some((bits, one_to_one)) = order_bits(&data_type) else {
            let of = sql_type(&data_type);
            return Ok(Err(format!("values of type {of} have no order code").into()));
        };
        let range = statistics.and_then(|statistics| range(statistics, &data_type));
        let form = match (bits, range) {
            (..=32, _) => Form::Whole,
            _ if is_text_or_dictionary(&data_type) => Form::Prefix,
            (_, Some(range)) => Form::Within(range),
            _ => Form::Squeezed,
        };
        let code = Code {
            form,
            reversed: false,
            null: 0,
            neutral: 0,
            nan: Nan::Coded,
            null_passes: false,
        };
        Ok(Ok(Self { column: Arc::clone(column), code, one_to_one }))
    }

    /// Returns the order with this code.
    ///
    /// # Errors
    ///
    /// If the column's type does not support the code.
    pub(super) fn try_new(
        code: Code,
        column: Arc<dyn PhysicalExpr>,
        schema: &Schema,
    ) -> Result<Self> {
        let data_type = column.data_type(schema)?;
        let Some((bits, one_to_one)) = order_bits(&data_type) else {
            return plan_err!("values of type {data_type} have no order code");
        };
        let is_text = is_text_or_dictionary(&data_type);
        let fits = match code.form {
            Form::Whole => bits <= 32,
            Form::Within(_) | Form::Squeezed => bits > 32 && !is_text,
            Form::Prefix => is_text,
            Form::Above => !is_text,
        };
        if !fits {
            return plan_err!(
                "values of type {data_type} have no code of the form {:?}",
                code.form
            );
        }
        Ok(Self { column, code, one_to_one })
    }

    pub(super) fn code(&self) -> Code {
        self.code
    }

    /// Sets whether the order is reversed.
    pub(crate) fn reversed(self, reversed: bool) -> Self {
        Self { code: Code { reversed, ..self.code }, ..self }
    }

    /// Sets the word of NULLs.
    pub(crate) fn with_null(self, null: u32) -> Self {
        Self { code: Code { null, ..self.code }, ..self }
    }

    /// Sets the word of rows that bypass the switch.
    pub(crate) fn with_neutral(self, neutral: u32) -> Self {
        Self { code: Code { neutral, ..self.code }, ..self }
    }

    /// Lets NULLs bypass the switch.
    pub(crate) fn let_null_pass(self) -> Self {
        Self { code: Code { null_passes: true, ..self.code }, ..self }
    }

    /// Lets NaNs bypass the switch.
    pub(crate) fn let_nan_pass(self) -> Self {
        Self { code: Code { nan: Nan::Pass, ..self.code }, ..self }
    }

    /// Stops pruning after the first NaN.
    pub(crate) fn stop_at_nan(self) -> Self {
        Self { code: Code { nan: Nan::Stop, ..self.code }, ..self }
    }

    /// Returns a code for cutoffs that double: zero maps to zero if the type is signed, and negative values count as
    /// zero.
    pub(crate) fn above_zero(self, schema: &Schema) -> Result<Self> {
        let signed = !matches!(
            self.column.data_type(schema)?,
            DataType::Boolean
                | DataType::UInt8
                | DataType::UInt16
                | DataType::UInt32
                | DataType::UInt64
        );
        let numeric = !matches!(self.code.form, Form::Prefix);
        Ok(if signed && numeric && !self.code.reversed {
            Self { code: Code { form: Form::Above, ..self.code }, ..self }
        } else {
            self
        })
    }

    /// Returns true if equal words mean equal values.
    pub(crate) fn is_exact(&self) -> bool {
        // A range from statistics may be wrong, so its codes may always conflate values.
        self.one_to_one && self.code.form == Form::Whole
    }

    pub(crate) fn column(&self) -> &Arc<dyn PhysicalExpr> {
        &self.column
    }

    pub(crate) fn neutral(&self) -> u32 {
        self.code.neutral
    }

    /// Writes the word of each row.
    pub(crate) fn encode(&self, batch: &RecordBatch, at: usize, out: &mut Words) -> Result<()> {
        let array = self.column.evaluate(batch)?.into_array(batch.num_rows())?;
        self.encode_array(&array, at, out)
    }

    /// Returns the word of a value that is not NULL and has the column's type.
    pub(crate) fn word_of(&self, value: &ScalarValue) -> Result<u32> {
        let mut out = Words::default();
        out.start(1, 1);
        self.encode_array(&value.to_array()?, 0, &mut out)?;
        Ok(out.columns[0].first().copied().unwrap_or_default())
    }

    fn encode_array(&self, array: &ArrayRef, at: usize, out: &mut Words) -> Result<()> {
        let mut codes_of = std::mem::take(&mut out.codes);
        codes(array, Floats::Ordered, Text::Prefix, &mut codes_of)?;
        let words = &mut out.columns[at];
        words.clear();
        let turn = |word: u32| if self.code.reversed { reverse(word) } else { word };
        let wide = order_bits(array.data_type()).is_none_or(|(bits, _)| bits > 32);
        match self.code.form {
            Form::Whole => words.extend(codes_of.iter().map(|code| turn(*code as u32))),
            Form::Within(range) => {
                words.extend(codes_of.iter().map(|code| turn(range.encode(*code))));
            }
            Form::Squeezed => words.extend(codes_of.iter().map(|code| turn(squeeze(*code)))),
            Form::Prefix => words.extend(codes_of.iter().map(|code| turn((*code >> 32) as u32))),
            Form::Above if wide => {
                let above = |code: u64| squeeze(code).saturating_sub(1 << 31);
                words.extend(codes_of.iter().map(|code| turn(above(*code))));
            }
            Form::Above => {
                // The zero of narrower types is in the middle of their own bits.
                let middle = 1_u64 << (narrow_bits(array.data_type()) - 1);
                words.extend(codes_of.iter().map(|code| turn(code.saturating_sub(middle) as u32)));
            }
        }
        if let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) {
            for (row, word) in words.iter_mut().enumerate() {
                if nulls.is_null(row) {
                    *word = self.code.null;
                }
            }
        }
        out.codes = codes_of;
        if let Some(nulls) =
            array.nulls().filter(|nulls| self.code.null_passes && nulls.null_count() > 0)
        {
            out.pass_where(nulls.iter().map(|valid| !valid));
        }
        match array.data_type() {
            _ if self.code.nan == Nan::Coded => {}
            DataType::Float32 => {
                let values = array.as_primitive::<Float32Type>().values();
                self.heed(values.iter().map(|value| value.is_nan()), out);
            }
            DataType::Float64 => {
                let values = array.as_primitive::<Float64Type>().values();
                self.heed(values.iter().map(|value| value.is_nan()), out);
            }
            _ => {}
        }
        Ok(())
    }

    fn heed(&self, mut is_nan: impl Iterator<Item = bool>, out: &mut Words) {
        if self.code.nan == Nan::Pass {
            out.pass_where(is_nan);
        } else if is_nan.any(|nan| nan) {
            out.stop();
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.column.fmt(f)
    }
}

fn is_text_or_dictionary(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        other => is_text(other),
    }
}

fn narrow_bits(data_type: &DataType) -> u32 {
    order_bits(data_type).map_or(32, |(bits, _)| bits.clamp(1, 32))
}

/// Returns the range of codes between a column's least and greatest value, if both are known.
fn range(statistics: &ColumnStatistics, data_type: &DataType) -> Option<Range> {
    let code = |value: &ScalarValue| {
        let array = value.cast_to(data_type).ok()?.to_array().ok()?;
        let mut out = Vec::new();
        (array.null_count() == 0).then_some(())?;
        codes(&array, Floats::Ordered, Text::Prefix, &mut out).ok()?;
        out.first().copied()
    };
    let least = code(statistics.min_value.get_value()?)?;
    let greatest = code(statistics.max_value.get_value()?)?;
    Some(Range::new(least, greatest))
}
