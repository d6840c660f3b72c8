//! Keys when files are opened: waited for once, decided about once.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileScanConfig;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::decide::{Decided, decide};
use super::said::KeysSaid;
use crate::config::{Join, SluiceOptions};
use crate::datasource::arriving::PATIENCE;
use crate::datasource::s3_select::S3SelectSource;
use crate::endpoint::Endpoint;

/// The keys of a scan while it runs: of all its partitions, or of one.
#[derive(Debug)]
pub struct KeysAtOpen {
    /// The moment beyond which no file waits.
    until: OnceLock<Instant>,
    decided: Mutex<Option<Arc<Decided>>>,
    said: Arc<KeysSaid>,
}

impl KeysAtOpen {
    /// Of a scan that is about to run; none if no keys of joins are to arrive at it. EXPLAIN ANALYZE
    /// shows what is decided.
    #[must_use]
    pub fn of(source: &S3SelectSource) -> Option<Arc<Self>> {
        if source.arriving().iter().all(|arriving| arriving.keys.is_none()) {
            return None;
        }
        let said = KeysSaid::registered(source.metrics_set());
        Some(Arc::new(Self { until: OnceLock::new(), decided: Mutex::new(None), said }))
    }

    /// Where to say what parts of files ask.
    #[must_use]
    pub fn said(&self) -> &KeysSaid {
        &self.said
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
        let mut known = self.decided.lock().await;
        if let Some(decided) = known.as_ref() {
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
            Decided::ByPart(by_part) => self.said.say(&by_part.about(source)),
        }
        if all_final {
            *known = Some(Arc::clone(&decided));
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
