//! Statements over CSV objects with all options.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluicegate_fuzz::Question;
use sluicegate_s3select::request::InputFormat;

fuzz_target!(|input: &[u8]| {
    let Some(question) = Question::read(input) else { return };
    let request = question.request(InputFormat::Csv(question.options.csv_input()));
    question.check(&request);
    question.check_parts(&request);
    question.check_threads(&request);
});
