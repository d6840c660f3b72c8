//! Hints for commands and options that do not exist here, such as those of other programs.

use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use sluicegate_engine::internals::are_similar;

use crate::args::Args;

/// First words of SQL statements.
const STATEMENTS: [&str; 16] = [
    "alter",
    "analyze",
    "copy",
    "create",
    "describe",
    "drop",
    "explain",
    "from",
    "insert",
    "select",
    "set",
    "show",
    "summarize",
    "table",
    "values",
    "with",
];

/// Commands of other programs, and the hint that names the equivalent here.
const COMMANDS: [(&[&str], &str); 7] = [
    (
        &["ls", "list", "dir"],
        "`sluice sql '\\ls s3://bucket/'` lists what is in a bucket, `sluice sql '\\ls'` the buckets.",
    ),
    (
        &["cat", "head"],
        "`sluice sql \"FROM 's3://bucket/file.csv' LIMIT 10\"` shows the rows of an object.",
    ),
    (
        &["cp", "copy", "mv", "get", "put", "convert", "export"],
        "`sluice sql \"COPY (FROM 's3://bucket/in.csv') TO 's3://bucket/out.parquet'\"` writes what a query answers.",
    ),
    (
        &["query", "run", "shell", "repl", "exec", "execute"],
        "`sluice sql` opens a prompt; `sluice sql \"SELECT …\"` runs a statement, `sluice sql -f FILE` a file.",
    ),
    (&["server", "start", "up"], "`sluice serve --dir FOLDER` serves a folder as a store."),
    (&["tables", "schema"], "`sluice sql '\\d'` lists tables, and `\\d NAME` the columns of one."),
    (
        &["config", "configure", "login"],
        "`sluice connect add NAME --endpoint URL` remembers how to reach a store.",
    ),
];

/// Subcommands that other programs have for connections and `connect` does not.
const CONNECTIONS: [&str; 7] = ["rm", "remove", "delete", "del", "drop", "edit", "rename"];

/// Subcommands of other programs, the groups in which they are recognized, and their name here.
const BELOW: [(&[&str], &[&str], &str); 4] = [
    (&["ls", "all", "get"], &["connect", "index", "statistics"], "list"),
    (&["new", "create", "set", "make"], &["connect"], "add"),
    (&["new", "add", "make", "build"], &["index"], "create"),
    (&["rm", "remove", "delete", "del", "clear"], &["index", "statistics"], "drop"),
];

/// Returns the command or option to type instead of one that does not exist; `None` if there is no suggestion.
pub(crate) fn hint(error: &clap::Error) -> Option<String> {
    if error.kind() == ErrorKind::UnknownArgument {
        let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else {
            return None;
        };
        let name = typed.split('=').next().unwrap_or_default();
        let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
        let group = group_of(&usage);
        if group.is_none() && ["-c", "--command", "-f", "--file"].contains(&name) {
            return Some(format!("Statements are run by `sluice sql`: sluice sql {name} …"));
        }
        if group == Some("explain") && name == "--stats" {
            return Some(
                "Nothing runs, so nothing is counted: EXPLAIN ANALYZE, or `sluice sql --stats`, runs the query and counts."
                    .to_owned(),
            );
        }
        let known = OPTIONS.iter().find(|(names, _)| names.contains(&name));
        return known.map(|(_, hint)| (*hint).to_owned());
    }
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    suggestion(typed, &usage)
}

/// Returns the command that a usage line is about; `None` for the usage of the whole program.
fn group_of(usage: &str) -> Option<&str> {
    let group = usage.split_whitespace().skip_while(|word| *word != "Usage:").nth(2);
    group.filter(|group| group.starts_with(|c: char| c.is_alphabetic()))
}

fn suggestion(typed: &str, usage: &str) -> Option<String> {
    let word = typed.to_ascii_lowercase();
    if let Some(group) = group_of(usage) {
        if group == "connect" && CONNECTIONS.contains(&word.as_str()) {
            return Some(
                "A connection is a section of sluice/config.toml in your configuration folder \
                 (XDG_CONFIG_HOME, else ~/.config): change or delete it there."
                    .to_owned(),
            );
        }
        let known = BELOW
            .iter()
            .find(|(names, groups, _)| names.contains(&word.as_str()) && groups.contains(&group));
        return known.map(|(_, _, meant)| format!("Here it is `sluice {group} {meant}`."));
    }
    let first = word.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let known = COMMANDS.iter().find(|(names, _)| names.contains(&word.as_str()));
    if let Some((_, hint)) = known {
        return Some((*hint).to_owned());
    }
    if STATEMENTS.contains(&first) {
        return Some(format!(
            "A statement is one argument of `sluice sql`: sluice sql \"{} …\"",
            first.to_ascii_uppercase()
        ));
    }
    let commands = Args::command();
    let mut commands = commands.get_subcommands().map(clap::Command::get_name);
    if let Some(command) = commands.find(|command| are_similar(command, &word)) {
        return Some(format!("Did you mean `sluice {command}`?"));
    }
    let is_named = typed.contains("://") || Path::new(typed).is_file();
    is_named.then(|| format!("To read it: sluice sql \"FROM '{typed}'\""))
}

/// Puts a space before an argument that begins with an SQL comment, `-- name`, which clap would take for an option.
pub(crate) fn with_space_before_comment(argument: OsString) -> OsString {
    let is_comment = argument.to_str().is_some_and(|text| {
        text.strip_prefix("--").is_some_and(|rest| rest.starts_with(char::is_whitespace))
            || text.starts_with("--") && text.contains('\n')
    });
    if !is_comment {
        return argument;
    }
    let mut spaced = OsString::from(" ");
    spaced.push(argument);
    spaced
}

