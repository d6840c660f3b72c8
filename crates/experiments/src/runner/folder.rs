//! The files of an evaluation.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RunError;
use crate::peer::stamp;
use crate::run::{Data, Run};
use crate::{Experiment, Machine, Peer, Record, Results, Setting};

/// Changes when the form of the recorded outputs does.
const VERSION: u32 = 1;

/// A folder of an evaluation, locked by this process.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The checksum of the program whose outputs are valid.
    program: u64,
    /// The machine whose outputs are valid.
    machine: String,
    /// The folders in which programs of others are looked for.
    search: OsString,
    /// The locked file.
    _lock: File,
}

/// A recorded output, with the key that it is valid for and its checksum.
#[derive(Serialize, Deserialize)]
struct Kept {
    key: String,
    #[serde(default)]
    checksum: String,
    record: Record,
}

impl Kept {
    /// Reads a file. One that is no regular file, is of another version, or was changed counts as none.
    fn read(path: &Path) -> Result<Option<Self>, RunError> {
        match fs::metadata(path) {
            Ok(file) if file.is_file() => {}
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at(path, error)),
        }
        let text = fs::read(path).map_err(|error| at(path, error))?;
        let Ok(value) = serde_json::from_slice::<Value>(&text) else { return Ok(None) };
        let kept: Option<Self> = Self::deserialize(&value).ok();
        Ok(kept.filter(|kept| kept.checksum == sum(&value)))
    }

    /// Returns the text of a file.
    fn text(key: String, record: &Record) -> serde_json::Result<String> {
        let mut kept = Self { key, checksum: String::new(), record: record.clone() };
        // Numbers are compared as they are read again.
        kept.checksum = sum(&serde_json::from_str(&serde_json::to_string(&kept)?)?);
        serde_json::to_string_pretty(&kept)
    }
}

/// Returns the checksum of the record in a file.
fn sum(kept: &Value) -> String {
    let record = kept.get("record").map(Value::to_string).unwrap_or_default();
    format!("{:016x}", crc(record.as_bytes()))
}

impl Folder {
    /// Opens a folder and locks it. A folder with other files is refused, because some would be replaced.
    pub(super) fn open(path: &Path, program: &Path) -> Result<Self, RunError> {
        let is_empty = fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none());
        if !is_empty && !path.join("lock").is_file() {
            return Err(RunError::Foreign(path.to_owned()));
        }
        for folder in
            [path.to_owned(), path.join("data"), path.join("results"), path.join("temporary")]
        {
            fs::create_dir_all(&folder).map_err(|error| at(&folder, error))?;
        }
        let path = path.canonicalize().map_err(|error| at(path, error))?;
        let file = path.join("lock");
        let lock = File::create(&file).map_err(|error| at(&file, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(RunError::Busy(path)),
            Err(fs::TryLockError::Error(error)) => return Err(at(&file, error)),
        }
        let program = checksum(program).map_err(|error| at(program, error))?;
        // What a killed run has left. A command that outlives it has files of its own.
        let temporary = path.join("temporary");
        fs::remove_dir_all(&temporary).map_err(|error| at(&temporary, error))?;
        fs::create_dir_all(&temporary).map_err(|error| at(&temporary, error))?;
        let Machine { processor, cores, .. } = Machine::this();
        let machine = format!("{processor:?}, {cores:?}");
        let search = std::env::var_os("PATH").unwrap_or_default();
        Ok(Self { path, program, machine, search, _lock: lock })
    }

    /// Looks for programs of others in these folders only.
    #[cfg(test)]
    pub(super) fn search_in(&mut self, path: &Path) {
        self.search = path.into();
    }

