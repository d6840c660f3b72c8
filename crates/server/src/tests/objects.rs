use std::fs;

use aws_sdk_s3::types::{
    ChecksumAlgorithm, ChecksumMode, ChecksumType, Delete, MetadataDirective, ObjectIdentifier,
};

use super::*;

#[tokio::test]
async fn an_object_comes_back_as_it_went_in() {
    let fixture = Fixture::new().await;
    let data = bytes(3_000_000);
    let put = fixture
        .client
        .put_object()
        .bucket("bucket")
        .key("dir/ä b+c%41.csv")
        .content_type("text/csv")
        .content_encoding("gzip")
        .cache_control("no-cache")
        .metadata("colour", "blue")
        .body(data.clone().into())
        .send()
        .await
        .unwrap();
    let got = fixture
        .client
        .get_object()
        .bucket("bucket")
        .key("dir/ä b+c%41.csv")
        .checksum_mode(ChecksumMode::Enabled)
        .send()
        .await
        .unwrap();
    assert_eq!(got.content_type.as_deref(), Some("text/csv"));
    assert_eq!(got.content_encoding.as_deref(), Some("gzip"));
    assert_eq!(got.cache_control.as_deref(), Some("no-cache"));
    assert_eq!(got.metadata.as_ref().unwrap()["colour"], "blue");
    assert_eq!(got.content_length, Some(3_000_000));
    assert_eq!(got.e_tag, put.e_tag);
    // The SDK sends a CRC32 as a trailer. The answer contains it, so the server has read and kept it.
    assert!(put.checksum_crc32.is_some());
    assert_eq!(got.checksum_crc32, put.checksum_crc32);
    assert_eq!(got.body.collect().await.unwrap().to_vec(), data);

    let head = fixture.client.head_object().bucket("bucket").key("dir/ä b+c%41.csv").send();
    let head = head.await.unwrap();
    assert_eq!(head.content_length, Some(3_000_000));
    assert_eq!(head.metadata.unwrap()["colour"], "blue");
    let on_disk = fs::read(fixture.folder.path().join("bucket/dir/ä b+c%41.csv")).unwrap();
    assert_eq!(on_disk, data);
}

#[tokio::test]
async fn difficult_keys() {
    let fixture = Fixture::new().await;
    let long = format!("{}/{}", "l".repeat(400), "m".repeat(600));
    let keys = [
        "a",
        "a/b",
        "a/b/c",
        "a/",
        "a//b",
        "/lead",
        "..",
        "../../etc/passwd",
        "x/../y",
        "./z",
        "~%q",
        "~=a",
        "tab\there",
        "new\nline",
        "ü",
        "plus+plus",
        "per%cent",
        "q?x=1&y#z",
        "é\u{301}",
        ".sluice/tmp/x",
        &long,
    ];
    for key in keys {
        let etag = fixture.put(key, key).await;
        assert_eq!(fixture.get(key).await, key.as_bytes(), "{key:?}");
        let head = fixture.client.head_object().bucket("bucket").key(key).send().await.unwrap();
        assert_eq!(head.e_tag, Some(etag), "{key:?}");
    }
    let mut sorted: Vec<_> = keys.iter().map(|key| (*key).to_owned()).collect();
    sorted.sort_unstable();
    assert_eq!(fixture.keys().await, sorted);
    // No file was written outside the bucket's directory.
    let mut names: Vec<_> = fs::read_dir(fixture.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [".sluice", "bucket"]);
    for key in keys {
        fixture.client.delete_object().bucket("bucket").key(key).send().await.unwrap();
    }
    fixture.client.delete_bucket().bucket("bucket").send().await.unwrap();
    let too_long = fixture.client.put_object().bucket("bucket").key("k".repeat(1025)).send().await;
    assert_eq!(code(&too_long.unwrap_err()), "400 KeyTooLongError");
}

