//! Index objects that a bucket may contain: the reader returns entries or an error.
//!
//! The first byte selects the kind of input: a whole object; a block, whose checksum is corrected; a top, around
//! which a valid object is built; or keys, from which an object is built and read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluicegate_index::layout::{
    BlockMessage, Blocks, MAGIC, RecordLocation, TRAILER, TopMessage, VERSION, entries,
};
use sluicegate_index::span::{Span, Spans};

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    match kind % 4 {
        0 => read(rest),
        1 => block(rest),
        2 => top(rest),
        _ => keys(rest),
    }
});

fn read(object: &[u8]) {
    let Ok(top) = TopMessage::of_tail(object, object.len() as u64) else { return };
    assert!(TopMessage::tail_bytes(object).is_ok());
    for (place, block) in top.places().into_iter().zip(&top.blocks) {
        assert!(place.end <= object.len() as u64);
        let bytes = &object[place.start as usize..place.end as usize];
        let _ = entries(bytes, block, |_, _| ());
    }
}

fn block(input: &[u8]) {
    let Some((count, block)) = input.split_first_chunk() else { return };
    let known = BlockMessage {
        bytes: block.len() as u32,
        checksum: crc32fast::hash(block),
        entries: u32::from(u16::from_le_bytes(*count)),
        ..BlockMessage::default()
    };
    let (mut found, mut key_bytes) = (0, 0);
    let whole = entries(block, &known, |key, _| {
        found += 1;
        key_bytes += key.len();
    });
    assert!(key_bytes + 3 * found <= block.len());
    assert!(whole.is_err() || found == known.entries as usize);
}

fn top(input: &[u8]) {
    let Some((about, message)) = input.split_first_chunk::<8>() else { return };
    let mut tail = message.to_vec();
    tail.extend((message.len() as u32).to_le_bytes());
    tail.extend(crc32fast::hash(message).to_le_bytes());
    tail.extend(MAGIC);
    let blocks = u64::from(u32::from_le_bytes([about[0], about[1], about[2], about[3]]));
    let size = MAGIC.len() as u64 + blocks + tail.len() as u64;
    let Ok(top) = TopMessage::of_tail(&tail, size) else { return };
    assert_eq!(tail.len(), TopMessage::tail_bytes(&tail).unwrap());
    let end = top.places().last().map_or(MAGIC.len() as u64, |place| place.end);
    assert_eq!(end + tail.len() as u64, size);
    let span = Span { low: about[4..6].to_vec(), high: Some(about[6..].to_vec()) };
    let found = top.blocks_with(&span.into());
    assert!(found.is_sorted() && found.iter().all(|number| *number < top.blocks.len()));
}

/// Returns pieces of the input, each after a byte with its length.
fn pieces(mut input: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    while let Some((length, rest)) = input.split_first() {
        let (piece, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        pieces.push(piece.to_vec());
        input = rest;
    }
    pieces
}

fn keys(input: &[u8]) {
    let Some((repeats, rest)) = input.split_first() else { return };
    let mut pieces = pieces(rest);
    let spans: Vec<Span> = pieces
        .split_off(pieces.len().saturating_sub(4))
        .chunks(2)
        .map(|ends| Span { low: ends[0].clone(), high: ends.get(1).cloned() })
        .collect();
    let spans = Spans::sorted(spans);
    pieces.sort();
    let mut object = MAGIC.to_vec();
    let mut blocks = Blocks::default();
    let mut expected = Vec::new();
    for (number, key) in pieces.iter().enumerate() {
        for repeat in 0..=u64::from(*repeats / 8) {
            let place = RecordLocation { first: number as u64 * 1000 + repeat, bytes: 1 + repeat };
            object.extend(blocks.push(key, place).unwrap_or_default());
            if spans.contains(key) {
                expected.push((key.clone(), place));
            }
        }
    }
    object.extend(blocks.end().unwrap_or_default());
    let top = TopMessage { version: VERSION, blocks: blocks.done(), ..TopMessage::default() };
    object.extend(top.to_tail());
    assert!(object.len() >= MAGIC.len() + TRAILER);
    let top = TopMessage::of_tail(&object, object.len() as u64).unwrap();
    let (places, mut found) = (top.places(), Vec::new());
    for number in top.blocks_with(&spans) {
        let place = &places[number];
        let bytes = &object[place.start as usize..place.end as usize];
        entries(bytes, &top.blocks[number], |key, place| {
            if spans.contains(key) {
                found.push((key.to_vec(), place));
            }
        })
        .unwrap();
    }
    assert_eq!(found, expected);
}
