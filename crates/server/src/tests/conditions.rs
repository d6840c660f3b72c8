use super::*;

use aws_sdk_s3::types::{Delete, ObjectIdentifier};

#[tokio::test]
async fn ranges() {
    let fixture = Fixture::new().await;
    let data = bytes(1_500_000);
    fixture.put("k", data.clone()).await;
    fixture.put("empty", "").await;
    let get = |key: &str, range: &str| {
        fixture.client.get_object().bucket("bucket").key(key).range(range).send()
    };
    for (range, expected, content_range) in [
        ("bytes=0-0", 0..1, "bytes 0-0/1500000"),
        ("bytes=7-1000006", 7..1_000_007, "bytes 7-1000006/1500000"),
        ("bytes=1499999-", 1_499_999..1_500_000, "bytes 1499999-1499999/1500000"),
        ("bytes=-5", 1_499_995..1_500_000, "bytes 1499995-1499999/1500000"),
        ("bytes=-9999999", 0..1_500_000, "bytes 0-1499999/1500000"),
        ("bytes=10-9999999", 10..1_500_000, "bytes 10-1499999/1500000"),
    ] {
        let got = get("k", range).await.unwrap();
        assert_eq!(got.content_range.as_deref(), Some(content_range));
        assert_eq!(got.content_length, Some(expected.len() as i64), "{range}");
        assert!(got.body.collect().await.unwrap().to_vec() == data[expected], "{range}");
    }
    for (key, range) in [("k", "bytes=1500000-"), ("empty", "bytes=0-"), ("empty", "bytes=-1")] {
        assert_eq!(code(&get(key, range).await.unwrap_err()), "416 InvalidRange", "{key} {range}");
    }
    assert!(fixture.get("empty").await.is_empty());
}

#[tokio::test]
async fn conditional_reads() {
    let fixture = Fixture::new().await;
    let etag = fixture.put("k", "1").await;
    let get = || fixture.client.get_object().bucket("bucket").key("k");
    let head = || fixture.client.head_object().bucket("bucket").key("k");
    assert!(get().if_match(&etag).send().await.is_ok());
    assert!(head().if_match(&etag).send().await.is_ok());
    let refused = get().if_match("\"other\"").send().await.unwrap_err();
    assert_eq!(code(&refused), "412 PreconditionFailed");
    // A client that already has the version gets its ETag again.
    let same = get().if_none_match(&etag).send().await.unwrap_err();
    let same = same.raw_response().unwrap();
    assert_eq!((same.status().as_u16(), same.headers().get("etag")), (304, Some(&*etag)));
    let same = head().if_none_match(&etag).send().await.unwrap_err();
    let same = same.raw_response().unwrap();
    assert_eq!((same.status().as_u16(), same.headers().get("etag")), (304, Some(&*etag)));
    let modified = head().send().await.unwrap().last_modified.unwrap();
    let unmodified = get().if_modified_since(modified).send().await.unwrap_err();
    let unmodified = unmodified.raw_response().unwrap();
    assert_eq!(
        (unmodified.status().as_u16(), unmodified.headers().get("etag")),
        (304, Some(&*etag))
    );
    assert!(get().if_unmodified_since(modified).send().await.is_ok());
}

/// These are conditions on the object that a copy replaces, not on its source.
#[tokio::test]
async fn conditional_copies() {
    let fixture = Fixture::new().await;
    let first = fixture.put("k", "1").await;
    fixture.put("source", "2").await;
    let copy = |to: &str, name: &'static str, value: String| {
        let copy = fixture.client.copy_object().bucket("bucket").key(to);
        let copy = copy.copy_source("bucket/source").customize();
        copy.mutate_request(move |request| {
            request.headers_mut().insert(name, value.clone());
        })
    };
    for (name, value) in [("if-none-match", "*".to_owned()), ("if-match", "\"0\"".to_owned())] {
        let refused = copy("k", name, value).send().await.unwrap_err();
        assert_eq!(code(&refused), "412 PreconditionFailed", "{name}");
    }
    let refused = copy("none", "if-match", first.clone()).send().await.unwrap_err();
    assert_eq!(code(&refused), "404 NoSuchKey");
    let refused = copy("k", "if-match", "\"".to_owned()).send().await.unwrap_err();
    assert_eq!(code(&refused), "400 InvalidArgument");
    assert_eq!(fixture.get("k").await, b"1");
    copy("k", "if-match", first).send().await.unwrap();
    copy("new", "if-none-match", "*".to_owned()).send().await.unwrap();
    assert_eq!((fixture.get("k").await, fixture.get("new").await), (b"2".into(), b"2".into()));
}

#[tokio::test]
async fn conditional_writes() {
    let fixture = Fixture::new().await;
    let put = |body: &str| {
        let body = body.as_bytes().to_vec().into();
        fixture.client.put_object().bucket("bucket").key("k").body(body)
    };
    let first = put("1").if_none_match("*").send().await.unwrap().e_tag.unwrap();
    let again = put("2").if_none_match("*").send().await.unwrap_err();
    assert_eq!(code(&again), "412 PreconditionFailed");
    assert_eq!(fixture.get("k").await, b"1");
    put("3").if_match(&first).send().await.unwrap();
    let stale = put("4").if_match(&first).send().await.unwrap_err();
    assert_eq!(code(&stale), "412 PreconditionFailed");
    assert_eq!(fixture.get("k").await, b"3");
    let delete = fixture.client.delete_object().bucket("bucket").key("k").if_match(&first);
    assert_eq!(code(&delete.send().await.unwrap_err()), "412 PreconditionFailed");
    let absent = fixture.client.put_object().bucket("bucket").key("none").if_match(&first);
    assert_eq!(code(&absent.send().await.unwrap_err()), "404 NoSuchKey");
}

#[tokio::test]
async fn conditions_that_are_not_offered_remove_nothing() {
    let fixture = Fixture::new().await;
    fixture.put("k", "1").await;
    let time = aws_sdk_s3::primitives::DateTime::from_secs(0);
    let delete = || fixture.client.delete_object().bucket("bucket").key("k");
    let other_size = delete().if_match_size(9).send().await.unwrap_err();
    assert_eq!(code(&other_size), "501 NotImplemented");
    let other_time = delete().if_match_last_modified_time(time).send().await.unwrap_err();
    assert_eq!(code(&other_time), "501 NotImplemented");
    let object = || ObjectIdentifier::builder().key("k");
    for object in [object().size(9), object().last_modified_time(time)] {
        let objects = Delete::builder().objects(object.build().unwrap()).build().unwrap();
        let delete = fixture.client.delete_objects().bucket("bucket").delete(objects);
        let answer = delete.send().await.unwrap();
        assert_eq!(answer.errors()[0].code(), Some("NotImplemented"));
        assert!(answer.deleted().is_empty());
    }
    assert_eq!(fixture.get("k").await, b"1");
}

#[tokio::test]
async fn of_many_that_create_one_succeeds() {
    let fixture = Fixture::new().await;
    let puts = (0..16).map(|i: u8| {
        let put = fixture.client.put_object().bucket("bucket").key("dir/k").if_none_match("*");
        put.body(vec![i; 1000].into()).send()
    });
    let results = futures::future::join_all(puts).await;
    let winners: Vec<_> = (0..16_u8).filter(|i| results[usize::from(*i)].is_ok()).collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(fixture.get("dir/k").await, vec![winners[0]; 1000]);
}
