//! Tests the options of CSV input.

use proptest::prelude::*;

use super::{check, check_error, request, request_with_header, run, with_csv};
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{
    CsvInput, CsvOutput, FileHeaderInfo, OutputSerialization, QuoteFields,
};

const ALL: &str = "SELECT * FROM S3Object";

#[test]
fn strict_lines_refuse_a_lone_carriage_return() {
    let strict = with_csv(ALL, |csv| {
        csv.strict_lines = true;
        csv.allow_quoted_record_delimiter = true;
    });
    check(&strict, "a\r\nb\n\r\n\"c\r\nd\"\r\ne\r", "a\nb\n\"c\r\nd\"\ne\n");
    let refused = |object: &str| {
        let message = "A carriage return without a line feed";
        check_error(&strict, object, Code::CSVParsingError, message);
    };
    refused("a\rb\n");
    refused("a\r\r\n");
    refused("\"a\rb\"\n");
    // Blocks are 256 KiB; a carriage return may be the last byte of one.
    for before in 256 * 1024 - 3..256 * 1024 + 3 {
        let object = format!("{}\n{}", "a".repeat(before / 2), "b".repeat(before - before / 2 - 1));
        refused(&format!("{object}\rc\n"));
        let good = format!("{object}\r\nc\n");
        check(&strict, &good, &good.replace('\r', ""));
    }
    let other = with_csv(ALL, |csv| {
        csv.strict_lines = true;
        csv.record_delimiter = ";".to_owned();
    });
    check(&other, "a\r;", "\"a\r\"\n");
}

#[test]
fn lines() {
    check(&request(ALL), "a,b\nc,d", "a,b\nc,d\n");
    check(&request(ALL), "a,b\r\nc,d\r\n", "a,b\nc,d\n");
    check(&request(ALL), "\n\na\n\r\n#no\nb\n", "a\nb\n");
    check(&request(ALL), "", "");
    check(&request(ALL), "\u{feff}a\n", "a\n");
    check(&with_csv(ALL, |csv| csv.comments = None), "#yes\n", "#yes\n");
    check(
        &with_csv(ALL, |csv| csv.record_delimiter = "|\n".to_owned()),
        "a|b\n|\nc|\n",
        "\"a|b\n\"\nc\n",
    );
    check(
        &with_csv(ALL, |csv| csv.record_delimiter = "\r\n".to_owned()),
        "a\nb\r\nc",
        "\"a\nb\"\nc\n",
    );
    check(&with_csv(ALL, |csv| csv.record_delimiter = "aa".to_owned()), "xaaayaa", "x\nay\n");
    check(&with_csv(ALL, |csv| csv.field_delimiter = "|".to_owned()), "a|b,c\n", "a,\"b,c\"\n");
    check(&with_csv(ALL, |csv| csv.field_delimiter = "·".to_owned()), "a·b·\n", "a,b,\n");
    let both = |csv: &mut CsvInput| {
        csv.field_delimiter = "|".to_owned();
        csv.record_delimiter = "|\n".to_owned();
    };
    check(&with_csv("SELECT _2, _3, _4 FROM S3Object", both), "a|b|c|\nd|e|\n", "b,c,\ne,,\n");
}

#[test]
fn ragged_rows_miss_fields() {
    check(&request("SELECT _1, _3 FROM S3Object"), "a,b\na,b,c,d\n", "a,\na,c\n");
    check(&request("SELECT COUNT(_2) FROM S3Object"), "a\nb,\nc,d\n", "2\n");
}

#[test]
fn strict_fields_refuse_ragged_rows() {
    for of in ["_1", "COUNT(*)"] {
        let strict = with_csv(&format!("SELECT {of} FROM S3Object"), |csv| {
            csv.strict_fields = Some(3);
            csv.header = FileHeaderInfo::Ignore;
            csv.allow_quoted_record_delimiter = true;
        });
        let refused = |object: &str, found: &str| {
            let message = format!("A record has {found} where there are to be 3");
            check_error(&strict, object, Code::CSVParsingError, &message);
        };
        let good = "x,y,z\r\na,,c\n\n\"a,\"\"b\",\"\",c\n\"a\nb\",c,d\n";
        let rows = if of == "_1" { "a\n\"a,\"\"b\"\n\"a\nb\"\n" } else { "3\n" };
        check(&strict, good, rows);
        for end in ["", "\n", "\r\n"] {
            refused(&format!("{good}a,b{end}"), "2 fields");
            refused(&format!("{good}a,b,c,{end}"), "4 fields");
            refused(&format!("{good}a{end}"), "1 fields");
            refused(&format!("{good}\"a,b\",\"c\"\"d\"{end}"), "2 fields");
            refused(&format!("x,y{end}"), "2 fields");
        }
        // Try every position in a block.
        for before in 0..200 {
            let good = format!("x,y,z\n{},,\n", "a".repeat(before));
            refused(&format!("{good}b,c\nd,e,f\n"), "2 fields");
            refused(&format!("{good}b,c,d,e\nf,g,h\n"), "4 fields");
        }
    }
}

