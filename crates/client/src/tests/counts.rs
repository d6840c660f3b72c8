//! Answers with lost or repeated messages, each of which is intact.

use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow_ipc::writer::StreamWriter;

use super::*;

#[tokio::test]
async fn a_message_that_is_lost_or_repeated_is_noticed() {
    let text = csv(&five());
    let whole = complete(&text);
    // The first message ends at a row, and has more or fewer rows than are returned before the End event.
    for cut in [10, 20, 25, 40] {
        let (head, tail) = text.as_bytes().split_at(cut);
        let [head, tail] = [head, tail].map(records);
        let rest = || [counted(&text), end()];
        for messages in [vec![&tail], vec![&head], vec![&tail, &head, &tail], vec![]] {
            let frames: Vec<_> = messages.into_iter().cloned().chain(rest()).collect();
            let store =
                Store::start(vec![stream(&frames).e_tag("v1"), stream(&whole).e_tag("v1")], &[]);
            let store = store.await;
            let answer = run(&store, call()).await;
            // Rows that were returned cannot be taken back.
            match answer {
                Ok(batches) => assert_eq!(rows(&batches), five(), "{cut}"),
                Err(error) => assert!(matches!(error, Error::BadAnswer { .. }), "{cut}: {error:?}"),
            }
            assert!(store.requests().len() <= 2);
        }
    }
    let [head, tail] = [&text[..30], &text[30..]].map(|part| records(part.as_bytes()));
    let lost = [head.clone(), counted(&text), end()];
    let again = || stream(&lost).e_tag("v1");
    check_error(
        vec![again(), again(), again(), again()],
        "`key` in bucket `bucket` could not be read in 4 attempts: the answer has 30 bytes of records, \
         and its Stats event counts 50",
    )
    .await;
    // A repeated answer may also lack a message.
    let replies = vec![again(), stream(&[counted(&text), end()]), again(), stream(&whole)];
    check_five(replies.into_iter().map(|reply| reply.e_tag("v1")).collect(), 4).await;
    // The rows come once, whether or not the Stats event was lost.
    check_five(vec![stream(&[head, tail, end()]).e_tag("v1"), stream(&whole).e_tag("v1")], 2).await;
}

/// Stores differ in the bytes that they count, and in how they end an answer.
#[tokio::test]
async fn an_answer_is_held_to_what_its_store_is_known_to_send() {
    let text = csv(&five());
    let (all, cut) = (text.as_bytes(), &text.as_bytes()[..text.len() - 1]);
    let length = i64::try_from(all.len()).unwrap();
    let counted = |rows: &[u8], count: i64| vec![records(rows), stats(-1, -1, count), end()];
    // The frames of an answer, and the profiles that refuse it.
    let cases = [
        (counted(cut, length - 1), ["sluice", "aws", "minio"].as_slice()),
        (vec![records(all), end()], &["sluice", "aws", "minio"]),
        (counted(all, length + 1), &["sluice", "aws", "minio"]),
        (counted(&all[..20], length), &["sluice", "aws", "minio"]),
        (counted(all, length - 1), &["sluice", "minio"]),
        (counted(all, -1), &["sluice", "minio"]),
        (counted(all, length), &[]),
    ];
    for profile in StoreCapabilities::all().into_iter().filter(StoreCapabilities::has_select) {
        for (frames, refused_by) in &cases {
            let whole = complete(&text);
            let is_refused = refused_by.contains(&profile.name.as_str());
            if !is_refused && frames[0].len() < records(cut).len() {
                // No check can detect this.
                continue;
            }
            let replies = vec![stream(frames).e_tag("v1"), stream(&whole).e_tag("v1")];
            let store = Store::start(replies, &[]).await;
            let answer = run_with(&options(&store), profile.clone(), call()).await;
            let (case, name) = (frames.len(), &profile.name);
            assert_eq!(rows(&answer.unwrap()), five(), "{name}, {case} frames");
            assert_eq!(store.unused(), usize::from(!is_refused), "{name}, {case} frames");
        }
    }
}

