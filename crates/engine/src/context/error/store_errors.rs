//! Errors of stores and their clients.

use sluicegate_client::{Error as StoreError, Proxy, access_fault, proxy_of};

use super::ErrorKind;
use super::description::{Description, ROOM, find, innermost, one_line};
use crate::context::xml_text::unescaped;

pub(super) const MISSING_KEY: &str = "Check the key; keys are case-sensitive.";

const NOT_ALLOWED: &str = "Check that the access key may read and list this bucket; requests that are not signed \
     (--anonymous) read public buckets only.";

const STORE_LIMIT: &str =
    "Raise its server's limit on the size of files (ulimit -f), or write smaller objects.";

pub(super) fn of_client(error: &StoreError) -> Description {
    let kind = match error {
        StoreError::NotFound { .. } | StoreError::NoSuchBucket { .. } => ErrorKind::NotFound,
        StoreError::AccessDenied { .. }
        | StoreError::NoCredentials
        | StoreError::HalfKeyPair { .. }
        | StoreError::InvalidCredentials { .. } => ErrorKind::Access,
        StoreError::InvalidEndpoint
        | StoreError::NoProfile { .. }
        | StoreError::NoScheme { .. }
        | StoreError::NoStore { .. }
        | StoreError::NoTls { .. }
        | StoreError::InvalidRegion { .. }
        | StoreError::WrongRegion { .. } => ErrorKind::Setting,
        StoreError::NoHost { .. }
        | StoreError::NoProxy { .. }
        | StoreError::Unreachable { .. }
        | StoreError::Silent { .. }
        | StoreError::Endless { .. }
        | StoreError::Transient { .. } => ErrorKind::Unavailable,
        StoreError::Refused { .. } => ErrorKind::Unsupported,
        StoreError::ObjectChanged { .. } => ErrorKind::Changed,
        StoreError::BadAnswer { .. } | StoreError::Damaged { .. } => ErrorKind::Data,
        _ => ErrorKind::Other,
    };
    Description { kind, message: error.to_string(), hint: Some(error.hint().into()) }
}

/// Returns the path of a local file or folder to which the system refuses access.
fn local_refusal(text: &str) -> Option<&str> {
    let (before, _) = text.split_once(": Permission denied")?;
    before.find('/').map(|at| &before[at..])
}

pub(super) fn of_object_store(error: &object_store::Error) -> Description {
    use object_store::Error as E;
    if let Some(store) = find::<StoreError>(error) {
        return of_client(store);
    }
    let text = one_line(&error.to_string());
    if let Some(fault) = element(&text, "Code").and_then(access_fault) {
        let message = format!("{} {}", endpoint(&text), fault.words);
        return Description { kind: ErrorKind::Access, message, hint: Some(fault.hint.into()) };
    }
    let says = |needle: &str| text.contains(needle);
    let (kind, message, hint) = match error {
        _ if is_page(&text) => (
            ErrorKind::Setting,
            format!("{} answers with a web page: it is no S3 store", endpoint(&text)),
            "Check the endpoint's port, and that it has no path: http://host:port.",
        ),
        _ if says("NoSuchBucket") => (
            ErrorKind::NotFound,
            format!("there is no bucket `{}`", bucket(&text).unwrap_or_default()),
            "Check the bucket's name and the endpoint.",
        ),
        _ if says("InvalidBucketName") || says("400 Bad Request") && !has_bucket_name(&text) => (
            ErrorKind::NotFound,
            format!("`{}` cannot be the name of a bucket", bucket(&text).unwrap_or_default()),
            "Names of buckets have 3 to 63 lowercase letters, digits, dots and hyphens.",
        ),
        // A local error: `Unable to open file /x: Permission denied`
        E::Generic { store: "LocalFileSystem", .. } | E::PermissionDenied { .. }
            if local_refusal(&text).is_some() =>
        {
            (
                ErrorKind::Access,
                format!(
                    "`{}` may not be {}",
                    local_refusal(&text).unwrap_or_default(),
                    if says("cannot write ") { "written" } else { "read" }
                ),
                "Check its permissions, and those of its folder.",
            )
        }
        E::NotFound { path, .. } => {
            let hint = if has_bucket_twice(&text) { BUCKET_TWICE } else { MISSING_KEY };
            (ErrorKind::NotFound, format!("there is no object `{path}`"), hint)
        }
        E::Precondition { path, .. } | E::NotModified { path, .. } => (
            ErrorKind::Changed,
            format!("`{path}` changed while it was being read"),
            "Run the query again.",
        ),
        _ if says("507 Insufficient Storage") || says("<Code>InsufficientStorage") => {
            let is_limit = says("ulimit -f");
            let why = if is_limit { "it may not write files as large" } else { "the disk is full" };
            let hint = if is_limit { STORE_LIMIT } else { ROOM };
            (ErrorKind::Resources, format!("{}: {why}", endpoint(&text)), hint)
        }
        E::PermissionDenied { path, .. } => {
            (ErrorKind::Access, format!("the store refuses access to `{path}`"), NOT_ALLOWED)
        }
        E::Unauthenticated { .. } => (
            ErrorKind::Access,
            "the store does not accept the credentials".to_owned(),
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name an AWS profile.",
        ),
        _ if says("error sending request") && innermost(error).contains("InvalidContentType") => (
            ErrorKind::Setting,
            format!("{} does not speak TLS", endpoint(&text)),
            "Try http:// instead of https://.",
        ),
        // The failed connection was to the proxy.
        _ if is_unreachable(&text)
            && let Some(Proxy { variable, address }) =
                request_url(&text).and_then(|url| proxy_of(url.as_str())) =>
        {
            let reason = innermost(error);
            return of_client(&StoreError::NoProxy { variable, address, reason });
        }
        _ if innermost(error).contains("failed to lookup address") => (
            ErrorKind::Unavailable,
            format!("there is no host `{}`", host(&text).unwrap_or_default()),
            match has_bucket_twice(&text) {
                true => BUCKET_TWICE,
                false => "Check the endpoint's name, and that this machine can resolve names.",
            },
        ),
        _ if is_unreachable(&text) => (
            ErrorKind::Unavailable,
            format!("{} cannot be reached: {}", endpoint(&text), innermost(error)),
            "Check the endpoint and the network, and that the store is running.",
        ),
        _ if says("PermanentRedirect") || says("301 Moved Permanently") => (
            ErrorKind::Setting,
            "the bucket is in another region".to_owned(),
            "Give the bucket's region.",
        ),
        _ if says("403 Forbidden") => (
            ErrorKind::Access,
            format!("{} refuses access: {}", endpoint(&text), answer(&text).unwrap_or_default()),
            NOT_ALLOWED,
        ),
        _ => {
            let message = match answer(&text) {
                Some(answer) => format!("{} answered {answer}", endpoint(&text)),
                None => failed(&text).unwrap_or_else(|| text.clone()),
            };
            let hint = has_bucket_twice(&text).then(|| BUCKET_TWICE.into());
            return Description { kind: ErrorKind::Unavailable, message, hint };
        }
    };
    Description { kind, message, hint: Some(hint.into()) }
}

