//! Tests Parquet types that Arrow's writer does not write, or that have no type of their own in the dialect.

use std::sync::Arc;

use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

use super::{check_error, request, run};
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{InputFormat, OutputSerialization, SelectRequest};

/// The values of a column, by physical type.
enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int96(Vec<Int96>),
    Fixed(Vec<Vec<u8>>),
}

/// Writes an object of some columns without NULL. Each row has `per_row` values in each column.
fn write(schema: &str, columns: Vec<Values>, is_coded: bool, per_row: usize) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(is_coded)
        .set_data_page_row_count_limit(3)
        .set_write_batch_size(1)
        .build();
    let mut object = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut object, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for values in columns {
        let mut column = group.next_column().unwrap().unwrap();
        let count = match &values {
            Values::Int32(values) => values.len(),
            Values::Int64(values) => values.len(),
            Values::Int96(values) => values.len(),
            Values::Fixed(values) => values.len(),
        };
        let repetition: Vec<i16> = (0..count).map(|at| i16::from(at % per_row > 0)).collect();
        let definition = vec![1; count];
        let (def, rep) = match per_row {
            1 => (None, None),
            _ => (Some(&definition[..]), Some(&repetition[..])),
        };
        match (column.untyped(), values) {
            (ColumnWriter::Int32ColumnWriter(writer), Values::Int32(values)) => {
                writer.write_batch(&values, def, rep).unwrap();
            }
            (ColumnWriter::Int64ColumnWriter(writer), Values::Int64(values)) => {
                writer.write_batch(&values, def, rep).unwrap();
            }
            (ColumnWriter::Int96ColumnWriter(writer), Values::Int96(values)) => {
                writer.write_batch(&values, def, rep).unwrap();
            }
            (ColumnWriter::FixedLenByteArrayColumnWriter(writer), Values::Fixed(values)) => {
                let values: Vec<FixedLenByteArray> =
                    values.into_iter().map(|value| ByteArray::from(value).into()).collect();
                writer.write_batch(&values, def, rep).unwrap();
            }
            _ => panic!("a column of another type"),
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    object
}

fn parquet(expression: &str) -> SelectRequest {
    let mut request = request(expression);
    request.input.format = InputFormat::Parquet;
    request
}

#[track_caller]
fn check(object: &[u8], expression: &str, expected: &str) {
    let (answer, _) = run(&parquet(expression), object.to_vec()).unwrap();
    assert_eq!(String::from_utf8(answer).unwrap(), expected, "{expression}");
}

/// Returns a timestamp from its day since 1970-01-01 and the nanoseconds in that day.
fn int96(day: i32, nanos: u64) -> Int96 {
    let mut value = Int96::new();
    value.set_data(nanos as u32, (nanos >> 32) as u32, (day + 2_440_588) as u32);
    value
}

const TIMESTAMP: &str = "message m { required int96 t; }";

#[test]
fn timestamps_of_96_bits_are_read() {
    for is_coded in [false, true] {
        let days = [0, -719_162, 2_932_896, 19_000, 19_000];
        let times = [0, 0, 86_399_999_999_000, 3_600_000_001_000, 3_600_000_001_000];
        let values = days.into_iter().zip(times).map(|(day, nanos)| int96(day, nanos)).collect();
        let object = write(TIMESTAMP, vec![Values::Int96(values)], is_coded, 1);
        let all = "1970-01-01T00:00:00.000000Z\n0001-01-01T00:00:00.000000Z\n\
                   9999-12-31T23:59:59.999999Z\n2022-01-08T01:00:00.000001Z\n\
                   2022-01-08T01:00:00.000001Z\n";
        check(&object, "SELECT * FROM S3Object", all);
        let later = "CAST('2000-01-01T00:00:00Z' AS TIMESTAMP)";
        check(&object, &format!("SELECT COUNT(*) FROM S3Object s WHERE s.t > {later}"), "3\n");
        check(&object, "SELECT MAX(t), COUNT(t) FROM S3Object", "9999-12-31T23:59:59.999999Z,5\n");
    }
}

/// Rows before the first timestamp finer than a microsecond are also read in nanoseconds.
#[test]
fn timestamps_of_96_bits_may_have_nanoseconds() {
    for is_coded in [false, true] {
        let mut values = vec![int96(1, 1000); 7];
        values.push(int96(2, 1_000_000_001));
        let object = write(TIMESTAMP, vec![Values::Int96(values.clone())], is_coded, 1);
        let last = "1970-01-03T00:00:01.000000001Z\n";
        let filter = "WHERE s.t > CAST('1970-01-02T00:00:00.000001Z' AS TIMESTAMP)";
        check(&object, &format!("SELECT s.t FROM S3Object s {filter}"), last);
        // Nanoseconds allow fewer years.
        values.push(int96(2_932_896, 0));
        let object = write(TIMESTAMP, vec![Values::Int96(values)], is_coded, 1);
        let wanted = parquet("SELECT * FROM S3Object");
        check_error(&wanted, object, Code::ParquetParsingError, "1677 to 2262");
    }
    let object = write(TIMESTAMP, vec![Values::Int96(vec![int96(3_000_000, 0)])], false, 1);
    check_error(&parquet("SELECT * FROM S3Object"), object, Code::ParquetParsingError, "years");
}

proptest! {
    #[test]
    fn timestamps_of_96_bits_are_those_of_64(
        times in prop::collection::vec((-100_000_i64..100_000, 0_i64..86_400_000_000), 1..40),
        nanos in prop::collection::vec(any::<bool>(), 40),
        fine: bool,
        is_coded: bool,
    ) {
        let finer = |row: usize| i64::from(fine && nanos[row]);
        let wide = times.iter().enumerate().map(|(row, (day, micros))| {
            int96(*day as i32, (micros * 1000 + finer(row)) as u64)
        });
        let narrow = times.iter().enumerate().map(|(row, (day, micros))| {
            (day * 86_400_000_000 + micros) * 1000 + finer(row)
        });
        let schema = "message m {
            required int96 w;
            required int64 n (TIMESTAMP(NANOS,true));
        }";
        let columns = vec![Values::Int96(wide.collect()), Values::Int64(narrow.collect())];
        let object = write(schema, columns, is_coded, 1);
        check(&object, "SELECT COUNT(*) FROM S3Object s WHERE s.w = s.n", &format!("{}\n", times.len()));
    }
}

