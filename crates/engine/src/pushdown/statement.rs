//! The statement of a scan, and the shape of its answer.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use sluicegate_client::arrow_type;
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::dialect::ast::{Expr, From, Projection, ProjectionItem, Query, Type};
use sluicegate_s3select::request::{
    ArrowOutput, CsvOutput, OutputSerialization, ScanRange, SelectRequest,
};

use sluicegate_s3select::capabilities::{
    Exactness, Extension, Operation, StoreCapabilities, TypeClass,
};

use super::format::TableFormat;
use super::predicate::{ColumnStyle, Translator};
use crate::text::json::rows::is_mixed;

/// A statement with everything that is the same for all objects of a table.
#[derive(Debug, Clone)]
pub struct Statement {
    /// The SQL of the statement.
    pub query: Query,
    /// The format of the answer.
    pub output: OutputSerialization,
    /// The columns of the answer.
    pub answer: SchemaRef,
    /// True if the answer is a single number, the row count of a scan without columns.
    pub counts_rows: bool,
}

impl Statement {
    /// Returns a scan of some columns of a file schema, in that order, or `None` if the values of a column cannot be
    /// sent and read back unchanged.
    #[must_use]
    pub fn scan(
        profile: &StoreCapabilities,
        format: &TableFormat,
        schema: &Schema,
        columns: &[usize],
        filter: Option<Expr>,
        limit: Option<usize>,
    ) -> Option<Self> {
        let translator = Translator::new(profile, format.style, schema);
        if columns.is_empty() {
            if translator.exactness(Operation::CountRows, TypeClass::Int) != Exactness::Exact {
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
        let types = answer.fields().iter().map(|field| field.data_type());
        let arrow = arrow_output(profile, format.style, types);
        let sendable = |field: &FieldRef| match &arrow {
            Some(_) => is_sent_in_arrow(profile, format.style, &translator, field.data_type()),
            None => is_sendable(format.style, &translator, field.data_type()),
        };
        if !answer.fields().iter().all(sendable) {
            return None;
        }
        let output =
            arrow.map_or_else(|| output(format.style, &answer), OutputSerialization::Arrow);
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

    /// Aggregates over all rows that pass a filter. The answer is one row with these columns, which are called `_1`,
    /// `_2`, …. A column that is not nullable is a count.
    #[must_use]
    pub fn aggregate(items: Vec<Expr>, filter: Option<Expr>, answer: SchemaRef) -> Self {
        let is = |class_of: TypeClass| {
            answer.fields().iter().map(move |field| class(field.data_type()) == class_of)
        };
        let text = is(TypeClass::String).any(|text| text);
        // JSON has no NaN and no infinity, but their names can be read back from its strings.
        let items = items
            .into_iter()
            .zip(is(TypeClass::Float))
            .map(|(expr, float)| if text && float { expr.cast(Type::String) } else { expr });
        Self::aggregate_as_sent(items.collect(), filter, answer)
    }

    /// Like [`Self::aggregate`], but the items are sent unchanged, without casts to text.
    pub(crate) fn aggregate_as_sent(
        items: Vec<Expr>,
        filter: Option<Expr>,
        answer: SchemaRef,
    ) -> Self {
        // The least text may be the empty one, which CSV cannot distinguish from NULL.
        let text = answer.fields().iter().any(|it| class(it.data_type()) == TypeClass::String);
        let output = if text { json() } else { OutputSerialization::Csv(CsvOutput::default()) };
        let query = query(items.into_iter().map(item).collect(), filter, None);
        Self { query, output, answer, counts_rows: false }
    }

    /// Returns the groups of the rows that pass a filter, with their keys and then their aggregates, which are called
    /// `_1`, `_2`, …. Without keys, all rows are one group. The answer may split a group into several rows.
    #[must_use]
    pub fn groups(
        keys: Vec<GroupKey>,
        aggregates: Vec<Expr>,
        filter: Option<Expr>,
        answer: SchemaRef,
        output: OutputSerialization,
    ) -> Self {
        let as_json = matches!(output, OutputSerialization::Json { .. });
        let first = keys.len();
        let of_key = |(number, key): (usize, &GroupKey)| ProjectionItem {
            expr: key.sent.clone(),
            // In CSV, columns keep their names, and in Arrow they have numbers.
            alias: as_json.then(|| format!("_{}", number + 1)),
        };
        let mut items: Vec<_> = keys.iter().enumerate().map(of_key).collect();
        for (aggregate, field) in aggregates.into_iter().zip(answer.fields().iter().skip(first)) {
            // JSON has no NaN and no infinity, but their names can be read back from its strings.
            let as_text = as_json && class(field.data_type()) == TypeClass::Float;
            items.push(item(if as_text { aggregate.cast(Type::String) } else { aggregate }));
        }
        let mut query = query(items, filter, None);
        query.group_by = keys.into_iter().map(|key| key.key).collect();
        Self { query, output, answer, counts_rows: false }
    }

    /// Returns the SQL text of the statement.
    #[must_use]
    pub fn sql(&self) -> String {
        self.query.to_string()
    }

    /// Returns the request for an object, or for the bytes `start .. end` of it.
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
            extras: Extras::from_query(&self.query),
        }
    }
}

/// A key of GROUP BY.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupKey {
    /// The expression in GROUP BY.
    pub key: Expr,
    /// The expression in the SELECT list that returns the key.
    pub sent: Expr,
}

