//! Messages for errors that have only a code.
//!
//! `s3s` and this crate leave out the message of many errors. The messages here are those of the S3 reference,
//! shortened.

use std::borrow::Cow;

use http::{Response, StatusCode, header};
use s3s::{Body, S3Error};

/// Returns the message for a code.
fn message(code: &str) -> Cow<'static, str> {
    let known = match code {
        "AccessDenied" => "Access denied.",
        "BadDigest" => "The checksum that was sent is not the one of the bytes that were received.",
        "BucketAlreadyExists" | "BucketAlreadyOwnedByYou" => "There is a bucket of this name.",
        "BucketNotEmpty" => "The bucket still has objects.",
        "EntityTooLarge" => "The upload is larger than one request may upload.",
        "EntityTooSmall" => "A part other than the last is smaller than 5 MiB.",
        "IncompleteBody" => "The body is shorter or longer than announced.",
        "InternalError" => "The server failed; try again.",
        "InvalidAccessKeyId" => "There is no such access key.",
        "InvalidArgument" => "An argument is not valid.",
        "InvalidBucketName" => "This is no name of a bucket.",
        "InvalidDigest" => "The checksum that was sent is not one.",
        "InvalidPart" => "A part was not uploaded, or its ETag is another one.",
        "InvalidPartOrder" => "The parts are not in ascending order.",
        "InvalidRange" => "The range lies outside of the object.",
        "InvalidRequest" => "The request is not valid.",
        "InvalidURI" => "The path or the query cannot be understood.",
        "KeyTooLongError" => "The key is too long.",
        "MalformedXML" => "The body is not the XML that this operation takes.",
        "MaxMessageLengthExceeded" => "The body is too long.",
        "MetadataTooLarge" => "The metadata is larger than 2 KB.",
        "MethodNotAllowed" => "This is no operation on such a resource.",
        "MissingContentLength" => "The request needs a Content-Length.",
        "MissingRequestBodyError" => "The request needs a body.",
        "NoSuchBucket" => "There is no such bucket.",
        "NoSuchKey" => "There is no object of this key.",
        "NoSuchUpload" => "There is no such upload: it was completed or aborted, or never created.",
        "NoSuchVersion" => "There is no such version.",
        "NotImplemented" => "This store does not offer the operation.",
        "NotModified" => "The object was not modified.",
        "PreconditionFailed" => "A condition of the request does not hold.",
        "RequestTimeout" => "The client was too slow.",
        "RequestTimeTooSkewed" => "The clocks of client and server are too far apart.",
        "SignatureDoesNotMatch" => {
            "The signature is not the one that this request has with this key; check the secret key."
        }
        "SlowDown" => "Too many requests; try again later.",
        _ => return spelled_out(code).into(),
    };
    known.into()
}

/// Converts a code to a sentence, such as `NoSuchTagSet` to `No such tag set.`
fn spelled_out(code: &str) -> String {
    let mut words = String::with_capacity(code.len() + 8);
    let mut before = None;
    for c in code.chars() {
        match before {
            Some(last) if c.is_uppercase() && char::is_lowercase(last) => {
                words.push(' ');
                words.extend(c.to_lowercase());
            }
            _ => words.push(c),
        }
        before = Some(c);
    }
    words.push('.');
    words
}

/// Adds a message to an error that is part of an answer.
pub(crate) fn in_words(mut error: S3Error) -> S3Error {
    if error.message().is_none() {
        error.set_message(message(error.code().as_str()));
    }
    error
}

/// Adds the missing parts to an error that is the whole answer: a message, and the request's id, which `s3s` does not
/// have.
pub(crate) fn explain(response: &mut Response<Body>, id: &str) {
    if !is_error(response.status()) {
        return;
    }
    let Some(body) = response.body().bytes() else { return };
    let Some(explained) = explained(&body, id) else { return };
    let length = explained.len();
    *response.body_mut() = Body::from(explained);
    if response.headers().contains_key(header::CONTENT_LENGTH) {
        response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    }
}

