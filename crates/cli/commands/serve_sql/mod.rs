//! `sluice serve-sql`: the engine behind PostgreSQL's protocol and Arrow Flight SQL.
//!
//! For both protocols, [`backend`] gives each [`client`] a session of the engine, [`rules`] checks what statements may
//! do, [`tables`] lists the tables, [`literals`] writes parameters into statements, and [`errors`] translates errors.
//! [`flight`] is Flight SQL. The rest is PostgreSQL's: [`session`] runs statements, [`types`] and [`values`] translate
//! Arrow's types and values, and [`catalog`] answers queries about tables and types, which clients send by themselves.

mod backend;
mod catalog;
mod client;
mod errors;
mod flight;
mod literals;
mod rules;
mod session;
mod tables;
mod types;
mod values;

use std::env;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sluicegate_engine::Engine;
use sluicegate_postgres::{Bound, Limits, Options, Password, Places, ServerError, TlsIdentity};
use tokio::runtime::{Builder, Runtime};

use self::backend::SqlBackend;
use self::rules::Rules;
use crate::args::ServeSqlArgs;
use crate::failure::{Failure, Result};
use crate::output::progress::print_line;
use crate::runtime::compute::{self, Compute};
use crate::runtime::input::text_of;
use crate::runtime::interrupt::{abort_writes, interruptible, server_stop_requested};
use crate::runtime::stdin::end_of_stdin;
use crate::session::script::Script;
use crate::session::statements::Step;

/// The environment variable with the password. It is no argument, because other users of the machine can see
/// arguments.
const PASSWORD: &str = "SLUICE_SQL_PASSWORD";
/// The most bytes of a file with a password.
const PASSWORD_BYTES: u64 = 8 << 10;
/// The threads that read and write connections, and encode rows.
const SESSION_THREADS: usize = 2;
/// Stands for no limit of the time to connect.
const DAY: Duration = Duration::from_secs(86_400);

pub(crate) async fn run(args: ServeSqlArgs, compute: &Compute) -> Result<()> {
    let password = password(&args)?;
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => {
            Some(TlsIdentity::read(certificate, key).map_err(|error| {
                Failure::new(error.to_string()).with_hint("Name two files in PEM.")
            })?)
        }
        _ => None,
    };
    let address = args.listen.socket;
    let flight_address = args.flight_listen.as_ref().map(|address| address.socket);
    let is_open = |address: &SocketAddr| !address.ip().is_loopback();
    if !args.allow_unprotected {
        for address in [Some(address), flight_address].into_iter().flatten().filter(is_open) {
            check_protection(address, password.is_some(), tls.is_some())?;
        }
    }
    let script = script(&args)?;
    let engine = interruptible(Box::pin(args.connect.connect_with(&args.workers))).await?;
    interruptible(Box::pin(define(compute, &engine, &script))).await?;
    let engine = match args.allow_local_files {
        true => engine,
        false => engine.without_local_files().await?,
    };
    let requires_tls = is_open(&address) && !args.allow_unprotected;
    let words = greeting(&args, password.is_some(), requires_tls);
    let places = Places::new(args.max_sessions.get());
    let options = Options {
        limits: Limits {
            startup_time: args.startup_timeout.0.unwrap_or(DAY),
            idle_time: args.session_timeout.0,
            statement_time: args.statement_timeout.0,
            ..Limits::default()
        },
        places: places.clone(),
        password: password.clone(),
        tls: tls.clone(),
        requires_tls,
    };
    let flight_options = flight::Options {
        places,
        startup_time: options.limits.startup_time,
        idle_time: options.limits.idle_time,
        statement_time: options.limits.statement_time,
        allows_writes: args.allow_writes,
        password,
        tls,
    };
    let rules = Rules {
        allows_writes: args.allow_writes,
        max_cost: args.max_cost.map(|price| price.0),
        session_memory: args
            .session_memory
            .map(|limit| usize::try_from(limit.0).unwrap_or(usize::MAX)),
    };
    let backend = Arc::new(SqlBackend::new(engine.clone(), compute.threads()?, rules));
    let sessions = Sessions::start()?;
    let bound = sessions.run(async move { Bound::new(address, options).await }).await?;
    let bound = bound.map_err(|ServerError::Listen(address, cause)| refused(address, cause))?;
    let flight = match flight_address {
        Some(address) => {
            let bound = sessions.run(flight::Bound::new(address, flight_options)).await?;
            Some(bound.map_err(|(address, cause)| refused(address, cause))?)
        }
        None => None,
    };
    let mut out = io::stdout();
    writeln!(out, "serving SQL at {}", bound.address())?;
    if let Some(flight) = &flight {
        writeln!(out, "serving Flight SQL at {}", flight.url())?;
    }
    write!(out, "{words}")?;
    out.flush()?;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let wait = |mut stopped: tokio::sync::watch::Receiver<bool>| async move {
        // It also fails once nothing can stop the server any more.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    let (until, flight_until) = (wait(stopped.clone()), wait(stopped));
    let flight_backend = Arc::clone(&backend);
    let serving = sessions.run(async move {
        let serving_flight = async {
            match flight {
                Some(flight) => flight.serve(flight_backend, flight_until).await,
                None => Ok(()),
            }
        };
        tokio::join!(bound.serve(backend, until), serving_flight).1
    });
    let stopping = async {
        tokio::select! {
            _ = server_stop_requested() => {}
            () = end_of_stdin(), if args.stop_with_stdin => {}
        }
        print_line("stopping");
        let _ = stop.send(true);
        // Writes that are not finished leave nothing behind.
        print_line(abort_writes(&engine).await);
    };
    let (served, ()) = tokio::join!(serving, stopping);
    served?
}

