//! Tests of the client against a store that answers from a script, over a real connection.

mod counts;
mod endpoints;
mod negotiation;
mod scripted_store;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use futures::TryStreamExt;
use proptest::prelude::*;
use tokio::runtime::Runtime;

use self::scripted_store::{Reply, Store, end, error_frame, event, records, stats, stream};
use super::*;
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::request::{
    Compression, CsvInput, CsvOutput, InputFormat, InputSerialization, OutputSerialization,
    SelectRequest,
};

type Row = (Option<i64>, Option<String>);

fn options(store: &Store) -> ConnectOptions {
    ConnectOptions {
        endpoint: Some(store.endpoint()),
        region: Some("us-east-1".to_owned()),
        credentials: Some(Credentials::new("AKEXAMPLE", "very-secret")),
        idle_timeout: Duration::from_secs(10),
        ..ConnectOptions::default()
    }
}

fn request() -> SelectRequest {
    SelectRequest {
        expression: "SELECT s._1, s._2 FROM S3Object s".to_owned(),
        input: InputSerialization {
            format: InputFormat::Csv(CsvInput::default()),
            compression: Compression::None,
        },
        output: OutputSerialization::Csv(CsvOutput::default()),
        scan_range: None,
        progress: false,
        extras: Extras::NONE,
    }
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("s", DataType::Utf8, true),
    ]))
}

/// A call with batches of two rows, so that rows are returned early, and with very short pauses.
fn call() -> SelectCall {
    let retry = RetryPolicy {
        initial_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_millis(2),
        ..RetryPolicy::default()
    };
    SelectCall { batch_size: 2, retry, ..SelectCall::new("bucket", "key", request(), schema()) }
}

fn rows(batches: &[RecordBatch]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        let n = batch.column(0).as_primitive::<Int64Type>();
        let s = batch.column(1).as_string::<i32>();
        for row in 0..batch.num_rows() {
            let n = n.is_valid(row).then(|| n.value(row));
            rows.push((n, s.is_valid(row).then(|| s.value(row).to_owned())));
        }
    }
    rows
}

fn csv(rows: &[Row]) -> String {
    let mut text = String::new();
    for (n, s) in rows {
        let n = n.map_or_else(String::new, |n| n.to_string());
        let s = s.as_deref().unwrap_or_default().replace('"', "\"\"");
        text.push_str(&format!("{n},\"{s}\"\n"));
    }
    text
}

/// Five rows, which fill three batches.
fn five() -> Vec<Row> {
    (1..=5).map(|n| (Some(n), Some(format!("row {n}")))).collect()
}

fn complete(text: &str) -> Vec<Vec<u8>> {
    vec![records(text.as_bytes()), counted(text), end()]
}

/// Returns the Stats event of an answer with this text.
fn counted(text: &str) -> Vec<u8> {
    stats(1000, 2000, text.len() as i64)
}

async fn run(store: &Store, call: SelectCall) -> Result<Vec<RecordBatch>, Error> {
    run_with(&options(store), StoreCapabilities::sluice(), call).await
}

async fn run_with(
    options: &ConnectOptions,
    profile: StoreCapabilities,
    call: SelectCall,
) -> Result<Vec<RecordBatch>, Error> {
    let client = Client::connect(options, profile).await?;
    client.select(call).await?.try_collect().await
}

/// Runs the default call against a script and expects the five rows and this number of requests.
async fn check_five(replies: Vec<Reply>, requests: u64) {
    let store = Store::start(replies, &[]).await;
    let call = call();
    let metrics = Arc::clone(&call.metrics);
    assert_eq!(rows(&run(&store, call).await.unwrap()), five());
    assert_eq!(metrics.counts().requests, requests);
    assert_eq!(metrics.counts().retries, requests - 1);
    assert_eq!(store.unused(), 0);
}

/// Runs the default call against a script and expects an error.
async fn check_error(replies: Vec<Reply>, expected: &str) {
    let store = Store::start(replies, &[]).await;
    let error = run(&store, call()).await.unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert_eq!(store.unused(), 0);
}

