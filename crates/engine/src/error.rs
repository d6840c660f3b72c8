//! Errors, as a user should read them: one sentence, and what to do.

use std::error::Error as StdError;
use std::fmt;

use datafusion::common::DataFusionError;
use sluicegate_client::Error as StoreError;

/// Why a query failed.
#[derive(Debug)]
pub struct Error {
    message: String,
    hint: Option<String>,
    source: DataFusionError,
}

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What to do about it, if that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// DataFusion's own account of it.
    #[must_use]
    pub fn datafusion(&self) -> &DataFusionError {
        &self.source
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.source)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        DataFusionError::External(Box::new(error)).into()
    }
}

impl From<DataFusionError> for Error {
    fn from(source: DataFusionError) -> Self {
        let (message, hint) = describe(&source);
        Self { message, hint, source }
    }
}

fn describe(error: &DataFusionError) -> (String, Option<String>) {
    if let Some(store) = find::<StoreError>(error) {
        return (store.to_string(), Some(store.hint().to_owned()));
    }
    if let Some(store) = find::<object_store::Error>(error) {
        return describe_object_store(store);
    }
    let message = error.strip_backtrace();
    let hint = match error.find_root() {
        // Parquet keeps only the text of what failed below it.
        _ if message.contains("Request precondition failure") => Some("Run the query again."),
        DataFusionError::SchemaError(..) => {
            Some("Check the columns' names; quote a name that has capitals: \"Name\".")
        }
        DataFusionError::Plan(text) if text.contains("not found") && text.contains("table") => {
            Some(
                "CREATE EXTERNAL TABLE it, or name the object itself: FROM 's3://bucket/file.csv'.",
            )
        }
        DataFusionError::ResourcesExhausted(_) => {
            Some("Give the query more memory: --memory-limit.")
        }
        DataFusionError::ParquetError(_) => {
            Some("The object is not a valid Parquet file; check how it was written.")
        }
        _ => None,
    };
    (one_line(&message), hint.map(ToOwned::to_owned))
}

fn describe_object_store(error: &object_store::Error) -> (String, Option<String>) {
    use object_store::Error as E;
    if let Some(store) = find::<StoreError>(error) {
        return (store.to_string(), Some(store.hint().to_owned()));
    }
    let text = one_line(&error.to_string());
    let says = |needle: &str| text.contains(needle);
    let (message, hint) = match error {
        _ if says("NoSuchBucket") => (
            format!("there is no bucket `{}`", bucket(&text).unwrap_or_default()),
            "Check the bucket's name and the endpoint.",
        ),
        E::NotFound { path, .. } => {
            (format!("there is no object `{path}`"), "Check the key; keys are case-sensitive.")
        }
        E::Precondition { path, .. } | E::NotModified { path, .. } => {
            (format!("`{path}` changed while it was being read"), "Run the query again.")
        }
        E::PermissionDenied { path, .. } => (
            format!("the store refuses access to `{path}`"),
            "Check the access key and that it may read this bucket.",
        ),
        E::Unauthenticated { .. } => (
            "the store does not accept the credentials".to_owned(),
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name an AWS profile.",
        ),
        _ if says("error sending request") || says("onnection refused") || says("dns error") => (
            format!("the store cannot be reached: {}", innermost(error)),
            "Check the endpoint, the network and that the store runs.",
        ),
        _ if says("PermanentRedirect") || says("301 Moved Permanently") => {
            ("the bucket is in another region".to_owned(), "Give the bucket's region.")
        }
        _ => return (text, None),
    };
    (message, Some(hint.to_owned()))
}

/// The first error of a type in a chain of causes.
fn find<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        // DataFusion shares errors among partitions; the sharing hides the chain.
        if let Some(DataFusionError::Shared(shared)) = error.downcast_ref::<DataFusionError>() {
            next = Some(shared.as_ref());
            continue;
        }
        next = error.source();
    }
    None
}

/// The bucket in the URL of a failed request, where the bucket is a part of the path.
fn bucket(message: &str) -> Option<String> {
    let url = message.split_whitespace().find(|word| word.starts_with("http"))?;
    let url = url::Url::parse(url).ok()?;
    url.path_segments()?.next().map(ToOwned::to_owned)
}

fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    one_line(&error.to_string())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
