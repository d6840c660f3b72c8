//! `\i`: runs the statements and commands of a file.

use std::env;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::session::Session;
use crate::session::script::Script;

/// The greatest depth of files that include one another.
const DEPTH: usize = 16;

/// Returns the path of a file, with `~/` replaced by the user's home folder, as in a shell.
fn at_home(file: &str) -> PathBuf {
    match (file.strip_prefix("~/"), env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(file),
    }
}

/// Runs a file up to the first error. Returns false if a command was to quit.
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
