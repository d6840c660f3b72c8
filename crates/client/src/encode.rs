//! Conversion of a [`SelectRequest`] to the SDK's types.

use aws_sdk_s3::types;

use super::error::Error;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_s3select::request::{
    Compression, CsvInput, CsvOutput, FileHeaderInfo, InputFormat, JsonType, OutputSerialization,
    QuoteFields, ScanRange, SelectRequest,
};

/// The parts of a request that need a conversion.
#[derive(Debug, Clone)]
pub(super) struct Encoded {
    pub(super) input: types::InputSerialization,
    pub(super) output: types::OutputSerialization,
    pub(super) scan_range: Option<types::ScanRange>,
}

/// Converts a request for a store of the given profile. `columns` is the number of columns of the
/// answer.
pub(super) fn encode(
    request: &SelectRequest,
    columns: usize,
    profile: &StoreCapabilities,
) -> Result<Encoded, Error> {
    check_xml(&request.expression)?;
    let input =
        types::InputSerialization::builder().compression_type(match request.input.compression {
            Compression::None => types::CompressionType::None,
            Compression::Gzip => types::CompressionType::Gzip,
            Compression::Bzip2 => types::CompressionType::Bzip2,
        });
    let input = match &request.input.format {
        InputFormat::Csv(csv) => input.csv(encode_csv_input(csv, profile)?),
        InputFormat::Json(json) => input.json(
            types::JsonInput::builder()
                .r#type(match json {
                    JsonType::Document => types::JsonType::Document,
                    JsonType::Lines => types::JsonType::Lines,
                })
                .build(),
        ),
        InputFormat::Parquet => input.parquet(types::ParquetInput::builder().build()),
    };
    let output = types::OutputSerialization::builder();
    let output = match &request.output {
        OutputSerialization::Csv(csv) => output.csv(encode_csv_output(csv, columns, profile)?),
        OutputSerialization::Json { record_delimiter } => {
            check_xml(record_delimiter)?;
            output.json(types::JsonOutput::builder().record_delimiter(record_delimiter).build())
        }
        // A header replaces the output options, which are required nevertheless.
        OutputSerialization::Arrow(_) => output.csv(types::CsvOutput::builder().build()),
    };
    let scan_range = request.scan_range.map(encode_scan_range).transpose()?;
    Ok(Encoded { input: input.build(), output: output.build(), scan_range })
}

fn encode_csv_input(csv: &CsvInput, profile: &StoreCapabilities) -> Result<types::CsvInput, Error> {
    // Leaving the element out means the service's default, not "none".
    let comments = csv.comments.map_or_else(|| profile.no_comments.clone(), String::from);
    let character = |c: Option<char>| c.map_or_else(String::new, String::from);
    let (quote, escape) = (character(csv.quote), character(csv.quote_escape));
    for text in [&csv.field_delimiter, &csv.record_delimiter, &comments, &quote, &escape] {
        check_xml(text)?;
    }
    Ok(types::CsvInput::builder()
        .file_header_info(match csv.header {
            FileHeaderInfo::None => types::FileHeaderInfo::None,
            FileHeaderInfo::Ignore => types::FileHeaderInfo::Ignore,
            FileHeaderInfo::Use => types::FileHeaderInfo::Use,
        })
        .field_delimiter(&csv.field_delimiter)
        .record_delimiter(&csv.record_delimiter)
        .quote_character(quote)
        .quote_escape_character(escape)
        .comments(comments)
        .allow_quoted_record_delimiter(csv.allow_quoted_record_delimiter)
        .build())
}

