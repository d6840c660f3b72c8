//! Named connections, in `sluice/config.toml` of the user's configuration folder.
//!
//! ```toml
//! [connections.lab]
//! endpoint = "http://127.0.0.1:9000"
//! aws_profile = "lab"
//! store = "minio"
//! ```
//!
//! The file never contains a secret: it names the source of the credentials.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use serde::Deserialize;

use crate::failure::{Failure, Result};
use crate::output::file::PartialFile;
use crate::runtime::folders::config_folder;

/// The options of a connection. Options that are missing have their usual defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Connection {
    pub(crate) endpoint: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) aws_profile: Option<String>,
    #[serde(default)]
    pub(crate) anonymous: bool,
    /// The kind of store, as in `--store`.
    pub(crate) store: Option<String>,
    pub(crate) hardware: Option<String>,
    pub(crate) prices: Option<String>,
}

impl Connection {
    /// Describes the source of the credentials.
    pub(crate) fn credentials(&self) -> String {
        match (&self.aws_profile, self.anonymous) {
            (_, true) => "none".to_owned(),
            (Some(profile), _) => format!("AWS profile {profile}"),
            (None, false) => "environment".to_owned(),
        }
    }

    /// Returns the connection's section of the file.
    fn section(&self, name: &str) -> String {
        let mut text = format!("[connections.{}]\n", quoted(name));
        for (key, value) in [
            ("endpoint", &self.endpoint),
            ("region", &self.region),
            ("aws_profile", &self.aws_profile),
            ("store", &self.store),
            ("hardware", &self.hardware),
            ("prices", &self.prices),
        ] {
            if let Some(value) = value {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{key} = {}", quoted(value));
            }
        }
        if self.anonymous {
            text += "anonymous = true\n";
        }
        text
    }
}

/// Quotes a string for TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The file of connections with its contents.
#[derive(Debug)]
pub(crate) struct Connections {
    path: PathBuf,
    text: String,
    all: BTreeMap<String, Connection>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    #[serde(default)]
    connections: BTreeMap<String, Connection>,
}

impl Connections {
    /// Reads the user's connections; empty if there is no file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or contains unknown keys.
    pub(crate) fn read() -> Result<Self> {
        let folder = config_folder().ok_or_else(|| {
            Failure::new("there is no configuration folder, so there are no named connections")
                .with_hint("Set XDG_CONFIG_HOME or HOME.")
        })?;
        let path = folder.join("config.toml");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Failure::file(&path, error)),
        };
        let contents: ConfigFile = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start].lines().count().max(1));
            let place = format!("`{}`, line {line}: {}", path.display(), error.message());
            Failure::new(place).with_hint(
                "A connection has endpoint, region, aws_profile, anonymous, store, hardware and prices; \
                 keys are never in this file: name an AWS profile.",
            )
        })?;
        Ok(Self { path, text, all: contents.connections })
    }

    /// Iterates over all connections, sorted by name.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&String, &Connection)> {
        self.all.iter()
    }

    /// Returns the connection of this name.
    ///
    /// # Errors
    ///
    /// If there is none; the hint lists the existing ones.
    pub(crate) fn named(&self, name: &str) -> Result<&Connection> {
        self.all.get(name).ok_or_else(|| {
            let hint = match self.all.len() {
                0 => format!("`sluice connect add {name} --endpoint URL` makes one."),
                _ => {
                    let names: Vec<&str> = self.all.keys().map(String::as_str).collect();
                    format!("Take one of {}, or `sluice connect add` it.", names.join(", "))
                }
            };
            Failure::new(format!("there is no connection `{name}`")).with_hint(hint)
        })
    }

    /// Appends a connection to the file, whose other text stays unchanged. Returns the path of the file.
    ///
    /// # Errors
    ///
    /// If there is one of this name, or the file cannot be written.
    pub(crate) fn add(&self, name: &str, connection: &Connection) -> Result<PathBuf> {
        if self.all.contains_key(name) {
            let hint = format!("Change it in {}, or take another name.", self.path.display());
            return Err(Failure::new(format!("there is a connection `{name}`")).with_hint(hint));
        }
        let mut text = self.text.clone();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text += &connection.section(name);
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
        }
        let mut file = PartialFile::begin(&self.path)?;
        let written = file.file().write_all(text.as_bytes());
        written.map_err(|error| Failure::file(&self.path, error))?;
        file.finish()?;
        Ok(self.path.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_reads_as_what_it_was_written_from() {
        let connection = Connection {
            endpoint: Some("http://127.0.0.1:9000".to_owned()),
            aws_profile: Some("a \"b\"\\\n".to_owned()),
            store: Some("minio".to_owned()),
            ..Connection::default()
        };
        let anonymous = Connection { anonymous: true, ..Connection::default() };
        let text = connection.section("my lab") + &anonymous.section("open");
        let read: ConfigFile = toml::from_str(&text).unwrap();
        assert_eq!(read.connections["my lab"], connection);
        assert_eq!(read.connections["open"], anonymous);
        assert!(toml::from_str::<ConfigFile>("[connections.x]\nsecret = 'y'").is_err());
    }
}
