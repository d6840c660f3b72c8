//! Entries for the switch: columns of a file or generated values, as the 32-bit words of packets.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{cast, concat};
use arrow::csv::ReaderBuilder;
use arrow::csv::reader::Format;
use arrow::datatypes::{
    DataType, Decimal128Type, FieldRef, Fields, Float64Type, Int64Type, Schema, SchemaRef,
    UInt64Type,
};
use arrow::row::{RowConverter, SortField};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use sluicegate_pruning::encoding;
use sluicegate_pruning::rng::Rng;

use super::decimals::{Decimals, PlainValues};
use crate::args::source::{Generated, Shape, Source};
use crate::failure::{Failure, Result};
use crate::output::progress::print_line;

/// The contents of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Words of the key: 0 if there is none, else 1 or 2.
    pub(crate) key_words: usize,
    /// Number of values after the key.
    pub(crate) values: usize,
    /// How values are sent that are compared with a threshold or added up; `None` for codes that keep the order.
    pub(crate) plain: Option<PlainValues>,
}

/// Entries in the form that packets carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadedEntries {
    /// The columns of words, key first.
    pub(crate) columns: Vec<Vec<u32>>,
    /// Number of rows left out because of a NULL.
    pub(crate) nulls: usize,
    /// Decimals of the values: 2 if they are sent in hundredths.
    pub(crate) decimals: u32,
}

impl Source {
    /// Reads or generates the entries. `salt` makes the two generated streams of a join differ.
    pub(crate) fn load(
        &self,
        names: &[String],
        layout: Layout,
        salt: u64,
    ) -> Result<LoadedEntries> {
        match self {
            Self::Generated(made) => {
                if !names.is_empty() {
                    return Err(Failure::Usage("--column names columns of a file".to_owned()));
                }
                Ok(LoadedEntries { columns: made.columns(layout, salt), nulls: 0, decimals: 0 })
            }
            Self::File(path) => {
                let at = |failure: Failure| failure.at(&format!("`{}`", path.display()));
                // Numbers with decimals are read as text, because a double is not exact.
                let exact = |schema: &SchemaRef| match layout.plain {
                    Some(_) => chosen(schema, names, layout).map(|(_, values)| values),
                    None => Ok(Vec::new()),
                };
                let batches = read(path, &exact)?;
                encode(&batches.0, &batches.1, names, layout).map_err(at)
            }
        }
    }
}

impl Generated {
    fn columns(&self, layout: Layout, salt: u64) -> Vec<Vec<u32>> {
        let mut columns = Vec::new();
        for word in 0..layout.key_words + layout.values {
            let mut rng = Rng::new(self.seed ^ (salt << 32) ^ ((word as u64) << 40));
            // The high word of a 64-bit key stays 0.
            let high = layout.key_words == 2 && word == 0;
            let mut column: Vec<u32> = (0..self.entries)
                .map(|_| if high { 0 } else { self.shape.draw(self.keys, &mut rng) })
                .collect();
            match self.shape {
                Shape::Sorted => column.sort_unstable(),
                Shape::Reversed => column.sort_unstable_by(|a, b| b.cmp(a)),
                _ => {}
            }
            columns.push(column);
        }
        columns
    }
}

impl Shape {
    /// Draws a value from 1 to `keys`.
    fn draw(self, keys: u32, rng: &mut Rng) -> u32 {
        match self {
            Self::Constant => keys,
            Self::Zipf => {
                let unit = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
                (f64::from(keys).powf(unit) as u32).clamp(1, keys)
            }
            _ => 1 + rng.below(keys.into()) as u32,
        }
    }
}

