//! Selects the objects that a listing of a location finds, and those of them that are data.

use datafusion::execution::SessionState;
use object_store::path::Path;

use crate::context::file_names::{COMPRESSIONS, TABS};

/// Returns the session with an option by which a location includes objects at any depth. Folders of partitions are
/// included either way.
pub(crate) fn with_subfolders(state: &SessionState) -> SessionState {
    let mut state = state.clone();
    state.config_mut().options_mut().execution.listing_table_ignore_subdirectory = false;
    state
}

/// Returns whether an object is not data by its name, such as `_SUCCESS` or `.part.crc`.
pub(crate) fn is_hidden(path: &Path) -> bool {
    path.filename().is_some_and(|name| name.starts_with(['_', '.']))
}

/// Returns whether the name of an object, compressed or not, has an extension of this format.
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
