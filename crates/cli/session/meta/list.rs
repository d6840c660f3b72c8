//! `\ls`: lists a place in the store, or a folder of this machine.

use std::io::{self, Write};

use sluicegate_client::Error;
use sluicegate_costmodel::Bytes;
use sluicegate_engine::browse::{Entry, browse};

use crate::connect::calibrated_hardware::place;
use crate::connect::reachability::named;
use crate::failure::{Failure, Result};
use crate::output::escape::visible;
use crate::output::grid::align;
use crate::session::Session;
use crate::session::meta::local;

/// The maximum number of entries that are listed.
const SHOWN: usize = 1000;

/// Returns the entries at a URL.
async fn at(session: &Session<'_>, url: &str) -> Result<Vec<Entry>> {
    let (engine, asked) = (session.engine.clone(), url.to_owned());
    session.compute.run(async move { Ok(browse(&engine, &asked, SHOWN).await?) }).await
}

/// Lists the buckets, or the folders and the objects at a URL.
pub(super) async fn list(session: &mut Session<'_>, url: &str) -> Result<()> {
    let mut out = io::stdout();
    if url.is_empty() {
        let client = session.engine.endpoint().client.clone();
        let buckets = session.compute.run(async move {
            client.buckets().await.map_err(|error| {
                let hint = match &error {
                    Error::AccessDenied { code, .. } if code == "AccessDenied" => {
                        "Name a bucket: \\ls s3://bucket/"
                    }
                    error => error.hint(),
                };
                Failure::new(named(&place(&client), &error)).with_hint(hint)
            })
        });
        for bucket in buckets.await? {
            writeln!(out, "s3://{}/", visible(&bucket))?;
        }
        return Ok(());
    }
    if url.contains(['*', '?']) {
        let quoted = url.replace('\'', "''");
        let sql =
            format!("SELECT url, size, modified FROM glob('{quoted}') ORDER BY url LIMIT {SHOWN}");
        let answer = session.query(&sql).await?;
        return session.output.show(&answer);
    }
    let entries = match url.contains("://") {
        true => at(session, url).await?,
        false => match local::entries(url, SHOWN) {
            // Without a slash or a point, the argument may be the name of a bucket.
            none if none.is_empty() && !url.contains(['/', '.']) => {
                at(session, &format!("s3://{url}/")).await.unwrap_or_default()
            }
            entries => entries,
        },
    };
    if entries.is_empty() {
        return Err(Failure::new(format!("there is nothing at {}", visible(url))).with_hint(
            "\\ls lists the buckets, \\ls s3://bucket/prefix what begins so, \\ls ./ this folder.",
        ));
    }
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| match entry {
            Entry::Folder(url) => vec![visible(url).into_owned()],
            Entry::Object { url, bytes, modified } => {
                let modified = modified.format("%Y-%m-%d %H:%M:%S").to_string();
                vec![visible(url).into_owned(), Bytes(*bytes).to_string(), modified]
            }
        })
        .collect();
    out.write_all(align(&["url", "size", "modified (UTC)"], &[1], &rows).as_bytes())?;
    if entries.len() == SHOWN {
        let star = if url.ends_with('/') { "" } else { "*" };
        writeln!(out, "… the first {SHOWN}; SELECT * FROM glob('{}{star}') has all", visible(url))?;
    }
    Ok(())
}
