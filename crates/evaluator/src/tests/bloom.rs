//! Tests BLOOM_CONTAINS against its documentation, computed bit by bit.

use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{InputFormat, JsonType, SelectRequest};
use sluicegate_s3select::value::Value;

use super::{check, check_error, request};

/// Returns whether the filter of the first three arguments contains the fourth, which must have a value.
pub(super) fn contains(args: &[Value]) -> bool {
    let [Value::String(bits), Value::Int(hashes), Value::Int(seed), value] = args else {
        panic!("{args:?}")
    };
    let bits = from_base64(bits);
    let hash = xxh64(&bytes_of(value), *seed as u64);
    let (a, b) = (u128::from(hash >> 32), u128::from(hash & 0xffff_ffff));
    (0..*hashes as u128)
        .all(|i| bits[(((a + i * b) % (1 << 32) * bits.len() as u128) >> 32) as usize])
}

/// Decodes base64 to bits, those of each byte from the lowest on.
fn from_base64(text: &str) -> Vec<bool> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=').chars().map(|digit| DIGITS.find(digit).unwrap());
    let stream: Vec<bool> =
        digits.flat_map(|six| (0..6).rev().map(move |at| (six >> at) & 1 == 1)).collect();
    stream.chunks_exact(8).flat_map(|byte| byte.iter().rev().copied()).collect()
}

fn bytes_of(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.clone().into_bytes(),
        Value::Int(int) => int.to_le_bytes().to_vec(),
        Value::Float(float) if *float == 0.0 => vec![0; 8],
        Value::Float(nan) if nan.is_nan() => {
            vec![0, 0, 0, 0, 0, 0, 0xf8, if nan.is_sign_negative() { 0xff } else { 0x7f }]
        }
        Value::Float(float) => float.to_bits().to_le_bytes().to_vec(),
        Value::Timestamp(time) => time.nanos().to_le_bytes().to_vec(),
        Value::Bool(truth) => vec![u8::from(*truth)],
        Value::Decimal(decimal) => {
            let text = decimal.to_string();
            let (whole, places) = match text.split_once('.') {
                Some((whole, places)) => (whole, places.trim_end_matches('0')),
                None => (text.as_str(), ""),
            };
            let digits: i128 = format!("{whole}{places}").parse().unwrap();
            match i64::try_from(digits) {
                Ok(int) if places.is_empty() => int.to_le_bytes().to_vec(),
                _ => [&digits.to_le_bytes()[..], &[places.len() as u8]].concat(),
            }
        }
        other => panic!("{other:?} has no bytes"),
    }
}

/// Computes XXH64 by its specification.
fn xxh64(data: &[u8], seed: u64) -> u64 {
    const P: [u64; 5] = [
        0x9e37_79b1_85eb_ca87,
        0xc2b2_ae3d_27d4_eb4f,
        0x1656_67b1_9e37_79f9,
        0x85eb_ca77_c2b2_ae63,
        0x27d4_eb2f_1656_67c5,
    ];
    let word =
        |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |word, byte| (word << 8) | u64::from(*byte));
    let round = |lane: u64, input: u64| {
        lane.wrapping_add(input.wrapping_mul(P[1])).rotate_left(31).wrapping_mul(P[0])
    };
    let mut rest = data;
    let mut hash = if data.len() < 32 {
        seed.wrapping_add(P[4])
    } else {
        let mut lanes = [
            seed.wrapping_add(P[0]).wrapping_add(P[1]),
            seed.wrapping_add(P[1]),
            seed,
            seed.wrapping_sub(P[0]),
        ];
        while rest.len() >= 32 {
            for (at, lane) in lanes.iter_mut().enumerate() {
                *lane = round(*lane, word(&rest[8 * at..8 * at + 8]));
            }
            rest = &rest[32..];
        }
        let turned = lanes.iter().zip([1, 7, 12, 18]).map(|(lane, by)| lane.rotate_left(by));
        let merged = turned.fold(0_u64, u64::wrapping_add);
        lanes.iter().fold(merged, |hash, lane| {
            (hash ^ round(0, *lane)).wrapping_mul(P[0]).wrapping_add(P[3])
        })
    };
    hash = hash.wrapping_add(data.len() as u64);
    while rest.len() >= 8 {
        hash = (hash ^ round(0, word(&rest[..8])))
            .rotate_left(27)
            .wrapping_mul(P[0])
            .wrapping_add(P[3]);
        rest = &rest[8..];
    }
    if rest.len() >= 4 {
        hash = (hash ^ word(&rest[..4]).wrapping_mul(P[0])).rotate_left(23);
        hash = hash.wrapping_mul(P[1]).wrapping_add(P[2]);
        rest = &rest[4..];
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte).wrapping_mul(P[4])).rotate_left(11).wrapping_mul(P[0]);
    }
    for (by, times) in [(33, P[1]), (29, P[2])] {
        hash = (hash ^ (hash >> by)).wrapping_mul(times);
    }
    hash ^ (hash >> 32)
}

