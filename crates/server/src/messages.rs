//! Every error says in words what is wrong.
//!
//! `s3s` and this crate give many errors but a code. The words here are those of the S3 reference, shortened.

use std::borrow::Cow;

use http::{Response, header};
use s3s::{Body, S3Error};

/// What a code means.
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

/// `NoSuchTagSet` as `No such tag set.`
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

/// An error with a message, for where it is a part of an answer.
pub(crate) fn in_words(mut error: S3Error) -> S3Error {
    if error.message().is_none() {
        error.set_message(message(error.code().as_str()));
    }
    error
}

/// Adds to an error that is the answer what it lacks: a message, and the request's id, which `s3s` does not know.
pub(crate) fn explain(response: &mut Response<Body>, id: &str) {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
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

/// Writes carriage returns in the XML of an answer so that they are read as such, and not as line feeds, which
/// are in other keys.
pub(crate) fn escape_returns(response: &mut Response<Body>) {
    let Some(body) = response.body().bytes() else { return };
    if !body.contains(&b'\r') {
        return;
    }
    let mut escaped = Vec::with_capacity(body.len() + 64);
    for (at, part) in body.split(|byte| *byte == b'\r').enumerate() {
        if at > 0 {
            escaped.extend_from_slice(b"&#13;");
        }
        escaped.extend_from_slice(part);
    }
    if response.headers().contains_key(header::CONTENT_LENGTH) {
        response.headers_mut().insert(header::CONTENT_LENGTH, escaped.len().into());
    }
    *response.body_mut() = Body::from(escaped);
}

/// The XML of an error with a message and an id.
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
    fn every_code_has_words() {
        for code in ["InvalidAccessKeyId", "XAmzContentSHA256Mismatch", "Unheard"] {
            let words = message(code);
            assert!(words.len() > 5 && words.ends_with('.'), "{words}");
        }
    }
}
