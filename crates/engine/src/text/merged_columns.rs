//! Merges the columns of the objects of one table, which must have compatible types.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Field, Schema};
use datafusion::common::{DataFusionError, Result};
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::text::json::rows::MIXED;
use crate::{ErrorKind, UserError};
use sluicegate_guards::column_names::is_same;
use sluicegate_guards::sql_types::sql_type;

/// The hint for a column whose values have incompatible types.
pub(crate) const LEAVE_OUT: &str = "Declare the other columns, CREATE EXTERNAL TABLE t (…), which leaves this one \
     out; or write all of its values alike.";

/// The merged columns of some objects, each with the object that determined its type.
#[derive(Debug, Default)]
pub(crate) struct MergedColumns {
    fields: Vec<(Field, Path)>,
    places: HashMap<String, usize>,
    /// True after the first object.
    any: bool,
    is_json: bool,
    /// True if columns are matched by name, false if by position.
    by_name: bool,
    /// Returns the common type of two types, if there is one.
    wider: Option<fn(&DataType, &DataType) -> Option<DataType>>,
    /// The notes about columns that were widened.
    widened: Vec<String>,
}

impl MergedColumns {
    /// Starts without columns, for JSON. Its hint for incompatible types differs, because no type holds all of its
    /// values.
    pub(crate) fn of_json() -> Self {
        Self { is_json: true, by_name: true, wider: Some(of_json_values), ..Self::default() }
    }

    /// Starts without columns, for text in which `5` may stand for 5.0.
    pub(crate) fn of_csv() -> Self {
        Self { wider: Some(of_text), ..Self::default() }
    }

    /// Starts without columns, for CSV files whose columns are found by name.
    pub(crate) fn of_csv_by_name() -> Self {
        Self { by_name: true, ..Self::of_csv() }
    }

    /// Starts without columns, for files that declare the types of their columns.
    pub(crate) fn of_typed() -> Self {
        Self { by_name: true, wider: Some(of_values), ..Self::default() }
    }