#[test]
fn the_hash_is_the_published_one() {
    let long: Vec<u8> = (0..=100).collect();
    assert_eq!(xxh64(b"", 0), 0xef46_db37_51d8_e999);
    assert_eq!(xxh64(b"abc", 0), 0x44bc_2cf5_ad77_0999);
    for (length, seed) in [(4, 1), (8, 2), (12, 3), (31, 4), (32, 5), (63, 6), (101, u64::MAX)] {
        let filter = sluicegate_s3select::value::BloomFilter::empty(1, 1, seed as i64);
        assert_eq!(xxh64(&long[..length], seed), filter.hash_text(&long[..length]), "{length}");
    }
}

fn with_bloom(sql: &str) -> SelectRequest {
    SelectRequest { extras: Extras::ALL, ..request(sql) }
}

#[test]
fn values_of_every_kind_are_looked_up_and_nothing_is_unknown() {
    // Test full and empty filters.
    for (bits, found) in [("////", "true"), ("AAAA", "false")] {
        for value in [
            "s._1",
            "CAST(s._1 AS INT)",
            "CAST(s._1 AS FLOAT)",
            "CAST(s._1 AS DECIMAL(9, 2))",
            "CAST('2020-01-01' AS TIMESTAMP)",
            "s._1 = '5'",
            "5",
        ] {
            let call = |value: &str| format!("BLOOM_CONTAINS('{bits}', 3, 1, {value})");
            let sql = format!(
                "SELECT {}, {} IS NULL, {} IS NULL FROM S3Object s",
                call(value),
                call("NULLIF(s._1, '5')"),
                call("s._9")
            );
            check(&with_bloom(&sql), "5\n", &format!("{found},true,true\n"));
        }
    }
}

#[test]
fn lists_and_objects_are_not_looked_up() {
    let sql = "SELECT BLOOM_CONTAINS('AA==', 1, 0, s.a) FROM S3Object s";
    let mut request = with_bloom(sql);
    request.input.format = InputFormat::Json(JsonType::Lines);
    check(&request, "{\"a\":null}\n{}\n{\"a\":1}\n", "\"\"\n\"\"\nfalse\n");
    for (object, what) in [("{\"a\":[1]}\n", "no list"), ("{\"a\":{\"b\":1}}\n", "no struct")] {
        check_error(&request, object, Code::IncorrectSqlFunctionArgumentType, what);
    }
}

#[test]
fn a_plain_request_has_no_such_function() {
    let sql = "SELECT BLOOM_CONTAINS('AA==', 1, 0, s._1) FROM S3Object s";
    check_error(&request(sql), "5\n", Code::UnsupportedFunction, "not a function");
    let malformed = with_bloom(&sql.replace("AA==", "A"));
    check_error(&malformed, "5\n", Code::IllegalSqlFunctionArgument, "not base64");
}
