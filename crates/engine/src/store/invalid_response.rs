//! Invalid answers of stores: redirects to another host, pages of listings that cannot be complete, and endless
//! answers.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::{StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody};
use percent_encoding::percent_decode_str;

use crate::context::error::{ErrorKind, UserError};
use crate::context::xml_text::unescaped;

/// The bytes of an error answer that are read. S3 sends a document of some hundred bytes.
const ERROR_BYTES: usize = 64 << 10;
/// The maximum size in bytes of an answer that is held in memory as a whole. A page of 1,000 keys of 1,024
/// characters, each written as a reference, takes less than a third.
const DOCUMENT_BYTES: usize = 32 << 20;

/// The number of consecutive empty pages after which a listing fails. Stores skip removed objects.
const EMPTY_PAGES: u32 = 1000;
/// The maximum number of objects of a listing; each takes some hundred bytes of memory.
const LISTED: u64 = 20_000_000;

/// The fault of an invalid answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InvalidResponse {
    /// The answer redirects to another place.
    Redirect(StatusCode),
    /// The answer is not a page of a listing.
    NoListing,
    /// A page announces another one, but has no token for it.
    NoToken,
    /// A page has its own token as that of the next page.
    SameToken,
    /// The pages of a listing repeat.
    Cycle,
    /// Too many consecutive pages of a listing are empty.
    EmptyPages,
    /// A listing has more objects than are held in memory.
    TooMany,
    /// The document is longer than the limit.
    Endless,
}

impl fmt::Display for InvalidResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redirect(status) => write!(
                f,
                "the store redirects to another place ({status}), where no request is sent: credentials are for \
                 this endpoint"
            ),
            Self::NoListing => {
                f.write_str("the store was asked to list objects, and its answer is no S3 listing")
            }
            Self::NoToken => f.write_str(
                "the store says that its listing goes on, and not where: the rest of the objects is not known",
            ),
            Self::SameToken => f.write_str(
                "the store answers each page of its listing with the same page: the rest of the objects is not \
                 known",
            ),
            Self::Cycle => f.write_str(
                "the store answers with pages of its listing that it has sent before: the rest of the objects is \
                 not known",
            ),
            Self::EmptyPages => write!(
                f,
                "the store answers with {EMPTY_PAGES} pages of its listing in a row that have nothing in them, and \
                 says that it goes on: the rest of the objects is not known"
            ),
            Self::TooMany => write!(
                f,
                "the store lists more than {} million objects at one place: name a folder with fewer",
                LISTED / 1_000_000
            ),
            Self::Endless => {
                write!(f, "the store answers with a document of more than {} MiB", DOCUMENT_BYTES >> 20)
            }
        }
    }
}

impl From<InvalidResponse> for HttpError {
    fn from(misanswer: InvalidResponse) -> Self {
        // Errors of this kind are not retried.
        let error = UserError {
            kind: ErrorKind::Unavailable,
            message: misanswer.to_string(),
            hint: Some("Check the endpoint, and what is between it and this machine.".to_owned()),
        };
        Self::new(HttpErrorKind::Unknown, error)
    }
}

/// Checks the answer to a request. It may be no redirect to another place. A different version than the requested one
/// becomes a 412 answer, and the body of an error is cut.
///
/// # Errors
///
/// [`InvalidResponse::Redirect`], and those of the connection.
pub(crate) async fn usable(
    asked_version: Option<&str>,
    answer: HttpResponse,
) -> Result<HttpResponse, HttpError> {
    let status = answer.status();
    if status.is_redirection() && answer.headers().contains_key(header::LOCATION) {
        return Err(InvalidResponse::Redirect(status).into());
    }
    if status.is_success() {
        let found = answer.headers().get(header::ETAG).and_then(|it| it.to_str().ok());
        if let (Some(asked), Some(found)) = (asked_version, found)
            && asked != "*"
            && bare(asked) != bare(found)
        {
            // A store that supports `If-Match` answers like this.
            let mut changed = HttpResponse::new(HttpResponseBody::from(Bytes::new()));
            *changed.status_mut() = StatusCode::PRECONDITION_FAILED;
            return Ok(changed);
        }
        return Ok(answer);
    }
    let (head, mut body) = answer.into_parts();
    let mut said = Vec::new();
    while said.len() < ERROR_BYTES
        && let Some(frame) = body.frame().await
    {
        if let Ok(data) = frame?.into_data() {
            said.extend_from_slice(&data);
        }
    }
    said.truncate(ERROR_BYTES);
    let said = String::from_utf8_lossy(&said).into_owned();
    Ok(HttpResponse::from_parts(head, HttpResponseBody::from(said.into_bytes())))
}

