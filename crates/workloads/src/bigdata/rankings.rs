//! Generates the table of pages.

use std::sync::Arc;

use arrow::array::{Int32Builder, RecordBatch, StringViewBuilder};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use crate::random::{Random, scatter};

/// The number that separates this table's random numbers from those of the other table.
const STREAM: u64 = 1;
/// The least rank of a page, and the shape of the Pareto distribution.
const LEAST_RANK: f64 = 10.0;
const SHAPE: f64 = 1.5;
/// The most that a page is away from its place, as a fraction of the table.
const DISORDER: f64 = 0.05;

/// Writes the address of page `number`. No two pages share an address: its first letters spell a bijection of the
/// number.
pub(super) fn url(seed: u64, number: u64, text: &mut String) {
    let mut random = Random::new(seed, STREAM << 8, number);
    text.clear();
    text.push_str("http://");
    let mut unique = scatter(number ^ scatter(seed));
    for letter in 0..14 {
        if letter == 9 {
            text.push_str(".com/");
        }
        text.push(char::from(b'a' + (unique % 26) as u8));
        unique /= 26;
    }
    for _ in 0..random.below(36) {
        text.push(char::from(b'a' + random.below(26) as u8));
    }
}

/// Returns the rank and average duration of page `number` of `rows`.
fn page(seed: u64, number: u64, rows: u64) -> (i32, i32) {
    let mut random = Random::new(seed, STREAM, number);
    let shift = 1.0 + DISORDER * (2.0 * random.unit() - 1.0);
    let place = ((number as f64 + 0.5) / rows as f64 * shift).min(1.0);
    let rank = (LEAST_RANK * place.powf(-1.0 / SHAPE)).min(f64::from(i32::MAX));
    (rank as i32, 1 + random.below(100) as i32)
}

/// Generates the rows with these numbers.
pub(super) fn batch(
    schema: SchemaRef,
    seed: u64,
    rows: u64,
    numbers: std::ops::Range<u64>,
) -> Result<RecordBatch, ArrowError> {
    let mut urls = StringViewBuilder::new();
    let (mut ranks, mut durations) = (Int32Builder::new(), Int32Builder::new());
    let mut text = String::new();
    for number in numbers {
        url(seed, number, &mut text);
        let (rank, duration) = page(seed, number, rows);
        urls.append_value(&text);
        ranks.append_value(rank);
        durations.append_value(duration);
    }
    RecordBatch::try_new(
        schema,
        vec![Arc::new(urls.finish()), Arc::new(ranks.finish()), Arc::new(durations.finish())],
    )
}
