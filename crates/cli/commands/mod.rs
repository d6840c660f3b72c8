//! The commands, one file each.

mod completions;
mod demo;
mod endpoint;
mod explain;
pub(crate) mod generate;
mod serve;
mod sql;
pub(crate) mod switch;

use sluicegate_workloads::bigdata::Seed;

use crate::args::{Command, GenerateCommand};
use crate::failure::Result;
use crate::runtime::interrupt::interruptible;
use crate::runtime::scratch::Scratch;

/// Does what was asked for.
pub(crate) async fn run(command: Command, scratch: &mut Scratch) -> Result<()> {
    match command {
        Command::Demo(args) => interruptible(Box::pin(demo::run(args, scratch))).await,
        Command::Sql(args) => Box::pin(sql::run(*args)).await,
        Command::Explain(args) => interruptible(Box::pin(explain::run(*args))).await,
        Command::Endpoint(command) => Box::pin(endpoint::run(command)).await,
        Command::Serve(args) => Box::pin(serve::run(args)).await,
        Command::Generate(GenerateCommand::Tpch(args)) => {
            interruptible(Box::pin(generate::run(args.tables, "TPC-H", ()))).await
        }
        Command::Generate(GenerateCommand::Bigdata(args)) => {
            let (seed, title) = (Seed(args.seed), "the Big Data benchmark");
            interruptible(Box::pin(generate::run(args.tables, title, seed))).await
        }
        Command::Switch(args) => switch::run(*args),
        Command::Completions(args) => completions::run(&args),
    }
}
