//! Which objects a listing finds, and which of them are data.

use datafusion::execution::SessionState;
use object_store::path::Path;

use crate::context::file_names::{COMPRESSIONS, TABS};

/// The same session, in which a location has all objects below it. Folders of partitions belong to
/// it either way.
pub(crate) fn with_subfolders(state: &SessionState) -> SessionState {
    let mut state = state.clone();
    state.config_mut().options_mut().execution.listing_table_ignore_subdirectory = false;
    state
}

/// Whether a name is that of an object beside the data, such as `_SUCCESS` or `.part.crc`.
pub(crate) fn is_hidden(path: &Path) -> bool {
    path.filename().is_some_and(|name| name.starts_with(['_', '.']))
}

/// Whether the name of an object says that it is of a kind of tables, compressed or not.
pub(crate) fn implies_format(path: &Path, kind: &str) -> bool {
    let name = path.as_ref().to_ascii_lowercase();
    let stem = COMPRESSIONS.iter().find_map(|(suffix, _)| name.strip_suffix(suffix));
    let Some((_, end)) = stem.unwrap_or(&name).rsplit_once('.') else { return false };
    match kind.to_ascii_lowercase().as_str() {
        "csv" => end == "csv" || end == TABS,
        "json" | "ndjson" | "jsonl" => ["json", "ndjson", "jsonl"].contains(&end),
        kind => end == kind,
    }
}
