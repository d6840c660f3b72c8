//! Several ranges in a GET: the parsed ranges lie within the object and the parsed parts within the body, or an error
//! is returned.
//!
//! The first byte selects the kind of input: a header; the body of an answer; or ranges, from which header and body
//! are built and parsed.
#![no_main]

use std::ops::Range;

use libfuzzer_sys::fuzz_target;
use sluicegate_s3select::byteranges::{
    MAX_RANGES, MultipartBody, RangeHeader, boundary_of, found, header, header_bytes,
};

const BOUNDARY: &str = "b0undary";

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    match kind % 3 {
        0 => asked(&String::from_utf8_lossy(rest)),
        1 => answered(rest),
        _ => ranges(rest),
    }
});

fn asked(value: &str) {
    let _ = boundary_of(value);
    let Some(asked) = RangeHeader::parse(value) else { return };
    for size in [0, 1, 100, u64::MAX] {
        let ranges = asked.resolve(size);
        assert!(ranges.len() <= MAX_RANGES);
        let mut sorted = ranges.clone();
        sorted.sort_by_key(|range| range.start);
        assert!(sorted.windows(2).all(|pair| pair[0].end < pair[1].start));
        assert!(ranges.iter().all(|range| range.start < range.end && range.end <= size));
        if !ranges.is_empty() {
            assert_eq!(
                RangeHeader::parse(&header(&ranges)).map(|it| it.resolve(size)),
                Some(ranges)
            );
        }
    }
}

fn answered(body: &[u8]) {
    let ranges = [1..3, 8..24, 4..5];
    let Ok(parts) = found(body, BOUNDARY, &ranges, 24) else { return };
    for (part, range) in parts.into_iter().zip(ranges) {
        assert_eq!(body[part].len() as u64, range.end - range.start);
    }
}

/// Builds ranges of the input itself. Its bytes alternate between gaps and lengths.
fn ranges(object: &[u8]) {
    let mut at = 0;
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for pair in object.chunks_exact(2).take(MAX_RANGES) {
        let start = at + u64::from(pair[0]) + 1;
        at = start + u64::from(pair[1]) + 1;
        if at <= object.len() as u64 {
            ranges.push(start..at);
        }
    }
    if ranges.is_empty() {
        return;
    }
    let size = object.len() as u64;
    let value = header(&ranges);
    assert!(value.len() <= "bytes=".len() + ranges.iter().map(header_bytes).sum::<usize>());
    assert_eq!(RangeHeader::parse(&value).map(|asked| asked.resolve(size)), Some(ranges.clone()));
    let parts = MultipartBody::new(BOUNDARY.to_owned(), "text/csv".to_owned(), size);
    assert_eq!(boundary_of(&parts.content_type()).as_deref(), Some(BOUNDARY));
    let bytes = |range: &Range<u64>| &object[range.start as usize..range.end as usize];
    let mut body = Vec::new();
    for range in &ranges {
        body.extend(parts.head(range).into_bytes());
        body.extend(bytes(range));
    }
    body.extend(parts.end().into_bytes());
    assert!(body.len() as u64 <= MultipartBody::most_bytes(&ranges));
    let found = found(&body, BOUNDARY, &ranges, size).unwrap();
    for (part, range) in found.into_iter().zip(&ranges) {
        assert_eq!(&body[part], bytes(range));
    }
}
