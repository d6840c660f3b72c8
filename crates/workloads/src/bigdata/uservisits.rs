//! Generates the table of visits.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{
    Date32Builder, Decimal128Builder, Int32Builder, RecordBatch, StringViewBuilder,
};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use super::rankings::url;
use super::table::{REVENUE_PRECISION, REVENUE_SCALE};
use super::vocabulary::VOCABULARY;
use crate::random::{Random, scatter};

const STREAM: u64 = 2;
const VISITOR_STREAM: u64 = 3;
/// The days from 1970-01-01 to 2012-12-31.
const DAYS: u64 = 15_706;
/// The average number of visits for each visitor.
const VISITS_PER_VISITOR: u64 = 8;
/// The mean revenue of a visit, in millionths of a dollar.
const MEAN_REVENUE: f64 = 500_000.0;
/// The greatest value of `DECIMAL(9, 6)` in millionths, which no scale comes near.
const MOST_REVENUE: f64 = 999_999_999.0;
/// The mean duration of a visit.
const MEAN_DURATION: f64 = 30.0;
/// The skew of visits over pages, followed by that over visitors; see [`Random::power_law`].
const POWER: i32 = 5;
const VISITOR_POWER: i32 = 2;

/// Generates the visits with these numbers, of `rows` visits to `pages` pages.
pub(super) fn batch(
    schema: SchemaRef,
    seed: u64,
    (rows, pages): (u64, u64),
    numbers: std::ops::Range<u64>,
) -> Result<RecordBatch, ArrowError> {
    let mut strings: [StringViewBuilder; 6] = std::array::from_fn(|_| StringViewBuilder::new());
    let [ips, urls, agents, countries, languages, words] = &mut strings;
    let (mut dates, mut durations) = (Date32Builder::new(), Int32Builder::new());
    let mut revenues =
        Decimal128Builder::new().with_precision_and_scale(REVENUE_PRECISION, REVENUE_SCALE)?;
    let visitors = (rows / VISITS_PER_VISITOR).max(1);
    let mut text = String::new();
    for number in numbers {
        let mut random = Random::new(seed, STREAM, number);
        let visitor = random.power_law(visitors, VISITOR_POWER);
        let [_, _, _, _, a, b, c, d] = scatter(visitor ^ scatter(seed)).to_be_bytes();
        text.clear();
        // Writing to a string cannot fail.
        let _ = write!(text, "{}.{b}.{c}.{d}", a.max(1));
        ips.append_value(&text);
        let page = random.power_law(pages, POWER);
        // Pages after the last one are not in the other table.
        let unknown = random.below(10) == 0;
        url(seed, if unknown { pages + page } else { page }, &mut text);
        urls.append_value(&text);
        dates.append_value(random.below(DAYS) as i32);
        let revenue = (MEAN_REVENUE * random.exponential()).round().min(MOST_REVENUE);
        revenues.append_value(revenue as i128);
        agents.append_value(VOCABULARY.agent(&mut random));
        let (country, language) =
            VOCABULARY.locale(&mut Random::new(seed, VISITOR_STREAM, visitor));
        countries.append_value(country);
        languages.append_value(language);
        words.append_value(VOCABULARY.word(&mut random));
        durations.append_value(1 + (MEAN_DURATION * random.exponential()) as i32);
    }
    RecordBatch::try_new(
        schema,
        vec![
            Arc::new(ips.finish()),
            Arc::new(urls.finish()),
            Arc::new(dates.finish()),
            Arc::new(revenues.finish()),
            Arc::new(agents.finish()),
            Arc::new(countries.finish()),
            Arc::new(languages.finish()),
            Arc::new(words.finish()),
            Arc::new(durations.finish()),
        ],
    )
}