/// Reads all rows of a file. Of a CSV file, those of the columns `exact` that have decimals become text.
fn read(
    path: &Path,
    exact: &dyn Fn(&SchemaRef) -> Result<Vec<usize>>,
) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    let open = || File::open(path).map_err(|error| Failure::file(path, error));
    let at = |failure: Failure| failure.at(&format!("`{}`", path.display()));
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "parquet" => {
            let reader =
                ParquetRecordBatchReaderBuilder::try_new(open()?).map_err(|e| at(e.into()))?;
            let schema = reader.schema().clone();
            let reader = reader.build().map_err(|e| at(e.into()))?;
            let batches: Result<Vec<_>, _> = reader.collect();
            Ok((schema, batches.map_err(|e| at(e.into()))?))
        }
        "csv" => {
            let format = Format::default().with_header(true);
            let (schema, _) =
                format.infer_schema(open()?, Some(10_000)).map_err(|e| at(e.into()))?;
            let exact = exact(&SchemaRef::new(schema.clone())).map_err(at)?;
            let field = |(number, field): (usize, &FieldRef)| match field.data_type() {
                DataType::Float64 if exact.contains(&number) => {
                    FieldRef::new(field.as_ref().clone().with_data_type(DataType::Utf8))
                }
                _ => field.clone(),
            };
            let fields: Fields = schema.fields().iter().enumerate().map(field).collect();
            let schema = SchemaRef::new(Schema::new(fields));
            let reader = ReaderBuilder::new(schema.clone()).with_format(format).build(open()?);
            let batches: Result<Vec<_>, _> = reader.map_err(|e| at(e.into()))?.collect();
            Ok((schema, batches.map_err(|e| at(e.into()))?))
        }
        _ => Err(Failure::new(format!("`{}` is neither .csv nor .parquet", path.display()))
            .with_hint("Other formats can be converted: sluice sql -c … --output FILE.parquet")),
    }
}

/// Returns the columns that packets carry: those named, or all columns if their number fits.
fn choose(schema: &SchemaRef, names: &[String], needed: usize) -> Result<Vec<usize>> {
    let known = || {
        let names: Vec<_> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        format!("It has the columns {}.", names.join(", "))
    };
    if names.is_empty() && schema.fields().len() == needed {
        return Ok((0..needed).collect());
    }
    if names.len() < needed {
        return Err(Failure::new(format!(
            "a packet carries {needed} columns; name them with --column"
        ))
        .with_hint(known()));
    }
    let find = |name: &String| {
        let found = schema.fields().iter().position(|f| f.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| Failure::new(format!("there is no column `{name}`")).with_hint(known()))
    };
    names.iter().map(find).collect()
}

/// Returns the columns of the key and of the values.
fn chosen(
    schema: &SchemaRef,
    names: &[String],
    layout: Layout,
) -> Result<(Vec<usize>, Vec<usize>)> {
    // All chosen columns before the values form the key.
    let needed = layout.values + usize::from(layout.key_words > 0);
    let mut keys = choose(schema, names, needed)?;
    if layout.key_words == 0 && keys.len() > layout.values {
        return Err(Failure::Usage(format!("a packet carries {} values", layout.values)));
    }
    let values = keys.split_off(keys.len() - layout.values);
    Ok((keys, values))
}

fn encode(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    names: &[String],
    layout: Layout,
) -> Result<LoadedEntries> {
    let (of_key, of_values) = chosen(schema, names, layout)?;
    let mut columns: Vec<ArrayRef> = Vec::new();
    for &column in of_key.iter().chain(&of_values) {
        let parts: Vec<&dyn Array> = batches.iter().map(|b| b.column(column).as_ref()).collect();
        columns.push(match parts.as_slice() {
            [] => arrow::array::new_empty_array(schema.field(column).data_type()),
            parts => concat(parts)?,
        });
    }
    let rows = columns.first().map_or(0, |column| column.len());
    let complete: Vec<usize> =
        (0..rows).filter(|&row| columns.iter().all(|column| column.is_valid(row))).collect();
    let (keys, values) = columns.split_at(columns.len() - layout.values);
    let mut words = Vec::new();
    if layout.key_words > 0 {
        words.extend(key_words(keys, &complete, layout.key_words)?);
    }
    let mut decimals = 0;
    for (value, &column) in values.iter().zip(&of_values) {
        let name = schema.field(column).name();
        match layout.plain {
            // Every algorithm whose values are sent plainly has one.
            Some(plain) => {
                let sent = plain.words(value, &complete, name)?;
                decimals = sent.decimals;
                words.push(sent.words);
            }
            None => words.push(value_words(value, &complete, name)?),
        }
    }
    Ok(LoadedEntries { columns: words, nulls: rows - complete.len(), decimals })
}

