//! Infers schemas of text from verified samples.
//!
//! One damaged byte could turn a column of numbers into one of text, with another ORDER BY, and nothing would detect
//! it later. Therefore a sample is used only if a checksum or a secure connection verifies it, or if two samples
//! agree.

use std::sync::Arc;

use arrow::datatypes::{DataType, Fields, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::common::{Result, exec_err};
use futures::future::BoxFuture;
use object_store::path::Path;
use object_store::{GetOptions, GetResult, ObjectMeta, ObjectStore};

use crate::context::error::{is_damage, is_of_store};
use crate::context::read_layer::{Layered, ReadLayer};
use crate::text::samples::Samples;

/// The maximum number of samples that are taken until two agree.
const MOST: usize = 4;

/// Infers a schema, or something else, from samples through a store.
///
/// # Errors
///
/// If reading or inferring fails, or if no two samples agree.
pub(crate) async fn infer<'a, T: PartialEq + Send>(
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    infer: impl Fn(Arc<dyn ObjectStore>) -> BoxFuture<'a, Result<T>> + Send,
) -> Result<T> {
    let mut seen: Vec<T> = Vec::new();
    let mut failed = false;
    for _ in 0..MOST {
        let samples = Arc::new(Samples::default());
        let store = Layered::new(Arc::clone(store), Sampled(Arc::clone(&samples)));
        match infer(Arc::new(store)).await {
            Ok(schema) if samples.are_verified() || seen.contains(&schema) => return Ok(schema),
            Ok(schema) => seen.push(schema),
            Err(error) if is_damage(&error) => {}
            // An error may come from damage. If it occurs again, it does not.
            Err(error) if failed || samples.are_verified() || is_of_store(&error) => {
                return Err(error);
            }
            Err(_) => failed = true,
        }
    }
    let first = objects.first().map_or_else(String::new, |object| object.location.to_string());
    exec_err!(
        "the columns of `{first}` cannot be told: each of {MOST} looks at it found others, so its bytes \
         are damaged on the way"
    )
}

/// Changes columns without any value in the samples to text, because later values may have any type.
pub(crate) fn with_text_for_nothing(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Null => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8)),
        _ => Arc::clone(field),
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone()))
}

/// Marks GETs as those of samples.
#[derive(Debug)]
struct Sampled(Arc<Samples>);

#[async_trait]
impl ReadLayer for Sampled {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        mut options: GetOptions,
    ) -> object_store::Result<GetResult> {
        options.extensions.insert(Arc::clone(&self.0));
        inner.get_opts(location, options).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use arrow::datatypes::Field;
    use datafusion::common::exec_datafusion_err;
    use object_store::memory::InMemory;

    use super::*;
    use crate::store::checksum_store::ChecksumStore;

    /// Infers a schema where successive samples have the given types, and counts the samples.
    async fn look(secure: bool, types: &[DataType]) -> (Result<SchemaRef>, usize) {
        let inner: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let checked = Layered::new(Arc::clone(&inner), ChecksumStore { asking: inner, secure });
        let store: Arc<dyn ObjectStore> = Arc::new(checked);
        let left = Mutex::new(types.iter());
        let next = &left;
        let inferred = infer(&store, &[], move |store| {
            Box::pin(async move {
                let _ = store.get_opts(&Path::from("x"), GetOptions::default()).await;
                let found = next.lock().unwrap().next().cloned();
                let found = found.filter(|found| *found != DataType::Null);
                let found = found.ok_or_else(|| exec_datafusion_err!("it is not readable"))?;
                Ok(Arc::new(Schema::new(vec![Field::new("a", found, true)])) as SchemaRef)
            })
        });
        let inferred = inferred.await;
        let taken = types.len() - left.lock().unwrap().len();
        (inferred, taken)
    }

    #[tokio::test]
    async fn what_cannot_be_read_twice_is_an_error() {
        for (secure, types, taken) in [
            (true, [DataType::Null, DataType::Int64], 1),
            (false, [DataType::Null, DataType::Null], 2),
        ] {
            let (inferred, looks) = look(secure, &types).await;
            assert!(inferred.unwrap_err().to_string().contains("it is not readable"));
            assert_eq!(looks, taken);
        }
    }

    #[tokio::test]
    async fn two_samples_agree_unless_the_first_is_vouched_for() {
        // Null stands for a sample that cannot be read.
        use DataType::{Float64, Int64, Null, Utf8};
        for (secure, types, expected, taken) in [
            (true, vec![Int64, Utf8], Some(Int64), 1),
            (false, vec![Int64, Int64, Utf8], Some(Int64), 2),
            (false, vec![Utf8, Int64, Int64], Some(Int64), 3),
            (false, vec![Utf8, Int64, Utf8], Some(Utf8), 3),
            (false, vec![Int64, Null, Int64], Some(Int64), 3),
            (false, vec![Utf8, Int64, Float64, DataType::Date32, Utf8], None, 4),
        ] {
            let (inferred, looks) = look(secure, &types).await;
            assert_eq!(looks, taken, "{types:?}");
            match expected {
                Some(expected) => assert_eq!(inferred.unwrap().field(0).data_type(), &expected),
                None => {
                    let said = inferred.unwrap_err().to_string();
                    assert!(said.contains("each of 4 looks at it found others"), "{said}");
                }
            }
        }
    }
}