    /// Adds the columns of an object. A column is NOT NULL if it is NOT NULL in every object.
    ///
    /// # Errors
    ///
    /// If the type of a column is incompatible with that of an earlier object, with both objects and a hint; if two
    /// columns have the same name; if the name of a column differs from an earlier one only in capitals.
    pub(crate) fn add(&mut self, object: &ObjectMeta, columns: &Schema) -> Result<()> {
        let mut names = HashSet::new();
        for field in columns.fields() {
            if !names.insert(field.name()) {
                return Err(two_of(field.name(), object));
            }
        }
        let is_first = !std::mem::replace(&mut self.any, true);
        for (known, first) in &mut self.fields {
            if names.contains(known.name()) {
                continue;
            }
            if self.by_name
                && let Some(other) = names.iter().find(|name| is_same(name, known.name()))
                && !self.places.contains_key(*other)
            {
                return Err(other_capitals(first, known.name(), &object.location, other));
            }
            known.set_nullable(true);
        }
        for field in columns.fields() {
            let Some(place) = self.places.get(field.name()) else {
                let nullable = field.is_nullable() || !is_first;
                let added = field.as_ref().clone().with_nullable(nullable);
                self.places.insert(field.name().clone(), self.fields.len());
                self.fields.push((added, object.location.clone()));
                continue;
            };
            let (known, first) = &mut self.fields[*place];
            *known = as_in_both(known, field);
            let field = &as_in_both(field, known);
            let told_nothing = known.data_type().is_null();
            let wider = self.wider.and_then(|wider| wider(known.data_type(), field.data_type()));
            if let Some(wider) = wider {
                let digits = match (known.data_type(), field.data_type()) {
                    (DataType::Int64 | DataType::UInt64, DataType::Float64)
                    | (DataType::Float64, DataType::Int64 | DataType::UInt64) => {
                        ", which rounds whole numbers beyond 2^53"
                    }
                    _ => "",
                };
                let note = format!(
                    "column `{}` is {} in `{first}` and {} in `{}`: it is read as {}{digits}",
                    known.name(),
                    kind_of_value(known.data_type()),
                    kind_of_value(field.data_type()),
                    object.location,
                    kind_of_value(&wider),
                );
                let begins = format!("column `{}` is ", known.name());
                match self.widened.iter_mut().find(|said| said.starts_with(&begins)) {
                    Some(said) if *known.data_type() != wider => *said = note,
                    Some(_) => {}
                    None => self.widened.push(note),
                }
                if *known.data_type() != wider {
                    if *field.data_type() == wider {
                        *first = object.location.clone();
                    }
                    known.set_data_type(wider);
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

    /// Takes the notes about widened columns, one sentence each about how the column got its type.
    pub(crate) fn take_widened(&mut self) -> Vec<String> {
        std::mem::take(&mut self.widened)
    }

    /// Returns all columns, in the order in which they were added.
    pub(crate) fn into_schema(self) -> Schema {
        Schema::new(self.fields.into_iter().map(|(field, _)| field).collect::<Vec<_>>())
    }
}

/// Returns the error for a file with two columns of the same name.
pub(crate) fn two_of(name: &str, object: &ObjectMeta) -> DataFusionError {
    UserError {
        kind: ErrorKind::Plan,
        message: format!("`{}` has two columns `{name}`", object.location),
        hint: Some(
            "Columns are read by their names: write the file again with another name for one."
                .to_owned(),
        ),
    }
    .into()
}

/// Returns the common type of JSON values in two files, for numbers, booleans and text, as within one file.
fn of_json_values(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType::{Boolean, Float64, Int64, UInt64, Utf8};
    let is_one =
        |it: &DataType| matches!(it, Boolean | Float64 | Int64 | UInt64 | Utf8) || *it == MIXED;
    let are_mixed = one != other && is_one(one) && is_one(other);
    of_text(one, other).or(are_mixed.then_some(MIXED))
}

/// Returns the error for two columns that differ only in capitals. Merged, each would be empty in the other's file.
fn other_capitals(first: &Path, name: &str, object: &Path, other: &str) -> DataFusionError {
    UserError {
        kind: ErrorKind::Data,
        message: format!("column `{name}` of `{first}` is called `{other}` in `{object}`"),
        hint: Some(format!(
            "Read files that write it alike at a time, and put them together: SELECT {} FROM '…' UNION ALL SELECT {} \
             FROM '…'.",
            as_typed(name),
            as_typed(other)
        )),
    }
    .into()
}

/// Makes a field nullable if it is nullable in either object. The same holds for nested fields, including those that
/// the other object does not have.
fn as_in_both(field: &Field, other: &Field) -> Field {
    let within = match (field.data_type(), other.data_type()) {
        (DataType::Struct(ones), DataType::Struct(others)) => {
            let each = ones.iter().map(|one| {
                let other = others.iter().find(|other| other.name() == one.name());
                Arc::new(match other {
                    Some(other) => as_in_both(one, other),
                    None => one.as_ref().clone().with_nullable(true),
                })
            });
            Some(DataType::Struct(each.collect()))
        }
        (DataType::List(one), DataType::List(other)) => {
            Some(DataType::List(Arc::new(as_in_both(one, other))))
        }
        _ => None,
    };
    let nullable = field.is_nullable() || other.is_nullable();
    let field = field.clone().with_nullable(nullable);
    match within {
        Some(data_type) => field.with_data_type(data_type),
        None => field,
    }
}

/// Returns the common type of whole numbers and fractions in text, or of times of different precision.
fn of_text(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType::{Float64, Int64, UInt64};
    match (one, other) {
        (Int64 | UInt64, Float64) | (Float64, Int64 | UInt64) => Some(Float64),
        // A negative value is an error when it is read, and DOUBLE would round.
        (Int64, UInt64) | (UInt64, Int64) => Some(UInt64),
        times => of_times(times.0, times.1),
    }
}

/// Returns the finer one of two types of times.
fn of_times(one: &DataType, other: &DataType) -> Option<DataType> {
    match (one, other) {
        (DataType::Timestamp(unit, zone), DataType::Timestamp(other_unit, other_zone))
            if zone == other_zone && unit != other_unit =>
        {
            Some(DataType::Timestamp(*unit.max(other_unit), zone.clone()))
        }
        _ => None,
    }
}

/// Returns the type that holds every value of two different types of numbers or of times; exactly, unless it is
/// DOUBLE.
fn of_values(one: &DataType, other: &DataType) -> Option<DataType> {
    if let Some(finer) = of_times(one, other) {
        return Some(finer);
    }
    if one == other || !one.is_numeric() || !other.is_numeric() {
        return None;
    }
    if let (DataType::Float64 | DataType::Float32, _) | (_, DataType::Float64 | DataType::Float32) =
        (one, other)
    {
        // A DOUBLE holds whole numbers of up to 53 bits exactly; the note mentions this.
        let fits = |it: &DataType| it.is_floating() || whole(it).is_some();
        return (fits(one) && fits(other)).then_some(DataType::Float64);
    }
    if let (Some((signed, bits)), Some((other_signed, other_bits))) = (whole(one), whole(other)) {
        // One bit is the sign.
        let needed = |is_signed, bits| if is_signed { bits } else { bits + 1 };
        let (any, most) = match signed == other_signed {
            true => (signed, bits.max(other_bits)),
            false => (true, needed(signed, bits).max(needed(other_signed, other_bits))),
        };
        return match (any, most) {
            (true, ..=16) => Some(DataType::Int16),
            (true, ..=32) => Some(DataType::Int32),
            (true, ..=64) => Some(DataType::Int64),
            (false, ..=16) => Some(DataType::UInt16),
            (false, ..=32) => Some(DataType::UInt32),
            (false, ..=64) => Some(DataType::UInt64),
            _ => None,
        };
    }
    let (digits, scale) = digits(one)?;
    let (other_digits, other_scale) = self::digits(other)?;
    let (before, scale) = (digits.max(other_digits), scale.max(other_scale));
    let precision = u8::try_from(before + i16::from(scale)).ok()?;
    (precision <= DECIMAL128_MAX_PRECISION).then_some(DataType::Decimal128(precision, scale))
}

/// Returns whether a type of whole numbers is signed, and its bits, or `None` for other types.
fn whole(data_type: &DataType) -> Option<(bool, u8)> {
    Some(match data_type {
        DataType::Int8 => (true, 8),
        DataType::Int16 => (true, 16),
        DataType::Int32 => (true, 32),
        DataType::Int64 => (true, 64),
        DataType::UInt8 => (false, 8),
        DataType::UInt16 => (false, 16),
        DataType::UInt32 => (false, 32),
        DataType::UInt64 => (false, 64),
        _ => return None,
    })
}

/// Returns the maximum number of digits before the point, and the digits behind it.
fn digits(data_type: &DataType) -> Option<(i16, i8)> {
    match data_type {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale) => {
            (*scale >= 0).then(|| (i16::from(*precision) - i16::from(*scale), *scale))
        }
        whole_numbers => whole(whole_numbers).map(|(_, bits)| match bits {
            0..=8 => (3, 0),
            9..=16 => (5, 0),
            17..=32 => (10, 0),
            _ => (20, 0),
        }),
    }
}

/// A column, or a field of one, with two incompatible types.
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
            kind_of_value(one),
            kind_of_value(other)
        );
        let hint = match is_json || one.is_nested() || other.is_nested() {
            true => LEAVE_OUT.to_owned(),
            false => format!(
                "Declare the columns with types that hold all values: CREATE EXTERNAL TABLE t ({} VARCHAR, …); or \
                 read files of one kind at a time.",
                as_typed(column)
            ),
        };
        UserError { kind: ErrorKind::Data, message, hint: Some(hint) }.into()
    }
}