/// Returns true if an argument is a location, or the name of a bucket, whose bucket part contains a user, a password
/// or a port.
pub(crate) fn has_password(arguments: &[OsString]) -> bool {
    let mut names_bucket = false;
    arguments.iter().skip(1).any(|argument| {
        let Some(text) = argument.to_str() else { return false };
        let (option, value) = match text.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, value),
            _ => ("", text),
        };
        let is_bucket = option == "--bucket" || std::mem::take(&mut names_bucket);
        names_bucket = text == "--bucket";
        let rest = match value.strip_prefix("s3://") {
            Some(rest) => rest,
            None if is_bucket => value,
            None => return false,
        };
        let is_location = is_bucket || !value.contains(char::is_whitespace);
        is_location && rest.split('/').next().is_some_and(|host| host.contains(['@', ':']))
    })
}

/// Options of other programs, and the hint that names the equivalent here.
const OPTIONS: [(&[&str], &str); 9] = [
    (&["--csv", "-csv"], "--format csv writes answers as CSV."),
    (&["--json", "-json"], "--format json writes answers as JSON, ndjson one object per line."),
    (&["--tsv", "-t", "-A"], "--format tsv writes answers with tabs."),
    (
        &["--query", "-q", "-e", "--execute", "--sql"],
        "Give the statement with -c, or without an option: sluice sql \"SELECT …\".",
    ),
    (&["--no-sign-request", "--no-sign"], "--anonymous sends requests that are not signed."),
    (
        &["--no-header", "--no-headers", "--noheader", "--header", "-header"],
        "CSV of an answer has a header; COPY (SELECT …) TO 'x.csv' (HEADER false) writes none.",
    ),
    (
        &["-d", "--database", "--db", "--host", "-h"],
        "A store is --endpoint URL, or a connection: -C NAME.",
    ),
    (&["--endpoint-url", "--url"], "The store's URL is --endpoint URL."),
    (&["--quiet", "--silent"], "--no-progress shows no progress; notes are on stderr."),
];

/// Returns true if the words are a statement that was not quoted, so that the shell split it: `select 1`, or `select
/// * from t` with file names in place of the star.
pub(crate) fn is_cut(words: &[impl AsRef<str>]) -> bool {
    let [first, _, ..] = words else { return false };
    STATEMENTS.contains(&first.as_ref().to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_named() {
        for (typed, usage, part) in [
            ("ls", "Usage: sluice [OPTIONS] <COMMAND>", "\\ls s3://bucket/"),
            ("select 1", "Usage: sluice [OPTIONS] <COMMAND>", "sluice sql \"SELECT …\""),
            ("FROM", "Usage: sluice [OPTIONS] <COMMAND>", "sluice sql \"FROM …\""),
            ("s3://b/a.csv", "Usage: sluice [OPTIONS] <COMMAND>", "FROM 's3://b/a.csv'"),
            ("rm", "Usage: sluice connect [OPTIONS] <COMMAND>", "sluice/config.toml"),
        ] {
            let hint = suggestion(typed, usage).unwrap();
            assert!(hint.contains(part), "{typed}: {hint}");
        }
        assert_eq!(suggestion("frobnicate", "Usage: sluice [OPTIONS] <COMMAND>"), None);
        let below = |typed: &str, group: &str| {
            suggestion(typed, &format!("Usage: sluice {group} [OPTIONS] <COMMAND>"))
        };
        assert_eq!(below("ls", "connect").as_deref(), Some("Here it is `sluice connect list`."));
        assert_eq!(below("rm", "index").as_deref(), Some("Here it is `sluice index drop`."));
        assert_eq!(below("select 1", "generate"), None);
        assert_eq!(group_of("Usage: sluice explain [OPTIONS] [SQL]..."), Some("explain"));
        assert_eq!(group_of("Usage: sluice [OPTIONS] <COMMAND>"), None);
    }

    #[test]
    fn passwords_are_noticed_before_they_are_repeated() {
        let check = |typed: &[&str], expected: bool| {
            let typed: Vec<OsString> = ["sluice"].iter().chain(typed).map(Into::into).collect();
            assert_eq!(has_password(&typed), expected, "{typed:?}");
        };
        check(&["index", "create", "s3://u:p@b/t/"], true);
        check(&["generate", "tpch", "--to=s3://u:p@b/t"], true);
        check(&["calibrate", "--bucket", "u:p@b"], true);
        check(&["calibrate", "--bucket=u:p@b"], true);
        check(&["calibrate", "--bucket", "b", "--endpoint", "http://u:p@h"], false);
        check(&["statistics", "show", "s3://b/a@b:c.csv"], false);
        check(&["sql", "s3://u:p@b/ is no statement"], false);
    }

    #[test]
    fn a_comment_is_no_option() {
        for (typed, expected) in [
            ("-- c\nselect 1", " -- c\nselect 1"),
            ("--c\nselect 1", " --c\nselect 1"),
            ("--stats", "--stats"),
            ("--", "--"),
            ("select 1", "select 1"),
        ] {
            assert_eq!(with_space_before_comment(typed.into()), expected, "{typed:?}");
        }
    }

    #[test]
    fn a_statement_that_a_shell_cut_is_one_of_several_words() {
        assert!(is_cut(&["select", "1"]) && is_cut(&["FROM", "t"]));
        assert!(
            !is_cut(&["select 1"]) && !is_cut(&["select 1", "select 2"]) && !is_cut(&["select"])
        );
    }
}
