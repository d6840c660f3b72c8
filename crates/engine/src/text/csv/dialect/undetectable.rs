//! Errors about CSV files whose columns cannot be inferred.

use datafusion::common::{DataFusionError, plan_datafusion_err};
use object_store::ObjectMeta;

use crate::text::magic_bytes;

/// Adds the object and a hint to an error of inferring its schema, if the error is about records with different
/// numbers of fields, or about bytes that are not text.
pub(super) fn named(error: DataFusionError, object: &ObjectMeta) -> DataFusionError {
    let text = error.to_string();
    let fault = match (numbers(&text), not_utf8(&text)) {
        (Some((first, other)), _) => Fault::Ragged { first, other },
        (None, Some(why)) => Fault::NoText(why),
        (None, None) => return error,
    };
    fault.to_error(object)
}

/// The fault of an object.
enum Fault {
    /// The records have different numbers of fields.
    Ragged { first: usize, other: usize },
    /// It is not UTF-8, with the reader's message.
    NoText(String),
}

impl Fault {
    fn to_error(&self, object: &ObjectMeta) -> DataFusionError {
        let (first, other) = match self {
            Self::Ragged { first, other } => (first, other),
            Self::NoText(why) => return magic_bytes::not_utf8(object, why),
        };
        let way_out = match other < first {
            true => {
                "read_csv('…', truncated_rows => true), or OPTIONS ('format.truncated_rows' 'true'), takes those \
                 with fewer"
            }
            false => {
                "CREATE EXTERNAL TABLE t (…) with as many columns as the longest has, and OPTIONS \
                 ('format.truncated_rows' 'true'), takes those with fewer; if the first lines are no records, \
                 read_csv('…', skip => 2) passes them by, and comment => '#' those that begin so"
            }
        };
        plan_datafusion_err!(
            "the records of `{}` have different numbers of fields ({first} and {other}); {way_out}",
            object.location
        )
    }
}

/// Returns the place of bytes that are not text, from Arrow's message, which counts fields from 0.
fn not_utf8(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("invalid UTF-8 in field ")?;
    let (field, rest) = rest.split_once(' ')?;
    let (_, line) = rest.split_once(" at line ")?;
    let line: String = line.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("see line {line}, field {}", field.parse::<usize>().ok()? + 1))
}

/// Returns the numbers of fields in DataFusion's and Arrow's messages.
fn numbers(text: &str) -> Option<(usize, usize)> {
    let (_, rest) = text.split_once("Encountered unequal lengths between records")?;
    let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).filter_map(|it| it.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_fields() {
        let arrow = "Csv error: Encountered unequal lengths between records on CSV file. Expected 3 records, \
                     found 2 records at line 3";
        assert_eq!(numbers(arrow), Some((3, 2)));
        let datafusion = "Encountered unequal lengths between records on CSV file whilst inferring schema. \
                          Expected 2 fields, found 4 fields at record 9";
        assert_eq!(numbers(datafusion), Some((2, 4)));
        assert_eq!(numbers("Csv error: 3 and 4"), None);
    }

    #[test]
    fn bytes_that_are_no_text_have_a_place() {
        let arrow = "Csv error: Encountered UTF-8 error while reading CSV file: invalid utf-8: invalid UTF-8 in \
                     field 1 near byte index 3 at line 2";
        assert_eq!(not_utf8(arrow).as_deref(), Some("see line 2, field 2"));
        assert_eq!(not_utf8("Csv error: 3"), None);
    }
}