/// Encodes keys, which are only compared for equality: whole numbers that fit are sent unencoded, all else as
/// fingerprints. The code depends only on the key, so that two files agree.
fn key_words(keys: &[ArrayRef], rows: &[usize], words: usize) -> Result<Vec<Vec<u32>>> {
    let keys: Vec<ArrayRef> = keys.iter().map(one_type).collect::<Result<_>>()?;
    let number = match keys.as_slice() {
        [key] => key.as_primitive_opt::<Int64Type>(),
        _ => None,
    };
    let codes: Vec<u64> = if let Some(numbers) = number {
        let code = |value: i64| match u32::try_from(value) {
            Ok(small) => small.into(),
            Err(_) if words == 2 => value as u64,
            Err(_) => fingerprint(&value.to_le_bytes(), words),
        };
        rows.iter().map(|&row| code(numbers.value(row))).collect()
    } else {
        let fields = keys.iter().map(|key| SortField::new(key.data_type().clone())).collect();
        let encoded = RowConverter::new(fields)?.convert_columns(&keys)?;
        let bytes = |row: usize| encoded.row(row);
        let codes: Vec<u64> =
            rows.iter().map(|&row| fingerprint(bytes(row).as_ref(), words)).collect();
        let all: HashSet<_> = rows.iter().map(|&row| bytes(row)).collect();
        let told_apart = codes.iter().collect::<HashSet<_>>().len();
        if told_apart < all.len() {
            print_line(&format!(
                "warning: {} keys have {told_apart} fingerprints of {} bits: to the switch, and to what is checked here, \
                 {} of them are others{}",
                all.len(),
                32 * words,
                all.len() - told_apart,
                if words == 1 { "; --key-bits 64 tells them apart" } else { "" }
            ));
        }
        codes
    };
    let halves = codes.into_iter().map(encoding::halves);
    let [high, low]: [Vec<u32>; 2] = halves.fold(Default::default(), |[mut h, mut l], half| {
        h.push(half[0]);
        l.push(half[1]);
        [h, l]
    });
    Ok(if words == 1 { vec![low] } else { vec![high, low] })
}

fn fingerprint(bytes: &[u8], words: usize) -> u64 {
    encoding::nonzero_bits(encoding::fingerprint(bytes, 0), 32 * words as u32)
}

/// Casts integers, and texts, of any width to one type.
fn one_type(key: &ArrayRef) -> Result<ArrayRef> {
    let data_type = key.data_type();
    let wanted = match data_type {
        DataType::UInt64 => return Ok(key.clone()),
        _ if data_type.is_integer() => DataType::Int64,
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        _ => return Ok(key.clone()),
    };
    Ok(cast(key, &wanted)?)
}

/// Returns the column as whole numbers from 0 to 2³² − 1; `None` if a value is none.
fn small_numbers(column: &ArrayRef, rows: &[usize]) -> Option<Vec<u32>> {
    let Decimals { numbers, .. } = Decimals::of_numbers(column, rows)?;
    numbers.into_iter().map(|number| u32::try_from(number).ok()).collect()
}

