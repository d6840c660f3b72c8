//! Keys when files are opened: waited for once, decided about once.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileScanConfig;
use tokio::time::Instant;

use super::decide::{Decided, decide};
use crate::config::{Join, SluiceOptions};
use crate::datasource::arriving::PATIENCE;
use crate::datasource::s3_select::S3SelectSource;
use crate::endpoint::Endpoint;
use crate::metrics::Said;

/// The keys of one partition of a scan, while it runs.
#[derive(Debug)]
pub struct KeysAtOpen {
    /// The moment beyond which no file waits.
    until: OnceLock<Instant>,
    decided: Mutex<Option<Arc<Decided>>>,
    said: Arc<Said>,
}

impl KeysAtOpen {
    /// Where EXPLAIN ANALYZE reads what was decided.
    #[must_use]
    pub fn new(said: Arc<Said>) -> Self {
        Self { until: OnceLock::new(), decided: Mutex::new(None), said }
    }

    /// What a file that is opened now asks about keys.
    ///
    /// # Errors
    ///
    /// If a condition cannot be evaluated here.
    pub async fn decided(
        &self,
        source: &S3SelectSource,
        endpoint: &Endpoint,
        config: &FileScanConfig,
        options: &ConfigOptions,
    ) -> Result<Arc<Decided>> {
        let known = || self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(decided) = known().as_ref() {
            return Ok(Arc::clone(decided));
        }
        let until =
            *self.until.get_or_init(|| Instant::now() + patience(endpoint, config, options));
        let mut all_final = true;
        for arriving in source.arriving().iter().filter(|it| it.keys.is_some()) {
            arriving.wait(until).await;
            all_final &= arriving.is_final();
        }
        let decided = Arc::new(decide(source, endpoint, config, options)?);
        match decided.as_ref() {
            Decided::NoRow => self.said.say("no row has a key"),
            Decided::Ask(sent) if sent.columns.is_empty() && sent.refused.is_empty() => {
                self.said.say(if all_final { "nothing" } else { "nothing in time" });
            }
            Decided::Ask(sent) => self.said.say(&sent.to_string()),
        }
        if all_final {
            *known() = Some(Arc::clone(&decided));
        }
        Ok(decided)
    }
}

/// Waiting for keys takes no longer than to fetch everything without them, unless they are wanted
/// at any price.
fn patience(endpoint: &Endpoint, config: &FileScanConfig, options: &ConfigOptions) -> Duration {
    if SluiceOptions::of(options).join == Join::Bloom {
        return PATIENCE;
    }
    let files = config.file_groups.iter().flat_map(|group| group.files());
    let bytes: f64 = files.map(|file| file.effective_size() as f64).sum();
    let seconds = bytes / endpoint.hardware.link.bytes_per_second.0.max(1.0);
    Duration::try_from_secs_f64(seconds).unwrap_or(PATIENCE).min(PATIENCE)
}
