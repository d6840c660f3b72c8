//! The supported parameters and headers of requests. Unknown ones are refused rather than ignored.
//!
//! S3 gets new sub-resources every year. A `DELETE /bucket/key?annotation` that is handled like `DELETE /bucket/key`
//! would remove the object. A client that requests a lock, a tag or encryption must not get the impression that there
//! is one.

use http::{HeaderMap, Method, Request};
use s3s::path::S3Path;
use s3s::{S3Error, S3ErrorCode, s3_error};

use crate::store::Algorithm;
use crate::target;

/// Parameters that are allowed in every request. They belong to a presigned URL's signature, or describe the request
/// rather than its effect.
const OF_ANY: [&str; 15] = [
    "AWSAccessKeyId",
    "Expires",
    "Signature",
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Date",
    "X-Amz-Expires",
    "X-Amz-Security-Token",
    "X-Amz-Signature",
    "X-Amz-SignedHeaders",
    "x-amz-checksum-mode",
    "x-amz-request-payer",
    "x-amz-sdk-checksum-algorithm",
    "x-amz-user-agent",
    "x-id",
];

/// Returns the parameters of the operations on a path.
fn parameters(method: &Method, path: &S3Path) -> &'static [&'static str] {
    let reads = matches!(*method, Method::GET | Method::HEAD);
    match path {
        S3Path::Root => &["bucket-region", "continuation-token", "max-buckets", "prefix"],
        S3Path::Bucket { .. } if reads => &[
            "accelerate",
            "acl",
            "continuation-token",
            "cors",
            "delimiter",
            "encoding-type",
            "encryption",
            "fetch-owner",
            "key-marker",
            "lifecycle",
            "list-type",
            "location",
            "logging",
            "marker",
            "max-keys",
            "max-uploads",
            "notification",
            "object-lock",
            "ownershipControls",
            "policy",
            "policyStatus",
            "prefix",
            "publicAccessBlock",
            "replication",
            "requestPayment",
            "start-after",
            "tagging",
            "upload-id-marker",
            "uploads",
            "version-id-marker",
            "versioning",
            "versions",
            "website",
        ],
        S3Path::Bucket { .. } if *method == Method::POST => &["delete"],
        S3Path::Bucket { .. } => &[],
        S3Path::Object { .. } if reads => &[
            "acl",
            "attributes",
            "max-parts",
            "part-number-marker",
            "partNumber",
            "response-cache-control",
            "response-content-disposition",
            "response-content-encoding",
            "response-content-language",
            "response-content-type",
            "response-expires",
            "tagging",
            "uploadId",
            "versionId",
        ],
        S3Path::Object { .. } if *method == Method::POST => {
            &["select", "select-type", "uploadId", "uploads"]
        }
        S3Path::Object { .. } if *method == Method::PUT => &["partNumber", "uploadId"],
        S3Path::Object { .. } => &["uploadId", "versionId"],
    }
}

/// Refuses a request for a feature that this store does not have. Unknown parameters with a value are ignored on
/// reads, like S3 does, because they do no harm there.
///
/// # Errors
///
/// `NotImplemented`, or the error of an invalid parameter or header.
pub(crate) fn refuse_unknown<B>(request: &Request<B>) -> Result<(), S3Error> {
    // Invalid paths are refused elsewhere.
    let Some(path) = target::path(request.uri()) else { return Ok(()) };
    let known = parameters(request.method(), &path);
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let (mut has_number, mut has_upload) = (false, false);
    for (name, value) in target::parameters(request.uri()) {
        has_number |= name == "partNumber";
        has_upload |= name == "uploadId";
        let is_amz = name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("x-amz-"));
        let is_known = known.contains(&&*name)
            || OF_ANY.iter().any(|of_any| match is_amz {
                true => of_any.eq_ignore_ascii_case(&name),
                false => *of_any == name,
            })
            || name.eq_ignore_ascii_case("x-amz-content-sha256") && value == "UNSIGNED-PAYLOAD";
        if is_known || is_header(request.headers(), &name, &value) {
            continue;
        }
        if is_amz {
            return Err(s3_error!(
                NotImplemented,
                "{name} in the query is not supported; sign it as a header"
            ));
        }
        if !reads || value.is_empty() {
            return Err(s3_error!(
                NotImplemented,
                "?{name} of {} is not offered by this store",
                request.method()
            ));
        }
    }
    refuse_owners(request.headers())?;
    let is_upload = *request.method() == Method::PUT;
    if is_upload && has_number != has_upload {
        return Err(s3_error!(InvalidRequest, "a part has both a partNumber and an uploadId"));
    }
    if is_upload || *request.method() == Method::POST {
        refuse_checksums(request.headers())?;
        refuse_headers(request.headers())?;
    }
    Ok(())
}

