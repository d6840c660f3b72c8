//! Compressed objects.

use std::io::Write;

use super::{check_error, request, run};
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
