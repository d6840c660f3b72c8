//! The greeting of the prompt, which reports whether the store answers.

use std::io::{self, Write};

use crate::connect::calibrated_hardware::place;
use crate::connect::reachability::{buckets_words, check_reachable};
use crate::failure::Result;
use crate::output::escape::visible;
use crate::output::progress::print_line;
use crate::session::Session;

/// Connects to the store and prints the result.
pub(super) async fn greet(session: &Session<'_>) -> Result<()> {
    let client = &session.engine.endpoint().client;
    let mut out = io::stdout();
    match check_reachable(client).await {
        Ok(buckets) => {
            let (place, store) = (place(client), &client.profile().name);
            let (place, buckets) = (visible(&place), buckets_words(buckets));
            writeln!(out, "Connected to {place}, store {store}{buckets}. \\? helps, \\q quits.")?;
        }
        Err((what, hint)) => {
            print_line(&format!("warning: {what}\nhint: {hint}"));
            writeln!(out, "Not connected. \\? helps, \\q quits.")?;
        }
    }
    Ok(())
}
