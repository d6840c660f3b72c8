//! Counts out keys of joins that no filter lists because they are too many.
//!
//! As long as the keys are few (`datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values`), DataFusion's
//! join makes a literal of each, of some 300 bytes. If there are more, it passes on their bounds and its hash table,
//! which can test a value but cannot enumerate the keys. Between the bounds there is a limited number of whole
//! numbers and dates, and a test is fast: the keys are the values that pass the filter.
//!
//! With this, no operator has to collect keys as they pass, and there is no state beside the join's own. Counting is
//! bounded in keys (`sluice.join_keys`) and in time. Beyond either bound, and for other types, only bounds are sent.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::{cast, filter};
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_plan::expressions::{BinaryExpr, Column, lit};

use super::extract::ColumnKeys;
use super::gone;

/// The number of values that are tested at once, so that intermediate results stay in the cache of a core.
const AT_ONCE: i64 = 1 << 13;

/// The minimum number of values that justify a thread of their own.
const LEAST_APART: f64 = 1e5;

/// The number of values, evenly spread between the bounds, that are tested to estimate the number of keys.
const TELLING: i64 = 1 << 12;

/// The maximum number of values that are tested. More take longer than any scan waits.
const MOST_VALUES: i128 = 1 << 28;

/// The share of the time that always passes before the progress so far is used to predict the rest.
const LEAST_DONE: f64 = 0.25;

/// A filter that decides for each value of a column, except NULL, whether it is a key.
#[derive(Debug, Clone)]
pub struct EnumerableFilter {
    filter: Arc<dyn PhysicalExpr>,
    field: FieldRef,
    between: RangeInclusive<i64>,
}