#[tokio::test]
async fn a_clean_answer_gives_its_rows_and_figures() {
    let store = Store::start(vec![stream(&complete(&csv(&five())))], &[]).await;
    let call = call();
    let metrics = Arc::clone(&call.metrics);
    let batches = run(&store, call).await.unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(rows(&batches), five());
    let counts = metrics.counts();
    assert_eq!((counts.requests, counts.retries, counts.head_requests), (1, 0, 0));
    assert_eq!(counts.sql_bytes, request().expression.len() as u64);
    assert_eq!(counts.bytes_scanned.known(), Some(1000));
    assert_eq!(counts.bytes_processed.known(), Some(2000));
    assert_eq!(counts.bytes_returned.known(), Some(csv(&five()).len() as u64));
    let body: usize = complete(&csv(&five())).iter().map(Vec::len).sum();
    assert_eq!(counts.bytes_received, body as u64);
    let sent = store.requests();
    assert!(sent[0].starts_with("POST /bucket/key?select&select-type=2 "), "{}", sent[0]);
    assert!(sent[0].contains("<Expression>SELECT s._1, s._2 FROM S3Object s</Expression>"));
    assert!(sent[0].contains("<Comments>#</Comments>"));
}

#[tokio::test]
async fn an_answer_may_be_empty_and_hold_events_without_rows() {
    let frames = [event("Cont", b""), event("Later", b"x"), stats(-1, -1, 0), end()];
    let store = Store::start(vec![stream(&frames)], &[]).await;
    let call = call();
    let metrics = Arc::clone(&call.metrics);
    assert_eq!(run(&store, call).await.unwrap().len(), 0);
    assert_eq!(metrics.counts().bytes_scanned.known(), None);
    assert_eq!(metrics.counts().bytes_returned.known(), Some(0));
}

#[tokio::test]
async fn the_shape_of_an_answer_is_that_of_its_schema() {
    let json = "{\"s\":\"row 1\",\"n\":1}\n{\"n\":null}\n";
    let count = SelectCall { schema: Arc::new(Schema::empty()), ..call() };
    let mut as_json = call();
    as_json.request.output = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
    let replies = vec![stream(&complete("1\n1\n1\n")), stream(&complete(json))];
    let store = Store::start(replies, &[]).await;
    let batches = run(&store, count).await.unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
    let batches = run(&store, as_json).await.unwrap();
    assert_eq!(rows(&batches), [(Some(1), Some("row 1".to_owned())), (None, None)]);
}

#[tokio::test]
async fn an_error_frame_is_decoded_and_a_hopeless_one_is_final() {
    let failed = || error_frame("CastFailed", "'x' is no INT");
    let refused = "the store refuses the request: CastFailed: 'x' is no INT";
    check_error(vec![stream(&[failed()])], refused).await;
    check_error(vec![stream(&[records(csv(&five()).as_bytes()), failed()])], refused).await;
}

#[tokio::test]
async fn a_passing_error_frame_is_waited_out() {
    let busy = || error_frame("SlowDown", "later");
    let text = csv(&five());
    let half = records(&text.as_bytes()[..25]);
    let replies = || {
        vec![
            stream(&[busy()]),
            stream(&[half.clone(), error_frame("InternalError", "oops")]).e_tag("v1"),
            stream(&complete(&text)).e_tag("v1"),
        ]
    };
    check_five(replies(), 3).await;
    let four = vec![stream(&[busy()]), stream(&[busy()]), stream(&[busy()]), stream(&[busy()])];
    let given_up = "`key` in bucket `bucket` could not be read in 4 attempts: \
                    the store says SlowDown: later";
    check_error(four, given_up).await;
}

#[tokio::test]
async fn an_answer_without_end_is_a_failure_however_it_stops() {
    let text = csv(&five());
    let frames = complete(&text);
    let whole: Vec<u8> = frames.concat();
    let first = frames[0].len();
    // Nothing, half a frame, a whole frame, all but the End event.
    for cut in [0, 10, first / 2, first, first + frames[1].len(), whole.len() - 1] {
        for reply in [Reply::ended(&whole[..cut]), Reply::torn(&whole[..cut])] {
            check_five(vec![reply.e_tag("v1"), stream(&frames).e_tag("v1")], 2).await;
        }
    }
    let stopped = "`key` in bucket `bucket` could not be read in 4 attempts: \
                   the answer stopped without its End event";
    let never = || Reply::ended(&frames[0]).e_tag("v1");
    check_error(vec![never(), never(), never(), never()], stopped).await;
}

