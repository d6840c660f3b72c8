//! The commands: a file or folder for each, named after the command.
//!
//! `samples` and `embedded_store` are shared: the first writes temporary samples to a bucket, the second runs a store
//! in a folder.

mod calibrate;
mod completions;
mod connect;
mod demo;
mod embedded_store;
mod endpoint;
pub(crate) mod explain;
pub(crate) mod generate;
mod index;
mod model;
mod queries;
mod reference;
mod reproduce;
mod samples;
pub(crate) mod serve;
mod serve_sql;
mod sql;
mod statistics;
mod storage;
pub(crate) mod switch;
mod validate;
mod worker;

use sluicegate_workloads::bigdata::Seed;

use crate::args::{Command, GenerateCommand};
use crate::failure::Result;
use crate::runtime::compute::Compute;
use crate::runtime::interrupt::{LastResort, interruptible, watch};
use crate::runtime::scratch::Scratch;

/// Runs a command.
pub(crate) async fn run(
    command: Command,
    compute: &mut Compute,
    scratch: &mut Scratch,
) -> Result<()> {
    match command {
        Command::Demo(args) => {
            let _watch = watch(LastResort::Soon);
            Box::pin(demo::run(args, compute, scratch)).await
        }
        Command::Sql(args) => Box::pin(sql::run(*args, compute)).await,
        Command::Explain(args) => {
            let _watch = watch(LastResort::Soon);
            interruptible(compute.run(Box::pin(explain::run(*args)))).await
        }
        Command::Model(args) => {
            let _watch = watch(LastResort::Soon);
            interruptible(compute.run(Box::pin(model::run(*args)))).await
        }
        Command::Validate(args) => {
            let _watch = watch(LastResort::Soon);
            Box::pin(validate::run(args, compute, scratch)).await
        }
        Command::Connect(command) => {
            let _watch = watch(LastResort::Soon);
            interruptible(Box::pin(connect::run(command))).await
        }
        Command::Endpoint(command) => {
            let _watch = watch(LastResort::WhenAskedTwice);
            Box::pin(endpoint::run(command)).await
        }
        Command::Index(command) => {
            let _watch = watch(LastResort::Soon);
            Box::pin(index::run(command, compute)).await
        }
        Command::Statistics(command) => statistics::run(&command),
        Command::Calibrate(args) => {
            let _watch = watch(LastResort::WhenAskedTwice);
            Box::pin(calibrate::run(*args, compute)).await
        }
        Command::Serve(args) => {
            let _watch = watch(LastResort::WhenServerAskedTwice);
            Box::pin(serve::run(*args, compute)).await
        }
        Command::ServeSql(args) => {
            let _watch = watch(LastResort::WhenServerAskedTwice);
            Box::pin(serve_sql::run(*args, compute)).await
        }
        Command::Worker(args) => {
            let _watch = watch(LastResort::WhenAskedTwice);
            Box::pin(worker::run(*args, compute)).await
        }
        Command::Generate(GenerateCommand::Tpch(args)) => {
            let _watch = watch(LastResort::Soon);
            generate::stoppable(compute.run(Box::pin(generate::run(args.tables, "TPC-H", ()))))
                .await
        }
        Command::Generate(GenerateCommand::Tpcds(args)) => {
            let _watch = watch(LastResort::Soon);
            generate::stoppable(compute.run(Box::pin(generate::run(args.tables, "TPC-DS", ()))))
                .await
        }
        Command::Generate(GenerateCommand::Bigdata(args)) => {
            let _watch = watch(LastResort::Soon);
            let (seed, title) = (Seed(args.seed), "the Big Data benchmark");
            generate::stoppable(compute.run(Box::pin(generate::run(args.tables, title, seed))))
                .await
        }
        Command::Generate(GenerateCommand::Queries(args)) => queries::run(&args),
        Command::Generate(GenerateCommand::Pushdowndb(args)) => {
            let _watch = watch(LastResort::Soon);
            let (seed, title) = (Seed(args.seed), "PushdownDB's tables");
            generate::stoppable(compute.run(Box::pin(generate::run(args.tables, title, seed))))
                .await
        }
        Command::Storage(args) => {
            let _watch = watch(LastResort::Soon);
            Box::pin(storage::run(*args, compute)).await
        }
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Switch(args) => switch::run(*args),
        Command::Completions(args) => completions::run(&args),
        Command::Reference(args) => reference::run(&args),
    }
}
