//! Tests that the answer does not depend on how the row groups of a Parquet object are read.

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use parquet::file::metadata::ParquetMetaDataWriter;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;

use super::{Answer, Evaluation, request, write_parquet};
use crate::Stats;
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::error::SelectErrorCode;
use sluicegate_s3select::request::InputFormat;

const STATEMENTS: [&str; 9] = [
    "SELECT * FROM S3Object s WHERE s.k < 3",
    "SELECT * FROM S3Object s WHERE s.k >= 0",
    "SELECT * FROM S3Object s",
    "SELECT s.n, s.v FROM S3Object s WHERE CAST(s.v AS INT) < 3",
    "SELECT s.v FROM S3Object s WHERE 12 / (s.k - 5) > 2",
    "SELECT s.k FROM S3Object s WHERE s.v LIKE '1%' AND s.n IS NOT NULL",
    "SELECT COUNT(*), SUM(s.n), MIN(s.v) FROM S3Object s WHERE s.k <> 4",
    "SELECT s.k, COUNT(*), SUM(s.n) FROM S3Object s WHERE s.v <> 'x' GROUP BY s.k",
    "SELECT COUNT(*) FROM S3Object s",
];

fn write(rows: &[(i64, String, Option<i128>)], group_rows: usize, page_rows: usize) -> Vec<u8> {
    let column = |array| -> ArrayRef { Arc::new(array) };
    let numbers: Decimal128Array = rows.iter().map(|(_, _, n)| *n).collect();
    let numbers = numbers.with_precision_and_scale(10, 2).unwrap();
    let texts: StringArray = rows.iter().map(|(_, v, _)| Some(v.clone())).collect();
    let columns: [(&str, ArrayRef); 3] = [
        ("k", column(rows.iter().map(|(k, _, _)| Some(*k)).collect::<Int64Array>())),
        ("v", Arc::new(texts)),
        ("n", Arc::new(numbers)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(1);
    write_parquet(&batch, properties.build())
}

type Outcome = (String, Result<Stats, (SelectErrorCode, String)>);

fn run(expression: &str, object: &[u8], threads: usize) -> Outcome {
    let mut request = request(expression);
    request.input.format = InputFormat::Parquet;
    request.extras = Extras::ALL;
    let mut answer = Answer::default();
    let evaluation = Evaluation::prepare(&request, Arc::new(object.to_vec()));
    let stats = evaluation.and_then(|evaluation| evaluation.run_on(threads, &mut answer));
    let stats = stats.map_err(|error| (error.code, error.message.into_owned()));
    (String::from_utf8(answer.bytes).unwrap(), stats)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn on_one_thread_or_several_filtered_first_or_not(
        rows in prop::collection::vec(
            (0_i64..10, prop_oneof![20 => "[0-9]{1,2}", 1 => Just("x".to_owned())],
             prop::option::of(-1000_i128..1000)),
            1..60,
        ),
        group_rows in 1_usize..25,
        page_rows in 1_usize..8,
        statement in prop::sample::select(STATEMENTS.to_vec()),
        threads in 2_usize..4,
    ) {
        let object = write(&rows, group_rows, page_rows);
        let (answer, stats) = run(statement, &object, 1);
        let (several, their_stats) = run(statement, &object, threads);
        prop_assert_eq!(&several, &answer);
        // Each thread decides by its own earlier row groups whether to filter first, so the bytes read may differ.
        prop_assert_eq!(their_stats.err(), stats.clone().err());
        if statement.contains("GROUP BY") {
            return Ok(());
        }
        // With a limit, rows are filtered after all their columns were read, and on one thread.
        let (limited, at_once) = run(&format!("{statement} LIMIT 1000000"), &object, threads);
        prop_assert_eq!(answer, limited);
        prop_assert_eq!(stats.err(), at_once.err());
    }
}

#[test]
fn columns_beside_the_filter_are_read_only_where_a_row_passes() {
    let rows: Vec<_> =
        (0..20_000).map(|i| (i / 1000, format!("text {i} of some length"), Some(1))).collect();
    let object = write(&rows, 5000, 500);
    let scanned = |statement: &str| run(statement, &object, 1).1.unwrap().bytes_scanned;
    // Statistics cannot decide this condition.
    let some = scanned("SELECT * FROM S3Object s WHERE s.k * 2 = 14");
    let all = scanned("SELECT * FROM S3Object s WHERE s.k * 2 < 1000");
    let filter = scanned("SELECT s.k FROM S3Object s");
    assert!(filter < some && some < all / 4, "{filter} {some} {all}");
    let none = scanned("SELECT * FROM S3Object s WHERE s.k * 2 = 15");
    assert_eq!(none, filter);
}

/// A row group that claims to have more rows than its pages is refused at once.
#[test]
fn rows_that_are_not_there_take_no_time() {
    let rows: Vec<_> = (0..600).map(|k| (k % 10, k.to_string(), None)).collect();
    let object = write(&rows, 200, 50);
    let file = SerializedFileReader::new(Bytes::from(object.clone())).unwrap();
    for claimed in [201, 1_000_000_000_000, i64::MAX] {
        let mut groups = file.metadata().row_groups().to_vec();
        groups[0] = groups[0].clone().into_builder().set_num_rows(claimed).build().unwrap();
        let footer = file.metadata().clone().into_builder().set_row_groups(groups).build();
        let mut object = object.clone();
        ParquetMetaDataWriter::new(&mut object, &footer).finish().unwrap();
        for condition in ["", " WHERE s.k = 3", " WHERE s.v <> ''"] {
            let mut request = request(&format!("SELECT s.v FROM S3Object s{condition}"));
            request.input.format = InputFormat::Parquet;
            let evaluation = Evaluation::prepare(&request, Arc::new(object.clone())).unwrap();
            let error = evaluation.run(&mut Answer::default()).unwrap_err();
            assert_eq!(error.code, SelectErrorCode::ParquetParsingError, "{claimed}: {error:?}");
        }
    }
}
