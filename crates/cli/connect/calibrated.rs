//! Hardware profiles that `sluice calibrate` wrote, one file each in the user's cache folder.
//!
//! The files are what `--hardware FILE` reads: they may be looked at, copied, changed and removed.
//! There are no credentials in them. A file that cannot be read is ignored.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sluicegate_client::Client;
use sluicegate_costmodel::HardwareProfile;

use super::known::cache_folder;
use crate::failure::{Failure, Result};

/// The store of a client, as a calibration names it: its URL, or AWS and its region.
pub(crate) fn place(client: &Client) -> String {
    match client.endpoint() {
        Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
        None => format!("AWS, region {}", client.region()),
    }
}

/// The folder.
#[derive(Debug)]
pub(crate) struct CalibratedProfiles {
    folder: PathBuf,
}

impl CalibratedProfiles {
    /// The folder in the user's cache folder; `None` if there is none.
    pub(crate) fn in_cache() -> Option<Self> {
        Some(Self { folder: cache_folder()?.join("hardware") })
    }

    /// The profile that was measured last for a store.
    pub(crate) fn of_store(&self, place: &str) -> Option<HardwareProfile> {
        let of = |it: &HardwareProfile| it.calibration.as_ref().map(|it| it.endpoint.clone());
        let all = self.read().into_iter().filter(|it| of(it).as_deref() == Some(place));
        // Dates are written so that they sort.
        all.max_by(|a, b| a.date.cmp(&b.date))
    }

    /// The profile of this name.
    pub(crate) fn by_name(&self, name: &str) -> Option<HardwareProfile> {
        self.read().into_iter().find(|profile| profile.name == name)
    }

    /// The names of all, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.read().into_iter().map(|it| it.name).collect();
        names.sort();
        names
    }

    /// Saves a profile; it replaces one of the same name. Returns the file.
    pub(crate) fn remember(&self, profile: &HardwareProfile) -> Result<PathBuf> {
        let path = self.folder.join(format!("{}.toml", file_stem(&profile.name)));
        fs::create_dir_all(&self.folder).map_err(|error| Failure::file(&self.folder, error))?;
        write_whole(&path, &profile.to_string()).map_err(|error| Failure::file(&path, error))?;
        Ok(path)
    }

    fn read(&self) -> Vec<HardwareProfile> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) => {
                tracing::debug!(path = %self.folder.display(), %error, "no calibrated profiles");
                return Vec::new();
            }
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let profile = |path: PathBuf| {
            if path.extension()? != "toml" {
                return None;
            }
            let text = fs::read_to_string(&path).ok()?;
            match HardwareProfile::parse(&text) {
                Ok(profile) => Some(profile),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "no hardware profile: ignored");
                    None
                }
            }
        };
        paths.filter_map(profile).collect()
    }
}

/// Writes a file that appears when it is complete.
pub(crate) fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// A profile's name as the name of a file.
fn file_stem(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use sluicegate_costmodel::calibration::Calibration;

    use super::*;

    fn profile(name: &str, date: &str, endpoint: &str) -> HardwareProfile {
        let mut profile = HardwareProfile::paper().clone();
        (profile.name, profile.date) = (name.to_owned(), date.to_owned());
        let endpoint = endpoint.to_owned();
        profile.calibration = Some(Box::new(Calibration { endpoint, ..Calibration::default() }));
        profile
    }

    #[test]
    fn the_last_calibration_of_a_store_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let known = CalibratedProfiles { folder: folder.path().join("hardware") };
        assert_eq!(known.of_store("http://here:1"), None);
        assert!(known.names().is_empty());
        for (name, date) in [("old", "2026-01-01T00:00:00Z"), ("new", "2026-02-01T00:00:00Z")] {
            known.remember(&profile(name, date, "http://here:1")).unwrap();
        }
        known.remember(&profile("../there", "2026-03-01T00:00:00Z", "http://there:1")).unwrap();
        let name = |place| known.of_store(place).map(|profile| profile.name);
        assert_eq!(name("http://here:1").as_deref(), Some("new"));
        assert_eq!(name("http://there:1").as_deref(), Some("../there"));
        assert_eq!(name("http://nowhere:1"), None);
        assert_eq!(known.names(), ["../there", "new", "old"]);
        assert_eq!(known.by_name("old").unwrap().date, "2026-01-01T00:00:00Z");
        // Nothing is written elsewhere, and what is no profile is as good as not there.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::write(known.folder.join("new.toml"), "name = ").unwrap();
        fs::write(known.folder.join("notes.txt"), "mine").unwrap();
        assert_eq!(name("http://here:1").as_deref(), Some("old"));
    }
}
