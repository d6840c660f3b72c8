//! Statements over Parquet files that were tampered with.
#![no_main]

use std::panic;
use std::process::abort;

use libfuzzer_sys::fuzz_target;
use sluicegate_fuzz::Question;
use sluicegate_s3select::request::{InputFormat, SelectRequest};

fuzz_target!(
    init: {
        // The evaluator catches panics of the Parquet library and returns an error. A panic in our own code is a
        // finding all the same, and so is one that is not caught.
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let file = info.location().map_or("", |location| location.file());
            if ["s3select", "evaluator", "fuzz_targets", "question.rs"].iter().any(|ours| file.contains(ours)) {
                report(info);
                abort();
            }
        }));
    },
    |input: &[u8]| {
        let Some(question) = Question::read(input) else { return };
        let request = question.request(InputFormat::Parquet);
        let ranged = SelectRequest { scan_range: question.options.scan_range(), ..request.clone() };
        // No property of the answers is checked, because a file's statistics may contradict its data.
        let _ = question.ask(&request);
        let _ = question.ask(&ranged);
    }
);
