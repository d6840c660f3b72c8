//! The SQL of a Bloom filter, run by the evaluator, gives the result of the Rust filter for every key.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;
use datafusion::common::ScalarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::expressions::Column;
use proptest::prelude::*;
use sluicegate_engine::internals::keys::Hashing;
use sluicegate_engine::internals::keys::bloom::{Bloom, Shape};
use sluicegate_engine::internals::predicate::{ColumnStyle, Translator};
use sluicegate_evaluator::{Evaluation, Sink, Stats};
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::dialect::ast::{Expr, From, Projection, ProjectionItem, Query, Type};
use sluicegate_s3select::request::{
    Compression, CsvInput, CsvOutput, InputFormat, InputSerialization, JsonType,
    OutputSerialization, SelectRequest,
};
use sluicegate_s3select::value::{BloomFilter, Decimal, Timestamp, Value};

#[derive(Default)]
struct Answer(Vec<u8>);

impl Sink for Answer {
    fn records(&mut self, bytes: Bytes) -> ControlFlow<()> {
        self.0.extend_from_slice(&bytes);
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _: &Stats) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Returns the numbers of the rows that pass a condition on their first column. Rows are CSV, or JSON with a member
/// `c`; NULL is an empty field, or a missing member.
fn passing(rows: &[Option<String>], json: bool, filter: Expr) -> BTreeSet<usize> {
    // A second column identifies the rows.
    let number = if json { Expr::named_column("at") } else { Expr::column(2) };
    let query = Query {
        projection: Projection::Items(vec![ProjectionItem { expr: number, alias: None }]),
        from: From { path: Vec::new(), alias: Some("s".to_owned()) },
        filter: Some(filter),
        group_by: Vec::new(),
        limit: None,
    };
    let format = match json {
        true => InputFormat::Json(JsonType::Lines),
        false => InputFormat::Csv(CsvInput::default()),
    };
    let request = SelectRequest {
        expression: query.to_string(),
        input: InputSerialization { format, compression: Compression::None },
        output: OutputSerialization::Csv(CsvOutput::default()),
        scan_range: None,
        progress: false,
        extras: Extras::from_query(&query),
    };
    let line = |(at, row): (usize, &Option<String>)| match (json, row) {
        (false, _) => format!("{},{at}\n", row.as_deref().unwrap_or_default()),
        (true, None) => format!("{{\"at\":{at}}}\n"),
        (true, Some(value)) => format!("{{\"c\":{value},\"at\":{at}}}\n"),
    };
    let object: String = rows.iter().enumerate().map(line).collect();
    let mut answer = Answer::default();
    let evaluation = Evaluation::prepare(&request, Arc::new(object.into_bytes())).unwrap();
    evaluation.run(&mut answer).unwrap();
    let answer = String::from_utf8(answer.0).unwrap();
    answer.lines().map(|line| line.parse().unwrap()).collect()
}

fn key() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => any::<i64>(),
        4 => -50..50_i64,
        1 => Just(i64::MIN),
        1 => Just(i64::MIN + 1),
        1 => Just(i64::MAX),
    ]
}

/// A key of some type: as DataFusion's value, as CSV and JSON, and as the hashed value.
#[derive(Debug, Clone)]
struct Key {
    here: ScalarValue,
    csv: String,
    json: String,
    hashed: Value,
}

fn number(here: impl Into<ScalarValue>, text: String, hashed: Value) -> Key {
    Key { here: here.into(), csv: text.clone(), json: text, hashed }
}

fn text(text: String, here: ScalarValue, hashed: Value) -> Key {
    let json = serde_json::to_string(&text).unwrap();
    Key { here, csv: text, json, hashed }
}

