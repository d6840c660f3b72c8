//! `\i`: statements and commands of a file.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::runtime::input::text_of;
use crate::session::Session;
use crate::session::statements::steps;

/// Files that include one another, at most.
const DEPTH: usize = 16;

/// Runs a file; the first error ends it. Returns whether to go on.
pub(super) async fn include(session: &mut Session<'_>, file: &str) -> Result<bool> {
    if session.including == DEPTH {
        return Err(Failure::new(format!("`{file}` is included {DEPTH} files deep"))
            .with_hint("A file may not include itself."));
    }
    let path = Path::new(file);
    let text = text_of(path)?;
    session.including += 1;
    let ran =
        session.run_all(&steps(&text)).await.map_err(|failure| failure.at(&format!("`{file}`")));
    session.including -= 1;
    ran
}
