//! The SQL of a Bloom filter, run by the evaluator: what the filter says in Rust, for every key.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use sluicegate_engine::datasource::keys::bloom::{Bloom, Shape};
use sluicegate_evaluator::{Evaluation, Sink, Stats};
use sluicegate_s3select::dialect::ast::{Expr, From, Projection, ProjectionItem, Query, Type};
use sluicegate_s3select::request::{
    Compression, CsvInput, CsvOutput, InputFormat, InputSerialization, OutputSerialization,
    SelectRequest,
};

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

/// The lines of a column of whole numbers, NULL where empty, that pass a condition.
fn passing(lines: &[String], filter: Expr) -> Vec<String> {
    let query = Query {
        projection: Projection::Items(vec![ProjectionItem { expr: Expr::column(2), alias: None }]),
        from: From { path: Vec::new(), alias: Some("s".to_owned()) },
        filter: Some(filter),
        group_by: Vec::new(),
        limit: None,
    };
    let request = SelectRequest {
        expression: query.to_string(),
        input: InputSerialization {
            format: InputFormat::Csv(CsvInput::default()),
            compression: Compression::None,
        },
        output: OutputSerialization::Csv(CsvOutput::default()),
        scan_range: None,
        progress: false,
        partial_groups: false,
    };
    // With a number of its own per line, so that they can be told apart.
    let object: String =
        lines.iter().enumerate().map(|(at, line)| format!("{line},{at}\n")).collect();
    let mut answer = Answer::default();
    let evaluation = Evaluation::prepare(&request, Arc::new(object.into_bytes())).unwrap();
    evaluation.run(&mut answer).unwrap();
    String::from_utf8(answer.0).unwrap().lines().map(str::to_owned).collect()
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

proptest! {
    #[test]
    fn the_store_says_what_the_filter_says(
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
        let lines: Vec<String> =
            all.iter().map(|key| key.map_or_else(String::new, |key| key.to_string())).collect();
        let expected = all.iter().enumerate().filter(|(_, key)| {
            key.is_some_and(|key| bloom.contains(key))
        });
        let expected: Vec<String> = expected.map(|(at, _)| at.to_string()).collect();
        let passed = passing(&lines, filter);
        prop_assert_eq!(&passed, &expected);
        // No key that was put in is missing.
        for at in 0..keys.len() {
            prop_assert!(passed.contains(&at.to_string()));
        }
    }
}