fn encode_csv_output(
    csv: &CsvOutput,
    columns: usize,
    profile: &StoreCapabilities,
) -> Result<types::CsvOutput, Error> {
    // An unquoted row of one empty field is a blank line, which readers skip.
    let lone = columns <= 1 && !profile.quotes_lone_empty_field;
    let quote_fields = if lone { QuoteFields::Always } else { csv.quote_fields };
    let (quote, escape) = (csv.quote.to_string(), csv.quote_escape.to_string());
    for text in [&csv.field_delimiter, &csv.record_delimiter, &quote, &escape] {
        check_xml(text)?;
    }
    Ok(types::CsvOutput::builder()
        .quote_fields(match quote_fields {
            QuoteFields::Always => types::QuoteFields::Always,
            QuoteFields::AsNeeded => types::QuoteFields::Asneeded,
        })
        .field_delimiter(&csv.field_delimiter)
        .record_delimiter(&csv.record_delimiter)
        .quote_character(quote)
        .quote_escape_character(escape)
        .build())
}

fn encode_scan_range(range: ScanRange) -> Result<types::ScanRange, Error> {
    let offset = |offset: u64| {
        i64::try_from(offset)
            .map_err(|_| refused("InvalidScanRange", "an offset beyond the largest object"))
    };
    let builder = types::ScanRange::builder();
    Ok(match range {
        ScanRange::Bounded { start, last } => builder.start(offset(start)?).end(offset(last)?),
        ScanRange::From { start } => builder.start(offset(start)?),
        ScanRange::Suffix { length } => builder.end(offset(length)?),
    }
    .build())
}

/// Refuses most control characters, because XML 1.0 cannot represent them, not even escaped. Stores would answer
/// `MalformedXML`.
fn check_xml(text: &str) -> Result<(), Error> {
    let illegal = |c: char| matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}');
    match text.chars().find(|c| illegal(*c)) {
        None => Ok(()),
        Some(c) => Err(refused(
            "MalformedXML",
            &format!("the character {} cannot be represented in XML", c.escape_unicode()),
        )),
    }
}

fn refused(code: &str, message: &str) -> Error {
    Error::Refused { code: code.to_owned(), message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_s3select::dialect::Extras;
    use sluicegate_s3select::request::InputSerialization;

    fn request(csv: CsvInput) -> SelectRequest {
        SelectRequest {
            expression: "SELECT 1 FROM S3Object".to_owned(),
            input: InputSerialization {
                format: InputFormat::Csv(csv),
                compression: Compression::None,
            },
            output: OutputSerialization::Csv(CsvOutput::default()),
            scan_range: None,
            progress: false,
            extras: Extras::NONE,
        }
    }

    #[test]
    fn every_csv_option_is_said() {
        let aws = StoreCapabilities::aws();
        let none = CsvInput { comments: None, quote: None, ..CsvInput::default() };
        let encoded = encode(&request(none), 2, &aws).unwrap().input.csv.unwrap();
        assert_eq!(encoded.comments(), Some("\u{7f}"));
        assert_eq!(encoded.quote_character(), Some(""));
        assert_eq!(encoded.quote_escape_character(), Some("\""));
        assert_eq!(encoded.allow_quoted_record_delimiter(), Some(false));
        assert_eq!(encoded.record_delimiter(), Some("\n"));
    }

    #[test]
    fn a_lone_column_is_quoted_where_the_store_would_send_a_blank_line() {
        let quoting = |columns, profile: StoreCapabilities| {
            let encoded = encode(&request(CsvInput::default()), columns, &profile).unwrap();
            encoded.output.csv.unwrap().quote_fields.unwrap()
        };
        assert_eq!(quoting(1, StoreCapabilities::aws()), types::QuoteFields::Always);
        assert_eq!(quoting(2, StoreCapabilities::aws()), types::QuoteFields::Asneeded);
        assert_eq!(quoting(1, StoreCapabilities::sluice()), types::QuoteFields::Asneeded);
    }

    #[test]
    fn what_xml_cannot_say_is_refused_here() {
        let csv = CsvInput { field_delimiter: "\u{1}".to_owned(), ..CsvInput::default() };
        let error = encode(&request(csv), 1, &StoreCapabilities::sluice()).unwrap_err();
        assert!(error.is_refusal(), "{error}");
        let range = SelectRequest {
            scan_range: Some(ScanRange::From { start: u64::MAX }),
            ..request(CsvInput::default())
        };
        encode(&range, 1, &StoreCapabilities::sluice()).unwrap_err();
    }
}
