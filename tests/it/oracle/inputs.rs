//! The recorded tables, each stored as CSV, JSON and Parquet.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use arrow::json::ReaderBuilder;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use serde_json::Value;

/// The formats in which tables are stored.
pub(crate) const FORMS: [&str; 3] = ["csv", "json", "parquet"];

/// Rows of a row group; objects have several.
const ROW_GROUP: usize = 7;

/// A table of the recorded statements.
#[derive(Debug)]
pub(crate) struct Input {
    name: String,
    /// Names and SQL types of the columns.
    columns: Vec<(String, String)>,
    /// True if the values of the last column name folders.
    is_partitioned: bool,
    rows: Vec<Vec<Option<String>>>,
}

impl Input {
    /// Parses the tables of a file.
    pub(crate) fn all(text: &str) -> Vec<Self> {
        let text_of = |value: &Value| value.as_str().unwrap().to_owned();
        let tables: Value = serde_json::from_str(text).unwrap();
        let table = |table: &Value| Self {
            name: text_of(&table["name"]),
            columns: table["columns"]
                .as_array()
                .unwrap()
                .iter()
                .map(|column| (text_of(&column[0]), text_of(&column[1])))
                .collect(),
            is_partitioned: table["partition"].is_string(),
            rows: table["rows"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| {
                    row.as_array()
                        .unwrap()
                        .iter()
                        .map(|it| it.as_str().map(str::to_owned))
                        .collect()
                })
                .collect(),
        };
        tables.as_array().unwrap().iter().map(table).collect()
    }

    /// Returns true if the table has an empty text, which CSV cannot represent: it would be NULL.
    pub(crate) fn has_empty_text(&self) -> bool {
        self.rows.iter().flatten().any(|value| value.as_deref() == Some(""))
    }

    /// Returns the statement that declares the table.
    pub(crate) fn ddl(&self, form: &str, location: &str) -> String {
        let columns = self.columns.iter().map(|(name, sql)| format!("{name} {sql}"));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let by = match self.columns.last() {
            Some((name, _)) if self.is_partitioned => format!("PARTITIONED BY ({name})"),
            _ => String::new(),
        };
        let options = if form == "csv" { "OPTIONS ('format.has_header' 'true')" } else { "" };
        format!(
            "CREATE EXTERNAL TABLE {} ({columns}) STORED AS {form} {by} LOCATION '{location}{}/' {options}",
            self.name, self.name
        )
    }

    /// Returns the objects of the table with their keys below the tables' folder: two of each partition.
    pub(crate) fn objects(&self, form: &str) -> Vec<(String, Vec<u8>)> {
        let stored = self.columns.len() - usize::from(self.is_partitioned);
        let mut folders: BTreeMap<String, Vec<&[Option<String>]>> = BTreeMap::new();
        for row in &self.rows {
            let folder = match (&self.columns[self.columns.len() - 1].0, row.last()) {
                (name, Some(Some(value))) if self.is_partitioned => format!("{name}={value}/"),
                _ => String::new(),
            };
            folders.entry(folder).or_default().push(&row[..stored]);
        }
        if folders.is_empty() {
            folders.insert(String::new(), Vec::new());
        }
        let mut objects = Vec::new();
        for (folder, rows) in folders {
            let (first, second) = rows.split_at(rows.len().div_ceil(2));
            for (at, rows) in [first, second].into_iter().enumerate() {
                if at == 0 || !rows.is_empty() {
                    let key = format!("{}/{folder}{at}.{form}", self.name);
                    objects.push((key, self.write(form, &self.columns[..stored], rows)));
                }
            }
        }
        objects
    }

    fn write(
        &self,
        form: &str,
        columns: &[(String, String)],
        rows: &[&[Option<String>]],
    ) -> Vec<u8> {
        match form {
            "csv" => csv(columns, rows).into_bytes(),
            "json" => json(columns, rows).into_bytes(),
            _ => parquet(columns, rows),
        }
    }
}

fn csv(columns: &[(String, String)], rows: &[&[Option<String>]]) -> String {
    let names: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let mut text = names.join(",") + "\n";
    for row in rows {
        let field = |value: &Option<String>| match value.as_deref().unwrap_or_default() {
            value if value.contains(['"', ',']) => format!("\"{}\"", value.replace('"', "\"\"")),
            value => value.to_owned(),
        };
        text += &row.iter().map(field).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    text
}

fn json(columns: &[(String, String)], rows: &[&[Option<String>]]) -> String {
    let mut text = String::new();
    for row in rows {
        let member = |((name, sql), value): (&(String, String), &Option<String>)| {
            let value = match value.as_deref() {
                None => "null".to_owned(),
                Some(value) if is_bare(sql, value) => value.to_owned(),
                Some(value) => Value::from(value).to_string(),
            };
            format!("\"{name}\":{value}")
        };
        let members = columns.iter().zip(*row).map(member).collect::<Vec<_>>();
        text += &format!("{{{}}}\n", members.join(","));
    }
    text
}

/// Returns true if JSON has the value without quotes.
fn is_bare(sql: &str, value: &str) -> bool {
    let is_finite = !value.ends_with(['f', 'N']);
    matches!(sql, "BOOLEAN" | "SMALLINT" | "INT" | "BIGINT")
        || sql.starts_with("DECIMAL")
        || matches!(sql, "REAL" | "DOUBLE") && is_finite
}

fn parquet(columns: &[(String, String)], rows: &[&[Option<String>]]) -> Vec<u8> {
    let fields = columns.iter().map(|(name, sql)| Field::new(name, arrow_type(sql), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let text = json(columns, rows);
    let reader = ReaderBuilder::new(Arc::clone(&schema)).build(Cursor::new(text)).unwrap();
    let properties =
        WriterProperties::builder().set_max_row_group_row_count(Some(ROW_GROUP)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties)).unwrap();
    for batch in reader {
        writer.write(&batch.unwrap()).unwrap();
    }
    writer.into_inner().unwrap()
}

fn arrow_type(sql: &str) -> DataType {
    let numbers: Vec<u8> =
        sql.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect();
    match (sql.split('(').next().unwrap_or(sql), numbers.as_slice()) {
        ("BOOLEAN", _) => DataType::Boolean,
        ("SMALLINT", _) => DataType::Int16,
        ("INT", _) => DataType::Int32,
        ("BIGINT", _) => DataType::Int64,
        ("REAL", _) => DataType::Float32,
        ("DOUBLE", _) => DataType::Float64,
        ("VARCHAR", _) => DataType::Utf8,
        ("DATE", _) => DataType::Date32,
        ("DECIMAL", [precision, scale]) => {
            DataType::Decimal128(*precision, i8::try_from(*scale).unwrap())
        }
        ("TIMESTAMP", [0]) => DataType::Timestamp(TimeUnit::Second, None),
        ("TIMESTAMP", [3]) => DataType::Timestamp(TimeUnit::Millisecond, None),
        ("TIMESTAMP", [6]) => DataType::Timestamp(TimeUnit::Microsecond, None),
        ("TIMESTAMP", [9]) => DataType::Timestamp(TimeUnit::Nanosecond, None),
        _ => panic!("no type {sql}"),
    }
}