/// Generates keys of one type, with the column's type.
fn keys() -> impl Strategy<Value = (DataType, Vec<Key>)> {
    let many = 0..60;
    let longs = prop::collection::vec(key(), many.clone()).prop_map(|keys| {
        let key = |k: i64| number(k, k.to_string(), Value::Int(k));
        (DataType::Int64, keys.into_iter().map(key).collect())
    });
    let ints = prop::collection::vec(any::<i32>(), many.clone()).prop_map(|keys| {
        let key = |k: i32| number(k, k.to_string(), Value::Int(i64::from(k)));
        (DataType::Int32, keys.into_iter().map(key).collect())
    });
    let texts = prop::collection::vec("[a-zA-Zà-ž'0-9€😀 ]{1,40}", many.clone()).prop_map(|keys| {
        let key =
            |k: String| text(k.clone(), ScalarValue::Utf8View(Some(k.clone())), Value::String(k));
        (DataType::Utf8View, keys.into_iter().map(key).collect())
    });
    let days = prop::collection::vec((-719_162..2_932_896_i32, any::<bool>()), many.clone());
    let dates = days.prop_map(|keys| {
        let key = |(days, with_time): (i32, bool)| {
            let time = if with_time { "T23:59:59.999999999Z" } else { "" };
            let first = Timestamp::parse(b"0001-01-01").unwrap().nanos() / (86_400 * 1_000_000_000);
            let date = Timestamp::from_days(i64::from(days)).unwrap();
            let (here, date) = (ScalarValue::Date32(Some(days)), format!("{date}{time}"));
            let number = Value::Int(i64::from(days) - first as i64);
            text(date, here, number)
        };
        (DataType::Date32, keys.into_iter().map(key).collect())
    });
    let digits = prop_oneof![-500..500_i128, -10_i128.pow(18)..10_i128.pow(18)];
    let amounts = (0..5_i8, prop::collection::vec((digits, 0..3_usize), many));
    let amounts = amounts.prop_map(|(scale, keys)| {
        let of = DataType::Decimal128(38, scale);
        let key = |(unscaled, zeros): (i128, usize)| {
            let decimal = Decimal::new(unscaled, scale).unwrap();
            // A field may have more zeros than the column's type, or none at all.
            let mut text = decimal.to_string();
            if scale > 0 {
                match zeros {
                    0 => text = text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                    more => text.push_str(&"0".repeat(more)),
                }
            }
            let here = ScalarValue::Decimal128(Some(unscaled), 38, scale);
            number(here, text, Value::Decimal(decimal))
        };
        (of, keys.into_iter().map(key).collect())
    });
    prop_oneof![longs, ints, texts, dates, amounts]
}

proptest! {
    #[test]
    fn the_store_says_what_the_filter_of_digits_says(
        keys in prop::collection::vec(key(), 0..60),
        others in prop::collection::vec(prop::option::weighted(0.9, key()), 0..60),
        p in 0.0005..0.9,
        seed in any::<u64>(),
    ) {
        let bloom = Bloom::new(&keys, Shape::new(keys.len(), p), seed);
        let column = Expr::column(1).null_if(Expr::string("")).cast(Type::Int);
        let filter = bloom.condition(&column).unwrap();
        let all: Vec<Option<i64>> =
            keys.iter().copied().map(Some).chain(others).chain([Some(i64::MIN), None]).collect();
        let rows: Vec<_> = all.iter().map(|key| key.map(|key| key.to_string())).collect();
        let expected = all.iter().enumerate().filter(|(_, key)| {
            key.is_some_and(|key| bloom.contains(key))
        });
        let expected: BTreeSet<usize> = expected.map(|(at, _)| at).collect();
        let passed = passing(&rows, false, filter);
        prop_assert_eq!(&passed, &expected);
        // Every inserted key passes.
        prop_assert!((0..keys.len()).all(|at| passed.contains(&at)));
    }

    /// Keys of every type, in every format, with the engine's conditions. Half of the keys are inserted.
    #[test]
    fn the_store_says_what_the_binary_filter_says(
        (of, keys) in keys(), p in 0.0005..0.9, json in any::<bool>(), nulls in 0..3_usize,
    ) {
        let profile = StoreCapabilities::sluice();
        let schema = Schema::new(vec![Field::new("c", of, true)]);
        let style = if json { ColumnStyle::Member } else { ColumnStyle::Positional };
        let translator = Translator::new(&profile, style, &schema);
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new("c", 0));
        let column = translator.filterable(&column).unwrap();
        let wanted: Vec<ScalarValue> =
            keys.iter().step_by(2).map(|key| key.here.clone()).collect();
        let shape = Shape::new(wanted.len(), p);
        let filter = Hashing::Binary.condition(&wanted, shape, &column).unwrap();
        let Expr::Call { args, .. } = &filter else { panic!("{filter}") };
        let bloom = BloomFilter::of_call(args).unwrap();
        let text = |key: &Key| Some(if json { key.json.clone() } else { key.csv.clone() });
        let rows: Vec<_> = keys.iter().map(text).chain(vec![None; nulls]).collect();
        let expected: BTreeSet<usize> = keys
            .iter()
            .enumerate()
            .filter(|(_, key)| bloom.contains(bloom.hash(&key.hashed).unwrap()))
            .map(|(at, _)| at)
            .collect();
        let passed = passing(&rows, json, filter);
        prop_assert_eq!(&passed, &expected);
        prop_assert!((0..keys.len()).step_by(2).all(|at| passed.contains(&at)));
    }
}
