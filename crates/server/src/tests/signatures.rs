use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SignatureLocation,
    SigningSettings, UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4::SigningParams;

use super::server::raw;
use super::*;

const REFUSED: &str = "There were headers present in the request which were not signed";

/// Requests for all operations of the server. Copies are uploads with one more header.
const OPERATIONS: [(&str, &str); 28] = [
    ("GET", "/"),
    ("PUT", "/new"),
    ("HEAD", "/bucket"),
    ("DELETE", "/none"),
    ("GET", "/bucket?location="),
    ("GET", "/bucket?versioning="),
    ("GET", "/bucket?versions="),
    ("GET", "/bucket?uploads="),
    ("GET", "/bucket?acl="),
    ("GET", "/bucket?cors="),
    ("GET", "/bucket?encryption="),
    ("GET", "/bucket?lifecycle="),
    ("GET", "/bucket?policy="),
    ("GET", "/bucket/secret?acl="),
    ("GET", "/bucket?list-type=2"),
    ("GET", "/bucket"),
    ("POST", "/bucket?delete="),
    ("POST", "/bucket"),
    ("GET", "/bucket/secret"),
    ("HEAD", "/bucket/secret"),
    ("PUT", "/bucket/drop"),
    ("DELETE", "/bucket/none"),
    ("POST", "/bucket/drop?uploads="),
    ("PUT", "/bucket/drop?partNumber=1&uploadId=x"),
    ("GET", "/bucket/drop?uploadId=x"),
    ("POST", "/bucket/drop?uploadId=x"),
    ("DELETE", "/bucket/drop?uploadId=x"),
    ("POST", "/bucket/secret?select=&select-type=2"),
];

const HEADERS: [(&str, &str); 9] = [
    ("x-amz-copy-source", "/bucket/secret"),
    ("x-amz-copy-source-range", "bytes=0-1"),
    ("x-amz-meta-colour", "red"),
    ("x-amz-acl", "public-read"),
    ("x-amz-tagging", "a=b"),
    ("x-amz-bypass-governance-retention", "true"),
    ("x-amz-server-side-encryption-customer-algorithm", "AES256"),
    ("x-amz-decoded-content-length", "0"),
    ("x-amz-nobody-knows-it", "1"),
];

const QUERY: SignatureLocation = SignatureLocation::QueryParams;
/// The places where a signature may be.
const LOCATIONS: [SignatureLocation; 2] = [SignatureLocation::Headers, QUERY];

/// Signs a request for one minute. Returns its target and headers.
fn signed(
    server: &Server,
    operation: (&str, &str),
    location: SignatureLocation,
    headers: &[(&str, &str)],
) -> (String, Vec<(String, String)>) {
    signed_for(server, operation, location, headers, Duration::from_secs(60))
}

/// Like [`signed`], but with the signature in the headers, and for the given body.
pub(super) fn signed_with(
    server: &Server,
    operation: (&str, &str),
    headers: &[(&str, &str)],
    body: SignableBody<'_>,
) -> (String, Vec<(String, String)>) {
    let location = SignatureLocation::Headers;
    sign_request(server, operation, location, headers, Duration::ZERO, body)
}

fn signed_for(
    server: &Server,
    operation: (&str, &str),
    location: SignatureLocation,
    headers: &[(&str, &str)],
    life: Duration,
) -> (String, Vec<(String, String)>) {
    let body = SignableBody::UnsignedPayload;
    sign_request(server, operation, location, headers, life, body)
}

fn sign_request(
    server: &Server,
    (method, target): (&str, &str),
    location: SignatureLocation,
    headers: &[(&str, &str)],
    life: Duration,
    body: SignableBody<'_>,
) -> (String, Vec<(String, String)>) {
    let identity = Credentials::new(server.access_key(), server.secret_key(), None, None, "test");
    let identity = identity.into();
    let mut settings = SigningSettings::default();
    settings.percent_encoding_mode = PercentEncodingMode::Single;
    settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    settings.signature_location = location;
    if location == QUERY {
        settings.expires_in = Some(life);
    } else {
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    }
    let params = SigningParams::builder()
        .identity(&identity)
        .region("eu-somewhere-7")
        .name("s3")
        .time(SystemTime::now())
        .settings(settings)
        .build()
        .unwrap()
        .into();
    let uri = format!("{}{target}", server.endpoint());
    let request = SignableRequest::new(method, &uri, headers.iter().copied(), body).unwrap();
    let (instructions, _) = sign(request, &params).unwrap().into_parts();
    let mut request = http::Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(()).unwrap();
    instructions.apply_to_request_http1x(&mut request);
    let headers = request.headers().iter();
    let headers = headers.map(|(n, v)| (n.to_string(), v.to_str().unwrap().to_owned()));
    (request.uri().path_and_query().unwrap().to_string(), headers.collect())
}

