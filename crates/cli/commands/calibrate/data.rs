//! The samples: the same seeded rows in every format.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::csv::WriterBuilder;
use arrow::json::LineDelimitedWriter;
use parquet::arrow::ArrowWriter;
use sluicegate_costmodel::{Bytes, Format, Rows};

use crate::failure::Result;

/// The columns as SQL declares them.
pub(super) const COLUMNS: &str =
    "id BIGINT, k BIGINT, g VARCHAR, x DECIMAL(15, 2), d DATE, t VARCHAR";

/// Objects of the table that queries read.
pub(super) const PARTS: u64 = 4;
/// Objects of the table of many small ones.
pub(super) const SMALL_PARTS: u64 = 16;
/// Rows of a small object.
const FEW: u64 = 8;
/// Bytes of a row as CSV and as JSON, about.
const CSV_ROW: u64 = 80;
const JSON_ROW: u64 = 113;
/// By how much the smaller objects that statements are asked about are smaller.
const LESS: u64 = 8;
/// Days from 1970 to 1992, and as many as TPC-H's orders span.
const FIRST_DAY: i32 = 8035;
const DAYS: u64 = 2406;

/// An object.
#[derive(Debug, Clone)]
pub(super) struct Object {
    /// Its key behind the prefix of all samples; its folder is the table that it is a part of.
    pub(super) name: String,
    pub(super) format: Format,
    pub(super) rows: Rows,
    pub(super) contents: Vec<u8>,
}

impl Object {
    fn new(name: String, format: Format, rows: u64, seed: u64) -> Result<Self> {
        let batch = rows_of(rows, seed)?;
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
                let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None)?;
                writer.write(&batch)?;
                writer.into_inner()?
            }
        };
        Ok(Self { name, format, rows: Rows(rows), contents })
    }

    pub(super) fn size(&self) -> Bytes {
        Bytes(self.contents.len() as u64)
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Data {
    /// The folder `csv`: parts of a table, all alike.
    pub(super) parts: Vec<Object>,
    /// One object of each format: those of CSV are a part and a smaller one.
    pub(super) scanned: Vec<Object>,
    /// The folders `one` and `small`: objects of a few rows.
    pub(super) small: Vec<Object>,
}

impl Data {
    /// Objects whose largest have about this size.
    pub(super) fn generate(size: Bytes, seed: u64) -> Result<Self> {
        let (csv, json) = (size.0 / CSV_ROW, size.0 / JSON_ROW);
        let part = Object::new("csv/0.csv".to_owned(), Format::Csv, csv, seed)?;
        let parts = (0..PARTS)
            .map(|number| Object { name: format!("csv/{number}.csv"), ..part.clone() })
            .collect();
        let scanned = [
            ("less/0.csv", Format::Csv, csv / LESS),
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
        Ok(Self {
            parts,
            scanned: scanned.collect::<Result<_>>()?,
            small: (0..=SMALL_PARTS).map(few).collect::<Result<_>>()?,
        })
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.parts.iter().chain(&self.scanned).chain(&self.small)
    }

    /// The object of this name.
    pub(super) fn object(&self, name: &str) -> Option<&Object> {
        self.objects().find(|object| object.name == name)
    }
}

/// Rows of columns as queries have them: a number, an even key, one of sixteen letters, an amount, a day
/// and a text.
fn rows_of(rows: u64, seed: u64) -> Result<RecordBatch> {
    let mut random = Random(seed);
    let (mut keys, mut groups, mut amounts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut days, mut texts) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        keys.push(2 * i64::from(random.below(1_000_000)));
        groups.push(random.letters(1, 16));
        amounts.push(f64::from(random.below(10_000_000)) / 100.0);
        days.push(FIRST_DAY + random.below(DAYS) as i32);
        texts.push(random.letters(44, 26));
    }
    let columns: [(&str, ArrayRef); 6] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..rows as i64))),
        ("k", Arc::new(Int64Array::from(keys))),
        ("g", Arc::new(StringArray::from(groups))),
        ("x", Arc::new(Float64Array::from(amounts))),
        ("d", Arc::new(Date32Array::from(days))),
        ("t", Arc::new(StringArray::from(texts))),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// A generator of random numbers, by Steele, Lea and Flood.
struct Random(u64);

impl Random {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end) as u32
    }

    /// So many of the first letters.
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
        assert_eq!((fields.len(), fields[0], fields[5].len()), (6, "0", 44));
        assert_eq!(first.lines().count() as u64, data.object("csv/0.csv").unwrap().rows.0);
    }
}
