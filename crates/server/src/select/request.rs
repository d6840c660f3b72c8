//! Parsing of a request's XML to a [`SelectRequest`].

use s3s::dto;
use s3s::xml::{DeError, Deserializer};
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::request::{
    Compression, CsvInput, CsvOutput, FileHeaderInfo, InputFormat, InputSerialization, JsonType,
    OutputSerialization, QuoteFields, ScanRange, SelectRequest,
};
use sluicegate_s3select::{SelectError, SelectErrorCode as Code};

type Result<T> = std::result::Result<T, SelectError>;

/// S3's limit on an expression, in bytes.
const MAX_EXPRESSION: usize = 256 * 1024;

fn refuse<T>(code: Code, message: &'static str) -> Result<T> {
    Err(SelectError::new(code, message))
}

/// Parses a body with either of the two root elements.
pub(super) fn parse(body: &[u8]) -> Result<SelectRequest> {
    if body.is_empty() {
        return refuse(Code::EmptyRequestBody, "the request has no body");
    }
    let mut xml = Deserializer::new(body);
    let roots = ["SelectObjectContentRequest", "SelectRequest"];
    let request = xml
        .named_element_any(&roots, |xml| xml.content::<dto::SelectObjectContentRequest>())
        .and_then(|request| xml.expect_eof().map(|()| request));
    match request {
        Ok(request) => convert(request),
        Err(DeError::MissingField) => refuse(
            Code::MissingRequiredParameter,
            "Expression, ExpressionType, InputSerialization and OutputSerialization are required",
        ),
        Err(_) => refuse(
            Code::MalformedXML,
            "the body is not the XML of a select request; its numbers are below 2^63",
        ),
    }
}

fn convert(request: dto::SelectObjectContentRequest) -> Result<SelectRequest> {
    if request.expression.len() > MAX_EXPRESSION {
        return refuse(Code::ExpressionTooLong, "an expression has at most 256 KiB");
    }
    if !request.expression_type.as_str().eq_ignore_ascii_case("SQL") {
        return refuse(Code::InvalidExpressionType, "the expression type is SQL");
    }
    Ok(SelectRequest {
        expression: request.expression,
        input: input(request.input_serialization)?,
        output: output(request.output_serialization)?,
        scan_range: request.scan_range.map(scan_range).transpose()?,
        progress: request.request_progress.and_then(|p| p.enabled).unwrap_or(false),
        // Extensions are requested by headers.
        extras: Extras::NONE,
    })
}

fn input(input: dto::InputSerialization) -> Result<InputSerialization> {
    let compression = match keyword(input.compression_type.as_ref().map(|c| c.as_str())).as_str() {
        "" | "NONE" => Compression::None,
        "GZIP" => Compression::Gzip,
        "BZIP2" => Compression::Bzip2,
        _ => {
            let message = "the compression type is NONE, GZIP or BZIP2";
            return refuse(Code::InvalidCompressionFormat, message);
        }
    };
    let format = match (input.csv, input.json, input.parquet) {
        (Some(csv), None, None) => InputFormat::Csv(csv_input(csv)?),
        (None, Some(json), None) => {
            match keyword(json.type_.as_ref().map(|t| t.as_str())).as_str() {
                "DOCUMENT" => InputFormat::Json(JsonType::Document),
                "LINES" => InputFormat::Json(JsonType::Lines),
                _ => return refuse(Code::InvalidJsonType, "the JSON type is DOCUMENT or LINES"),
            }
        }
        (None, None, Some(_)) => InputFormat::Parquet,
        (None, None, None) => {
            let message = "InputSerialization names no format: CSV, JSON or Parquet";
            return refuse(Code::MissingRequiredParameter, message);
        }
        _ => {
            let message = "InputSerialization names more than one format";
            return refuse(Code::ObjectSerializationConflict, message);
        }
    };
    Ok(InputSerialization { format, compression })
}

fn csv_input(csv: dto::CSVInput) -> Result<CsvInput> {
    let header = match keyword(csv.file_header_info.as_ref().map(|h| h.as_str())).as_str() {
        "" | "NONE" => FileHeaderInfo::None,
        "IGNORE" => FileHeaderInfo::Ignore,
        "USE" => FileHeaderInfo::Use,
        _ => {
            let message = "the file header info is NONE, IGNORE or USE";
            return refuse(Code::InvalidFileHeaderInfo, message);
        }
    };
    let defaults = CsvInput::default();
    let quote = optional_char(csv.quote_character, defaults.quote)?;
    Ok(CsvInput {
        header,
        field_delimiter: csv.field_delimiter.unwrap_or(defaults.field_delimiter),
        record_delimiter: csv.record_delimiter.unwrap_or(defaults.record_delimiter),
        quote,
        quote_escape: match csv.quote_escape_character {
            // S3's default is `"`. With another quote character, a doubled quote character is the escape.
            None => quote,
            given => optional_char(given, None)?,
        },
        comments: optional_char(csv.comments, defaults.comments)?,
        allow_quoted_record_delimiter: csv.allow_quoted_record_delimiter.unwrap_or(false),
        strict_lines: defaults.strict_lines,
        strict_fields: defaults.strict_fields,
    })
}