/// Sends a request with headers and an empty body. Returns the answer.
async fn say(
    server: &Server,
    method: &str,
    target: &str,
    headers: &[(String, String)],
    more: &[(&str, &str)],
) -> String {
    let host = server.address();
    let mut request = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n");
    let headers = headers.iter().map(|(n, v)| (n.as_str(), v.as_str()));
    for (name, value) in headers.chain(more.iter().copied()) {
        request += &format!("{name}: {value}\r\n");
    }
    raw(host, &(request + "Content-Length: 0\r\nConnection: close\r\n\r\n")).await
}

#[tokio::test]
async fn a_presigned_upload_copies_nothing() {
    let fixture = Fixture::new().await;
    fixture.put("secret", "secret").await;
    let config = PresigningConfig::expires_in(Duration::from_secs(60)).unwrap();
    let url = fixture.client.put_object().bucket("bucket").key("drop").presigned(config).await;
    let url = url.unwrap();
    let target = url.uri().strip_prefix(&fixture.server.endpoint()).unwrap();
    let copy = [("x-amz-copy-source", "/bucket/secret")];
    let answer = say(&fixture.server, "PUT", target, &[], &copy).await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert!(answer.contains("AccessDenied") && answer.contains(REFUSED), "{answer}");
    assert_eq!(fixture.keys().await, ["secret"]);
    let answer = say(&fixture.server, "PUT", target, &[], &[]).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(fixture.get("drop").await.is_empty());
}

/// The signed hash is compared with the payload even if there is no body.
#[tokio::test]
async fn the_hash_of_another_payload_is_refused() {
    let fixture = Fixture::new().await;
    fixture.put("secret", "secret").await;
    let server = &fixture.server;
    for (payload, expected) in [(&b"x"[..], "XAmzContentSHA256Mismatch"), (b"", "secret")] {
        for operation in [("GET", "/bucket/secret"), ("GET", "/bucket?list-type=2")] {
            let (target, headers) =
                signed_with(server, operation, &[], SignableBody::Bytes(payload));
            let answer = say(server, operation.0, &target, &headers, &[]).await;
            assert!(answer.contains(expected), "{operation:?}: {answer}");
        }
    }
    let operation = ("DELETE", "/bucket/secret");
    let (target, headers) = signed_with(server, operation, &[], SignableBody::Bytes(b"x"));
    let answer = say(server, operation.0, &target, &headers, &[]).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert_eq!(fixture.keys().await, ["secret"]);
}

#[tokio::test]
async fn unsigned_headers_are_refused_everywhere() {
    let fixture = Fixture::new().await;
    fixture.put("secret", "secret").await;
    let server = &fixture.server;
    for operation in OPERATIONS {
        for location in LOCATIONS {
            let (target, headers) = signed(server, operation, location, &[]);
            for header in HEADERS {
                let answer = say(server, operation.0, &target, &headers, &[header]).await;
                let case = format!("{operation:?}, {location:?}, {header:?}: {answer}");
                assert!(answer.starts_with("HTTP/1.1 403"), "{case}");
                // The answer to a HEAD has no body.
                let refused = answer.contains(REFUSED) && answer.contains(header.0);
                assert!(refused || operation.0 == "HEAD", "{case}");
            }
        }
    }
    assert_eq!(fixture.keys().await, ["secret"]);
}

