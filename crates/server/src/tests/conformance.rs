use std::sync::Arc;

use sluicegate_client::{self as client, ConnectOptions};
use sluicegate_conformance::NoAnswer;
use sluicegate_conformance::table::{Run, Verdict};
use sluicegate_s3select::capabilities::StoreCapabilities;

use super::*;

#[tokio::test]
async fn the_server_conforms() {
    let fixture = Fixture::new().await;
    let run = Run::new("conformance/");
    for (key, bytes) in run.objects() {
        fixture.put(&key, bytes).await;
    }
    let server = &fixture.server;
    let options = ConnectOptions {
        endpoint: Some(server.endpoint()),
        credentials: Some(client::Credentials::new(server.access_key(), server.secret_key())),
        request_attempts: 1,
        ..ConnectOptions::default()
    };
    let client = client::Client::connect(&options, StoreCapabilities::sluice()).await.unwrap();
    let asked = run.run_case(async |key, request| {
        match client.send("bucket", key, request, &Arc::default()).await {
            Ok(answer) => Ok(Ok(answer)),
            Err(error) => NoAnswer::try_from(error).map(Err),
        }
    });
    let outcomes = asked.await.unwrap();
    assert_eq!(outcomes.len(), run.questions());
    let deviations: Vec<_> =
        outcomes.iter().filter(|outcome| outcome.verdict() != Verdict::Agrees).collect();
    assert!(deviations.is_empty(), "{deviations:#?}");
}
