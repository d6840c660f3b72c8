//! The mean of rows that are not in groups.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, UInt64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

use super::mean;
use crate::wide_sums::{WideSum, counted};

#[derive(Debug, Default)]
pub(super) struct Rows(WideSum);

impl Accumulator for Rows {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return internal_err!("one column is added") };
        self.0.add(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return internal_err!("one column is added") };
        self.0.remove(values)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let WideSum { sum, count } = self.0;
        Ok(ScalarValue::Float64((count > 0).then(|| mean(sum, count))))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let WideSum { sum, count } = self.0;
        let sum = ScalarValue::Decimal128((count > 0).then_some(sum), DECIMAL128_MAX_PRECISION, 0);
        Ok(vec![ScalarValue::UInt64(Some(count)), sum])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [counts, sums] = states else {
            return internal_err!("a state has a sum, and a count before it");
        };
        self.0.count += counted(counts.as_primitive::<UInt64Type>()).sum::<u64>();
        self.0.add_sums(sums)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}