/// Returns true if a parameter repeats a header. boto3 adds such parameters to URLs that it presigns by version 2.
fn is_header(headers: &HeaderMap, name: &str, value: &str) -> bool {
    let header = headers.get(name).map(http::HeaderValue::as_bytes);
    // A plus in the parameter may stand for a space.
    header.is_some_and(|header| {
        header == value.as_bytes() || header == value.replace('+', " ").as_bytes()
    })
}

/// Refuses a request that depends on the owner of a bucket.
fn refuse_owners(headers: &HeaderMap) -> Result<(), S3Error> {
    for name in ["x-amz-expected-bucket-owner", "x-amz-source-expected-bucket-owner"] {
        if headers.contains_key(name) {
            return Err(s3_error!(
                AccessDenied,
                "{name}: this store has no accounts to compare it with; leave it out"
            ));
        }
    }
    Ok(())
}

/// Refuses checksums that would not be compared, in headers or announced for the trailers.
fn refuse_checksums(headers: &HeaderMap) -> Result<(), S3Error> {
    let is_known = |name: &str| {
        Algorithm::ALL.iter().any(|algorithm| algorithm.header().eq_ignore_ascii_case(name))
    };
    let trailers = headers.get_all("x-amz-trailer").iter();
    for value in trailers.map(|value| String::from_utf8_lossy(value.as_bytes())) {
        let mut names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
        if let Some(name) = names.find(|name| !is_known(name)) {
            return Err(s3_error!(
                InvalidRequest,
                "The value specified in the x-amz-trailer header is not supported: {name:?}"
            ));
        }
    }
    let others = ["x-amz-checksum-algorithm", "x-amz-checksum-mode", "x-amz-checksum-type"];
    for name in headers.keys().map(http::HeaderName::as_str) {
        let is_checksum = name.starts_with("x-amz-checksum-") && !others.contains(&name);
        if is_checksum && !is_known(name) {
            return Err(s3_error!(
                NotImplemented,
                "{name}: checksums of this kind are not supported"
            ));
        }
    }
    let stated = Algorithm::ALL.iter().flat_map(|it| headers.get_all(it.header())).count();
    if stated > 1 {
        return Err(s3_error!(
            InvalidRequest,
            "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed."
        ));
    }
    for algorithm in Algorithm::ALL {
        let name = algorithm.header();
        if headers.get(name).is_some_and(|value| value.as_bytes().trim_ascii().is_empty()) {
            return Err(s3_error!(InvalidRequest, "Value for {name} header is invalid."));
        }
    }
    if headers.get("content-md5").is_some_and(|value| value.as_bytes().trim_ascii().is_empty()) {
        return Err(s3_error!(InvalidDigest, "The Content-MD5 you specified was invalid."));
    }
    refuse_kinds(headers)
}

/// Refuses invalid kinds of checksums.
fn refuse_kinds(headers: &HeaderMap) -> Result<(), S3Error> {
    let value = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let named = |name| value(name).map(|value| Algorithm::from_name(&value));
    if named("x-amz-sdk-checksum-algorithm") == Some(None) {
        return Err(s3_error!(
            InvalidRequest,
            "Value for x-amz-sdk-checksum-algorithm header is invalid."
        ));
    }
    let algorithm = named("x-amz-checksum-algorithm");
    if algorithm == Some(None) {
        return Err(s3_error!(
            InvalidRequest,
            "Checksum algorithm provided is unsupported. Please try again with any of the valid types: \
             [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]"
        ));
    }
    let kind = value("x-amz-checksum-type");
    let is_possible = match (kind.as_deref(), algorithm.flatten()) {
        (None, _) => return Ok(()),
        (Some("FULL_OBJECT"), Some(Algorithm::Sha1 | Algorithm::Sha256))
        | (Some("COMPOSITE"), Some(Algorithm::Crc64Nvme)) => false,
        (Some("FULL_OBJECT" | "COMPOSITE"), _) => true,
        _ => {
            return Err(s3_error!(
                InvalidRequest,
                "Value for x-amz-checksum-type header is invalid."
            ));
        }
    };
    if is_possible {
        return Ok(());
    }
    Err(s3_error!(
        InvalidRequest,
        "The {} checksum type cannot be used with the {} checksum algorithm.",
        kind.unwrap_or_default(),
        algorithm.flatten().map_or("", Algorithm::name)
    ))
}