/// Returns the URL of a failed request.
fn request_url(message: &str) -> Option<url::Url> {
    message.split_whitespace().find(|word| word.starts_with("http")).and_then(|it| it.parse().ok())
}

/// Returns whether no connection was made.
fn is_unreachable(message: &str) -> bool {
    ["error sending request", "onnection refused", "dns error"]
        .iter()
        .any(|it| message.contains(it))
}

const BUCKET_TWICE: &str =
    "The endpoint names the bucket, too: give it without, as http://host:port.";

/// Returns whether the URL of a failed request contains its bucket twice: in its path, and in the endpoint's host or
/// path.
fn has_bucket_twice(message: &str) -> bool {
    let Some(url) = request_url(message) else { return false };
    let mut path = url.path_segments().into_iter().flatten();
    let Some(bucket) = path.next().filter(|it| !it.is_empty()) else { return false };
    let is_host = url.host_str().and_then(|host| host.strip_prefix(bucket));
    is_host.is_some_and(|rest| rest.starts_with('.')) || path.next() == Some(bucket)
}

/// Describes a failed request without the retry settings of the object_store crate.
fn failed(message: &str) -> Option<String> {
    let (_, message) = message.split_once("Error performing ")?;
    let (request, why) = message.split_once(" - ")?;
    let (request, tries) = request.split_once(" in ")?;
    let retries =
        tries.split(", ").find_map(|it| it.strip_prefix("after ")?.strip_suffix(" retries"));
    let again = retries.map_or_else(String::new, |n| format!(", also after {n} retries"));
    let why = why.strip_prefix("HTTP error: ").unwrap_or(why);
    let store = endpoint(message);
    Some(match why.strip_prefix("Server returned non-2xx status code: ") {
        Some(status) => {
            let status = status.trim_end().trim_end_matches(':');
            format!("{store} answered {status}{again}")
        }
        None => format!("{request} failed{again}: {why}"),
    })
}

/// Returns the host of a failed request.
fn host(message: &str) -> Option<String> {
    request_url(message)?.host_str().map(ToOwned::to_owned)
}

/// Returns the address of a failed request's store, without user and password.
fn endpoint(message: &str) -> String {
    match request_url(message).map(|url| url.origin()) {
        Some(origin) if origin.is_tuple() => {
            format!("the store at {}", origin.ascii_serialization())
        }
        _ => "the store".to_owned(),
    }
}

/// Returns whether the answer is a web page.
fn is_page(message: &str) -> bool {
    let text = message.to_ascii_lowercase();
    ["<!doctype html", "<html"].iter().any(|start| text.contains(start))
}

/// Returns the code and the message of a store's XML answer.
fn answer(message: &str) -> Option<String> {
    let code = element(message, "Code")?;
    let said = element(message, "Message").map(unescaped);
    Some(said.map_or(code.to_owned(), |said| format!("{code}: {said}")))
}

/// Returns the text of an element of a store's XML answer.
fn element<'a>(message: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = message.split_once(&format!("<{name}>"))?;
    Some(value.split_once(&format!("</{name}>"))?.0)
}

/// Returns the bucket of a failed request whose URL has the bucket in its path.
fn bucket(message: &str) -> Option<String> {
    request_url(message)?.path_segments()?.next().map(ToOwned::to_owned)
}

/// Returns whether the bucket of a failed request has a name that S3 allows; true if the bucket is unknown.
fn has_bucket_name(message: &str) -> bool {
    bucket(message).is_none_or(|name| {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-._".contains(c);
        (3..=63).contains(&name.len()) && name.chars().all(allowed)
    })
}
