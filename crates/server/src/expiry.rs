//! Uploads that nobody completes.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::store::Store;

/// How often uploads are looked at.
const INTERVAL: Duration = Duration::from_secs(3600);

/// Removes multipart uploads that were begun longer ago than `age`, now and every hour, until the
/// server stops.
pub(crate) async fn expire(store: Arc<Store>, age: Duration, mut stopped: watch::Receiver<bool>) {
    let mut interval = tokio::time::interval(INTERVAL.min(age).max(Duration::from_secs(1)));
    loop {
        tokio::select! {
            _ = interval.tick() => {}
            _ = stopped.changed() => return,
        }
        let store = Arc::clone(&store);
        match spawn_blocking(move || store.expire_uploads(age)).await {
            Ok(Ok(0)) => {}
            Ok(Ok(count)) => tracing::info!(count, "unfinished uploads expired"),
            Ok(Err(e)) => tracing::warn!("cannot remove expired uploads: {e}"),
            Err(e) => tracing::warn!("cannot remove expired uploads: {e}"),
        }
    }
}
