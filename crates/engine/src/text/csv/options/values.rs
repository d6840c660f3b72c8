//! The parsing of values: decimal separators, formats of dates, texts for NULL, and types.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use chrono::format::{Item, StrftimeItems};
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::Expr;

use super::wrong;
use crate::context::error::{ErrorKind, UserError};

/// The options for parsing values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Values {
    /// The decimal separator, or `None` for a point.
    pub(crate) decimal_separator: Option<char>,
    /// The character between groups of three digits, or `None` if there is none.
    pub(crate) thousands: Option<char>,
    /// The format of dates, or `None` for that of 2026-12-31.
    pub(crate) date_format: Option<String>,
    /// The format of timestamps, or `None` for the usual one.
    pub(crate) timestamp_format: Option<String>,
    /// Texts that are NULL, besides the empty one.
    pub(crate) nulls: Vec<String>,
    /// The types of some columns.
    pub(super) types: Types,
}

/// Types of columns that are not inferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Types {
    ByName(BTreeMap<String, DataType>),
    /// The types of the first columns, in order.
    InOrder(Vec<DataType>),
}

impl Default for Types {
    fn default() -> Self {
        Self::InOrder(Vec::new())
    }
}

/// Describes the value of `types`, for messages.
const TYPES: &str = "the types of columns by their names, {'id': 'BIGINT'}, or of the first columns, ['BIGINT', 'DATE']";
const DATE_FORMAT: &str = "a format of dates such as '%d.%m.%Y'";
const TIME_FORMAT: &str = "a format of time stamps such as '%d.%m.%Y %H:%M:%S'";

/// Checks the value of an option about values, as far as that is possible without a session.
pub(super) fn check(name: &str, value: &str) -> Result<()> {
    let mut values = Values::default();
    match name {
        "types" => names_of_types(value).map(drop),
        _ => values.set_plain(name, value),
    }
}

/// Parses the value of `types`: types by name, or those of the first columns, without names.
fn names_of_types(value: &str) -> Result<Vec<(Option<String>, String)>> {
    let by_name = serde_json::from_str::<BTreeMap<String, String>>(value);
    if let Ok(types) = by_name {
        return Ok(types.into_iter().map(|(name, data_type)| (Some(name), data_type)).collect());
    }
    match serde_json::from_str::<Vec<String>>(value) {
        Ok(types) => Ok(types.into_iter().map(|data_type| (None, data_type)).collect()),
        Err(_) => Err(wrong("types", value, TYPES)),
    }
}

impl Values {
    pub(super) fn set(&mut self, state: &dyn Session, name: &str, value: &str) -> Result<()> {
        if name != "types" {
            return self.set_plain(name, value);
        }
        let mut by_name = BTreeMap::new();
        let mut in_order = Vec::new();
        for (name, written) in names_of_types(value)? {
            let data_type = data_type(state, &written)?;
            match name {
                Some(name) => drop(by_name.insert(name, data_type)),
                None => in_order.push(data_type),
            }
        }
        self.types = match by_name.is_empty() {
            true => Types::InOrder(in_order),
            false => Types::ByName(by_name),
        };
        Ok(())
    }

    fn set_plain(&mut self, name: &str, value: &str) -> Result<()> {
        let format = |allowed: &str| {
            let bad = !value.contains('%')
                || StrftimeItems::new(value).any(|item| matches!(item, Item::Error));
            if bad { Err(wrong(name, value, allowed)) } else { Ok(Some(value.to_owned())) }
        };
        match name {
            "decimal_separator" => {
                self.decimal_separator = match value {
                    "." => None,
                    "," => Some(','),
                    _ => return Err(wrong(name, value, "',' or '.'")),
                };
            }
            "thousands" => {
                let mut characters = value.chars();
                self.thousands = match (characters.next(), characters.next()) {
                    (Some(one), None) if !one.is_alphanumeric() && !"+-\"".contains(one) => {
                        Some(one)
                    }
                    _ => return Err(wrong(name, value, "one character, such as '.' or ','")),
                };
            }
            "dateformat" => self.date_format = format(DATE_FORMAT)?,
            "timestampformat" => self.timestamp_format = format(TIME_FORMAT)?,
            _ => {
                let several = serde_json::from_str::<Vec<String>>(value);
                self.nulls = several.unwrap_or_else(|_| vec![value.to_owned()]);
                self.nulls.retain(|text| !text.is_empty());
            }
        }
        Ok(())
    }

    /// Returns the pattern of numbers with groups of three digits, or `None` if digits are not grouped.
    pub(super) fn grouped(&self) -> Option<String> {
        let thousands = regex::escape(self.thousands?.encode_utf8(&mut [0; 4]));
        let point = regex::escape(self.decimal_separator.unwrap_or('.').encode_utf8(&mut [0; 4]));
        Some(format!("^[+-]?[0-9]{{1,3}}({thousands}[0-9]{{3}})+({point}[0-9]*)?$"))
    }

    /// Returns true if the options change the inferred types, so that values have to be inspected with them.
    pub(crate) fn infer_types(&self) -> bool {
        self.decimal_separator.is_some()
            || self.thousands.is_some()
            || self.date_format.is_some()
            || self.timestamp_format.is_some()
            || !self.nulls.is_empty()
    }

