//! The evaluator against the plain interpreter, over random statements and rows: in one batch and in
//! several, on one core and on several, of CSV and, where nothing is known of a value beforehand, of
//! JSON. The interpreter computes every item by itself, so items together are as each alone.

use proptest::prelude::*;

use super::generator::{Generator, object};
use super::interpreter::interpret;
use super::{Answer, Evaluation, request};
use sluicegate_s3select::dialect;
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{InputFormat, JsonType, SelectRequest};
use sluicegate_s3select::value::Timestamp;
use std::sync::Arc;

/// How a statement is run.
#[derive(Debug, Clone, Copy)]
struct Way {
    json: bool,
    batch_rows: usize,
    /// Threads and bytes of a part, if on several cores.
    parts: Option<(usize, u64)>,
    /// The most groups at a time.
    groups: usize,
}

fn ways() -> impl Strategy<Value = Way> {
    let batch_rows = prop_oneof![1_usize..8, Just(8192)];
    let parts = prop_oneof![3 => Just(None), 1 => (2_usize..4, 1_u64..120).prop_map(Some)];
    let json = prop_oneof![3 => Just(false), 1 => Just(true)];
    let groups = prop::sample::select(vec![1_usize, 2, 3, 1 << 16]);
    (json, batch_rows, parts, groups).prop_map(|(json, batch_rows, parts, groups)| Way {
        json,
        batch_rows,
        parts,
        groups,
    })
}

fn evaluate(request: &SelectRequest, object: String, way: Way) -> Result<Vec<u8>, Code> {
    let (source, now) = (Arc::new(object.into_bytes()), Timestamp::EPOCH);
    let mut answer = Answer::default();
    let evaluation = Evaluation::prepare_batches(request, source, now, way.batch_rows)
        .map_err(|error| error.code)?
        .with_max_groups(way.groups);
    let stats = match way.parts {
        None => evaluation.run(&mut answer),
        Some((threads, bytes)) => evaluation.with_part_bytes(bytes).run_on(threads, &mut answer),
    };
    stats.map_err(|error| error.code)?;
    Ok(answer.bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8000))]

    #[test]
    fn statements_mean_what_the_interpreter_says(seed: u64, way in ways()) {
        let mut generator = Generator::new(seed);
        let query = generator.query();
        let rows = generator.rows();
        let mut request = request(&query.to_string());
        request.extras = Extras::ALL;
        if way.json {
            request.input.format = InputFormat::Json(JsonType::Lines);
        }
        if dialect::check(&query, &request.input).is_err() {
            return Ok(());
        }
        let object = object(&rows, way.json);
        let text = |answer: Vec<u8>| String::from_utf8(answer).unwrap();
        let expected = interpret(&query, &rows, way.groups).map(text);
        let actual = evaluate(&request, object.clone(), way).map(text);
        prop_assert_eq!(actual, expected, "{} over\n{}", request.expression, object);
    }
}
