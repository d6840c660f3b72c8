//! The columns of the objects of one table, which have to agree on their types.

use std::borrow::Cow;
use std::collections::HashMap;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{DataFusionError, Result};
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::{ErrorKind, Told};

/// What to do where values of one column have types that no column has together.
pub(crate) const LEAVE_OUT: &str = "Declare the other columns, CREATE EXTERNAL TABLE t (…), which leaves this one \
     out; or write all of its values alike.";

/// The columns of some objects together, each with the object that told its type first.
#[derive(Debug, Default)]
pub(crate) struct MergedColumns {
    fields: Vec<(Field, Path)>,
    places: HashMap<String, usize>,
    is_json: bool,
    /// Whether a column of whole numbers here and of others there is one of all numbers.
    widens: bool,
    /// What was said of such columns.
    widened: Vec<String>,
}

impl MergedColumns {
    /// None yet. JSON has its own way out where types differ: no type takes all of its values.
    pub(crate) fn new(is_json: bool) -> Self {
        Self { is_json, ..Self::default() }
    }

    /// None yet, of text in which `5` may stand for 5.0.
    pub(crate) fn of_csv() -> Self {
        Self { widens: true, ..Self::default() }
    }

    /// Adds the columns of an object.
    ///
    /// # Errors
    ///
    /// If one of them has another type than in an object before, with both objects and the way out.
    pub(crate) fn add(&mut self, object: &ObjectMeta, columns: &Schema) -> Result<()> {
        for field in columns.fields() {
            let Some(place) = self.places.get(field.name()) else {
                self.places.insert(field.name().clone(), self.fields.len());
                self.fields.push((field.as_ref().clone(), object.location.clone()));
                continue;
            };
            let (known, first) = &mut self.fields[*place];
            let told_nothing = known.data_type().is_null();
            if self.widens && are_numbers(known.data_type(), field.data_type()) {
                let note = format!(
                    "column `{}` is {} in `{first}` and {} in `{}`: it is read as DOUBLE",
                    known.name(),
                    sql_type(known.data_type()),
                    sql_type(field.data_type()),
                    object.location
                );
                let begins = format!("column `{}` is ", known.name());
                if !self.widened.iter().any(|said| said.starts_with(&begins)) {
                    self.widened.push(note);
                }
                if known.data_type() != &DataType::Float64 {
                    known.set_data_type(DataType::Float64);
                    *first = object.location.clone();
                }
                continue;
            }
            if let Err(error) = known.try_merge(field) {
                return Err(match Conflict::between(known, field) {
                    Some(conflict) => conflict.error((first, &object.location), self.is_json),
                    None => error.into(),
                });
            }
            if told_nothing {
                *first = object.location.clone();
            }
        }
        Ok(())
    }

    /// Which columns have been widened, in a sentence each: only the first time of a column.
    pub(crate) fn take_widened(&mut self) -> Vec<String> {
        std::mem::take(&mut self.widened)
    }

    /// All columns, in the order in which they came.
    pub(crate) fn into_schema(self) -> Schema {
        Schema::new(self.fields.into_iter().map(|(field, _)| field).collect::<Vec<_>>())
    }
}

/// Whether one type is of whole numbers, and the other of all.
fn are_numbers(one: &DataType, other: &DataType) -> bool {
    matches!(
        (one, other),
        (DataType::Int64, DataType::Float64) | (DataType::Float64, DataType::Int64)
    )
}

/// A column, or a field of one, with two types.
struct Conflict<'a> {
    column: String,
    types: (&'a DataType, &'a DataType),
}

impl<'a> Conflict<'a> {
    fn between(one: &'a Field, other: &'a Field) -> Option<Self> {
        let inner = match (one.data_type(), other.data_type()) {
            (DataType::Struct(ones), DataType::Struct(others)) => ones.iter().find_map(|one| {
                let other = others.iter().find(|other| other.name() == one.name())?;
                Self::between(one, other)
            })?,
            (DataType::List(one), DataType::List(other)) => Self::between(one, other)?,
            (one_type, other_type) => {
                let mut merged = one.clone();
                return merged
                    .try_merge(other)
                    .is_err()
                    .then(|| Self { column: one.name().clone(), types: (one_type, other_type) });
            }
        };
        Some(Self { column: format!("{}.{}", one.name(), inner.column), ..inner })
    }

