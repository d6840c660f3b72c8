//! The terminal: its width, and the settings that a prompt changes.

use std::io::{self, IsTerminal};

/// Returns the width in columns of the terminal on stdout; `None` if stdout is no terminal.
pub(crate) fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let (width, _) = terminal_size::terminal_size()?;
    Some(usize::from(width.0)).filter(|width| *width > 0)
}

#[cfg(unix)]
pub(crate) use self::unix::Terminal;

#[cfg(unix)]
mod unix {
    use std::io::{self, IsTerminal, Write};

    use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};

    /// Turns off the marks around pasted text, which a prompt turns on.
    const NO_PASTE_MARKS: &[u8] = b"\x1b[?2004l";

    /// The settings of the terminal on stdin.
    #[derive(Debug)]
    pub(crate) struct Terminal {
        settings: Option<Termios>,
    }

    impl Terminal {
        /// Saves the settings. If stdin is no terminal, there is nothing to restore.
        pub(crate) fn save_mode() -> Self {
            Self { settings: tcgetattr(io::stdin()).ok() }
        }

        /// Restores the settings, for a process that exits while it reads a line.
        pub(crate) fn restore(&self) {
            if let Some(settings) = &self.settings {
                // The process exits in any case.
                let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, settings);
                let mut out = io::stdout();
                if out.is_terminal() {
                    let _ = out.write_all(NO_PASTE_MARKS).and_then(|()| out.flush());
                }
            }
        }
    }
}

/// An empty stand-in: no signal ends a prompt on this system.
#[cfg(not(unix))]
#[derive(Debug)]
pub(crate) struct Terminal;

#[cfg(not(unix))]
impl Terminal {
    pub(crate) fn remember() -> Self {
        Self
    }

    pub(crate) fn restore(&self) {}
}

/// Returns true unless `NO_COLOR` is set (no-color.org) or the terminal is `dumb`.
pub(crate) fn wants_colour() -> bool {
    let no = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !no && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
