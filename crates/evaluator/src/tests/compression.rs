//! Tests compressed objects.

use std::io::Write;
use std::sync::Arc;

use proptest::prelude::*;

use super::{Answer, Evaluation, check_error, request, run};
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{Compression, SelectRequest};

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(text: &str) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn count(compression: Compression) -> SelectRequest {
    let mut request = request("SELECT COUNT(*), SUM(CAST(_1 AS INT)) FROM S3Object");
    request.input.compression = compression;
    request
}

#[test]
fn members_follow_each_other() {
    for (compression, encode) in
        [(Compression::Gzip, gzip as fn(&str) -> Vec<u8>), (Compression::Bzip2, bzip2)]
    {
        let object = [encode("1\n2\n3"), encode("4\n5\n")].concat();
        let (answer, stats) = run(&count(compression), object.clone()).unwrap();
        assert_eq!(answer, b"4,42\n");
        assert_eq!(stats.bytes_scanned, object.len() as u64);
        assert_eq!(stats.bytes_processed, 9);
    }
}

#[test]
fn truncated_and_wrong_streams_are_errors() {
    let text = (0..50_000).map(|i| format!("{i}\n")).collect::<String>();
    for (compression, object) in
        [(Compression::Gzip, gzip(&text)), (Compression::Bzip2, bzip2(&text))]
    {
        for cut in [1, 4, object.len() / 2, object.len() - 20] {
            let part = &object[..object.len() - cut];
            check_error(&count(compression), part, Code::TruncatedInput, "");
        }
        check_error(&count(compression), text.clone(), Code::InvalidCompressionFormat, "");
        assert_eq!(run(&count(compression), "").unwrap().0, b"0,\n");
    }
}

proptest! {
    /// Members may be empty, and zeros may follow each; anything else there is an error.
    #[test]
    fn padding_changes_nothing(
        members in proptest::collection::vec((0usize..200, 0usize..700, any::<bool>()), 1..5),
        garbage in proptest::option::of(1u8..),
    ) {
        for (compression, encode) in
            [(Compression::Gzip, gzip as fn(&str) -> Vec<u8>), (Compression::Bzip2, bzip2)]
        {
            let (mut object, mut plain) = (Vec::new(), String::new());
            for (rows, zeros, padded) in &members {
                let text: String = (0..*rows).map(|row| format!("{row}\n")).collect();
                object.extend(encode(&text));
                object.resize(object.len() + if *padded { *zeros } else { 0 }, 0);
                plain.push_str(&text);
            }
            let expected = run(&count(Compression::None), plain.clone()).unwrap().0;
            let (answer, stats) = run(&count(compression), object.clone()).unwrap();
            prop_assert_eq!(answer, expected);
            prop_assert_eq!(stats.bytes_scanned, object.len() as u64);
            prop_assert_eq!(stats.bytes_processed, plain.len() as u64);
            if let Some(byte) = garbage {
                object.push(byte);
                let error = run(&count(compression), object).unwrap_err();
                let codes = [Code::TruncatedInput, Code::InvalidCompressionFormat];
                prop_assert!(codes.contains(&error.code), "{}", error);
            }
        }
    }
}

#[test]
fn a_thread_that_decompresses_changes_nothing() {
    let rows: String = (0..400_000).map(|i| format!("{i},{}\n", i * 7919 % 10_007)).collect();
    let whole = gzip(&rows);
    assert!(whole.len() > 1 << 20);
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 20].fill(0xff);
    for object in [whole.clone(), whole[..middle].to_vec(), damaged] {
        for expression in [
            "SELECT COUNT(*), SUM(CAST(_2 AS INT)) FROM S3Object",
            "SELECT * FROM S3Object LIMIT 7",
        ] {
            let mut request = request(expression);
            request.input.compression = Compression::Gzip;
            let outcome = |threads| {
                let evaluation = Evaluation::prepare(&request, Arc::new(object.clone())).unwrap();
                assert_eq!(evaluation.max_threads(), 2);
                let mut answer = Answer::default();
                let stats = evaluation.run_on(threads, &mut answer);
                (answer.bytes, stats.map(|stats| stats.bytes_processed))
            };
            assert_eq!(outcome(1), outcome(2), "{expression}");
        }
    }
}
