//! The store of the benchmark: a server on threads of its own, with its tables.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use object_store::ObjectStoreExt;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use sluicegate_costmodel::{BytesPerSecond, HardwareProfile, PriceBook};
use sluicegate_engine::{Engine, StoreCapabilities};
use sluicegate_server::Server;
use sluicegate_workloads::pushdowndb::{self, TPCH_TABLES};
use sluicegate_workloads::{DataTable, Format, Generate, generate, tpch};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::Settings;

const BUCKET: &str = "bench";

/// A server whose sockets have threads of their own, so that the link does not wait for the client's work.
pub(crate) struct Store {
    server: Option<Server>,
    runtime: Runtime,
    root: PathBuf,
}

/// The folder of the data.
pub(crate) struct Folder {
    path: PathBuf,
    /// A temporary folder, which is removed on drop.
    _temporary: Option<TempDir>,
}

impl Folder {
    /// Opens the given folder, or creates a temporary one.
    pub(crate) fn open(given: Option<String>) -> Self {
        let temporary = given.is_none().then(|| tempfile::tempdir().unwrap());
        let path = match (&temporary, given) {
            (Some(temporary), _) => temporary.path().to_owned(),
            (None, given) => PathBuf::from(given.unwrap_or_default()),
        };
        std::fs::create_dir_all(path.join(BUCKET)).unwrap();
        Self { path, _temporary: temporary }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Store {
    /// Starts a store that serves a folder.
    pub(crate) fn start(root: &Path, settings: &Settings) -> Self {
        let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
        let server = Server::builder(root).sync_writes(false).latency(settings.latency).start();
        let server = Some(runtime.block_on(server).unwrap());
        Self { server, runtime, root: root.to_owned() }
    }

    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    /// Writes the tables that are missing, before the link is shaped.
    pub(crate) async fn fill(&self, settings: &Settings) {
        let folder = self.root.join(BUCKET);
        write(&tables(settings), &folder).await;
        write(&skewed(settings), &folder).await;
    }

    /// Shapes the link, and builds an engine over the store with the tables defined.
    pub(crate) async fn engine(&self, settings: &Settings) -> Engine {
        let server = self.server();
        // The server shapes the payload of TCP, so the headers of TCP and IP are not subtracted from the rate.
        let rate = (settings.gbit > 0.0).then(|| BytesPerSecond::gbit(settings.gbit));
        server.set_link_rate(rate.map(|rate| rate.0 as u64));
        let hardware = self.hardware(rate, settings).await;
        let engine = Engine::builder()
            .endpoint(server.endpoint())
            .credentials(server.access_key(), server.secret_key())
            .profile(StoreCapabilities::sluice())
            .prices(PriceBook::paper().clone())
            .hardware(hardware)
            .build()
            .await
            .unwrap();
        for sql in definitions(&tables(settings)).into_iter().chain(definitions(&skewed(settings)))
        {
            Box::pin(engine.collect(&sql)).await.unwrap();
        }
        engine
    }

    /// Returns the profile of the predictions, with the link of this rate.
    async fn hardware(&self, rate: Option<BytesPerSecond>, settings: &Settings) -> HardwareProfile {
        let name = std::env::var("HARDWARE").unwrap_or_else(|_| "local-1gbit".to_owned());
        if name == "calibrate" {
            return self.calibrated();
        }
        let mut hardware = match HardwareProfile::by_name(&name) {
            Some(known) => known.clone(),
            None => HardwareProfile::parse(&std::fs::read_to_string(name).unwrap()).unwrap(),
        };
        let rate = match rate {
            Some(rate) => rate,
            None => self.unshaped_rate(settings).await,
        };
        hardware.link.bytes_per_second = rate;
        hardware.link.connection_bytes_per_second = rate;
        hardware.link.latency = hardware.link.latency.max(settings.latency);
        hardware
    }

    /// Calibrates a profile for this store by `sluice calibrate`.
    fn calibrated(&self) -> HardwareProfile {
        let server = self.server();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hardware.toml");
        let status = Command::new(env!("CARGO_BIN_EXE_sluice"))
            .args(["calibrate", "--endpoint", &server.endpoint(), "--bucket", "calibration"])
            .arg("--output")
            .arg(&file)
            .env("AWS_ACCESS_KEY_ID", server.access_key())
            .env("AWS_SECRET_ACCESS_KEY", server.secret_key())
            .env("XDG_CACHE_HOME", folder.path())
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "sluice calibrate failed");
        let profile = std::fs::read_to_string(file).unwrap();
        eprintln!("{profile}");
        HardwareProfile::parse(&profile).unwrap()
    }

    /// Returns the rate at which an object is fetched and dropped: the better of two measurements.
    async fn unshaped_rate(&self, settings: &Settings) -> BytesPerSecond {
        let request = tables(settings);
        let object = request.objects(tpch::Table::Lineitem)[0].clone();
        let server = self.server();
        let store = AmazonS3Builder::new()
            .with_endpoint(server.endpoint())
            .with_allow_http(true)
            .with_bucket_name(BUCKET)
            .with_access_key_id(server.access_key())
            .with_secret_access_key(server.secret_key())
            .build()
            .unwrap();
        let mut best = 0.0_f64;
        for _ in 0..2 {
            let started = Instant::now();
            let bytes = store.get(&object).await.unwrap().bytes().await.unwrap();
            best = best.max(bytes.len() as f64 / started.elapsed().as_secs_f64());
        }
        BytesPerSecond(best)
    }

    pub(crate) fn stop(mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.shutdown());
        }
    }
}

fn tables(settings: &Settings) -> tpch::Generate {
    Generate {
        scale: settings.scale,
        tables: TPCH_TABLES.to_vec(),
        format: Format::csv(),
        objects_per_table: NonZeroUsize::new(settings.objects).unwrap(),
        ..Generate::default()
    }
}

fn skewed(settings: &Settings) -> pushdowndb::Generate {
    Generate {
        scale: settings.scale,
        tables: vec![pushdowndb::Table::Skewed],
        format: Format::csv(),
        objects_per_table: NonZeroUsize::new(settings.objects).unwrap(),
        ..Generate::default()
    }
}

async fn write<T: DataTable>(request: &Generate<T>, folder: &Path) {
    let mut missing = request.clone();
    missing.tables.retain(|table| {
        request.objects(*table).iter().any(|path| !folder.join(path.as_ref()).exists())
    });
    let local = LocalFileSystem::new_with_prefix(folder).unwrap();
    generate(&missing, &local, &|_| ()).await.unwrap();
}

fn definitions<T: DataTable>(request: &Generate<T>) -> Vec<String> {
    let define = |table: &T| {
        let location = format!("s3://{BUCKET}/{}/", request.folder(*table));
        table.create_external_table(&request.format, &location)
    };
    request.tables.iter().map(define).collect()
}
