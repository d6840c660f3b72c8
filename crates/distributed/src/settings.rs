//! Session options that the coordinator passes on to its workers.

use std::collections::BTreeMap;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use http::{HeaderMap, HeaderValue};
use sluicegate_engine::config::SluiceOptions;

/// The header that holds the options, as JSON.
const HEADER: &str = "x-sluice-settings";

/// The prefix of the options that operators read while they run.
const EXECUTION: &str = "datafusion.execution.";

/// Returns true if workers follow the option. They follow DataFusion's execution options and Sluicegate's own.
fn is_followed(key: &str) -> bool {
    key.starts_with(EXECUTION) || SluiceOptions::has(key)
}

/// Returns a header with the options that workers follow and that differ from their defaults.
pub(crate) fn headers(options: &ConfigOptions) -> HeaderMap {
    let value = |options: &ConfigOptions| -> BTreeMap<String, Option<String>> {
        let entries = options.entries().into_iter();
        entries.filter(|it| is_followed(&it.key)).map(|it| (it.key, it.value)).collect()
    };
    let mut defaults = ConfigOptions::new();
    defaults.extensions.insert(SluiceOptions::default());
    let defaults = value(&defaults);
    let mut changed = value(options);
    changed.retain(|key, value| value.is_some() && defaults.get(key) != Some(&*value));
    let text = serde_json::to_string(&changed).unwrap_or_default();
    // Header values must be ASCII, so other characters are escaped.
    let ascii: String = text
        .chars()
        .flat_map(|it| {
            let mut units = [0; 2];
            let units = it.encode_utf16(&mut units);
            match it.is_ascii() {
                true => vec![it],
                false => units
                    .iter()
                    .flat_map(|it| format!("\\u{it:04x}").into_bytes())
                    .map(char::from)
                    .collect(),
            }
        })
        .collect();
    HeaderValue::from_str(&ascii)
        .map(|value| HeaderMap::from_iter([(http::HeaderName::from_static(HEADER), value)]))
        .unwrap_or_default()
}

/// Sets the options in the header.
///
/// # Errors
///
/// If an option does not exist in this version, or its value is invalid.
pub(crate) fn follow(headers: &HeaderMap, options: &mut ConfigOptions) -> Result<()> {
    let text = headers.get(HEADER).and_then(|value| value.to_str().ok()).unwrap_or("{}");
    let changed: BTreeMap<String, String> = serde_json::from_str(text).unwrap_or_default();
    for (key, value) in changed.iter().filter(|(key, _)| is_followed(key)) {
        options.set(key, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_engine::config::Scan;

    #[test]
    fn workers_follow_what_was_set() {
        let mut here = ConfigOptions::new();
        here.set("datafusion.execution.batch_size", "77").unwrap();
        here.set("datafusion.execution.time_zone", "Zürich 🦀").unwrap();
        here.set("datafusion.sql_parser.dialect", "mysql").unwrap();
        here.extensions.insert(SluiceOptions::default());
        here.set("sluice.scan", "get").unwrap();
        here.set("sluice.idle_timeout", "7s").unwrap();
        let mut there = ConfigOptions::new();
        there.extensions.insert(SluiceOptions::default());
        let sent = headers(&here);
        let text = sent[HEADER].to_str().unwrap();
        assert_eq!(text.matches("sluice.").count(), 2, "{text}");
        follow(&sent, &mut there).unwrap();
        let (ours, theirs) =
            (SluiceOptions::from_options(&here), SluiceOptions::from_options(&there));
        assert_eq!(theirs.scan, Scan::Get);
        assert_eq!(theirs.idle_timeout.get(), ours.idle_timeout.get());
        assert_eq!(there.execution.batch_size, here.execution.batch_size);
        assert_eq!(there.execution.time_zone, here.execution.time_zone);
        assert_eq!(there.sql_parser.dialect, ConfigOptions::new().sql_parser.dialect);
        let mut nothing = ConfigOptions::new();
        follow(&HeaderMap::new(), &mut nothing).unwrap();
        assert_eq!(nothing.execution.batch_size, ConfigOptions::new().execution.batch_size);
    }
}