fn bare(e_tag: &str) -> &str {
    e_tag.trim_start_matches("W/").trim_matches('"')
}

/// Returns the version in a request's `If-Match` header.
pub(crate) fn requested_version(request: &HttpRequest) -> Option<String> {
    let value = request.headers().get(header::IF_MATCH)?;
    Some(value.to_str().ok()?.to_owned())
}

/// Reads a document as a whole.
///
/// # Errors
///
/// [`InvalidResponse::Endless`], and those of the connection.
pub(crate) async fn document(body: HttpResponseBody) -> Result<Bytes, HttpError> {
    match Limited::new(body, DOCUMENT_BYTES).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) => Err(match error.downcast::<HttpError>() {
            Ok(broken) => *broken,
            Err(_) => InvalidResponse::Endless.into(),
        }),
    }
}

/// The unfinished listings of a bucket, keyed by the request's parameters and the token of the next page.
#[derive(Debug, Default)]
pub(crate) struct Listings(Mutex<HashMap<(String, String), Tokens>>);

/// The maximum number of listings that are tracked. Abandoned listings leave an entry each.
const MOST_LISTINGS: usize = 4096;

/// The state of one listing. One token is remembered: each new one is twice as many pages after the last, so that a
/// cycle of any length is found (Brent's algorithm).
#[derive(Debug, Clone)]
struct Tokens {
    remembered: String,
    /// The number of pages since the remembered token, and the number after which another is remembered.
    passed: u64,
    most: u64,
    /// The number of consecutive empty pages up to here.
    empty: u32,
    /// The number of objects and folders of all pages.
    listed: u64,
}

impl Listings {
    /// Checks that a page, the answer to `request`, can be part of a complete listing.
    ///
    /// # Errors
    ///
    /// The fault of the page, if it has one.
    pub(crate) fn check(&self, request: &Uri, page: &[u8]) -> Result<(), InvalidResponse> {
        let Some((this, next)) = check_page(request, page)? else { return Ok(()) };
        let parameters = request.query().unwrap_or_default().split('&');
        let others = parameters.filter(|it| !it.starts_with("continuation-token="));
        let asked = others.collect::<Vec<_>>().join("&");
        let mut listings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = this.and_then(|this| listings.remove(&(asked.clone(), this)));
        let first = Tokens { remembered: next.clone(), passed: 0, most: 0, empty: 0, listed: 0 };
        let mut tokens = known.unwrap_or(first);
        if tokens.most > 0 && tokens.remembered == next {
            return Err(InvalidResponse::Cycle);
        }
        let entries = entries(page);
        tokens.listed += entries;
        tokens.empty = if entries == 0 { tokens.empty + 1 } else { 0 };
        if tokens.empty >= EMPTY_PAGES {
            return Err(InvalidResponse::EmptyPages);
        }
        if tokens.listed > LISTED {
            return Err(InvalidResponse::TooMany);
        }
        tokens.passed += 1;
        if tokens.passed > tokens.most {
            let most = 2 * tokens.most.max(1);
            tokens = Tokens { remembered: next.clone(), passed: 0, most, ..tokens };
        }
        if listings.len() >= MOST_LISTINGS {
            listings.clear();
        }
        listings.insert((asked, next), tokens);
        Ok(())
    }
}

/// Returns the number of objects and folders of a page.
fn entries(page: &[u8]) -> u64 {
    let page = String::from_utf8_lossy(page);
    let count = |element: &str| page.matches(element).count() as u64;
    count("<Contents>") + count("<CommonPrefixes>")
}

