//! Infers the columns of JSON objects that follow each other, on lines or not, and reports invalid JSON.
//!
//! DataFusion would fetch whole files to infer them, and supports only records that are lines.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::reader::infer_json_schema_from_iterator;
use datafusion::catalog::Session;
use datafusion::common::{DataFusionError, Result, plan_datafusion_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::json::JsonFormat;
use futures::TryStreamExt;
use futures::future::join_all;
use memchr::memrchr;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use serde_json::{Deserializer, Value};

use crate::context::notes::Notes;
use crate::text::decompression;
use crate::text::json::layout;
use crate::text::json::order;
use crate::text::json::rows::MIXED;
use crate::text::magic_bytes;
use crate::text::merged_columns::{LEAVE_OUT, MergedColumns};
use crate::text::record_limit::{MOST_BYTES, too_long};
use crate::text::sniff_cache::SniffOrder;
use crate::{ErrorKind, UserError};

/// The number of records to infer columns from, unless the format's options set another one; DataFusion's default.
const RECORDS: usize = 1000;

/// The bytes of text to read first; usually they contain enough records.
const FIRST_SNIFF_BYTES: usize = 64 << 10;

/// The maximum number of bytes of a file that is one array for which the columns are inferred here.
const MOST_OF_ARRAY: u64 = 16 << 20;

/// The beginning of the description in an error about a file that is one array.
const IS_ARRAY: &str = "is one JSON array of all records";

/// Returns true if an error of [`columns`] is that a file is one array.
pub(crate) fn is_array(error: &DataFusionError) -> bool {
    error.to_string().contains(IS_ARRAY)
}

/// The hint for tables in which some files are arrays and others are not.
pub(crate) const SEPARATE_HINT: &str = "Read files of one kind at a time, arrays by read_json('…', newline_delimited => false), and put them together with \
     UNION ALL BY NAME.";

/// Infers the columns of files in which JSON objects follow each other from their first records.
///
/// # Errors
///
/// The fault of the first file that has one, with a hint.
pub(crate) async fn columns(
    state: &dyn Session,
    format: &JsonFormat,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
) -> Result<SchemaRef> {
    let compression = FileCompressionType::from(format.options().compression);
    let mut left = format.options().schema_infer_max_rec.unwrap_or(RECORDS);
    let mut columns = MergedColumns::of_json();
    let mut looks = SniffOrder::new(objects);
    let mut any = false;
    while left > 0
        && let Some(some) = looks.next(left)
    {
        let mut read = Vec::with_capacity(some.len());
        for object in some {
            read.push(of_object(store, object, compression, left));
        }
        for (object, read) in some.iter().zip(join_all(read).await) {
            if left == 0 {
                break;
            }
            let (schema, records, beginning) = match read? {
                Err(Fault::Array) if any => return Err(Fault::OnlyArray.into_error(object)),
                told => told.map_err(|fault| fault.into_error(object))?,
            };
            any |= records > 0;
            layout::learn(state, object, &beginning);
            columns.add(object, &schema)?;
            left = left.saturating_sub(records);
            looks.insert(records);
        }
    }
    note_widened(state, &mut columns);
    Ok(Arc::new(columns.into_schema()))
}

/// Adds notes about the columns that were widened.
fn note_widened(state: &dyn Session, columns: &mut MergedColumns) {
    let notes = state.config().get_extension::<Notes>().unwrap_or_default();
    columns.take_widened().into_iter().for_each(|note| notes.add(note));
}

/// Infers the columns of files that are one JSON array each from their first records. Returns `None` if a file is too
/// large, or is not such an array.
///
/// # Errors
///
/// The fault of a file with values that fit no column.
pub(crate) async fn of_arrays(
    state: &dyn Session,
    format: &JsonFormat,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
) -> Result<Option<SchemaRef>> {
    if objects.iter().any(|object| object.size > MOST_OF_ARRAY) {
        return Ok(None);
    }
    let mut left = format.options().schema_infer_max_rec.unwrap_or(RECORDS);
    let mut columns = MergedColumns::of_json();
    for object in objects {
        if left == 0 {
            break;
        }
        let (mut text, mut parts) = (Vec::new(), store.get(&object.location).await?.into_stream());
        while let Some(part) = parts.try_next().await? {
            text.extend_from_slice(&part);
            if text.len() > MOST_BYTES {
                return Ok(None);
            }
        }
        let Ok(mut records) = serde_json::from_slice::<Vec<Value>>(&text) else { return Ok(None) };
        records.truncate(left);
        left -= records.len();
        let mut seen = ColumnTypes::default();
        for (number, record) in (1..).zip(&mut records) {
            drop_nulls(record);
            if !record.is_object() {
                return Err(Fault::Value(kind(record)).into_error(object));
            }
            if let Some(conflict) = Conflict::of_record(&mut seen, (&*record, number)) {
                return Err(Fault::Types(conflict).into_error(object));
            }
        }
        let schema = infer_json_schema_from_iterator(records.iter().map(Ok))?;
        columns.add(object, &seen.typed(&schema))?;
    }
    note_widened(state, &mut columns);
    Ok(Some(Arc::new(columns.into_schema())))
}

/// Returns the fault of a file that is one JSON array in which DataFusion finds no columns.
pub(crate) fn of_array_fault(error: DataFusionError, objects: &[ObjectMeta]) -> DataFusionError {
    let is_of_json = matches!(error.find_root(), DataFusionError::ArrowError(arrow, _)
        if matches!(arrow.as_ref(), ArrowError::JsonError(_)));
    match objects {
        [object] if is_of_json => Fault::Json(error.to_string()).into_error(object),
        _ => error,
    }
}

/// Returns the schema of at most `most` records of an object, the number of records, and the text that was read.
async fn of_object(
    store: &Arc<dyn ObjectStore>,
    object: &ObjectMeta,
    compression: FileCompressionType,
    most: usize,
) -> Result<Result<(Schema, usize, Vec<u8>), Fault>> {
    let bytes = store.get(&object.location).await?.into_stream();
    let mut parts = decompression::text(compression, bytes);
    let (mut text, mut enough) = (Vec::new(), FIRST_SNIFF_BYTES);
    loop {
        let mut is_whole = false;
        while text.len() < enough && !is_whole {
            match parts.try_next().await? {
                Some(part) => text.extend_from_slice(&part),
                None => is_whole = true,
            }
        }
        magic_bytes::check_text(object, &text)?;
        if text.len() > MOST_BYTES && !is_whole {
            let Some(end) = memrchr(b'\n', &text) else {
                return Err(too_long(object.location.as_ref()).into());
            };
            // The complete records are enough.
            text.truncate(end + 1);
            is_whole = true;
        }
        match of_records(&text, most) {
            Ok((_, records)) if records < most && !is_whole => {}
            Err(Fault::Cut(_)) if !is_whole => {}
            told => {
                return Ok(told.map(|(schema, records)| {
                    (order::of_records(&schema, &text, records), records, text)
                }));
            }
        }
        enough = (4 * text.len()).min(MOST_BYTES + 1);
    }
}

/// The reason why a text has no valid records.
enum Fault {
    /// The text is an array.
    Array,
    /// The text is an array, but other files of the table are not.
    OnlyArray,
    /// The text is not JSON, with the parser's message.
    Json(String),
    /// A column has values that no type has in common.
    Types(Conflict),
    /// A number is too large for any type, with the parser's message.
    Number(String),
    /// A value is not an object, with the kind of the value.
    Value(&'static str),
    /// The text ends within a value, with the parser's message.
    Cut(String),
}

impl Fault {
    fn into_error(self, object: &ObjectMeta) -> DataFusionError {
        let object = &object.location;
        match self {
            Self::Array => plan_datafusion_err!(
                "`{object}` {IS_ARRAY}; it is read by read_json('…', newline_delimited => false), or with OPTIONS \
                 ('format.newline_delimited' 'false')"
            ),
            Self::OnlyArray => UserError {
                kind: ErrorKind::Data,
                message: format!(
                    "`{object}` is one JSON array, and other files of the table are not"
                ),
                hint: Some(SEPARATE_HINT.to_owned()),
            }
            .into(),
            Self::Json(why) | Self::Cut(why) => {
                plan_datafusion_err!("`{object}` is no JSON: {why}")
            }
            Self::Types(conflict) => UserError {
                kind: ErrorKind::Data,
                message: conflict.message(object.as_ref()),
                hint: Some(LEAVE_OUT.to_owned()),
            }
            .into(),
            Self::Number(why) => plan_datafusion_err!(
                "`{object}` has a number that is too large ({why}); correct it, or declare the columns: CREATE \
                 EXTERNAL TABLE t (a DOUBLE, …) reads it as infinite"
            ),
            Self::Value(what) => plan_datafusion_err!(
                "`{object}` has {what} where there are to be objects, one for each row"
            ),
        }
    }
}

/// Returns the schema of at most `most` records, and their number.
fn of_records(text: &[u8], most: usize) -> Result<(Schema, usize), Fault> {
    // An array is not parsed: its end may be far away.
    if text.trim_ascii_start().starts_with(b"[") {
        return Err(Fault::Array);
    }
    let mut records = 0;
    let mut fault = None;
    let mut seen = ColumnTypes::default();
    let mut values = Deserializer::from_slice(text).into_iter::<Value>();
    let iterator = std::iter::from_fn(|| {
        if records == most {
            return None;
        }
        match values.next()? {
            Ok(Value::Array(_)) => {
                fault = Some(Fault::Array);
                None
            }
            Ok(mut value @ Value::Object(_)) => {
                records += 1;
                drop_nulls(&mut value);
                // Arrow merges lists and other values to lists, which its reader then refuses.
                if let Some(conflict) = Conflict::of_record(&mut seen, (&value, records)) {
                    fault = Some(Fault::Types(conflict));
                    return None;
                }
                Some(Ok(value))
            }
            Ok(value) => {
                fault = Some(Fault::Value(kind(&value)));
                None
            }
            Err(error) => {
                let why = error.to_string();
                fault = Some(match why.starts_with("number out of range") {
                    true => Fault::Number(why),
                    false if error.is_eof() => Fault::Cut(why),
                    false => Fault::Json(why),
                });
                None
            }
        }
    });
    let schema = infer_json_schema_from_iterator(iterator);
    match (fault, schema) {
        (Some(fault), _) => Err(fault),
        (None, Ok(schema)) => Ok((seen.typed(&schema), records)),
        (None, Err(error)) => Err(Fault::Json(error.to_string())),
    }
}

/// Removes nulls from lists, because they do not determine the type of the other items. Arrow treats a list that
/// begins with null as a list of scalars.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Array(values) => {
            values.retain(|value| !value.is_null());
            values.iter_mut().for_each(drop_nulls);
        }
        Value::Object(fields) => fields.values_mut().for_each(drop_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The kinds of values in the records so far, by the path of the column.
#[derive(Debug, Default)]
struct ColumnTypes {
    /// The kind of the first value and the number of its record, counted from 1.
    kinds: HashMap<String, (&'static str, usize)>,
    /// Columns with at least two of numbers, booleans and texts.
    mixed: HashSet<String>,
    /// Columns with a number beyond BIGINT, but within BIGINT UNSIGNED.
    large: HashSet<String>,
    /// Columns with a number that BIGINT UNSIGNED does not hold.
    not_unsigned: HashSet<String>,
}

impl ColumnTypes {
    /// Changes the columns that Arrow infers as text to [`MIXED`] if not all their values are text, and the columns that
    /// it infers as DOUBLE to BIGINT UNSIGNED if all their values are such numbers.
    fn typed(&self, columns: &Schema) -> Schema {
        let typed = columns.fields().iter().map(|field| self.field(field.name(), field));
        Schema::new_with_metadata(typed.collect::<Vec<_>>(), columns.metadata().clone())
    }

    fn field(&self, path: &str, field: &Field) -> Field {
        let data_type = match field.data_type() {
            DataType::Utf8 if self.mixed.contains(path) => MIXED,
            DataType::Float64 if self.large.contains(path) && !self.not_unsigned.contains(path) => {
                DataType::UInt64
            }
            DataType::Struct(fields) => {
                let fields =
                    fields.iter().map(|it| self.field(&format!("{path}.{}", it.name()), it));
                DataType::Struct(fields.collect())
            }
            DataType::List(item) => {
                DataType::List(Arc::new(self.field(&format!("{path}[]"), item)))
            }
            other => other.clone(),
        };
        field.clone().with_data_type(data_type)
    }
}

/// Two values of one column that no type has in common.
#[derive(Debug, PartialEq, Eq)]
struct Conflict {
    column: String,
    /// The kinds of the values and the numbers of their records, counted from 1.
    first: (&'static str, usize),
    other: (&'static str, usize),
}

impl Conflict {
    /// Returns the conflict of a record with the values `seen` before, if there is one.
    fn of_record(seen: &mut ColumnTypes, (record, number): (&Value, usize)) -> Option<Self> {
        match record {
            Value::Object(columns) => columns
                .iter()
                .find_map(|(name, value)| Self::with(seen, name.clone(), (value, number))),
            _ => None,
        }
    }

    fn with(
        seen: &mut ColumnTypes,
        column: String,
        (value, record): (&Value, usize),
    ) -> Option<Self> {
        if value.is_null() {
            return None;
        }
        let other = (kind(value), record);
        let first = *seen.kinds.entry(column.clone()).or_insert(other);
        let nested = |kind| ["an array", "an object"].contains(&kind);
        if first.0 != other.0 && (nested(first.0) || nested(other.0)) {
            return Some(Self { column, first, other });
        }
        if first.0 != other.0 {
            seen.mixed.insert(column.clone());
        }
        if let Value::Number(number) = value {
            match number.as_u64() {
                Some(number) if i64::try_from(number).is_err() => {
                    seen.large.insert(column.clone());
                }
                Some(_) => {}
                None => {
                    seen.not_unsigned.insert(column.clone());
                }
            }
        }
        match value {
            Value::Object(fields) => fields.iter().find_map(|(name, value)| {
                Self::with(seen, format!("{column}.{name}"), (value, record))
            }),
            Value::Array(values) => values
                .iter()
                .find_map(|value| Self::with(seen, format!("{column}[]"), (value, record))),
            _ => None,
        }
    }

    fn message(&self, object: &str) -> String {
        let Self { column, first, other } = self;
        format!(
            "column `{column}` of `{object}` is {} in record {} and {} in record {}",
            first.0, first.1, other.0, other.1
        )
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str, most: usize) -> Result<(Vec<String>, usize), String> {
        match of_records(text.as_bytes(), most) {
            Ok((schema, records)) => {
                let fields = schema.fields().iter();
                Ok((
                    fields.map(|it| format!("{}: {}", it.name(), it.data_type())).collect(),
                    records,
                ))
            }
            Err(Fault::Array | Fault::OnlyArray) => Err("array".to_owned()),
            Err(Fault::Json(why) | Fault::Number(why) | Fault::Cut(why)) => Err(why),
            Err(Fault::Value(what)) => Err(what.to_owned()),
            Err(Fault::Types(conflict)) => Err(conflict.message("it")),
        }
    }

    #[test]
    fn records_on_several_lines_have_columns() {
        let text = "{\n \"a\": 1,\n \"b\": \"x\"\n}\n{\"a\": 2.5}{\"c\":\ntrue}";
        let all = ["a: Float64", "b: Utf8", "c: Boolean"].map(str::to_owned).to_vec();
        assert_eq!(fields(text, 10), Ok((all, 3)));
        assert_eq!(fields(text, 1).unwrap().1, 1);
        let mixed = r#"{"a":1,"b":[1],"c":{"d":"x"}} {"a":"x","b":[true],"c":{"d":"y"}}"#;
        let (mixed, _) = fields(mixed, 10).unwrap();
        assert_eq!((mixed[0].as_str(), mixed[1].contains("LargeUtf8")), ("a: LargeUtf8", true));
        assert!(!mixed[2].contains("LargeUtf8"), "{mixed:?}");
        for (numbers, expected) in [
            (["18446744073709551615", "5"], "UInt64"),
            (["9223372036854775807", "5"], "Int64"),
            (["18446744073709551615", "-5"], "Float64"),
            (["18446744073709551615", "0.5"], "Float64"),
            (["18446744073709551616", "5"], "Float64"),
        ] {
            let [one, other] = numbers;
            let text = format!("{{\"a\":{one},\"b\":[{other}]}} {{\"a\":{other},\"b\":[{one}]}}");
            let (columns, _) = fields(&text, 10).unwrap();
            assert_eq!(columns[0], format!("a: {expected}"), "{numbers:?}");
            assert!(columns[1].contains(expected), "{columns:?}");
        }
        assert_eq!(fields("", 10), Ok((Vec::new(), 0)));
        for array in ["[{\"a\": 1}]", " [{", "{}\n[{}]"] {
            assert_eq!(fields(array, 10), Err("array".to_owned()));
        }
        let why = fields("{\"a\": 1}\n{\"a\": 2\n{\"a\": 3}", 10).unwrap_err();
        assert!(why.contains("line 3 column 1"), "{why}");
        assert_eq!(fields("{}\n7\n8", 10), Err("a number".to_owned()));
        for (text, said) in [
            (
                r#"{"a":null,"b":1} {"a":1} {"a":{"x":1}}"#,
                "column `a` of `it` is a number in record 2 and an object in record 3",
            ),
            (
                r#"{"a":{"b":[{"c":[1]}]}} {"a":{"b":[{"c":{"d":2}}]}}"#,
                "column `a.b[].c` of `it` is an array in record 1 and an object in record 2",
            ),
        ] {
            assert_eq!(fields(text, 10), Err(said.to_owned()));
        }
        let (list, _) = fields(r#"{"l":[{"a":1}]}"#, 10).unwrap();
        for text in [
            r#"{"l":[{"a":1}]} {"l":[null]}"#,
            r#"{"l":[null]} {"l":[{"a":1}]}"#,
            r#"{"l":[{"a":null},null]} {"l":[null,{"a":1}]} {"l":null}"#,
        ] {
            let (found, _) = fields(text, 10).unwrap();
            assert_eq!(found, list, "{text}");
        }
        let why = fields("{\"a\":1e400}", 10).unwrap_err();
        assert!(why.contains("number out of range"), "{why}");
    }
}