    /// Returns the file of another program; `None` if it is not installed.
    pub(super) fn peer(&self, peer: Peer) -> Option<PathBuf> {
        peer.find(&self.search)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of the data sets, which the store serves.
    pub(super) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// Returns a file of this process that the next run may overwrite.
    pub(super) fn temporary(&self, name: &str) -> PathBuf {
        self.path.join("temporary").join(format!("{}-{name}", std::process::id()))
    }

    /// Returns the recorded output of a run; `None` if there is none, or if the program or the run has changed since.
    pub(super) fn record(&self, experiment: &str, run: &Run) -> Result<Option<Record>, RunError> {
        let kept = Kept::read(&self.results_of(experiment, run))?;
        Ok(kept.filter(|kept| kept.key == self.key_of(run)).map(|kept| kept.record))
    }

    /// Records the output of a run.
    pub(super) fn keep(
        &self,
        experiment: &str,
        run: &Run,
        record: &Record,
    ) -> Result<(), RunError> {
        let path = self.results_of(experiment, run);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| at(folder, error))?;
        }
        let text = Kept::text(self.key_of(run), record);
        self.replace(&path, &text.map_err(|error| at(&path, error.into()))?)
    }

    /// Removes the recorded output of a run.
    pub(super) fn forget_record(&self, experiment: &str, run: &Run) -> Result<(), RunError> {
        let path = self.results_of(experiment, run);
        removed(&path, fs::remove_file(&path))
    }

    /// Returns true if a data set is complete, made by this program, and has the files that it was made with.
    pub(super) fn has(&self, data: &Data) -> Result<bool, RunError> {
        let path = self.mark_of(data);
        match fs::read_to_string(&path) {
            Ok(mark) => Ok(mark == self.mark(data)?),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(at(&path, error)),
        }
    }

    /// Returns the key of a data set, and a checksum of the names, sizes and times of its files.
    fn mark(&self, data: &Data) -> Result<String, RunError> {
        let mut files = String::new();
        for part in [self.data().join(&data.name), self.path.join(data.definitions())] {
            list(&part, &mut files)?;
        }
        Ok(format!("{} {:016x}", self.key(data, ""), crc(files.as_bytes())))
    }

    /// Makes a data set again before it is used the next time.
    pub(super) fn distrust(&self, data: &Data) -> Result<(), RunError> {
        let mark = self.mark_of(data);
        removed(&mark, fs::remove_file(&mark))
    }

    /// Removes a data set, or a part of one.
    pub(super) fn forget(&self, data: &Data) -> Result<(), RunError> {
        self.distrust(data)?;
        let folder = self.data().join(&data.name);
        removed(&folder, fs::remove_dir_all(&folder))
    }

    /// Marks a data set as complete.
    pub(super) fn has_made(&self, data: &Data) -> Result<(), RunError> {
        self.replace(&self.mark_of(data), &self.mark(data)?)
    }

    fn results_of(&self, experiment: &str, run: &Run) -> PathBuf {
        results_of(&self.path, experiment, run)
    }

    fn mark_of(&self, data: &Data) -> PathBuf {
        self.path.join("results").join(format!("data-{}", file_name(&data.name)))
    }

    /// Returns the key of a run. It has the program of others that the run needs, or that it is not installed.
    fn key_of(&self, run: &Run) -> String {
        let peer = run.peer.and_then(|it| self.peer(it));
        self.key(run, &peer.map_or_else(String::new, |file| stamp(&file)))
    }

    fn key(&self, of: &impl Serialize, more: &str) -> String {
        let text = serde_json::to_string(of).unwrap_or_default() + &self.machine + more;
        format!("{VERSION} {:016x} {:016x}", self.program, crc(text.as_bytes()))
    }

    /// Writes a file beside its place, and moves it there.
    fn replace(&self, path: &Path, text: &str) -> Result<(), RunError> {
        let temporary = self.temporary("written");
        let written = File::create(&temporary)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, path));
        written.map_err(|error| at(path, error))
    }
}

/// Returns the file with the recorded output of a run.
fn results_of(folder: &Path, experiment: &str, run: &Run) -> PathBuf {
    let name = format!("{}.json", file_name(&run.name));
    folder.join("results").join(run.shared.unwrap_or(experiment)).join(name)
}

/// Returns the recorded outputs of an experiment's runs, whatever program wrote them. An output of another command
/// counts as none.
///
/// # Errors
///
/// If a file cannot be read.
pub fn recorded(
    folder: &Path,
    experiment: &Experiment,
    setting: &Setting,
) -> Result<Results, RunError> {
    let mut results = Results::default();
    for run in experiment.runs(setting) {
        let kept = Kept::read(&results_of(folder, experiment.id, &run))?;
        if let Some(kept) = kept.filter(|it| it.record.command == run.shell()) {
            results.insert(run.name, kept.record);
        }
    }
    Ok(results)
}

/// Adds the names, sizes and times of the files at a path, in the order of their names.
fn list(path: &Path, files: &mut String) -> Result<(), RunError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(at(path, error)),
    };
    if !metadata.is_dir() {
        let written = metadata.modified().ok();
        let written = written.and_then(|it| it.duration_since(UNIX_EPOCH).ok());
        *files += &format!("{} {} {written:?}\n", path.display(), metadata.len());
        return Ok(());
    }
    let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut paths: Vec<PathBuf> =
        entries.map_err(|error| at(path, error))?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().try_for_each(|path| list(path, files))
}

/// Converts the outcome of removing a file or folder, which may have been missing.
fn removed(path: &Path, outcome: io::Result<()>) -> Result<(), RunError> {
    match outcome {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(at(path, error)),
        _ => Ok(()),
    }
}

/// Reads a text file.
pub(super) fn read(path: &Path) -> Result<String, RunError> {
    fs::read_to_string(path).map_err(|error| at(path, error))
}

