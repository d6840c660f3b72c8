//! From a connection to a session: TLS, the first packet and the password.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;

use crate::error::{SqlError, state};
use crate::server::cancel::Sessions;
use crate::server::listener::Options;
use crate::server::socket::{End, Socket, Stream};
use crate::wire::scram::{MECHANISM, Password};
use crate::wire::startup::{LEAST_BYTES, MOST_BYTES, Startup};
use crate::wire::{backend, fields, frontend, startup};

/// The most bytes of a message before the client is authenticated.
const MOST_AUTHENTICATION_BYTES: usize = 4096;
/// The first byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 0x16;
/// Requests for encryption before the first packet: GSSAPI, then TLS.
const MOST_REQUESTS: usize = 4;
/// The delay of the answer to a wrong password.
const WRONG_PASSWORD_DELAY: Duration = Duration::from_millis(500);

/// The settings of an authenticated client.
#[derive(Debug)]
pub(crate) struct Welcome {
    pub(crate) socket: Socket,
    pub(crate) settings: Vec<(String, String)>,
}

/// Begins a session. Returns `None` if the client wanted none: it stopped a statement of another session, or left.
pub(crate) async fn begin(
    stream: TcpStream,
    address: SocketAddr,
    options: &Options,
    sessions: &Sessions,
) -> Option<Welcome> {
    let patience = options.limits.idle_time;
    let mut socket = Socket::new(Stream::Plain(stream), address, patience);
    if let Some(tls) = &options.tls
        && matches!(socket.peek().await, Ok(TLS_HANDSHAKE))
    {
        socket = encrypted(socket, tls, patience).await?;
    }
    for _ in 0..MOST_REQUESTS {
        let packet = match socket.packet(LEAST_BYTES, MOST_BYTES).await {
            Ok(packet) => startup::parse(packet),
            Err(End::Error(error)) => Err(error),
            Err(End::Gone) => return None,
        };
        match packet {
            Ok(Startup::Tls) => match &options.tls {
                Some(tls) if !socket.is_encrypted() => {
                    socket.output.extend_from_slice(b"S");
                    socket.flush().await.ok()?;
                    socket = encrypted(socket, tls, patience).await?;
                }
                _ => refuse(&mut socket).await?,
            },
            Ok(Startup::Gss) => refuse(&mut socket).await?,
            Ok(Startup::Cancel { session, secret }) => {
                sessions.stop(session, secret);
                return None;
            }
            Ok(Startup::Session { minor, settings }) => {
                return match admitted(&mut socket, options, minor, &settings).await {
                    Ok(()) => Some(Welcome { socket, settings }),
                    Err(End::Error(error)) => {
                        socket.close(Some(&error)).await;
                        None
                    }
                    Err(End::Gone) => None,
                };
            }
            Err(error) => {
                socket.close(Some(&error)).await;
                return None;
            }
        }
    }
    None
}

async fn refuse(socket: &mut Socket) -> Option<()> {
    socket.output.extend_from_slice(b"N");
    socket.flush().await.ok()
}

async fn encrypted(
    socket: Socket,
    tls: &crate::server::tls::TlsIdentity,
    patience: Option<Duration>,
) -> Option<Socket> {
    let address = socket.address;
    let stream = tls.accept(socket.into_plain()?).await.ok()?;
    Some(Socket::new(Stream::Tls(Box::new(stream)), address, patience))
}

/// Checks whether the client may have a session.
async fn admitted(
    socket: &mut Socket,
    options: &Options,
    minor: u16,
    settings: &[(String, String)],
) -> Result<(), End> {
    if options.requires_tls && !socket.is_encrypted() {
        let error = SqlError::fatal(
            state::INVALID_AUTHORIZATION,
            "the server accepts no connection without TLS",
        );
        return Err(error.with_hint("Connect with sslmode=require.").into());
    }
    if settings.iter().any(|(name, value)| name == "replication" && value != "false") {
        let error = SqlError::fatal(state::FEATURE_NOT_SUPPORTED, "there is no replication");
        return Err(error.into());
    }
    let unknown: Vec<&str> = settings
        .iter()
        .filter(|(name, _)| name.starts_with("_pq_."))
        .map(|(name, _)| name.as_str())
        .collect();
    if minor > 0 || !unknown.is_empty() {
        backend::negotiate_version(&mut socket.output, &unknown);
    }
    if let Some(password) = &options.password {
        authenticate(socket, password).await?;
    }
    backend::authentication(&mut socket.output, 0, &[]);
    Ok(())
}

async fn authenticate(socket: &mut Socket, password: &Password) -> Result<(), End> {
    let mechanisms = [MECHANISM.as_bytes(), b"\0\0"].concat();
    backend::authentication(&mut socket.output, 10, &mechanisms);
    socket.flush().await?;
    let mut first = fields::Fields::new(answer(socket).await?);
    if first.text()? != MECHANISM {
        let error = SqlError::fatal(
            state::INVALID_AUTHORIZATION,
            "the client has chosen a mechanism that was not offered",
        );
        return Err(error.into());
    }
    let length = usize::try_from(first.int32()?).unwrap_or(0);
    let message = first.bytes(length)?;
    first.end()?;
    let (reply, exchange) = password.first(&message)?;
    backend::authentication(&mut socket.output, 11, reply.as_bytes());
    socket.flush().await?;
    match exchange.last(&answer(socket).await?)? {
        Some(proof) => {
            backend::authentication(&mut socket.output, 12, proof.as_bytes());
            Ok(())
        }
        None => {
            // This connection keeps its place among those that are not authenticated, so guesses are slow.
            tokio::time::sleep(WRONG_PASSWORD_DELAY).await;
            Err(SqlError::fatal(state::INVALID_PASSWORD, "the password is wrong").into())
        }
    }
}

async fn answer(socket: &mut Socket) -> Result<bytes::Bytes, End> {
    let (kind, body) = socket.message(MOST_AUTHENTICATION_BYTES).await?;
    match frontend::parse(kind, body)? {
        frontend::Message::Authentication(data) => Ok(data),
        _ => Err(SqlError::protocol("a password was expected").into()),
    }
}
