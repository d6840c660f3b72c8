//! Writes that become visible together, once their statement has succeeded.
//!
//! DataFusion's writers complete each file on their own, also after an error in another file or in their own input.
//! Under [`StagedWriteExec`](crate::operators::StagedWriteExec) they write through a [`Staging`] instead: parts are
//! uploaded as they come, and any request that would make an object visible waits for the commit of its statement.
//!
//! The guarantee: until every row is computed and every byte is uploaded, no object appears and none is replaced.
//! Then the objects are completed one by one, and at last the objects that they replace are removed. If there are no
//! new objects, nothing is removed. S3 has no transaction over several objects. If the store fails during these last
//! steps, only some objects of the statement may exist, or old ones may remain beside them; each of them is complete.
//!
//! `store` stages the writes. `append` and `overwrite` handle objects that exist already, and `create_only` protects
//! those that appear meanwhile. `outcome` finds out whether a failed write took effect.

pub(crate) mod append;
pub(crate) mod create_only;
pub(crate) mod outcome;
pub(crate) mod overwrite;
mod store;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::{StreamExt, future, stream};
use object_store::path::Path;
use object_store::{
    MultipartUpload, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload,
};
use tokio::runtime::Handle;
use tokio::sync::RwLock;
use tokio::task::JoinHandle;

use self::create_only::{OnlyNew, is_conflict};
use self::outcome::{Outcome, of_object, of_upload};
pub use self::store::StagingStores;

/// The writing statements of a session, kept so that their uploads can be aborted when the process is asked to stop.
#[derive(Debug, Default)]
pub struct Uploads {
    runtime: Option<Handle>,
    open: Mutex<Vec<Arc<Staging>>>,
}

impl Uploads {
    /// Creates the list. Uploads begin and are aborted on `runtime`, or on the runtime of the query if there is none.
    /// A separate runtime still responds when operators keep every other thread busy.
    #[must_use]
    pub fn new(runtime: Option<Handle>) -> Self {
        Self { runtime, open: Mutex::default() }
    }

    /// Opens a place for the writes of one statement. If it is dropped before [`commit`](OpenStaging::commit), they
    /// are aborted in the background.
    #[must_use]
    pub fn open(self: &Arc<Self>) -> OpenStaging {
        let staging = Arc::new(Staging {
            runtime: self.runtime.clone(),
            state: RwLock::default(),
            bytes: AtomicU64::new(0),
            failed: Mutex::default(),
        });
        self.locked().push(Arc::clone(&staging));
        OpenStaging { uploads: Arc::clone(self), staging }
    }

    /// Aborts the writes of all statements, and waits until they are aborted; the statements fail. A commit that has
    /// begun is waited for instead. Returns the number of these commits.
    pub async fn abort_all(&self) -> usize {
        let open = std::mem::take(&mut *self.locked());
        let mut committed = 0;
        for staging in open {
            committed += usize::from(staging.abort().await);
        }
        committed
    }