    /// Replaces the types of columns by those of the options.
    ///
    /// # Errors
    ///
    /// If they name a column that does not exist.
    pub(crate) fn with_types(&self, schema: &SchemaRef) -> Result<SchemaRef> {
        let names = || {
            let names: Vec<&str> = schema.fields().iter().map(|it| it.name().as_str()).collect();
            names.join(", ")
        };
        match &self.types {
            Types::InOrder(types) if types.len() > schema.fields().len() => {
                return plan_err!(
                    "`types` has {} types, and there are {} columns: {}",
                    types.len(),
                    schema.fields().len(),
                    names()
                );
            }
            Types::ByName(types) => {
                let is_there = |name: &&String| schema.field_with_name(name).is_ok();
                if let Some(name) = types.keys().find(|name| !is_there(name)) {
                    return plan_err!(
                        "`types` names the column `{name}`, and there are {}",
                        names()
                    );
                }
            }
            Types::InOrder(_) => {}
        }
        let given = |place: usize, field: &Field| match &self.types {
            Types::ByName(types) => types.get(field.name()).cloned(),
            Types::InOrder(types) => types.get(place).cloned(),
        };
        let fields = schema.fields().iter().enumerate().map(|(place, field)| {
            given(place, field).map_or_else(
                || Arc::clone(field),
                |data_type| Arc::new(field.as_ref().clone().with_data_type(data_type)),
            )
        });
        Ok(Arc::new(Schema::new_with_metadata(
            fields.collect::<Fields>(),
            schema.metadata().clone(),
        )))
    }
}

/// Returns the data type of a type name in SQL.
fn data_type(state: &dyn Session, written: &str) -> Result<DataType> {
    let unknown = || {
        UserError {
        kind: ErrorKind::Setting,
        message: format!("option `types` has '{}', which is no type", written.escape_debug()),
        hint: Some(
            "Types are INT, BIGINT, DOUBLE, DECIMAL(10, 2), VARCHAR, BOOLEAN, DATE, TIMESTAMP and their like."
                .to_owned(),
        ),
    }
    };
    // Any other character could make it a different expression.
    let is_name = |c: char| c.is_alphanumeric() || " _(),".contains(c);
    let state =
        state.as_any().downcast_ref::<SessionState>().filter(|_| written.chars().all(is_name));
    let cast = state.map(|state| {
        state.create_logical_expr(&format!("CAST(NULL AS {written})"), &DFSchema::empty())
    });
    match cast {
        Some(Ok(Expr::Cast(cast))) => Ok(match cast.field.data_type() {
            DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
            other => other.clone(),
        }),
        _ => Err(unknown().into()),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::SessionStateBuilder;

    use super::*;

    fn set(name: &str, value: &str) -> Result<Values> {
        let state = SessionStateBuilder::new().with_default_features().build();
        let mut values = Values::default();
        values.set(&state, name, value)?;
        Ok(values)
    }

    #[test]
    fn values_that_are_no_option_are_refused() {
        for (name, value, words) in [
            ("decimal_separator", ";", "but must be ',' or '.'"),
            ("thousands", "", "one character"),
            ("thousands", "..", "one character"),
            ("thousands", "5", "one character"),
            ("dateformat", "%Q", "a format of dates"),
            ("dateformat", "", "a format of dates"),
            ("dateformat", "DD.MM.YYYY", "a format of dates"),
            ("timestampformat", "%", "a format of time stamps"),
            ("types", "INT", "by their names"),
            ("types", "{\"a\": \"NUMBR\"}", "'NUMBR', which is no type"),
            ("types", "{\"a\": \"INT) + 1 + CAST(1 AS INT\"}", "which is no type"),
        ] {
            let said = crate::Error::from(set(name, value).unwrap_err()).to_string();
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn types_are_given_by_name_or_in_order() {
        let schema = Schema::new(vec![
            Field::new("a", DataType::Int64, true),
            Field::new("b", DataType::Int64, true),
        ]);
        let schema = Arc::new(schema);
        let types = |value: &str| {
            let typed = set("types", value).unwrap().with_types(&schema)?;
            Ok::<_, crate::Error>(
                typed.fields().iter().map(|it| it.data_type().clone()).collect::<Vec<_>>(),
            )
        };
        let text = [DataType::Int64, DataType::Utf8];
        assert_eq!(types("{\"b\": \"VARCHAR\"}").unwrap(), text);
        assert_eq!(types("[\"BIGINT\", \"TEXT\"]").unwrap(), text);
        let decimal = [DataType::Decimal128(10, 2), DataType::Int64];
        assert_eq!(types("[\"DECIMAL(10, 2)\"]").unwrap(), decimal);
        assert!(types("{\"c\": \"INT\"}").unwrap_err().to_string().contains("there are a, b"));
        assert!(
            types("[\"INT\", \"INT\", \"INT\"]").unwrap_err().to_string().contains("2 columns")
        );
    }

    #[test]
    fn null_is_one_text_or_several() {
        assert_eq!(set("nullstr", "NA").unwrap().nulls, ["NA"]);
        assert_eq!(set("nullstr", "[\"NA\", \"\", \"n/a\"]").unwrap().nulls, ["NA", "n/a"]);
        assert_eq!(set("nullstr", "[x").unwrap().nulls, ["[x"]);
        assert!(!set("nullstr", "").unwrap().infer_types());
    }
}