fn item(expr: Expr) -> ProjectionItem {
    ProjectionItem { expr, alias: None }
}

fn query(items: Vec<ProjectionItem>, filter: Option<Expr>, limit: Option<u64>) -> Query {
    Query {
        projection: Projection::Items(items),
        from: From { path: Vec::new(), alias: Some("s".to_owned()) },
        filter,
        group_by: Vec::new(),
        limit,
    }
}

pub(crate) fn json() -> OutputSerialization {
    OutputSerialization::Json { record_delimiter: "\n".to_owned() }
}

/// Returns the types of an answer in Arrow, if the store can send all of its columns in that way. It only applies to
/// Parquet: values of CSV and JSON are sent as text, which the reader of such objects parses.
pub(crate) fn arrow_output<'a>(
    profile: &StoreCapabilities,
    style: ColumnStyle,
    columns: impl Iterator<Item = &'a DataType>,
) -> Option<ArrowOutput> {
    /// Wider answers may exceed the length of a header.
    const MOST_COLUMNS: usize = 500;
    if !offers_arrow(profile, style) {
        return None;
    }
    let columns = columns.map(arrow_type).collect::<Option<Vec<_>>>()?;
    (columns.len() <= MOST_COLUMNS).then_some(ArrowOutput { columns, compression: None })
}

/// Returns true if a store answers statements about objects of this style in Arrow.
fn offers_arrow(profile: &StoreCapabilities, style: ColumnStyle) -> bool {
    style == ColumnStyle::Named && profile.relies_on.contains(&Extension::Arrow)
}

/// Returns true if the store sends every value of a type in Arrow unchanged.
pub(crate) fn is_sent_in_arrow(
    profile: &StoreCapabilities,
    style: ColumnStyle,
    translator: &Translator<'_>,
    data_type: &DataType,
) -> bool {
    offers_arrow(profile, style)
        && arrow_type(data_type).is_some()
        && is_trusted(translator, data_type)
}

/// Returns the output format of an answer as text. It is CSV, unless NULL and the empty string must be distinguished.
/// Values of JSON objects are sent as JSON, so that the reader that would parse the object parses the answer.
fn output(style: ColumnStyle, answer: &Schema) -> OutputSerialization {
    let text = |data_type: &DataType| {
        matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
    };
    let has_text = answer.fields().iter().any(|field| text(field.data_type()));
    if style == ColumnStyle::Member || (style == ColumnStyle::Named && has_text) {
        return json();
    }
    csv()
}

pub(crate) fn csv() -> OutputSerialization {
    OutputSerialization::Csv(CsvOutput::default())
}

/// Returns the class of types that a store profile lists a data type under.
pub(crate) fn class(data_type: &DataType) -> TypeClass {
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

/// Returns true if every value of a type can be sent and read back unchanged.
pub(crate) fn is_sendable(
    style: ColumnStyle,
    translator: &Translator<'_>,
    data_type: &DataType,
) -> bool {
    is_text_safe(style, data_type) && is_trusted(translator, data_type)
}

/// Returns true if the store returns values of a type unchanged, including the values nested in others.
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
        other => translator.exactness(Operation::Project, class(other)) == Exactness::Exact,
    }
}