pub(super) fn at(place: &Path, error: io::Error) -> RunError {
    RunError::Io { place: place.display().to_string(), error }
}

/// Returns a name with only letters, digits, points, dashes, `=` and `_`, different for different names.
fn file_name(name: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '=' | '_');
    let kept: String = name.chars().map(|c| if is_kept(c) { c } else { '+' }).take(80).collect();
    if kept == name { kept } else { format!("{kept}+{:08x}", crc(name.as_bytes()) >> 32) }
}

const CRC: crc_fast::CrcAlgorithm = crc_fast::CrcAlgorithm::Crc64Nvme;

fn crc(bytes: &[u8]) -> u64 {
    crc_fast::checksum(CRC, bytes)
}

/// Returns the checksum of a file.
fn checksum(path: &Path) -> io::Result<u64> {
    let (mut file, mut digest) = (File::open(path)?, crc_fast::Digest::new(CRC));
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(digest.finalize()),
            read => digest.update(&block[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_valid_for_its_program_and_run() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "1").unwrap();
        let place = folder.path().join("evaluation");
        let run = Run::command("a/b c", &["switch", "theory"]);
        let record = Record { command: run.shell(), seconds: 0.1, ..Record::default() };
        let data = Data::new("tpch", &["tpch"]);
        {
            let opened = Folder::open(&place, &program).unwrap();
            assert!(matches!(Folder::open(&place, &program), Err(RunError::Busy(_))));
            assert_eq!(opened.record("x/y", &run).unwrap(), None);
            opened.keep("x/y", &run, &record).unwrap();
            assert_eq!(opened.record("x/y", &run).unwrap().as_ref(), Some(&record));
            let other = Run { arguments: vec!["b".to_owned()], ..run.clone() };
            assert_eq!(opened.record("x/y", &other).unwrap(), None);
            assert_eq!(opened.record("x/z", &run).unwrap(), None);
            let shared = run.clone().shared("x");
            opened.keep("x/y", &shared, &record).unwrap();
            assert_eq!(opened.record("x/z", &shared).unwrap().as_ref(), Some(&record));
            assert!(!opened.has(&data).unwrap());
            opened.has_made(&data).unwrap();
            // The files are as they were then: none.
            assert!(opened.has(&data).unwrap());
            fs::create_dir_all(place.join("data/tpch")).unwrap();
            fs::write(place.join("tpch.sql"), "").unwrap();
            assert!(!opened.has(&data).unwrap());
            fs::write(place.join("data/tpch/a.csv"), "1").unwrap();
            opened.has_made(&data).unwrap();
            assert!(opened.has(&data).unwrap());
            fs::write(place.join("data/tpch/a.csv"), "12").unwrap();
            assert!(!opened.has(&data).unwrap());
            fs::remove_file(place.join("data/tpch/a.csv")).unwrap();
            assert!(!opened.has(&data).unwrap());
            fs::write(place.join("data/tpch/b.csv"), "1").unwrap();
            opened.has_made(&data).unwrap();
            opened.distrust(&data).unwrap();
            assert!(!opened.has(&data).unwrap());
            opened.has_made(&data).unwrap();
            // A file that was cut or changed counts as none, and so does one that is no file.
            let file = opened.results_of("x/y", &run);
            let text = fs::read_to_string(&file).unwrap();
            let changed = text.replace("\"seconds\": 0.1", "\"seconds\": 0.2");
            assert_ne!(changed, text);
            for text in ["{\"key", &changed] {
                fs::write(&file, text).unwrap();
                assert_eq!(opened.record("x/y", &run).unwrap(), None);
            }
            fs::remove_file(&file).unwrap();
            fs::create_dir(&file).unwrap();
            assert_eq!(opened.record("x/y", &run).unwrap(), None);
            fs::remove_dir(&file).unwrap();
            opened.keep("x/y", &run, &record).unwrap();
        }
        fs::write(&program, "2").unwrap();
        let opened = Folder::open(&place, &program).unwrap();
        assert_eq!(opened.record("x/y", &run).unwrap(), None);
        assert!(!opened.has(&data).unwrap());
    }

    #[test]
    fn a_folder_with_other_files_is_refused_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("report.html"), "mine").unwrap();
        let program = folder.path().join("report.html");
        let refused = Folder::open(folder.path(), &program).unwrap_err();
        assert!(matches!(refused, RunError::Foreign(_)), "{refused}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn names_of_files_differ_as_the_names_of_runs_do() {
        assert_eq!(file_name("theta=1.3"), "theta=1.3");
        assert_ne!(file_name("a/b"), file_name("a b"));
        assert!(file_name("../x").starts_with("..+x+"));
    }
}
