//! Hardware profiles that `sluice calibrate` wrote, one file each in the user's cache folder.
//!
//! The files have the format of `--hardware FILE`: users may read, copy, change and remove them. They contain no
//! credentials. A file that cannot be parsed causes a warning whenever profiles are looked up.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use sluicegate_client::Client;
use sluicegate_costmodel::HardwareProfile;

use super::probed_endpoints::cache_folder;
use crate::failure::{Failure, Result};
use crate::output::file::PartialFile;

/// Returns the name of a client's store in calibrations: its URL, or AWS and its region.
pub(crate) fn place(client: &Client) -> String {
    match client.endpoint() {
        Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
        None => format!("AWS, region {}", client.region()),
    }
}

/// The folder of calibrated profiles, with its contents.
#[derive(Debug)]
pub(crate) struct CalibratedHardware {
    folder: PathBuf,
    profiles: Vec<HardwareProfile>,
    /// The errors of files that cannot be parsed, each a sentence without a full stop.
    damage: Vec<String>,
}

impl CalibratedHardware {
    /// Reads the folder in the user's cache folder; `None` if the user has none.
    pub(crate) fn in_cache() -> Option<Self> {
        Some(Self::read(cache_folder()?.join("hardware")))
    }

    /// Returns the store's most recent profile.
    pub(crate) fn of_store(&self, place: &str) -> Option<&HardwareProfile> {
        let of = |it: &HardwareProfile| it.calibration.as_ref().map(|it| it.endpoint.clone());
        let all = self.profiles.iter().filter(|it| of(it).as_deref() == Some(place));
        // Dates are written so that they sort as text.
        all.max_by(|a, b| a.date.cmp(&b.date))
    }

    /// Returns the profile of this name.
    pub(crate) fn by_name(&self, name: &str) -> Option<&HardwareProfile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// Returns the names of all profiles, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.profiles.iter().map(|it| it.name.clone())
    }

    /// Returns a warning for each file that cannot be parsed, with advice: one of them may be the wanted profile.
    pub(crate) fn damage(&self) -> impl Iterator<Item = String> {
        const HINT: &str = "correct it, or remove it and run `sluice calibrate` again";
        self.damage.iter().map(|wrong| format!("{wrong}; it is not used: {HINT}"))
    }

    /// Saves a profile, replacing one of the same name. Returns the path of the file.
    pub(crate) fn save(&self, profile: &HardwareProfile) -> Result<PathBuf> {
        let path = self.folder.join(format!("{}.toml", file_stem(&profile.name)));
        fs::create_dir_all(&self.folder).map_err(|error| Failure::file(&self.folder, error))?;
        let mut file = PartialFile::begin(&path)?;
        let written = file.file().write_all(profile.to_string().as_bytes());
        written.map_err(|error| Failure::file(&path, error))?;
        file.finish()?;
        Ok(path)
    }

    /// Checks that a profile could be saved, without leaving any file.
    ///
    /// # Errors
    ///
    /// If the folder cannot be written.
    pub(crate) fn check(&self) -> Result<()> {
        let there = self.folder.ancestors().find(|folder| folder.exists());
        let file = there.unwrap_or(&self.folder).join("profile.toml");
        // The temporary file is removed when it is dropped.
        PartialFile::begin(&file).map(drop).map_err(|failure| {
            let place = format!("profiles cannot be remembered in `{}`", self.folder.display());
            failure.at(&place).with_hint(
                "Set XDG_CACHE_HOME to a folder that can be written to, or write the profile to a file \
                 with --output.",
            )
        })
    }

    fn read(folder: PathBuf) -> Self {
        let mut all = Self { folder, profiles: Vec::new(), damage: Vec::new() };
        let entries = match fs::read_dir(&all.folder) {
            Ok(entries) => entries,
            Err(error) => {
                tracing::debug!(path = %all.folder.display(), %error, "no calibrated profiles");
                return all;
            }
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        for path in paths.filter(|path| path.extension().is_some_and(|it| it == "toml")) {
            let place = path.display();
            match fs::read_to_string(&path) {
                Ok(text) => match HardwareProfile::parse(&text) {
                    Ok(profile) => all.profiles.push(profile),
                    Err(error) => {
                        all.damage
                            .push(format!("the hardware profile `{place}` is damaged: {error}"));
                    }
                },
                Err(error) => {
                    all.damage
                        .push(format!("the hardware profile `{place}` cannot be read: {error}"));
                }
            }
        }
        all.profiles.sort_by(|a, b| a.name.cmp(&b.name));
        all.damage.sort();
        all
    }
}

/// Converts a profile's name to the name of a file.
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
        let known = || CalibratedHardware::read(folder.path().join("hardware"));
        assert_eq!(known().of_store("http://here:1"), None);
        assert_eq!((known().names().count(), known().damage().count()), (0, 0));
        for (name, date) in [("old", "2026-01-01T00:00:00Z"), ("new", "2026-02-01T00:00:00Z")] {
            known().save(&profile(name, date, "http://here:1")).unwrap();
        }
        known().save(&profile("../there", "2026-03-01T00:00:00Z", "http://there:1")).unwrap();
        let name = |place| known().of_store(place).map(|profile| profile.name.clone());
        assert_eq!(name("http://here:1").as_deref(), Some("new"));
        assert_eq!(name("http://there:1").as_deref(), Some("../there"));
        assert_eq!(name("http://nowhere:1"), None);
        assert_eq!(known().names().collect::<Vec<_>>(), ["../there", "new", "old"]);
        assert_eq!(known().by_name("old").unwrap().date, "2026-01-01T00:00:00Z");
        // Nothing is written outside of the folder.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        // Damaged files are reported and not used; files with another extension are ignored.
        let damaged = known().folder.join("new.toml");
        fs::write(&damaged, "name = ").unwrap();
        fs::write(known().folder.join("notes.txt"), "mine").unwrap();
        assert_eq!(name("http://here:1").as_deref(), Some("old"));
        let damage: Vec<String> = known().damage().collect();
        let expected = format!("the hardware profile `{}` is damaged: line 1, ", damaged.display());
        assert!(damage.len() == 1 && damage[0].starts_with(&expected), "{damage:?}");
        assert!(damage[0].ends_with("run `sluice calibrate` again"), "{damage:?}");
        fs::write(&damaged, [0xff]).unwrap();
        assert!(known().damage().all(|it| it.contains("cannot be read")));
    }
}
