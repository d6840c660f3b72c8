//! Reads event logs of Apache Spark (`spark.eventLog.enabled`), versions 3 and 4.
//!
//! A log is a file or a folder of rolled files, uncompressed or compressed with one of Spark's codecs (zstd, lz4,
//! snappy, lzf). Spark writes it while it runs, so its end may be missing. The measurements of a stage are derived as
//! follows:
//!
//! * The wall time spans from the launch of its first task to its completion, which Spark's pages call its duration.
//!   If a stage ran again because its output was lost, the time between the attempts does not count.
//! * The thread time is the run time of its tasks (`Executor Run Time`), which includes waiting for storage. Failed
//!   and speculative tasks count, and so do all attempts of a stage.
//! * The scan time is the SQL metric `scan time` of its tasks, which only columnar scans have (Parquet, ORC).
//! * Filters and projections have no time of their own. Generated code that only scans, filters and projects, and
//!   whose rows go to a broadcast or to the answer, has a `duration`. The duration less the scan time counts for
//!   filters and projections, or for the scans if these have no time. Otherwise that time counts as the rest: the
//!   clock of generated code also runs while other operators process its rows, such as joins, or the writing of a
//!   shuffle or a file.
//! * Bytes from Spark's own cache do not count as read from storage.
//! * A stage waits for its parents, and for the broadcasts and subqueries that its plan reads. A parent that was
//!   skipped because its output existed is replaced by the stage that wrote that output.

mod compression;
mod events;
mod files;
mod plan;
mod query;
mod stage_runs;

use std::io::BufRead;
use std::path::Path;

use self::events::Event;
use self::files::LogFile;
use self::query::Log;
use crate::{Error, Import};

/// The longest line: an event with the plan of a very large query.
const MOST_LINE_BYTES: u64 = 64 << 20;

/// Reads a log: a file or a folder of rolled ones.
///
/// # Errors
///
/// If it cannot be read, is no event log, is of another version, or has no query that ran to its end.
pub fn read(path: &Path) -> Result<Import, Error> {
    let mut log = Log::default();
    let mut notes = Vec::new();
    for part in files::parts(path)? {
        read_part(&part, &mut log, &mut notes)?;
    }
    let queries = log.queries(path, &mut notes)?;
    if queries.is_empty() {
        let mut message =
            "has no SQL query that ran to its end; the event log must be that of a Spark SQL \
                           application"
                .to_owned();
        if let Some(note) = notes.first() {
            message.push_str(&format!(" ({note})"));
        }
        return Err(Error::file(path, message));
    }
    Ok(Import { queries, notes })
}

fn read_part(part: &LogFile, log: &mut Log, notes: &mut Vec<String>) -> Result<(), Error> {
    let path = &part.path;
    let mut reader = part.open()?;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read =
            std::io::Read::take(&mut reader, MOST_LINE_BYTES + 1).read_until(b'\n', &mut line);
        match read {
            Ok(0) => break,
            Ok(bytes) if bytes as u64 > MOST_LINE_BYTES => {
                let message = format!("is longer than {} MiB", MOST_LINE_BYTES >> 20);
                return Err(Error::line(path, number, message));
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                if number == 1 {
                    return Err(Error::line(path, number, "the file ends before this line does"));
                }
                notes.push(cut_short(path, number));
                break;
            }
            Err(error) => return Err(Error::line(path, number, error)),
        }
        let is_whole = line.last() == Some(&b'\n');
        match Event::parse(&line) {
            Ok(event) => {
                log.add(event).map_err(|message| Error::line(path, number, message))?;
            }
            Err(_) if !is_whole && number > 1 => {
                notes.push(cut_short(path, number));
                break;
            }
            Err(message) => return Err(Error::line(path, number, message)),
        }
    }
    Ok(())
}

fn cut_short(path: &Path, line: u64) -> String {
    format!("`{}` ends in the middle of line {line}; what is before it is read", path.display())
}

#[cfg(test)]
mod tests;
