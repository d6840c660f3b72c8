//! Removal of multipart uploads that are never completed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::store::Store;

/// The longest interval between two searches for expired uploads.
const INTERVAL: Duration = Duration::from_secs(3600);

/// Removes multipart uploads that are older than `age`, at once and then every hour, until the server stops. If `age`
/// is shorter than an hour, it is also the interval, but at least one second.
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
