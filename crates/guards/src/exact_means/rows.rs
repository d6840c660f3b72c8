//! The mean of rows that are not in groups.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, UInt64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

use super::{Read, counted, mean, overflow};

#[derive(Debug, Default)]
pub(super) struct Rows {
    sum: i128,
    count: u64,
}

impl Rows {
    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        let Some(sum) = self.sum.checked_add(of_array(values)?) else {
            return overflow();
        };
        self.sum = sum;
        Ok(())
    }
}

/// Returns the sum of an array.
fn of_array(values: &ArrayRef) -> Result<i128> {
    let total = match Read::new(values)? {
        Read::Signed(values) => total(values),
        Read::Unsigned(values) => total(values),
        Read::Decimal(values) => total(values),
    };
    total.map_or_else(overflow, Ok)
}

/// Returns the sum of an array, or `None` if it exceeds 128 bits.
fn total<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>) -> Option<i128>
where
    T::Native: Into<i128>,
{
    let add = |(sum, beyond): (i128, bool), value: T::Native| {
        let (sum, more) = sum.overflowing_add(value.into());
        (sum, beyond | more)
    };
    let (sum, beyond) = match values.null_count() {
        0 => values.values().iter().copied().fold((0, false), add),
        _ => counted(values).fold((0, false), add),
    };
    (!beyond).then_some(sum)
}

fn rows_with_values(values: &ArrayRef) -> u64 {
    (values.len() - values.null_count()) as u64
}

impl Accumulator for Rows {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return internal_err!("one column is added") };
        self.count += rows_with_values(values);
        self.add(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return internal_err!("one column is added") };
        self.count -= rows_with_values(values);
        let Some(sum) = self.sum.checked_sub(of_array(values)?) else {
            return overflow();
        };
        self.sum = sum;
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64((self.count > 0).then(|| mean(self.sum, self.count))))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let sum = (self.count > 0).then_some(self.sum);
        let sum = ScalarValue::Decimal128(sum, DECIMAL128_MAX_PRECISION, 0);
        Ok(vec![ScalarValue::UInt64(Some(self.count)), sum])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [counts, sums] = states else {
            return internal_err!("a state has a sum, and a count before it");
        };
        self.count += counted(counts.as_primitive::<UInt64Type>()).sum::<u64>();
        self.add(sums)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The mean of distinct values.
#[derive(Debug)]
pub(super) struct Distinct {
    /// Accumulator that collects the distinct values.
    pub(super) values: Box<dyn Accumulator>,
}

impl Accumulator for Distinct {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut rows = Rows::default();
        for list in self.values.state()? {
            let ScalarValue::List(list) = list else {
                return internal_err!("distinct values are a list");
            };
            rows.update_batch(&[list.value(0)])?;
        }
        rows.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.values.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.values.merge_batch(states)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.size()
    }
}
