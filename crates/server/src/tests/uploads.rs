use aws_sdk_s3::types::{ChecksumAlgorithm, ChecksumMode, CompletedMultipartUpload, CompletedPart};

use crate::store::{Algorithm, Hasher};
use crate::{Fault, Operation, Rule};

use super::*;

const MIB: usize = 1024 * 1024;

async fn create(fixture: &Fixture, key: &str) -> String {
    let create = fixture.client.create_multipart_upload().bucket("bucket").key(key);
    let create = create.checksum_algorithm(ChecksumAlgorithm::Crc32).metadata("m", "1");
    create.send().await.unwrap().upload_id.unwrap()
}

async fn part(fixture: &Fixture, key: &str, id: &str, number: i32, data: &[u8]) -> CompletedPart {
    let part = fixture.client.upload_part().bucket("bucket").key(key).upload_id(id);
    let part = part.part_number(number).body(data.to_vec().into()).send().await.unwrap();
    CompletedPart::builder()
        .part_number(number)
        .set_e_tag(part.e_tag)
        .set_checksum_crc32(part.checksum_crc32)
        .build()
}

async fn complete(
    fixture: &Fixture,
    key: &str,
    id: &str,
    parts: Vec<CompletedPart>,
) -> Result<String, String> {
    let upload = CompletedMultipartUpload::builder().set_parts(Some(parts)).build();
    let complete = fixture.client.complete_multipart_upload().bucket("bucket").key(key);
    let result = complete.upload_id(id).multipart_upload(upload).send().await;
    result.map(|done| done.e_tag.unwrap()).map_err(|e| code(&e))
}

#[tokio::test]
async fn parts_become_one_object() {
    let fixture = Fixture::new().await;
    let data = bytes(11 * MIB);
    let id = create(&fixture, "big").await;
    let second = part(&fixture, "big", &id, 7, &data[5 * MIB..10 * MIB]).await;
    part(&fixture, "big", &id, 2, b"replaced later").await;
    let first = part(&fixture, "big", &id, 2, &data[..5 * MIB]).await;
    let third = part(&fixture, "big", &id, 9, &data[10 * MIB..]).await;
    assert!(fixture.keys().await.is_empty());

    let listed = fixture.client.list_parts().bucket("bucket").key("big").upload_id(&id);
    let listed = listed.max_parts(2).send().await.unwrap();
    let numbers: Vec<_> = listed.parts().iter().filter_map(|p| p.part_number()).collect();
    assert_eq!((numbers, listed.is_truncated()), (vec![2, 7], Some(true)));
    let uploads = fixture.client.list_multipart_uploads().bucket("bucket").send().await.unwrap();
    assert_eq!(uploads.uploads()[0].upload_id(), Some(id.as_str()));

    let disordered = vec![second.clone(), first.clone()];
    let refused = complete(&fixture, "big", &id, disordered).await;
    assert_eq!(refused.unwrap_err(), "400 InvalidPartOrder");
    let wrong = CompletedPart::builder().part_number(2).e_tag("\"wrong\"").build();
    assert_eq!(complete(&fixture, "big", &id, vec![wrong]).await.unwrap_err(), "400 InvalidPart");

    let etag = complete(&fixture, "big", &id, vec![first, second, third]).await.unwrap();
    assert!(etag.ends_with("-3\""), "{etag}");
    assert!(fixture.get("big").await == data);
    let get = || fixture.client.get_object().bucket("bucket").key("big");
    let whole = get().checksum_mode(ChecksumMode::Enabled).send().await.unwrap();
    assert!(whole.checksum_crc32.as_deref().is_some_and(|sum| sum.ends_with("-3")));
    assert_eq!(whole.metadata.as_ref().unwrap()["m"], "1");
    let part = get().part_number(2).send().await.unwrap();
    assert_eq!(part.parts_count, Some(3));
    assert_eq!(part.content_range.as_deref(), Some("bytes 5242880-10485759/11534336"));
    let gone = complete(&fixture, "big", &id, Vec::new()).await.unwrap_err();
    assert_eq!(gone, "404 NoSuchUpload");
}

#[tokio::test]
async fn small_parts_come_last() {
    let fixture = Fixture::new().await;
    let id = create(&fixture, "k").await;
    let parts =
        vec![part(&fixture, "k", &id, 1, b"1").await, part(&fixture, "k", &id, 2, b"2").await];
    let refused = complete(&fixture, "k", &id, parts.clone()).await;
    assert_eq!(refused.unwrap_err(), "400 EntityTooSmall");
    complete(&fixture, "k", &id, parts[1..].to_vec()).await.unwrap();
    assert_eq!(fixture.get("k").await, b"2");
}

