//! The parser accepts the printer's output, and no input makes either fail.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluicegate_s3select::SelectErrorCode as Code;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_s3select::dialect::{Extras, check, parse_with};
use sluicegate_s3select::request::{
    Compression, CsvInput, InputFormat, InputSerialization, JsonType,
};

fuzz_target!(|text: &str| {
    let parse = |text: &str| parse_with(text, Extras::ALL);
    let Ok(query) = parse(text) else { return };
    let printed = query.to_string();
    let again = match parse(&printed) {
        Ok(again) => again,
        // The printer's parentheses and longer spellings may exceed a limit.
        Err(error) => {
            let limits = [Code::ExpressionTooLong, Code::MaxOperatorsExceeded];
            assert!(limits.contains(&error.code), "{error} for {printed}");
            return;
        }
    };
    if again != query {
        // The parser balances chains of more than 32 operators; the balanced form stays the same.
        let words = printed.split(' ').filter(|word| ["AND", "OR"].contains(word)).count();
        assert!(words > 32, "{printed} of {text:?}");
        assert_eq!(again.to_string().len(), parse(&again.to_string()).unwrap().to_string().len());
    }
    let formats = [
        InputFormat::Csv(CsvInput::default()),
        InputFormat::Json(JsonType::Lines),
        InputFormat::Json(JsonType::Document),
        InputFormat::Parquet,
    ];
    for format in formats {
        let input = InputSerialization { format, compression: Compression::None };
        // GROUP BY compares expressions, and a balanced chain may equal another one.
        if again != query && !query.group_by.is_empty() {
            continue;
        }
        assert_eq!(check(&query, &input).is_ok(), check(&again, &input).is_ok(), "{printed}");
    }
    for profile in StoreCapabilities::all() {
        let _ = profile.allows(&query);
    }
});
