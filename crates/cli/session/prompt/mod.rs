//! The prompt: multi-line statements, history, and commands that start with a backslash.
//!
//! `greeting` checks the store when the prompt opens. `edit` highlights lines, and `complete` and `local_files`
//! complete words.

mod complete;
mod edit;
mod greeting;
mod local_files;

use std::fs;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{ColorMode, CompletionType, Config, Editor};

use self::edit::Editing;
use crate::failure::{Failure, Result};
use crate::runtime::folders::{config_folder, data_folder};
use crate::runtime::interrupt::{abort_writes, control_c, watch_prompt};
use crate::runtime::terminal;
use crate::session::Session;
use crate::session::statements::{
    Step, command_line, is_plain_command, open_at_end, split_from, steps,
};

/// The line editor with completion and history.
pub(crate) type Lines = Editor<Editing, DefaultHistory>;

/// Reads and runs statements until the user quits. `init` runs the user's `init.sql` first.
pub(crate) async fn run(session: &mut Session<'_>, mut editor: Lines, init: bool) -> Result<()> {
    editor.set_helper(Some(Editing::new(session.engine.clone())));
    let history = data_folder().map(|folder| folder.join("history"));
    if let Some(history) = &history {
        // At the first start there is no history.
        drop(editor.load_history(history));
    }
    greeting::greet(session).await?;
    let _watch = watch_prompt(session.engine.clone());
    if init {
        run_init(session).await?;
    }
    // The incomplete statement, and all lines since the last complete one.
    let (mut pending, mut entered) = (PendingInput::default(), String::new());
    loop {
        if let Some(editing) = editor.helper_mut() {
            editing.go_on(&pending.text, pending.known);
        }
        let prompt = continuation(&pending);
        let line = match tokio::task::block_in_place(|| editor.readline(&prompt)) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                pending = PendingInput::default();
                entered.clear();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
                // The line cannot be recovered.
                let _ = Failure::new("what was typed is not UTF-8, and is left out").report();
                continue;
            }
            Err(error) => return Err(Failure::new(error.to_string())),
        };
        entered += &line;
        match run_typed(session, &pending, &line).await? {
            Some(rest) => pending = rest,
            None => break,
        }
        match pending.text.is_empty() {
            // The statement becomes one entry, so that it can be edited as a whole.
            true => {
                if !entered.trim().is_empty() {
                    drop(editor.add_history_entry(entered.trim()));
                }
                entered.clear();
            }
            false => entered.push('\n'),
        }
    }
    if let Some(history) = &history {
        save(&mut editor, history);
    }
    Ok(())
}

/// An incomplete statement.
#[derive(Debug, Default)]
struct PendingInput {
    /// The lines so far.
    text: String,
    /// Number of their bytes that need no second scan, so that long statements do not take quadratic time.
    known: usize,
}

/// Returns the prompt of a line. In a statement that continues, it shows the open quote or comment.
fn continuation(pending: &PendingInput) -> String {
    match (pending.text.is_empty(), open_at_end(&pending.text[pending.known..])) {
        (true, _) => "sluice> ".to_owned(),
        (false, open) => format!("{:>4}...> ", open.unwrap_or_default()),
    }
}

/// Prepares the terminal. rustyline installs a handler of SIGINT, so ours must be installed later: an earlier one
/// would no longer receive Ctrl-C.
pub(crate) fn editor() -> Result<Lines> {
    let failed = |error: ReadlineError| Failure::new(error.to_string());
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .completion_show_all_if_ambiguous(true)
        .build();
    let mut editor = Lines::with_config(config).map_err(failed)?;
    if !(terminal::wants_colour() && io::stdout().is_terminal()) {
        editor.set_color_mode(ColorMode::Disabled);
    }
    Ok(editor)
}

/// Runs the statements in a line and the pending lines before it. Returns the incomplete rest; `None` to quit.
async fn run_typed(
    session: &mut Session<'_>,
    pending: &PendingInput,
    line: &str,
) -> Result<Option<PendingInput>> {
    let text = format!("{}{line}", pending.text);
    if is_plain_command(&text) {
        let outcome = attempt(session, Step::Command(text.trim())).await?;
        return Ok(Some(PendingInput::default()).filter(|_| !matches!(outcome, Outcome::Quit)));
    }
    let (mut known, mut from) = (pending.known, 0);
    // Offset from which commands are searched, and whether a statement has begun before it.
    let mut looked_at = (known, known > 0);
    let mut pending = String::new();
    loop {
        let command = command_line(&text, looked_at.0, looked_at.1);
        let end = command.map_or(text.len(), |command| command.start);
        pending += &text[from..end];
        let split = split_from(&pending, known);
        for statement in &split.complete {
            match attempt(session, Step::Statement(statement)).await? {
                Outcome::Done => {}
                // Later statements may depend on the failed one.
                Outcome::Failed => return Ok(Some(PendingInput::default())),
                Outcome::Quit => return Ok(None),
            }
        }
        known = split.known;
        pending = match split.rest {
            "" => String::new(),
            rest => format!("{rest}\n"),
        };
        let Some(command) = command else {
            return Ok(Some(PendingInput { text: pending, known }));
        };
        if let Outcome::Quit = attempt(session, Step::Command(command.text.trim())).await? {
            return Ok(None);
        }
        from = command.start + command.text.len();
        looked_at = (from, false);
    }
}

/// The outcome of a statement or a command.
enum Outcome {
    Done,
    /// An error was reported, or Ctrl-C stopped it.
    Failed,
    /// The user quit.
    Quit,
}

/// Runs one step, which Ctrl-C stops. Reports its errors, except for a closed output or a signal, which it returns.
async fn attempt(session: &mut Session<'_>, step: Step<'_>) -> Result<Outcome> {
    let stopped = tokio::select! {
        result = Box::pin(session.step(step)) => Some(result),
        () = control_c() => None,
    };
    match stopped {
        Some(Ok(true)) => Ok(Outcome::Done),
        Some(Ok(false)) => Ok(Outcome::Quit),
        Some(Err(failure @ (Failure::NobodyReads | Failure::Stopped(_)))) => Err(failure),
        Some(Err(failure)) => {
            // The exit code belongs to the whole session, so it is ignored here.
            let _ = failure.report();
            Ok(Outcome::Failed)
        }
        None => {
            session.including = 0;
            let stopped = abort_writes(&session.engine).await;
            session.compute.renew()?;
            writeln!(io::stderr(), "{stopped}")?;
            Ok(Outcome::Failed)
        }
    }
}

/// Runs `init.sql` of the user's configuration folder, if it exists.
async fn run_init(session: &mut Session<'_>) -> Result<()> {
    let file = config_folder().map(|folder| folder.join("init.sql"));
    let Some(file) = file.filter(|file| file.is_file()) else { return Ok(()) };
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => {
            let _ = Failure::file(&file, error).report();
            return Ok(());
        }
    };
    for step in steps(&text) {
        if !matches!(attempt(session, step).await?, Outcome::Done) {
            crate::output::progress::print_line(&format!(
                "note: what follows in `{}` was not run",
                file.display()
            ));
            break;
        }
    }
    Ok(())
}

/// Saves the history. A failure is only logged, because a home folder may be read-only.
fn save(editor: &mut Lines, history: &Path) {
    let folder = history.parent().map(fs::create_dir_all);
    let saved = editor.save_history(history);
    if let (Some(Err(error)), _) = (&folder, &saved) {
        tracing::debug!("cannot keep the history: {error}");
    } else if let Err(error) = saved {
        tracing::debug!("cannot keep the history: {error}");
    }
}