#[tokio::test]
async fn nothing_follows_the_end_of_an_answer() {
    let frames = complete(&csv(&five()));
    let unusable =
        "the answer for `key` in bucket `bucket` cannot be used: more follows its End event";
    let again = [&frames[..], &frames[..]].concat();
    let more = [&frames[..], &[records(b"6,row 6\n")]].concat();
    let twice = [&frames[..], &[end()]].concat();
    let blurred =
        [&frames[..], &[[vec![0, 0, 0, 32, 0, 0, 0, 0], vec![b'x'; 24]].concat()]].concat();
    for frames in [again, more, twice, blurred] {
        check_error(vec![stream(&frames)], unusable).await;
    }
}

#[tokio::test]
async fn a_damaged_frame_is_asked_for_again() {
    let frames = complete(&csv(&five()));
    for at in [5, 9, 40, frames[0].len() - 1] {
        let mut damaged = frames.concat();
        damaged[at] ^= 0x01;
        let replies = vec![Reply::ended(&damaged), stream(&frames)];
        check_five(replies, 2).await;
    }
    let absurd = [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    check_five(vec![Reply::ended(&absurd), stream(&frames)], 2).await;
}

#[tokio::test]
async fn requests_without_an_answer_are_repeated() {
    let frames = complete(&csv(&five()));
    let busy = || Reply::error(503, "SlowDown", "later");
    check_five(vec![busy(), busy(), stream(&frames)], 3).await;
    check_five(vec![Reply::hang_up(), stream(&frames)], 2).await;
    let given_up = "`key` in bucket `bucket` could not be read in 3 attempts: \
                    the store says SlowDown: later";
    check_error(vec![busy(), busy(), busy()], given_up).await;
}

#[tokio::test]
async fn errors_before_the_answer_are_told_apart() {
    let check = async |reply: Reply, expected: &str| check_error(vec![reply], expected).await;
    let missing = "there is no object `key` in bucket `bucket`";
    check(Reply::error(404, "NoSuchKey", "x"), missing).await;
    check(Reply::error(404, "NoSuchBucket", "x"), "there is no bucket `bucket`").await;
    let denied = "the store does not know the access key (InvalidAccessKeyId)";
    check(Reply::error(403, "InvalidAccessKeyId", "x"), denied).await;
    let refused = "the store refuses the request: ParseSelectFailure: near CASE";
    check(Reply::error(400, "ParseSelectFailure", "near CASE"), refused).await;
    let refused = "the store refuses the request: NotImplemented: no Select here";
    check(Reply::error(501, "NotImplemented", "no Select here"), refused).await;
    let elsewhere = "bucket `bucket` is in region eu-west-1";
    let reply = Reply::error(301, "PermanentRedirect", "x");
    check(reply.header("x-amz-bucket-region", "eu-west-1"), elsewhere).await;
    let page = Reply::page(400, "<html>this is no S3 store</html>");
    check(page, "the store refuses the request: Unknown: HTTP status 400").await;
}

#[tokio::test]
async fn an_anonymous_client_falls_back_where_select_wants_a_signature() {
    let store = Store::start(vec![Reply::error(403, "AccessDenied", "x")], &[]).await;
    let options = ConnectOptions { anonymous: true, credentials: None, ..options(&store) };
    let error = run_with(&options, StoreCapabilities::sluice(), call()).await.unwrap_err();
    assert!(error.is_refusal(), "{error}");
    assert!(!store.requests()[0].to_ascii_lowercase().contains("authorization:"));
}

#[tokio::test]
async fn a_changed_object_is_an_error() {
    let text = csv(&five());
    let part = || Reply::ended(&records(&text.as_bytes()[..40]));
    let whole = || stream(&complete(&text));
    let changed = "`key` in bucket `bucket` changed while it was being read";
    // The change is visible in the heads of the answers.
    check_error(vec![part().e_tag("v1"), whole().e_tag("v2")], changed).await;
    let pinned = |e_tag: &str| SelectCall { e_tag: Some(e_tag.to_owned()), ..call() };
    let store = Store::start(vec![whole().e_tag("v2")], &[]).await;
    assert_eq!(run(&store, pinned("v1")).await.unwrap_err().to_string(), changed);
    // The change is visible only with HEAD, which is sent before resuming and at the end.
    let store = Store::start(vec![part()], &["v2"]).await;
    assert_eq!(run(&store, pinned("v1")).await.unwrap_err().to_string(), changed);
    let store = Store::start(vec![part(), whole()], &["v1", "v2"]).await;
    assert_eq!(run(&store, pinned("\"v1\"")).await.unwrap_err().to_string(), changed);
    // The version stays the same.
    let store = Store::start(vec![part(), whole()], &["v1", "v1"]).await;
    let call = pinned("v1");
    let metrics = Arc::clone(&call.metrics);
    assert_eq!(rows(&run(&store, call).await.unwrap()), five());
    assert_eq!(metrics.counts().head_requests, 2);
    assert_eq!(metrics.counts().bytes_scanned, Reported { bytes: 1000, missing: 1 });
}

#[tokio::test]
async fn rows_of_an_unknown_version_are_not_resumed() {
    let text = csv(&five());
    let replies = vec![Reply::ended(&records(&text.as_bytes()[..40]))];
    let reason = "`key` in bucket `bucket` could not be read in 1 attempts: the answer stopped \
                  without its End event; it cannot be resumed, because the object's version is \
                  not known";
    check_error(replies, reason).await;
    // Before the first returned row, there is nothing to resume.
    let replies = vec![
        Reply::ended(&records(&text.as_bytes()[..12])).e_tag("v1"),
        stream(&complete(&text)).e_tag("v2"),
    ];
    check_five(replies, 2).await;
}

#[tokio::test]
async fn a_store_that_does_not_repeat_itself_is_an_error() {
    let mut other = five();
    other.swap(0, 1);
    let part = Reply::ended(&records(&csv(&five()).as_bytes()[..40])).e_tag("v1");
    let replies = vec![part, stream(&complete(&csv(&other))).e_tag("v1")];
    let differs = "the answer for `key` in bucket `bucket` cannot be used: \
                   the store answered differently when the request was repeated";
    check_error(replies, differs).await;
}

#[tokio::test]
async fn values_that_do_not_fit_their_columns_are_named() {
    let store = Store::start(vec![stream(&complete("1,a\n2,b\nx,c\n"))], &[]).await;
    let error = run(&store, call()).await.unwrap_err();
    assert!(matches!(error, Error::BadAnswer { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("'x'") && message.contains("(after 2 valid rows)"), "{message}");
}

#[tokio::test]
async fn a_store_that_is_not_there_is_named() {
    let store = Store::start(vec![], &[]).await;
    let options = ConnectOptions {
        // A port on which no server listens.
        endpoint: Some("http://127.0.0.1:1".to_owned()),
        request_attempts: 1,
        ..options(&store)
    };
    let error = run_with(&options, StoreCapabilities::sluice(), call()).await.unwrap_err();
    let Error::Unreachable { endpoint, reason } = error else { panic!("{error:?}") };
    assert_eq!(Some(endpoint), options.endpoint);
    assert!(reason.contains("refused"), "{reason}");
}

/// The SDK would panic on these credentials.
#[tokio::test]
async fn credentials_that_no_header_carries_are_refused() {
    let store = Store::start(vec![], &[]).await;
    for (id, secret, token, what) in [
        ("me\nx", "secret", None, "access key ID"),
        ("me", "secret", Some("a b".to_owned()), "session token"),
        ("me", "secret\n", None, "secret access key"),
    ] {
        let credentials = Credentials { session_token: token, ..Credentials::new(id, secret) };
        let options = ConnectOptions { credentials: Some(credentials), ..options(&store) };
        let client = Client::connect(&options, StoreCapabilities::sluice()).await.unwrap();
        for error in [
            client.buckets().await.unwrap_err(),
            client.ensure_bucket("bucket").await.unwrap_err(),
            client.head("bucket", "key").await.unwrap_err(),
            run_with(&options, StoreCapabilities::sluice(), call()).await.unwrap_err(),
        ] {
            assert!(matches!(error, Error::InvalidCredentials { .. }), "{error:?}");
            assert!(error.to_string().contains(what), "{error}");
        }
    }
    assert!(store.requests().is_empty());
}

/// Answers that fall silent. Each sends at least as much as those before it.
fn silences() -> [Reply; 4] {
    let all = records(csv(&five()).as_bytes());
    [
        Reply::mute(),
        Reply::silent(b"").e_tag("v1"),
        Reply::silent(&all[..40]).e_tag("v1"),
        Reply::silent(&all).e_tag("v1"),
    ]
}

/// Runs a call with an idle time-out of two seconds. Returns its result and the number of silent requests.
async fn impatient(replies: Vec<Reply>) -> (Result<Vec<RecordBatch>, Error>, u64) {
    let store = Store::start(replies, &[]).await;
    let options = ConnectOptions { idle_timeout: Duration::from_secs(2), ..options(&store) };
    let call = call();
    let metrics = Arc::clone(&call.metrics);
    let answer = run_with(&options, StoreCapabilities::sluice(), call).await;
    assert_eq!(store.unused(), 0);
    (answer, metrics.counts().silences)
}

#[tokio::test]
async fn who_falls_silent_is_asked_once_more() {
    let whole = || stream(&complete(&csv(&five()))).e_tag("v1");
    let cases = silences().map(|silence| impatient(vec![silence, whole()]));
    for (answer, silences) in futures::future::join_all(cases).await {
        assert_eq!(rows(&answer.unwrap()), five());
        assert_eq!(silences, 1);
    }
}

#[tokio::test]
async fn who_says_nothing_new_is_not_asked_again() {
    let silences = silences();
    let mut cases = Vec::new();
    for (number, first) in silences.iter().enumerate() {
        for second in &silences[..=number] {
            cases.push(impatient(vec![first.clone(), second.clone()]));
        }
    }
    for (answer, silences) in futures::future::join_all(cases).await {
        assert_eq!(
            answer.unwrap_err().to_string(),
            "the store says nothing about `key` in bucket `bucket`: it was silent for 2s"
        );
        assert_eq!(silences, 2);
    }
    // An answer that breaks off in between changes nothing, and neither does an answer without a complete row.
    let torn = Reply::torn(&records(&csv(&five()).as_bytes()[..4])).e_tag("v1");
    let rowless = Reply::silent(&records(b"1,")).e_tag("v1");
    let last = || silences[3].clone();
    let cases = [vec![last(), torn, last()], vec![rowless.clone(), rowless]].map(impatient);
    for (answer, _) in futures::future::join_all(cases).await {
        assert!(matches!(answer, Err(Error::Silent { .. })), "{answer:?}");
    }
}

#[tokio::test]
async fn a_call_may_be_more_patient_than_its_client() {
    let text = csv(&five());
    let late = stream(&complete(&text)).late();
    let store = Store::start(vec![late.clone(), late.clone(), late], &[]).await;
    let hasty = ConnectOptions { idle_timeout: Duration::from_millis(100), ..options(&store) };
    let error = run_with(&hasty, StoreCapabilities::sluice(), call()).await.unwrap_err();
    assert!(matches!(error, Error::Silent { .. }), "{error:?}");
    let patient = SelectCall { idle_timeout: Some(Duration::from_secs(20)), ..call() };
    let batches = run_with(&hasty, StoreCapabilities::sluice(), patient).await.unwrap();
    assert_eq!(rows(&batches), five());
}

/// Damages one byte of an answer, for every byte.
#[tokio::test]
async fn a_flipped_bit_of_an_answer_is_noticed() {
    let text = csv(&five());
    let good = [records(text.as_bytes()), event("Cont", b""), counted(&text), end()].concat();
    let (runtime, whole) = (tokio::runtime::Handle::current(), good.clone());
    tokio::task::spawn_blocking(move || {
        let store = runtime.block_on(Store::start(vec![], &[]));
        let options = ConnectOptions { idle_timeout: Duration::from_secs(20), ..options(&store) };
        let connected = Client::connect(&options, StoreCapabilities::sluice());
        let client = runtime.block_on(connected).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            // A frame whose length exceeds its content is an answer that breaks off.
            store.play(vec![Reply::ended(&bad).e_tag("v1"), Reply::ended(&whole).e_tag("v1")]);
            let batches: Result<Vec<RecordBatch>, Error> =
                runtime.block_on(async { client.select(call()).await?.try_collect().await });
            assert_eq!(rows(&batches.unwrap()), five(), "byte {at}");
            assert_eq!(store.unused(), 0, "byte {at} was not missed");
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn nothing_is_sent_that_the_profile_does_not_admit() {
    let store = Store::start(vec![], &[]).await;
    let error =
        run_with(&options(&store), StoreCapabilities::get_only(), call()).await.unwrap_err();
    assert!(error.is_refusal(), "{error}");
    assert_eq!(store.requests().len(), 0);
}

#[tokio::test]
async fn what_other_clients_need_is_there() {
    let store = Store::start(vec![], &["v1"]).await;
    let client = Client::connect(&options(&store), StoreCapabilities::sluice()).await.unwrap();
    assert_eq!(client.credentials().await.unwrap(), options(&store).credentials);
    assert_eq!(client.endpoint(), Some(store.endpoint().as_str()));
    assert_eq!((client.region(), client.path_style()), ("us-east-1", true));
    let shown = format!("{client:?}");
    assert!(!shown.contains("secret"), "{shown}");
    let head = client.head("bucket", "key").await.unwrap();
    assert_eq!(head, ObjectHead { size: 7, e_tag: Some("\"v1\"".to_owned()) });
    let error = client.head("bucket", "gone").await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error:?}");
}

/// All cases share one client and one runtime, because making a TLS configuration takes longer than a case.
fn shared() -> &'static (Runtime, Store, Client) {
    static SHARED: OnceLock<(Runtime, Store, Client)> = OnceLock::new();
    SHARED.get_or_init(|| {
        let runtime = Runtime::new().unwrap();
        let (store, client) = runtime.block_on(async {
            let store = Store::start(vec![], &[]).await;
            let client = Client::connect(&options(&store), StoreCapabilities::sluice()).await;
            (store, client.unwrap())
        });
        (runtime, store, client)
    })
}

proptest! {
    /// The rows are those of the answer, each once, for any division into frames and chunks and any number of breaks.
    #[test]
    fn cut_answers_give_exactly_the_rows(
        expected in prop::collection::vec(
            (any::<Option<i64>>(), prop::option::of("[a\"\n\ré,☃']{1,6}")), 0..30),
        frame_sizes in prop::collection::vec(1_usize..60, 1..6),
        chunk_size in 1_usize..200,
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..5),
        batch_size in 1_usize..6,
    ) {
        let text = csv(&expected);
        let mut frames = Vec::new();
        let mut left = text.as_bytes();
        for size in frame_sizes.iter().cycle() {
            if left.is_empty() {
                break;
            }
            let (payload, rest) = left.split_at((*size).min(left.len()));
            frames.extend([records(payload), event("Cont", b"")]);
            left = rest;
        }
        frames.extend([counted(&text), end()]);
        let bytes = frames.concat();
        let mut replies: Vec<Reply> = cuts
            .iter()
            .map(|(at, torn)| {
                let part = &bytes[..at.index(bytes.len())];
                let reply = if *torn { Reply::torn(part) } else { Reply::ended(part) };
                reply.e_tag("v1").chunked(chunk_size)
            })
            .collect();
        replies.push(Reply::ended(&bytes).e_tag("v1").chunked(chunk_size));
        let (runtime, store, client) = shared();
        store.play(replies);
        let mut call = SelectCall { batch_size, e_tag: Some("\"v1\"".to_owned()), ..call() };
        call.retry.stream_attempts = 6;
        let batches: Result<Vec<RecordBatch>, Error> =
            runtime.block_on(async { client.select(call).await?.try_collect().await });
        prop_assert_eq!(rows(&batches.unwrap()), expected);
    }
}
