//! `sluice completions`

use std::io::{self, Write};

use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs};
use crate::failure::Result;

pub(crate) fn run(args: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "sluice", &mut script);
    Ok(io::stdout().write_all(&script)?)
}
