//! Tests of requests for other hosts, and of requests that need no signature.

use super::server::raw;
use super::*;

async fn say(server: &Server, request: &str, host: &str, headers: &str) -> String {
    let head = format!("{request} HTTP/1.1\r\nHost: {host}\r\n{headers}");
    raw(server.address(), &format!("{head}Content-Length: 0\r\nConnection: close\r\n\r\n")).await
}

/// Read in path style, these requests would list all buckets, create one with the object's name, and remove it.
#[tokio::test]
async fn a_bucket_before_the_host_is_not_left_out() {
    for configure in [Builder::anonymous as fn(Builder) -> Builder, |builder| builder] {
        let fixture = Fixture::with(|builder| configure(builder).host("store.example")).await;
        fixture.put("k", "1").await;
        let server = &fixture.server;
        for host in ["bucket.localhost:9000", "bucket.store.example", "BUCKET.localhost."] {
            for request in [
                "GET /?list-type=2",
                "GET /k",
                "PUT /marker-file",
                "DELETE /bucket",
                "POST /?delete",
                "POST /k?select&select-type=2",
            ] {
                let answer = say(server, request, host, "").await;
                assert!(answer.starts_with("HTTP/1.1 400"), "{request} {host}: {answer}");
                assert!(answer.contains("<Code>InvalidRequest</Code>"), "{answer}");
                assert!(answer.contains("addressing_style"), "{answer}");
            }
            let answer = say(server, "HEAD /k", host, "").await;
            assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        }
        let answer = say(server, "PUT /marker-file", "other.example", "").await;
        assert!(answer.starts_with("HTTP/1.1 40") && answer.contains("--host"), "{answer}");
        let buckets = fixture.client.list_buckets().send().await.unwrap();
        let buckets: Vec<_> = buckets.buckets().iter().filter_map(|it| it.name()).collect();
        assert_eq!((buckets, fixture.keys().await), (vec!["bucket"], vec!["k".to_owned()]));
    }
}

#[tokio::test]
async fn names_of_the_server_are_accepted() {
    let fixture = Fixture::with(|builder| builder.host("Store.Example")).await;
    for host in ["localhost", "127.0.0.1:1", "[::1]:9000", "minio:9000", "store.example:80"] {
        let answer = say(&fixture.server, "GET /bucket", host, "").await;
        assert!(answer.contains("<Code>AccessDenied</Code>"), "{host}: {answer}");
        assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {answer}");
    }
}

#[tokio::test]
async fn probes_are_answered_without_a_signature_and_hide_no_bucket() {
    const PATHS: [&str; 4] =
        ["/health", "/minio/health/live", "/minio/health/ready", "/minio/health/cluster"];
    let fixture = Fixture::new().await;
    for bucket in ["health", "minio"] {
        fixture.client.create_bucket().bucket(bucket).send().await.unwrap();
        let put = fixture.client.put_object().bucket(bucket).key("health/live");
        put.body(ByteStream::from_static(b"mine")).send().await.unwrap();
    }
    for path in PATHS {
        for (method, host) in [("GET", "localhost"), ("HEAD", "any.where.example")] {
            let answer = say(&fixture.server, &format!("{method} {path}"), host, "").await;
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 200") && body.is_empty(), "{path}: {answer}");
            assert!(!head.contains("sluice"), "{answer}");
        }
        let put = say(&fixture.server, &format!("PUT {path}"), "localhost", "").await;
        assert!(put.starts_with("HTTP/1.1 403"), "{put}");
    }
    let got = fixture.client.get_object().bucket("minio").key("health/live").send().await.unwrap();
    assert_eq!(got.body.collect().await.unwrap().to_vec(), b"mine");
    let listed = fixture.client.list_objects().bucket("health").send().await.unwrap();
    assert_eq!(listed.contents().len(), 1);

    // An anonymous server requires no signatures, so a bucket takes precedence.
    let open = Fixture::with(Builder::anonymous).await;
    let health = || say(&open.server, "GET /health", "localhost", "");
    let live = || say(&open.server, "GET /minio/health/live", "localhost", "");
    assert!(health().await.starts_with("HTTP/1.1 200") && live().await.starts_with("HTTP/1.1 200"));
    for bucket in ["health", "minio"] {
        open.client.create_bucket().bucket(bucket).send().await.unwrap();
    }
    assert!(health().await.contains("<ListBucketResult"), "{}", health().await);
    assert!(live().await.contains("<Code>NoSuchKey</Code>"), "{}", live().await);

    // This server's folder is gone.
    let gone = Fixture::new().await;
    std::fs::remove_dir_all(gone.folder.path()).unwrap();
    for (path, status) in PATHS.into_iter().zip([503, 200, 503, 503]) {
        let answer = say(&gone.server, &format!("GET {path}"), "localhost", "").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
    }
}

#[tokio::test]
async fn pages_are_told_that_no_bucket_allows_them() {
    for configure in [Builder::anonymous as fn(Builder) -> Builder, |builder| builder] {
        let fixture = Fixture::with(configure).await;
        for path in ["/bucket", "/bucket/k", "/none/k"] {
            let headers = "Origin: http://page.example\r\nAccess-Control-Request-Method: PUT\r\n";
            let answer =
                say(&fixture.server, &format!("OPTIONS {path}"), "localhost", headers).await;
            assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
            assert!(answer.contains("CORSResponse: CORS is not enabled for this bucket."));
            let answer = say(&fixture.server, &format!("OPTIONS {path}"), "localhost", "").await;
            assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        }
    }
}
