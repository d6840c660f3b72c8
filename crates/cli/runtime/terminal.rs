//! The terminal: how wide it is, and as it was before the prompt changed it.

use std::io::{self, IsTerminal};

/// The columns of the terminal that answers are written to; none if that is something else.
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

    /// Turns off what a prompt turns on: the marks around pasted text.
    const NO_PASTE_MARKS: &[u8] = b"\x1b[?2004l";

    /// The settings of the terminal on stdin.
    #[derive(Debug)]
    pub(crate) struct Terminal {
        settings: Option<Termios>,
    }

    impl Terminal {
        /// Keeps the settings; what is not a terminal has none.
        pub(crate) fn remember() -> Self {
            Self { settings: tcgetattr(io::stdin()).ok() }
        }

        /// Sets them again, for a process that ends while it reads a line.
        pub(crate) fn restore(&self) {
            if let Some(settings) = &self.settings {
                // The process ends either way.
                let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, settings);
                let mut out = io::stdout();
                if out.is_terminal() {
                    let _ = out.write_all(NO_PASTE_MARKS).and_then(|()| out.flush());
                }
            }
        }
    }
}

/// Nothing to restore: there is no signal that would end a prompt here.
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

/// Whether the user has not said that there shall be no colours (no-color.org), nor the terminal that it has none.
pub(crate) fn wants_colour() -> bool {
    let no = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !no && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