/// Returns the tokens of this page, none for the first, and of the next page, which is none if there is no next page.
fn check_page(
    request: &Uri,
    page: &[u8],
) -> Result<Option<(Option<String>, String)>, InvalidResponse> {
    let page = String::from_utf8_lossy(page);
    if root(&page) != Some("ListBucketResult") {
        return Err(InvalidResponse::NoListing);
    }
    if element(&page, "IsTruncated").is_none_or(|it| it.trim() != "true") {
        return Ok(None);
    }
    let next = element(&page, "NextContinuationToken").filter(|token| !token.trim().is_empty());
    let next = unescaped(next.ok_or(InvalidResponse::NoToken)?);
    let mut parameters = request.query().unwrap_or_default().split('&');
    let this = parameters.find_map(|it| it.strip_prefix("continuation-token="));
    let this = this.map(|this| percent_decode_str(this).decode_utf8_lossy().into_owned());
    match this {
        Some(this) if this == next => Err(InvalidResponse::SameToken),
        this => Ok(Some((this, next.to_string()))),
    }
}

/// Returns the name of a document's root element, without its prefix.
fn root(xml: &str) -> Option<&str> {
    let mut rest = xml.trim_start_matches('\u{feff}').trim_start();
    loop {
        let (opening, closing) = match rest {
            _ if rest.starts_with("<?") => ("<?", "?>"),
            _ if rest.starts_with("<!--") => ("<!--", "-->"),
            _ => break,
        };
        rest = rest[opening.len()..].split_once(closing)?.1.trim_start();
    }
    let name = rest.strip_prefix('<')?.split([' ', '\t', '\r', '\n', '/', '>']).next()?;
    Some(name.rsplit_once(':').map_or(name, |(_, name)| name))
}

