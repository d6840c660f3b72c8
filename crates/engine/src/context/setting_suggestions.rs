//! Hints for unknown settings.

use datafusion::common::config::{ConfigOptions, ExtensionOptions};

use crate::context::config::SluiceOptions;
use crate::context::error::are_similar;

/// Names of settings in other systems, and their equivalents here.
const SYNONYMS: [(&[&str], &str, &str); 5] = [
    (
        &["threads", "num_threads", "max_threads", "worker_threads", "parallelism"],
        "datafusion.execution.target_partitions",
        " The argument --threads sets it, too.",
    ),
    (
        &["memory_limit", "max_memory", "max_memory_usage"],
        "datafusion.runtime.memory_limit",
        " The argument --memory-limit sets it, too.",
    ),
    (&["timezone", "time_zone", "session_timezone"], "datafusion.execution.time_zone", ""),
    (&["temp_directory", "tmpdir"], "datafusion.runtime.temp_directory", ""),
    (&["strategy", "pushdown"], "sluice.scan", " The argument --scan sets it, too."),
];

/// Returns a hint for an unknown setting in SHOW, SET or RESET.
pub(crate) fn hint(name: &str, verb: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit('.').next().unwrap_or_default();
    if let Some((_, meant, more)) = SYNONYMS.iter().find(|(names, ..)| names.contains(&last)) {
        let value = if verb == "SET" { " = …" } else { "" };
        return format!("Write {verb} {meant}{value}.{more}");
    }
    match nearest(&lower, last) {
        Some(meant) => format!("Did you mean {meant}?"),
        None => "SHOW ALL lists the settings.".to_owned(),
    }
}

/// Returns the setting that is similar to a name, or ends with it.
fn nearest(name: &str, last: &str) -> Option<String> {
    let ours = SluiceOptions::default().entries();
    let theirs = ConfigOptions::new().entries();
    let names: Vec<String> = ours.into_iter().chain(theirs).map(|entry| entry.key).collect();
    let end = |known: &str| known.rsplit('.').next().unwrap_or_default().to_owned();
    let is_whole = |known: &&String| are_similar(known, name);
    let is_end = |known: &&String| end(known) == last;
    // This also matches `batchsize`, without its underscore.
    let is_near = |known: &&String| last.len() > 3 && are_similar(&end(known), last);
    let found = names.iter().find(is_whole).or_else(|| names.iter().find(is_end));
    found.or_else(|| names.iter().find(is_near)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_named_that_is_meant() {
        for (name, part) in [
            ("threads", "SHOW datafusion.execution.target_partitions"),
            ("memory_limit", "datafusion.runtime.memory_limit"),
            ("scan", "Did you mean sluice.scan?"),
            ("sluice.sacn", "Did you mean sluice.scan?"),
            ("datafusion.execution.batchsize", "Did you mean datafusion.execution.batch_size?"),
            ("batch_size", "Did you mean datafusion.execution.batch_size?"),
            ("no.such", "SHOW ALL"),
        ] {
            let said = hint(name, "SHOW");
            assert!(said.contains(part), "{name}: {said}");
        }
    }
}
