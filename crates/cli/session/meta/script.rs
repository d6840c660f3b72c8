//! `\i`: statements and commands of a file.

use std::env;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::session::Session;
use crate::session::script::Script;

/// Files that include one another, at most.
const DEPTH: usize = 16;

/// The path of a file; `~/` at its beginning is the user's folder, as in a shell.
fn at_home(file: &str) -> PathBuf {
    match (file.strip_prefix("~/"), env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(file),
    }
}

/// Runs a file; the first error ends it. Returns whether to go on.
pub(super) async fn include(session: &mut Session<'_>, file: &str) -> Result<bool> {
    if session.including == DEPTH {
        return Err(Failure::new(format!("`{file}` is included {DEPTH} files deep"))
            .with_hint("A file may not include itself."));
    }
    let script = Script::of_file(&at_home(file))?;
    session.including += 1;
    let ran = session.run_all(&script).await;
    session.including -= 1;
    ran
}