impl EnumerableFilter {
    /// Combines the filters on one column with its bounds. Returns `None` if there is no such filter, or if the
    /// column's values are not countable. Each of the filters must let only the keys of a join pass, a join with a
    /// single key.
    #[must_use]
    pub fn try_new(
        filters: &[Arc<dyn PhysicalExpr>],
        index: usize,
        keys: &ColumnKeys,
        schema: &Schema,
    ) -> Option<Self> {
        let (low, high) = (keys.low.as_ref()?, keys.high.as_ref()?);
        let between = as_number(low)?..=as_number(high)?;
        let values = i128::from(*between.end()) - i128::from(*between.start());
        let field = schema.fields().get(index)?;
        if values >= MOST_VALUES || low.data_type() != *field.data_type() {
            return None;
        }
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), index));
        let only_about_it = |filter: &&Arc<dyn PhysicalExpr>| {
            collect_columns(filter).iter().all(|it| it.index() == index)
        };
        let filters = filters.iter().filter(only_about_it).cloned().reduce(and)?;
        // The bounds may come from filters on several columns and be closer.
        let compared = |op, bound: &ScalarValue| -> Arc<dyn PhysicalExpr> {
            Arc::new(BinaryExpr::new(Arc::clone(&column), op, lit(bound.clone())))
        };
        let bounds = and(compared(Operator::GtEq, low), compared(Operator::LtEq, high));
        Some(Self { filter: and(bounds, filters), field: Arc::clone(field), between })
    }

    /// Returns the number of values between the bounds, all of which are tested.
    #[must_use]
    pub fn values(&self) -> f64 {
        (*self.between.end() as f64 - *self.between.start() as f64 + 1.0).max(0.0)
    }

    /// Returns the filter, which only keys pass.
    #[must_use]
    pub fn filter(&self) -> &Arc<dyn PhysicalExpr> {
        &self.filter
    }

    /// Returns the keys in order, counted out on at most `threads` threads, or `None` if there are more than `most`,
    /// or if counting takes, or is predicted to take, beyond `until`.
    ///
    /// # Errors
    ///
    /// If the filter cannot be evaluated.
    pub async fn counted(
        self,
        threads: usize,
        most: usize,
        until: Instant,
    ) -> Result<Option<Vec<ScalarValue>>> {
        let counting = self
            .divided(threads)
            .map(|part| SpawnedTask::spawn_blocking(move || part.keys(most, until)));
        let counting: Vec<_> = counting.collect();
        let mut all = Vec::new();
        for part in counting {
            match part.join_unwind().await.map_err(gone)?? {
                Some(keys) if all.len() + keys.len() <= most => all.extend(keys),
                _ => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    /// Divides the values into at most `threads` parts of about the same size, in order. Each part justifies a
    /// thread.
    fn divided(self, threads: usize) -> impl Iterator<Item = Self> {
        let worth = (self.values() / LEAST_APART) as usize;
        let parts = worth.clamp(1, threads.max(1)) as i64;
        let (first, end) = (*self.between.start(), *self.between.end());
        // The number of values is below `MOST_VALUES`.
        let each = end.saturating_sub(first) / parts + 1;
        (0..parts).map(move |part| {
            let from = first.saturating_add(part * each);
            let to = if part + 1 == parts { end } else { from.saturating_add(each - 1) };
            Self { between: from..=to, ..self.clone() }
        })
    }

    /// Returns the keys in order, or `None` if there are more than `most`, or if counting takes, or is predicted to
    /// take, beyond `until`.
    fn keys(&self, most: usize, until: Instant) -> Result<Option<Vec<ScalarValue>>> {
        let passing = Passing::new(self)?;
        let (first, end) = (*self.between.start(), *self.between.end());
        let all = self.values().max(1.0);
        let started = Instant::now();
        let time = until.saturating_duration_since(started);
        if time.is_zero() {
            return Ok(None);
        }
        let mut next = first;
        let mut keys = Vec::new();
        while next <= end {
            let last = next.saturating_add(AT_ONCE - 1).min(end);
            let found = passing.passing_values(next..=last)?;
            for row in 0..found.len() {
                keys.push(ScalarValue::try_from_array(&found, row)?);
            }
            if keys.len() > most {
                return Ok(None);
            }
            let done = (last as f64 - first as f64 + 1.0) / all;
            if last < end && started.elapsed() > time.mul_f64(done.max(LEAST_DONE)) {
                return Ok(None);
            }
            match last.checked_add(1) {
                Some(after) => next = after,
                None => break,
            }
        }
        Ok(Some(keys))
    }

    /// Returns the approximate number of keys, from a test of values that are spread evenly between the bounds.
    ///
    /// # Errors
    ///
    /// If the filter cannot be evaluated.
    pub fn about(&self) -> Result<f64> {
        let (first, end) = (i128::from(*self.between.start()), i128::from(*self.between.end()));
        let all = (end - first + 1).max(0);
        let told = all.min(i128::from(TELLING)).max(1);
        // One value of each of several equal ranges, at varying places: keys are often multiples of one number.
        let range = (all / told).max(1);
        let of = |number: i128| {
            let place = (((number * 0x9e37_79b9) % (1 << 32)) * range) >> 32;
            i64::try_from(first + number * all / told + place)
        };
        let values = (0..told.min(all)).filter_map(|number| of(number).ok());
        let found = Passing::new(self)?.passing_values(values)?;
        Ok(found.len() as f64 * (all as f64 / told as f64))
    }
}

/// Evaluates a filter for values of one column.
struct Passing {
    filter: Arc<dyn PhysicalExpr>,
    schema: Arc<Schema>,
}

impl Passing {
    fn new(countable: &EnumerableFilter) -> Result<Self> {
        let schema = Arc::new(Schema::new(vec![Arc::clone(&countable.field)]));
        let filter = reassign_expr_columns(Arc::clone(&countable.filter), &schema)?;
        Ok(Self { filter, schema })
    }

    /// Returns the numbers that pass the filter, as values of the column.
    fn passing_values(&self, numbers: impl IntoIterator<Item = i64>) -> Result<ArrayRef> {
        let values = values(numbers, self.schema.field(0).data_type())?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![Arc::clone(&values)])?;
        let passing = self.filter.evaluate(&batch)?.into_array(batch.num_rows())?;
        Ok(filter(&values, passing.as_boolean())?)
    }
}

fn and(left: Arc<dyn PhysicalExpr>, right: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    Arc::new(BinaryExpr::new(left, Operator::And, right))
}

/// Returns the number of values from one to another, for a countable type.
pub(super) fn values_between(low: Option<&ScalarValue>, high: Option<&ScalarValue>) -> Option<f64> {
    let (low, high) = (as_number(low?)?, as_number(high?)?);
    Some((high as f64 - low as f64 + 1.0).max(0.0))
}

/// Returns a value of a countable type as a number.
fn as_number(value: &ScalarValue) -> Option<i64> {
    match *value {
        ScalarValue::Int8(x) => x.map(i64::from),
        ScalarValue::Int16(x) => x.map(i64::from),
        ScalarValue::Int32(x) | ScalarValue::Date32(x) => x.map(i64::from),
        ScalarValue::Int64(x) => x,
        ScalarValue::UInt8(x) => x.map(i64::from),
        ScalarValue::UInt16(x) => x.map(i64::from),
        ScalarValue::UInt32(x) => x.map(i64::from),
        _ => None,
    }
}

/// Numbers as values of a countable type.
fn values(numbers: impl IntoIterator<Item = i64>, of: &DataType) -> Result<ArrayRef> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
    let numbers = match of {
        // Dates are days.
        DataType::Date32 => cast(&numbers, &DataType::Int32)?,
        _ => numbers,
    };
    Ok(cast(&numbers, of)?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use arrow::datatypes::Field;
    use datafusion::physical_plan::expressions::{CastExpr, IsNullExpr, in_list};

    use super::*;

    fn schema(of: DataType) -> Schema {
        Schema::new(vec![Field::new("v", DataType::Utf8, true), Field::new("k", of, true)])
    }

    fn k() -> Arc<dyn PhysicalExpr> {
        Arc::new(Column::new("k", 1))
    }

    fn between(low: impl Into<ScalarValue>, high: impl Into<ScalarValue>) -> ColumnKeys {
        ColumnKeys { low: Some(low.into()), high: Some(high.into()), ..ColumnKeys::default() }
    }

    fn binary(
        left: Arc<dyn PhysicalExpr>,
        op: Operator,
        right: impl Into<ScalarValue>,
    ) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(left, op, lit(right.into())))
    }

    /// Returns the filter `k % 3 = 0`, or `k IS NULL`.
    fn thirds() -> Arc<dyn PhysicalExpr> {
        let wide: Arc<dyn PhysicalExpr> = Arc::new(CastExpr::new(k(), DataType::Int64, None));
        let third = binary(binary(wide, Operator::Modulo, 3_i64), Operator::Eq, 0_i64);
        Arc::new(BinaryExpr::new(Arc::new(IsNullExpr::new(k())), Operator::Or, third))
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(600)
    }

    #[test]
    fn keys_are_the_values_that_pass() {
        let of = |of: DataType, keys: ColumnKeys| {
            let countable = EnumerableFilter::try_new(&[thirds()], 1, &keys, &schema(of)).unwrap();
            countable.keys(10, soon()).unwrap().unwrap()
        };
        let longs = |keys: &[i64]| keys.iter().map(|key| (*key).into()).collect::<Vec<_>>();
        assert_eq!(of(DataType::Int64, between(-4_i64, 7_i64)), longs(&[-3, 0, 3, 6]));
        assert_eq!(of(DataType::Int64, between(i64::MAX - 3, i64::MAX)), longs(&[i64::MAX - 1]));
        assert_eq!(of(DataType::Int64, between(i64::MIN, i64::MIN + 3)), longs(&[i64::MIN + 2]));
        assert_eq!(of(DataType::Int64, between(1_i64, 2_i64)), longs(&[]));
        assert_eq!(of(DataType::Int64, between(2_i64, 1_i64)), longs(&[]));
        assert_eq!(of(DataType::UInt8, between(250_u8, 255_u8)), [252_u8, 255].map(Into::into));
        let date = |days| ScalarValue::Date32(Some(days));
        let wide = EnumerableFilter::try_new(
            &[binary(k(), Operator::NotEq, date(4))],
            1,
            &between(date(3), date(5)),
            &schema(DataType::Date32),
        );
        assert_eq!(wide.unwrap().keys(10, soon()).unwrap().unwrap(), [date(3), date(5)]);
    }

    /// Every third value; and every 32nd, of which an evenly spaced sample would hit all or none.
    #[test]
    fn some_values_tell_about_how_many_keys_there_are() {
        let about = |filter, low: i64, high: i64| {
            let of = schema(DataType::Int64);
            EnumerableFilter::try_new(&[filter], 1, &between(low, high), &of)
                .unwrap()
                .about()
                .unwrap()
        };
        let of_32 = || binary(binary(k(), Operator::Modulo, 32_i64), Operator::Eq, 0_i64);
        let thirds = about(thirds(), -1_000_000, 1_999_999);
        assert!((thirds / 1e6 - 1.0).abs() < 0.1, "{thirds}");
        let strided = about(of_32(), 0, i64::from(1 << 22) - 1);
        assert!((strided / f64::from(1 << 17) - 1.0).abs() < 0.3, "{strided}");
        assert_eq!(about(of_32(), 1, 31), 0.0);
        assert_eq!(about(of_32(), 0, 64), 3.0);
        assert_eq!(about(of_32(), 2, 1), 0.0);
    }

    #[test]
    fn several_chunks_are_asked_about_in_order() {
        let keys = between(-100_000_i64, 200_000_i64);
        let some = in_list(
            k(),
            vec![lit(-99_999_i64), lit(0_i64), lit(199_998_i64)],
            &false,
            &schema(DataType::Int64),
        );
        let filters = [thirds(), some.unwrap()];
        let countable =
            EnumerableFilter::try_new(&filters, 1, &keys, &schema(DataType::Int64)).unwrap();
        let found = countable.keys(3, soon()).unwrap().unwrap();
        assert_eq!(found, [-99_999_i64, 0, 199_998].map(ScalarValue::from));
        let thirds =
            EnumerableFilter::try_new(&filters[..1], 1, &keys, &schema(DataType::Int64)).unwrap();
        assert_eq!(thirds.keys(100_000, soon()).unwrap().unwrap().len(), 100_000);
    }

    #[tokio::test]
    async fn threads_find_the_same_keys_in_the_same_order() {
        let long = schema(DataType::Int64);
        for (low, high) in
            [(-300_000_i64, 500_001_i64), (7, 7), (2, 1), (i64::MAX - 250_000, i64::MAX)]
        {
            let keys = between(low, high);
            let countable = EnumerableFilter::try_new(&[thirds()], 1, &keys, &long).unwrap();
            let found = countable.keys(1_000_000, soon()).unwrap().unwrap();
            for threads in [0, 1, 2, 3, 64] {
                let parts: Vec<_> = countable.clone().divided(threads).collect();
                let worth = (countable.values() / LEAST_APART) as usize;
                assert_eq!(parts.len(), worth.min(threads).max(1));
                let of = |most| countable.clone().counted(threads, most, soon());
                assert_eq!(
                    of(1_000_000).await.unwrap().as_ref(),
                    Some(&found),
                    "{threads} threads"
                );
                assert_eq!(of(found.len()).await.unwrap().as_ref(), Some(&found));
                if let Some(fewer) = found.len().checked_sub(1) {
                    assert_eq!(of(fewer).await.unwrap(), None, "{threads} threads");
                }
            }
        }
    }

    #[test]
    fn too_many_and_too_late_are_not_known() {
        let keys = between(0_i64, 8_i64);
        let countable =
            EnumerableFilter::try_new(&[thirds()], 1, &keys, &schema(DataType::Int64)).unwrap();
        assert_eq!(countable.keys(3, soon()).unwrap().map(|keys| keys.len()), Some(3));
        assert_eq!(countable.keys(2, soon()).unwrap(), None);
        let past = Instant::now().checked_sub(Duration::from_millis(1)).unwrap();
        assert_eq!(countable.keys(3, past).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_counted_is_not() {
        let long = schema(DataType::Int64);
        let other = binary(Arc::new(Column::new("v", 0)), Operator::Eq, "a");
        let both = and(Arc::clone(&other), thirds());
        let keys = between(0_i64, 8_i64);
        assert!(
            EnumerableFilter::try_new(&[thirds(), Arc::clone(&both)], 1, &keys, &long).is_some()
        );
        assert!(EnumerableFilter::try_new(&[other, both], 1, &keys, &long).is_none());
        assert!(EnumerableFilter::try_new(&[], 1, &keys, &long).is_none());
        assert!(EnumerableFilter::try_new(&[thirds()], 1, &ColumnKeys::default(), &long).is_none());
        assert!(
            EnumerableFilter::try_new(&[thirds()], 1, &between(i64::MIN, i64::MAX), &long)
                .is_none()
        );
        assert!(EnumerableFilter::try_new(&[thirds()], 1, &between(0_i32, 8_i32), &long).is_none());
        let text = schema(DataType::Utf8);
        assert!(EnumerableFilter::try_new(&[thirds()], 1, &between("a", "b"), &text).is_none());
    }
}
