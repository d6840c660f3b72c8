//! The store: a server on threads of its own, and what is in it.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use object_store::local::LocalFileSystem;
use sluicegate_costmodel::{BytesPerSecond, HardwareProfile, PriceBook};
use sluicegate_engine::{EndpointProfile, Engine};
use sluicegate_server::Server;
use sluicegate_workloads::pushdowndb::{self, TPCH_TABLES};
use sluicegate_workloads::{DataTable, Format, Generate, generate, tpch};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::Settings;

const BUCKET: &str = "bench";

/// A server whose sockets are not served by the threads that queries run on, so that the link does
/// not wait for the client's work.
pub(crate) struct Store {
    server: Option<Server>,
    runtime: Runtime,
    root: PathBuf,
    /// Removed at the end.
    _temporary: Option<TempDir>,
}

impl Store {
    /// Starts an empty store, or one over a folder from an earlier run.
    pub(crate) fn start(folder: Option<&str>) -> Self {
        let temporary = folder.is_none().then(|| tempfile::tempdir().unwrap());
        let root = match (&temporary, folder) {
            (Some(temporary), _) => temporary.path().to_owned(),
            (None, folder) => PathBuf::from(folder.unwrap_or_default()),
        };
        std::fs::create_dir_all(root.join(BUCKET)).unwrap();
        let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
        let server = Server::builder(&root).sync_writes(false).start();
        let server = Some(runtime.block_on(server).unwrap());
        Self { server, runtime, root, _temporary: temporary }
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

    /// An engine over the store, with the tables defined, behind the shaped link.
    pub(crate) async fn engine(&self, settings: &Settings) -> Engine {
        let server = self.server();
        let mut hardware = HardwareProfile::by_name("local-1gbit").unwrap().clone();
        if settings.gbit > 0.0 {
            let rate = BytesPerSecond::gbit(settings.gbit);
            // What is left of a link's rate beside TCP's and IP's own bytes does not apply here.
            hardware.link.bytes_per_second = rate;
            hardware.link.connection_bytes_per_second = rate;
            server.set_link_rate(Some(rate.0 as u64));
        }
        let engine = Engine::builder()
            .endpoint(server.endpoint())
            .credentials(server.access_key(), server.secret_key())
            .profile(EndpointProfile::sluice())
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
        format: Format::csv(),
        objects_per_table: NonZeroUsize::new(settings.objects).unwrap(),
        ..Generate::default()
    }
}

async fn write<T: DataTable>(request: &Generate<T>, folder: &std::path::Path) {
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
