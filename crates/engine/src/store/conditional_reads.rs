//! Pins objects to one version while they are read.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::physical_plan::metrics::Count;
use object_store::path::Path;
use object_store::{GetOptions, GetResult, ObjectMeta, ObjectStore};

use crate::context::read_layer::{Layered, ReadLayer};

/// Makes every read of an object return the version that the listing saw, or fail.
#[derive(Debug)]
struct ConditionalReadStore {
    location: Path,
    e_tag: Option<String>,
    got: Count,
}

/// Pins one object of a store to the version in its listing, if that has one, and adds the bytes of answers to `got`.
#[must_use]
pub(crate) fn pinned(
    store: Arc<dyn ObjectStore>,
    object: &ObjectMeta,
    got: Count,
) -> Arc<dyn ObjectStore> {
    let (location, e_tag) = (object.location.clone(), object.e_tag.clone());
    Arc::new(Layered::new(store, ConditionalReadStore { location, e_tag, got }))
}

#[async_trait]
impl ReadLayer for ConditionalReadStore {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        mut options: GetOptions,
    ) -> object_store::Result<GetResult> {
        if *location == self.location && options.if_match.is_none() {
            options.if_match.clone_from(&self.e_tag);
        }
        let result = inner.get_opts(location, options).await?;
        let bytes = result.range.end.saturating_sub(result.range.start);
        self.got.add(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(result)
    }

    fn named(&self, inner: &dyn ObjectStore, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{inner} pinned to one version of {}", self.location)
    }
}
