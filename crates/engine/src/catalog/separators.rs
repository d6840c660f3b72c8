//! The delimiters of a declared CSV table that are not declared: a first line `sep=;` of its files, and semicolons
//! beside decimal commas.

use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::execution::SessionState;
use datafusion::logical_expr::CreateExternalTable;

use crate::catalog::external_tables::below;
use crate::catalog::locations::as_url;
use crate::context::notes::Notes;
use crate::text::csv::dialect;

const DELIMITER: &str = "format.delimiter";
const SKIP: &str = "format.skip";
const COMPRESSION: &str = "format.compression";
const DECIMALS: &str = "format.decimal_separator";

/// Adds the delimiter that the first file names in its first line, which Excel writes and reads, and skips that line.
/// Without such a line, files with decimal commas have semicolons between fields. Returns none if nothing is added.
///
/// # Errors
///
/// If a location cannot be listed, or the file cannot be read.
pub(crate) async fn told(
    state: &dyn Session,
    command: &CreateExternalTable,
) -> Result<Option<CreateExternalTable>> {
    let given = |option: &str| {
        let mut options = command.options.iter();
        options.find(|(name, _)| name.eq_ignore_ascii_case(option)).map(|(_, value)| value.as_str())
    };
    if !command.file_type.eq_ignore_ascii_case("csv") {
        return Ok(None);
    }
    let mut told = command.clone();
    let line = match given(SKIP) {
        Some(_) => None,
        None => first_line(state, command, given(COMPRESSION)).await?,
    };
    let is_other =
        |delimiter: &char| given(DELIMITER).is_some_and(|it| it.chars().ne([*delimiter]));
    if let Some(delimiter) = line.filter(|delimiter| !is_other(delimiter)) {
        let notes = state.config().get_extension::<Notes>().unwrap_or_default();
        notes.add(format!(
            "the first line of the files of table {} is `sep={}`: it is skipped",
            command.name,
            delimiter.escape_debug()
        ));
        told.options.insert(DELIMITER.to_owned(), delimiter.to_string());
        told.options.insert(SKIP.to_owned(), "1".to_owned());
        return Ok(Some(told));
    }
    if given(DECIMALS) == Some(",") && given(DELIMITER).is_none() {
        told.options.insert(DELIMITER.to_owned(), ";".to_owned());
        return Ok(Some(told));
    }
    Ok(None)
}

/// Returns the delimiter in the first line of the first file of the table.
async fn first_line(
    state: &dyn Session,
    command: &CreateExternalTable,
    compression: Option<&str>,
) -> Result<Option<char>> {
    let (Some(session), Some(location)) =
        (state.as_any().downcast_ref::<SessionState>(), command.locations.first())
    else {
        return Ok(None);
    };
    // Another error is about the value of the option.
    let Ok(compression) = compression.unwrap_or_default().parse::<FileCompressionType>() else {
        return Ok(None);
    };
    let mut there = below(session, command, location).await?;
    there.sort_by(|one, other| one.location.cmp(&other.location));
    let Some(first) = there.first() else { return Ok(None) };
    let url = ListingTableUrl::parse(as_url(location)?)?;
    let store = session.runtime_env().object_store(&url)?;
    dialect::separator_line(&store, first, compression).await
}
