//! Tests of objects that are damaged on disk: no part of one is returned as if it were undamaged.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::select::{run, select};
use super::*;

/// A size above that of objects that are checked before the answer begins.
const LARGE: usize = 9 << 20;

/// Flips a bit like a failing disk, without changing the file's time.
fn rot(fixture: &Fixture, key: &str, at: usize) {
    let path = fixture.folder.path().join("bucket").join(key);
    let file = File::options().read(true).write(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at as u64).unwrap();
    // The changed digit is still a digit.
    file.write_all_at(&[byte[0] ^ 1], at as u64).unwrap();
    file.set_modified(modified).unwrap();
}

/// Returns lines of one number each, with at least this many bytes in total.
fn lines(length: usize) -> Vec<u8> {
    let mut lines = Vec::with_capacity(length + 20);
    for n in 1_000_000_000_u64.. {
        if lines.len() >= length {
            break;
        }
        writeln!(lines, "{n}").unwrap();
    }
    lines
}

const COUNT: &str = "SELECT COUNT(*) FROM S3Object";

/// Reads a range. Returns its bytes, or the code of the error.
async fn range(fixture: &Fixture, key: &str, range: &str) -> Result<Vec<u8>, String> {
    let get = fixture.client.get_object().bucket("bucket").key(key).range(range);
    let got = get.send().await.map_err(|error| code(&error))?;
    Ok(got.body.collect().await.map_err(|_| "cut".to_owned())?.to_vec())
}

#[tokio::test]
async fn nothing_is_answered_from_an_object_that_was_cut() {
    let fixture = Fixture::new().await;
    for (key, length) in [("small", 100_000), ("large", LARGE + 100)] {
        fixture.put(key, lines(length)).await;
        let path = fixture.folder.path().join("bucket").join(key);
        let file = File::options().write(true).open(path).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        // The file is cut at the end of a line.
        file.set_len(length as u64 / 22 * 11).unwrap();
        file.set_modified(modified).unwrap();
        const DAMAGED: &str = "500 InternalError";
        assert_eq!(range(&fixture, key, "bytes=0-9").await, Err(DAMAGED.to_owned()), "{key}");
        assert_eq!(run(select(&fixture, key, COUNT)).await, Err(DAMAGED.to_owned()), "{key}");
        let get = fixture.client.get_object().bucket("bucket").key(key).send().await;
        assert_eq!(code(&get.unwrap_err()), DAMAGED, "{key}");
        let head = fixture.client.head_object().bucket("bucket").key(key).send().await;
        assert_eq!(head.unwrap_err().raw_response().unwrap().status().as_u16(), 500, "{key}");
    }
}