#[test]
fn times_are_text() {
    let schema = "message m {
        required int32 a (TIME(MILLIS,true));
        required int64 b (TIME(MICROS,false));
        required int64 c (TIME(NANOS,true));
    }";
    let object = write(
        schema,
        vec![
            Values::Int32(vec![0, 86_399_999, 3_723_004]),
            Values::Int64(vec![0, 86_399_999_999, 3_723_000_004]),
            Values::Int64(vec![0, 86_399_999_999_999, 3_723_000_000_004]),
        ],
        true,
        1,
    );
    check(
        &object,
        "SELECT * FROM S3Object",
        "00:00:00.000,00:00:00.000000,00:00:00.000000000\n\
         23:59:59.999,23:59:59.999999,23:59:59.999999999\n\
         01:02:03.004,01:02:03.000004,01:02:03.000000004\n",
    );
    // Times sort like their texts.
    check(&object, "SELECT s.b FROM S3Object s WHERE s.a > '02'", "23:59:59.999999\n");
    check(&object, "SELECT MIN(s.c) FROM S3Object s WHERE s.c > '00:1'", "01:02:03.000000004\n");
    let never = write(
        "message m { required int32 a (TIME(MILLIS,true)); }",
        vec![Values::Int32(vec![86_400_000])],
        false,
        1,
    );
    check_error(&parquet("SELECT a FROM S3Object"), never, Code::ParquetParsingError, "of a day");
}

