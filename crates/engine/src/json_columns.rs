//! The columns of JSON objects, one after the other, on lines or not, and what is wrong with JSON that has none.
//!
//! DataFusion would fetch whole files for them, and knows only records that are lines.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::reader::infer_json_schema_from_iterator;
use datafusion::catalog::Session;
use datafusion::common::{DataFusionError, Result, plan_datafusion_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::json::JsonFormat;
use futures::TryStreamExt;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use serde_json::{Deserializer, Value};

use crate::decompressed;
use crate::json_layout;

/// How many records tell the columns unless the format's options say so, as of DataFusion.
const RECORDS: usize = 1000;

/// The bytes of text from which the columns are told, if there are so many records among them.
const FIRST_LOOK: usize = 64 << 10;

/// What text may begin with, that is no JSON.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// The columns of files in which JSON objects follow each other, as their first records tell them.
///
/// # Errors
///
/// What is wrong with the first file that is at fault, and the way out.
pub(crate) async fn columns(
    state: &dyn Session,
    format: &JsonFormat,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
) -> Result<SchemaRef> {
    let compression = FileCompressionType::from(format.options().compression);
    let mut left = format.options().schema_infer_max_rec.unwrap_or(RECORDS);
    let mut schemas = Vec::new();
    for object in objects {
        if left == 0 {
            break;
        }
        let read = of_object(store, object, compression, left).await?;
        let (schema, records, beginning) = read.map_err(|fault| fault.of(object))?;
        json_layout::learn(state, object, &beginning);
        schemas.push(schema);
        left = left.saturating_sub(records);
    }
    Ok(Arc::new(Schema::try_merge(schemas)?))
}

/// What is wrong with a file that is to be one JSON array, if that is what DataFusion complains about.
pub(crate) fn no_array(error: DataFusionError, objects: &[ObjectMeta]) -> DataFusionError {
    match (error.find_root(), objects) {
        (DataFusionError::ArrowError(arrow, _), [object])
            if matches!(arrow.as_ref(), ArrowError::JsonError(_)) =>
        {
            Fault::Json(error.to_string()).of(object)
        }
        _ => error,
    }
}

/// The schema of at most so many records of an object, how many they were, and as much of the text as that took.
async fn of_object(
    store: &Arc<dyn ObjectStore>,
    object: &ObjectMeta,
    compression: FileCompressionType,
    most: usize,
) -> Result<Result<(Schema, usize, Vec<u8>), Fault>> {
    let bytes = store.get(&object.location).await?.into_stream();
    let mut parts = decompressed::text(compression, bytes);
    let (mut text, mut enough) = (Vec::new(), FIRST_LOOK);
    loop {
        let mut is_whole = false;
        while text.len() < enough && !is_whole {
            match parts.try_next().await? {
                Some(part) => text.extend_from_slice(&part),
                None => is_whole = true,
            }
        }
        match of_records(&text, most) {
            Ok((_, records)) if records < most && !is_whole => {}
            Err(Fault::Cut(_)) if !is_whole => {}
            told => return Ok(told.map(|(schema, records)| (schema, records, text))),
        }
        enough = 4 * text.len();
    }
}

/// Why text has no records.
enum Fault {
    /// Its bytes are an array.
    Array,
    /// It begins with a mark of its byte order.
    Mark,
    /// It is no JSON, by the words of the parser.
    Json(String),
    /// It has a number that no type of numbers holds, by the words of the parser.
    Number(String),
    /// It has a value that is no object: what that is instead.
    Value(&'static str),
    /// It ends within a value, by the words of the parser.
    Cut(String),
}

impl Fault {
    fn of(self, object: &ObjectMeta) -> DataFusionError {
        let object = &object.location;
        match self {
            Self::Array => plan_datafusion_err!(
                "`{object}` is one JSON array of all records; it is read by read_json('…', newline_delimited => \
                 false), or with OPTIONS ('format.newline_delimited' 'false')"
            ),
            Self::Mark => plan_datafusion_err!(
                "`{object}` begins with a byte order mark, which JSON has none of; store it without its first \
                 three bytes"
            ),
            Self::Json(why) | Self::Cut(why) => {
                plan_datafusion_err!("`{object}` is no JSON: {why}")
            }
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

/// The schema of at most so many records, and how many they were.
fn of_records(text: &[u8], most: usize) -> Result<(Schema, usize), Fault> {
    if text.starts_with(&BYTE_ORDER_MARK) {
        return Err(Fault::Mark);
    }
    // Its end may be far.
    if text.trim_ascii_start().starts_with(b"[") {
        return Err(Fault::Array);
    }
    let mut records = 0;
    let mut fault = None;
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
            Ok(value @ Value::Object(_)) => {
                records += 1;
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
        (None, Ok(schema)) => Ok((schema, records)),
        (None, Err(error)) => Err(Fault::Json(error.to_string())),
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
            Err(Fault::Array) => Err("array".to_owned()),
            Err(Fault::Mark) => Err("mark".to_owned()),
            Err(Fault::Json(why) | Fault::Number(why) | Fault::Cut(why)) => Err(why),
            Err(Fault::Value(what)) => Err(what.to_owned()),
        }
    }

    #[test]
    fn records_on_several_lines_have_columns() {
        let text = "{\n \"a\": 1,\n \"b\": \"x\"\n}\n{\"a\": 2.5}{\"c\":\ntrue}";
        let all = ["a: Float64", "b: Utf8", "c: Boolean"].map(str::to_owned).to_vec();
        assert_eq!(fields(text, 10), Ok((all, 3)));
        assert_eq!(fields(text, 1).unwrap().1, 1);
        assert_eq!(fields("", 10), Ok((Vec::new(), 0)));
        for array in ["[{\"a\": 1}]", " [{", "{}\n[{}]"] {
            assert_eq!(fields(array, 10), Err("array".to_owned()));
        }
        assert_eq!(fields("\u{feff}{\"a\": 1}", 10), Err("mark".to_owned()));
        let why = fields("{\"a\": 1}\n{\"a\": 2\n{\"a\": 3}", 10).unwrap_err();
        assert!(why.contains("line 3 column 1"), "{why}");
        assert_eq!(fields("{}\n7\n8", 10), Err("a number".to_owned()));
        let why = fields("{\"a\":1e400}", 10).unwrap_err();
        assert!(why.contains("number out of range"), "{why}");
    }
}