/// Refuses an address that other machines reach, without a password and TLS.
fn check_protection(address: SocketAddr, has_password: bool, has_tls: bool) -> Result<()> {
    let lacking = match (has_password, has_tls) {
        (true, true) => return Ok(()),
        (false, true) => "a password",
        (true, false) => "TLS",
        (false, false) => "a password and TLS",
    };
    Err(Failure::new(format!("{address} can be reached by other machines, which needs {lacking}")).with_hint(
        format!(
            "Set {PASSWORD} or --password-file, and --tls-cert with --tls-key; listen on 127.0.0.1; or accept the \
             risk with --allow-unprotected."
        ),
    ))
}

/// Returns the password that clients need, from a file or from the environment.
fn password(args: &ServeSqlArgs) -> Result<Option<Password>> {
    let (place, text) = match &args.password_file {
        Some(path) => (path.display().to_string(), first_line(path)?),
        None => match env::var(PASSWORD) {
            Ok(text) if !text.is_empty() => (PASSWORD.to_owned(), text),
            _ => return Ok(None),
        },
    };
    let password = Password::new(&text).map_err(|error| {
        let failure = Failure::new(format!("{place}: {error}"));
        failure.with_hint("Take letters, digits and signs of ASCII; 20 of them are enough.")
    });
    password.map(Some)
}

fn first_line(path: &Path) -> Result<String> {
    let failed = |error| Failure::file(path, error);
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(PASSWORD_BYTES).read_to_string(&mut text).map_err(failed)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn script(args: &ServeSqlArgs) -> Result<Script> {
    let mut script = Script::default();
    for path in &args.file {
        script.push(Some(path.display().to_string()), &text_of(path)?);
    }
    if let Some(Step::Command(command)) =
        script.steps().into_iter().find(|step| matches!(step, Step::Command(_)))
    {
        return Err(Failure::Usage(format!(
            "`{command}` is a command of the prompt; -f takes statements of SQL here"
        )));
    }
    Ok(script)
}

/// Runs the statements that define what all clients see.
async fn define(compute: &Compute, engine: &Engine, script: &Script) -> Result<()> {
    let steps = script.steps();
    for (index, step) in steps.iter().enumerate() {
        let (Step::Statement(text) | Step::Command(text)) = step;
        let (statement, on) = ((*text).to_owned(), engine.clone());
        let ran = compute.run(async move {
            Box::pin(on.collect(&statement)).await?;
            Ok(())
        });
        ran.await.map_err(|failure| script.failed((index, steps.len()), text, failure))?;
        for note in engine.take_notes() {
            print_line(&format!("note: {note}"));
        }
    }
    Ok(())
}

fn refused(address: SocketAddr, cause: io::Error) -> Failure {
    let failure = Failure::from(cause).at(&format!("cannot listen on {address}"));
    failure.with_hint("Listen elsewhere: port 0 takes any free port.")
}

fn greeting(args: &ServeSqlArgs, has_password: bool, requires_tls: bool) -> String {
    let mut words = String::new();
    words += match args.allow_writes {
        true => "clients may read and write\n",
        false => "clients may only read\n",
    };
    if has_password {
        words += "clients need the password\n";
    }
    if requires_tls {
        words += "clients need TLS\n";
    }
    words + "\nCtrl-C stops.\n"
}

/// The threads of the connections. They are separate from those of queries, so that queries delay no client, and from
/// the thread of signals.
#[derive(Debug)]
struct Sessions(Option<Runtime>);

impl Sessions {
    fn start() -> Result<Self> {
        let mut threads = Builder::new_multi_thread();
        let threads = threads.worker_threads(SESSION_THREADS).enable_all();
        Ok(Self(Some(compute::build(threads.thread_name("sluice-sessions"))?)))
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        let stopped = || Failure::new("the server was stopped");
        let handle = self.0.as_ref().ok_or_else(stopped)?.handle();
        handle.spawn(work).await.map_err(|_| stopped())
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
