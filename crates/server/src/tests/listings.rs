use super::*;

#[tokio::test]
async fn pages_of_all_three_kinds() {
    let fixture = Fixture::new().await;
    let mut keys: Vec<_> = (0..25).map(|i| format!("p/{i:02} &<x>")).collect();
    keys.extend(["p.csv".to_owned(), "p0".to_owned(), "q/r/s".to_owned(), "q/t".to_owned()]);
    keys.sort_unstable();
    for key in &keys {
        fixture.put(key, "x").await;
    }
    let pages = fixture.client.list_objects_v2().bucket("bucket").max_keys(4);
    let pages = pages.into_paginator().send().collect::<Result<Vec<_>, _>>().await.unwrap();
    let listed: Vec<_> = pages.iter().flat_map(|p| p.contents()).filter_map(|o| o.key()).collect();
    assert_eq!(listed, keys);
    assert_eq!(pages.len(), keys.len().div_ceil(4));

    let (mut marker, mut listed) = (None, Vec::new());
    loop {
        let page = fixture.client.list_objects().bucket("bucket").max_keys(3).delimiter("/");
        let page = page.set_marker(marker).send().await.unwrap();
        listed.extend(page.contents().iter().filter_map(|o| o.key().map(str::to_owned)));
        listed.extend(page.common_prefixes().iter().filter_map(|p| p.prefix().map(str::to_owned)));
        marker = page.next_marker;
        if marker.is_none() {
            break;
        }
    }
    listed.sort_unstable();
    assert_eq!(listed, ["p.csv", "p/", "p0", "q/"]);

    let versions = fixture.client.list_object_versions().bucket("bucket").prefix("q/").send();
    let versions = versions.await.unwrap();
    let found: Vec<_> =
        versions.versions().iter().map(|v| (v.key().unwrap(), v.version_id().unwrap())).collect();
    assert_eq!(found, [("q/r/s", "null"), ("q/t", "null")]);
    let after = fixture.client.list_objects_v2().bucket("bucket").start_after("q/r/s").send();
    assert_eq!(after.await.unwrap().contents()[0].key(), Some("q/t"));
    let wrong = fixture.client.list_objects_v2().bucket("bucket").continuation_token("?").send();
    assert_eq!(code(&wrong.await.unwrap_err()), "400 InvalidArgument");
}

#[tokio::test]
async fn an_empty_delimiter_is_none() {
    let fixture = Fixture::new().await;
    fixture.put("a/b", "x").await;
    let client = &fixture.client;
    let first = client.list_objects().bucket("bucket").delimiter("").send().await.unwrap();
    let second = client.list_objects_v2().bucket("bucket").delimiter("").send().await.unwrap();
    let versions =
        client.list_object_versions().bucket("bucket").delimiter("").send().await.unwrap();
    let uploads =
        client.list_multipart_uploads().bucket("bucket").delimiter("").send().await.unwrap();
    for delimiter in
        [first.delimiter(), second.delimiter(), versions.delimiter(), uploads.delimiter()]
    {
        assert_eq!(delimiter, None);
    }
    assert_eq!(second.contents()[0].key(), Some("a/b"));
}

#[tokio::test]
async fn names_that_xml_cannot_hold_are_encoded_on_demand() {
    let fixture = Fixture::new().await;
    fixture.put("a\u{1}b +", "x").await;
    let list = fixture.client.list_objects_v2().bucket("bucket");
    let list = list.encoding_type(aws_sdk_s3::types::EncodingType::Url).send().await.unwrap();
    assert_eq!(list.contents()[0].key(), Some("a%01b%20%2B"));
}

#[tokio::test]
async fn buckets() {
    let fixture = Fixture::new().await;
    fixture.client.create_bucket().bucket("another").send().await.unwrap();
    let again = fixture.client.create_bucket().bucket("another").send().await.unwrap_err();
    assert_eq!(code(&again), "409 BucketAlreadyOwnedByYou");
    let bad = fixture.client.create_bucket().bucket("Not_A_Bucket").send().await.unwrap_err();
    assert_eq!(code(&bad), "400 InvalidBucketName");
    let listed = fixture.client.list_buckets().send().await.unwrap();
    let names: Vec<_> = listed.buckets().iter().filter_map(|b| b.name()).collect();
    assert_eq!(names, ["another", "bucket"]);
    let location = fixture.client.get_bucket_location().bucket("bucket").send().await.unwrap();
    assert!(location.location_constraint().is_none_or(|l| l.as_str().is_empty()));
    let versioning = fixture.client.get_bucket_versioning().bucket("bucket").send().await.unwrap();
    assert!(versioning.status().is_none());
}

/// A power failure may empty the files in which the store keeps long names and metadata.
#[tokio::test]
async fn names_and_metadata_that_are_empty_files_are_answered() {
    let fixture = Fixture::new().await;
    let long = "l".repeat(400);
    fixture.put(&long, "long").await;
    fixture.put("short", "1").await;
    let mut emptied = 0;
    let mut folders = vec![fixture.folder.path().join(".sluice")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                std::fs::File::options().write(true).truncate(true).open(path).unwrap();
                emptied += 1;
            }
        }
    }
    assert!(emptied > 0);
    assert_eq!(fixture.keys().await, ["short"]);
    assert_eq!(fixture.get(&long).await, b"long");
    // Storing the object again restores its name in listings.
    fixture.put(&long, "again").await;
    assert_eq!(fixture.keys().await, [long.as_str(), "short"]);
}
