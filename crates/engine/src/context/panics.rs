//! Turns panics into errors. The Parquet reader panics on some damaged files, which is no bug of this crate.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{FutureExt, StreamExt};
use object_store::ObjectMeta;
use parquet::errors::ParquetError;

/// Returns the message of a panic.
pub(crate) fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Returns the error for a panic in `what`.
pub(crate) fn error(what: &str, panic: &(dyn Any + Send)) -> DataFusionError {
    exec_datafusion_err!(
        "{what} panicked: {}; a corrupt Parquet object can cause this, anything else is a bug to report",
        message(panic)
    )
}

/// Runs some work and turns a panic into an error.
///
/// # Errors
///
/// Those of the work, and its panic.
pub(crate) async fn caught<T>(what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    let done = AssertUnwindSafe(work).catch_unwind().await;
    done.unwrap_or_else(|panic| Err(error(what, panic.as_ref())))
}

/// Reads the footer of an object; errors and panics of the reader name the object.
///
/// # Errors
///
/// Those of reading.
pub(crate) async fn footer<T>(
    object: &ObjectMeta,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    named(&format!("the footer of `{}`", object.location), work).await
}

/// Reads a Parquet object; errors and panics of the reader name the object.
///
/// # Errors
///
/// Those of reading.
pub(crate) async fn object<T>(
    object: &ObjectMeta,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    named(&format!("`{}`", object.location), work).await
}

async fn named<T>(what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    let about = |why: &str| {
        let why = format!("{what} cannot be read: {why}");
        Err(DataFusionError::ParquetError(Box::new(ParquetError::General(why))))
    };
    match AssertUnwindSafe(work).catch_unwind().await {
        Err(panic) => match message(panic.as_ref()) {
            // The reader requests ranges that come from the object itself, such as the length of the footer.
            why if why.starts_with("range start must not be greater than end") => {
                about("it names bytes outside of the object")
            }
            why => about(why),
        },
        Ok(Err(DataFusionError::ParquetError(error))) => {
            let why = error.to_string();
            about(why.strip_prefix("Parquet error: ").unwrap_or(&why))
        }
        Ok(done) => done,
    }
}

/// Returns the rows of a stream; a panic ends it with an error.
pub(crate) fn caught_rows(rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
    let schema = rows.schema();
    let rows = AssertUnwindSafe(rows).catch_unwind();
    let rows = rows.map(|row| row.unwrap_or_else(|panic| Err(error("the query", panic.as_ref()))));
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::RecordBatch;
    use arrow::datatypes::Schema;
    use datafusion::common::plan_err;
    use object_store::path::Path;

    use super::*;
    use crate::{Error, ErrorKind};

    fn object() -> ObjectMeta {
        ObjectMeta {
            location: Path::from("t/a.parquet"),
            last_modified: Default::default(),
            size: 1,
            e_tag: None,
            version: None,
        }
    }

    #[tokio::test]
    async fn a_panic_is_an_error_with_its_message() {
        let said = |error: DataFusionError| Error::from(error).to_string();
        let panicked = caught::<()>("planning the query", async { panic!("index {} of 3", 7) });
        let message = said(panicked.await.unwrap_err());
        assert!(
            message.starts_with("planning the query panicked: index 7 of 3; a corr"),
            "{message}"
        );
        assert_eq!(caught("it", async { Ok(5) }).await.unwrap(), 5);

        let footer_of = async |footer_is: fn() -> Result<u8>| {
            let read = footer(&object(), async { footer_is() }).await;
            read.map_err(Error::from)
        };
        let error = footer_of(|| panic!("no such enum variant")).await.unwrap_err();
        let named = "the footer of `t/a.parquet` cannot be read: no such enum variant";
        assert!(error.to_string().ends_with(named), "{error}");
        assert_eq!(error.kind(), ErrorKind::Data);
        let error = footer_of(|| panic!("range start must not be greater than end: 9 <= 4"));
        let error = error.await.unwrap_err();
        assert!(error.to_string().ends_with("it names bytes outside of the object"), "{error}");
        let error =
            footer_of(|| Err(ParquetError::EOF("eof".to_owned()).into())).await.unwrap_err();
        assert!(error.to_string().contains("of `t/a.parquet` cannot be read: EOF: eof"), "{error}");
        assert_eq!(footer_of(|| plan_err!("else")).await.unwrap_err().to_string(), "else");
        assert_eq!(footer_of(|| Ok(1)).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn rows_end_where_their_stream_panics() {
        let schema = Arc::new(Schema::empty());
        let batch = RecordBatch::new_empty(Arc::clone(&schema));
        let rows = futures::stream::iter(0..3).map(move |at| match at {
            0 => Ok(batch.clone()),
            _ => panic!("of a page"),
        });
        let rows: SendableRecordBatchStream = Box::pin(RecordBatchStreamAdapter::new(schema, rows));
        let items: Vec<Result<RecordBatch>> = caught_rows(rows).collect().await;
        assert_eq!(items.len(), 2);
        let said = items[1].as_ref().unwrap_err().to_string();
        assert!(said.contains("the query panicked: of a page"), "{said}");
    }
}