fn output(output: dto::OutputSerialization) -> Result<OutputSerialization> {
    match (output.csv, output.json) {
        (Some(csv), None) => Ok(OutputSerialization::Csv(csv_output(csv)?)),
        (None, Some(json)) => Ok(OutputSerialization::Json {
            record_delimiter: json.record_delimiter.unwrap_or_else(|| "\n".to_owned()),
        }),
        (None, None) => {
            let message = "OutputSerialization names no format: CSV or JSON";
            refuse(Code::MissingRequiredParameter, message)
        }
        (Some(_), Some(_)) => {
            let message = "OutputSerialization names more than one format";
            refuse(Code::ObjectSerializationConflict, message)
        }
    }
}

fn csv_output(csv: dto::CSVOutput) -> Result<CsvOutput> {
    let quote_fields = match keyword(csv.quote_fields.as_ref().map(|q| q.as_str())).as_str() {
        "" | "ASNEEDED" => QuoteFields::AsNeeded,
        "ALWAYS" => QuoteFields::Always,
        _ => return refuse(Code::InvalidQuoteFields, "fields are quoted ALWAYS or ASNEEDED"),
    };
    let defaults = CsvOutput::default();
    let quote = optional_char(csv.quote_character, Some(defaults.quote))?.unwrap_or(defaults.quote);
    Ok(CsvOutput {
        quote_fields,
        field_delimiter: csv.field_delimiter.unwrap_or(defaults.field_delimiter),
        record_delimiter: csv.record_delimiter.unwrap_or(defaults.record_delimiter),
        quote,
        quote_escape: optional_char(csv.quote_escape_character, Some(quote))?.unwrap_or(quote),
    })
}

fn scan_range(range: dto::ScanRange) -> Result<ScanRange> {
    let offset = |n: i64| match u64::try_from(n) {
        Ok(n) => Ok(n),
        Err(_) => refuse(Code::InvalidScanRange, "an offset is not negative"),
    };
    match (range.start, range.end) {
        (Some(start), Some(end)) => {
            Ok(ScanRange::Bounded { start: offset(start)?, last: offset(end)? })
        }
        (Some(start), None) => Ok(ScanRange::From { start: offset(start)? }),
        (None, Some(end)) => Ok(ScanRange::Suffix { length: offset(end)? }),
        (None, None) => refuse(Code::InvalidScanRange, "a scan range needs a start or an end"),
    }
}

fn keyword(text: Option<&str>) -> String {
    text.unwrap_or_default().trim().to_ascii_uppercase()
}

