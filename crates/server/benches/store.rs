//! Benchmarks of what clients of the store wait for: uploads of objects of 16 KiB, by one client and by sixteen at
//! once, with and without forcing them to disk; and pages of a listing of one large directory.
//!
//! `cargo bench -p sluicegate-server --bench store` (`NAMES=1000000` for a larger directory, `FOLDER=/mnt/x` for a
//! store on another file system). With `--profile dev` it uses the build of `cargo test`.

#![expect(missing_docs, reason = "criterion's macros make items without docs")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use std::env;
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures::future::try_join_all;
use sluicegate_server::Server;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const SIZE: usize = 16 * 1024;

fn folder() -> TempDir {
    let folder = match env::var_os("FOLDER") {
        Some(parent) => tempfile::tempdir_in(PathBuf::from(parent)),
        None => tempfile::tempdir(),
    };
    let folder = folder.unwrap();
    fs::create_dir(folder.path().join("bucket")).unwrap();
    folder
}

fn client(server: &Server) -> Client {
    let credentials =
        Credentials::new(server.access_key(), server.secret_key(), None, None, "bench");
    let config = aws_sdk_s3::Config::builder()
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(server.endpoint())
        .region(Region::new("us-east-1"))
        .credentials_provider(credentials)
        .force_path_style(true)
        .build();
    Client::from_conf(config)
}

fn put(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let mut group = criterion.benchmark_group("put");
    group.sample_size(10).measurement_time(Duration::from_secs(4));
    for (name, sync) in [("fsync", true), ("no fsync", false)] {
        let folder = folder();
        let start = Server::builder(folder.path()).sync_writes(sync).start();
        let server = runtime.block_on(start).unwrap();
        let client = client(&server);
        for at_once in [1, 16] {
            group.throughput(Throughput::Elements(at_once));
            let mut round = 0;
            group.bench_function(format!("{name}, {at_once} at once"), |bencher| {
                bencher.iter(|| {
                    round += 1;
                    let puts = (0..at_once).map(|number| {
                        let key = format!("{at_once}/{number}-{}", round % 100);
                        let put = client.put_object().bucket("bucket").key(key);
                        put.body(vec![7; SIZE].into()).send()
                    });
                    runtime.block_on(try_join_all(puts)).unwrap();
                });
            });
        }
        runtime.block_on(server.shutdown());
    }
    group.finish();
}

fn list(criterion: &mut Criterion) {
    let names: usize = env::var("NAMES").map_or(100_000, |names| names.parse().unwrap());
    let runtime = Runtime::new().unwrap();
    let folder = folder();
    let bucket = folder.path().join("bucket");
    for number in 0..names {
        File::create(bucket.join(format!("an object of many {number:08}"))).unwrap();
    }
    // The directory gets an old time, so that it does not count as recently changed.
    let hour = Duration::from_secs(3600);
    File::open(&bucket).unwrap().set_modified(SystemTime::now() - hour).unwrap();
    let server = runtime.block_on(Server::builder(folder.path()).start()).unwrap();
    let client = client(&server);
    let mut group = criterion.benchmark_group("list");
    group.sample_size(20).measurement_time(Duration::from_secs(5));
    let mut token = None;
    group.bench_function(format!("the next 1000 of {names}"), |bencher| {
        bencher.iter(|| {
            let list = client.list_objects_v2().bucket("bucket");
            let list = list.set_continuation_token(token.take()).send();
            token = runtime.block_on(list).unwrap().next_continuation_token;
        });
    });
    group.finish();
}

criterion_group!(benches, put, list);
criterion_main!(benches);
