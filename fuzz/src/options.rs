//! The bytes that choose a request's options.

use sluicegate_s3select::request::{
    Compression, CsvInput, CsvOutput, FileHeaderInfo, JsonType, OutputSerialization, QuoteFields,
    ScanRange,
};

/// Number of bytes that choose options.
pub const OPTIONS: usize = 8;

const FIELD_DELIMITERS: &[&str] = &[",", "|", "\t", ";", "é", "\u{1}", "a", "\"", "☃", "\n", ",,"];
const RECORD_DELIMITERS: &[&str] =
    &["\n", "\r\n", "|\n", ";", "☃", "aa", "\0", ",", "\"\n", "a\"", ""];
const QUOTES: &[Option<char>] = &[Some('"'), None, Some('\''), Some('é'), Some(','), Some('\n')];
const ESCAPES: &[Option<char>] = &[Some('"'), Some('\\'), None, Some('é'), Some('\'')];
const COMMENTS: &[Option<char>] = &[Some('#'), None, Some('"'), Some('é'), Some('\n')];

/// The bytes of the options. Every byte is a valid choice.
#[derive(Debug, Clone, Copy)]
pub struct Options(pub [u8; OPTIONS]);

fn choose<T: Clone>(choices: &[T], byte: u8) -> T {
    choices[usize::from(byte) % choices.len()].clone()
}

impl Options {
    /// Bytes 0 to 3: the layout of a CSV object.
    pub fn csv_input(self) -> CsvInput {
        let [flags, delimiters, quoting, comments, ..] = self.0;
        let header = [FileHeaderInfo::None, FileHeaderInfo::Use, FileHeaderInfo::Ignore];
        CsvInput {
            header: choose(&header, flags & 3),
            allow_quoted_record_delimiter: flags & 4 != 0,
            field_delimiter: choose(FIELD_DELIMITERS, delimiters & 15).to_owned(),
            record_delimiter: choose(RECORD_DELIMITERS, delimiters >> 4).to_owned(),
            quote: choose(QUOTES, quoting & 15),
            quote_escape: choose(ESCAPES, quoting >> 4),
            comments: choose(COMMENTS, comments),
            strict_lines: flags & 8 != 0,
            // A block with a record of other fields fails as a whole, and its end does not depend on the request.
            strict_fields: None,
        }
    }

    /// Byte 0: the layout of a JSON object.
    pub fn json_type(self) -> JsonType {
        if self.0[0] & 1 == 0 { JsonType::Lines } else { JsonType::Document }
    }

    /// Byte 4: the compression of the object.
    pub fn compression(self) -> Compression {
        choose(&[Compression::None, Compression::Gzip, Compression::Bzip2], self.0[4])
    }

    /// Byte 5: the format of the answer's rows.
    pub fn output(self) -> OutputSerialization {
        let byte = self.0[5];
        let record_delimiter = choose(&["\n", "\r\n", ";", "☃"], byte >> 2 & 3).to_owned();
        if byte & 1 != 0 {
            return OutputSerialization::Json { record_delimiter };
        }
        OutputSerialization::Csv(CsvOutput {
            quote_fields: choose(&[QuoteFields::AsNeeded, QuoteFields::Always], byte >> 1 & 1),
            record_delimiter,
            field_delimiter: choose(FIELD_DELIMITERS, byte >> 4).to_owned(),
            ..CsvOutput::default()
        })
    }

    /// Bytes 6 and 7: the two offsets at which an object is divided.
    pub fn cuts(self) -> [u64; 2] {
        [u64::from(self.0[6]), u64::from(self.0[6]) + u64::from(self.0[7])]
    }

    /// Byte 7: the bytes of an object that a thread processes at a time.
    pub fn part_bytes(self) -> u64 {
        16 + u64::from(self.0[7])
    }

    /// Bytes 6 and 7: the requested part of a Parquet object.
    pub fn scan_range(self) -> Option<ScanRange> {
        let [a, b] = [u64::from(self.0[6]), u64::from(self.0[7])];
        match a {
            0 => None,
            1 => Some(ScanRange::Suffix { length: 16 * b }),
            2 => Some(ScanRange::From { start: b }),
            _ => Some(ScanRange::Bounded { start: a - 3, last: 16 * b }),
        }
    }
}