/// Returns true if XML 1.0 cannot represent a character, not even as a reference.
pub(crate) fn is_no_xml(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// Escapes carriage returns in the XML of an answer, because a parser would read them as line feeds, and a key as
/// another key. Characters that XML cannot represent become references, too, like in S3's listings; some clients can
/// read them. In error messages such characters are replaced.
pub(crate) fn escape_controls(response: &mut Response<Body>) {
    let Some(body) = response.body().bytes() else { return };
    let Ok(text) = std::str::from_utf8(&body) else { return };
    let is_odd = |c: char| c == '\r' || is_no_xml(c);
    if !text.contains(is_odd) {
        return;
    }
    let is_error = is_error(response.status());
    let mut escaped = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        match c {
            c if !is_odd(c) => escaped.push(c),
            c if is_error && c != '\r' => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push_str(&format!("&#{};", u32::from(c))),
        }
    }
    if response.headers().contains_key(header::CONTENT_LENGTH) {
        response.headers_mut().insert(header::CONTENT_LENGTH, escaped.len().into());
    }
    *response.body_mut() = Body::from(escaped);
}

pub(crate) fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

/// Returns the XML of an error with a message and an id.
fn explained(xml: &[u8], id: &str) -> Option<String> {
    const START: &str = "<Error><Code>";
    const END: &str = "</Error>";
    let xml = std::str::from_utf8(xml).ok()?;
    let (head, rest) = xml.split_once(START)?;
    let (code, rest) = rest.split_once("</Code>")?;
    let (rest, tail) = rest.rsplit_once(END)?;
    let words = match rest.contains("<Message>") {
        true => String::new(),
        false => format!("<Message>{}</Message>", message(code)),
    };
    let id = match rest.contains("<RequestId>") {
        true => String::new(),
        false => format!("<RequestId>{id}</RequestId>"),
    };
    Some(format!("{head}{START}{code}</Code>{words}{rest}{id}{END}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    use s3s::S3ErrorCode;

    #[test]
    fn errors_without_a_message_get_one() {
        let text = |error: S3Error| {
            let mut response = error.to_http_response().unwrap();
            explain(&mut response, "7");
            String::from_utf8(response.body().bytes().unwrap().to_vec()).unwrap()
        };
        let part = in_words(S3Error::new(S3ErrorCode::InvalidPart));
        assert_eq!(part.message(), Some("A part was not uploaded, or its ETag is another one."));
        let told = in_words(S3Error::with_message(S3ErrorCode::InvalidPart, "mine"));
        assert_eq!(told.message(), Some("mine"));
        let bare = text(S3Error::new(S3ErrorCode::NoSuchBucket));
        assert!(bare.ends_with(
            "<Error><Code>NoSuchBucket</Code><Message>There is no such bucket.</Message>\
             <RequestId>7</RequestId></Error>"
        ));
        let told = text(S3Error::with_message(S3ErrorCode::NoSuchBucket, "mine"));
        let end =
            "<Code>NoSuchBucket</Code><Message>mine</Message><RequestId>7</RequestId></Error>";
        assert!(told.ends_with(end), "{told}");
        let rare = text(S3Error::new(S3ErrorCode::Custom("NoSuchTagSet".into())));
        assert!(rare.contains("<Message>No such tag set.</Message>"), "{rare}");
    }

    #[test]
    fn what_xml_cannot_hold_is_a_reference_or_is_replaced() {
        let check = |status: u16, body: &str, expected: &str| {
            let mut response = Response::new(Body::from(body.to_owned()));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            response.headers_mut().insert(header::CONTENT_LENGTH, body.len().into());
            escape_controls(&mut response);
            let escaped = response.body().bytes().unwrap();
            assert_eq!(String::from_utf8_lossy(&escaped), expected);
            assert_eq!(response.headers()[header::CONTENT_LENGTH], *expected.len().to_string());
        };
        check(200, "<Key>a\tb\nc</Key>", "<Key>a\tb\nc</Key>");
        check(200, "<Key>\u{1}\r\u{1f}\u{ffff}é</Key>", "<Key>&#1;&#13;&#31;&#65535;é</Key>");
        check(404, "<Message>\u{1}\r</Message>", "<Message>\u{fffd}&#13;</Message>");
    }

    #[test]
    fn every_code_has_words() {
        for code in ["InvalidAccessKeyId", "XAmzContentSHA256Mismatch", "Unheard"] {
            let words = message(code);
            assert!(words.len() > 5 && words.ends_with('.'), "{words}");
        }
    }
}