#[tokio::test]
async fn nothing_is_answered_from_a_small_object_that_is_damaged() {
    let fixture = Fixture::new().await;
    let object = lines(100_000);
    for key in ["range", "ranges", "select", "whole", "copy", "part"] {
        fixture.put(key, object.clone()).await;
        rot(&fixture, key, 50_000);
    }
    const DAMAGED: &str = "500 InternalError";
    for _ in 0..2 {
        // The ranges do not contain the flipped byte.
        assert_eq!(range(&fixture, "range", "bytes=0-9").await, Err(DAMAGED.to_owned()));
        assert_eq!(range(&fixture, "ranges", "bytes=0-9,90-99").await, Err(DAMAGED.to_owned()));
        let selected = run(select(&fixture, "select", COUNT)).await;
        assert_eq!(selected, Err(DAMAGED.to_owned()));
        let get = fixture.client.get_object().bucket("bucket").key("whole");
        let error = get.send().await.unwrap_err();
        assert_eq!(code(&error), DAMAGED);
        assert!(error.message().unwrap().contains("damaged on the disk"), "{error:?}");
        let copy = fixture.client.copy_object().bucket("bucket").key("new");
        let error = copy.copy_source("bucket/copy").send().await.unwrap_err();
        assert_eq!(code(&error), DAMAGED);
    }
    let upload = fixture.client.create_multipart_upload().bucket("bucket").key("new");
    let id = upload.send().await.unwrap().upload_id.unwrap();
    let part = fixture.client.upload_part_copy().bucket("bucket").key("new").upload_id(id);
    let part = part.part_number(1).copy_source("bucket/part").copy_source_range("bytes=0-9");
    assert_eq!(code(&part.send().await.unwrap_err()), DAMAGED);
    // The new version is not damaged.
    fixture.put("range", object.clone()).await;
    assert_eq!(range(&fixture, "range", "bytes=0-9").await.unwrap(), object[..10]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_of_a_statement_over_a_large_damaged_object_has_no_end() {
    let fixture = Fixture::new().await;
    let object = lines(LARGE);
    for key in ["whole", "damaged"] {
        fixture.put(key, object.clone()).await;
    }
    // This object has several parts, and a checksum that is combined from theirs.
    let upload = fixture.client.create_multipart_upload().bucket("bucket").key("parts");
    let id = upload.send().await.unwrap().upload_id.unwrap();
    let mut parts = Vec::new();
    for (number, bytes) in (1..).zip(object.chunks(5 << 20)) {
        let part = fixture.client.upload_part().bucket("bucket").key("parts").upload_id(&id);
        let part = part.part_number(number).body(bytes.to_vec().into()).send().await.unwrap();
        parts.push(CompletedPart::builder().part_number(number).set_e_tag(part.e_tag).build());
    }
    let parts = CompletedMultipartUpload::builder().set_parts(Some(parts)).build();
    let complete = fixture.client.complete_multipart_upload().bucket("bucket").key("parts");
    complete.upload_id(id).multipart_upload(parts).send().await.unwrap();
    rot(&fixture, "damaged", LARGE / 2);
    rot(&fixture, "parts", LARGE - 10);
    let answer = run(select(&fixture, "whole", COUNT)).await.unwrap();
    assert!(answer.end, "{answer:?}");
    for key in ["damaged", "parts"] {
        for sql in [COUNT, "SELECT * FROM S3Object s LIMIT 1"] {
            match run(select(&fixture, key, sql)).await {
                Ok(answer) => {
                    assert!(!answer.end, "{answer:?}");
                    assert!(answer.failed.unwrap().contains("damaged on the disk"), "{key}");
                }
                // The damage was already known.
                Err(code) => assert_eq!(code, "500 InternalError"),
            }
        }
        // Damage that one request found is known to all.
        let refused = Err("500 InternalError".to_owned());
        assert_eq!(range(&fixture, key, "bytes=0-9").await, refused);
    }
    assert_eq!(range(&fixture, "whole", "bytes=0-9").await.unwrap(), object[..10]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranges_of_a_large_damaged_object_are_refused_once_it_is_known() {
    for verify in [true, false] {
        let fixture = Fixture::with(|builder| builder.verify(verify)).await;
        let object = lines(LARGE);
        fixture.put("k", object.clone()).await;
        rot(&fixture, "k", LARGE / 2);
        let first = range(&fixture, "k", "bytes=0-9").await;
        assert!(first.is_err() || first.unwrap() == object[..10]);
        if !verify {
            // A GET of the whole object finds the damage, and later requests are refused.
            let get = fixture.client.get_object().bucket("bucket").key("k").send().await.unwrap();
            assert!(get.body.collect().await.is_err());
        }
        let mut tries = 0;
        while range(&fixture, "k", "bytes=0-9").await.is_ok() {
            assert!(verify && tries < 3000, "it is never refused");
            tries += 1;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let refused = Err("500 InternalError".to_owned());
        assert_eq!(range(&fixture, "k", "bytes=100-109").await, refused);
        let get = fixture.client.get_object().bucket("bucket").key("k").send().await;
        assert_eq!(code(&get.unwrap_err()), "500 InternalError");
    }
}

#[tokio::test]
async fn what_was_put_there_by_hand_is_what_it_is() {
    let fixture = Fixture::new().await;
    fixture.put("edited", lines(1000)).await;
    let bucket = fixture.folder.path().join("bucket");
    std::fs::write(bucket.join("edited"), "1\n2\n").unwrap();
    std::fs::write(bucket.join("new"), "1\n2\n").unwrap();
    for key in ["edited", "new"] {
        assert_eq!(range(&fixture, key, "bytes=0-1").await.unwrap(), b"1\n");
        // The first line is the header.
        assert_eq!(run(select(&fixture, key, COUNT)).await.unwrap().rows, "1\n");
        rot(&fixture, key, 0);
        assert_eq!(range(&fixture, key, "bytes=0-1").await.unwrap(), b"0\n");
    }
}

/// Any bit may be flipped, and the object is read in several ways.
#[test]
fn a_flipped_bit_at_rest_is_never_answered() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(Fixture::new());
    let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
    let cases = (1_usize..60_000, 0.0..1.0_f64, 0.0..1.0_f64, 0_usize..5);
    let result = TestRunner::new(config).run(&cases, |(length, place, other, way)| {
        runtime.block_on(async {
            let object = lines(length);
            let at = |place: f64| (place * object.len() as f64) as usize;
            fixture.put("k", object.clone()).await;
            let select = || select(&fixture, "k", "SELECT * FROM S3Object");
            rot(&fixture, "k", at(place));
            let asked = format!("bytes={}-{}", at(other), object.len());
            let answered = match way {
                0 => range(&fixture, "k", &asked).await.is_ok(),
                1 => range(&fixture, "k", "bytes=0-0,5-6").await.is_ok(),
                2 => run(select()).await.is_ok_and(|answer| answer.end),
                3 => range(&fixture, "k", "bytes=-1").await.is_ok(),
                _ => {
                    let get = fixture.client.get_object().bucket("bucket").key("k");
                    match get.send().await {
                        Ok(got) => got.body.collect().await.is_ok(),
                        Err(_) => false,
                    }
                }
            };
            prop_assert!(!answered, "{length} {place} {way}");
            Ok(())
        })
    });
    result.unwrap();
}

/// A part stays on disk until the upload is completed.
#[tokio::test]
async fn a_part_that_is_damaged_does_not_become_an_object() {
    let fixture = Fixture::new().await;
    let object = lines(6 << 20);
    for damaged in [1, 2] {
        let upload = fixture.client.create_multipart_upload().bucket("bucket").key("parts");
        let id = upload.send().await.unwrap().upload_id.unwrap();
        let send = async |number: i32| {
            let bytes = object[(number as usize - 1) * (5 << 20)..].iter().take(5 << 20);
            let part = fixture.client.upload_part().bucket("bucket").key("parts").upload_id(&id);
            let part = part.part_number(number).body(bytes.copied().collect::<Vec<_>>().into());
            let e_tag = part.send().await.unwrap().e_tag;
            CompletedPart::builder().part_number(number).set_e_tag(e_tag).build()
        };
        let parts = [send(1).await, send(2).await];
        let folder = fixture.folder.path().join(".sluice/uploads").join(&id);
        let files = std::fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name());
        let mut files = files.map(|name| name.into_string().unwrap());
        let is_it =
            |name: &String| name.starts_with(&format!("{damaged:05}-")) && !name.ends_with(".json");
        let file = files.find(is_it).unwrap();
        rot(&fixture, &format!("../.sluice/uploads/{id}/{file}"), 1000);
        let complete = async |parts: &[CompletedPart]| {
            let parts = Some(parts.to_vec());
            let parts = CompletedMultipartUpload::builder().set_parts(parts).build();
            let complete = fixture.client.complete_multipart_upload().bucket("bucket").key("parts");
            complete.upload_id(&id).multipart_upload(parts).send().await
        };
        // A single part gets another name, while several are copied.
        for wanted in [&parts[damaged - 1..damaged], &parts[..]] {
            let error = complete(wanted).await.unwrap_err();
            assert_eq!(code(&error), "500 InternalError", "{damaged}");
            assert!(fixture.keys().await.is_empty());
        }
        // After the part is sent again, the upload can be completed.
        send(i32::try_from(damaged).unwrap()).await;
        complete(&parts).await.unwrap();
        assert_eq!(fixture.get("parts").await, object);
        fixture.client.delete_object().bucket("bucket").key("parts").send().await.unwrap();
    }
}

/// The right content is unknown, so the metadata is not derived from the file either.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_is_answered_from_an_object_whose_metadata_cannot_be_read() {
    use rustix::fs::{XattrFlags, fsetxattr};
    let fixture = Fixture::new().await;
    for odd in [&b""[..], b"\xff\xff", b"{\"size\": 1", b"{}", &[b'['; 2000]] {
        for key in ["k", "copy", "select"] {
            fixture.put(key, lines(1000)).await;
            let file = File::open(fixture.folder.path().join("bucket").join(key)).unwrap();
            if fsetxattr(&file, "user.sluice", odd, XattrFlags::empty()).is_err() {
                return;
            }
        }
        const DAMAGED: &str = "500 InternalError";
        assert_eq!(range(&fixture, "k", "bytes=0-9").await, Err(DAMAGED.to_owned()));
        assert_eq!(run(select(&fixture, "select", COUNT)).await, Err(DAMAGED.to_owned()));
        let get = fixture.client.get_object().bucket("bucket").key("k").send().await;
        assert_eq!(code(&get.unwrap_err()), DAMAGED);
        let copy = fixture.client.copy_object().bucket("bucket").key("new");
        assert_eq!(code(&copy.copy_source("bucket/copy").send().await.unwrap_err()), DAMAGED);
        let head = fixture.client.head_object().bucket("bucket").key("k").send().await;
        assert_eq!(head.unwrap_err().raw_response().unwrap().status().as_u16(), 500);
        // The object can be replaced, and removed.
        fixture.put("k", "new").await;
        assert_eq!(fixture.get("k").await, b"new");
        fixture.client.delete_object().bucket("bucket").key("copy").send().await.unwrap();
        assert_eq!(fixture.keys().await, ["k", "select"]);
    }
}