#[test]
fn bytes_of_one_length_are_text_and_uuids_are_written_as_such() {
    let schema = "message m {
        required fixed_len_byte_array(16) u (UUID);
        required fixed_len_byte_array(3) f;
    }";
    let uuid: Vec<u8> = (0x10..0x20).collect();
    for is_coded in [false, true] {
        let object = write(
            schema,
            vec![
                Values::Fixed(vec![uuid.clone(), vec![0xff; 16], vec![0; 16]]),
                Values::Fixed(vec![b"abc".to_vec(), b"abd".to_vec(), "é!".into()]),
            ],
            is_coded,
            1,
        );
        check(
            &object,
            "SELECT * FROM S3Object",
            "10111213-1415-1617-1819-1a1b1c1d1e1f,abc\n\
             ffffffff-ffff-ffff-ffff-ffffffffffff,abd\n\
             00000000-0000-0000-0000-000000000000,é!\n",
        );
        let one = "SELECT f FROM S3Object s WHERE s.u = '10111213-1415-1617-1819-1a1b1c1d1e1f'";
        check(&object, one, "abc\n");
        check(&object, "SELECT COUNT(*) FROM S3Object s WHERE s.u > 'f' AND s.f = 'abd'", "1\n");
    }
    let object = write(
        "message m { required fixed_len_byte_array(2) f; }",
        vec![Values::Fixed(vec![vec![0xff, 0xfe]])],
        false,
        1,
    );
    let wanted = parquet("SELECT f FROM S3Object");
    check_error(&wanted, object, Code::InvalidTextEncoding, "UTF-8");
}

#[test]
fn they_are_read_within_lists_and_structs() {
    let schema = "message m {
        repeated fixed_len_byte_array(16) u (UUID);
        repeated int96 t;
        repeated int32 c (TIME(MILLIS,true));
    }";
    let object = write(
        schema,
        vec![
            Values::Fixed(vec![vec![0; 16], vec![0xab; 16]]),
            Values::Int96(vec![int96(0, 0), int96(1, 1)]),
            Values::Int32(vec![0, 1]),
        ],
        false,
        2,
    );
    let mut json = parquet("SELECT s.u, s.t, s.c FROM S3Object s");
    json.output = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
    let (answer, _) = run(&json, object.clone()).unwrap();
    assert_eq!(
        String::from_utf8(answer).unwrap(),
        "{\"u\":[\"00000000-0000-0000-0000-000000000000\",\"abababab-abab-abab-abab-abababababab\"],\
         \"t\":[\"1970-01-01T00:00:00.000000000Z\",\"1970-01-02T00:00:00.000000001Z\"],\
         \"c\":[\"00:00:00.000\",\"00:00:00.001\"]}\n"
    );
    check(
        &object,
        "SELECT s.u[1], s.t[1], s.c[1] FROM S3Object s",
        "abababab-abab-abab-abab-abababababab,1970-01-02T00:00:00.000000001Z,00:00:00.001\n",
    );
}

#[test]
fn floats_of_16_bits_are_floats() {
    let object = write(
        "message m { required fixed_len_byte_array(2) h (FLOAT16); }",
        vec![Values::Fixed(vec![vec![0x00, 0x3e], vec![0x00, 0xc0], vec![0x00, 0x7c]])],
        true,
        1,
    );
    check(&object, "SELECT h FROM S3Object", "1.5\n-2.0\ninf\n");
    check(&object, "SELECT h * 2 FROM S3Object s WHERE s.h < 1.75 AND s.h > 0", "3.0\n");
}

#[test]
fn intervals_cannot_be_queried() {
    let object = write(
        "message m { required fixed_len_byte_array(12) i (INTERVAL); required int32 n; }",
        vec![Values::Fixed(vec![vec![1; 12]]), Values::Int32(vec![7])],
        false,
        1,
    );
    for sql in ["SELECT i FROM S3Object", "SELECT * FROM S3Object"] {
        check_error(&parquet(sql), object.clone(), Code::UnsupportedTypeForQuerying, "i");
    }
    check(&object, "SELECT n FROM S3Object", "7\n");
}