    fn error(&self, (first, object): (&Path, &Path), is_json: bool) -> DataFusionError {
        let Self { column, types: (one, other) } = self;
        let message = format!(
            "column `{column}` is {} in `{first}` and {} in `{object}`",
            sql_type(one),
            sql_type(other)
        );
        let hint = match is_json || one.is_nested() || other.is_nested() {
            true => LEAVE_OUT.to_owned(),
            false => format!(
                "Declare the columns with types that hold all values: CREATE EXTERNAL TABLE t ({column} \
                 VARCHAR, …); or read files of one kind at a time."
            ),
        };
        Told { kind: ErrorKind::Data, message, hint: Some(hint) }.into()
    }
}

/// A type as SQL names it, where it has a name there.
fn sql_type(data_type: &DataType) -> Cow<'static, str> {
    let name = match data_type {
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INT",
        DataType::Int64 => "BIGINT",
        DataType::Float32 => "REAL",
        DataType::Float64 => "DOUBLE",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR",
        DataType::Date32 => "DATE",
        DataType::Timestamp(_, None) => "TIMESTAMP",
        DataType::Struct(_) => "an object (STRUCT)",
        DataType::List(_) | DataType::LargeList(_) => "a list",
        other => return other.to_string().into(),
    };
    name.into()
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::Error;

    fn object(name: &str) -> ObjectMeta {
        ObjectMeta {
            location: Path::from(name),
            last_modified: DateTime::UNIX_EPOCH,
            size: 1,
            e_tag: None,
            version: None,
        }
    }

    fn schema(name: &str, data_type: DataType) -> Schema {
        Schema::new(vec![Field::new(name, data_type, true)])
    }

    #[test]
    fn columns_are_those_of_all() {
        let mut all = MergedColumns::new(false);
        all.add(&object("a"), &schema("x", DataType::Null)).unwrap();
        all.add(&object("b"), &schema("y", DataType::Utf8)).unwrap();
        all.add(&object("c"), &schema("x", DataType::Int64)).unwrap();
        let error = all.add(&object("d"), &schema("x", DataType::Utf8)).unwrap_err();
        let error = Error::from(error);
        assert_eq!(error.to_string(), "column `x` is BIGINT in `c` and VARCHAR in `d`");
        assert!(error.hint().unwrap().contains("t (x VARCHAR, …)"), "{:?}", error.hint());
        let columns = all.into_schema();
        let names: Vec<&String> = columns.fields().iter().map(|it| it.name()).collect();
        assert_eq!(names, ["x", "y"]);
        assert_eq!(columns.field(0).data_type(), &DataType::Int64);
    }

    #[test]
    fn whole_numbers_of_text_are_widened_once() {
        let mut all = MergedColumns::of_csv();
        for (name, data_type) in [
            ("a", DataType::Null),
            ("b", DataType::Int64),
            ("c", DataType::Float64),
            ("d", DataType::Int64),
            ("e", DataType::Float64),
        ] {
            all.add(&object(name), &schema("x", data_type)).unwrap();
        }
        let said = "column `x` is BIGINT in `b` and DOUBLE in `c`: it is read as DOUBLE";
        assert_eq!(all.take_widened(), [said]);
        let error = Error::from(all.add(&object("f"), &schema("x", DataType::Utf8)).unwrap_err());
        assert_eq!(error.to_string(), "column `x` is DOUBLE in `c` and VARCHAR in `f`");
        assert_eq!(all.into_schema().field(0).data_type(), &DataType::Float64);
        let mut typed = MergedColumns::new(false);
        typed.add(&object("a"), &schema("x", DataType::Int64)).unwrap();
        typed.add(&object("b"), &schema("x", DataType::Float64)).unwrap_err();
    }

    #[test]
    fn the_field_at_fault_is_named() {
        let nested = |inner: DataType| {
            let fields = vec![Field::new("in", inner, true)];
            let list = Field::new("item", DataType::Struct(fields.into()), true);
            schema("x", DataType::List(list.into()))
        };
        let mut all = MergedColumns::new(true);
        all.add(&object("a"), &nested(DataType::Int64)).unwrap();
        let error = Error::from(all.add(&object("b"), &nested(DataType::Utf8)).unwrap_err());
        assert_eq!(error.to_string(), "column `x.item.in` is BIGINT in `a` and VARCHAR in `b`");
        assert_eq!(error.hint(), Some(LEAVE_OUT));
    }
}