    fn forget(&self, staging: &Arc<Staging>) {
        self.locked().retain(|open| !Arc::ptr_eq(open, staging));
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Staging>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A [`Staging`] that has been neither committed nor aborted.
#[derive(Debug)]
pub struct OpenStaging {
    uploads: Arc<Uploads>,
    staging: Arc<Staging>,
}

impl OpenStaging {
    /// Returns the writes of the statement.
    #[must_use]
    pub fn staging(&self) -> &Arc<Staging> {
        &self.staging
    }

    /// Makes the objects visible.
    ///
    /// # Errors
    ///
    /// If the writes were aborted meanwhile, or the store does not complete an object. Uploads that are incomplete
    /// then are aborted.
    pub async fn commit(self) -> object_store::Result<()> {
        self.commit_replacing(Vec::new()).await.map_err(|error| match error {
            CommitError::NotVisible(error)
            | CommitError::Unknown { error, .. }
            | CommitError::NotRemoved { error, .. } => error,
            // This error needs objects to be replaced, and there are none.
            CommitError::NothingLeft => stopped(),
        })
    }

    /// Makes the objects visible, and then removes those that they replace. An object that no longer exists is no
    /// error.
    ///
    /// # Errors
    ///
    /// If the writes were aborted meanwhile, if no new object replaces the old ones, or if the store does not
    /// complete or remove an object. Uploads that are incomplete then are aborted.
    pub async fn commit_replacing(
        self,
        replaced: Vec<OverwrittenObject>,
    ) -> Result<(), CommitError> {
        // The commit runs as its own task, so that it completes even if the query is dropped.
        let staging = Arc::clone(&self.staging);
        let commit = self.staging.spawn(async move { staging.commit(replaced).await });
        commit.await.unwrap_or_else(|_| Err(CommitError::NotVisible(stopped())))
    }

    /// Aborts the writes, and waits until they are aborted.
    pub async fn abort(self) {
        self.staging.abort().await;
    }
}

impl Drop for OpenStaging {
    fn drop(&mut self) {
        let (uploads, staging) = (Arc::clone(&self.uploads), Arc::clone(&self.staging));
        let runtime = uploads.runtime.clone().or_else(|| Handle::try_current().ok());
        // After `commit` and `abort` there is nothing left to do.
        match runtime {
            Some(runtime) if !staging.is_closed() => {
                runtime.spawn(async move {
                    staging.abort().await;
                    uploads.forget(&staging);
                });
            }
            _ => uploads.forget(&staging),
        }
    }
}

/// The writes of one statement.
#[derive(Debug)]
pub struct Staging {
    runtime: Option<Handle>,
    /// Locked for writing when the statement ends, which waits for uploads that are just beginning.
    state: RwLock<State>,
    /// The number of bytes of all objects, as far as they are written.
    bytes: AtomicU64,
    /// The first error of a part, because writers drop its type.
    failed: Mutex<Option<object_store::Error>>,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    /// True if it was closed by a commit.
    committed: bool,
    staged: Mutex<Staged>,
}

impl State {
    fn close(&mut self) -> object_store::Result<Staged> {
        if self.closed {
            return Err(stopped());
        }
        self.closed = true;
        Ok(std::mem::take(self.staged.get_mut().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[derive(Debug, Default)]
struct Staged {
    uploads: Vec<Arc<Upload>>,
    objects: Vec<Object>,
}

/// A multipart upload, whose parts are in the store, but whose object is not visible.
#[derive(Debug)]
struct Upload {
    store: Arc<dyn ObjectStore>,
    location: Path,
    only_new: Option<OnlyNew>,
    /// True if its writer has sent everything.
    finished: AtomicBool,
    /// The upload itself; `None` once it is completed or aborted.
    inner: Mutex<Option<Box<dyn MultipartUpload>>>,
}

impl Upload {
    /// Returns whether nothing is left to send: the writer has sent everything, or aborted the upload.
    fn is_finished(&self) -> bool {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.is_none() || self.finished.load(Ordering::Relaxed)
    }

    fn take(&self) -> Option<Box<dyn MultipartUpload>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A small object, which is sent in one request.
#[derive(Debug)]
struct Object {
    store: Arc<dyn ObjectStore>,
    location: Path,
    payload: PutPayload,
    options: PutOptions,
    only_new: Option<OnlyNew>,
}

impl Staging {
    /// Returns the number of bytes of all objects, as far as they are written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Removes and returns the first error of a part, if there is one.
    pub(crate) fn failure(&self) -> Option<object_store::Error> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Stores the first error of a part; the writer gets its message.
    fn note(&self, error: object_store::Error) -> object_store::Error {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let words = error.to_string();
        if failed.is_none() {
            *failed = Some(error);
        }
        object_store::Error::Generic { store: "staging", source: words.into() }
    }

    fn count(&self, payload: &PutPayload) {
        self.bytes.fetch_add(payload.content_length() as u64, Ordering::Relaxed);
    }

    /// Keeps a small object until the commit. Writers hold it in memory until they have seen all of their input, so
    /// keeping it here needs no more memory.
    async fn hold(&self, object: Object) -> object_store::Result<()> {
        let state = self.state.read().await;
        if state.closed {
            return Err(stopped());
        }
        self.count(&object.payload);
        state.staged.lock().unwrap_or_else(PoisonError::into_inner).objects.push(object);
        Ok(())
    }

    /// Begins an upload. The request runs as a task of its own, so that an upload that has begun is recorded and can
    /// be aborted, even if the writer is dropped before the answer arrives.
    async fn begin(
        self: &Arc<Self>,
        store: Arc<dyn ObjectStore>,
        location: Path,
        mut options: PutMultipartOptions,
        only_new: Option<OnlyNew>,
    ) -> object_store::Result<Arc<Upload>> {
        if let Some(only_new) = only_new.clone() {
            options.extensions.insert(only_new);
        }
        let staging = Arc::clone(self);
        let begun = async move {
            let state = staging.state.read().await;
            if state.closed {
                return Err(stopped());
            }
            let inner = store.put_multipart_opts(&location, options).await?;
            let upload = Arc::new(Upload {
                store,
                location,
                only_new,
                finished: AtomicBool::new(false),
                inner: Mutex::new(Some(inner)),
            });
            let mut staged = state.staged.lock().unwrap_or_else(PoisonError::into_inner);
            staged.uploads.push(Arc::clone(&upload));
            Ok(upload)
        };
        self.spawn(begun).await.map_err(|_| stopped())?
    }

    /// Spawns work that runs to its end even if its caller is dropped. An upload that has begun must be recorded, or
    /// it would never be aborted.
    fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        match &self.runtime {
            Some(runtime) => runtime.spawn(work),
            None => Handle::current().spawn(work),
        }
    }

    fn is_closed(&self) -> bool {
        self.state.try_read().is_ok_and(|state| state.closed)
    }

    async fn commit(&self, replaced: Vec<OverwrittenObject>) -> Result<(), CommitError> {
        // The lock is held to the end, so that an abort waits.
        let mut state = self.state.write().await;
        let staged = state.close().map_err(CommitError::NotVisible)?;
        if !replaced.is_empty() && staged.objects.is_empty() && staged.uploads.is_empty() {
            return Err(CommitError::NothingLeft);
        }
        state.committed = true;
        Self::complete(staged).await?;
        remove(replaced).await
    }

    /// Makes all objects visible, or none. If one fails, those that are already visible are removed; if a statement
    /// writes several objects, their names are new.
    async fn complete(staged: Staged) -> Result<(), CommitError> {
        let Staged { uploads, objects } = staged;
        let mut visible = Vec::new();
        let is_only = uploads.len() + objects.len() == 1;
        match Self::complete_each(uploads, objects, &mut visible).await {
            Ok(()) => Ok(()),
            // The object may have replaced an older one, and must not be removed then.
            Err(FailedWrite { location, error, outcome: Outcome::Unknown }) if is_only => {
                Err(CommitError::Unknown { location, error })
            }
            Err(FailedWrite { error, .. }) => match remove(visible).await {
                Ok(()) => Err(CommitError::NotVisible(error)),
                Err(left) => Err(CommitError::NotVisible(partly(&error, &left))),
            },
        }
    }

    async fn complete_each(
        uploads: Vec<Arc<Upload>>,
        objects: Vec<Object>,
        visible: &mut Vec<OverwrittenObject>,
    ) -> Result<(), FailedWrite> {
        let unfinished = uploads.iter().find(|upload| !upload.is_finished());
        let mut failed = unfinished.map(|upload| FailedWrite {
            location: upload.location.clone(),
            error: unfinished_error(&upload.location),
            outcome: Outcome::NotWritten,
        });
        let mut uploads = uploads.into_iter();
        while failed.is_none()
            && let Some(upload) = uploads.next()
        {
            let Some(mut inner) = upload.take() else { continue };
            let (store, location) = (Arc::clone(&upload.store), upload.location.clone());
            let only_new = upload.only_new.as_ref();
            let unless_there = async {
                match only_new {
                    Some(only_new) => only_new.check(&*store, &location).await,
                    None => Ok(()),
                }
            };
            let completed = match unless_there.await {
                Ok(()) => inner.complete().await.map(drop),
                appeared => appeared,
            };
            let Err(mut error) = completed else {
                visible.push(OverwrittenObject { store, location });
                continue;
            };
            abort(&location, inner).await;
            let outcome = match only_new {
                Some(only_new) if only_new.is_refusal(&error) => {
                    error = only_new.appeared();
                    Outcome::NotWritten
                }
                // The object may be this one, if the answer to an earlier request was lost.
                Some(_) if is_conflict(&error) => Outcome::Unknown,
                _ => of_upload(&*store, &location, &error).await,
            };
            failed = Some(FailedWrite { location: location.clone(), error, outcome });
            if outcome != Outcome::NotWritten {
                visible.push(OverwrittenObject { store, location });
            }
        }
        if let Some(error) = failed {
            for upload in uploads {
                if let Some(inner) = upload.take() {
                    abort(&upload.location, inner).await;
                }
            }
            return Err(error);
        }
        for Object { store, location, payload, options, only_new } in objects {
            let put = async {
                match &only_new {
                    Some(only_new) => only_new.put(&*store, &location, &payload, &options).await,
                    None => store.put_opts(&location, payload.clone(), options).await,
                }
            };
            let outcome = match put.await {
                Ok(_) => Ok(()),
                Err(error) => match of_object(&*store, &location, &payload, &error).await {
                    Outcome::Written => Ok(()),
                    outcome => Err(FailedWrite { location: location.clone(), error, outcome }),
                },
            };
            if !matches!(outcome, Err(FailedWrite { outcome: Outcome::NotWritten, .. })) {
                visible.push(OverwrittenObject { store, location });
            }
            outcome?;
        }
        Ok(())
    }

    /// Aborts all uploads. Returns true if it is too late, because a commit had begun, which is over now.
    async fn abort(&self) -> bool {
        let mut state = self.state.write().await;
        let Ok(Staged { uploads, .. }) = state.close() else { return state.committed };
        let aborted = uploads.iter().filter_map(|upload| {
            let inner = upload.take()?;
            Some(abort(&upload.location, inner))
        });
        future::join_all(aborted).await;
        false
    }
}

/// An object that was not written, or possibly not.
struct FailedWrite {
    location: Path,
    error: object_store::Error,
    outcome: Outcome,
}

/// An object that new ones replace.
#[derive(Debug)]
pub struct OverwrittenObject {
    /// The store of the object.
    pub store: Arc<dyn ObjectStore>,
    /// The path of the object in its store.
    pub location: Path,
}

/// The error of a commit.
#[derive(Debug)]
pub enum CommitError {
    /// There are no new objects, and the objects to be replaced are unchanged.
    NothingLeft,
    /// Not all new objects are visible.
    NotVisible(object_store::Error),
    /// The only new object may or may not be visible, because the store's answer was lost.
    Unknown {
        /// The path of the object.
        location: Path,
        /// The error in place of the answer.
        error: object_store::Error,
    },
    /// All new objects are visible, but some of the objects that they replace remain.
    NotRemoved {
        /// The number of objects that remain.
        left: usize,
        /// The path of one of them.
        location: Path,
        /// The error of its removal.
        error: object_store::Error,
    },
}

/// The number of objects that are removed in parallel.
const REMOVED_AT_ONCE: usize = 16;

async fn remove(replaced: Vec<OverwrittenObject>) -> Result<(), CommitError> {
    let removed = stream::iter(replaced).map(|OverwrittenObject { store, location }| async move {
        match store.delete(&location).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => None,
            Err(error) => Some((location, error)),
        }
    });
    let left = removed.buffer_unordered(REMOVED_AT_ONCE).filter_map(future::ready);
    let mut left: Vec<_> = left.collect().await;
    let Some((location, error)) = left.pop() else { return Ok(()) };
    Err(CommitError::NotRemoved { left: left.len() + 1, location, error })
}

async fn abort(location: &Path, mut upload: Box<dyn MultipartUpload>) {
    if let Err(error) = upload.abort().await {
        tracing::warn!("the upload of `{location}` could not be aborted: {error}");
    }
}

/// Returns the error of a failed commit that left objects behind.
fn partly(error: &object_store::Error, left: &CommitError) -> object_store::Error {
    let (count, location) = match left {
        CommitError::NotRemoved { left, location, .. } => (*left, location.to_string()),
        CommitError::NothingLeft | CommitError::NotVisible(_) | CommitError::Unknown { .. } => {
            (0, String::new())
        }
    };
    let text = format!("{error}; {count} of its objects are left, such as `{location}`");
    object_store::Error::Generic { store: "staging", source: text.into() }
}

fn unfinished_error(location: &Path) -> object_store::Error {
    let text = format!("the writer of `{location}` stopped before its end");
    object_store::Error::Generic { store: "staging", source: text.into() }
}

fn stopped() -> object_store::Error {
    object_store::Error::Generic { store: "staging", source: "the statement was stopped".into() }
}
