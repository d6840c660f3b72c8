//! Temporary samples in a bucket: a command writes them, reads them, and removes them.

use std::process;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use datafusion::common::DataFusionError;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use sluicegate_client::Error;
use sluicegate_costmodel::Bytes;
use sluicegate_engine::counters::RequestKind;
use sluicegate_engine::{Engine, ErrorKind};

use crate::commands::generate::bucket_store;
use crate::connect::bucket;
use crate::failure::{Failure, Result};
use crate::runtime::cleanup::Leftover;

/// Pauses before the retries of a failed removal.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];

/// Samples in a bucket. A missing bucket is created for them and removed with them.
pub(super) struct Samples<'a> {
    engine: &'a Engine,
    bucket: &'a str,
    /// The hint of the error if the samples cannot be written.
    hint: &'static str,
    prefix: String,
    store: Arc<dyn ObjectStore>,
    /// True if the bucket was created for the samples.
    made: bool,
    written: Vec<Path>,
    /// Names the samples to a user who kills the process; set from the first write on.
    left: Option<Leftover>,
}

impl<'a> Samples<'a> {
    /// Chooses a prefix that no other run uses. Nothing is written yet.
    pub(super) fn new(
        engine: &'a Engine,
        bucket: &'a str,
        command: &str,
        hint: &'static str,
    ) -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let prefix = format!("sluice-{command}-{:x}-{:x}/", now.as_nanos(), process::id());
        let store = bucket_store(engine, bucket)?;
        Ok(Self {
            engine,
            bucket,
            hint,
            prefix,
            store,
            made: false,
            written: Vec::new(),
            left: None,
        })
    }

    /// Returns the prefix of the samples' keys, with a slash at its end.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Reads the first `bytes` of a sample.
    pub(super) async fn read(&self, name: &str, bytes: Bytes) -> Result<()> {
        let path = Path::from(format!("{}{name}", self.prefix));
        let read = self.store.get_range(&path, 0..bytes.0).await;
        read.map(drop).map_err(|error| DataFusionError::ObjectStore(Box::new(error)).into())
    }

    /// Sends a HEAD request, and fails if the store cannot be reached at all: that error is clearer than the one of a
    /// write.
    async fn check_connection(&self) -> Result<()> {
        self.engine.endpoint().counters.request(RequestKind::Head);
        let key = format!("{}nothing", self.prefix);
        match self.engine.endpoint().client.head(self.bucket, &key).await {
            Err(
                error @ (Error::Unreachable { .. }
                | Error::NoHost { .. }
                | Error::NoTls { .. }
                | Error::NoStore { .. }
                | Error::NoCredentials
                | Error::HalfKeyPair { .. }
                | Error::NoProfile { .. }
                | Error::WrongRegion { .. }),
            ) => Err(sluicegate_engine::Error::from(error).into()),
            // The key does not exist, so an error is expected. Any other problem shows when the samples are written.
            _ => Ok(()),
        }
    }

    /// Creates the bucket if it does not exist.
    pub(super) async fn begin(&mut self) -> Result<()> {
        self.check_connection().await?;
        self.left = Some(Leftover::new(format!("s3://{}/{}", self.bucket, self.prefix)));
        let counters = &self.engine.endpoint().counters;
        counters.request(RequestKind::Head);
        self.made = bucket::ensure(self.engine, self.bucket).await?;
        if self.made {
            counters.request(RequestKind::Put);
        }
        Ok(())
    }

    /// Writes samples, given as key without the prefix and contents.
    pub(super) async fn write(
        &mut self,
        samples: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> Result<()> {
        for (name, bytes) in samples {
            let path = Path::from(format!("{}{name}", self.prefix));
            // Recorded before the request, so that an interruption does not leave the object behind.
            self.written.push(path.clone());
            if let Err(error) = self.store.put(&path, bytes.into()).await {
                return Err(self.not_written(error));
            }
        }
        tracing::debug!(bucket = self.bucket, prefix = self.prefix, "samples are written");
        Ok(())
    }

    /// Lists the objects below the prefix that others have written, so that they are removed with the samples.
    pub(super) async fn take_in(&mut self) -> Result<()> {
        let prefix = Path::from(self.prefix.as_str());
        let listed = self.store.list(Some(&prefix)).map_ok(|object| object.location);
        let listed: Vec<_> = listed
            .try_collect()
            .await
            .map_err(|error| DataFusionError::ObjectStore(Box::new(error)))?;
        self.written.extend(listed);
        Ok(())
    }

    /// Describes the failure to write the last sample.
    fn not_written(&mut self, error: object_store::Error) -> Failure {
        let denied = matches!(&error, object_store::Error::PermissionDenied { .. });
        let error = sluicegate_engine::Error::from(DataFusionError::ObjectStore(Box::new(error)));
        // After any other error the object may exist, and is removed with the rest.
        if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Access | ErrorKind::Setting) {
            self.written.pop();
        }
        let place = format!("cannot write to the bucket `{}`", self.bucket);
        match Failure::from(error).at(&place) {
            failure @ Failure::Failed { hint: Some(_), .. } if !denied => failure,
            failure => failure.with_hint(self.hint),
        }
    }

    /// Removes the samples, and the bucket if it was created for them. Failed requests are retried after a pause.
    pub(super) async fn remove(&mut self) -> Result<()> {
        let mut pauses = PAUSES.iter();
        while let Err(failure) = self.remove_once().await {
            let Some(pause) = pauses.next() else {
                let left = format!("samples are left in s3://{}/{}", self.bucket, self.prefix);
                return Err(failure.at(&left).with_hint(self.how_to_remove()));
            };
            tracing::debug!(?failure, "samples are not removed yet");
            tokio::time::sleep(*pause).await;
        }
        Ok(())
    }

    async fn remove_once(&mut self) -> Result<()> {
        while let Some(path) = self.written.last() {
            match self.store.delete(path).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(DataFusionError::ObjectStore(Box::new(error)).into()),
            }
            self.written.pop();
        }
        if self.made {
            self.engine.endpoint().counters.request(RequestKind::Put);
            bucket::remove(self.engine, self.bucket).await?;
            self.made = false;
        }
        Ok(())
    }

    /// Returns the commands by which a user removes samples that are left.
    fn how_to_remove(&self) -> String {
        let endpoint = self.engine.endpoint().client.endpoint();
        let endpoint = endpoint.map(|url| format!(" --endpoint-url {url}")).unwrap_or_default();
        let place = format!("s3://{}/{}", self.bucket, self.prefix);
        let bucket = match self.made {
            true => format!(", and the bucket: `aws s3 rb s3://{}{endpoint}`", self.bucket),
            false => String::new(),
        };
        format!("Remove them: `aws s3 rm --recursive {place}{endpoint}`{bucket}.")
    }
}
