//! `sluice worker`

use std::io::{self, Write};

use sluicegate_distributed::{Worker, WorkerError};

use crate::args::WorkerArgs;
use crate::connect::workers::token;
use crate::failure::{Failure, Result};
use crate::output::progress::print_line;
use crate::runtime::compute::Compute;
use crate::runtime::interrupt::{interruptible, stop_requested};
use crate::runtime::stdin::end_of_stdin;

pub(crate) async fn run(args: WorkerArgs, compute: &Compute) -> Result<()> {
    let token = token()?;
    let ended = async {
        match args.stop_with_stdin {
            true => end_of_stdin().await,
            false => std::future::pending().await,
        }
    };
    tokio::pin!(ended);
    let connecting = async {
        Box::pin(args.connect.wait_for_store()).await?;
        Box::pin(args.connect.connect()).await
    };
    let engine = tokio::select! {
        engine = interruptible(Box::pin(connecting)) => engine?,
        () = &mut ended => return Ok(()),
    };
    let address = args.listen.socket;
    let listening = async move { Ok(Worker::listen(address, engine, token).await) };
    let worker = compute.run(listening).await?.map_err(failure)?;
    let mut out = io::stdout();
    writeln!(out, "worker at http://{}\n\nCtrl-C stops.", worker.address())?;
    out.flush()?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = compute.run(async move {
        let stopped = async {
            let _ = stopped.await;
        };
        Ok(worker.run(stopped).await)
    });
    tokio::pin!(running);
    let ran = tokio::select! {
        ran = &mut running => ran,
        _ = stop_requested() => {
            print_line("stopping after the queries that run; asked again, at once");
            let _ = stop.send(());
            // The worker is stopping already; a second signal ends the process.
            running.await
        }
        () = &mut ended => {
            let _ = stop.send(());
            running.await
        }
    };
    ran?.map_err(failure)
}

fn failure(error: WorkerError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        WorkerError::Listen { .. } => failure.with_hint("Choose another address with --listen."),
        WorkerError::Open(_) => failure.with_hint(
            "Set SLUICE_TOKEN, here and where `sluice sql --workers` runs; or listen on 127.0.0.1.",
        ),
        WorkerError::Server(_) => failure,
    }
}