#[tokio::test]
async fn a_body_that_is_not_what_it_says_is_refused() {
    let fixture = Fixture::new().await;
    let put = || fixture.client.put_object().bucket("bucket").key("k").body(bytes(100).into());
    let wrong = put().content_md5("CY9rzUYh03PK3k6DJie09g==").send().await.unwrap_err();
    assert_eq!(code(&wrong), "400 BadDigest");
    let wrong = put().checksum_crc32("AAAAAA==").send().await.unwrap_err();
    assert_eq!(code(&wrong), "400 BadDigest");
    let wrong = put().checksum_sha256("n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=").send();
    assert_eq!(code(&wrong.await.unwrap_err()), "400 BadDigest");
    assert!(fixture.keys().await.is_empty());
    for algorithm in [
        ChecksumAlgorithm::Crc32C,
        ChecksumAlgorithm::Crc64Nvme,
        ChecksumAlgorithm::Sha1,
        ChecksumAlgorithm::Sha256,
    ] {
        put().checksum_algorithm(algorithm.clone()).send().await.unwrap();
        let got = fixture.client.get_object().bucket("bucket").key("k");
        let got = got.checksum_mode(ChecksumMode::Enabled).send().await.unwrap();
        let told = [
            &got.checksum_crc32_c,
            &got.checksum_crc64_nvme,
            &got.checksum_sha1,
            &got.checksum_sha256,
        ];
        assert_eq!(told.iter().filter(|sum| sum.is_some()).count(), 1, "{algorithm}");
        assert_eq!(got.body.collect().await.unwrap().to_vec(), bytes(100));
    }
}

#[tokio::test]
async fn copies() {
    let fixture = Fixture::new().await;
    let put = fixture.client.put_object().bucket("bucket").key("from/a b");
    put.metadata("m", "1").content_type("text/csv").body(bytes(1000).into()).send().await.unwrap();
    let copy = |key: &str| {
        fixture.client.copy_object().bucket("bucket").key(key).copy_source("bucket/from/a%20b")
    };
    let copied = copy("to").send().await.unwrap().copy_object_result.unwrap();
    let head = fixture.client.head_object().bucket("bucket").key("to").send().await.unwrap();
    assert_eq!(head.e_tag, copied.e_tag);
    assert_eq!(head.content_type.as_deref(), Some("text/csv"));
    assert_eq!(head.metadata.unwrap()["m"], "1");
    assert_eq!(fixture.get("to").await, bytes(1000));

    let replace = copy("from/a b").metadata_directive(MetadataDirective::Replace);
    replace.metadata("n", "2").send().await.unwrap();
    let head = fixture.client.head_object().bucket("bucket").key("from/a b").send().await.unwrap();
    let metadata = head.metadata.unwrap();
    assert!(!metadata.contains_key("m") && metadata["n"] == "2");

    let onto_itself = copy("from/a b").send().await.unwrap_err();
    assert_eq!(code(&onto_itself), "400 InvalidRequest");
    let other = copy("to").copy_source_if_match("\"other\"").send().await.unwrap_err();
    assert_eq!(code(&other), "412 PreconditionFailed");
    let absent = fixture.client.copy_object().bucket("bucket").key("x").copy_source("bucket/none");
    assert_eq!(code(&absent.send().await.unwrap_err()), "404 NoSuchKey");
}

#[tokio::test]
async fn deletes() {
    let fixture = Fixture::new().await;
    for key in ["a", "b/c", "b/d"] {
        fixture.put(key, "x").await;
    }
    fixture.client.delete_object().bucket("bucket").key("never/was").send().await.unwrap();
    let full = fixture.client.delete_bucket().bucket("bucket").send().await.unwrap_err();
    assert_eq!(code(&full), "409 BucketNotEmpty");
    let object = |key: &str| ObjectIdentifier::builder().key(key).build().unwrap();
    let delete = Delete::builder().objects(object("a")).objects(object("b/c")).objects(object("z"));
    let deleted = fixture.client.delete_objects().bucket("bucket").delete(delete.build().unwrap());
    assert_eq!(deleted.send().await.unwrap().deleted().len(), 3);
    assert_eq!(fixture.keys().await, ["b/d"]);
    fixture.client.delete_object().bucket("bucket").key("b/d").send().await.unwrap();
    // A directory is removed with its last object.
    assert_eq!(fs::read_dir(fixture.folder.path().join("bucket")).unwrap().count(), 0);
    fixture.client.delete_bucket().bucket("bucket").send().await.unwrap();
    let gone = fixture.client.head_bucket().bucket("bucket").send().await.unwrap_err();
    assert_eq!(gone.raw_response().unwrap().status().as_u16(), 404);
    let gone = fixture.client.list_objects_v2().bucket("bucket").send().await.unwrap_err();
    assert_eq!(code(&gone), "404 NoSuchBucket");
}

