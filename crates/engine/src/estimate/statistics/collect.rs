//! Collects statistics of a stream of rows in bounded memory: a thousand of the rows, and a sketch for each column.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::kernels::cmp::lt_eq;
use arrow::compute::{filter, is_not_null};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::hash_utils::{HLL_RANDOM_STATE, create_hashes};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::min_max::{MaxAccumulator, MinAccumulator};
use datafusion::logical_expr::Accumulator;

use super::ColumnStatistics;
use super::sketch::Sketch;

/// Number of rows that are kept.
const KEPT: usize = 1024;
/// Number of shares into which the bounds of a histogram split the values.
const SHARES: usize = 32;
/// A value is heavy if it has this share of the kept rows and at least this many.
const HEAVY: (f64, usize) = (0.01, 4);
/// Most heavy values of a column.
const MOST_HEAVY: usize = 16;
/// The maximum number of bytes of a text that are kept.
const TEXT: usize = 64;

/// Collects statistics of batches of rows.
#[derive(Debug)]
pub struct Collector {
    columns: Vec<Column>,
    rows: u64,
    random: u64,
}

/// The state of a column.
#[derive(Debug)]
struct Column {
    position: usize,
    name: String,
    data_type: DataType,
    nulls: u64,
    /// Least and greatest value; `None` for types without statistics.
    bounds: Option<(MinAccumulator, MaxAccumulator)>,
    distinct: Sketch,
    kept: Vec<SampledValue>,
    /// Number of neighbouring pairs, and of those in order.
    neighbours: (u64, u64),
    /// The last value that is not NULL.
    last: Option<ArrayRef>,
    hashes: Vec<u64>,
}

/// A value of a kept row.
#[derive(Debug, Clone)]
struct SampledValue {
    row: u64,
    value: ScalarValue,
    /// Length of the full text in bytes, even if the kept text is cut.
    bytes: usize,
}

/// Returns true if columns of a type have statistics.
#[must_use]
pub fn is_known(data_type: &DataType) -> bool {
    data_type.is_primitive()
        || matches!(
            data_type,
            DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        )
}

impl Collector {
    /// Creates a collector of batches with these columns, which have these positions in the table.
    ///
    /// # Errors
    ///
    /// Never, because the types with statistics have least values.
    pub fn new(schema: &SchemaRef, positions: &[usize]) -> Result<Self> {
        let columns = schema.fields().iter().zip(positions).map(|(field, position)| {
            Ok(Column {
                position: *position,
                name: field.name().clone(),
                data_type: field.data_type().clone(),
                nulls: 0,
                bounds: match is_known(field.data_type()) {
                    true => Some((
                        MinAccumulator::try_new(field.data_type())?,
                        MaxAccumulator::try_new(field.data_type())?,
                    )),
                    false => None,
                },
                distinct: Sketch::new()?,
                kept: Vec::new(),
                neighbours: (0, 0),
                last: None,
                hashes: Vec::new(),
            })
        });
        Ok(Self {
            columns: columns.collect::<Result<_>>()?,
            rows: 0,
            random: 0x9e37_79b9_7f4a_7c15,
        })
    }

