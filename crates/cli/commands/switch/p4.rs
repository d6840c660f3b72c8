//! `sluice switch p4`: prints a program as P4_16.

use std::fs;
use std::io::{self, Write};

use sluicegate_pruning::p4;

use super::{program, with_protocol};
use crate::args::switch::{ArchArg, P4Args};
use crate::failure::{Failure, Result};

pub(super) fn run(args: &P4Args) -> Result<()> {
    let program = program(args.algorithm, &args.parameters, args.variant, args.route.route())?;
    let program = with_protocol(program, args.algorithm, args.workers)?;
    let source = p4::print(&program, args.arch.into())?;
    let mut text = source.program;
    match &args.entries {
        Some(path) => {
            fs::write(path, &source.entries).map_err(|error| Failure::file(path, error))?;
        }
        None => {
            let tool = match args.arch {
                ArchArg::V1model => "simple_switch_CLI",
                ArchArg::Tna | ArchArg::T2na => "bfrt_python",
            };
            // The entries follow as a comment, so that the output is a P4 program.
            text += &match source.entries.as_str() {
                "" => format!("\n// The control plane ({tool}) installs nothing.\n"),
                entries => {
                    let lines: String =
                        entries.lines().map(|line| format!("// {line}\n")).collect();
                    format!(
                        "\n// The control plane installs ({tool}; --entries FILE writes it):\n{lines}"
                    )
                }
            };
        }
    }
    let mut out = io::stdout();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