/// Returns the name of a column in SQL, quoted if necessary.
fn as_typed(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match name.chars().all(is_plain) && !name.starts_with(|c: char| c.is_ascii_digit()) {
        true => name.into(),
        false => format!("\"{}\"", name.replace('"', "\"\"")).into(),
    }
}

/// Describes values of a type in the user's words.
fn kind_of_value(data_type: &DataType) -> Cow<'static, str> {
    match data_type {
        DataType::Struct(_) => "an object (STRUCT)".into(),
        DataType::List(_) | DataType::LargeList(_) => "a list".into(),
        other => sql_type(other),
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::TimeUnit;
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
        let mut all = MergedColumns::of_typed();
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
    fn what_is_not_null_in_every_file_is_not_null() {
        let row =
            |nullable| DataType::Struct(vec![Field::new("x", DataType::Int64, nullable)].into());
        let (int, double) = (DataType::Int32, DataType::Float64);
        let more = DataType::Struct(
            vec![Field::new("x", DataType::Int64, false), Field::new("y", DataType::Int64, false)]
                .into(),
        );
        for (files, expected) in [
            (vec![vec![("a", &int, false)], vec![("a", &int, false)]], vec![("a", &int, false)]),
            (vec![vec![("a", &int, false)], vec![("a", &int, true)]], vec![("a", &int, true)]),
            (
                vec![vec![("a", &int, false)], vec![("a", &double, true)]],
                vec![("a", &double, true)],
            ),
            (
                vec![vec![("a", &int, false)], vec![("a", &int, false), ("b", &int, false)]],
                vec![("a", &int, false), ("b", &int, true)],
            ),
            (
                vec![vec![("a", &int, false), ("b", &int, false)], vec![("b", &int, false)]],
                vec![("a", &int, true), ("b", &int, false)],
            ),
            (
                vec![vec![("a", &row(false), false)], vec![("a", &row(true), false)]],
                vec![("a", &row(true), false)],
            ),
        ] {
            let mut all = MergedColumns::of_typed();
            let schema = |columns: &[(&str, &DataType, bool)]| {
                let field = |it: &(&str, &DataType, bool)| Field::new(it.0, it.1.clone(), it.2);
                Schema::new(columns.iter().map(field).collect::<Vec<_>>())
            };
            for (name, columns) in ["1", "2"].iter().zip(&files) {
                all.add(&object(name), &schema(columns)).unwrap();
            }
            assert_eq!(all.into_schema(), schema(&expected), "{files:?}");
        }
        for (one, other) in [(&more, &row(false)), (&row(false), &more)] {
            let mut all = MergedColumns::of_typed();
            for (name, data_type) in [("1", one), ("2", other)] {
                let field = Field::new("a", data_type.clone(), false);
                all.add(&object(name), &Schema::new(vec![field])).unwrap();
            }
            let merged = all.into_schema();
            let DataType::Struct(fields) = merged.field(0).data_type() else { panic!("{merged}") };
            let nullable: Vec<_> =
                fields.iter().map(|it| (it.name().as_str(), it.is_nullable())).collect();
            assert_eq!(nullable, [("x", false), ("y", true)]);
        }
    }

    #[test]
    fn names_that_differ_in_capitals_are_refused_across_files() {
        let two = |one, other| {
            let field = |name| Field::new(name, DataType::Int64, true);
            Schema::new(vec![field(one), field(other)])
        };
        for mut all in [MergedColumns::of_typed(), MergedColumns::of_json()] {
            all.add(&object("a"), &schema("id", DataType::Int64)).unwrap();
            let error = all.add(&object("b"), &schema("Id", DataType::Int64)).unwrap_err();
            let error = Error::from(error);
            assert_eq!(error.to_string(), "column `id` of `a` is called `Id` in `b`");
            assert!(error.hint().unwrap().contains("SELECT \"Id\" FROM"), "{:?}", error.hint());
            // A file that has both shows that they are two columns.
            all.add(&object("c"), &two("id", "Id")).unwrap();
            all.add(&object("d"), &schema("Id", DataType::Int64)).unwrap();
        }
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
        let said = "column `x` is BIGINT in `b` and DOUBLE in `c`: it is read as DOUBLE, which rounds whole numbers beyond 2^53";
        assert_eq!(all.take_widened(), [said]);
        let error = Error::from(all.add(&object("f"), &schema("x", DataType::Utf8)).unwrap_err());
        assert_eq!(error.to_string(), "column `x` is DOUBLE in `c` and VARCHAR in `f`");
        assert_eq!(all.into_schema().field(0).data_type(), &DataType::Float64);
    }

    #[test]
    fn the_last_type_of_a_column_is_noted() {
        let mut all = MergedColumns::of_json();
        for (name, data_type) in
            [("a", DataType::Int64), ("b", DataType::Float64), ("c", DataType::Utf8)]
        {
            all.add(&object(name), &schema("x", data_type)).unwrap();
        }
        let said = "column `x` is DOUBLE in `b` and VARCHAR in `c`: it is read as VARCHAR";
        assert_eq!(all.take_widened(), [said]);
    }

    #[test]
    fn times_have_the_finer_unit() {
        let time = |unit| DataType::Timestamp(unit, None);
        let (seconds, millis) = (time(TimeUnit::Second), time(TimeUnit::Millisecond));
        for mut all in [MergedColumns::of_csv(), MergedColumns::of_typed()] {
            for (name, data_type) in [("a", &seconds), ("b", &millis), ("c", &seconds)] {
                all.add(&object(name), &schema("x", data_type.clone())).unwrap();
            }
            let said = "column `x` is TIMESTAMP(0) in `a` and TIMESTAMP(3) in `b`: it is read as TIMESTAMP(3)";
            assert_eq!(all.take_widened(), [said]);
            let zoned = DataType::Timestamp(TimeUnit::Second, Some("+00:00".into()));
            all.add(&object("d"), &schema("x", zoned)).unwrap_err();
            assert_eq!(all.into_schema().field(0).data_type(), &millis);
        }
    }

    #[test]
    fn numbers_of_files_are_widened_without_loss() {
        use DataType::{
            Decimal128, Float32, Float64, Int8, Int32, Int64, UInt8, UInt32, UInt64, Utf8,
        };
        for (one, other, expected) in [
            (Int64, Int32, Some(Int64)),
            (UInt32, Int32, Some(Int64)),
            (UInt8, Int8, Some(DataType::Int16)),
            (UInt64, Int8, None),
            (UInt64, UInt8, Some(UInt64)),
            (Float32, Float64, Some(Float64)),
            (Int32, Float32, Some(Float64)),
            (Int64, Float64, Some(Float64)),
            (Decimal128(5, 2), Decimal128(7, 1), Some(Decimal128(8, 2))),
            (Decimal128(5, 2), Int32, Some(Decimal128(12, 2))),
            (Decimal128(38, 2), Decimal128(38, 3), None),
            (Decimal128(5, 2), Float64, None),
            (Int64, Utf8, None),
        ] {
            for (one, other) in [(&one, &other), (&other, &one)] {
                assert_eq!(of_values(one, other), expected, "{one}, {other}");
            }
        }
        let mut columns = MergedColumns::of_typed();
        for (name, data_type) in [("a", Int32), ("b", Int64), ("c", Int32)] {
            columns.add(&object(name), &schema("VendorID", data_type)).unwrap();
        }
        let said = "column `VendorID` is INT in `a` and BIGINT in `b`: it is read as BIGINT";
        assert_eq!(columns.take_widened(), [said]);
        let error = columns.add(&object("d"), &schema("VendorID", Utf8)).unwrap_err();
        let error = Error::from(error);
        assert!(error.hint().unwrap().contains("t (\"VendorID\" VARCHAR, …)"));
    }

    #[test]
    fn the_field_at_fault_is_named() {
        let nested = |inner: DataType| {
            let fields = vec![Field::new("in", inner, true)];
            let list = Field::new("item", DataType::Struct(fields.into()), true);
            schema("x", DataType::List(list.into()))
        };
        let mut all = MergedColumns::of_json();
        all.add(&object("a"), &nested(DataType::Int64)).unwrap();
        let error = Error::from(all.add(&object("b"), &nested(DataType::Utf8)).unwrap_err());
        assert_eq!(error.to_string(), "column `x.item.in` is BIGINT in `a` and VARCHAR in `b`");
        assert_eq!(error.hint(), Some(LEAVE_OUT));
    }

    #[test]
    fn values_of_json_are_text_together() {
        let mut all = MergedColumns::of_json();
        for (name, data_type) in
            [("a", DataType::Int64), ("b", DataType::Boolean), ("c", DataType::Utf8), ("d", MIXED)]
        {
            all.add(&object(name), &schema("x", data_type)).unwrap();
        }
        let said = "column `x` is BIGINT in `a` and BOOLEAN in `b`: it is read as VARCHAR";
        assert_eq!(all.take_widened(), [said]);
        all.add(&object("e"), &schema("x", DataType::new_list(MIXED, true))).unwrap_err();
        assert_eq!(all.into_schema().field(0).data_type(), &MIXED);
    }

    #[test]
    fn two_columns_of_one_name_are_refused() {
        let field = |data_type| Field::new("a", data_type, true);
        let twice = Schema::new(vec![field(DataType::Int64), field(DataType::Int64)]);
        let refused = MergedColumns::of_typed().add(&object("x.parquet"), &twice).unwrap_err();
        assert!(Error::from(refused).to_string().contains("`x.parquet` has two columns `a`"));
    }
}
