//! Names of scans in decisions.

use datafusion::datasource::physical_plan::FileScanConfig;

/// `s3://bucket/a.csv`, or `s3://bucket/a.csv and 3 more`.
pub(crate) fn subject(config: &FileScanConfig) -> String {
    let store = config.object_store_url.as_str().trim_end_matches('/');
    let mut objects: Vec<_> = config
        .file_groups
        .iter()
        .flat_map(|group| group.files())
        .map(|file| file.object_meta.location.as_ref())
        .collect();
    objects.dedup();
    match objects.as_slice() {
        [] => format!("no object in {store}"),
        [one] => format!("{store}/{one}"),
        [first, more @ ..] => format!("{store}/{first} and {} more", more.len()),
    }
}
