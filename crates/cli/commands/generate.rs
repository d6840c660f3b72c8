//! `sluice generate`: writes a data set to a bucket or a folder.

use std::fs;
use std::io::{self, Write};
use std::str::FromStr;
use std::sync::Arc;

use datafusion::execution::object_store::ObjectStoreUrl;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use sluicegate_costmodel::{Bytes, Rows};
use sluicegate_engine::Engine;
use sluicegate_workloads::{DataTable, Generate, aborted};
use tokio::time::timeout;

use crate::args::{Destination, TableArgs};
use crate::connect::bucket;
use crate::failure::{Failure, Result};
use crate::output::file::PartialFile;
use crate::output::progress;
use crate::output::progress::print_line;
use crate::runtime::disk_space;
use crate::runtime::interrupt::{ABORT_TIMEOUT, interruptible};

/// Generates the tables of a data set. `title` is its name in messages.
pub(crate) async fn run<T>(args: TableArgs<T>, title: &str, seed: T::Seed) -> Result<()>
where
    T: DataTable + FromStr<Err: std::error::Error + Send + Sync>,
{
    let mut request = Generate {
        scale: args.scale,
        seed,
        format: args.format.into(),
        objects_per_table: args.objects,
        ..Generate::default()
    };
    if !args.tables.is_empty() {
        request.tables = args.tables.clone();
        request.tables.sort_unstable();
        request.tables.dedup();
    }
    if let Some(threads) = args.threads {
        request.threads = threads;
    }
    let (store, root): (Arc<dyn ObjectStore>, String) = match &args.to {
        Destination::Bucket { bucket: name, prefix } => {
            request.prefix = prefix.clone();
            let engine = Engine::builder().connect(args.store.options()?).build().await?;
            if bucket::ensure(&engine, name).await? {
                print_line(&format!("created the bucket {name}"));
            }
            (bucket_store(&engine, name)?, format!("s3://{name}"))
        }
        Destination::Folder(folder) => {
            if let Some(option) = args.store.given() {
                return Err(Failure::Usage(format!(
                    "{option} is for a store, and `{}` is a folder; write s3://bucket/prefix for a bucket",
                    folder.display()
                )));
            }
            request.prefix = Path::default();
            let failed = |error| Failure::file(folder, error);
            fs::create_dir_all(folder).map_err(failed)?;
            let absolute = folder.canonicalize().map_err(failed)?;
            disk_space::check(&absolute, request.about_bytes(), title)?;
            let store = LocalFileSystem::new_with_prefix(&absolute)
                .map_err(|error| Failure::new(error.to_string()))?;
            (Arc::new(store), absolute.display().to_string())
        }
    };
    for place in [root.as_str(), request.prefix.as_ref()] {
        if place.contains(char::is_control) {
            let shown = place.escape_debug();
            return Err(Failure::new(format!(
                "`{shown}` has a control character, which statements cannot show"
            ))
            .with_hint("Name another folder."));
        }
    }
    // Fail before the work if the statements cannot be written.
    let ddl = ddl(&request, &root);
    let file = match &args.ddl {
        Some(path) => {
            let mut file = PartialFile::begin(path)?;
            let written = file.file().write_all(ddl.as_bytes());
            written.map_err(|error| Failure::file(path, error))?;
            Some(file)
        }
        None => None,
    };
    let message = format!("generating {title} at scale {}", request.scale);
    let written = progress::generate(&request, store.as_ref(), &message).await?;
    let rows: Rows = written.iter().map(|object| Rows(object.rows)).sum();
    let bytes: Bytes = written.iter().map(|object| Bytes(object.bytes)).sum();
    print_line(&format!("wrote {} objects, {rows} rows, {bytes}", written.len()));
    match file {
        Some(file) => file.finish(),
        None => Ok(io::stdout().write_all(ddl.as_bytes())?),
    }
}

/// Runs work that writes. If the process is interrupted, waits until half-written objects are removed.
pub(crate) async fn stoppable(work: impl Future<Output = Result<()>>) -> Result<()> {
    let result = interruptible(work).await;
    if matches!(result, Err(Failure::Stopped(_))) {
        match timeout(ABORT_TIMEOUT, aborted()).await {
            Ok(()) => print_line("stopped: what was half written is removed"),
            Err(_) => print_line("stopped, before what was half written could be removed"),
        }
    }
    result
}

/// Returns a bucket as an object store with the engine's connection.
pub(crate) fn bucket_store(engine: &Engine, bucket: &str) -> Result<Arc<dyn ObjectStore>> {
    let url = ObjectStoreUrl::parse(format!("s3://{bucket}"))?;
    Ok(engine.runtime_env().object_store(url)?)
}

/// Returns the statements that define the generated tables below `root`.
pub(crate) fn ddl<T: DataTable>(request: &Generate<T>, root: &str) -> String {
    let statement = |table: &T| format!("{};\n", create(request, root, *table));
    request.tables.iter().map(statement).collect()
}

/// Returns the statement that defines one table.
pub(crate) fn create<T: DataTable>(request: &Generate<T>, root: &str, table: T) -> String {
    let location = format!("{root}/{}/", request.folder(table));
    table.create_external_table(&request.format, &location)
}

#[cfg(test)]
mod tests {
    use sluicegate_workloads::Format;
    use sluicegate_workloads::tpch::Table;

    use super::*;

    #[test]
    fn tables_are_where_their_objects_are() {
        let request = Generate {
            tables: vec![Table::Region],
            format: Format::parquet(),
            prefix: Path::default(),
            ..Generate::default()
        };
        assert_eq!(
            ddl(&request, "s3://b"),
            "CREATE EXTERNAL TABLE region STORED AS PARQUET LOCATION 's3://b/sf1/parquet/region/';\n"
        );
    }
}
