//! Detects whether the records of JSON are lines or span several. Files of the second kind must not be cut at line
//! ends.

use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::context::config::SluiceOptions;
use crate::text::json::bom::MARK;
use crate::text::json::records::JsonRecords;
use crate::text::located_errors::TextLayout;
use crate::text::sniff_cache::{SNIFF_BYTES, SniffCache};

/// The layouts of the objects that a session has looked at.
pub(crate) type KnownLayouts = SniffCache<TextLayout>;

/// Returns the layout of the JSON objects that a scan reads, by its first file. The file is looked at unless the
/// session has its layout or no file will be cut.
///
/// # Errors
///
/// If the file cannot be read.
pub(crate) async fn of_scan(state: &dyn Session, config: &FileScanConfig) -> Result<TextLayout> {
    let files = || {
        let files = config.file_groups.iter().flat_map(FileGroup::iter);
        files.filter(|file| file.object_meta.size > 0)
    };
    let Some(first) = files().next().map(|file| &file.object_meta) else {
        return Ok(TextLayout::JsonLines);
    };
    let known = state.config().get_extension::<KnownLayouts>().unwrap_or_default();
    if let Some(layout) = known.get(first) {
        return Ok(layout);
    }
    let options = state.config_options();
    let least_cut = options
        .optimizer
        .repartition_file_min_size
        .min(SluiceOptions::from_options(options).range_bytes);
    let bytes: u64 = files().map(PartitionedFile::effective_size).sum();
    let is_compressed = config.file_compression_type != FileCompressionType::UNCOMPRESSED;
    if is_compressed || bytes < least_cut as u64 {
        return Ok(TextLayout::JsonLines);
    }
    let store = state.runtime_env().object_store(&config.object_store_url)?;
    let layout = detect(&store, first).await?;
    known.learn(first, layout);
    Ok(layout)
}

/// Remembers the layout of an object with this beginning.
pub(crate) fn learn(state: &dyn Session, object: &ObjectMeta, beginning: &[u8]) {
    let known = state.config().get_extension::<KnownLayouts>();
    if let (Some(known), Some(layout)) = (known, layout(beginning)) {
        known.learn(object, layout);
    }
}

async fn detect(store: &Arc<dyn ObjectStore>, object: &ObjectMeta) -> Result<TextLayout> {
    for most in SNIFF_BYTES {
        let end = object.size.min(most);
        let beginning = store.get_range(&object.location, 0..end).await?;
        if let Some(layout) = layout(&beginning) {
            return Ok(layout);
        }
        if end == object.size {
            break;
        }
    }
    Ok(TextLayout::JsonLines)
}

/// Returns the layout by the beginning of a text, or `None` if it does not contain a whole line.
fn layout(beginning: &[u8]) -> Option<TextLayout> {
    let beginning = beginning.strip_prefix(&MARK).unwrap_or(beginning).trim_ascii_start();
    let lines =
        || beginning.split_inclusive(|byte| *byte == b'\n').filter(|it| it.ends_with(b"\n"));
    lines().next()?;
    // The layout of lines makes the reader refuse an array of all records.
    if !beginning.starts_with(b"{") {
        return Some(TextLayout::JsonLines);
    }
    let mut records = JsonRecords::default();
    let goes_on = lines().any(|line| {
        records.feed(line, |_| ());
        records.is_within()
    });
    Some(if goes_on { TextLayout::JsonRecords } else { TextLayout::JsonLines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_has_not_ended_with_its_line_goes_on() {
        use TextLayout::{JsonLines, JsonRecords};
        for (text, expected) in [
            ("", None),
            ("\n\n", None),
            ("{\"a\":", None),
            ("{\"a\":1}", None),
            ("{\"a\":1}\n{", Some(JsonLines)),
            ("\r\n{\"a\":\"{[\"} {}\r\n", Some(JsonLines)),
            ("{\n", Some(JsonRecords)),
            ("\n {\"a\":[1,\n2]}", Some(JsonRecords)),
            ("{}\n{}\n{\"a\":\n1}\n", Some(JsonRecords)),
            ("[\n{\n}\n]", Some(JsonLines)),
            ("\u{feff}{\n}\n", Some(JsonRecords)),
        ] {
            assert_eq!(layout(text.as_bytes()), expected, "{text:?}");
        }
    }
}