/// Returns the text of the first element of a name. Keys cannot contain tags, because they are escaped.
fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    Some(rest.split_once(&format!("</{name}>"))?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_part_of_a_whole_listing() {
        let check = |query: &str, page: &str, expected: Result<(), InvalidResponse>| {
            let uri: Uri = format!("http://h/bucket?list-type=2{query}").parse().unwrap();
            let checked = Listings::default().check(&uri, page.as_bytes());
            assert_eq!(checked, expected, "{query} {page}");
        };
        let page = |inner: &str| {
            format!(
                "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"x\">{inner}</ListBucketResult>"
            )
        };
        let more = |token: &str| {
            page(&format!(
                "<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>"
            ))
        };
        check("", &page(""), Ok(()));
        check("", &page("<IsTruncated>false</IsTruncated>"), Ok(()));
        check("", "<ListBucketResult/>", Ok(()));
        check("", "\u{feff} <!-- a --> <s3:ListBucketResult>", Ok(()));
        for other in ["", "<html>login</html>", "<foo/>", "<ListBucketResults/>", "<?xml", "{}"] {
            check("", other, Err(InvalidResponse::NoListing));
        }
        check("", &page("<IsTruncated>true</IsTruncated>"), Err(InvalidResponse::NoToken));
        check("", &more(""), Err(InvalidResponse::NoToken));
        check("", &more("a"), Ok(()));
        check("&continuation-token=b", &more("a"), Ok(()));
        check("&continuation-token=a", &more("a"), Err(InvalidResponse::SameToken));
        check(
            "&continuation-token=a%2B%26&prefix=x",
            &more("a+&amp;"),
            Err(InvalidResponse::SameToken),
        );
    }

    /// Every page has a new token.
    #[test]
    fn a_listing_has_an_end() {
        let given_up = |pages: u32, page: &dyn Fn(u32) -> String| {
            let listings = Listings::default();
            (1..=pages).find_map(|number| {
                let uri = match number {
                    1 => "http://h/b?list-type=2".to_owned(),
                    _ => format!("http://h/b?list-type=2&continuation-token={number}"),
                };
                let xml = format!(
                    "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>{}\
                     </NextContinuationToken>{}</ListBucketResult>",
                    number + 1,
                    page(number)
                );
                let checked = listings.check(&uri.parse().unwrap(), xml.as_bytes());
                Some((number, checked.err()?))
            })
        };
        let object = |_: u32| "<Contents><Key>k</Key></Contents>".to_owned();
        assert_eq!(given_up(2 * EMPTY_PAGES, &object), None);
        let empty = given_up(2 * EMPTY_PAGES, &|_| String::new());
        assert_eq!(empty, Some((EMPTY_PAGES, InvalidResponse::EmptyPages)));
        // A page with an entry resets the count.
        let some = |number: u32| match number % (EMPTY_PAGES - 1) {
            0 => "<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>".to_owned(),
            _ => String::new(),
        };
        assert_eq!(given_up(3 * EMPTY_PAGES, &some), None);
        let many = "<Contents>".repeat(400_000);
        let pages = u32::try_from(LISTED).unwrap() / 400_000 + 1;
        assert_eq!(given_up(2 * pages, &|_| many.clone()), Some((pages, InvalidResponse::TooMany)));
    }

    #[test]
    fn pages_do_not_come_again() {
        // `next` returns the token that follows a token; the result is the number of pages until the cycle is
        // noticed, if it is.
        let pages_of = |listings: &Listings, prefix: &str, next: &dyn Fn(u32) -> u32| {
            let mut token = None;
            (1..200_u32).find(|_| {
                let this = token.map(|it: u32| format!("&continuation-token={it}"));
                let uri = format!("http://h/b?prefix={prefix}{}", this.unwrap_or_default());
                let after = next(token.unwrap_or(0));
                let page = format!(
                    "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>{after}\
                     </NextContinuationToken></ListBucketResult>"
                );
                token = Some(after);
                listings.check(&uri.parse().unwrap(), page.as_bytes()).is_err()
            })
        };
        let listings = Listings::default();
        // Two listings have the same parameters, one has others.
        for prefix in ["x", "x", "y"] {
            assert_eq!(pages_of(&listings, prefix, &|token| token + 1), None);
        }
        for length in [2, 3, 7, 20] {
            let cycle = |token| if token == length { 1 } else { token + 1 };
            let noticed = pages_of(&listings, "z", &cycle).unwrap();
            assert!(noticed <= 4 * length, "{noticed} pages of a cycle of {length}");
        }
    }

    fn answer(status: u16, headers: &[(&str, &str)], body: &'static str) -> HttpResponse {
        let mut answer =
            HttpResponse::new(HttpResponseBody::from(Bytes::from_static(body.as_bytes())));
        *answer.status_mut() = StatusCode::from_u16(status).unwrap();
        for (name, value) in headers {
            let name: http::HeaderName = name.parse().unwrap();
            answer.headers_mut().insert(name, value.parse().unwrap());
        }
        answer
    }

    #[tokio::test]
    async fn another_version_is_as_good_as_a_refusal() {
        for (asked, found, expected) in [
            (Some("\"a\""), "\"a\"", 206),
            (Some("a"), "\"a\"", 206),
            (Some("\"a\""), "W/\"a\"", 206),
            (Some("*"), "\"b\"", 206),
            (None, "\"b\"", 206),
            (Some("\"a\""), "\"b\"", 412),
        ] {
            let usable = usable(asked, answer(206, &[("etag", found)], "x")).await.unwrap();
            assert_eq!(usable.status(), expected, "{asked:?} {found}");
        }
        // Stores may leave the version out.
        assert_eq!(usable(Some("a"), answer(200, &[], "x")).await.unwrap().status(), 200);
    }

    #[tokio::test]
    async fn redirects_are_not_followed_and_errors_are_cut() {
        let away = answer(307, &[("location", "http://elsewhere/bucket/key")], "");
        let error = usable(None, away).await.unwrap_err().to_string();
        assert!(error.contains("redirects to another place (307"), "{error}");
        // AWS answers like this for a bucket in another region, which is reported elsewhere.
        assert_eq!(usable(None, answer(301, &[], "x")).await.unwrap().status(), 301);
        let long: &'static str = "é".repeat(ERROR_BYTES).leak();
        let cut = usable(None, answer(403, &[], long)).await.unwrap();
        let text = String::from_utf8(cut.into_body().bytes().await.unwrap().to_vec()).unwrap();
        assert!(text.len() <= ERROR_BYTES && text.starts_with("éé"), "{}", text.len());
    }

    #[tokio::test]
    async fn a_document_has_an_end() {
        let blanks: &'static str = " ".repeat(DOCUMENT_BYTES + 1).leak();
        let error = document(answer(200, &[], blanks).into_body()).await.unwrap_err();
        assert!(error.to_string().contains("a document of more than 32 MiB"), "{error}");
        let whole = document(answer(200, &[], "x").into_body()).await.unwrap();
        assert_eq!(whole, "x");
    }
}