#[tokio::test]
async fn what_belongs_to_an_object_survives_a_restart() {
    let fixture = Fixture::new().await;
    let put = fixture.client.put_object().bucket("bucket").key("k").metadata("m", "1");
    let etag = put.body(bytes(10).into()).send().await.unwrap().e_tag;
    let temporary = fixture.folder.path().join(".sluice/tmp/half");
    fs::write(&temporary, "left by a crash").unwrap();
    let Fixture { folder, server, .. } = fixture;
    server.shutdown().await;
    let server = Server::builder(folder.path()).start().await.unwrap();
    let client = client(&server.endpoint(), server.access_key(), server.secret_key());
    let head = client.head_object().bucket("bucket").key("k").send().await.unwrap();
    assert_eq!(head.e_tag, etag);
    assert_eq!(head.metadata.unwrap()["m"], "1");
    assert!(!temporary.exists());
}

#[tokio::test]
async fn damage_on_disk_breaks_a_get_off() {
    let fixture = Fixture::new().await;
    let path = fixture.folder.path().join("bucket/k");
    for size in [1000, 3_000_000] {
        fixture.put("k", bytes(size)).await;
        // This is what a failing disk does, without a new time.
        let file = fs::File::options().write(true).open(&path).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        std::io::Write::write_all(&mut &file, b"?").unwrap();
        file.set_modified(modified).unwrap();

        let got = fixture.client.get_object().bucket("bucket").key("k").send().await;
        if let Ok(got) = got {
            assert!(got.body.collect().await.is_err(), "{size}");
        }
        let copy = fixture.client.copy_object().bucket("bucket").key("copy");
        let copied = copy.copy_source("bucket/k").send().await.unwrap_err();
        assert_eq!(code(&copied), "500 InternalError");
        // No part of the object is sent either.
        let range = fixture.client.get_object().bucket("bucket").key("k").range("bytes=1-9");
        assert_eq!(code(&range.send().await.unwrap_err()), "500 InternalError");

        // A file that was changed by hand is not damaged.
        let etag = fixture.put("k", bytes(size)).await;
        fs::write(&path, "by hand").unwrap();
        let got = fixture.client.get_object().bucket("bucket").key("k").send().await.unwrap();
        assert_ne!(got.e_tag, Some(etag));
        assert_eq!(got.body.collect().await.unwrap().to_vec(), b"by hand");
    }
    assert_eq!(fixture.keys().await, ["k"]);
}

/// Like in S3, every whole object has a checksum, however it was stored.
#[tokio::test]
async fn whole_objects_have_a_checksum() {
    let fixture = Fixture::new().await;
    let get = async |key: &str, range: Option<&str>| {
        let get = fixture.client.get_object().bucket("bucket").key(key);
        let get = get.checksum_mode(ChecksumMode::Enabled).set_range(range.map(str::to_owned));
        let got = get.send().await.unwrap();
        (got.checksum_crc64_nvme, got.checksum_type)
    };
    // The published check value of CRC-64/NVME for the text `123456789`.
    let of_digits = Some("rosUhgp5mIg=".to_owned());
    let whole = Some(ChecksumType::FullObject);
    fixture.put("copied", "x").await;
    fs::write(fixture.folder.path().join("bucket/by-hand"), "123456789").unwrap();
    assert_eq!(get("by-hand", None).await, (of_digits.clone(), whole.clone()));
    let copy = fixture.client.copy_object().bucket("bucket").key("copied");
    copy.copy_source("bucket/by-hand").send().await.unwrap();
    assert_eq!(get("copied", None).await, (of_digits.clone(), whole.clone()));
    let anonymous = Fixture::with(Builder::anonymous).await;
    let put = "PUT /bucket/k HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\
               Connection: close\r\n\r\n123456789";
    let answer = server::raw(anonymous.server.address(), put).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let get_k = anonymous.client.get_object().bucket("bucket").key("k");
    let got = get_k.checksum_mode(ChecksumMode::Enabled).send().await.unwrap();
    assert_eq!((got.checksum_crc64_nvme, got.checksum_type), (of_digits, whole));
    // A part has no checksum, and neither has a large file without a stored one, because computing it would take too
    // long.
    assert_eq!(get("by-hand", Some("bytes=0-3")).await, (None, None));
    fs::write(fixture.folder.path().join("bucket/large"), vec![0; (1 << 20) + 1]).unwrap();
    assert_eq!(get("large", None).await, (None, None));
}
