//! Records that DataFusion's readers refuse.

use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use datafusion::common::DataFusionError;
use sluicegate_client::rounded_decimals::with_declared_types;
use sluicegate_client::text_values::TIME_OF_DAY;

use crate::context::error::hints::{ARRAY, BAD_VALUE, ZERO};
use crate::context::error::{ErrorKind, UserError, of_value, one_line, with_point};
use crate::text::json::columns::SEPARATE_HINT;
use crate::text::merged_columns::LEAVE_OUT;

/// The text before the byte range in errors about a record of a part of a file.
pub(crate) const RANGE_SUFFIX: &str = "counted from the first record of bytes";

/// The text in an error about a value of a record that is valid JSON.
const DECODED: &str = "whilst decoding field";

const TIME: &str = "Read the column as TIMESTAMP: read_csv('…', types => {'column': 'TIMESTAMP'}), or CREATE EXTERNAL TABLE \
     t (column TIMESTAMP, …); CAST(column AS DATE) then leaves the time of day out.";

const UNLIKE_SAMPLE: &str = "Correct the value; or have more records tell the types, read_csv('…', sample_size => 1000000), or say one: \
     types => {'column': 'VARCHAR'}, and TRY_CAST gives NULL for what is no number. Where the columns are declared, declare it \
     as VARCHAR.";

const TEXT: &str = "Text is in quotes in JSON: write the value so; or declare the other columns, CREATE EXTERNAL TABLE t (…). Numbers \
     are text in a column whose first records have both: read_json('…', sample_size => 100000) looks at more.";

const LINES: &str = "Correct the value; or, if records are on several lines, have objects read as a whole: SET \
     sluice.scan = 'get'; SET datafusion.optimizer.repartition_file_scans = false.";

const BAD_FIELDS: &str = "Give every record as many fields as the table has columns. If some have \
     more, declare as many columns as the longest has: CREATE EXTERNAL TABLE t (…); the option \
     'format.truncated_rows' takes records with fewer.";

const LINE_ENDS_OR_FIELDS: &str = "If values have line ends, say so: read_csv('…', newlines_in_values => \
     true), or OPTIONS ('format.newlines_in_values' 'true'). Otherwise give every record as many fields as \
     the table has columns; the option 'format.truncated_rows' takes records with fewer.";

/// Adds the object to an error, and replaces the numbers of its `columns` by their names.
pub(crate) fn with_location(
    error: DataFusionError,
    place: &str,
    columns: &Schema,
) -> DataFusionError {
    match error.find_root() {
        DataFusionError::ArrowError(arrow, _) => {
            let message = match arrow.to_string() {
                // Decimals are read with one digit more than their type has.
                read if is_of_reader(&read) => with_declared_types(&read),
                other => other,
            };
            let message = named_column(&one_based_line(&message), columns);
            let message = shortened(&message);
            // A file of this machine is named by its path.
            let file = place.strip_prefix("file://").or_else(|| place.strip_prefix("file:"));
            let message = one_line(&format!("{message}, in {}", file.unwrap_or(place)));
            let is_json = matches!(arrow.as_ref(), ArrowError::JsonError(_));
            user_error(message, is_json).into()
        }
        _ => error,
    }
}

/// Returns true if an error is about a value that a reader of text could not parse.
fn is_of_reader(message: &str) -> bool {
    message.contains("Error while parsing value")
        || message.contains("while decoding field")
        || message.contains("whilst decoding field")
}

/// Returns the error of a refused record, with the hint for its message.
fn user_error(message: String, is_json: bool) -> UserError {
    if let Some(error) = with_point(&message).or_else(|| of_value(&message)) {
        return error;
    }
    UserError { kind: ErrorKind::Data, hint: Some(hint(&message, is_json).to_owned()), message }
}

