//! Local files as an object store.
//!
//! The store differs from [`LocalFileSystem`], which lists and opens the files, in four ways. A file that changes
//! while it is read is an error (`stable_reads`). A write replaces a file only if the request allows it
//! (`atomic_file`). Folders that a write created and left empty are removed (`folders`). Link loops are not listed
//! (`link_loops`).

mod atomic_file;
mod folders;
mod link_loops;
mod stable_reads;

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::common::runtime::SpawnedTask;
use futures::future::ready;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions,
    Result,
};

use self::atomic_file::AtomicFile;
pub(crate) use self::folders::Folders;
use crate::context::error::{ErrorKind, UserError};
use crate::context::notes::Notes;
use crate::store::staging::create_only::OnlyNew;

/// Returns the error of a statement that names a file of this machine, and may not.
pub(crate) fn denied() -> UserError {
    let message = "the statement names a file of the machine that runs it, which it may not";
    UserError {
        kind: ErrorKind::Access,
        message: message.to_owned(),
        hint: Some("Name objects of a bucket: s3://bucket/key.".to_owned()),
    }
}

/// The files below `/`.
#[derive(Debug)]
pub(crate) struct LocalStore {
    files: LocalFileSystem,
    folders: Arc<Folders>,
    notes: Arc<Notes>,
}

impl LocalStore {
    /// Replaces a store of the files below `/`, and returns other stores unchanged. Files that are not listed are
    /// named in `notes`.
    pub(crate) fn instead_of(
        store: Arc<dyn ObjectStore>,
        folders: &Arc<Folders>,
        notes: &Arc<Notes>,
    ) -> Arc<dyn ObjectStore> {
        let files = LocalFileSystem::new();
        if store.to_string() != files.to_string() {
            return store;
        }
        Arc::new(Self { files, folders: Arc::clone(folders), notes: Arc::clone(notes) })
    }

    fn path(&self, location: &Path) -> Result<PathBuf> {
        self.files.path_to_filesystem(location)
    }

    async fn begin(&self, location: &Path, replaces: bool) -> Result<AtomicFile> {
        let (path, folders) = (self.path(location)?, Arc::clone(&self.folders));
        blocking(move || AtomicFile::begin(path, replaces, folders)).await
    }
}

/// Runs work that waits for the disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let stopped = |_| Error::Generic { store: "LocalFileSystem", source: "stopped".into() };
    SpawnedTask::spawn_blocking(work).join_unwind().await.map_err(stopped)?
}

/// Returns a path as users write it.
fn named(location: &Path) -> String {
    format!("/{location}")
}

impl fmt::Display for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.files, f)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for LocalStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        if matches!(opts.mode, PutMode::Update(_)) {
            return self.files.put_opts(location, payload, opts).await;
        }
        let mut file = self.begin(location, opts.mode == PutMode::Overwrite).await?;
        file.put_part(payload).await?;
        file.complete().await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let replaces = opts.extensions.get::<OnlyNew>().is_none();
        Ok(Box::new(self.begin(location, replaces).await?))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let in_part = options.range.is_some();
        match self.files.get_opts(location, options).await {
            Ok(answer) => Ok(stable_reads::checked(answer)),
            Err(Error::Precondition { source, .. }) => {
                Err(Error::Precondition { path: named(location), source })
            }
            // A range at the beginning of an empty file is invalid, too, but is no sign of a change.
            Err(error) if in_part && stable_reads::is_beyond(&error) => {
                Err(stable_reads::changed(&self.path(location)?))
            }
            Err(error) => Err(error),
        }
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let mut read = Vec::with_capacity(ranges.len());
        for range in ranges {
            let range = Some(GetRange::Bounded(range.clone()));
            let options = GetOptions { range, ..GetOptions::default() };
            read.push(self.get_opts(location, options).await?.bytes().await?);
        }
        Ok(read)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let (folders, files) = (Arc::clone(&self.folders), LocalFileSystem::new());
        let deleted = self.files.delete_stream(locations);
        let deleted = deleted.inspect_ok(move |location| {
            if let Ok(path) = files.path_to_filesystem(location) {
                folders.tidy(&path);
            }
        });
        deleted.boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (notes, prefix) = (Arc::clone(&self.notes), prefix.cloned());
        // If a listing fails, none of its files is returned.
        let all = async move {
            let files = LocalFileSystem::new();
            let objects = match files.list(prefix.as_ref()).try_collect::<Vec<_>>().await {
                Ok(objects) => objects,
                Err(error) => {
                    link_loops::without(&files, &notes, prefix.as_ref(), true, error).await?.objects
                }
            };
            Ok::<_, Error>(stream::iter(objects.into_iter().map(Ok)))
        };
        stream::once(all).try_flatten().boxed()
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let offset = offset.clone();
        self.list(prefix).try_filter(move |object| ready(object.location > offset)).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        match self.files.list_with_delimiter(prefix).await {
            Ok(listed) => Ok(listed),
            Err(error) => link_loops::without(&self.files, &self.notes, prefix, false, error).await,
        }
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.files.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.files.rename_opts(from, to, options).await
    }
}