/// Encodes values, which are compared for order: small whole numbers are sent unencoded, others as order-preserving
/// codes.
fn value_words(column: &ArrayRef, rows: &[usize], name: &str) -> Result<Vec<u32>> {
    if let Some(numbers) = small_numbers(column, rows) {
        return Ok(numbers);
    }
    let data_type = column.data_type();
    let codes: Vec<u64> = match data_type {
        DataType::Decimal128(_, _) => {
            let values = column.as_primitive::<Decimal128Type>().values();
            rows.iter().map(|&row| encoding::from_decimal(values[row])).collect()
        }
        DataType::UInt64 => {
            let values = column.as_primitive::<UInt64Type>().values();
            rows.iter().map(|&row| values[row]).collect()
        }
        _ if data_type.is_floating() => {
            let array = cast(column, &DataType::Float64)?;
            let values = array.as_primitive::<Float64Type>().values();
            rows.iter().map(|&row| encoding::from_f64(values[row])).collect()
        }
        _ if data_type.is_integer() || data_type.is_temporal() => {
            let array = cast(column, &DataType::Int64)?;
            let values = array.as_primitive::<Int64Type>().values();
            rows.iter().map(|&row| encoding::from_i64(values[row])).collect()
        }
        _ => {
            return Err(Failure::new(format!(
                "column `{name}` ({data_type}) has no order of numbers"
            ))
            .with_hint("Values are numbers, dates or times; keys may be of any type."));
        }
    };
    let least = codes.iter().copied().min().unwrap_or(0);
    let range = encoding::Range::new(least, codes.iter().copied().max().unwrap_or(0));
    Ok(codes.into_iter().map(|code| range.encode(code)).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float64Array, Int64Array, StringArray};
    use arrow::datatypes::{Field, Schema};

    use super::*;

    const KEY: Layout = Layout { key_words: 1, values: 0, plain: None };
    const PLAIN: PlainValues = PlainValues { threshold: 10, decimals: None, rounds_up: false };
    const VALUE: Layout = Layout { key_words: 0, values: 1, plain: None };

    fn batch(columns: Vec<(&str, ArrayRef)>) -> (SchemaRef, Vec<RecordBatch>) {
        let fields: Vec<_> =
            columns.iter().map(|(n, c)| Field::new(*n, c.data_type().clone(), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        (schema.clone(), vec![RecordBatch::try_new(schema, arrays).unwrap()])
    }

    fn encoded(
        columns: Vec<(&str, ArrayRef)>,
        names: &[&str],
        layout: Layout,
    ) -> Result<LoadedEntries> {
        let (schema, batches) = batch(columns);
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        encode(&schema, &batches, &names, layout)
    }

    #[test]
    fn numbers_go_as_they_are_and_text_as_fingerprints() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some(9)]));
        let loaded = encoded(vec![("n", numbers)], &[], KEY).unwrap();
        assert_eq!(loaded, LoadedEntries { columns: vec![vec![7, 9]], nulls: 1, decimals: 0 });
        let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "a"]));
        let wide = Layout { key_words: 2, ..KEY };
        let loaded = encoded(vec![("t", text)], &["T"], wide).unwrap();
        let [high, low] = loaded.columns.as_slice() else { panic!("not two words") };
        assert_eq!((high[0], low[0]), (high[2], low[2]));
        assert_ne!((high[0], low[0]), (high[1], low[1]));
    }

    /// The columns of a join's files may differ in everything but the key's value.
    #[test]
    fn a_key_is_one_whatever_its_column() {
        let narrow: ArrayRef = Arc::new(arrow::array::Int32Array::from(vec![7, -1]));
        let mixed: ArrayRef = Arc::new(Int64Array::from(vec![7, -1, 1 << 40]));
        let (a, b) =
            (encoded(vec![("n", narrow)], &[], KEY), encoded(vec![("n", mixed)], &[], KEY));
        let (a, b) = (a.unwrap(), b.unwrap());
        assert_eq!(a.columns[0], b.columns[0][..2]);
        let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
        let view: ArrayRef = Arc::new(arrow::array::StringViewArray::from(vec!["x"]));
        let (a, b) = (encoded(vec![("t", text)], &[], KEY), encoded(vec![("t", view)], &[], KEY));
        assert_eq!(a.unwrap(), b.unwrap());
    }

    #[test]
    fn order_is_kept() {
        let values = [f64::NEG_INFINITY, -2.5, 0.0, 1e-9, 1e300];
        let floats: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
        let loaded = encoded(vec![("f", floats)], &[], VALUE).unwrap();
        assert!(loaded.columns[0].is_sorted(), "{loaded:?}");
        let signed: ArrayRef = Arc::new(Int64Array::from(vec![-5, 0, 5]));
        let loaded = encoded(vec![("n", signed)], &[], VALUE).unwrap();
        assert_eq!(loaded.columns[0], [0, 5, 10]);
    }

    #[test]
    fn what_cannot_be_sent_is_said() {
        let says = |loaded: Result<LoadedEntries>, words: &str| match loaded.unwrap_err() {
            Failure::Failed { message, .. } | Failure::Usage(message) => {
                assert!(message.contains(words), "{message}");
            }
            other => panic!("{other:?}"),
        };
        let signed = || -> ArrayRef { Arc::new(Int64Array::from(vec![-5])) };
        let text = || -> ArrayRef { Arc::new(StringArray::from(vec!["a"])) };
        says(encoded(vec![("n", signed())], &["m"], KEY), "no column `m`");
        says(encoded(vec![("n", signed()), ("t", text())], &[], KEY), "name them with --column");
        says(encoded(vec![("t", text())], &[], VALUE), "no order of numbers");
        let plain = Layout { plain: Some(PLAIN), ..VALUE };
        says(encoded(vec![("n", signed())], &[], plain), "no numbers from 0");
        let double: ArrayRef = Arc::new(Float64Array::from(vec![0.5]));
        says(encoded(vec![("f", double)], &[], plain), "no numbers from 0");
    }

    /// Decimals of a CSV file are sent exactly, though a double is not exact.
    #[test]
    fn decimals_of_text_are_exact() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        std::fs::write(&path, "k,v\n1,8.20\n2,33353.10\n3,\n4,0.5\n").unwrap();
        let layout = Layout { key_words: 1, values: 1, plain: Some(PLAIN) };
        let names = ["k".to_owned(), "V".to_owned()];
        let loaded = Source::File(path).load(&names, layout, 0).unwrap();
        let columns = vec![vec![1, 2, 4], vec![82, 333_531, 5]];
        assert_eq!(loaded, LoadedEntries { columns, nulls: 1, decimals: 1 });
    }
}
