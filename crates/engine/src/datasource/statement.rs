//! The statement of a scan, and the shape of its answer.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema, SchemaRef};
use sluicegate_s3select::dialect::ast::{Expr, From, Projection, ProjectionItem, Query, Type};
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
            if translator.trust(Operation::CountRows, TypeClass::Int) != Exactness::Exact {
                return None;
            }
            let field = arrow::datatypes::Field::new("count", DataType::Int64, false);
            return Some(Self {
                query: query(vec![item(Expr::count_star())], filter, None),
                output: OutputSerialization::Csv(CsvOutput::default()),
                answer: Arc::new(Schema::new(vec![field])),
                counts_rows: true,
            });
        }
        let answer = Arc::new(schema.project(columns).ok()?);
        let sendable = |data_type: &DataType| {
            is_text_safe(format.style, data_type) && is_trusted(&translator, data_type)
        };
        if !answer.fields().iter().all(|field| sendable(field.data_type())) {
            return None;
        }
        let output = output(format.style, &answer);
        // JSON has no NaN and no infinity, but their names can be read back from its strings.
        let floats_as_text = format.style == ColumnStyle::Named
            && matches!(output, OutputSerialization::Json { .. });
        let items = columns.iter().zip(answer.fields()).map(|(index, field)| {
            let column = translator.stored_column(*index)?;
            if floats_as_text && class(field.data_type()) == TypeClass::Float {
                let alias = Some(field.name().clone());
                return Some(ProjectionItem { expr: column.cast(Type::String), alias });
            }
            Some(item(column))
        });
        let items = items.collect::<Option<Vec<_>>>()?;
        let limit = limit.and_then(|limit| u64::try_from(limit).ok());
        Some(Self { output, query: query(items, filter, limit), answer, counts_rows: false })
    }

    /// Aggregates over all rows that pass a filter: one row, with these columns, which are called
    /// `_1`, `_2`, …; `None` if no answer of a store can hold them all.
    #[must_use]
    pub fn aggregate(
        style: ColumnStyle,
        items: Vec<Expr>,
        filter: Option<Expr>,
        answer: SchemaRef,
    ) -> Option<Self> {
        // The least text may be the empty one, which CSV cannot tell from NULL; and where a field
        // that is empty is NULL, there is none.
        let fields = answer.fields();
        let text = style != ColumnStyle::Positional
            && fields.iter().any(|field| class(field.data_type()) == TypeClass::String);
        // JSON has no NaN and no infinity.
        if text && fields.iter().any(|field| class(field.data_type()) == TypeClass::Float) {
            return None;
        }
        let output = if text { json() } else { OutputSerialization::Csv(CsvOutput::default()) };
        let items = items.into_iter().map(item).collect();
        Some(Self { query: query(items, filter, None), output, answer, counts_rows: false })
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

fn item(expr: Expr) -> ProjectionItem {
    ProjectionItem { expr, alias: None }
}

fn query(items: Vec<ProjectionItem>, filter: Option<Expr>, limit: Option<u64>) -> Query {
    Query {
        projection: Projection::Items(items),
        from: From { path: Vec::new(), alias: Some("s".to_owned()) },
        filter,
        limit,
    }
}

fn json() -> OutputSerialization {
    OutputSerialization::Json { record_delimiter: "\n".to_owned() }
}

/// CSV, unless NULL and the empty string must be told apart. What comes from JSON comes as JSON:
/// each value is then read by the same reader that would read it from the object.
fn output(style: ColumnStyle, answer: &Schema) -> OutputSerialization {
    let text = |data_type: &DataType| {
        matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
    };
    let has_text = answer.fields().iter().any(|field| text(field.data_type()));
    if style == ColumnStyle::Member || (style == ColumnStyle::Named && has_text) {
        return json();
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

/// Whether the store sends values of a type back as they are, those inside others included.
fn is_trusted(translator: &Translator<'_>, data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => {
            fields.iter().all(|field| is_trusted(translator, field.data_type()))
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => is_trusted(translator, item.data_type()),
        other => translator.trust(Operation::Project, class(other)) == Exactness::Exact,
    }
}

/// Whether a value survives the way through text. A CSV field is text already, and a value from
/// JSON is sent as JSON: both are read from the answer by the same reader that would read them
/// from the object.
fn is_text_safe(style: ColumnStyle, data_type: &DataType) -> bool {
    match style {
        ColumnStyle::Positional => !data_type.is_nested(),
        ColumnStyle::Member => true,
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