#[tokio::test]
async fn who_only_says_that_it_goes_on_is_given_up() {
    let progress = "<Progress><BytesScanned>9</BytesScanned><BytesProcessed>9</BytesProcessed>\
         <BytesReturned>0</BytesReturned></Progress>";
    let quiet = [
        [event("Cont", b""), event("Later", b"x"), records(b""), stats(1, 1, 1)].concat(),
        // Unchanged figures do not count as progress.
        event("Progress", progress.as_bytes()),
    ];
    let given_up = quiet.map(|quiet| async move {
        let store = Store::start(vec![Reply::dripping(&quiet), Reply::dripping(&quiet)], &[]).await;
        let idle_timeout = Duration::from_millis(500);
        let options = ConnectOptions { idle_timeout, ..options(&store) };
        let mut call = call();
        call.request.progress = true;
        let metrics = Arc::clone(&call.metrics);
        let error = run_with(&options, StoreCapabilities::sluice(), call).await.unwrap_err();
        let Error::Endless { waited, .. } = error else { panic!("{error:?}") };
        assert_eq!(waited, 20 * idle_timeout);
        assert_eq!(metrics.counts().silences, 1);
        // The request is not repeated, because the store has received it.
        assert_eq!(store.unused(), 1);
    });
    futures::future::join_all(given_up).await;
}

/// A repeated answer in Arrow may have other batches, but not other rows.
#[tokio::test]
async fn a_repeated_answer_in_arrow_has_the_rows_that_were_returned() {
    let sent = |batches: &[&[i64]]| {
        let batch = |numbers: &[i64]| {
            let texts: StringArray = numbers.iter().map(|n| Some(format!("{n}"))).collect();
            let numbers = Int64Array::from(numbers.to_vec());
            let columns: [(&str, ArrayRef); 2] =
                [("c0", Arc::new(numbers)), ("c1", Arc::new(texts))];
            RecordBatch::try_from_iter_with_nullable(columns.map(|(name, it)| (name, it, true)))
        };
        let mut writer = StreamWriter::try_new(Vec::new(), &batch(&[]).unwrap().schema()).unwrap();
        batches.iter().for_each(|numbers| writer.write(&batch(numbers).unwrap()).unwrap());
        writer.finish().unwrap();
        writer.into_inner().unwrap()
    };
    let arrow = || {
        let mut call = call();
        call.request.output = OutputSerialization::Arrow("int64;utf8".parse().unwrap());
        call
    };
    let first = sent(&[&[0, 1, 2], &[3, 4], &[5]]);
    let cut = first.len() - 8;
    for (second, is_same) in [
        (vec![&[0, 1, 2, 3][..], &[4, 5, 6]], true),
        (vec![&[0], &[1], &[2], &[3], &[4], &[5], &[6]], true),
        (vec![&[0, 1, 2, 3, 4, 5, 6]], true),
        (vec![&[10, 11, 12, 13, 14, 15, 16]], false),
        (vec![&[0, 1, 2, 3], &[4, 15, 16]], false),
        (vec![&[0, 1, 2, 3, 4]], false),
    ] {
        let second = sent(&second);
        let whole = [records(&second), stats(1000, 2000, second.len() as i64), end()];
        let replies =
            vec![stream(&[records(&first[..cut])]).e_tag("v1"), stream(&whole).e_tag("v1")];
        let store = Store::start(replies, &[]).await;
        match run(&store, arrow()).await {
            Ok(batches) => {
                let numbers: Vec<_> = rows(&batches).into_iter().map(|(n, _)| n.unwrap()).collect();
                assert!(is_same && numbers == [0, 1, 2, 3, 4, 5, 6], "{numbers:?}");
            }
            Err(error) => {
                assert!(!is_same && matches!(error, Error::BadAnswer { .. }), "{error:?}");
            }
        }
    }
}
