//! Statistics of objects of text, from their size and a look at the first records of a few.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use tokio::sync::watch;

/// How much of an object is read to learn the length of a record.
const SAMPLE_BYTES: u64 = 4096;
/// How many objects of a table are looked into, for as long as the table is defined.
const SAMPLED_OBJECTS: usize = 8;
/// What gzip makes of tables, roughly.
const COMPRESSION_RATIO: f64 = 4.0;

/// Estimates the rows of a table's objects, all inexact, within a budget: at most 8 objects are
/// looked into, 4 KiB each, and the others are taken to have records of the same length. Objects
/// that are compressed are not sampled.
#[derive(Debug)]
pub struct Sampler {
    state: watch::Sender<Samples>,
}

/// What was seen of a table's records.
#[derive(Debug, Clone, Copy, Default)]
struct Samples {
    /// Looks that were begun.
    begun: usize,
    /// Looks that are over, successful or not.
    ended: usize,
    /// Those of them that saw records.
    seen: usize,
    /// The sum of the mean lengths of a record in these.
    record_bytes: f64,
}

impl Samples {
    fn mean(&self) -> Option<f64> {
        (self.seen > 0).then(|| self.record_bytes / self.seen as f64)
    }
}

impl Default for Sampler {
    fn default() -> Self {
        Self { state: watch::Sender::new(Samples::default()) }
    }
}

impl Sampler {
    /// Bytes and estimated rows of one of the table's objects.
    ///
    /// # Errors
    ///
    /// If the object is looked into and cannot be read.
    pub async fn statistics(
        &self,
        store: &Arc<dyn ObjectStore>,
        schema: &SchemaRef,
        object: &ObjectMeta,
        compressed: bool,
        has_header: bool,
    ) -> Result<Statistics> {
        let mut statistics = Statistics::new_unknown(schema);
        let size = object.size;
        let bytes = usize::try_from(size).unwrap_or(usize::MAX);
        statistics.total_byte_size = Precision::Inexact(bytes);
        if size == 0 {
            statistics.num_rows = Precision::Exact(0);
            return Ok(statistics);
        }
        let record = if compressed {
            default_record_bytes(schema) / COMPRESSION_RATIO
        } else {
            let seen = self.record_bytes(store, object, has_header).await?;
            seen.unwrap_or_else(|| default_record_bytes(schema))
        };
        // At least one, or an unlucky estimate would call a table empty.
        let rows = (size as f64 / record).ceil().max(1.0);
        statistics.num_rows = Precision::Inexact(rows as usize);
        Ok(statistics)
    }

    /// The mean length of a record: of this object while the budget lasts, then of those that were
    /// looked into. None if no look has seen a whole record.
    async fn record_bytes(
        &self,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
        has_header: bool,
    ) -> Result<Option<f64>> {
        let within_budget = self.state.send_if_modified(|samples| {
            let granted = samples.begun < SAMPLED_OBJECTS;
            samples.begun += usize::from(granted);
            granted
        });
        if !within_budget {
            // Other objects of the table are planned at the same time: wait for their samples.
            let mut state = self.state.subscribe();
            let samples = state.wait_for(|samples| samples.ended == samples.begun).await;
            return Ok(samples.ok().and_then(|samples| samples.mean()));
        }
        let mut look = Look { sampler: self, record_bytes: None };
        let sample = store.get_range(&object.location, 0..object.size.min(SAMPLE_BYTES)).await?;
        look.record_bytes = record_bytes(&sample, has_header);
        Ok(look.record_bytes)
    }
}

/// A look into an object. It ends also if it fails or is given up, so that nobody waits for it in
/// vain.
struct Look<'a> {
    sampler: &'a Sampler,
    record_bytes: Option<f64>,
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        self.sampler.state.send_modify(|samples| {
            samples.ended += 1;
            if let Some(bytes) = self.record_bytes {
                samples.seen += 1;
                samples.record_bytes += bytes;
            }
        });
    }
}

/// The mean length of the complete records of a sample, delimiters included.
fn record_bytes(sample: &[u8], has_header: bool) -> Option<f64> {
    let newline = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n');
    let body = if has_header { sample.get(newline(sample)? + 1..)? } else { sample };
    let end = body.iter().rposition(|byte| *byte == b'\n')? + 1;
    let records = body.iter().take(end).filter(|byte| **byte == b'\n').count();
    Some(end as f64 / records as f64)
}

/// A guess for records that were not seen.
fn default_record_bytes(schema: &SchemaRef) -> f64 {
    10.0 * schema.fields().len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::TryStreamExt;
    use object_store::memory::InMemory;

    #[track_caller]
    fn check(sample: &str, has_header: bool, expected: Option<f64>) {
        assert_eq!(record_bytes(sample.as_bytes(), has_header), expected, "{sample:?}");
    }

    async fn table(objects: usize) -> (Arc<dyn ObjectStore>, Vec<ObjectMeta>) {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        for index in 0..objects {
            let body = "1,two\n".repeat(1000 + index);
            let path = format!("t/{index:03}.csv").as_str().into();
            store.put(&path, body.into()).await.unwrap();
        }
        let listed = store.list(None).try_collect::<Vec<_>>().await.unwrap();
        (store, listed)
    }

    /// However many objects are asked about at once, and in whatever order they are finished.
    #[tokio::test]
    async fn rows_of_many_objects_follow_from_few() {
        let (store, objects) = table(100).await;
        let schema: SchemaRef = Arc::new(arrow::datatypes::Schema::empty());
        let sampler = Sampler::default();
        let asked = objects
            .iter()
            .rev()
            .map(|object| sampler.statistics(&store, &schema, object, false, false));
        for (statistics, object) in
            futures::future::join_all(asked).await.into_iter().zip(objects.iter().rev())
        {
            let rows = usize::try_from(object.size / 6).unwrap();
            assert_eq!(statistics.unwrap().num_rows, Precision::Inexact(rows));
        }
        let samples = *sampler.state.borrow();
        assert_eq!((samples.begun, samples.ended), (SAMPLED_OBJECTS, SAMPLED_OBJECTS));
    }

    #[tokio::test]
    async fn looks_that_fail_are_spent_and_keep_nobody_waiting() {
        let (store, objects) = table(1).await;
        let schema: SchemaRef = Arc::new(arrow::datatypes::Schema::empty());
        let sampler = Sampler::default();
        let gone = ObjectMeta { location: "t/gone.csv".into(), ..objects[0].clone() };
        for _ in 0..SAMPLED_OBJECTS {
            assert!(sampler.statistics(&store, &schema, &gone, false, false).await.is_err());
        }
        let guessed = sampler.statistics(&store, &schema, &gone, false, false).await.unwrap();
        let rows = gone.size as f64 / default_record_bytes(&schema);
        assert_eq!(guessed.num_rows, Precision::Inexact(rows.ceil() as usize));
    }

    #[test]
    fn a_record_is_as_long_as_the_complete_ones_on_average() {
        check("a,b\n1,22\n3,4444\n5", false, Some(16.0 / 3.0));
        check("a,b\n1,22\n3,4444\n5", true, Some(6.0));
        check("a,b\n", true, None);
        check("no line ends", false, None);
        check("", true, None);
    }
}
