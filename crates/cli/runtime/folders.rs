//! The program's folders in the user's home.

use std::env;
use std::path::PathBuf;

/// Returns the folder of settings: `$XDG_CONFIG_HOME/sluice`, else `~/.config/sluice`.
pub(crate) fn config_folder() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", &[".config"])
}

/// Returns the folder of the history: `$XDG_DATA_HOME/sluice`, else `~/.local/share/sluice`.
pub(crate) fn data_folder() -> Option<PathBuf> {
    folder("XDG_DATA_HOME", &[".local", "share"])
}

fn folder(variable: &str, home: &[&str]) -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let under_home = || Some(home.iter().fold(set("HOME")?, |path, part| path.join(part)));
    let folder = set(variable).or_else(|| set("APPDATA")).or_else(under_home)?;
    Some(folder.join("sluice"))
}
