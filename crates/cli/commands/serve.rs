//! `sluice serve`

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use sluicegate_costmodel::Bytes;
use sluicegate_server::{Builder, Damage, Scrubbed, Server, scrub};

use crate::args::ServeArgs;
use crate::args::quantity::{link_words, whole_rate};
use crate::failure::{Failure, Result};
use crate::output::escape::visible;
use crate::output::progress::print_line;
use crate::runtime::compute::Compute;
use crate::runtime::hangup::{Hangups, ReopenedFile};
use crate::runtime::interrupt::server_stop_requested;
use crate::runtime::stdin::end_of_stdin;

pub(crate) async fn run(args: ServeArgs, compute: &Compute) -> Result<()> {
    if args.scrub {
        return compute.run(async move { check(&args.dir) }).await;
    }
    if args.create {
        fs::create_dir_all(&args.dir).map_err(|error| Failure::file(&args.dir, error))?;
    }
    let given = if args.anonymous { None } else { key_pair()? };
    let mut builder = builder(&args);
    let hangups = Hangups::listen();
    if let Some(path) = &args.access_log {
        builder = match path.as_os_str() == "-" {
            true => builder.access_log(io::stderr()),
            false => {
                let file = ReopenedFile::open(path.clone(), hangups.count());
                builder.access_log(file.map_err(|error| Failure::file(path, error))?)
            }
        };
    }
    let is_given = given.is_some();
    if args.anonymous {
        builder = builder.anonymous();
    } else if let Some((id, secret)) = given {
        builder = builder.credentials(id, secret);
    }
    let server = compute.run(async move { Ok(builder.start().await?) }).await?;
    let mut out = io::stdout();
    write!(out, "{}", greeting(&args, &server, is_given))?;
    out.flush()?;
    tokio::select! {
        _ = server_stop_requested() => {}
        () = end_of_stdin(), if args.stop_with_stdin => {}
    }
    drop(hangups);
    print_line("stopping");
    compute
        .run(async move {
            server.shutdown().await;
            Ok(())
        })
        .await
}

/// Returns a server with the settings of these arguments, except the credentials and the access log.
pub(crate) fn builder(args: &ServeArgs) -> Builder {
    let builder = Server::builder(&args.dir)
        .listen(args.listen.socket)
        .link_rate(whole_rate(args.link))
        .latency(args.latency.0)
        .select(!args.no_select)
        .indexes(!args.no_index)
        .sync_writes(!args.no_fsync)
        .upload_expiry(args.upload_expiry.0)
        .select_slots(args.max_statements.get())
        .signature_v2(args.signature_v2)
        .verify(!args.no_verify)
        .limits(args.limits());
    let names = args.host.iter().chain(&args.listen.name);
    names.fold(builder, |builder, name| builder.host(name))
}

/// Compares all objects of a folder with their checksums, and prints the damaged ones.
fn check(folder: &Path) -> Result<()> {
    let mut out = io::stdout();
    let mut written = Ok(());
    let scrubbed = scrub(folder, |Damage { bucket, key, reason, .. }| {
        if written.is_ok() {
            written = writeln!(out, "s3://{}: {reason}", visible(&format!("{bucket}/{key}")));
        }
    })?;
    written?;
    let Scrubbed { whole, damaged, changed, unknown, bytes, .. } = scrubbed;
    writeln!(
        out,
        "{} read; objects: {whole} intact, {damaged} damaged, {changed} changed outside the store, {unknown} without a checksum",
        Bytes(bytes)
    )?;
    match damaged {
        0 => Ok(()),
        _ => Err(Failure::new("some objects are damaged")
            .with_hint("Store them again from a copy; until then GET and S3 Select of them fail.")),
    }
}

/// Returns the key pair that the environment sets; `None` if it sets none.
fn key_pair() -> Result<Option<(String, String)>> {
    for (id, secret) in
        [("SLUICE_ACCESS_KEY", "SLUICE_SECRET_KEY"), ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
    {
        let value = |name| env::var(name).ok().filter(|value| !value.is_empty());
        match (value(id), value(secret)) {
            (Some(id), Some(secret)) => return Ok(Some((id, secret))),
            (None, None) => {}
            (Some(_), None) => return Err(incomplete(id, secret)),
            (None, Some(_)) => return Err(incomplete(secret, id)),
        }
    }
    Ok(None)
}

fn incomplete(set: &str, unset: &str) -> Failure {
    Failure::new(format!("{set} is set and {unset} is not"))
        .with_hint("Set both, or neither, or serve with --anonymous.")
}

fn greeting(args: &ServeArgs, server: &Server, is_given: bool) -> String {
    let endpoint = server.endpoint();
    let mut text = format!("serving {} at {endpoint}\n", args.dir.display());
    if whole_rate(args.link).is_some() {
        text += &format!("behind a link of {}\n", link_words(args.link));
    }
    let (aws, sluice) = if args.anonymous {
        text += "anyone may read and write\n";
        (" --no-sign-request", " --anonymous")
    } else {
        if is_given {
            text += "credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the environment\n";
        } else {
            // A new key pair is printed once and stored nowhere.
            text += &format!(
                "\n  export AWS_ACCESS_KEY_ID={}\n  export AWS_SECRET_ACCESS_KEY={}\n",
                server.access_key(),
                server.secret_key(),
            );
        }
        ("", "")
    };
    text += &format!(
        "\n  aws --endpoint-url {endpoint}{aws} s3 mb s3://bucket\
         \n  aws --endpoint-url {endpoint}{aws} s3 cp file.csv s3://bucket/\
         \n  sluice sql --endpoint {endpoint}{sluice} --store sluice \
         -c \"SELECT count(*) FROM 's3://bucket/file.csv'\"\n\nCtrl-C stops.\n"
    );
    text
}
