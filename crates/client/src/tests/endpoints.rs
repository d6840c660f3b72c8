//! Endpoints that a client accepts, and the protection of its keys in messages.

use super::*;

#[tokio::test]
async fn endpoints_are_checked_and_secrets_are_not_shown() {
    for endpoint in [
        "http://",
        "http://user:pw@host",
        "ftp://host",
        "http:///b",
        "http://host?token=pw",
        "http://host/#pw",
        "http://host/\u{1b}[2J",
        "http://host:99999",
        "http://host:port",
        "http://[::1",
    ] {
        let options = ConnectOptions {
            endpoint: Some(endpoint.to_owned()),
            region: Some("us-east-1".to_owned()),
            credentials: Some(Credentials::new("AKEXAMPLE", "very-secret")),
            ..ConnectOptions::default()
        };
        let shown = format!("{options:?}");
        let secret = ["AKEXAMPLE", "very-secret", "pw"].iter().any(|part| shown.contains(part));
        assert!(!secret, "{shown}");
        let error = Client::connect(&options, StoreCapabilities::sluice()).await.unwrap_err();
        assert_eq!(error, Error::InvalidEndpoint, "{endpoint}");
    }
}

#[tokio::test]
async fn an_endpoint_without_a_scheme_is_named() {
    for endpoint in ["localhost:9000", "127.0.0.1:9000/", "minio", "[::1]:9000"] {
        let options =
            ConnectOptions { endpoint: Some(endpoint.to_owned()), ..ConnectOptions::default() };
        let error = Client::connect(&options, StoreCapabilities::sluice()).await.unwrap_err();
        assert_eq!(error, Error::NoScheme { endpoint: endpoint.to_owned() });
        assert!(error.hint().contains("AWS_ENDPOINT_URL"), "{}", error.hint());
    }
}
