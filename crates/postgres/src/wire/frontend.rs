//! The messages of clients.

use bytes::Bytes;

use crate::error::SqlError;
use crate::types::Format;
use crate::wire::fields::Fields;

/// A message of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Statements of the simple protocol.
    Query(String),
    /// Prepare a statement.
    Parse {
        /// Its name; empty for the unnamed one.
        name: String,
        /// Its text.
        sql: String,
        /// The numbers of the types of its first parameters; 0 for unknown ones.
        types: Vec<u32>,
    },
    /// Give a prepared statement its parameters.
    Bind(Bind),
    /// Describe a prepared statement or a portal.
    Describe(Target),
    /// Run a portal.
    Execute {
        /// Its name.
        portal: String,
        /// The most rows to return; 0 for all.
        most_rows: usize,
    },
    /// Forget a prepared statement or a portal.
    Close(Target),
    /// Send what is ready.
    Flush,
    /// End a series of messages.
    Sync,
    /// End the session.
    Terminate,
    /// A part of a COPY from the client.
    CopyData,
    /// The end of a COPY from the client.
    CopyEnd,
    /// A part of an authentication.
    Authentication(Bytes),
}

/// The parameters of a prepared statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// The name of the portal.
    pub portal: String,
    /// The name of the prepared statement.
    pub statement: String,
    /// The formats of the parameters: none, one for all, or one each.
    pub formats: Vec<Format>,
    /// The parameters; `None` is NULL.
    pub parameters: Vec<Option<Bytes>>,
    /// The formats of the columns: none, one for all, or one each.
    pub result_formats: Vec<Format>,
}

/// A prepared statement or a portal, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A prepared statement.
    Statement(String),
    /// A portal.
    Portal(String),
}

/// Reads a message.
///
/// # Errors
///
/// If the message has an unknown kind, or is shorter or longer than its fields. The session must end then: the rest
/// of the stream cannot be trusted.
pub fn parse(kind: u8, body: Bytes) -> Result<Message, SqlError> {
    let mut fields = Fields::new(body);
    let message = match kind {
        b'Q' => Message::Query(fields.text()?),
        b'P' => {
            let (name, sql) = (fields.text()?, fields.text()?);
            let count = fields.count(4)?;
            let types = (0..count).map(|_| fields.oid()).collect::<Result<_, _>>()?;
            Message::Parse { name, sql, types }
        }
        b'B' => Message::Bind(bind(&mut fields)?),
        b'D' => Message::Describe(target(&mut fields)?),
        b'E' => {
            let portal = fields.text()?;
            // A negative number means all rows, too.
            let most_rows = usize::try_from(fields.int32()?).unwrap_or(0);
            Message::Execute { portal, most_rows }
        }
        b'C' => Message::Close(target(&mut fields)?),
        b'H' => Message::Flush,
        b'S' => Message::Sync,
        b'X' => Message::Terminate,
        b'd' => return Ok(Message::CopyData),
        b'c' | b'f' => return Ok(Message::CopyEnd),
        b'p' => return Ok(Message::Authentication(fields.rest())),
        b'F' => {
            return Err(SqlError::protocol("calls of functions by their number are not supported"));
        }
        other => {
            let kind = char::from(other).escape_default();
            return Err(SqlError::protocol(format!("there is no message of the kind `{kind}`")));
        }
    };
    fields.end().map(|()| message)
}

fn bind(fields: &mut Fields) -> Result<Bind, SqlError> {
    let (portal, statement) = (fields.text()?, fields.text()?);
    let formats = formats(fields)?;
    let count = fields.count(4)?;
    let mut parameters = Vec::with_capacity(count);
    for _ in 0..count {
        let length = fields.int32()?;
        parameters.push(match length {
            -1 => None,
            length => {
                let length = usize::try_from(length)
                    .map_err(|_| SqlError::protocol("a parameter has a negative length"))?;
                Some(fields.bytes(length)?)
            }
        });
    }
    let result_formats = self::formats(fields)?;
    Ok(Bind { portal, statement, formats, parameters, result_formats })
}