#[test]
fn headers() {
    check(&request_with_header("SELECT b FROM S3Object"), "a,B\n1,2\n", "2\n");
    check(&request_with_header("SELECT \"a b\" FROM S3Object"), "#x\n\"a b\",c\n1,2\n", "1\n");
    check(&request_with_header("SELECT a FROM S3Object"), "a\n", "");
    check(&request_with_header("SELECT COUNT(*) FROM S3Object"), "", "0\n");
    check(&with_csv(ALL, |csv| csv.header = FileHeaderInfo::Ignore), "a\n1\n", "1\n");
    check(&request_with_header("SELECT \"B\" FROM S3Object"), "b,B\n1,2\n", "2\n");
    let object = "b,B\n1,2\n";
    check_error(
        &request_with_header("SELECT b FROM S3Object"),
        object,
        Code::AmbiguousFieldName,
        "b",
    );
    check_error(&request_with_header("SELECT c FROM S3Object"), object, Code::MissingHeaders, "c");
    check_error(
        &request_with_header("SELECT \"A\" FROM S3Object"),
        "a\n",
        Code::MissingHeaders,
        "A",
    );
    check_error(
        &request_with_header("SELECT a FROM S3Object"),
        b"a,\xFF\n",
        Code::InvalidTextEncoding,
        "",
    );
}

#[test]
fn quotes() {
    let fields = "SELECT _1, _2, _3 FROM S3Object";
    check(&request(fields), "\"a,b\",\"say \"\"x\"\"\",c\n", "\"a,b\",\"say \"\"x\"\"\",c\n");
    check(&request(fields), "\"a\"b,c\"d,\"\"\n", "ab,\"c\"\"d\",\n");
    check(&request(fields), "x,y\n\"q\",\"r\"\r\nz\n", "x,y,\nq,r,\nz,,\n");
    check(&with_csv(fields, |csv| csv.quote = None), "\"a,b\",c\n", "\"\"\"a\",\"b\"\"\",c\n");
    check(
        &with_csv(fields, |csv| csv.quote = Some('\'')),
        "'a,b',\"c\"\n",
        "\"a,b\",\"\"\"c\"\"\",\n",
    );
    check(
        &with_csv(fields, |csv| csv.quote_escape = Some('\\')),
        "\"a\\\"b\",\"c\\\\\",d\\e\n",
        "\"a\"\"b\",c\\,d\\e\n",
    );
    check_error(&request(fields), "a\n\"b\nc\"\n", Code::CSVEscapingRecordDelimiter, "record 2");
    check_error(&request(fields), "a\n\"b", Code::CSVUnescapedQuote, "record 2, byte 2");
    let multiline = |csv: &mut CsvInput| csv.allow_quoted_record_delimiter = true;
    check(&with_csv(fields, multiline), "a,\"b\nc\",d\ne\n", "a,\"b\nc\",d\ne,,\n");
    check(&with_csv(fields, multiline), "# it\"s\nx\n", "x,,\n");
    check_error(&with_csv(fields, multiline), "x\n\"a\nb\n", Code::CSVUnescapedQuote, "byte 2");
}

#[test]
fn limits() {
    let long = "x".repeat(1 << 20);
    check(
        &request("SELECT CHAR_LENGTH(_1) FROM S3Object"),
        &format!("{long}\ny\n"),
        "1048576\n1\n",
    );
    let too_long = format!("a\n{long}x\nb\n");
    check_error(&request(ALL), too_long.clone(), Code::OverMaxRecordSize, "record 2, byte 2");
    check_error(
        &request(ALL),
        &too_long.as_bytes()[..too_long.len() - 3],
        Code::OverMaxRecordSize,
        "",
    );
    let wide = ",".repeat(10_000);
    check_error(&request(ALL), wide.clone(), Code::OverMaxColumn, "");
    check_error(&request_with_header(ALL), wide, Code::OverMaxColumn, "");
    check_error(
        &with_csv(ALL, |csv| csv.field_delimiter = "ab".to_owned()),
        "",
        Code::InvalidRequestParameter,
        "FieldDelimiter",
    );
}

