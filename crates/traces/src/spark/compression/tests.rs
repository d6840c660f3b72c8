use std::io::Cursor;

use proptest::prelude::*;
use twox_hash::XxHash32;

use super::*;

const CODECS: [&str; 3] = ["LZ4", "Snappy", "LZF"];

/// Writes a stream of blocks like Spark. LZF is not compressed.
fn compressed(codec: &str, text: &[u8], block: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    if codec == "Snappy" {
        bytes.extend_from_slice(snappy::MAGIC);
        bytes.extend([0, 0, 0, 1, 0, 0, 0, 1]);
    }
    for block in text.chunks(block) {
        match codec {
            "LZ4" => {
                let packed = lz4_flex::block::compress(block);
                let (token, packed) = if packed.len() < block.len() {
                    (0x26, packed)
                } else {
                    (0x16, block.to_vec())
                };
                lz4_block(&mut bytes, token, &packed, block);
            }
            "Snappy" => {
                let packed = snap::raw::Encoder::new().compress_vec(block).unwrap();
                bytes.extend((packed.len() as u32).to_be_bytes());
                bytes.extend(packed);
            }
            _ => {
                bytes.extend([b'Z', b'V', 0]);
                bytes.extend((block.len() as u16).to_be_bytes());
                bytes.extend(block);
            }
        }
    }
    if codec == "LZ4" {
        bytes.extend_from_slice(lz4::MAGIC);
        bytes.extend([0x16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
    bytes
}

fn lz4_block(bytes: &mut Vec<u8>, token: u8, packed: &[u8], block: &[u8]) {
    bytes.extend_from_slice(lz4::MAGIC);
    bytes.push(token);
    bytes.extend((packed.len() as u32).to_le_bytes());
    bytes.extend((block.len() as u32).to_le_bytes());
    bytes.extend((XxHash32::oneshot(0x9747_B28C, block) & 0x0FFF_FFFF).to_le_bytes());
    bytes.extend(packed);
}

/// Reads a stream up to its end or to an error.
fn read(bytes: Vec<u8>) -> (Vec<u8>, io::Result<()>) {
    let mut found = Vec::new();
    let result = text(Cursor::new(bytes)).and_then(|mut reader| reader.read_to_end(&mut found));
    (found, result.map(|_| ()))
}

#[test]
fn streams_may_follow_each_other() {
    for codec in CODECS {
        let twice = compressed(codec, b"abcabcabcabcabcabcabcabcabc", 20).repeat(2);
        let (found, result) = read(twice);
        result.unwrap();
        assert_eq!(found, b"abcabcabcabcabcabcabcabcabc".repeat(2), "{codec}");
    }
}

#[test]
fn damaged_blocks_are_named_with_their_place() {
    #[track_caller]
    fn check(codec: &str, change: impl Fn(&mut Vec<u8>), expected: &str) {
        // The expected messages depend on the length of this text, which is the first block.
        let text = b"to be or not to be or not to be or not to be";
        let mut bytes = compressed(codec, text, 100);
        change(&mut bytes);
        let (found, result) = read(bytes);
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.to_string().contains(expected), "{error}");
        assert!(found.is_empty() || expected.contains("begin as one"), "{found:?}");
    }
    let lz4 = |at: usize, byte: u8| move |bytes: &mut Vec<u8>| bytes[at] = byte;
    check("LZ4", lz4(8, 0x46), "the LZ4 block at byte 0 of the file is of the unknown method 0x40");
    check("LZ4", lz4(8, 0x16), "is not compressed, but has");
    check("LZ4", lz4(17, 0), "has the checksum 0x");
    check("LZ4", lz4(13, 43), "cannot be decompressed");
    check("LZ4", lz4(13, 45), "has 44 bytes, not the 45 that it names");
    check("LZ4", lz4(16, 0xFF), "of a stream of blocks of 65536");
    check("LZ4", lz4(12, 0xFF), "but at most 33554432 can be");
    check("LZ4", |bytes| bytes[13..17].fill(0), "bytes compressed, and 0 not");
    check("LZ4", |bytes| bytes.extend(b"and what is not of it"), "does not begin as one");
    let end = |bytes: &mut Vec<u8>| {
        *bytes = [lz4::MAGIC, &[0x16, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]].concat()
    };
    check("LZ4", end, "is empty but has a checksum");
    let snappy = |at: usize, bytes: [u8; 4]| {
        move |all: &mut Vec<u8>| all[at..at + 4].copy_from_slice(&bytes)
    };
    check("Snappy", snappy(12, [0, 0, 0, 2]), "is of version 2, but 1 is known");
    check(
        "Snappy",
        snappy(16, [0xFF; 4]),
        "the Snappy block at byte 16 of the file has 4294967295",
    );
    check("Snappy", snappy(20, [0xFF, 0xFF, 0xFF, 0x7F]), "but at most");
    check("Snappy", snappy(21, [0xFF; 4]), "cannot be decompressed");
    check("LZF", lz4(2, 9), "the LZF block at byte 0 of the file is of the unknown kind 9");
    let as_if_compressed = |bytes: &mut Vec<u8>| {
        bytes[2] = 1;
        bytes.extend(b"more");
    };
    check("LZF", as_if_compressed, "cannot be decompressed");
    check("LZF", |bytes| bytes.extend(b"not of it"), "does not begin as one");
}

#[test]
fn gzip_is_refused() {
    let (_, result) = read(vec![0x1F, 0x8B, 8, 0]);
    assert!(result.unwrap_err().to_string().contains("is compressed with gzip"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn text_is_read_as_it_was_and_up_to_where_a_file_ends(
        codec in proptest::sample::select(&CODECS[..]),
        text in proptest::collection::vec(b'a'..b'e', 0..2000),
        block in 1_usize..300,
        keeps in any::<proptest::sample::Index>(),
    ) {
        let mut bytes = compressed(codec, &text, block);
        if bytes.is_empty() {
            return Ok(());
        }
        let (found, result) = read(bytes.clone());
        prop_assert!(result.is_ok() && found == text);
        let keeps = keeps.index(bytes.len());
        // A shorter start is not recognized as compressed.
        prop_assume!(keeps >= 8);
        bytes.truncate(keeps);
        let (found, result) = read(bytes);
        prop_assert!(text.starts_with(&found));
        prop_assert!(found.len() % block == 0 || found.len() == text.len());
        if let Err(error) = result {
            prop_assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        }
    }

    /// The result of a damaged stream is limited, and LZ4's checksums detect the damage.
    #[test]
    fn damage_is_found_or_harmless(
        codec in proptest::sample::select(&CODECS[..]),
        text in proptest::collection::vec(b'a'..b'e', 1..2000),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut bytes = compressed(codec, &text, 200);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let start = bytes.starts_with(lz4::MAGIC);
        let (found, _) = read(bytes);
        if start {
            prop_assert!(text.starts_with(&found));
        }
    }
}
