//! Profiles of endpoints that were probed, kept in a file in the user's cache folder.
//!
//! The file is JSON: a version, and one entry per endpoint with its URL, the `Server` header, the
//! day and version of the probe, and the profile. There are no credentials in it. A file
//! that cannot be read is ignored: it is only a cache.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use sluicegate_conformance::probe::PROBE_VERSION;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_s3select::value::Timestamp;

use crate::failure::{Failure, Result};

/// The version of the file's layout.
const VERSION: u64 = 1;

/// A probed endpoint.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProbedEndpoint {
    /// URL of the endpoint, without slashes at the end.
    endpoint: String,
    /// `Server` header of the endpoint, if it has one.
    server: Option<String>,
    /// Time of the probe, in UTC.
    probed: String,
    /// Capabilities that the probe found.
    pub(crate) profile: StoreCapabilities,
}

impl ProbedEndpoint {
    /// Creates an entry with the current time.
    pub(crate) fn now(endpoint: &str, server: Option<&str>, profile: StoreCapabilities) -> Self {
        Self {
            endpoint: trimmed(endpoint).to_owned(),
            server: server.map(str::to_owned),
            probed: now(),
            profile,
        }
    }

    fn is(&self, endpoint: &str, server: Option<&str>) -> bool {
        self.endpoint == trimmed(endpoint) && self.server.as_deref() == server
    }

    fn to_json(&self) -> serde_json::Result<Value> {
        Ok(json!({
            "endpoint": self.endpoint,
            "server": self.server,
            "probed": self.probed,
            "probe_version": PROBE_VERSION,
            "profile": serde_json::to_value(&self.profile)?,
        }))
    }

    /// Parses an entry of the file; `None` if another version of the probe wrote it.
    fn from_json(value: &Value) -> Option<Self> {
        if value["probe_version"].as_u64() != Some(u64::from(PROBE_VERSION)) {
            return None;
        }
        Some(Self {
            endpoint: value["endpoint"].as_str()?.to_owned(),
            server: value["server"].as_str().map(str::to_owned),
            probed: value["probed"].as_str()?.to_owned(),
            profile: serde_json::from_value(value["profile"].clone()).ok()?,
        })
    }
}

/// Returns the current time to the second, in UTC.
pub(crate) fn now() -> String {
    utc(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
}

/// Formats a time in seconds since 1970, in UTC.
pub(crate) fn utc(seconds: u64) -> String {
    let time = Timestamp::from_nanos(i128::from(seconds) * 1_000_000_000, 0);
    time.map(|time| time.to_string()).unwrap_or_default()
}

fn trimmed(endpoint: &str) -> &str {
    endpoint.trim_end_matches('/')
}

/// Returns the folder for cached results; `None` if the user has none.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = match set("XDG_CACHE_HOME").filter(|path| path.is_absolute()) {
        Some(folder) => folder,
        None if cfg!(target_os = "macos") => set("HOME")?.join("Library").join("Caches"),
        None if cfg!(windows) => set("LOCALAPPDATA")?,
        None => set("HOME")?.join(".cache"),
    };
    Some(folder.join("sluice"))
}

/// The file of probed endpoints.
#[derive(Debug)]
pub(crate) struct KnownEndpoints {
    path: PathBuf,
}

impl KnownEndpoints {
    /// Returns the file in the user's cache folder; `None` if the user has none.
    pub(crate) fn in_cache() -> Option<Self> {
        Some(Self { path: cache_folder()?.join("endpoints.json") })
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the entry of an endpoint, if its `Server` header is the same as when it was probed.
    pub(crate) fn find(&self, endpoint: &str, server: Option<&str>) -> Option<ProbedEndpoint> {
        self.read().into_iter().find(|known| known.is(endpoint, server))
    }

    /// Saves a profile, replacing an earlier one of the same endpoint.
    pub(crate) fn save(&self, known: ProbedEndpoint) -> Result<()> {
        let mut all = self.read();
        all.retain(|other| !other.is(&known.endpoint, known.server.as_deref()));
        all.push(known);
        self.write(&all).map_err(|error| Failure::file(&self.path, error))
    }

    fn read(&self) -> Vec<ProbedEndpoint> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) => {
                tracing::debug!(path = %self.path.display(), %error, "no known endpoints");
                return Vec::new();
            }
        };
        let file: Value = serde_json::from_str(&text).unwrap_or_default();
        if file["version"].as_u64() != Some(VERSION) {
            tracing::warn!(path = %self.path.display(), "not a list of known endpoints: ignored");
            return Vec::new();
        }
        file["endpoints"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(ProbedEndpoint::from_json)
            .collect()
    }

    /// Writes a temporary file and renames it, so that readers never see a partial file.
    fn write(&self, all: &[ProbedEndpoint]) -> io::Result<()> {
        let endpoints =
            all.iter().map(ProbedEndpoint::to_json).collect::<serde_json::Result<Vec<_>>>()?;
        let file = json!({ "version": VERSION, "endpoints": endpoints });
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut written = tempfile::NamedTempFile::new_in(folder)?;
        writeln!(written, "{}", serde_json::to_string_pretty(&file)?)?;
        written.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::TempDir, KnownEndpoints) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sluice").join("endpoints.json");
        (folder, KnownEndpoints { path })
    }

    #[test]
    fn an_endpoint_is_known_by_its_url_and_its_name() {
        let (_folder, file) = file();
        let here = "http://here:1";
        assert_eq!(file.find(here, None), None);
        file.save(ProbedEndpoint::now(here, None, StoreCapabilities::aws())).unwrap();
        file.save(ProbedEndpoint::now(here, Some("x"), StoreCapabilities::minio())).unwrap();
        file.save(ProbedEndpoint::now("http://here:1/", None, StoreCapabilities::ceph())).unwrap();
        let name = |server| file.find(here, server).map(|known| known.profile.name);
        assert_eq!(name(None).as_deref(), Some("ceph"));
        assert_eq!(name(Some("x")).as_deref(), Some("minio"));
        assert_eq!(name(Some("y")), None);
        assert_eq!(file.find("http://there:1", None), None);
        assert_eq!(file.read().len(), 2);
    }

    #[test]
    fn what_cannot_be_read_is_as_good_as_not_there() {
        let (_folder, file) = file();
        file.save(ProbedEndpoint::now("http://here:1", None, StoreCapabilities::aws())).unwrap();
        let text = fs::read_to_string(&file.path).unwrap();
        assert!(!text.contains("secret") && text.contains("\"probed\": \"20"), "{text}");
        for bad in [
            "",
            "{",
            "[]",
            "{\"version\": 99}",
            &text.replace("probe_version\": ", "probe_version\": 9"),
        ] {
            fs::write(&file.path, bad).unwrap();
            assert_eq!(file.find("http://here:1", None), None, "{bad}");
        }
        file.save(ProbedEndpoint::now("http://here:1", None, StoreCapabilities::aws())).unwrap();
        assert!(file.find("http://here:1", None).is_some());
    }
}
