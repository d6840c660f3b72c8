//! Hints for commands of other shells.

use super::NAMES;

/// Commands of psql, SQLite's shell and DuckDB's shell, with the hint that names the equivalent here.
const OTHERS: [(&[&str], &str); 14] = [
    (
        &["\\c", "\\connect", "\\conninfo", ".open", ".connect", ".databases", "\\use"],
        "A store is chosen when sluice starts: --endpoint URL, or a connection: -C NAME; \\ls lists its buckets.",
    ),
    (
        &["\\o", "\\out", ".output", ".once", ".export", ".save", "\\w"],
        "COPY (SELECT …) TO 'file.csv' writes an answer, sluice sql -o file.csv \"SELECT …\" too.",
    ),
    (
        &["\\copy", ".import", "\\load", ".load"],
        "A file is read by its name: FROM 'file.csv'; COPY (SELECT …) TO 'file.csv' writes one.",
    ),
    (&["\\df", "\\df+", ".functions"], "SHOW FUNCTIONS lists the functions."),
    (
        &["\\dn", "\\dn+", "\\ds", "\\dm", "\\dT", "\\dx", "\\du", "\\dg", "\\dp", "\\z", "\\dd"],
        "There are tables, views, files and buckets only: \\d lists tables and views, \\ls the buckets.",
    ),
    (&["\\di", "\\di+", ".indexes", ".indices"], "sluice index list shows the indexes of a table."),
    (
        &["\\set", "\\unset", "\\pset", "\\prompt", ".parameter", ".param"],
        "SET changes a setting, SHOW ALL lists them; \\format, \\rows and \\x change how answers are shown.",
    ),
    (
        &[
            "\\a",
            "\\t",
            "\\H",
            "\\C",
            "\\f",
            ".headers",
            ".header",
            ".separator",
            ".width",
            ".nullvalue",
            ".columns",
        ],
        "\\format NAME changes how answers are written: table, csv, tsv, json, ndjson.",
    ),
    (
        &["\\g", "\\gx", "\\gset", "\\p", "\\r", "\\watch", "\\go", "\\G"],
        "A ; at its end runs a statement; \\x on shows a line for each column.",
    ),
    (
        &["\\e", "\\edit", "\\ef", "\\ev", ".edit"],
        "Write the statements to a file, and run it: \\i FILE.",
    ),
    (&["\\s", ".history"], "The key ↑ brings what was typed before."),
    (
        &["\\!", ".shell", ".system", "\\cd", ".cd", ".cwd"],
        "Commands of the system are run outside of the prompt; \\ls ./ lists the files here.",
    ),
    (&["\\echo", "\\qecho", "\\warn", ".print", ".echo"], "SELECT 'text' prints a text."),
    (&["\\ir", "\\include", "\\source", "\\."], "\\i FILE runs the statements of a file."),
];

/// Returns the hint for a command that does not exist here.
pub(super) fn hint(name: &str) -> String {
    let known = OTHERS.iter().find(|(names, _)| names.contains(&name));
    if let Some((_, hint)) = known {
        return (*hint).to_owned();
    }
    format!(
        "There are {}, and statements of SQL; \\? or .help says what they do.",
        NAMES.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::meta::Meta;

    #[test]
    fn what_is_there_instead_is_named() {
        for (name, part) in [
            ("\\c", "--endpoint URL"),
            ("\\df", "SHOW FUNCTIONS"),
            (".output", "COPY (SELECT"),
            ("\\pset", "SHOW ALL"),
            ("\\y", "There are \\d, "),
        ] {
            assert!(hint(name).contains(part), "{name}");
        }
        // Commands that exist need no hint.
        for name in OTHERS.iter().flat_map(|(names, _)| *names) {
            assert!(Meta::parse(name).is_err(), "{name}");
        }
    }
}
