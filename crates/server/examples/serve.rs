//! Serves a folder: `cargo run -p sluicegate-server --example serve -- FOLDER [ADDRESS]`.
//!
//! The key pair comes from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`. Without them, every client may do
//! everything.

use std::env;
use std::error::Error;

use sluicegate_server::Server;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let folder = arguments.next().ok_or("usage: serve FOLDER [ADDRESS]")?;
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:9000".to_owned());
    let mut server = Server::builder(folder).listen(address.parse()?);
    server = match (env::var("AWS_ACCESS_KEY_ID"), env::var("AWS_SECRET_ACCESS_KEY")) {
        (Ok(access_key), Ok(secret_key)) => server.credentials(access_key, secret_key),
        _ => server.anonymous(),
    };
    let server = server.start().await?;
    tokio::signal::ctrl_c().await?;
    server.shutdown().await;
    Ok(())
}
