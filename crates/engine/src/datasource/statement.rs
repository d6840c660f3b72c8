//! The statement of a scan, and the shape of its answer.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema, SchemaRef};
use sluicegate_s3select::dialect::ast::{Expr, From, Projection, ProjectionItem, Query};
use sluicegate_s3select::request::{
    CsvOutput, OutputSerialization, QuoteFields, ScanRange, SelectRequest,
};

use sluicegate_s3select::profile::{EndpointProfile, Exactness, Operation, TypeClass};

use super::format::TableFormat;
use super::predicate::{ColumnStyle, Translator};

/// A statement with everything that is the same for all objects of a table.
#[derive(Debug, Clone)]
pub struct Statement {
    /// The statement.
    pub query: Query,
    /// How the answer is to be sent.
    pub output: OutputSerialization,
    /// The columns of the answer.
    pub answer: SchemaRef,
    /// Whether the answer is one number: how many rows there are, for scans of no column.
    pub counts_rows: bool,
}

impl Statement {
    /// A scan of some columns of a file schema, in that order; `None` if a column's type cannot
    /// be sent as text and read back the same.
    #[must_use]
    pub fn scan(
        profile: &EndpointProfile,
        format: &TableFormat,
        schema: &Schema,
        columns: &[usize],
        filter: Option<Expr>,
        limit: Option<usize>,
    ) -> Option<Self> {
        let translator = Translator::new(profile, format.style, schema);
        if columns.is_empty() {
            let field = arrow::datatypes::Field::new("count", DataType::Int64, false);
            return Some(Self {
                query: query(vec![Expr::count_star()], filter, None),
                output: OutputSerialization::Csv(CsvOutput::default()),
                answer: Arc::new(Schema::new(vec![field])),
                counts_rows: true,
            });
        }
        let answer = Arc::new(schema.project(columns).ok()?);
        let sendable = |data_type: &DataType| {
            is_text_safe(format.style, data_type)
                && translator.trust(Operation::Project, class(data_type)) == Exactness::Exact
        };
        if !answer.fields().iter().all(|field| sendable(field.data_type())) {
            return None;
        }
        let items = columns
            .iter()
            .map(|index| translator.stored_column(*index))
            .collect::<Option<Vec<_>>>()?;
        let limit = limit.and_then(|limit| u64::try_from(limit).ok());
        Some(Self {
            output: output(format.style, &answer),
            query: query(items, filter, limit),
            answer,
            counts_rows: false,
        })
    }

    /// Aggregates over all rows that pass a filter: one row, with these columns.
    #[must_use]
    pub fn aggregate(items: Vec<Expr>, filter: Option<Expr>, answer: SchemaRef) -> Self {
        Self {
            query: query(items, filter, None),
            output: OutputSerialization::Csv(CsvOutput::default()),
            answer,
            counts_rows: false,
        }
    }

    /// The statement's text.
    #[must_use]
    pub fn sql(&self) -> String {
        self.query.to_string()
    }

    /// The request for an object, or for the bytes `start .. end` of it.
    #[must_use]
    pub fn request(&self, format: &TableFormat, range: Option<(u64, u64)>) -> SelectRequest {
        let start = range.map_or(0, |(start, _)| start);
        SelectRequest {
            expression: self.sql(),
            input: format.input_at(start, range.is_none()),
            output: self.output.clone(),
            scan_range: range
                .map(|(start, end)| ScanRange::Bounded { start, last: end.saturating_sub(1) }),
            progress: false,
        }
    }
}

fn query(items: Vec<Expr>, filter: Option<Expr>, limit: Option<u64>) -> Query {
    let items = items.into_iter().map(|expr| ProjectionItem { expr, alias: None }).collect();
    Query {
        projection: Projection::Items(items),
        from: From { path: Vec::new(), alias: Some("s".to_owned()) },
        filter,
        limit,
    }
}

/// CSV, unless NULL and the empty string must be told apart.
fn output(style: ColumnStyle, answer: &Schema) -> OutputSerialization {
    let text = |data_type: &DataType| {
        matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
    };
    let has_text = answer.fields().iter().any(|field| text(field.data_type()));
    if style == ColumnStyle::Named && has_text {
        return OutputSerialization::Json { record_delimiter: "\n".to_owned() };
    }
    // A single empty field would be a blank line, which readers skip.
    let single = answer.fields().len() == 1;
    OutputSerialization::Csv(CsvOutput {
        quote_fields: if single { QuoteFields::Always } else { QuoteFields::AsNeeded },
        ..CsvOutput::default()
    })
}

fn class(data_type: &DataType) -> TypeClass {
    match data_type {
        DataType::Boolean => TypeClass::Bool,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => TypeClass::Float,
        DataType::Decimal128(..) => TypeClass::Decimal,
        DataType::Date32 => TypeClass::Date,
        DataType::Timestamp(..) => TypeClass::Timestamp,
        other if other.is_integer() => TypeClass::Int,
        _ => TypeClass::String,
    }
}

/// Whether a value survives the way through text. A CSV field is text already, and is read from
/// the answer by the same reader that would read it from the object.
fn is_text_safe(style: ColumnStyle, data_type: &DataType) -> bool {
    match style {
        ColumnStyle::Positional => !data_type.is_nested(),
        ColumnStyle::Named => matches!(
            data_type,
            DataType::Boolean
                | DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::Int64
                | DataType::UInt8
                | DataType::UInt16
                | DataType::UInt32
                | DataType::Float64
                | DataType::Decimal128(..)
                | DataType::Date32
                | DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
        ),
    }
}
