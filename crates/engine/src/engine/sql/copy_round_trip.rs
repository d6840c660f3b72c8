//! Makes CSV that COPY writes readable by its URL.

use arrow::datatypes::DataType;
use datafusion::logical_expr::dml::CopyTo;

/// The characters, besides commas, that CSV detection takes for delimiters or quotes.
const SUSPICIOUS: [char; 4] = [';', '\t', '|', '\''];

/// Quotes text if CSV detection would find another delimiter in it: in a file with one column, there are no commas to
/// prevent that.
pub(crate) fn quote_text(copy: &mut CopyTo) {
    let schema = copy.input.schema();
    let [column] = schema.fields().as_ref() else { return };
    let is_text =
        matches!(column.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let says = |option: &str| {
        let found = copy.options.iter().find(|(name, _)| name.ends_with(option));
        found.map(|(_, value)| value.to_ascii_lowercase())
    };
    let has_no_header = says("has_header").is_some_and(|header| header == "false");
    let is_told_by_header = !has_no_header && !column.name().contains(SUSPICIOUS);
    if copy.file_type.get_ext() == "csv"
        && is_text
        && !is_told_by_header
        && says("quote_style").is_none()
    {
        copy.options.insert("format.quote_style".to_owned(), "NonNumeric".to_owned());
    }
}
