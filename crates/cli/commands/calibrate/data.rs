//! The samples of a calibration: the same seeded rows in every format.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::csv::WriterBuilder;
use arrow::json::LineDelimitedWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use sluicegate_costmodel::{Bytes, Format, Rows};

use crate::failure::Result;

/// The columns and their SQL types. Their number, widths and order resemble TPC-H's lineitem, because the rate of a
/// scan depends on them.
pub(super) const COLUMNS: [(&str, &str); 16] = [
    ("id", "BIGINT"),
    ("k", "BIGINT"),
    ("t3", "VARCHAR"),
    ("t4", "VARCHAR"),
    ("t5", "VARCHAR"),
    ("x", "DECIMAL(15, 2)"),
    ("t7", "VARCHAR"),
    ("t8", "VARCHAR"),
    ("g", "VARCHAR"),
    ("t10", "VARCHAR"),
    ("d", "DATE"),
    ("t12", "VARCHAR"),
    ("t13", "VARCHAR"),
    ("t14", "VARCHAR"),
    ("t15", "VARCHAR"),
    ("t", "VARCHAR"),
];

/// The columns of the object that stands for an answer of Select, typical of queries.
pub(super) const ANSWERED: [&str; 4] = ["k", "x", "g", "d"];

/// Objects of the table that queries read.
pub(super) const PARTS: u64 = 4;
/// Objects of the table of many small objects.
pub(super) const SMALL_PARTS: u64 = 16;
/// Distinct values of the column that rows are grouped by.
pub(super) const GROUPS: usize = 16;
/// The end of the range of the column `k`, whose values are even.
pub(super) const KEYS: u32 = 2_000_000;
/// Rows of a small object.
const FEW: u64 = 8;
/// Approximate bytes of a row: as CSV, as CSV of [`ANSWERED`], and as JSON.
const CSV_ROW: u64 = 120;
const ANSWERED_ROW: u64 = 29;
const JSON_ROW: u64 = 233;
/// Factor by which the objects in `less/` are smaller than the others of their format.
const LESS: u64 = 8;
/// The range of dates in days since 1970: it begins in 1992 and is as long as that of TPC-H's orders.
const FIRST_DAY: i32 = 8035;
const DAYS: u64 = 2406;

/// An object of the samples.
#[derive(Debug, Clone)]
pub(super) struct Object {
    /// The key of the object without the prefix of the samples. Its folder is a table.
    pub(super) name: String,
    pub(super) format: Format,
    pub(super) rows: Rows,
    pub(super) contents: Vec<u8>,
    /// Bytes of each column of Parquet as it is stored, in the order of [`COLUMNS`]. Empty for text.
    chunks: Vec<Bytes>,
}

impl Object {
    fn new(name: String, format: Format, rows: u64, seed: u64) -> Result<Self> {
        Self::generate_columns(name, format, &COLUMNS.map(|(name, _)| name), rows, seed)
    }

    /// Generates an object with some of the columns.
    fn generate_columns(
        name: String,
        format: Format,
        columns: &[&str],
        rows: u64,
        seed: u64,
    ) -> Result<Self> {
        let batch = rows_of(columns, rows, seed)?;
        let mut chunks = Vec::new();
        let contents = match format {
            Format::Csv => {
                let mut writer = WriterBuilder::new().with_header(false).build(Vec::new());
                writer.write(&batch)?;
                writer.into_inner()
            }
            Format::Json => {
                let mut writer = LineDelimitedWriter::new(Vec::new());
                writer.write(&batch)?;
                writer.finish()?;
                writer.into_inner()
            }
            Format::Parquet => {
                let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
                let properties = Some(properties.build());
                let mut contents = Vec::new();
                let mut writer = ArrowWriter::try_new(&mut contents, batch.schema(), properties)?;
                writer.write(&batch)?;
                let metadata = writer.close()?;
                chunks = (0..columns.len())
                    .map(|at| {
                        let groups = metadata.row_groups().iter();
                        Bytes(groups.map(|it| it.column(at).compressed_size() as u64).sum())
                    })
                    .collect();
                contents
            }
        };
        Ok(Self { name, format, rows: Rows(rows), contents, chunks })
    }

    /// Returns the bytes that a reader of some columns parses: all of text, and chunks of Parquet.
    pub(super) fn bytes_of(&self, columns: &[&str]) -> Bytes {
        let of = COLUMNS.iter().zip(&self.chunks).filter(|((name, _), _)| columns.contains(name));
        if self.format == Format::Parquet { of.map(|(_, bytes)| *bytes).sum() } else { self.size() }
    }

    pub(super) fn size(&self) -> Bytes {
        Bytes(self.contents.len() as u64)
    }
}

/// All objects of a calibration.
#[derive(Debug)]
pub(super) struct Data {
    /// Equal parts of the table in the folder `csv`.
    pub(super) parts: Vec<Object>,
    /// Two objects of each other format, one of them smaller.
    pub(super) scanned: Vec<Object>,
    /// Objects of a few rows, in the folders `one` and `small`.
    pub(super) small: Vec<Object>,
    /// The bytes of an answer of Select, as large as the smaller objects; they are not written to the bucket.
    pub(super) answer: Object,
}