/// Returns a character, `None` for an empty text, or the default for an absent one.
fn optional_char(text: Option<String>, default: Option<char>) -> Result<Option<char>> {
    let Some(text) = text else { return Ok(default) };
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (first, None) => Ok(first),
        _ => refuse(
            Code::InvalidRequestParameter,
            "the quote, quote escape and comment characters are one character each",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: &str = "<InputSerialization><CSV/></InputSerialization>";
    const OUTPUT: &str = "<OutputSerialization><CSV/></OutputSerialization>";

    fn body(input: &str, output: &str, rest: &str) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <SelectObjectContentRequest xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n  \
             <Expression>SELECT * FROM S3Object s WHERE s._1 &lt; 'a' AND s._2 > '&#233;'</Expression>\n  \
             <ExpressionType>SQL</ExpressionType>{rest}{input}\n{output}\
             </SelectObjectContentRequest>"
        )
    }

    #[test]
    fn defaults_are_the_services() {
        let request = parse(body(INPUT, OUTPUT, "").as_bytes()).unwrap();
        assert_eq!(
            request,
            SelectRequest {
                expression: "SELECT * FROM S3Object s WHERE s._1 < 'a' AND s._2 > 'é'".to_owned(),
                input: InputSerialization {
                    format: InputFormat::Csv(CsvInput::default()),
                    compression: Compression::None,
                },
                output: OutputSerialization::Csv(CsvOutput::default()),
                scan_range: None,
                progress: false,
                extras: Extras::NONE,
            }
        );
    }

    #[test]
    fn the_other_root_is_accepted() {
        let text = body(INPUT, OUTPUT, "").replace("SelectObjectContentRequest", "SelectRequest");
        assert!(parse(text.as_bytes()).is_ok());
    }

    #[test]
    fn every_option_arrives() {
        let input = "<InputSerialization><CompressionType>gzip</CompressionType><CSV>\
            <FileHeaderInfo>Use</FileHeaderInfo><FieldDelimiter>&#9;</FieldDelimiter>\
            <RecordDelimiter>&#13;&#10;</RecordDelimiter><QuoteCharacter>'</QuoteCharacter>\
            <QuoteEscapeCharacter>\\</QuoteEscapeCharacter><Comments></Comments>\
            <AllowQuotedRecordDelimiter>true</AllowQuotedRecordDelimiter></CSV></InputSerialization>";
        let output = "<OutputSerialization><JSON><RecordDelimiter>,</RecordDelimiter></JSON>\
            </OutputSerialization>";
        let rest = "<RequestProgress><Enabled>true</Enabled></RequestProgress>\
            <ScanRange><Start>7</Start><End>9</End></ScanRange>";
        let request = parse(body(input, output, rest).as_bytes()).unwrap();
        let csv = CsvInput {
            header: FileHeaderInfo::Use,
            field_delimiter: "\t".to_owned(),
            record_delimiter: "\r\n".to_owned(),
            quote: Some('\''),
            quote_escape: Some('\\'),
            comments: None,
            allow_quoted_record_delimiter: true,
            strict_lines: false,
            strict_fields: None,
        };
        assert_eq!(request.input.format, InputFormat::Csv(csv));
        assert_eq!(request.input.compression, Compression::Gzip);
        assert_eq!(request.output, OutputSerialization::Json { record_delimiter: ",".to_owned() });
        assert_eq!(request.scan_range, Some(ScanRange::Bounded { start: 7, last: 9 }));
        assert!(request.progress);
    }

    #[test]
    fn delimiters_of_white_space_survive_unescaped() {
        let input = "<InputSerialization><CSV><FieldDelimiter>\t</FieldDelimiter>\
            <RecordDelimiter>\n</RecordDelimiter></CSV></InputSerialization>";
        let request = parse(body(input, OUTPUT, "").as_bytes()).unwrap();
        let InputFormat::Csv(csv) = request.input.format else { panic!("{request:?}") };
        assert_eq!((csv.field_delimiter.as_str(), csv.record_delimiter.as_str()), ("\t", "\n"));
    }

    #[track_caller]
    fn check_refused(body: &str, code: Code) {
        assert_eq!(parse(body.as_bytes()).map_err(|e| e.code), Err(code), "{body}");
    }

    #[test]
    fn refusals_have_the_services_codes() {
        check_refused("", Code::EmptyRequestBody);
        check_refused("<Nonsense/>", Code::MalformedXML);
        check_refused("<SelectRequest><Expression>", Code::MalformedXML);
        check_refused("\0\u{1}", Code::MalformedXML);
        check_refused("<SelectRequest></SelectRequest>", Code::MissingRequiredParameter);
        let good = body(INPUT, OUTPUT, "");
        check_refused(&good.replace(INPUT, ""), Code::MissingRequiredParameter);
        check_refused(&good.replace("SQL", "XPath"), Code::InvalidExpressionType);
        check_refused(&good.replace("<CSV/></In", "</In"), Code::MissingRequiredParameter);
        check_refused(
            &good.replace("<CSV/></In", "<CSV/><Parquet/></In"),
            Code::ObjectSerializationConflict,
        );
        check_refused(&good.replace("<CSV/></Out", "</Out"), Code::MissingRequiredParameter);
        check_refused(
            &good.replace("<CSV/></Out", "<CSV/><JSON/></Out"),
            Code::ObjectSerializationConflict,
        );
        let csv = |option: &str| good.replace("<CSV/></In", &format!("<CSV>{option}</CSV></In"));
        check_refused(&csv("<FileHeaderInfo>YES</FileHeaderInfo>"), Code::InvalidFileHeaderInfo);
        check_refused(&csv("<QuoteCharacter>ab</QuoteCharacter>"), Code::InvalidRequestParameter);
        check_refused(
            &good.replace("<CSV/></In", "<CSV/><CompressionType>LZ4</CompressionType></In"),
            Code::InvalidCompressionFormat,
        );
        check_refused(
            &good.replace("<CSV/></In", "<JSON><Type>ROWS</Type></JSON></In"),
            Code::InvalidJsonType,
        );
        check_refused(
            &good.replace("<CSV/></Out", "<CSV><QuoteFields>NO</QuoteFields></CSV></Out"),
            Code::InvalidQuoteFields,
        );
        check_refused(&body(INPUT, OUTPUT, "<ScanRange/>"), Code::InvalidScanRange);
        check_refused(
            &body(INPUT, OUTPUT, "<ScanRange><Start>-1</Start></ScanRange>"),
            Code::InvalidScanRange,
        );
        // The schema's integers have 64 bits with a sign.
        for far in ["9223372036854775808", "18446744073709551616"] {
            for side in ["Start", "End"] {
                let range = format!("<ScanRange><{side}>{far}</{side}></ScanRange>");
                check_refused(&body(INPUT, OUTPUT, &range), Code::MalformedXML);
            }
        }
        check_refused(
            &good.replace("SELECT", &"x".repeat(MAX_EXPRESSION)),
            Code::ExpressionTooLong,
        );
    }
}
