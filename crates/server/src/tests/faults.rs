use bytes::Bytes;

use crate::{Fault, Operation, Rule};

use super::*;

#[tokio::test]
async fn requests_fail_as_told() {
    let fixture = Fixture::new().await;
    fixture.put("a.csv", "1\n").await;
    fixture.put("b.csv", "2\n").await;
    let faults = fixture.server.faults();
    let get = |key: &str| fixture.client.get_object().bucket("bucket").key(key).send();

    faults.inject(Rule::new(Operation::GetObject, Fault::SlowDown).key("b*"));
    assert!(get("a.csv").await.is_ok());
    assert_eq!(code(&get("b.csv").await.unwrap_err()), "503 SlowDown");
    assert!(get("b.csv").await.is_ok());

    faults.inject(Rule::new(Operation::GetObject, Fault::Cut).nth(2));
    assert!(get("a.csv").await.is_ok());
    assert_eq!(code(&get("a.csv").await.unwrap_err()), "cut");
    assert!(get("a.csv").await.is_ok());

    faults.inject(Rule::new(Operation::HeadObject, Fault::InternalError));
    let head = fixture.client.head_object().bucket("bucket").key("a.csv").send().await;
    assert_eq!(head.unwrap_err().raw_response().unwrap().status().as_u16(), 500);
    assert_eq!(faults.struck(), 3);
}

#[tokio::test]
async fn a_body_is_cut() {
    let fixture = Fixture::new().await;
    fixture.put("k", bytes(3_000_000)).await;
    let cut = Fault::CutBody { after: 1_000_000 };
    fixture.server.faults().inject(Rule::new(Operation::GetObject, cut));
    let got = fixture.client.get_object().bucket("bucket").key("k").send().await.unwrap();
    assert!(got.body.collect().await.is_err());
    assert!(fixture.get("k").await == bytes(3_000_000));
}

#[tokio::test]
async fn an_object_is_replaced_between_two_requests() {
    let fixture = Fixture::new().await;
    let old = fixture.put("k", "old").await;
    let replace = Fault::ReplaceObject(Bytes::from_static(b"new!"));
    fixture.server.faults().inject(Rule::new(Operation::GetObject, replace).nth(2));
    assert_eq!(fixture.get("k").await, b"old");
    let stale = fixture.client.get_object().bucket("bucket").key("k").if_match(&old).send().await;
    assert_eq!(code(&stale.unwrap_err()), "412 PreconditionFailed");
    assert_eq!(fixture.get("k").await, b"new!");
}

#[tokio::test]
async fn a_full_disk_leaves_the_old_object() {
    let fixture = Fixture::new().await;
    fixture.put("k", "old").await;
    let full = Fault::DiskFull { after: 600_000 };
    fixture.server.faults().inject(Rule::new(Operation::PutObject, full));
    let put = fixture.client.put_object().bucket("bucket").key("k").body(bytes(2_000_000).into());
    assert_eq!(code(&put.send().await.unwrap_err()), "507 InsufficientStorage");
    assert_eq!(fixture.get("k").await, b"old");
    let temporary = fixture.folder.path().join(".sluice/tmp");
    assert_eq!(std::fs::read_dir(temporary).unwrap().count(), 0);
}

#[tokio::test]
async fn a_body_falls_silent_or_is_damaged() {
    let fixture = Fixture::new().await;
    fixture.put("k", bytes(300_000)).await;
    let get = || fixture.client.get_object().bucket("bucket").key("k").send();
    let silent = Fault::SilentBody { after: 100_000 };
    fixture.server.faults().inject(Rule::new(Operation::GetObject, silent));
    let mut got = get().await.unwrap();
    let mut arrived = 0;
    while arrived < 100_000 {
        arrived += got.body.next().await.unwrap().unwrap().len();
    }
    assert_eq!(arrived, 100_000);
    let next = tokio::time::timeout(std::time::Duration::from_millis(200), got.body.next()).await;
    assert!(next.is_err(), "{next:?}");
    // The SDK compares the checksum of a whole object.
    let flip = || Rule::new(Operation::GetObject, Fault::FlipBody { at: 200_001 });
    fixture.server.faults().inject(flip());
    assert!(get().await.unwrap().body.collect().await.is_err());
    fixture.server.faults().inject(flip());
    let range = fixture.client.get_object().bucket("bucket").key("k").range("bytes=1-299999");
    let damaged = range.send().await.unwrap().body.collect().await.unwrap().to_vec();
    let good = bytes(300_000)[1..].to_vec();
    let differing: Vec<_> = (0..good.len()).filter(|at| good[*at] != damaged[*at]).collect();
    assert_eq!(differing, [200_001]);
    assert!(fixture.get("k").await[1..] == good);
}