#[tokio::test]
async fn signed_headers_are_honoured_everywhere() {
    for operation in OPERATIONS {
        let fixture = Fixture::new().await;
        fixture.put("secret", "secret").await;
        for location in LOCATIONS {
            for header in HEADERS {
                let (target, headers) = signed(&fixture.server, operation, location, &[header]);
                let answer = say(&fixture.server, operation.0, &target, &headers, &[]).await;
                let case = format!("{operation:?}, {location:?}, {header:?}: {answer}");
                assert!(!answer.starts_with("HTTP/1.1 403"), "{case}");
            }
        }
    }
}

/// Tests claims that a careless parser would count as covering a header.
#[tokio::test]
async fn a_second_signature_covers_nothing() {
    let fixture = Fixture::new().await;
    fixture.put("secret", "secret").await;
    let server = &fixture.server;
    let refused = |answer: String| {
        assert!(answer.starts_with("HTTP/1.1 403") && answer.contains(REFUSED), "{answer}");
    };
    let put = ("PUT", "/bucket/drop");
    let copy = ("x-amz-copy-source", "/bucket/secret");
    let (target, _) = signed(server, put, SignatureLocation::QueryParams, &[]);

    // The claim is in the Authorization header, next to a presigned URL.
    let claim = "AWS4-HMAC-SHA256 Credential=a/20260101/r/s3/aws4_request, \
                 SignedHeaders=host;x-amz-copy-source, Signature=00";
    refused(say(server, "PUT", &target, &[], &[copy, ("authorization", claim)]).await);
    // The claim is in another parameter of the URL, whose name is encoded.
    let twice = format!("{target}&X%2DAmz-SignedHeaders=x-amz-copy-source");
    refused(say(server, "PUT", &twice, &[], &[copy]).await);
    // The claim is in capitals, which the verification of the signature ignores.
    let (target, mut headers) = signed(server, put, SignatureLocation::Headers, &[]);
    for (name, value) in &mut headers {
        if name == "authorization" {
            *value = value.replace("SignedHeaders=host", "SignedHeaders=X-AMZ-COPY-SOURCE;host");
        }
    }
    refused(say(server, "PUT", &target, &headers, &[copy]).await);
    // The claim ends with a space, which only some parsers remove.
    for behind in [" ", "\t", " \t "] {
        let (target, mut headers) = signed(server, put, SignatureLocation::Headers, &[]);
        for (name, value) in &mut headers {
            let more = format!(";x-amz-copy-source{behind}, Signature=");
            *value = value.replace(", Signature=", &more);
            assert!(name != "authorization" || value.contains(&more), "{value}");
        }
        refused(say(server, "PUT", &target, &headers, &[copy]).await);
    }
    assert_eq!(fixture.keys().await, ["secret"]);
}

/// The verification ignores names of headers that do not exist.
#[tokio::test]
async fn a_signature_covers_only_what_is_there() {
    let fixture = Fixture::new().await;
    let server = &fixture.server;
    let location = SignatureLocation::Headers;
    let (target, mut headers) = signed(server, ("GET", "/bucket"), location, &[]);
    for (_, value) in &mut headers {
        *value = value.replace("SignedHeaders=host;", "SignedHeaders=");
    }
    let answer = say(server, "GET", &target, &headers, &[]).await;
    assert!(answer.contains("<Code>AuthorizationHeaderMalformed</Code>"), "{answer}");
    for more in [";x-absent", ";host", ";", ";X-Amz-Date", ";x-amz-date "] {
        let location = SignatureLocation::Headers;
        let (target, mut headers) = signed(server, ("GET", "/bucket"), location, &[]);
        for (_, value) in &mut headers {
            *value = value.replace(", Signature=", &format!("{more}, Signature="));
        }
        let answer = say(server, "GET", &target, &headers, &[]).await;
        assert!(answer.contains("<Code>AuthorizationHeaderMalformed</Code>"), "{more}: {answer}");
    }
}

