//! Creation and removal of buckets.

use sluicegate_engine::Engine;

use crate::failure::{Failure, Result};

/// Creates the bucket unless it exists. Returns whether it was created.
pub(crate) async fn ensure(engine: &Engine, name: &str) -> Result<bool> {
    engine.endpoint().client.ensure_bucket(name).await.map_err(|error| {
        Failure::new(format!("cannot create the bucket `{name}`: {error}"))
            .with_hint("Check the bucket's name and that the access key may create buckets.")
    })
}

/// Removes an empty bucket.
pub(crate) async fn remove(engine: &Engine, name: &str) -> Result<()> {
    engine.endpoint().client.remove_bucket(name).await.map_err(|error| {
        Failure::new(format!("cannot remove the bucket `{name}` again: {error}"))
            .with_hint("Remove it by hand.")
    })
}
