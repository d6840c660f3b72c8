//! `sluice sql`

use std::io::{self, IsTerminal, Read};
use std::path::Path;

use sluicegate_engine::{Engine, StoreCapabilities};

use crate::args::{SqlArgs, StatementArgs};
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::output::html::Page;
use crate::output::stats;
use crate::output::stats_json::StatementLog;
use crate::runtime::compute::Compute;
use crate::runtime::input::text_of;
use crate::runtime::interrupt::{LastResort, interruptible, interruptible_writes, watch};
use crate::session::Session;
use crate::session::prompt;
use crate::session::script::Script;
use crate::suggestions::is_cut;

pub(crate) async fn run(args: SqlArgs, compute: &mut Compute) -> Result<()> {
    // A terminal shows about 40 rows at once.
    let most = if io::stdout().is_terminal() { 40 } else { 1000 };
    let output = Output::new(args.format, args.output, args.max_rows.unwrap_or(most))?;
    let script = script(&args.statements)?;
    if script.as_ref().is_some_and(|it| it.is_typed() && it.steps().is_empty()) {
        return Err(Failure::Usage("there is nothing to run: the statement is empty".to_owned()));
    }
    if args.interactive && !io::stdin().is_terminal() {
        return Err(Failure::Usage("--interactive needs a terminal on stdin".to_owned()));
    }
    if args.profile_html.is_some() && script.is_none() {
        return Err(Failure::Usage(
            "--profile-html needs statements; give them with -c, -f or on stdin".to_owned(),
        ));
    }
    let page =
        args.profile_html.as_deref().map(|path| Page::begin(path, "What the statements did"));
    let page = page.transpose()?;
    let log = args.stats_json.as_deref().map(StatementLog::begin).transpose()?;
    let opens = script.is_none() || args.interactive;
    let editor = opens.then(prompt::editor).transpose()?;
    let engine = interruptible(Box::pin(args.connect.connect_with(&args.workers))).await?;
    let is_unknown = engine.endpoint().profile().name == StoreCapabilities::unknown().name;
    let silent = match is_unknown && args.workers.workers.is_empty() {
        true => interruptible(Box::pin(args.connect.is_unreachable())).await?,
        false => false,
    };
    let reads = output.is_for_reading();
    let max_cost = args.max_cost.map(|price| price.0);
    let mut session = Session {
        engine: engine.clone(),
        compute,
        output,
        stats: args.stats,
        timing: reads && io::stdout().is_terminal(),
        max_cost,
        page,
        log,
        fetch_shown: false,
        progress: !args.no_progress,
        including: 0,
        silent: silent.then(|| args.connect.clone()),
    };
    if let Some(script) = script {
        let _watch = watch(LastResort::Soon);
        let ran = interruptible_writes(&engine, Box::pin(session.run_all(&script))).await;
        let goes_on = args.interactive && matches!(ran, Ok(true));
        let mut ran = ran.map(drop);
        if !goes_on && let Some(log) = session.log.take() {
            // As with a page, the error of the statement is the one to report.
            ran = ran.and(log.finish());
        }
        let shown = match session.page.take() {
            // If the user stopped the statements, no page is written.
            Some(page) if !matches!(ran, Err(Failure::Stopped(_))) => {
                // If the page cannot be written, too, the error of the statement is the one to report.
                ran.and(page.finish(&about(&engine)))
            }
            _ => ran,
        };
        shown?;
        if !goes_on {
            return Ok(());
        }
    }
    // The prompt handles Ctrl-C itself: it stops a query and not the session.
    session.fetch_shown = true;
    session.output.at_prompt = true;
    let ran = match editor {
        Some(editor) => Box::pin(prompt::run(&mut session, editor, !args.no_init)).await,
        None => Ok(()),
    };
    ran.and(session.log.take().map_or(Ok(()), StatementLog::finish))
}

/// Returns the note of a page on the source of its numbers.
fn about(engine: &Engine) -> String {
    let endpoint = engine.endpoint();
    format!(
        "Requests, bytes and rows are counted, times are measured. What was predicted is modelled, for \
         the hardware {} and the prices {}.",
        endpoint.hardware.introduction(),
        stats::book(&endpoint.prices)
    )
}