fn formats(fields: &mut Fields) -> Result<Vec<Format>, SqlError> {
    let count = fields.count(2)?;
    let format = |_| {
        let code = fields.int16()?;
        Format::from_code(code)
            .ok_or_else(|| SqlError::protocol(format!("there is no format with the code {code}")))
    };
    (0..count).map(format).collect()
}

fn target(fields: &mut Fields) -> Result<Target, SqlError> {
    match fields.byte()? {
        b'S' => Ok(Target::Statement(fields.text()?)),
        b'P' => Ok(Target::Portal(fields.text()?)),
        _ => Err(SqlError::protocol("a message is about neither a statement nor a portal")),
    }
}

/// Returns the format of an item: that of all, its own, or text.
///
/// # Errors
///
/// If there are neither as many formats as items, nor one, nor none.
pub fn spread(formats: &[Format], items: usize) -> Result<Vec<Format>, SqlError> {
    match formats {
        [] => Ok(vec![Format::Text; items]),
        [all] => Ok(vec![*all; items]),
        each if each.len() == items => Ok(each.to_vec()),
        each => Err(SqlError::new(
            crate::error::state::PROTOCOL_VIOLATION,
            format!("{} formats were sent for {items} values", each.len()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(kind: u8, body: &[u8]) -> Result<Message, SqlError> {
        parse(kind, Bytes::copy_from_slice(body))
    }

    #[test]
    fn messages_have_their_fields() {
        assert_eq!(read(b'Q', b"SELECT 1\0"), Ok(Message::Query("SELECT 1".to_owned())));
        let parse = Message::Parse { name: "s".to_owned(), sql: "x".to_owned(), types: vec![23] };
        assert_eq!(read(b'P', b"s\0x\0\0\x01\0\0\0\x17"), Ok(parse));
        let bind = Bind {
            portal: String::new(),
            statement: "s".to_owned(),
            formats: vec![Format::Binary],
            parameters: vec![None, Some(Bytes::from_static(b"ab"))],
            result_formats: vec![],
        };
        let bytes = b"\0s\0\0\x01\0\x01\0\x02\xff\xff\xff\xff\0\0\0\x02ab\0\0";
        assert_eq!(read(b'B', bytes), Ok(Message::Bind(bind)));
        let execute = Message::Execute { portal: "p".to_owned(), most_rows: 5 };
        assert_eq!(read(b'E', b"p\0\0\0\0\x05"), Ok(execute));
        assert_eq!(read(b'D', b"Ss\0"), Ok(Message::Describe(Target::Statement("s".to_owned()))));
        assert_eq!(read(b'C', b"P\0"), Ok(Message::Close(Target::Portal(String::new()))));
        assert_eq!(read(b'S', b""), Ok(Message::Sync));
    }

    #[test]
    fn messages_that_lie_about_their_length_are_refused() {
        for (kind, body) in [
            (b'Q', &b"SELECT 1"[..]),
            (b'Q', b"a\0b"),
            (b'P', b"\0x\0\xff\xff"),
            (b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0"),
            (b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0"),
            (b'B', b"\0\0\0\x01\0\x07\0\0\0\0"),
            (b'D', b"X\0"),
            (b'E', b"p\0\0"),
            (b'S', b"x"),
            (b'F', b""),
            (0, b""),
        ] {
            assert_eq!(read(kind, body).unwrap_err().code, "08P01", "{}", char::from(kind));
        }
    }

    #[test]
    fn formats_are_for_all_or_each() {
        assert_eq!(spread(&[], 2).unwrap(), [Format::Text; 2]);
        assert_eq!(spread(&[Format::Binary], 3).unwrap(), [Format::Binary; 3]);
        spread(&[Format::Binary, Format::Text], 3).unwrap_err();
    }

    proptest! {
        #[test]
        fn any_message_is_read_or_refused(kind in prop_oneof![Just(b'Q'), Just(b'P'), Just(b'B'), Just(b'D'), Just(b'E'), Just(b'C'), any::<u8>()], body in proptest::collection::vec(prop_oneof![3 => Just(0_u8), 2 => any::<u8>()], 0..60)) {
            let _ = read(kind, &body);
        }
    }
}
