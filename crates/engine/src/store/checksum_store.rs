//! Compares whole objects with the checksums that their store has.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetResult, GetResultPayload, ObjectStore, Result};

use crate::context::error::Damaged;
use crate::context::read_layer::ReadLayer;
use crate::store::checksum::Checksum;
use crate::store::multi_range_get::RequestedRanges;
use crate::store::stall_timeout::StallRetry;
use crate::text::samples::Samples;

/// The maximum size in bytes of an object that a sample reads whole, so that its checksum can be compared.
const SAMPLE_BYTES: u64 = 512 << 10;

/// The state of all requests that one GET leads to. Object stores request the rest of an answer that breaks off. It
/// is an extension of the GET's requests.
#[derive(Debug, Default)]
pub(crate) struct VerifiedGet {
    pub(crate) hearing: Arc<StallRetry>,
    /// The checksum of the whole object, if the first answer offers one.
    pub(crate) checksum: OnceLock<Checksum>,
}

/// A layer that compares whole objects with their checksums. Stores offer no checksums of ranges.
#[derive(Debug)]
pub(crate) struct ChecksumStore {
    /// The store below, with a header in each GET that requests checksums.
    pub(crate) asking: Arc<dyn ObjectStore>,
    /// True if bytes cannot be damaged in transit, as with TLS.
    pub(crate) secure: bool,
}

/// Returns a stream that ends with an error if its bytes do not match a checksum. If they match, the sample is
/// counted as correct.
fn checked(
    stream: BoxStream<'static, Result<Bytes>>,
    object: Path,
    checksum: Checksum,
    samples: Option<Arc<Samples>>,
) -> BoxStream<'static, Result<Bytes>> {
    let computed = checksum.begin();
    futures::stream::try_unfold((stream, computed), move |(mut stream, mut computed)| {
        let (checksum, object, samples) = (checksum.clone(), object.clone(), samples.clone());
        async move {
            if let Some(bytes) = stream.try_next().await? {
                computed.update(&bytes);
                return Ok(Some((bytes, (stream, computed))));
            }
            let algorithm = checksum.name();
            if !checksum.is(computed) {
                let source = Box::new(Damaged::new(&object, algorithm));
                return Err(Error::Generic { store: "S3", source });
            }
            if let Some(samples) = samples {
                samples.verified();
            }
            Ok(None)
        }
    })
    .boxed()
}

#[async_trait]
impl ReadLayer for ChecksumStore {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        mut options: GetOptions,
    ) -> Result<GetResult> {
        let conversation = Arc::new(VerifiedGet::default());
        options.extensions.insert(Arc::clone(&conversation));
        let samples = options.extensions.get::<Arc<Samples>>().cloned();
        if let Some(samples) = &samples {
            samples.ask(self.secure);
        }
        let in_part =
            options.range.is_some() || options.extensions.get::<RequestedRanges>().is_some();
        if options.head || in_part {
            return inner.get_opts(location, options).await;
        }
        let result = self.asking.get_opts(location, options).await?;
        let Some(checksum) = conversation.checksum.get().cloned() else { return Ok(result) };
        let (meta, range) = (result.meta.clone(), result.range.clone());
        let attributes = result.attributes.clone();
        let samples = samples.filter(|_| !self.secure);
        let is_small_sample = samples.is_some() && meta.size <= SAMPLE_BYTES;
        let mut stream = checked(result.into_stream(), location.clone(), checksum, samples);
        if is_small_sample {
            // A sample would not be read to its end otherwise.
            let all: Vec<Bytes> = stream.try_collect().await?;
            stream = futures::stream::iter(all.into_iter().map(Ok)).boxed();
        }
        let payload = GetResultPayload::Stream(stream);
        Ok(GetResult { payload, meta, range, attributes })
    }
}