/// Refuses headers that request unsupported properties of an object or bucket.
fn refuse_headers(headers: &HeaderMap) -> Result<(), S3Error> {
    let value = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    for name in headers.keys().map(http::HeaderName::as_str) {
        if name.starts_with("x-amz-grant-") {
            return Err(s3_error!(NotImplemented, "{name}: objects here have no access lists"));
        }
        if name.starts_with("x-amz-object-lock-") {
            return Err(s3_error!(
                InvalidRequest,
                "{name}: the bucket has no object lock configuration, nor can it"
            ));
        }
    }
    for (name, what) in [
        ("x-amz-server-side-encryption", "bytes are stored as they come"),
        ("x-amz-tagging", "objects here have no tags"),
        ("x-amz-website-redirect-location", "there are no websites"),
    ] {
        if value(name).is_some_and(|value| !value.is_empty()) {
            return Err(s3_error!(NotImplemented, "{name} is not supported: {what}"));
        }
    }
    match value("x-amz-storage-class").as_deref() {
        None | Some("STANDARD" | "REDUCED_REDUNDANCY") => {}
        Some(_) => {
            return Err(s3_error!(InvalidStorageClass, "the storage class here is STANDARD"));
        }
    }
    match value("x-amz-acl").as_deref() {
        None | Some("private" | "bucket-owner-read" | "bucket-owner-full-control") => Ok(()),
        Some("public-read" | "public-read-write" | "authenticated-read" | "aws-exec-read") => {
            Err(s3_error!(NotImplemented, "objects here are private: x-amz-acl is not supported"))
        }
        Some(_) => {
            let message = "x-amz-acl is one of S3's canned access lists";
            Err(S3Error::with_message(S3ErrorCode::InvalidArgument, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(method: &Method, uri: &str, header: Option<(&str, &str)>) -> Option<String> {
        let mut request = Request::builder().method(method).uri(uri);
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let refused = refuse_unknown(&request.body(()).unwrap()).err();
        refused.map(|error| error.code().as_str().to_owned())
    }

    #[test]
    fn unknown_sub_resources_are_not_taken_for_the_object() {
        let (put, get, post, delete) = (Method::PUT, Method::GET, Method::POST, Method::DELETE);
        for (method, uri) in [
            (&put, "/bucket/key?renameObject"),
            (&put, "/bucket/key?encryption"),
            (&put, "/bucket/key?annotation&annotationName=a"),
            (&put, "/bucket/key?append=1"),
            (&put, "/bucket/key?acl"),
            (&put, "/bucket?anything"),
            (&put, "/bucket/key?x-amz-meta-hoisted=1"),
            (&put, "/bucket/key?x%2Damz-meta-hoisted=1"),
            (&put, "/bucket/key?X-Amz-Meta-A=1"),
            (&put, "/bucket/key?X-Amz-Copy-Source=/bucket/k"),
            (&put, "/bucket/key?X-AMZ-FOO"),
            (&put, "/bucket/key?X-Amz-Content-Sha256=wrong"),
            (&put, "/bucket/key?content-type=a/b"),
            (&delete, "/bucket?X-Amz-Foo=1"),
            (&get, "/bucket/key?annotation"),
            (&get, "/bucket/key?torrent="),
            (&get, "/bucket?metadataConfiguration"),
            (&post, "/bucket/key?restore"),
            (&post, "/bucket?metadataConfiguration"),
            (&delete, "/bucket/key?annotation&annotationName=a"),
            (&delete, "/bucket/key?%61cl"),
            (&delete, "/bucket?metadataConfiguration"),
            (&delete, "/bucket?x=1"),
        ] {
            assert_eq!(
                code(method, uri, None).as_deref(),
                Some("NotImplemented"),
                "{method} {uri}"
            );
        }
        assert_eq!(code(&put, "/bucket/key?partNumber=1", None).as_deref(), Some("InvalidRequest"));
        assert_eq!(code(&put, "/bucket/key?uploadId=1", None).as_deref(), Some("InvalidRequest"));
    }

    #[test]
    fn what_is_offered_passes() {
        for (method, uri) in [
            (Method::GET, "/?max-buckets=2"),
            (Method::GET, "/bucket?list-type=2&prefix=a%20b&encoding-type=url&fetch-owner=true"),
            (Method::GET, "/bucket/?versions"),
            (Method::GET, "/bucket?policy"),
            (Method::GET, "/bucket/key?acl="),
            (Method::GET, "/bucket/key?x-id=GetObject&response-content-type=a/b&partNumber=1"),
            (Method::GET, "/bucket/key?fresh=17"),
            (Method::GET, "/bucket/key?X-Amz-Signature=1&X-Amz-SignedHeaders=host"),
            (Method::PUT, "/bucket/key?X-Amz-Content-Sha256=UNSIGNED-PAYLOAD&X-Amz-Date=1"),
            (Method::PUT, "/bucket/key?AWSAccessKeyId=a&Signature=b&Expires=3"),
            (Method::PUT, "/bucket/key?partNumber=1&uploadId=a"),
            (Method::PUT, "/bucket/key?x-id=PutObject&x-amz-sdk-checksum-algorithm=CRC32"),
            (Method::PUT, "/bucket"),
            (Method::POST, "/bucket?delete="),
            (Method::POST, "/bucket/key?select&select-type=2"),
            (Method::POST, "/bucket/key?uploads"),
            (Method::DELETE, "/bucket/key?versionId=null&uploadId=1"),
        ] {
            assert_eq!(code(&method, uri, None), None, "{method} {uri}");
        }
    }

    /// The header takes effect, which is signed as well.
    #[test]
    fn a_parameter_may_repeat_a_header() {
        let put = |query: &str, name: &str, value: &str| {
            code(&Method::PUT, &format!("/bucket/key?{query}"), Some((name, value)))
        };
        assert_eq!(put("content-type=text%2Fcsv&Signature=a", "content-type", "text/csv"), None);
        assert_eq!(put("x-amz-meta-q=1+2", "x-amz-meta-q", "1 2"), None);
        let other = put("x-amz-meta-q=2", "x-amz-meta-q", "1");
        assert_eq!(other.as_deref(), Some("NotImplemented"));
    }

    #[test]
    fn what_an_object_cannot_have_is_refused() {
        for (name, value, expected) in [
            ("x-amz-object-lock-mode", "COMPLIANCE", Some("InvalidRequest")),
            ("x-amz-tagging", "a=b", Some("NotImplemented")),
            ("x-amz-tagging", "", None),
            ("x-amz-server-side-encryption", "aws:kms", Some("NotImplemented")),
            ("x-amz-website-redirect-location", "/x", Some("NotImplemented")),
            ("x-amz-expected-bucket-owner", "123456789012", Some("AccessDenied")),
            ("x-amz-grant-read", "id=1", Some("NotImplemented")),
            ("x-amz-storage-class", "FOO", Some("InvalidStorageClass")),
            ("x-amz-storage-class", "STANDARD", None),
            ("x-amz-trailer", "x-amz-checksum-crc32", None),
            ("x-amz-trailer", "X-Amz-Checksum-SHA256, x-amz-checksum-crc32c,", None),
            ("x-amz-trailer", "x-amz-checksum-md5", Some("InvalidRequest")),
            ("x-amz-trailer", "x-amz-checksum-crc32,x-amz-meta-a", Some("InvalidRequest")),
            ("x-amz-checksum-xxhash64", "AAAA", Some("NotImplemented")),
            ("x-amz-checksum-crc64nvme", "AAAA", None),
            ("x-amz-checksum-crc32", "", Some("InvalidRequest")),
            ("content-md5", "", Some("InvalidDigest")),
            ("x-amz-checksum-algorithm", "FOO", Some("InvalidRequest")),
            ("x-amz-checksum-algorithm", "sha256", None),
            ("x-amz-sdk-checksum-algorithm", "MD5", Some("InvalidRequest")),
            ("x-amz-sdk-checksum-algorithm", "CRC32C", None),
            ("x-amz-checksum-type", "FOO", Some("InvalidRequest")),
            ("x-amz-checksum-type", "FULL_OBJECT", None),
            ("x-amz-acl", "foo", Some("InvalidArgument")),
            ("x-amz-acl", "public-read", Some("NotImplemented")),
            ("x-amz-acl", "private", None),
            ("x-amz-meta-acl", "public-read", None),
        ] {
            let refused = code(&Method::PUT, "/bucket/key", Some((name, value)));
            assert_eq!(refused.as_deref(), expected, "{name}: {value}");
            // Reads store nothing, so the header does no harm.
            let read = code(&Method::GET, "/bucket/key", Some((name, value)));
            assert_eq!(read, refused.filter(|code| code == "AccessDenied"), "{name}: {value}");
        }
    }
}