/// Returns true if every value of a type can be sent as text and read back unchanged. A CSV field is text already,
/// and a value from JSON is sent as JSON: the reader that would parse the object also parses the answer.
fn is_text_safe(style: ColumnStyle, data_type: &DataType) -> bool {
    match style {
        ColumnStyle::Positional => !data_type.is_nested(),
        // A store may write a number as a different text.
        ColumnStyle::Member => !is_mixed(data_type),
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

#[cfg(test)]
mod tests {
    use arrow::datatypes::Field;
    use sluicegate_s3select::dialect::ast::Aggregate;
    use sluicegate_s3select::request::{Compression, InputFormat, InputSerialization, JsonType};

    use super::*;

    fn schema() -> Schema {
        Schema::new(vec![
            Field::new("n", DataType::Int64, true),
            Field::new("f", DataType::Float64, true),
            Field::new("s", DataType::Utf8View, true),
            Field::new("t", DataType::Time64(arrow::datatypes::TimeUnit::Microsecond), true),
        ])
    }

    fn scan(format: InputFormat, style: ColumnStyle, columns: &[usize]) -> Option<Statement> {
        let input = InputSerialization { format, compression: Compression::None };
        let format = TableFormat { input, style };
        let mut profile = StoreCapabilities::sluice();
        profile.relies_on.remove(&Extension::Arrow);
        Statement::scan(&profile, &format, &schema(), columns, None, Some(3))
    }

    #[track_caller]
    fn check(statement: Option<Statement>, sql: &str, is_json: bool) {
        let statement = statement.unwrap();
        assert_eq!(statement.sql(), sql);
        assert_eq!(matches!(statement.output, OutputSerialization::Json { .. }), is_json);
    }

    #[test]
    fn the_answer_tells_null_from_the_empty_text_where_the_object_does() {
        let csv = || InputFormat::Csv(Default::default());
        let positional = ColumnStyle::Positional;
        check(scan(csv(), positional, &[0, 2]), "SELECT s._1, s._3 FROM S3Object s LIMIT 3", false);
        let named = ColumnStyle::Named;
        let sql = "SELECT s.\"n\", s.\"f\" FROM S3Object s LIMIT 3";
        check(scan(InputFormat::Parquet, named, &[0, 1]), sql, false);
        let sql = "SELECT CAST(s.\"f\" AS STRING) AS f, s.\"s\" FROM S3Object s LIMIT 3";
        check(scan(InputFormat::Parquet, named, &[1, 2]), sql, true);
        let json = InputFormat::Json(JsonType::Lines);
        check(
            scan(json, ColumnStyle::Member, &[0]),
            "SELECT s.\"n\" FROM S3Object s LIMIT 3",
            true,
        );
    }

    #[test]
    fn columns_of_parquet_are_sent_in_arrow_where_the_store_offers_it() {
        let input =
            InputSerialization { format: InputFormat::Parquet, compression: Compression::None };
        let format = TableFormat { input, style: ColumnStyle::Named };
        let mut fields = schema().fields().to_vec();
        let zoned =
            DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, Some("UTC".into()));
        fields.push(Arc::new(Field::new("z", zoned, true)));
        let schema = Schema::new(fields);
        let scan = |columns: &[usize]| {
            let profile = StoreCapabilities::sluice();
            Statement::scan(&profile, &format, &schema, columns, None, None)
        };
        let statement = scan(&[1, 2, 4]).unwrap();
        assert_eq!(statement.sql(), "SELECT s.\"f\", s.\"s\", s.\"z\" FROM S3Object s");
        let OutputSerialization::Arrow(output) = &statement.output else { panic!("{statement:?}") };
        assert_eq!(output.to_string(), "float64;dictionary(utf8);timestamp(us,UTC)");
        assert!(scan(&[3]).is_none());
    }

    #[test]
    fn no_column_is_a_count() {
        let csv = InputFormat::Csv(Default::default());
        let none = scan(csv, ColumnStyle::Positional, &[]).unwrap();
        assert!(none.counts_rows);
        assert_eq!(none.sql(), "SELECT COUNT(*) FROM S3Object s");
    }

    #[test]
    fn a_type_that_text_does_not_carry_is_not_sent() {
        assert!(scan(InputFormat::Parquet, ColumnStyle::Named, &[3]).is_none());
    }

    #[test]
    fn aggregates_of_text_come_as_json_with_floats_as_text() {
        let aggregate =
            |function, n: usize| Expr::Aggregate { function, arg: Some(Box::new(Expr::column(n))) };
        let field = |of| Field::new("_", of, true);
        let of = |types: Vec<DataType>| {
            let items = (1..).zip(&types).map(|(n, _)| aggregate(Aggregate::Min, n)).collect();
            let answer = Schema::new(types.into_iter().map(field).collect::<Vec<_>>());
            Some(Statement::aggregate(items, None, Arc::new(answer)))
        };
        let (int, float, text) = (DataType::Int64, DataType::Float64, DataType::Utf8);
        let sql = "SELECT MIN(s._1), MIN(s._2) FROM S3Object s";
        check(of(vec![int.clone(), float.clone()]), sql, false);
        check(of(vec![int, text.clone()]), sql, true);
        let sql = "SELECT CAST(MIN(s._1) AS STRING), MIN(s._2) FROM S3Object s";
        check(of(vec![float, text]), sql, true);
    }
}