fn hint(message: &str, is_json: bool) -> &'static str {
    if message.starts_with("Divide by zero") {
        // Expressions over a record are also evaluated while it is read.
        return ZERO;
    }
    let fields = ["incorrect number of fields", "record "];
    let about_fields = fields.iter().any(|start| message.starts_with(start));
    match about_fields {
        false if is_json && message.contains("expected string got ") => TEXT,
        false if is_json && message.contains("expected { got [") => ARRAY,
        false if message.contains("unexpected leading content before '['") => SEPARATE_HINT,
        false if is_json && is_nested(message) => LEAVE_OUT,
        // Records on several lines are cut where a part of a file ends. If the record could be decoded, it is whole,
        // and the fault is its value.
        false if is_json && message.contains(RANGE_SUFFIX) && !message.contains(DECODED) => LINES,
        false if message.contains(TIME_OF_DAY) => TIME,
        // A part of a file may begin within a value, and then has records of any length.
        true if message.contains(RANGE_SUFFIX) => LINE_ENDS_OR_FIELDS,
        true => BAD_FIELDS,
        false if !is_json && message.contains("Error while parsing value") => UNLIKE_SAMPLE,
        false => BAD_VALUE,
    }
}

/// Returns whether a JSON value is an array or an object and its column is not, or the reverse.
fn is_nested(message: &str) -> bool {
    let is_expected = message.contains("expected [ got ") || message.contains("expected { got ");
    is_expected && message.contains(DECODED)
}

/// The maximum number of characters of a record that an error repeats.
const RECORD_CHARS: usize = 200;
/// The maximum number of characters of an error about a record, or nearly.
const ERROR_CHARS: usize = 500;

/// Returns Arrow's message about a record without the class of the error, and with long records shortened.
fn shortened(message: &str) -> String {
    let classes = ["Csv error: ", "Parser error: ", "Json error: ", "Cast error: "];
    let message = classes.iter().find_map(|class| message.strip_prefix(class)).unwrap_or(message);
    let (before, record) = match message.split_once("Row data: ") {
        Some((before, record)) => (format!("{before}Row data: "), record),
        None => (message.to_owned(), ""),
    };
    middle_left_out(&before, ERROR_CHARS) + &middle_left_out(record, RECORD_CHARS)
}

/// Returns a text of at most this many characters, or the same without its middle.
fn middle_left_out(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let (first, last) = (most * 2 / 3, most / 3);
    let first: String = text.chars().take(first).collect();
    let last: String = text.chars().skip(count - last).collect();
    format!("{first} … {last}")
}

/// Arrow counts columns, people name them.
fn named_column(message: &str, columns: &Schema) -> String {
    const OF_COLUMN: &str = "' for column ";
    let named = || {
        // The record follows this text.
        let place = message.split(" Row data: ").next()?.rfind(OF_COLUMN)? + OF_COLUMN.len();
        let (before, after) = message.split_at(place);
        let (number, rest) = after.split_once(' ')?;
        let column = columns.fields().get(number.parse::<usize>().ok()?)?;
        Some(format!("{before}`{}` {rest}", column.name()))
    };
    named().unwrap_or_else(|| message.to_owned())
}

/// Arrow counts lines from 0, people from 1.
fn one_based_line(message: &str) -> String {
    let Some((before, after)) = message.split_once("at line ") else {
        return message.to_owned();
    };
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    let (digits, rest) = after.split_at(end);
    match digits.parse::<u64>() {
        Ok(line) => format!("{before}at line {}{rest}", line + 1),
        Err(_) => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};

    use super::*;

    #[test]
    fn a_column_is_named() {
        let field = |name: &str| Field::new(name, DataType::Int64, true);
        let columns = Schema::new(vec![field("n"), field("year of birth")]);
        let of = |number: &str| {
            format!(
                "Error while parsing value 'x' as type 'Int64' for column {number} at line 2. Row data: '[1,' for \
                 column 0 ]'"
            )
        };
        assert_eq!(named_column(&of("1"), &columns), of("`year of birth`"));
        assert_eq!(named_column(&of("2"), &columns), of("2"));
    }

    #[test]
    fn a_long_record_is_not_repeated() {
        let short = "Csv error: incorrect number of fields for line 3, expected 2 got 3";
        assert_eq!(shortened(short), "incorrect number of fields for line 3, expected 2 got 3");
        let (value, record) = ("é".repeat(9000), "x".repeat(9000));
        let long = format!(
            "Parser error: Error while parsing value '{value}' as type 'Int64' for column 0 at \
             line 2. Row data: '[{record}]'"
        );
        let said = shortened(&long);
        assert!(said.chars().count() < 800, "{said}");
        assert!(said.contains("for column 0 at line 2. Row data: '[xxx"), "{said}");
        assert!(said.starts_with("Error while parsing value 'ééé"), "{said}");
    }
}
