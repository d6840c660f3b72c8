//! Bytes over a connection, to a server that accepts unsigned requests and to one that does not.
//!
//! The first byte chooses the server, the second the size of the pieces. No answer is an internal error, none shows
//! anything outside of the served folder, and no request without a key has an effect.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use sluicegate_fuzz::store::{Answer, OBJECTS, Store};

struct Fronts {
    anonymous: Store,
    signed: Store,
    /// The contents of a file outside of the served folder.
    outside: String,
}

thread_local! {
    static FRONTS: Fronts = start();
}

fn start() -> Fronts {
    let (anonymous, signed) = (Store::anonymous().unwrap(), Store::signed().unwrap());
    let outside = anonymous.outside().display().to_string();
    for store in [&anonymous, &signed] {
        fs::write(store.outside().join("outside"), &outside).unwrap();
    }
    Fronts { anonymous, signed, outside }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

fuzz_target!(|input: &[u8]| {
    let [server, piece, bytes @ ..] = input else { return };
    let piece = if *piece == 0 { bytes.len() } else { usize::from(*piece) };
    FRONTS.with(|fronts| {
        let signed = server & 1 != 0;
        let store = if signed { &fronts.signed } else { &fronts.anonymous };
        let answers = store.say(bytes, piece);
        // The fuzzer observes comparisons, so it may learn this text and send it.
        if !contains(bytes, &fronts.outside) {
            assert!(!contains(&answers, &fronts.outside), "it leaves its folder");
        }
        if !contains(bytes, "InternalError") {
            assert!(!contains(&answers, "InternalError"), "{}", answers.escape_ascii());
        }
        if let Some(first) = Answer::read(&answers) {
            assert!((200..600).contains(&first.status) && first.status != 500, "{first:?}");
            assert!(!(signed && first.is_good()), "{first:?}");
        }
        let outside = fs::read_to_string(store.outside().join("outside"));
        assert_eq!(outside.ok().as_ref(), Some(&fronts.outside), "it leaves its folder");
        if signed {
            for (key, object) in OBJECTS {
                assert_eq!(store.object(key).as_deref(), Some(object.as_bytes()), "{key}");
            }
        } else {
            store.reset().unwrap();
        }
    });
});
