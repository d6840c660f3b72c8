//! The columns of JSON whose records are on several lines, and what is wrong with JSON that has none.

use std::io;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::reader::infer_json_schema_from_iterator;
use datafusion::catalog::Session;
use datafusion::common::{DataFusionError, Result, plan_datafusion_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::json::JsonFormat;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use serde_json::{Deserializer, Value};

use crate::json_layout;

/// How many records tell the columns unless the format's options say so, as of DataFusion.
const RECORDS: usize = 1000;

/// What text may begin with, that is no JSON.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// The columns of objects of which DataFusion, who reads line by line, could not tell them because of `error`.
///
/// # Errors
///
/// What is wrong with the first object that is at fault, and the way out; `error`, if that is not about JSON.
pub(crate) async fn columns(
    state: &dyn Session,
    format: &JsonFormat,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    error: DataFusionError,
) -> Result<SchemaRef> {
    let is_json = |error: &ArrowError| matches!(error, ArrowError::JsonError(_));
    if !matches!(error.find_root(), DataFusionError::ArrowError(error, _) if is_json(error)) {
        return Err(error);
    }
    let compression = FileCompressionType::from(format.options().compression);
    let mut left = format.options().schema_infer_max_rec.unwrap_or(RECORDS);
    let mut schemas = Vec::new();
    for object in objects {
        if left == 0 {
            break;
        }
        let bytes = store.get(&object.location).await?.bytes().await?;
        let text = compression.convert_read(io::Cursor::new(bytes.clone()))?;
        let read = match format.is_newline_delimited() {
            true => of_records(io::BufReader::new(text), left),
            false => Err(Fault::Json(error.to_string())),
        };
        let (schema, records) = read.map_err(|fault| fault.of(object))?;
        json_layout::learn(state, object, bytes, compression)?;
        schemas.push(schema);
        left = left.saturating_sub(records);
    }
    Ok(Arc::new(Schema::try_merge(schemas)?))
}

/// Why text has no records.
enum Fault {
    /// Its bytes are an array.
    Array,
    /// It begins with a mark of its byte order.
    Mark,
    /// It is no JSON, by the words of the parser.
    Json(String),
    /// It cannot be read.
    Read(io::Error),
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
            Self::Json(why) => plan_datafusion_err!("`{object}` is no JSON: {why}"),
            Self::Read(error) => error.into(),
        }
    }
}

/// The schema of at most so many records, and how many they were.
fn of_records(mut text: impl io::BufRead, most: usize) -> Result<(Schema, usize), Fault> {
    let beginning = text.fill_buf().map_err(Fault::Read)?;
    if beginning.starts_with(&BYTE_ORDER_MARK) {
        return Err(Fault::Mark);
    }
    let mut records = 0;
    let mut fault = None;
    let mut values = Deserializer::from_reader(text).into_iter::<Value>();
    let iterator = std::iter::from_fn(|| {
        if records == most {
            return None;
        }
        match values.next()? {
            Ok(Value::Array(_)) => {
                fault = Some(Fault::Array);
                None
            }
            Ok(value) => {
                records += 1;
                Some(Ok(value))
            }
            Err(error) => {
                fault = Some(Fault::Json(error.to_string()));
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
            Err(Fault::Json(why)) => Err(why),
            Err(Fault::Read(error)) => Err(error.to_string()),
        }
    }

    #[test]
    fn records_on_several_lines_have_columns() {
        let text = "{\n \"a\": 1,\n \"b\": \"x\"\n}\n{\"a\": 2.5}{\"c\":\ntrue}";
        let all = ["a: Float64", "b: Utf8", "c: Boolean"].map(str::to_owned).to_vec();
        assert_eq!(fields(text, 10), Ok((all, 3)));
        assert_eq!(fields(text, 1).unwrap().1, 1);
        assert_eq!(fields("", 10), Ok((Vec::new(), 0)));
        assert_eq!(fields("[{\"a\": 1}]", 10), Err("array".to_owned()));
        assert_eq!(fields("\u{feff}{\"a\": 1}", 10), Err("mark".to_owned()));
        let why = fields("{\"a\": 1}\n{\"a\": 2\n{\"a\": 3}", 10).unwrap_err();
        assert!(why.contains("line 3 column 1"), "{why}");
        assert!(fields("7\n8", 10).is_err());
    }
}