    /// Returns the number of rows so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds rows.
    ///
    /// # Errors
    ///
    /// If the columns are not those of the schema.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let kept = self.choose(batch.num_rows());
        for (column, values) in self.columns.iter_mut().zip(batch.columns()) {
            if column.bounds.is_some() {
                column.push(values, self.rows, &kept)?;
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Chooses the next rows that are kept, and the slots that they replace. Each row has the same chance.
    fn choose(&mut self, rows: usize) -> Vec<(usize, usize)> {
        let mut chosen = Vec::new();
        for row in 0..rows {
            let before = self.rows + row as u64;
            if before < KEPT as u64 {
                chosen.push((row, before as usize));
                continue;
            }
            // xorshift64 chooses the same rows whenever the same object is read.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            let place = self.random % (before + 1);
            if place < KEPT as u64 {
                chosen.push((row, place as usize));
            }
        }
        chosen
    }

    /// Returns the statistics of the columns.
    #[must_use]
    pub fn finish(self) -> Vec<ColumnStatistics> {
        let known = self.columns.into_iter().filter(|column| column.bounds.is_some());
        known.map(Column::finish).collect()
    }
}

impl Column {
    fn push(&mut self, values: &ArrayRef, first: u64, kept: &[(usize, usize)]) -> Result<()> {
        self.nulls += values.null_count() as u64;
        if let Some((least, greatest)) = &mut self.bounds {
            least.update_batch(std::slice::from_ref(values))?;
            greatest.update_batch(std::slice::from_ref(values))?;
        }
        self.hashes.clear();
        self.hashes.resize(values.len(), 0);
        create_hashes([values], &HLL_RANDOM_STATE, &mut self.hashes)?;
        for (row, hash) in self.hashes.iter().enumerate() {
            if values.is_valid(row) {
                self.distinct.insert(*hash);
            }
        }
        self.neighbours(values)?;
        let text = FormatOptions::new();
        let text = ArrayFormatter::try_new(values.as_ref(), &text)?;
        for (row, place) in kept {
            let new = SampledValue {
                row: first + *row as u64,
                value: cut(ScalarValue::try_from_array(values, *row)?),
                bytes: text.value(*row).to_string().len(),
            };
            match self.kept.get_mut(*place) {
                Some(kept) => *kept = new,
                None => self.kept.push(new),
            }
        }
        Ok(())
    }

    /// Compares each value with the one before, ignoring NULLs.
    fn neighbours(&mut self, values: &ArrayRef) -> Result<()> {
        let values = match values.null_count() {
            0 => Arc::clone(values),
            _ => filter(values, &is_not_null(values)?)?,
        };
        let Some(last) = values.len().checked_sub(1) else { return Ok(()) };
        let mut count = |before: &ArrayRef, after: &ArrayRef| -> Result<()> {
            self.neighbours.0 += after.len() as u64;
            self.neighbours.1 += lt_eq(before, after)?.true_count() as u64;
            Ok(())
        };
        if let Some(before) = &self.last {
            count(before, &values.slice(0, 1))?;
        }
        count(&values.slice(0, last), &values.slice(1, last))?;
        self.last = Some(values.slice(last, 1));
        Ok(())
    }

    fn finish(self) -> ColumnStatistics {
        let Self { kept, neighbours, bounds: extremes, .. } = self;
        let value = |found: Result<ScalarValue>| found.ok().filter(|it| !it.is_null()).map(cut);
        let (min, max) = match extremes {
            Some((mut least, mut greatest)) => {
                (value(least.evaluate()), value(greatest.evaluate()))
            }
            None => (None, None),
        };
        let of = kept.len();
        let bytes: usize = kept.iter().map(|kept| kept.bytes).sum();
        let bytes = bytes - unwritten_fractions(&kept);
        let values = kept.into_iter().filter(|kept| !kept.value.is_null());
        let mut values: Vec<_> = values.map(|kept| (kept.row, kept.value)).collect();
        values.sort_by(|(_, a), (_, b)| a.partial_cmp(b).unwrap_or(Ordering::Equal));
        let correlation = correlation(&values);
        let (heavy, others) = heavy(values.into_iter().map(|(_, value)| value).collect(), of);
        ColumnStatistics {
            position: self.position,
            name: self.name,
            data_type: self.data_type.to_string(),
            nulls: self.nulls,
            width: bytes as f64 / of.max(1) as f64,
            min,
            max,
            distinct: self.distinct,
            counted: None,
            bounds: bounds(&others),
            heavy,
            ascending: match neighbours.0 {
                0 => 1.0,
                all => neighbours.1 as f64 / all as f64,
            },
            correlation,
        }
    }
}

/// Returns the bytes of zero fractions that Arrow writes for decimals. If all values are whole numbers, text files
/// usually omit the fractions.
fn unwritten_fractions(kept: &[SampledValue]) -> usize {
    let each = kept.iter().map(|kept| match kept.value {
        ScalarValue::Decimal128(Some(unscaled), _, scale @ 1..) => {
            let one = 10_i128.checked_pow(scale.unsigned_abs().into());
            one.filter(|one| unscaled % one == 0).map(|_| 1 + usize::from(scale.unsigned_abs()))
        }
        ref value => value.is_null().then_some(0),
    });
    each.sum::<Option<usize>>().unwrap_or(0)
}

/// Splits sorted values into the heavy ones, with their share of `of` rows, and the others.
fn heavy(values: Vec<ScalarValue>, of: usize) -> (Vec<(ScalarValue, f64)>, Vec<ScalarValue>) {
    let least = ((of as f64 * HEAVY.0) as usize).max(HEAVY.1);
    let mut runs: Vec<(ScalarValue, usize)> = Vec::new();
    for value in values {
        match runs.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => runs.push((value, 1)),
        }
    }
    let mut counts: Vec<usize> = runs.iter().map(|(_, count)| *count).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let least = counts.get(MOST_HEAVY).map_or(least, |next| least.max(next + 1));
    let (mut heavy, mut others) = (Vec::new(), Vec::new());
    for (value, count) in runs {
        if count >= least {
            heavy.push((value, count as f64 / of.max(1) as f64));
        } else {
            others.extend(std::iter::repeat_n(value, count));
        }
    }
    heavy.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    (heavy, others)
}

/// Returns the bounds that split sorted values into equal shares.
fn bounds(values: &[ScalarValue]) -> Vec<ScalarValue> {
    let Some(last) = values.len().checked_sub(1) else { return Vec::new() };
    let shares = SHARES.min(last.max(1));
    (0..=shares).map(|share| values[last * share / shares].clone()).collect()
}

/// Returns the rank correlation of values and row numbers.
fn correlation(values: &[(u64, ScalarValue)]) -> f64 {
    // Equal values share one rank.
    let mut ranks = Vec::with_capacity(values.len());
    let mut start = 0;
    while start < values.len() {
        let same = values[start..].iter().take_while(|(_, it)| *it == values[start].1).count();
        let same = same.max(1);
        ranks.extend(std::iter::repeat_n(start as f64 + (same - 1) as f64 / 2.0, same));
        start += same;
    }
    let places: Vec<f64> = values.iter().map(|(row, _)| *row as f64).collect();
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
    let (mean_rank, mean_place) = (mean(&ranks), mean(&places));
    let (mut both, mut rank, mut place) = (0.0, 0.0, 0.0);
    for (a, b) in ranks.iter().zip(&places) {
        let (a, b) = (a - mean_rank, b - mean_place);
        both += a * b;
        rank += a * a;
        place += b * b;
    }
    if rank > 0.0 && place > 0.0 { both / (rank * place).sqrt() } else { 0.0 }
}

/// Truncates long texts.
fn cut(mut value: ScalarValue) -> ScalarValue {
    if let ScalarValue::Utf8(Some(text))
    | ScalarValue::LargeUtf8(Some(text))
    | ScalarValue::Utf8View(Some(text)) = &mut value
    {
        text.truncate(text.floor_char_boundary(TEXT));
        text.shrink_to_fit();
    }
    value
}

#[cfg(test)]
mod tests {
    use arrow::array::{Decimal128Array, Int64Array, StringArray};
    use arrow::datatypes::{Field, Schema};

