//! Extensions that a store offers, and requests that it refuses.

use super::scripted_store::{Reply, Store, error_frame, records, stream};
use super::*;

async fn client(replies: Vec<Reply>, profile: StoreCapabilities) -> (Store, Client) {
    let store = Store::start(replies, &[]).await;
    let client = Client::connect(&options(&store), profile).await.unwrap();
    (store, client)
}

async fn rows_of(client: &Client, call: SelectCall) -> Result<Vec<Row>, Error> {
    let batches: Vec<RecordBatch> = client.select(call).await?.try_collect().await?;
    Ok(rows(&batches))
}

#[tokio::test]
async fn an_answer_without_the_extensions_that_the_profile_relies_on_is_not_used() {
    let plain = Reply::plain(&complete(&csv(&five())).concat());
    let (store, client) = client(vec![plain], StoreCapabilities::sluice()).await;
    for _ in 0..2 {
        let error = rows_of(&client, call()).await.unwrap_err();
        let said = "the store does not offer what the profile `sluice` relies on: \
                    decimal-precision, min-max-any, exact-sum";
        assert!(error.is_refusal() && error.to_string().contains(said), "{error}");
    }
    assert_eq!(store.requests().len(), 1);
    assert_eq!(client.refusals().len(), 1);
}

#[tokio::test]
async fn a_profile_that_relies_on_nothing_takes_the_same_answer() {
    let plain = Reply::plain(&complete(&csv(&five())).concat());
    let store = Store::start(vec![plain], &["1"]).await;
    let client = Client::connect(&options(&store), StoreCapabilities::aws()).await.unwrap();
    let call = SelectCall { e_tag: Some("1".to_owned()), ..call() };
    assert_eq!(rows_of(&client, call).await.unwrap(), five());
    assert!(client.refusals().is_empty());
}

#[tokio::test]
async fn what_was_refused_is_not_sent_again() {
    let replies = vec![
        Reply::error(400, "ParseUnsupportedSyntax", "no LIKE here"),
        stream(&complete(&csv(&five()))),
        stream(&[error_frame("UnsupportedFunction", "no UPPER here")]),
    ];
    let (store, client) = client(replies, StoreCapabilities::sluice()).await;
    let ask = |condition: &str| {
        let mut call = call();
        call.request.expression = format!("SELECT s._1, s._2 FROM S3Object s WHERE {condition}");
        call
    };
    for condition in ["s._1 LIKE 'a%'", "s._2 LIKE 'b%' AND s._1 = 'a'"] {
        let error = rows_of(&client, ask(condition)).await.unwrap_err();
        assert!(error.to_string().contains("no LIKE here"), "{error}");
    }
    assert_eq!(rows_of(&client, ask("s._1 = 'a'")).await.unwrap(), five());
    // The refusal comes in the answer, before any row.
    for _ in 0..2 {
        rows_of(&client, ask("UPPER(s._1) = 'A'")).await.unwrap_err();
    }
    assert_eq!(store.requests().len(), 3);
    assert_eq!(client.refusals().len(), 2);
    assert!(client.known_refusal(&ask("s._1 LIKE 'c'").request).is_some());
    assert!(client.known_refusal(&ask("s._1 = 'c'").request).is_none());
}

#[tokio::test]
async fn a_bad_value_says_nothing_about_other_objects() {
    let failed = || stream(&[error_frame("CastFailed", "x")]);
    let after = stream(&[records(csv(&five()).as_bytes()), error_frame("ParseX", "late")]);
    let (store, client) =
        client(vec![failed(), failed(), after], StoreCapabilities::sluice()).await;
    for _ in 0..3 {
        rows_of(&client, call()).await.unwrap_err();
    }
    assert_eq!(store.requests().len(), 3);
    assert!(client.refusals().is_empty());
}

#[tokio::test]
async fn a_raw_answer_is_what_came() {
    let plain = Reply::plain(&complete("1,\"x\"\n").concat()).e_tag("7");
    let (_store, client) = client(vec![plain], StoreCapabilities::get_only()).await;
    let metrics = Arc::default();
    let answer = client.send("bucket", "key", &request(), &metrics).await.unwrap();
    assert_eq!(answer.records, b"1,\"x\"\n");
    assert_eq!(answer.e_tag.as_deref(), Some("\"7\""));
    assert!(answer.reported && answer.extensions.is_empty());
    assert_eq!(metrics.counts().bytes_scanned.known(), Some(1000));
}