/// A request that was signed for another service is not valid here.
#[tokio::test]
async fn a_signature_is_for_this_service() {
    let fixture = Fixture::new().await;
    for scope in ["r/sts/aws4_request", "/s3/aws4_request", "aws4_request"] {
        let claim = format!(
            "AWS4-HMAC-SHA256 Credential=a/20260101/{scope}, SignedHeaders=host, Signature=00"
        );
        let answer = say(&fixture.server, "GET", "/", &[], &[("authorization", &claim)]).await;
        assert!(answer.contains("<Code>AuthorizationHeaderMalformed</Code>"), "{scope}: {answer}");
        let query = format!("/?X-Amz-Credential=a%2F20260101%2F{}", scope.replace('/', "%2F"));
        let answer = say(&fixture.server, "GET", &query, &[], &[]).await;
        assert!(answer.contains("<Code>AuthorizationHeaderMalformed</Code>"), "{scope}: {answer}");
    }
    let other = client(&fixture.server.endpoint(), "nobody", "secret");
    let unknown = other.list_buckets().send().await.unwrap_err();
    assert_eq!(code(&unknown), "403 InvalidAccessKeyId");
}

#[tokio::test]
async fn a_presigned_url_carries_the_headers_it_was_signed_with() {
    let fixture = Fixture::new().await;
    let config = PresigningConfig::expires_in(Duration::from_secs(60)).unwrap();
    let put = fixture.client.put_object().bucket("bucket").key("k").metadata("colour", "red");
    let url = put.presigned(config).await.unwrap();
    let target = url.uri().strip_prefix(&fixture.server.endpoint()).unwrap();
    let headers: Vec<_> = url.headers().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
    let answer = say(&fixture.server, "PUT", target, &headers, &[]).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let head = fixture.client.head_object().bucket("bucket").key("k").send().await.unwrap();
    assert_eq!(head.metadata().unwrap()["colour"], "red");
}

#[tokio::test]
async fn a_presigned_url_holds_for_a_week_at_most() {
    let fixture = Fixture::new().await;
    fixture.put("k", "1").await;
    let server = &fixture.server;
    let get = async |seconds: u64| {
        let life = Duration::from_secs(seconds);
        let (target, _) = signed_for(server, ("GET", "/bucket/k"), QUERY, &[], life);
        say(server, "GET", &target, &[], &[]).await
    };
    let answer = get(604_800).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with('1'), "{answer}");
    for seconds in [604_801, u64::from(u32::MAX), u64::from(u32::MAX) + 1] {
        let answer = get(seconds).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(answer.contains("AuthorizationQueryParametersError"), "{answer}");
        assert!(answer.contains("604800"), "{answer}");
    }
    // Signatures of version 2 contain the time of expiry. Both URLs have a wrong signature, but the longer-lived one
    // is refused first.
    let fixture = Fixture::with(|builder| builder.signature_v2(true)).await;
    let server = &fixture.server;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let key = server.access_key();
    for (end, code) in [
        (now + 604_800, "SignatureDoesNotMatch"),
        (now + 700_000, "AuthorizationQueryParametersError"),
    ] {
        let target = format!("/bucket/k?AWSAccessKeyId={key}&Expires={end}&Signature=AAAA");
        let answer = say(server, "GET", &target, &[], &[]).await;
        assert!(answer.contains(code), "{answer}");
    }
}

#[tokio::test]
async fn signatures_of_version_2_are_taken_if_that_is_wanted() {
    for (taken, expected) in [(false, "400"), (true, "403")] {
        let fixture = Fixture::with(|builder| builder.signature_v2(taken)).await;
        fixture.put("k", "1").await;
        let key = fixture.server.access_key();
        let end = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() + 60;
        let target = format!("/bucket/k?AWSAccessKeyId={key}&Expires={end}&Signature=AAAA");
        let in_query = say(&fixture.server, "GET", &target, &[], &[]).await;
        let claim = format!("AWS {key}:AAAA");
        let headers = [("authorization", &*claim), ("date", "Tue, 27 Jan 2026 21:20:26 GMT")];
        let in_head = say(&fixture.server, "GET", "/bucket/k", &[], &headers).await;
        for answer in [in_query, in_head] {
            assert!(answer.starts_with(&format!("HTTP/1.1 {expected}")), "{answer}");
            assert_eq!(answer.contains("AWS4-HMAC-SHA256"), !taken, "{answer}");
        }
    }
}

#[tokio::test]
async fn an_anonymous_server_takes_every_header() {
    let fixture = Fixture::with(Builder::anonymous).await;
    fixture.put("a", "1").await;
    let copy = [("x-amz-copy-source", "/bucket/a")];
    let answer = say(&fixture.server, "PUT", "/bucket/b", &[], &copy).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(fixture.get("b").await, b"1");
}
