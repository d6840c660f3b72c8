//! Samples in a bucket: written before questions are asked about them, gone after that.

use std::process;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use datafusion::common::DataFusionError;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use sluicegate_client::Error;
use sluicegate_engine::Engine;
use sluicegate_engine::counters::RequestKind;

use crate::commands::generate::bucket_store;
use crate::connect::bucket;
use crate::failure::{Failure, Result};

/// Samples in a bucket that may be ours, too.
pub(super) struct Samples<'a> {
    engine: &'a Engine,
    bucket: &'a str,
    /// What to do if they cannot be written.
    hint: &'static str,
    prefix: String,
    store: Arc<dyn ObjectStore>,
    /// Whether the bucket was made for them.
    made: bool,
    written: Vec<Path>,
}

impl<'a> Samples<'a> {
    /// A place for the samples of a command that nothing else has; nothing is written yet.
    pub(super) fn new(
        engine: &'a Engine,
        bucket: &'a str,
        command: &str,
        hint: &'static str,
    ) -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let prefix = format!("sluice-{command}-{:x}-{:x}/", now.as_nanos(), process::id());
        let store = bucket_store(engine, bucket)?;
        Ok(Self { engine, bucket, hint, prefix, store, made: false, written: Vec::new() })
    }

    /// What the keys of the samples begin with.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Fails early, and with a better reason, if nothing can be asked at all.
    async fn check_connection(&self) -> Result<()> {
        self.engine.endpoint().counters.request(RequestKind::Head);
        let key = format!("{}nothing", self.prefix);
        match self.engine.endpoint().client.head(self.bucket, &key).await {
            Err(
                error @ (Error::Unreachable { .. }
                | Error::NoCredentials
                | Error::WrongRegion { .. }),
            ) => Err(sluicegate_engine::Error::from(error).into()),
            // It is not there, of course; and what else there may be, writing will show.
            _ => Ok(()),
        }
    }

    /// Makes the bucket if it is not there, and writes samples: the key behind the prefix, and the
    /// bytes.
    pub(super) async fn write(
        &mut self,
        samples: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> Result<()> {
        self.check_connection().await?;
        let counters = &self.engine.endpoint().counters;
        counters.request(RequestKind::Head);
        self.made = bucket::ensure(self.engine, self.bucket).await?;
        if self.made {
            counters.request(RequestKind::Put);
        }
        for (name, bytes) in samples {
            let path = Path::from(format!("{}{name}", self.prefix));
            // Known before it is there: an interruption must not forget it.
            self.written.push(path.clone());
            let put = self.store.put(&path, bytes.into()).await;
            put.map_err(|error| {
                let refused = matches!(&error, object_store::Error::PermissionDenied { .. });
                let failure = Failure::from(DataFusionError::ObjectStore(Box::new(error)))
                    .at(&format!("cannot write to the bucket `{}`", self.bucket));
                match &failure {
                    Failure::Failed { hint: Some(_), .. } if !refused => failure,
                    _ => failure.with_hint(self.hint),
                }
            })?;
        }
        tracing::debug!(bucket = self.bucket, prefix = self.prefix, "samples are written");
        Ok(())
    }

    /// Removes what was written.
    pub(super) async fn remove(&mut self) -> Result<()> {
        for path in self.written.drain(..) {
            match self.store.delete(&path).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => {
                    let place = format!("samples are left in s3://{}/{}", self.bucket, self.prefix);
                    let error = DataFusionError::ObjectStore(Box::new(error));
                    return Err(Failure::from(error).at(&place));
                }
            }
        }
        if std::mem::take(&mut self.made) {
            self.engine.endpoint().counters.request(RequestKind::Put);
            bucket::remove(self.engine, self.bucket).await?;
        }
        Ok(())
    }
}