#[tokio::test]
async fn an_aborted_upload_leaves_nothing() {
    let fixture = Fixture::new().await;
    let id = create(&fixture, "k").await;
    part(&fixture, "k", &id, 1, b"1").await;
    let abort = |id: &str| {
        fixture.client.abort_multipart_upload().bucket("bucket").key("k").upload_id(id).send()
    };
    abort(&id).await.unwrap();
    for id in [id.as_str(), "../../bucket", "nonsense"] {
        assert_eq!(code(&abort(id).await.unwrap_err()), "404 NoSuchUpload", "{id}");
    }
    let uploads = fixture.folder.path().join(".sluice/uploads");
    assert_eq!(std::fs::read_dir(uploads).unwrap().count(), 0);
}

#[tokio::test]
async fn parts_are_copied_from_objects() {
    let fixture = Fixture::new().await;
    let data = bytes(6 * MIB);
    fixture.put("from", data.clone()).await;
    let id = create(&fixture, "to").await;
    let mut parts = Vec::new();
    for (number, range) in [(1, "bytes=0-5242879"), (2, "bytes=5242880-6291455")] {
        let copy = fixture.client.upload_part_copy().bucket("bucket").key("to").upload_id(&id);
        let copy = copy.part_number(number).copy_source("bucket/from").copy_source_range(range);
        let result = copy.send().await.unwrap().copy_part_result.unwrap();
        let done = CompletedPart::builder().part_number(number).set_e_tag(result.e_tag);
        parts.push(done.set_checksum_crc32(result.checksum_crc32).build());
    }
    // A range beyond the source is refused instead of shortened.
    let copy = fixture.client.upload_part_copy().bucket("bucket").key("to").upload_id(&id);
    let copy = copy.part_number(3).copy_source("bucket/from").copy_source_range("bytes=5-6291456");
    assert_eq!(code(&copy.send().await.unwrap_err()), "416 InvalidRange");
    complete(&fixture, "to", &id, parts).await.unwrap();
    assert!(fixture.get("to").await == data);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_is_completed_once_however_often_it_is_asked_for() {
    let fixture = Fixture::new().await;
    for key in ["one part", "two parts"] {
        let data = bytes(if key == "one part" { MIB } else { 6 * MIB });
        let id = create(&fixture, key).await;
        let mut parts = Vec::new();
        for (number, data) in (1..).zip(data.chunks(5 * MIB)) {
            parts.push(part(&fixture, key, &id, number, data).await);
        }
        // Concurrent requests come from clients that believe their first request was lost.
        let again = || complete(&fixture, key, &id, parts.clone());
        let (first, second, third) = tokio::join!(again(), again(), again());
        let etag = first.unwrap();
        assert_eq!((second.unwrap(), third.unwrap()), (etag.clone(), etag.clone()));
        assert!(fixture.get(key).await == data);
        // Later versions remain.
        fixture.put(key, "later").await;
        assert_eq!(again().await.unwrap(), etag);
        assert_eq!(fixture.get(key).await, b"later");
        fixture.client.delete_object().bucket("bucket").key(key).send().await.unwrap();
        assert_eq!(again().await.unwrap(), etag);
        assert!(fixture.keys().await.is_empty());
        let other = complete(&fixture, key, &id, parts[..parts.len() - 1].to_vec()).await;
        assert!(other.is_err(), "{other:?}");
        let elsewhere = complete(&fixture, "elsewhere", &id, parts).await;
        assert_eq!(elsewhere.unwrap_err(), "404 NoSuchUpload");
    }
    let own = fixture.folder.path().join(".sluice");
    for name in ["uploads", "tmp"] {
        assert_eq!(std::fs::read_dir(own.join(name)).unwrap().count(), 0, "{name}");
    }
}

#[tokio::test]
async fn checksums_of_the_whole_are_those_of_its_bytes() {
    let fixture = Fixture::new().await;
    let data = bytes(6 * MIB);
    for algorithm in
        [ChecksumAlgorithm::Crc32, ChecksumAlgorithm::Crc32C, ChecksumAlgorithm::Crc64Nvme]
    {
        let create = fixture.client.create_multipart_upload().bucket("bucket").key("parts");
        let create = create
            .checksum_algorithm(algorithm.clone())
            .checksum_type(aws_sdk_s3::types::ChecksumType::FullObject);
        let id = create.send().await.unwrap().upload_id.unwrap();
        let mut parts = Vec::new();
        for (number, data) in (1..).zip(data.chunks(5 * MIB)) {
            let part = fixture.client.upload_part().bucket("bucket").key("parts").upload_id(&id);
            let part = part.checksum_algorithm(algorithm.clone()).part_number(number);
            let part = part.body(data.to_vec().into()).send().await.unwrap();
            let done = CompletedPart::builder().part_number(number).set_e_tag(part.e_tag);
            parts.push(done.build());
        }
        complete(&fixture, "parts", &id, parts).await.unwrap();
        let whole = fixture.client.put_object().bucket("bucket").key("whole");
        let whole = whole.checksum_algorithm(algorithm.clone()).body(data.clone().into());
        let whole = whole.send().await.unwrap();
        let head = fixture.client.head_object().bucket("bucket").key("parts");
        let head = head.checksum_mode(ChecksumMode::Enabled).send().await.unwrap();
        assert_eq!(head.checksum_crc32, whole.checksum_crc32);
        assert_eq!(head.checksum_crc32_c, whole.checksum_crc32_c);
        assert_eq!(head.checksum_crc64_nvme, whole.checksum_crc64_nvme);
        // The stored checksum is compared, too.
        assert!(fixture.get("parts").await == data);
    }
}

/// Tests what a client states about the object when it completes an upload of one part.
#[tokio::test]
async fn an_object_is_what_its_completion_states() {
    let fixture = Fixture::new().await;
    let data = bytes(MIB);
    let mut hasher = Hasher::new(Algorithm::ALL);
    hasher.update(&data);
    let sums = hasher.finish().checksums;
    let right = |algorithm: Algorithm| sums.get(algorithm).unwrap().to_owned();
    let wrong = |algorithm: Algorithm| {
        let zeros = right(algorithm).replace(|c: char| c != '=', "A");
        assert_ne!(zeros, right(algorithm));
        zeros
    };
    let (crc32, sha256, crc64) = (Algorithm::Crc32, Algorithm::Sha256, Algorithm::Crc64Nvme);
    const BAD: Option<&str> = Some("400 BadDigest");
    let kinds = [None, Some(ChecksumAlgorithm::Crc32), Some(ChecksumAlgorithm::Sha256)];
    for kind in kinds {
        for (algorithm, value, expected) in [
            (crc32, wrong(crc32), BAD),
            (sha256, wrong(sha256), BAD),
            (crc64, wrong(crc64), BAD),
            (crc64, right(crc64), None),
            (crc32, right(crc32), None),
            (sha256, right(sha256), None),
        ] {
            let create = fixture.client.create_multipart_upload().bucket("bucket").key("k");
            let create = create.set_checksum_algorithm(kind.clone()).send().await.unwrap();
            // The upload's own algorithm has a checksum of the parts' checksums.
            let named = |it: &ChecksumAlgorithm| it.as_str() == algorithm.name();
            let is_composite = create.checksum_algorithm().is_some_and(named);
            let expected = if is_composite { BAD } else { expected };
            let id = create.upload_id.unwrap();
            let part = fixture.client.upload_part().bucket("bucket").key("k").upload_id(&id);
            let part = part.set_checksum_algorithm(kind.clone()).part_number(1);
            let part = part.body(data.clone().into()).send().await.unwrap();
            let done = CompletedPart::builder().part_number(1).set_e_tag(part.e_tag).build();
            let parts = CompletedMultipartUpload::builder().parts(done).build();
            let complete = |value: &str, size: i64| {
                let complete = fixture.client.complete_multipart_upload().bucket("bucket");
                let complete = complete.key("k").upload_id(&id).mpu_object_size(size);
                let complete = complete.multipart_upload(parts.clone());
                let complete = match algorithm {
                    Algorithm::Crc32 => complete.checksum_crc32(value),
                    Algorithm::Sha256 => complete.checksum_sha256(value),
                    _ => complete.checksum_crc64_nvme(value),
                };
                async move { complete.send().await.map(drop).map_err(|error| code(&error)) }
            };
            let size = data.len() as i64;
            let other_size = complete(&value, size - 1).await;
            assert_eq!(other_size.unwrap_err(), "400 InvalidRequest", "{kind:?} {algorithm:?}");
            let outcome = complete(&value, size).await;
            assert_eq!(outcome.err().as_deref(), expected, "{kind:?} {algorithm:?} {value}");
            if expected.is_none() {
                // A repeated request cannot change the object either.
                complete(&value, size).await.unwrap();
                assert_eq!(complete(&wrong(algorithm), size).await.unwrap_err(), "400 BadDigest");
                let other_size = complete(&value, size + 1).await;
                assert_eq!(other_size.unwrap_err(), "400 InvalidRequest");
            }
        }
    }
}

#[tokio::test]
async fn parts_have_the_checksums_of_their_upload() {
    let fixture = Fixture::new().await;
    let id = create(&fixture, "k").await;
    let other = fixture.client.upload_part().bucket("bucket").key("k").upload_id(&id);
    let other = other.checksum_algorithm(ChecksumAlgorithm::Sha256).part_number(1);
    let other = other.body(b"1".to_vec().into()).send().await.unwrap_err();
    assert_eq!(code(&other), "400 InvalidRequest");
    let known = part(&fixture, "k", &id, 1, b"1").await;
    let listed = |sha256: &str| {
        let part = CompletedPart::builder().part_number(1).set_e_tag(known.e_tag.clone());
        vec![part.checksum_sha256(sha256).build()]
    };
    let wrong = "A".repeat(43) + "=";
    let refused = complete(&fixture, "k", &id, listed(&wrong)).await;
    assert_eq!(refused.unwrap_err(), "400 InvalidPart");
    for (algorithm, kind) in [
        (ChecksumAlgorithm::from("FOO"), None),
        (ChecksumAlgorithm::Sha256, Some("FULL_OBJECT")),
        (ChecksumAlgorithm::Crc64Nvme, Some("COMPOSITE")),
        (ChecksumAlgorithm::Crc32, Some("FOO")),
    ] {
        let create = fixture.client.create_multipart_upload().bucket("bucket").key("k");
        let create = create.checksum_algorithm(algorithm).set_checksum_type(kind.map(Into::into));
        assert_eq!(code(&create.send().await.unwrap_err()), "400 InvalidRequest", "{kind:?}");
    }
}

#[tokio::test]
async fn an_abandoned_upload_expires() {
    let fixture = Fixture::new().await;
    let id = create(&fixture, "k").await;
    part(&fixture, "k", &id, 1, b"1").await;
    let Fixture { folder, server, .. } = fixture;
    server.shutdown().await;
    let uploads = || std::fs::read_dir(folder.path().join(".sluice/uploads")).unwrap().count();
    assert_eq!(uploads(), 1);
    let builder = Server::builder(folder.path()).sync_writes(false);
    let server = builder.upload_expiry(None).start().await.unwrap();
    server.shutdown().await;
    assert_eq!(uploads(), 1);
    let now = Some(std::time::Duration::ZERO);
    let server = Server::builder(folder.path()).upload_expiry(now).start().await.unwrap();
    for _ in 0..600 {
        if uploads() == 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(uploads(), 0);
    server.shutdown().await;
}

/// Tests over a raw connection, like any client's: the answer begins before the result is known, and blanks keep the
/// client from timing out.
#[tokio::test]
async fn a_completion_that_takes_long_keeps_its_client() {
    let fixture = Fixture::with(Builder::anonymous).await;
    for outcome in ["<CompleteMultipartUploadResult", "<Code>InvalidPart</Code>"] {
        let id = create(&fixture, "k").await;
        let known = part(&fixture, "k", &id, 1, b"123").await;
        let (e_tag, checksum) = (known.e_tag().unwrap(), known.checksum_crc32().unwrap());
        let e_tag = match outcome {
            "<CompleteMultipartUploadResult" => e_tag,
            _ => "\"0123456789abcdef0123456789abcdef\"",
        };
        let slow = Fault::SlowCompletion(std::time::Duration::from_millis(2500));
        let rule = Rule::new(Operation::CompleteMultipartUpload, slow);
        fixture.server.faults().inject(rule);
        let body = format!(
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{e_tag}</ETag>\
             <ChecksumCRC32>{checksum}</ChecksumCRC32></Part></CompleteMultipartUpload>"
        );
        let request = format!(
            "POST /bucket/k?uploadId={id} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{body}",
            body.len()
        );
        let answer = server::raw(fixture.server.address(), &request).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let (before, _) = body.split_once(outcome).unwrap_or_else(|| panic!("{answer}"));
        // The blanks are in chunks of one byte each.
        let blanks = before.matches("1\r\n \r\n").count();
        assert!(blanks >= 1, "{answer:?}");
    }
}