#[test]
fn records_cross_blocks() {
    let mut object = String::new();
    for i in 0..60_000 {
        object.push_str(&format!("{i},{}\n", "é".repeat(i % 13)));
    }
    check(
        &request("SELECT COUNT(*), SUM(CAST(_1 AS INT)) FROM S3Object"),
        &object,
        "60000,1799970000\n",
    );
    check(&request(ALL), &object, &object);
}

/// Returns the records that the `csv` crate reads from the same bytes, with every field quoted.
fn peer(options: &CsvInput, object: &[u8]) -> Vec<u8> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(options.field_delimiter.as_bytes()[0])
        .terminator(csv::Terminator::Any(options.record_delimiter.as_bytes()[0]))
        .quote(options.quote.map_or(b'"', |quote| quote as u8))
        .quoting(options.quote.is_some())
        .double_quote(options.quote_escape == options.quote)
        .escape(
            options.quote_escape.filter(|escape| Some(*escape) != options.quote).map(|e| e as u8),
        )
        .comment(options.comments.map(|comment| comment as u8))
        .from_reader(object);
    let mut answer = Vec::new();
    for record in reader.byte_records() {
        let fields: Vec<_> = record.unwrap().iter().map(|field| field.to_vec()).collect();
        for (i, field) in fields.iter().enumerate() {
            answer.extend_from_slice(if i == 0 { b"<" } else { b"|<" });
            answer.extend_from_slice(field);
            answer.push(b'>');
        }
        answer.push(b'\n');
    }
    answer
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn splitting_is_the_csv_crate_s(
        object in prop::collection::vec(
            prop_oneof![
                6 => Just("a"), 2 => Just("bc"), 3 => Just(","), 3 => Just("\n"), 2 => Just("\""),
                1 => Just("\"\""), 1 => Just("#"), 1 => Just("\\"), 1 => Just("é"),
                1 => Just("0123456789012345678901234567890123456789012345678901234567890123"),
            ],
            0..60,
        ).prop_map(|parts| parts.concat()),
        escape in prop_oneof![Just('"'), Just('\\')],
        quoting: bool,
        comments: bool,
    ) {
        // The crate reads a comment at the end of the object as an empty record.
        let object = if comments { object + "\n" } else { object };
        let options = CsvInput {
            quote: quoting.then_some('"'),
            quote_escape: quoting.then_some(escape),
            comments: comments.then_some('#'),
            allow_quoted_record_delimiter: true,
            ..CsvInput::default()
        };
        // Use quotes and escapes that make the answer unambiguous.
        let mut request = with_csv(ALL, |csv| *csv = options.clone());
        request.output = OutputSerialization::Csv(CsvOutput {
            quote_fields: QuoteFields::Always,
            field_delimiter: "|".to_owned(),
            quote: '<',
            quote_escape: '<',
            ..CsvOutput::default()
        });
        let mut expected = peer(&options, object.as_bytes());
        expected.iter_mut().for_each(|byte| if *byte == b'>' { *byte = b'<' });
        match run(&request, object.clone()) {
            Ok((answer, _)) => prop_assert_eq!(
                String::from_utf8_lossy(&answer), String::from_utf8_lossy(&expected)
            ),
            // The crate accepts a quote that is still open at the end; the evaluator rejects it.
            Err(error) => prop_assert_eq!(error.code, Code::CSVUnescapedQuote),
        }
    }

    #[test]
    fn columns_are_the_row_s_fields(
        object in "[a,\n\"]{0,200}",
        column in 1usize..6,
    ) {
        let all = with_csv(ALL, |csv| csv.quote = None);
        let one = with_csv(&format!("SELECT _{column} FROM S3Object"), |csv| csv.quote = None);
        let output = OutputSerialization::Csv(CsvOutput { quote: '<', ..CsvOutput::default() });
        let (all, one) = [all, one].map(|mut request| {
            request.output = output.clone();
            String::from_utf8(run(&request, object.clone()).unwrap().0).unwrap()
        }).into();
        let expected: String = all.lines().map(|line| {
            let field = line.split(',').nth(column - 1).unwrap_or_default();
            // A row of one empty field is quoted.
            if field.is_empty() { "<<\n".to_owned() } else { format!("{field}\n") }
        }).collect();
        prop_assert_eq!(one, expected);
    }
}
