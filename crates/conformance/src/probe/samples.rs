//! The small objects that the questions are about.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch,
    StringArray,
};
use parquet::arrow::ArrowWriter;

/// An object that questions are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sample {
    /// Three rows of text, numbers and days.
    Table,
    /// [`Sample::Table`], compressed with gzip.
    Gzip,
    /// The first half of a gzip object.
    HalfGzip,
    /// [`Sample::Table`], compressed with bzip2.
    Bzip2,
    /// Columns named by a header line.
    Named,
    /// The records of AWS's example of a ScanRange.
    Ranges,
    /// A row that begins with `#`.
    Hash,
    /// Rows with quoted line breaks, enough for more than one block.
    Breaks,
    /// A row with fewer fields than the others.
    Ragged,
    /// Integers whose sum a 64-bit float cannot represent.
    Sums,
    /// Integers whose sum exceeds 64 bits.
    Overflow,
    /// JSON with one value per line.
    Lines,
    /// A JSON value over several lines.
    Document,
    /// A Parquet file.
    Parquet,
}

const TABLE: &str = "\
1,abc,,5,1.5,2020-01-31
2,aXaYb,it's,9007199254740993,2.5,2020-02-29
3,éaXXX,\"so, \"\"&\"\" so\",-7,0.25,1999-12-31
";

const LINES: &str = "\
{\"k\":1,\"t\":\"abc\",\"n\":null,\"big\":9007199254740993,\"o\":{\"a\":[10,20]}}
{\"k\":2,\"t\":\"\",\"big\":5,\"o\":{\"a\":[30]}}
";

const DOCUMENT: &str = "\
{
  \"items\": [
    {\"k\": 1},
    {\"k\": 2}
  ]
}
";

/// The number of rows in [`Sample::Breaks`].
const BREAKS: usize = 6_000;

impl Sample {
    /// All samples, in the order of the enum.
    pub const ALL: [Self; 14] = [
        Self::Table,
        Self::Gzip,
        Self::HalfGzip,
        Self::Bzip2,
        Self::Named,
        Self::Ranges,
        Self::Hash,
        Self::Breaks,
        Self::Ragged,
        Self::Sums,
        Self::Overflow,
        Self::Lines,
        Self::Document,
        Self::Parquet,
    ];

    /// Returns the name of the sample's object.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Table => "table.csv",
            Self::Gzip => "table.csv.gz",
            Self::HalfGzip => "half.csv.gz",
            Self::Bzip2 => "table.csv.bz2",
            Self::Named => "named.csv",
            Self::Ranges => "ranges.csv",
            Self::Hash => "hash.csv",
            Self::Breaks => "breaks.csv",
            Self::Ragged => "ragged.csv",
            Self::Sums => "sums.csv",
            Self::Overflow => "overflow.csv",
            Self::Lines => "lines.json",
            Self::Document => "document.json",
            Self::Parquet => "table.parquet",
        }
    }

    /// Returns the content of the object.
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Self::Table => TABLE.into(),
            Self::Gzip => gzip(TABLE.as_bytes()),
            Self::HalfGzip => {
                // The numbers do not repeat, so that half of the bytes hold about half of the rows.
                let rows: String = (0..5_000_u64)
                    .map(|n| format!("{}\n", n * 2_654_435_761 % 4_294_967_291))
                    .collect();
                let mut bytes = gzip(rows.as_bytes());
                bytes.truncate(bytes.len() / 2);
                bytes
            }
            Self::Bzip2 => bzip2(TABLE.as_bytes()),
            Self::Named => "name,size\nabc,1\ndef,2\n".into(),
            Self::Ranges => "A,B\nC,D\nE,F\nG,H\n".into(),
            Self::Hash => "#1,a\n2,b\n".into(),
            Self::Breaks => (0..BREAKS)
                .map(|row| format!("{row},\"{}\"\n", "x\n".repeat(20)))
                .collect::<String>()
                .into(),
            Self::Ragged => "1,a,b\n2\n3,c,d\n".into(),
            Self::Sums => "9007199254740993\n9007199254740993\n1\n".into(),
            Self::Overflow => "9223372036854775807\n1\n".into(),
            Self::Lines => LINES.into(),
            Self::Document => DOCUMENT.into(),
            Self::Parquet => parquet().unwrap_or_default(),
        }
    }
}

/// Compresses bytes with gzip. Writing to memory does not fail.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

fn parquet() -> parquet::errors::Result<Vec<u8>> {
    let decimals = Decimal128Array::from(vec![150, -225, 7]).with_precision_and_scale(10, 2)?;
    let columns: [(&str, ArrayRef); 7] = [
        ("k", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ("t", Arc::new(StringArray::from(vec![Some("abc"), Some("d,é"), None]))),
        ("big", Arc::new(Int64Array::from(vec![9_007_199_254_740_993, 5, -7]))),
        ("d", Arc::new(decimals)),
        // 2020-01-01, 2020-02-29, 1999-12-31
        ("day", Arc::new(Date32Array::from(vec![18_262, 18_321, 10_956]))),
        ("f", Arc::new(Float64Array::from(vec![0.1, 1_234_567.5, 1e-5]))),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))?;
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None)?;
    writer.write(&batch)?;
    writer.into_inner()
}