impl Data {
    /// Generates the objects; the largest have about this size.
    pub(super) fn generate(size: Bytes, seed: u64) -> Result<Self> {
        let (csv, json) = (size.0 / CSV_ROW, size.0 / JSON_ROW);
        let part = Object::new("csv/0.csv".to_owned(), Format::Csv, csv, seed)?;
        let parts = (0..PARTS)
            .map(|number| Object { name: format!("csv/{number}.csv"), ..part.clone() })
            .collect();
        let scanned = [
            ("json/0.json", Format::Json, json),
            ("less/0.json", Format::Json, json / LESS),
            ("parquet/0.parquet", Format::Parquet, csv),
            ("less/0.parquet", Format::Parquet, csv / LESS),
        ]
        .into_iter()
        .map(|(name, format, rows)| Object::new(name.to_owned(), format, rows, seed));
        let few = |number: u64| {
            let name = match number {
                SMALL_PARTS => "one/0.csv".to_owned(),
                _ => format!("small/{number:02}.csv"),
            };
            Object::new(name, Format::Csv, FEW, seed.wrapping_add(number))
        };
        let rows = size.0 / LESS / ANSWERED_ROW;
        let answer = Object::generate_columns(
            "answer/0.csv".to_owned(),
            Format::Csv,
            &ANSWERED,
            rows,
            seed,
        )?;
        Ok(Self {
            parts,
            answer,
            scanned: scanned.collect::<Result<_>>()?,
            small: (0..=SMALL_PARTS).map(few).collect::<Result<_>>()?,
        })
    }

    /// Iterates over the objects that are written to the bucket.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.parts.iter().chain(&self.scanned).chain(&self.small)
    }

    /// Returns the object of this name.
    pub(super) fn object(&self, name: &str) -> Option<&Object> {
        self.objects().find(|object| object.name == name)
    }
}

/// Generates rows of some columns: a number, an even key, an amount, one of sixteen letters, a date, and texts.
fn rows_of(columns: &[&str], rows: u64, seed: u64) -> Result<RecordBatch> {
    let mut random = Random(seed);
    let texts = |text: &mut dyn FnMut() -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values((0..rows).map(|_| text())))
    };
    let mut column = |name: &str| -> ArrayRef {
        match name {
            "id" => Arc::new(Int64Array::from_iter_values(0..rows as i64)),
            "k" => {
                let keys = (0..rows).map(|_| 2 * i64::from(random.below(u64::from(KEYS / 2))));
                Arc::new(Int64Array::from_iter_values(keys))
            }
            "x" => {
                let amounts = (0..rows).map(|_| f64::from(random.below(10_000_000)) / 100.0);
                Arc::new(Float64Array::from_iter_values(amounts))
            }
            "d" => {
                let days = (0..rows).map(|_| FIRST_DAY + random.below(DAYS) as i32);
                Arc::new(Date32Array::from_iter_values(days))
            }
            "g" => texts(&mut || random.letters(1, GROUPS as u64)),
            // The comma makes the CSV writer quote the text, as it quotes texts of several words.
            "t" => texts(&mut || [random.letters(6, 26), random.letters(5, 26)].join(", ")),
            _ => texts(&mut || random.letters(6, 26)),
        }
    };
    Ok(RecordBatch::try_from_iter(columns.iter().map(|name| (*name, column(name))))?)
}

/// The SplitMix64 generator of random numbers (Steele, Lea and Flood).
struct Random(u64);

impl Random {
    /// Returns a number below `end`.
    fn below(&mut self, end: u64) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end) as u32
    }

    /// Returns `count` letters, chosen from the first `of` letters of the alphabet.
    fn letters(&mut self, count: usize, of: u64) -> String {
        (0..count).map(|_| char::from(b'a' + self.below(of) as u8)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_the_same_for_the_same_seed_and_about_as_large_as_asked_for() {
        let size = Bytes::kib(256);
        let data = Data::generate(size, 7).unwrap();
        let again = Data::generate(size, 7).unwrap();
        let other = Data::generate(size, 8).unwrap();
        for (object, again) in data.objects().zip(again.objects()) {
            assert_eq!((&object.name, &object.contents), (&again.name, &again.contents));
            assert_ne!(object.contents, other.object(&object.name).unwrap().contents);
        }
        for name in ["csv/3.csv", "json/0.json"] {
            let ratio = data.object(name).unwrap().size() / size;
            assert!((0.95..1.05).contains(&ratio), "{name}: {ratio}");
        }
        let names: std::collections::BTreeSet<_> = data.objects().map(|it| &it.name).collect();
        assert_eq!(names.len(), data.objects().count());
        let first = data.object("csv/0.csv").unwrap().contents.clone();
        let first = String::from_utf8(first).unwrap();
        let fields: Vec<&str> = first.lines().next().unwrap().split(',').collect();
        assert_eq!((fields.len(), fields[0], fields[15].len()), (COLUMNS.len() + 1, "0", 7));
        assert_eq!(first.lines().count() as u64, data.object("csv/0.csv").unwrap().rows.0);
    }
}
