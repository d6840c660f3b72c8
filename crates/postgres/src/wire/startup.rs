//! The first packet of a connection.

use bytes::Bytes;

use crate::error::SqlError;
use crate::wire::fields::Fields;

/// The most bytes of the first packet, as in PostgreSQL.
pub const MOST_BYTES: usize = 10_000;
/// The least bytes: the length and the code.
pub const LEAST_BYTES: usize = 8;

const SSL_REQUEST: i32 = 80_877_103;
const GSS_REQUEST: i32 = 80_877_104;
const CANCEL_REQUEST: i32 = 80_877_102;

/// The first packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Startup {
    /// The client asks for TLS.
    Tls,
    /// The client asks for encryption by GSSAPI.
    Gss,
    /// The client wants a statement of another connection to stop.
    Cancel {
        /// The number of the other session.
        session: i32,
        /// Its secret.
        secret: i32,
    },
    /// The client begins a session.
    Session {
        /// The minor version of protocol 3.
        minor: u16,
        /// Settings, by their names: `user`, `database` and others, in the order of the client.
        settings: Vec<(String, String)>,
    },
}

/// Reads the first packet, without its length.
///
/// # Errors
///
/// If the packet is none of these, or of another version than 3.
pub fn parse(packet: Bytes) -> Result<Startup, SqlError> {
    let mut fields = Fields::new(packet);
    let code = fields.int32()?;
    match code {
        SSL_REQUEST => fields.end().map(|()| Startup::Tls),
        GSS_REQUEST => fields.end().map(|()| Startup::Gss),
        CANCEL_REQUEST => {
            // Since protocol 3.2 a secret may be longer; ours never is.
            let (session, secret) = (fields.int32()?, fields.int32()?);
            fields.end().map(|()| Startup::Cancel { session, secret })
        }
        version if version >> 16 == 3 => session(version, fields),
        version => Err(SqlError::fatal(
            "0A000",
            format!(
                "the protocol version {}.{} is not supported, only version 3",
                version >> 16,
                version & 0xffff
            ),
        )),
    }
}

fn session(version: i32, mut fields: Fields) -> Result<Startup, SqlError> {
    let mut settings = Vec::new();
    loop {
        let name = fields.text()?;
        if name.is_empty() {
            break;
        }
        settings.push((name, fields.text()?));
    }
    fields.end()?;
    if !settings.iter().any(|(name, value)| name == "user" && !value.is_empty()) {
        return Err(SqlError::fatal("28000", "the startup packet names no user"));
    }
    let minor = u16::try_from(version & 0xffff).unwrap_or(u16::MAX);
    Ok(Startup::Session { minor, settings })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packet(code: i32, rest: &[u8]) -> Result<Startup, SqlError> {
        parse([&code.to_be_bytes()[..], rest].concat().into())
    }

    #[test]
    fn packets_are_told_apart_by_their_code() {
        assert_eq!(packet(SSL_REQUEST, b""), Ok(Startup::Tls));
        assert_eq!(packet(GSS_REQUEST, b""), Ok(Startup::Gss));
        let cancel = Startup::Cancel { session: 1, secret: 2 };
        assert_eq!(packet(CANCEL_REQUEST, &[0, 0, 0, 1, 0, 0, 0, 2]), Ok(cancel));
        let settings = vec![("user".to_owned(), "me".to_owned())];
        assert_eq!(packet(3 << 16, b"user\0me\0\0"), Ok(Startup::Session { minor: 0, settings }));
    }

    #[test]
    fn other_packets_are_refused() {
        for (code, rest) in [
            (2 << 16, &b""[..]),
            (3 << 16, b""),
            (3 << 16, b"\0"),
            (3 << 16, b"user\0me\0"),
            (3 << 16, b"user\0me\0\0more"),
            (3 << 16, b"user\0\xff\0\0"),
            (SSL_REQUEST, b"x"),
            (CANCEL_REQUEST, b"1234"),
            (0x4745_5420, b"/ HTTP/1.1\r\n"),
        ] {
            packet(code, rest).unwrap_err();
        }
    }

    proptest! {
        #[test]
        fn any_packet_is_read_or_refused(code in prop_oneof![Just(3 << 16), Just((3 << 16) + 2), Just(CANCEL_REQUEST), any::<i32>()], rest in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = packet(code, &rest);
        }

        #[test]
        fn a_truncated_packet_is_refused(cut in 0_usize..40) {
            let whole = [&(3_i32 << 16).to_be_bytes()[..], b"user\0me\0database\0d\0app\0x\0\0"].concat();
            let cut = cut.min(whole.len() - 1);
            prop_assert!(parse(Bytes::copy_from_slice(&whole[..cut])).is_err());
        }
    }
}