    use super::*;

    fn collected(values: &[ArrayRef]) -> ColumnStatistics {
        let field = Field::new("c", values[0].data_type().clone(), true);
        let schema = Arc::new(Schema::new(vec![field]));
        let mut collector = Collector::new(&schema, &[7]).unwrap();
        for values in values {
            let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::clone(values)]);
            collector.push(&batch.unwrap()).unwrap();
        }
        collector.finish().pop().unwrap()
    }

    fn numbers(values: impl Iterator<Item = Option<i64>>) -> Vec<ArrayRef> {
        let values: Vec<_> = values.collect();
        values.chunks(1000).map(|it| Arc::new(Int64Array::from(it.to_vec())) as ArrayRef).collect()
    }

    #[test]
    fn sorted_numbers_are_known_as_such() {
        let sorted = collected(&numbers((0..50_000).map(Some)));
        assert_eq!((sorted.position, sorted.nulls, sorted.ascending), (7, 0, 1.0));
        assert_eq!((sorted.min.unwrap(), sorted.max.unwrap()), (0_i64.into(), 49_999_i64.into()));
        assert!((sorted.distinct.count() / 50_000.0 - 1.0).abs() < 0.1);
        assert!(sorted.correlation > 0.999 && sorted.heavy.is_empty(), "{}", sorted.correlation);
        assert_eq!(sorted.bounds.len(), SHARES + 1);
        let ScalarValue::Int64(Some(middle)) = sorted.bounds[SHARES / 2] else { panic!() };
        assert!((22_000..28_000).contains(&middle), "{middle}");
        assert!((4.6..5.0).contains(&sorted.width), "{}", sorted.width);
        let back = collected(&numbers((0..50_000).rev().map(Some)));
        assert!(back.correlation < -0.999 && back.ascending == 0.0);
        assert_eq!(back.order(), "descending");
        // Order within a batch and around NULLs is not enough to be sorted.
        let often = collected(&numbers((0..50_000).map(|n| Some(n % 1000))));
        let gaps = (0..50_000).map(|n| (n % 3 != 0).then_some(n % 3));
        assert_eq!((often.order(), collected(&numbers(gaps)).order()), ("random", "random"));
    }

    #[test]
    fn heavy_values_and_nulls_have_their_share() {
        let values = (0..40_000_i64).map(|n| match n * 7919 % 40_000 {
            it if it < 10_000 => None,
            it if it < 30_000 => Some(-1),
            it => Some(it),
        });
        let skewed = collected(&numbers(values));
        assert_eq!((skewed.nulls, skewed.order()), (10_000, "random"));
        let (value, share) = &skewed.heavy[0];
        assert_eq!((value, skewed.heavy.len()), (&ScalarValue::from(-1_i64), 1));
        assert!((share - 0.5).abs() < 0.05, "{share}");
        assert!(skewed.bounds.iter().all(|bound| *bound > ScalarValue::from(29_999_i64)));
    }

    #[test]
    fn decimals_that_are_all_whole_have_no_fraction_in_a_text() {
        let width = |values: &[Option<i128>]| {
            let values = Decimal128Array::from(values.to_vec()).with_precision_and_scale(15, 2);
            collected(&[Arc::new(values.unwrap())]).width
        };
        // Written as 17, -8 and 4, or as 17.00, -8.00 and 4.50.
        assert_eq!(width(&[Some(1700), Some(-800), None, Some(400)]), 5.0 / 4.0);
        assert_eq!(width(&[Some(1700), Some(-800), None, Some(450)]), 14.0 / 4.0);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let long: ArrayRef = Arc::new(StringArray::from(vec!["é".repeat(1000)]));
        let text = collected(&[long]);
        assert_eq!(text.width, 2000.0);
        assert_eq!(text.max, Some("é".repeat(TEXT / 2).as_str().into()));
        assert!(collected(&[Arc::new(Int64Array::new_null(3))]).bounds.is_empty());
    }
}