/// Returns the statements of the arguments, or those on stdin; `None` if stdin is a terminal, so that the user types
/// them at the prompt.
pub(crate) fn script(args: &StatementArgs) -> Result<Option<Script>> {
    // Checked first, because the words of a cut statement may be names of files.
    let words: Vec<&String> = args.command.iter().chain(&args.statements).collect();
    if args.command.len() < 2 && is_cut(&words) {
        let first = words.first().map_or("", |word| word.as_str());
        return Err(Failure::Usage(format!(
            "the shell has cut the statement into {} words. Quote the whole statement: sluice sql \"{} …\"",
            words.len(),
            first.to_ascii_uppercase()
        )));
    }
    let mut script = Script::default();
    for path in &args.file {
        read(path, &mut script)?;
    }
    if let Some(file) = args.statements.iter().find(|it| is_file(it)) {
        let lower = file.to_ascii_lowercase();
        let is_data = file.contains("://")
            || [".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".gz", ".zst"]
                .iter()
                .any(|end| lower.ends_with(end));
        return Err(Failure::Usage(match is_data {
            false => format!("`{file}` is a file: run it with -f {file}"),
            true => format!("`{file}` is no statement: to read it, sluice sql \"FROM '{file}'\""),
        }));
    }
    if let Some(file) = args.statements.iter().find(|it| is_name_of_sql(it)) {
        return Err(Failure::Usage(format!(
            "there is no file `{file}`; one that is there is run with -f {file}"
        )));
    }
    for statement in args.command.iter().chain(&args.statements) {
        script.push(None, statement);
    }
    if words.is_empty() && args.file.is_empty() {
        if io::stdin().is_terminal() {
            return Ok(None);
        }
        read(Path::new("-"), &mut script)?;
    }
    Ok(Some(script))
}

/// Returns true if an argument without an option is a file or the URL of an object, not a statement.
fn is_file(text: &str) -> bool {
    let is_url = text.starts_with("s3://") && !text.contains(char::is_whitespace);
    is_url || Path::new(text).is_file()
}

/// Returns true if an argument without an option looks like the name of a `.sql` file and cannot be a statement.
fn is_name_of_sql(text: &str) -> bool {
    let end = Path::new(text).extension().is_some_and(|end| end.eq_ignore_ascii_case("sql"));
    end && !text.contains([' ', '\n', '\t', ';', '\'', '"', '('])
}

/// Appends the text of a file, or of stdin, to a script.
fn read(path: &Path, script: &mut Script) -> Result<()> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| Failure::from(error).at("stdin"))?;
        // Some editors put a byte order mark before the text.
        script.push(Some("stdin".to_owned()), text.strip_prefix('\u{feff}').unwrap_or(&text));
        return Ok(());
    }
    script.push(Some(path.display().to_string()), &text_of(path)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn commands_follow_files_and_do_not_run_into_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.sql");
        fs::write(&file, "\u{feff}a -- no end").unwrap();
        let args = StatementArgs {
            command: vec!["b".into(), "c;".into()],
            file: vec![file.clone()],
            statements: vec!["d".into()],
        };
        let joined = script(&args).unwrap().unwrap();
        assert_eq!(joined.statements(), ["a -- no end", "b", "c", "d"]);
        let args = StatementArgs {
            statements: vec![file.to_str().unwrap().to_owned()],
            ..StatementArgs::default()
        };
        let Err(Failure::Usage(message)) = script(&args) else { panic!("it ran") };
        assert!(message.contains("run it with -f"), "{message}");
        let args = StatementArgs {
            statements: vec!["s3://b/t.csv".to_owned()],
            ..StatementArgs::default()
        };
        let Err(Failure::Usage(message)) = script(&args) else { panic!("it ran") };
        assert!(message.contains("FROM 's3://b/t.csv'"), "{message}");
        let args =
            StatementArgs { statements: vec!["nope.sql".to_owned()], ..StatementArgs::default() };
        let Err(Failure::Usage(message)) = script(&args) else { panic!("it ran") };
        assert!(message.contains("no file `nope.sql`"), "{message}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let args = StatementArgs { file: vec!["no/such.sql".into()], ..StatementArgs::default() };
        let Err(Failure::Failed { message, .. }) = script(&args) else { panic!("no error") };
        assert!(message.starts_with("`no/such.sql`: "), "{message}");
    }
}
